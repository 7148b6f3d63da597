"""How many times as fast as SciPy's are the same calls of `apsp.csgraph`?

    python benchmarks/csgraph.py            # a few minutes
    python benchmarks/csgraph.py --quick    # graphs of up to 500 vertices

Both in one process, turn by turn. Results are compared before anything is timed. Times are the best of several, ratios
SciPy's time over ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph as scipys
from common import arguments, begin

# isort: split
from apsp import csgraph
from apsp.generate import road_like

SIZES = (30, 64, 128, 256, 512, 1000, 2000, 4000)
DEGREES = (2, 6, 16, 64)


def best(ours: Callable[[], Any], theirs: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """The least time of each, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while not times[0] or (time.perf_counter() < end and len(times[0]) < 100):
        for function, into in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            function()
            into.append(time.perf_counter() - start)
    return min(times[0]), min(times[1])


def told(what: str, ours: float, theirs: float) -> float:
    print(f"{what:46} {1e3 * ours:10.3f} ms   SciPy {1e3 * theirs:11.3f} ms   {theirs / ours:7.2f} ×", flush=True)
    return theirs / ours


def random(n: int, degree: int) -> Any:
    A = scipy.sparse.random_array((n, n), density=min(1.0, degree / n), rng=np.random.default_rng(n), format="csr")
    A.data += 0.01
    return A


def roads(n: int) -> Any:
    g = road_like(n, seed=1)
    ends = np.concatenate((g.rows, g.cols)), np.concatenate((g.cols, g.rows))
    weights = np.random.default_rng(1).random(len(g.rows)) + 0.1
    return scipy.sparse.coo_array((np.tile(weights, 2), ends), shape=(g.n, g.n)).tocsr()


def ladder(sizes: tuple[int, ...], seconds: float) -> None:
    """`shortest_path` with method 'auto', from few edges to all."""
    least = np.inf
    for n in sizes:
        for degree in sorted({*(d for d in DEGREES if d < n), n // 2, n}):
            if n > 1000 and 16 < degree < n:
                continue
            A = random(n, degree)
            for kind, G in (("sparse", A), ("dense", A.toarray())):
                np.testing.assert_allclose(csgraph.shortest_path(G), scipys.shortest_path(G), rtol=1e-12)
                pair = best(lambda G=G: csgraph.shortest_path(G), lambda G=G: scipys.shortest_path(G), seconds)
                least = min(least, told(f"shortest_path, n = {n}, degree {degree}, {kind}", *pair))
    print(f"least ratio: {least:.2f}")


def rows(n: int, sources: int, seconds: float) -> None:
    """`dijkstra` from some stops, of a network seen before."""
    A, indices = roads(n), np.random.default_rng(2).choice(n, sources, replace=False)
    for _ in range(9):  # questions about one pattern, until its structure is known
        D = csgraph.dijkstra(A, indices=indices)
    np.testing.assert_allclose(D, scipys.dijkstra(A, indices=indices), rtol=1e-12)
    pair = best(lambda: csgraph.dijkstra(A, indices=indices), lambda: scipys.dijkstra(A, indices=indices), seconds)
    told(f"dijkstra, {sources} of {n} stops, seen before", *pair)


def country(n: int, seconds: float) -> None:
    """All pairs of roads; SciPy's time is that of 100 sources, scaled."""
    A, some = roads(n), np.random.default_rng(3).choice(n, 100, replace=False)
    np.testing.assert_allclose(csgraph.shortest_path(A)[some], scipys.dijkstra(A, indices=some), rtol=1e-12)
    ours, theirs = best(lambda: csgraph.shortest_path(A), lambda: scipys.dijkstra(A, indices=some), seconds)
    told(f"shortest_path, {n} road-like vertices", ours, theirs * n / 100)


def main() -> None:
    quick = begin(arguments(__doc__)).quick
    seconds = 0.0 if quick else 1.0
    country(500 if quick else 10_000, 8 * seconds)
    rows(500 if quick else 5000, 100, 2 * seconds)
    ladder(SIZES[:2] if quick else SIZES, 0.5 * seconds)


if __name__ == "__main__":
    main()
