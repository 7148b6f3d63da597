"""Elimination and sweeps on sparse graphs: what is cold, what a distance costs, and how far from SciPy that is.

    python benchmarks/sparse.py --data DIR       # DIR has dimacs/, osm-luxembourg/ and snap/; a few minutes
    python benchmarks/sparse.py --quick          # generated graphs of 20,000 vertices

Rows are checked against SciPy's Dijkstra before anything is timed. Times are of one thread's processor clock, the best
of several, so that a busy machine adds little; "2 threads" are wall clock. SciPy's time for all pairs is that of some
sources, scaled. An entry is one distance.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay

from apsp.generate import grid, road_like
from semiring import Elimination
from semiring.sparse.elimination import Analysis

Arcs = tuple[np.ndarray, np.ndarray, np.ndarray, int]


def dimacs(path: Path) -> Arcs:
    text = (gzip.open if path.suffix == ".gz" else open)(path, "rt").read()
    n = next(int(line.split()[2]) for line in text.splitlines() if line.startswith("p"))
    arcs = np.array(" ".join(line[2:] for line in text.splitlines() if line[:1] == "a").split(), np.int64).reshape(
        -1, 3
    )
    return arcs[:, 0] - 1, arcs[:, 1] - 1, arcs[:, 2], n


def snap(path: Path) -> Arcs:
    names, ends = np.unique(np.loadtxt(path, dtype=np.int64), return_inverse=True)
    tails, heads = ends.reshape(-1, 2).T
    return tails, heads, np.random.default_rng(0).integers(1, 100, len(tails)), len(names)


def both_ways(graph: Any, seed: int) -> Arcs:
    tails, heads = np.concatenate((graph.rows, graph.cols)), np.concatenate((graph.cols, graph.rows))
    return tails, heads, np.random.default_rng(seed).integers(1, 1000, len(tails)), graph.n


def delaunay(n: int) -> Arcs:
    rng = np.random.default_rng(0)
    sides = Delaunay(rng.random((n, 2))).simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges = np.unique(np.sort(sides, axis=1), axis=0)
    arcs = np.concatenate((edges, edges[:, ::-1]))
    return arcs[:, 0], arcs[:, 1], rng.integers(1, 1000, len(arcs)), n


def graphs(data: Path | None, quick: bool) -> Iterator[tuple[str, Callable[[], Arcs]]]:
    if data:
        yield "rome99", lambda: dimacs(data / "dimacs/rome99.gr")
        yield "Luxembourg", lambda: dimacs(data / "osm-luxembourg/luxembourg.gr.gz")
        yield "wiki-Vote", lambda: snap(data / "snap/wiki-Vote.txt")
    n = 20_000 if quick else 131_000
    yield f"road-like {n}", lambda: both_ways(road_like(n, seed=0), 1)
    yield f"Delaunay {n}", lambda: delaunay(20_000 if quick else 126_146)
    side = 140 if quick else 355
    yield f"grid {side}²", lambda: both_ways(grid(side, side), 2)
    if not quick:
        yield "random 10000, degree 4", lambda: random(10_000, 4)
        yield "road-like 10⁶", lambda: both_ways(road_like(10**6, seed=0), 3)


def random(n: int, degree: int) -> Arcs:
    rng = np.random.default_rng(degree)
    return rng.integers(0, n, n * degree), rng.integers(0, n, n * degree), rng.integers(1, 1000, n * degree), n


def best(run: Callable[[], Any], clock: Callable[[], float] = time.thread_time, repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def consume(blocks: Iterator[Any], count: int) -> int:
    """Entries of the first so many blocks."""
    entries = 0
    for _, block in blocks:
        entries += block.size
        count -= 1
        if not count:
            break
    return entries


def measure(name: str, arcs: Arcs) -> None:
    tails, heads, weights, n = arcs
    given = weights.astype(np.float32)
    made = Elimination.from_arrays(tails, heads, given, n, threads=1)  # compiled, or found on disk
    check(made, arcs)
    repeat = 5 if n < 500_000 else 2
    cold = best(lambda: Elimination.from_arrays(tails, heads, given, n, threads=1), repeat=repeat)
    order = best(lambda: Analysis(tails.astype(np.int32), heads.astype(np.int32), n), repeat=repeat)
    update = best(lambda: made.update(given), repeat=repeat)
    blocks = max(2, min(n // 64, int(3e8 / (64 * n))))

    def entry_time(stream: Callable[[], Iterator[Any]]) -> float:
        entries = consume(stream(), blocks)
        return best(lambda: consume(stream(), blocks), repeat=3) / entries * 1e9

    panels, rows = entry_time(made.panels), entry_time(made.rows)
    i, j = np.random.default_rng(0).integers(0, n, (2, 2000))
    batch = best(lambda: made.entries(i, j)) / len(i) * 1e6
    loop = best(lambda: [made.entry(a, b) for a, b in zip(i[:300].tolist(), j[:300].tolist(), strict=True)]) / 300 * 1e6
    one = best(lambda: made.row(int(i[0]))) * 1e3
    print(f"{name}: {n:,} vertices, {len(tails):,} arcs, order {made.analysis.order}")
    print(f"  {made.cost}")
    print(f"  cold {cold * 1e3:.1f} ms, of which order and tree {order * 1e3:.1f}; new weights {update * 1e3:.1f} ms")
    print(
        f"  panels {panels:.3f} ns an entry, rows in label order {rows:.3f}; 64 sources {64 * n * panels * 1e-6:.2f} ms"
    )
    print(f"  one row {one:.2f} ms; a pair {loop:.1f} µs in a loop, {batch:.1f} µs in a batch")
    scipy = scipys(arcs)
    print(f"  all pairs {cold + n * n * panels * 1e-9:.3f} s, SciPy's Dijkstra {scipy:.1f} s: "
          f"{scipy / (cold + n * n * panels * 1e-9):.0f} ×")  # fmt: skip
    two = Elimination.from_arrays(tails, heads, given, n, threads=2)
    times = {}
    for engine, threads in ((made, 1), (two, 2)):
        consume(engine.panels(), 4)
        times[threads] = best(lambda e=engine: consume(e.panels(), blocks), time.perf_counter, 3)
    wall = [best(lambda e=engine: e.update(given), time.perf_counter, repeat) for engine in (made, two)]
    print(f"  2 threads: sweeps {times[1] / times[2]:.2f} ×, new weights {wall[0] / wall[1]:.2f} ×")
    print(f"  held {made.nbytes / 2**20:.0f} MiB, peak of the process {peak():.0f} MiB", flush=True)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def matrix(arcs: Arcs) -> csr_array:
    """SciPy's: duplicates meet by the minimum, and an arc of weight 0 weighs a little, as a stored 0 is none there."""
    tails, heads, weights, n = arcs
    order = np.lexsort((weights, heads, tails))
    first = np.ones(len(order), bool)
    t, h = tails[order], heads[order]
    first[1:] = (t[1:] != t[:-1]) | (h[1:] != h[:-1])
    keep = order[first]
    return csr_array(coo_array((np.maximum(weights[keep], 1e-9), (tails[keep], heads[keep])), shape=(n, n)))


def check(made: Elimination, arcs: Arcs) -> None:
    n = arcs[3]
    some = np.unique(np.random.default_rng(1).integers(0, n, 4))
    expected = dijkstra(matrix(arcs), indices=some)
    for labels, block in made.rows(some):
        assert (labels == some).all()
        np.testing.assert_allclose(block, expected, rtol=1e-5)


def scipys(arcs: Arcs) -> float:
    """Seconds of SciPy's Dijkstra from every vertex."""
    n, A = arcs[3], matrix(arcs)
    some = np.random.default_rng(2).integers(0, n, 3 if n > 50_000 else 20)
    return best(lambda: dijkstra(A, indices=some), repeat=2) / len(some) * n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of real graphs")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="graphs whose name contains this")
    options = parser.parse_args()
    for name, make in graphs(options.data, options.quick):
        if not options.only or options.only in name:
            measure(name, make())


if __name__ == "__main__":
    sys.exit(main())
