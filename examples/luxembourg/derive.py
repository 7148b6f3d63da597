"""Derive `city.gr.gz` and `city.co.gz` from the road network of all Luxembourg.

    python derive.py luxembourg.gr.gz luxembourg.co.gz

Kept are the crossings in a box around the city from which all others of the box can be reached and that can be reached
from all others; they are numbered again, in the order in which they were. Travel times, in milliseconds, and
coordinates, in millionths of a degree, stay as they are.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from apsp import read

WEST, EAST, SOUTH, NORTH = 6_060_000, 6_210_000, 49_560_000, 49_660_000


def write(path: Path, lines: list[str]) -> None:
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
        packed.write("\n".join([*lines, ""]).encode())


def main() -> None:
    roads, here = read(sys.argv[1]), Path(__file__).parent
    with gzip.open(sys.argv[2], "rt") as file:
        rows = [line.split()[1:] for line in file if line.startswith("v ")]
    points = np.array(rows, np.int64)  # label, longitude, latitude
    points = points[np.argsort(roads.index_of(points[:, 0].tolist()))]
    x, y = points[:, 1], points[:, 2]
    inside = (WEST < x) & (x < EAST) & (SOUTH < y) & (y < NORTH)
    arcs = inside[roads.rows] & inside[roads.cols]
    pattern = coo_array((arcs[arcs], (roads.rows[arcs], roads.cols[arcs])), shape=(roads.n, roads.n))
    _, part = connected_components(pattern, connection="strong")
    kept = part == np.bincount(part).argmax()
    number = np.cumsum(kept)
    arcs &= kept[roads.rows] & kept[roads.cols]
    write(
        here / "city.gr.gz",
        [
            "c The city of Luxembourg: travel times in milliseconds. (c) OpenStreetMap contributors, ODbL 1.0.",
            f"p sp {kept.sum()} {arcs.sum()}",
            *(
                f"a {number[u]} {number[v]} {w}"
                for u, v, w in zip(roads.rows[arcs], roads.cols[arcs], roads.weights[arcs], strict=True)
            ),
        ],
    )
    write(
        here / "city.co.gz",
        [
            "c Their crossings, in millionths of a degree. (c) OpenStreetMap contributors, ODbL 1.0.",
            f"p aux sp co {kept.sum()}",
            *(f"v {number[v]} {x[v]} {y[v]}" for v in np.flatnonzero(kept)),
        ],
    )


if __name__ == "__main__":
    main()
