"""Recursive or iterative: the same closure in two orders of the same n³ steps, timed and drawn.

    python examples/schedules.py                                  # some seconds
    python examples/schedules.py 500 1000 2000 --save times.png   # the picture needs Matplotlib

The iterative schedule is Floyd–Warshall as in a textbook: n steps, each a pass over the whole matrix. The
recursive one (R-Kleene) cuts it into quarters, so that nearly all steps are products of blocks that stay in a cache.
"""

from __future__ import annotations

import argparse

from apsp import compare_sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[300, 600, 1200], help="numbers of vertices")
    parser.add_argument("--save", help="a picture: .png, .svg or .pdf")
    args = parser.parse_args()

    table = compare_sizes(args.sizes, schedules=["iterative", "recursive"])
    print(table)
    largest = [row for row in table.rows if row.n == max(args.sizes) and row.seconds]
    fastest = {row.contender.schedule: row.seconds for row in sorted(largest, key=lambda row: -row.seconds)}
    if len(fastest) == 2:
        ratio = fastest["iterative"] / fastest["recursive"]
        print(f"At {max(args.sizes)} vertices the recursive schedule is {ratio:.1f} times as fast.")
    if args.save:
        table.plot(save=args.save)


if __name__ == "__main__":
    main()
