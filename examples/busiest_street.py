"""Which street does everybody pass, and what if it is closed?

    python examples/busiest_street.py                         # a town of 3,000 crossings, made up; seconds
    python examples/busiest_street.py roads.gr --to map.png   # yours; coordinates beside it, in roads.co

Betweenness tells which street most shortest trips use, if everybody goes everywhere. It is exact here, over all pairs.
Then the busiest street is closed, and we see whose trips grow, and where the traffic goes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import apsp


def mean(result: apsp.Result) -> float:
    """Of the distances between all pairs that are connected."""
    sums = [(D[D != result.infinity].sum(dtype=float), (D != result.infinity).sum()) for _, D in result.rows()]
    total, pairs = np.sum(sums, axis=0)
    return float(total / (pairs - result.graph.n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roads", nargs="?", help="any file that apsp reads")
    parser.add_argument("--crossings", type=int, default=3000, help="of a town that is made up")
    parser.add_argument("--to", type=Path, help="a picture; needs coordinates in a file .co beside the roads")
    args = parser.parse_args()

    graph = apsp.read(args.roads) if args.roads else apsp.road_like(args.crossings, seed=1)
    result = apsp.shortest_paths(graph, engine="elimination")
    carried = result.edge_betweenness()
    streets = [(graph.labels[u], graph.labels[v]) for u, v in zip(graph.rows, graph.cols, strict=True)]
    print(f"{graph.n:,} crossings, {len(streets):,} streets; the busiest:")
    for k in np.argsort(-carried)[:5]:
        print(f"  {streets[k][0]} – {streets[k][1]}: {carried[k]:.2%} of all trips")

    busiest = int(np.argmax(carried))
    closed = result.update({streets[busiest]: np.inf})
    after = closed.edge_betweenness()
    print(
        f"Without {streets[busiest][0]} – {streets[busiest][1]} a trip is {mean(closed) / mean(result) - 1:.2%} longer."
    )
    print("What carries more then:")
    for k in np.argsort(carried - after)[:3]:
        print(f"  {streets[k][0]} – {streets[k][1]}: {carried[k]:.2%} → {after[k]:.2%}")

    if args.to:
        result.plot(positions=Path(args.roads).with_suffix(".co"), edge=carried).savefig(args.to, dpi=200)


if __name__ == "__main__":
    main()
