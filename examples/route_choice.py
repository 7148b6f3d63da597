"""Route choice: trips split among the best routes of each pair, by their times and by how much they overlap.

    python examples/route_choice.py            # Sioux Falls, five routes a pair
    python examples/route_choice.py 10

The share of route k is in proportion to PS(k) exp(−θ t(k)), t being its time. PS(k), its size, is the part of it that
others of the pair do not take as well: each road counts 1 / (routes of the pair that take it), by its share of t(k)
(path-size logit: Ben-Akiva and Bierlaire 1999, "Discrete choice methods and their applications to short term travel
decisions"). The data is from AequilibraE, https://www.aequilibrae.com: see sioux_falls/README.md.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import apsp

HERE = Path(__file__).parent / "sioux_falls"
#: How much less likely a route is for each minute that it is longer: by 1 / e for two minutes.
THETA = 0.5


def columns(name: str) -> list[np.ndarray]:
    with open(HERE / name, encoding="utf-8", newline="") as file:
        return [np.array(column[1:], float) for column in zip(*csv.reader(file), strict=True)]


def shares(routes: list[list[int]], minutes: dict[tuple[int, int], float]) -> np.ndarray:
    """The share of each route of a pair."""
    roads = [list(itertools.pairwise(route)) for route in routes]
    users = Counter(road for taken in roads for road in taken)
    times = np.array([sum(minutes[road] for road in taken) for taken in roads])
    size = np.array([sum(minutes[road] / users[road] for road in taken) for taken in roads]) / times
    weight = size * np.exp(THETA * (times.min() - times))
    return weight / weight.sum()


def main(k: int = 5) -> dict[tuple[int, int], float]:
    tails, heads, empty, _ = columns("links.csv")
    roads = zip(tails.astype(int).tolist(), heads.astype(int).tolist(), strict=True)
    minutes = dict(zip(roads, empty.tolist(), strict=True))
    result = apsp.shortest_paths([(u, v, t) for (u, v), t in minutes.items()])
    trips = list(zip(*(column.tolist() for column in columns("trips.csv")), strict=True))
    pairs = [(int(u), int(v)) for u, v, _ in trips]
    carried = dict.fromkeys(minutes, 0.0)
    for routes, (*_, amount) in zip(result.k_paths(pairs, k), trips, strict=True):
        for route, share in zip(routes, shares(list(routes), minutes), strict=True):
            for road in itertools.pairwise(route):
                carried[road] += amount * share
    best = result.flows([(u, v, t) for (u, v), (*_, t) in zip(pairs, trips, strict=True)])
    used, alone = sum(x > 0 for x in carried.values()), int((best > 0).sum())
    print(f"{len(pairs)} pairs, {k} routes each: {used} of {len(minutes)} roads carry traffic, {alone} by best routes")
    (u, v), most = max(carried.items(), key=lambda item: item[1])
    print(f"the busiest leads from {u} to {v}: {most:.0f} trips, by best routes alone the busiest has {best.max():.0f}")
    return carried


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
