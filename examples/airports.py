"""The shortest way by air between any two of the world's airports, in great-circle kilometres.

    python examples/airports.py            # Goroka to London Heathrow
    python examples/airports.py ZRH AKL

Contains information from OpenFlights (https://openflights.org/data.html), which is made available here under the
Open Database License (ODbL) 1.0: https://opendatacommons.org/licenses/odbl/1-0/
"""

from __future__ import annotations

import csv
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import apsp
from apsp.io.formats import read
from semiring.host.errors import NoPathError, VertexError

HERE = Path(__file__).parent / "openflights"
EARTH_RADIUS = 6371.0088  # kilometres, the mean radius of the IUGG


def great_circle(here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """d = 2 R asin √(sin²(Δφ/2) + cos φ₁ cos φ₂ sin²(Δλ/2)): (latitude, longitude) rows in degrees → kilometres."""
    (lat1, lon1), (lat2, lon2) = np.radians(here).T, np.radians(there).T
    a = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(a, 1)))


def load() -> tuple[apsp.Graph, dict[str, dict[str, str]]]:
    """The graph of all direct routes, weighted by distance, and each airport's record."""
    with open(HERE / "airports.csv", encoding="utf-8", newline="") as file:
        airports = {row["code"]: row for row in csv.DictReader(file)}
    routes = read(HERE / "routes.csv.gz")
    tails, heads, _ = routes.edges()
    places = np.array([[float(airports[code][axis]) for axis in ("latitude", "longitude")] for code in routes.labels])
    lengths = great_circle(places[tails], places[heads])
    return apsp.Graph.from_arrays(tails, heads, lengths, labels=routes.labels, name="OpenFlights"), airports


def main(start: str = "GKA", end: str = "LHR") -> None:
    graph, airports = load()
    try:
        result = apsp.shortest_paths(graph, sources=[start])
        path = result.path(start, end)
    except (VertexError, NoPathError) as error:
        sys.exit(str(error))

    def title(code: str) -> str:
        return f"{code}  {airports[code]['name']}, {airports[code]['city']}, {airports[code]['country']}"

    print(f"{title(start)}\n  to {title(end)}: {result.distance(start, end):,.0f} km\n")
    for a, b in pairwise(path):
        leg = result.distance(start, b) - result.distance(start, a)
        print(f"  {a} → {b}  {leg:8,.0f} km   {airports[b]['city']}, {airports[b]['country']}")
    n = len(graph.labels)
    print(f"\nWithout sources= the same call answers for any of {n:,} × {n:,} ways.")


if __name__ == "__main__":
    if len(sys.argv) not in (1, 3):
        sys.exit("usage: python examples/airports.py [FROM TO]   (IATA codes)")
    main(*(code.upper() for code in sys.argv[1:]))
