"""User equilibrium: travellers share out until nobody gains by another way, as every road slows down with its traffic.

    python examples/assignment.py              # Sioux Falls, to a relative gap of 1e-5
    python examples/assignment.py 1e-4

Times on roads are those of the Bureau of Public Roads, t(x) = t₀ (1 + 0.15 (x / capacity)⁴). Each round of Frank and
Wolfe (1956) sends all trips along the best routes at present times (`flows`), and moves the flows x towards that as far
as it helps; in directions conjugate to the last one (Mitradjieva and Lindberg 2013, "The stiff is moving").
The data is from AequilibraE, https://www.aequilibrae.com: see sioux_falls/README.md.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import apsp

HERE = Path(__file__).parent / "sioux_falls"


def columns(name: str) -> list[np.ndarray]:
    with open(HERE / name, encoding="utf-8", newline="") as file:
        return [np.array(column[1:], float) for column in zip(*csv.reader(file), strict=True)]


def main(wanted: float = 1e-5) -> np.ndarray:
    tails, heads, empty, capacity = columns("links.csv")
    trips = list(zip(*(column.tolist() for column in columns("trips.csv")), strict=True))

    def times(x: np.ndarray) -> np.ndarray:
        return empty * (1 + 0.15 * (x / capacity) ** 4)

    result = apsp.shortest_paths(
        apsp.Graph.from_arrays(tails.astype(int) - 1, heads.astype(int) - 1, empty, labels=range(1, 25))
    )
    x = target = result.flows(trips)
    gap, rounds = 1.0, 0
    while gap > wanted:
        rounds, t = rounds + 1, times(x)
        result = result.update(t)
        y = result.flows(trips)
        gap = 1 - (t @ y) / (t @ x)
        # The new target s = share · target + (1 − share) · y, such that (s − x)ᵀ H (target − x) = 0, where H = dt/dx.
        slope = 0.6 * empty * x**3 / capacity**4 * (target - x)
        share = slope @ (y - x) / (slope @ (y - target) or 1.0)
        target = y + np.clip(share, 0.0, 0.99) * (target - y)
        low, high = 0.0, 1.0
        for _ in range(50):  # how far travel gets shorter: to where Σ t(x + step · d) · d = 0
            step = (low + high) / 2
            low, high = (step, high) if times(x + step * (target - x)) @ (target - x) < 0 else (low, step)
        x = x + low * (target - x)
    print(f"relative gap {gap:.1e} after {rounds} rounds, {t @ x:,.0f} minutes of travel; the fullest roads:")
    for k in np.argsort(-x / capacity)[:5]:
        road = f"{tails[k]:4.0f} → {heads[k]:2.0f}"
        print(f"{road}: {x[k]:6.0f} trips, {x[k] / capacity[k]:.1f} × capacity, {t[k]:4.1f} minutes")
    return x


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
