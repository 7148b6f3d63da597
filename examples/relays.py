"""A quarter of a million radio stations, each of which can reach every other: the least energy to pass a message on.

    python examples/relays.py --memory 16GiB --device cuda          # 256 GiB of distances, in relays.tiles
    python examples/relays.py --stations 2000 --memory 16MiB        # a few seconds on any machine

Sending from i to j takes the square of their distance, so that many short hops are better than a long one. The matrix
of all that has 2³⁶ entries. It is never there: windows of it are made up when they are wanted, the closure streams
through the memory that is given, keeps what it has come to in the store, and goes on from there when it is started
again. Distances, and the stations on the way, are then read from the store.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from apsp import closure
from semiring.stores.tiles import TileStore


class Energy:
    """The matrix of a complete graph: entry (i, j) is |x_i − x_j|². Whatever has windows can be closed."""

    def __init__(self, stations: int, seed: int = 0) -> None:
        self.at = np.random.default_rng(seed).random((stations, 2), np.float32)
        self.shape, self.dtype = (stations, stations), np.dtype(np.float32)

    def __getitem__(self, window: tuple[slice, slice]) -> np.ndarray:
        a, b = self.at[window[0], None, :], self.at[None, window[1], :]
        return ((a - b) ** 2).sum(axis=2, dtype=np.float32)


def way(A: Energy, D: TileStore, i: int, j: int) -> list[int]:
    """The stations on a best way from i to j: before j comes a k with D[i, k] + A[k, j] = D[i, j]."""
    row, path = D[i], [j]
    while path[-1] != i:
        last = path[-1]
        through = row + A[:, last : last + 1][:, 0]
        nearer = np.flatnonzero(row < row[last])
        path.append(int(nearer[through[nearer].argmin()]))
    return path[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stations", type=int, default=1 << 18)
    parser.add_argument("--memory", default="16GiB", help="what the closure is held to, on the device that computes")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--store", default="relays.tiles", help="a directory for the result")
    given = parser.parse_args()

    def report(done: int, total: int) -> None:
        print(f"{done / total:4.0%}", end="\r", file=sys.stderr, flush=True)

    A, start = Energy(given.stations), time.perf_counter()
    print(f"All {given.stations:,}² entries are looked at once, then the closure begins.", flush=True)
    D = closure(
        A, memory=given.memory, device=given.device, checkpoint=given.store, output=given.store, callback=report
    )
    print(f"{D!r} after {time.perf_counter() - start:.1f} s")

    i, j = 0, given.stations // 2
    hops = way(A, D, i, j)
    print(f"from {i} to {j}: {A[i : i + 1, j : j + 1][0, 0]:.4f} directly, {D[i, j]:.6f} by {len(hops) - 1} hops")
    print("the first of them:", " -> ".join(map(str, hops[:6])))


if __name__ == "__main__":
    main()
