"""Run times that lessons print: the exponent of each program, and how many times as fast it is as another.

    python examples/lab/published.py buluc
    python examples/lab/published.py zhao --than naive

Put your own times into a file of the same columns: `python examples/lab/published.py mine --file times.csv`.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from apsp.comparison import Comparison, Contender, Row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lesson", help="buluc, zhao, bertoldi, or one of your file")
    parser.add_argument("--file", type=Path, default=Path(__file__).with_name("published.csv"))
    parser.add_argument("--than", metavar="PROGRAM", help="the first by default")
    args = parser.parse_args()

    lines = (line for line in args.file.read_text().splitlines() if not line.startswith("#"))
    times: dict[str, dict[int, float]] = {}
    for row in csv.DictReader(lines):
        if row["lesson"] == args.lesson:
            times.setdefault(row["program"], {})[int(row["n"])] = float(row["ms"]) / 1000
    rows = [Row(Contender(program, "cpu"), n, t) for program, runs in times.items() for n, t in runs.items()]
    fits = Comparison("min_plus", "float32", tuple(rows)).fits()
    exponents = {fit.contender.schedule: f"n^{fit.exponent:.2f}" for fit in fits}
    than = args.than or next(iter(times), None)
    if than not in times:
        parser.error(f"{args.file} has no program {than}" if times else f"{args.file} has no lesson {args.lesson}")
    for program, runs in times.items():
        shared = {n: times[than][n] / seconds for n, seconds in runs.items() if n in times[than]}
        fit = exponents.get(program, "no fit below three sizes")
        print(f"{program}: {fit}; over {than}", *(f"{r:.3g} at {n}," for n, r in shared.items()))


if __name__ == "__main__":
    main()
