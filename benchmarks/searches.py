"""Is the engine that is chosen the right one, on 60 graphs, from one source to all, and how far is SciPy from that?

    python benchmarks/searches.py --data DIR              # DIR holds dimacs, osm-luxembourg, openflights and snap
    python benchmarks/searches.py --quick                 # graphs of up to 300 vertices
    python benchmarks/searches.py --only "grid|tree" --sources 1 4
    python benchmarks/searches.py --jobs 4 --record FILE --within 500   # on four cores; what FILE has is not run again
    python benchmarks/searches.py --batch                 # a batch of searches alone, on one thread and on two

Each graph is a csr matrix of float64, asked for the distances from 1, 4, 16, 64 and all of its vertices: of
`shortest_paths` and of `apsp.csgraph`, of SciPy, and of every engine by its name that is predicted to take at most 20
times as long as the fastest. All calls are on one thread, in turns, by the processor's clock, from the matrix to the
distances; no structure is remembered from one to the next. Distances are compared with SciPy's. Where all rows would
take SciPy longer than --limit, its time is that of 64 rows, scaled, which its line marks with a ~; where they would
take the fastest engine so long, they are not computed. Lines are milliseconds, of engines by name measured/predicted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph as scipys
from common import ROOT, arguments, begin, best
from scipy.spatial import Delaunay, cKDTree

# isort: split
import apsp
from apsp import csgraph
from apsp.generate import grid, road_like
from apsp.road import estimates
from apsp.road.engines.elimination import STRUCTURES, Structures
from semiring import sparse
from semiring.host.errors import SemiringError

#: Where real graphs are, next to the repository.
DATA = ROOT.parent / "shared" / "data"
#: Vertices that are searched from, and the engines that answer by themselves; 0 stands for all.
SOURCES, ENGINES = (1, 4, 16, 64, 0), ("scipy", "searches", "hops", "dense", "elimination")
#: Times from this number of seconds on are compared by ratio, shorter ones by difference, at most ...
LEAST, MORE = 2e-3, 1e-3
#: The bars: ours over SciPy's; the engine chosen over the fastest; predicted over measured, or the other way round.
SLOWER, CHOSEN, PREDICTED = 1.25, 1.3, 2.0
#: Engines predicted to take longer than this multiple of the fastest are not run.
WORTH = 20
#: Bytes of a table, at most.
MOST = 6 << 30

Arcs = tuple[np.ndarray, np.ndarray]


@dataclass
class Cell:
    """One graph and one number of sources: seconds of each; or why it was not computed."""

    graph: str
    sources: int
    n: int
    ours: float = math.nan
    csgraph: float = math.nan
    scipy: float = math.nan
    sampled: bool = False
    engine: str = ""
    predicted: float = math.nan
    engines: dict[str, float] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)
    skipped: str = ""

    def within(self, ours: float) -> bool:
        """Whether ours is not slower than SciPy by more than the bar."""
        return ours <= (SLOWER * self.scipy if self.scipy >= LEAST else self.scipy + MORE)

    @property
    def fastest(self) -> float:
        return min([self.ours, *self.engines.values()])

    @property
    def right(self) -> bool:
        return self.ours <= max(CHOSEN * self.fastest, self.fastest + MORE)

    @property
    def foreseen(self) -> bool:
        return max(self.ours, self.predicted) <= max(
            PREDICTED * min(self.ours, self.predicted), min(self.ours, self.predicted) + MORE
        )

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.graph:30} {self.sources or 'all':>4}  not computed: {self.skipped}"
        own = ", ".join(
            f"{name} {1e3 * s:.3g}/{1e3 * self.others.get(name, math.nan):.3g}"
            for name, s in sorted(self.engines.items(), key=lambda e: e[1])
        )
        marks = "".join(
            f" {word}"
            for word, fine in (
                ("SLOW", self.within(self.ours)),
                ("CSGRAPH", self.within(self.csgraph)),
                ("ENGINE", self.right),
                ("PREDICTED", self.foreseen),
            )
            if not fine
        )
        return (
            f"{self.graph:30} {self.sources or 'all':>4} {1e3 * self.ours:9.4g} {1e3 * self.csgraph:9.4g} "
            f"{'~' * self.sampled + format(1e3 * self.scipy, '.4g'):>9}  {self.engine:11} {1e3 * self.predicted:9.4g}  "
            f"[{own}]{marks}"
        )


def weighted(n: int, arcs: Arcs, weights: np.ndarray) -> Any:
    """The csr matrix of a graph, of parallel arcs the first."""
    code, first = np.unique(arcs[0].astype(np.int64) * n + arcs[1], return_index=True)
    tails, heads = np.divmod(code, n)
    start = np.searchsorted(tails, np.arange(n + 1))
    matrix = weights.astype(np.float64)[first], heads.astype(np.int32), start.astype(np.int32)
    return scipy.sparse.csr_array(matrix, shape=(n, n))


def integers(n: int, arcs: Arcs, least: int = 1, most: int = 999) -> Any:
    return weighted(n, arcs, np.random.default_rng(n).integers(least, most + 1, len(arcs[0])))


def uniform(n: int, arcs: Arcs) -> Any:
    return weighted(n, arcs, np.random.default_rng(n).random(len(arcs[0])) + 0.01)


def both(tails: np.ndarray, heads: np.ndarray) -> Arcs:
    return np.concatenate((tails, heads)), np.concatenate((heads, tails))


def undirected(n: int, edges: Arcs, weights: np.ndarray | None = None) -> Any:
    """Each edge both ways, of one weight."""
    weights = np.random.default_rng(n).integers(1, 1000, len(edges[0])) if weights is None else weights
    return weighted(n, both(*edges), np.tile(weights, 2))


def attached(n: int, m: int) -> Arcs:
    """Preferential attachment (Barabási and Albert 1999): each vertex to m ends of earlier edges."""
    rng, ends = np.random.default_rng(n + m), np.zeros(2 * n * m, np.int64)
    ends[:m] = np.arange(m)
    many = m
    for v in range(m, n):
        ends[many + m : many + 2 * m] = v
        ends[many : many + m] = ends[rng.integers(0, many, m)]
        many += 2 * m
    pairs = ends[m:many].reshape(-1, 2, m)
    return pairs[:, 0].ravel(), pairs[:, 1].ravel()


def random(n: int, degree: float) -> Arcs:
    tails, heads = np.random.default_rng(n).integers(0, n, (2, int(n * degree)))
    return tails, heads


def power(n: int, degree: float, exponent: float) -> Arcs:
    """Chung and Lu (2002): ends are drawn in proportion to k^(−1/(exponent − 1))."""
    share = (np.arange(n) + 10.0) ** (-1 / (exponent - 1))
    tails, heads = np.random.default_rng(n).choice(n, (2, int(n * degree)), p=share / share.sum())
    return tails, heads


def small_world(n: int, k: int, again: float) -> Arcs:
    """Watts and Strogatz (1998): a ring of neighbours, some arcs rewired at random."""
    rng, tails = np.random.default_rng(n), np.repeat(np.arange(n), k // 2)
    heads = (tails + np.tile(np.arange(1, k // 2 + 1), n)) % n
    return tails, np.where(rng.random(len(heads)) < again, rng.integers(0, n, len(heads)), heads)


def nearest(n: int, k: int, dimensions: int) -> Any:
    """The k nearest neighbours of points, by their distances."""
    points = np.random.default_rng(n).random((n, dimensions))
    far, ends = cKDTree(points).query(points, k + 1)
    return undirected(n, (np.repeat(np.arange(n), k), ends[:, 1:].ravel()), far[:, 1:].ravel())


def roads(n: int) -> Any:
    graph = road_like(n, seed=1)
    return undirected(graph.n, (graph.rows, graph.cols))


def lattice(*sides: int) -> Any:
    if len(sides) == 2:
        graph = grid(*sides)
        return undirected(graph.n, (graph.rows, graph.cols))
    index = np.arange(math.prod(sides)).reshape(sides)
    ends = [
        (index.take(range(s - 1), axis).ravel(), index.take(range(1, s), axis).ravel()) for axis, s in enumerate(sides)
    ]
    return undirected(index.size, (np.concatenate([u for u, _ in ends]), np.concatenate([v for _, v in ends])))


def triangles(n: int) -> Any:
    sides = Delaunay(np.random.default_rng(n).random((n, 2))).simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    return undirected(n, (sides[:, 0], sides[:, 1]))


def tree(n: int, newest: int) -> Any:
    """Each vertex hangs on one of the `newest` before it."""
    v = np.arange(1, n)
    return undirected(n, (v, np.maximum(0, v - np.random.default_rng(n).integers(1, newest + 1, n - 1))))


def layers(count: int, size: int, degree: int) -> Any:
    """Arcs from each layer to the next."""
    rng, n = np.random.default_rng(count), count * size
    tails = np.repeat(np.arange(n - size), degree)
    return integers(n, (tails, (tails // size + 1) * size + rng.integers(0, size, len(tails))))


def acyclic(n: int, degree: int) -> Any:
    tails, heads = np.sort(random(n, degree), axis=0)
    return integers(n, (tails, heads))


def apart(n: int, degree: int) -> Any:
    """Two components."""
    tails, heads = random(n, degree)
    half = tails % (n // 2)
    return integers(n, (np.r_[half, half + n // 2], np.r_[heads % (n // 2), heads % (n // 2) + n // 2]))


def bipartite(n: int, degree: int) -> Any:
    tails, heads = random(n, degree)
    return undirected(n, (tails // 2 * 2, heads // 2 * 2 + 1 - n % 2))


def filled(n: int, share: float) -> Any:
    return uniform(n, np.nonzero(np.random.default_rng(n).random((n, n)) < share))


def revalued(A: Any, values: Callable[[np.random.Generator, int], np.ndarray]) -> Any:
    """The same pattern with other weights."""
    return scipy.sparse.csr_array(
        (values(np.random.default_rng(7), A.nnz).astype(float), A.indices, A.indptr), shape=A.shape
    )


def dimacs(path: Path) -> Any:
    text = (gzip.open if path.suffix == ".gz" else open)(path, "rt").read()
    n = int(re.search(r"^p sp (\d+)", text, re.MULTILINE)[1])  # type: ignore[index]
    tails, heads, weights = np.array(re.findall(r"^a (\d+) (\d+) (\d+)", text, re.MULTILINE), np.int64).T
    return weighted(n, (tails - 1, heads - 1), weights)


def snap(path: Path) -> Any:
    names, ends = np.unique(np.loadtxt(path, dtype=np.int64), return_inverse=True)
    tails, heads = ends.reshape(-1, 2).T
    return integers(len(names), (tails, heads), 1, 99)


def flights(folder: Path) -> Any:
    """Airports that routes leave or reach, and great-circle distances in km."""
    rows = [line.split(",") for line in (folder / "routes.dat").read_text(encoding="utf-8").splitlines()]
    text = (folder / "airports.dat").read_text(encoding="utf-8")
    places = re.findall(r'^(\d+),.*?,(?:"[A-Z0-9]{4}"|\\N),(-?[\d.]+),(-?[\d.]+),', text, re.MULTILINE)
    place = {name: (float(latitude), float(longitude)) for name, latitude, longitude in places}
    routes = [(row[3], row[5]) for row in rows if row[3] in place and row[5] in place]
    names, ends = np.unique(np.array(routes), return_inverse=True)
    tails, heads = ends.reshape(-1, 2).T
    where = np.radians([place[name] for name in names.tolist()])
    (a, b), (c, d) = where[tails].T, where[heads].T
    cosine = np.sin(a) * np.sin(c) + np.cos(a) * np.cos(c) * np.cos(b - d)
    return weighted(len(names), (tails, heads), 6371 * np.arccos(np.clip(cosine, -1, 1)))


def graphs(data: Path) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Name, about how many vertices, and what makes the matrix."""
    for name, n, path, read in (
        ("rome99", 3353, "dimacs/rome99.gr", dimacs),
        ("wiki-Vote", 7115, "snap/wiki-Vote.txt", snap),
        ("p2p-Gnutella08", 6301, "snap/p2p-Gnutella08.txt", snap),
        ("OpenFlights", 3334, "openflights", flights),
        ("Luxembourg", 76595, "osm-luxembourg/luxembourg.gr.gz", dimacs),
    ):
        if (data / path).exists():
            yield name, n, lambda read=read, path=path: read(data / path)
    for n, m in ((100, 4), (300, 4), (2000, 8), (5000, 16), (20_000, 2), (20_000, 8), (100_000, 8)):
        yield f"attachment {n}, m = {m}", n, lambda n=n, m=m: undirected(n, attached(n, m))
    for n, d in (
        (50, 4), (400, 8), (1000, 6), (2000, 3), (2000, 100), (3000, 30), (5000, 10), (8000, 2), (20_000, 16),
        (100_000, 5),
    ):  # fmt: skip
        yield f"random {n}, degree {d}", n, lambda n=n, d=d: uniform(n, random(n, d))
    for n, d, e in ((2000, 6, 2.2), (10_000, 10, 2.5), (20_000, 5, 2.2)):
        yield f"power law {n}, exponent {e}", n, lambda n=n, d=d, e=e: integers(n, power(n, d, e))
    for n, k, p in ((1000, 6, 0.1), (10_000, 4, 0.05), (20_000, 10, 0.2)):
        yield f"small world {n}, {p}", n, lambda n=n, k=k, p=p: undirected(n, small_world(n, k, p))
    for n, k, d in ((5000, 6, 2), (20_000, 8, 2), (3000, 8, 3), (10_000, 8, 3), (3000, 10, 8), (10_000, 10, 8)):
        yield f"{k} nearest of {n} in {d}-D", n, lambda n=n, k=k, d=d: nearest(n, k, d)
    for sides in ((10, 10), (50, 50), (140, 140), (20, 20, 20)):
        yield "grid " + " × ".join(map(str, sides)), math.prod(sides), lambda sides=sides: lattice(*sides)
    for n in (500, 5000, 20_000, 100_000):
        yield f"road-like {n}", n, lambda n=n: roads(n)
    for n in (1000, 10_000):
        yield f"Delaunay {n}", n, lambda n=n: triangles(n)
    yield "star 5000", 5000, lambda: undirected(5000, (np.zeros(4999, int), np.arange(1, 5000)))
    yield "path 3000", 3000, lambda: tree(3000, 1)
    yield "tree 10000", 10_000, lambda: tree(10_000, 10_000)
    yield "deep tree 20000", 20_000, lambda: tree(20_000, 20)
    yield "3 layers of 2667", 8000, lambda: layers(3, 2667, 4)
    yield "50 layers of 100", 5000, lambda: layers(50, 100, 4)
    yield "acyclic 3000, degree 8", 3000, lambda: acyclic(3000, 8)
    yield "two components 4000", 4000, lambda: apart(4000, 5)
    yield "bipartite 3000", 3000, lambda: bipartite(3000, 5)
    yield "90 % of 60", 60, lambda: filled(60, 0.9)
    yield "90 % of 200", 200, lambda: filled(200, 0.9)
    yield "50 % of 1000", 1000, lambda: filled(1000, 0.5)
    yield (
        "units, random 4000, degree 6",
        4000,
        lambda: revalued(uniform(4000, random(4000, 6)), lambda r, m: np.ones(m)),
    )
    yield "units, grid 60 × 60", 3600, lambda: revalued(lattice(60, 60), lambda r, m: np.ones(m))
    yield "1 to 9, attachment 5000", 5000, lambda: undirected(5000, attached(5000, 6), np.arange(29_964) % 9 + 1)
    yield "heavy tail, random 5000", 5000, lambda: revalued(uniform(5000, random(5000, 8)), lambda r, m: r.pareto(1, m))
    yield (
        "half zeros, random 4000",
        4000,
        lambda: revalued(uniform(4000, random(4000, 6)), lambda r, m: r.integers(0, 2, m) * r.random(m)),
    )


def forget() -> None:
    """Structures that were found are not known to the next call."""
    vars(STRUCTURES).update(vars(Structures()))


def own(run: Callable[[], Any]) -> float:
    """Seconds of this process's processors."""
    forget()
    start = time.process_time()
    run()
    return time.process_time() - start


def in_turns(
    runs: dict[str, Callable[[], Any]], limit: float, times: dict[str, float] | None = None
) -> dict[str, float]:
    """The least seconds of each, of three in turns, or up to nine where they are short; of two or one if they are long.

    Some have had their first turn.
    """
    times = {} if times is None else times
    least = {1: math.inf, 2: limit / 4, 3: limit / 20}
    for turn in range(1, 10):
        for name, run in runs.items():
            if name not in times or (turn > 1 and times[name] < least.get(turn, 0.01)):
                times[name] = min(own(run), times.get(name, math.inf))
    return times


def asked(A: Any, options: dict[str, Any]) -> Callable[[], np.ndarray]:
    return lambda: apsp.shortest_paths(A, **options).distances


def measured(name: str, A: Any, counts: list[int], limit: float) -> Iterator[Cell]:
    """The cells of one graph."""
    n = A.shape[0]
    chosen = np.random.default_rng(1).choice(n, min(64, n), replace=False)
    start = time.process_time()
    truth = scipys.dijkstra(A, indices=chosen)
    a_row = (time.process_time() - start) / len(chosen)
    ordering = math.inf if n > 50_000 and A.nnz > 8 * n else 0.0  # takes minutes
    for count in counts:
        if 0 < n < count:
            continue
        sources = chosen[:count] if count else None
        options: dict[str, Any] = {"sources": sources, "threads": 1}
        if not count and 8 * n * n > MOST:
            yield Cell(name, count, n, skipped=f"{8 * n * n / 2**30:.1f} GiB")
            continue
        forget()
        plan = apsp.plan(A, **options)
        if plan.seconds > limit:
            yield Cell(name, count, n, skipped=f"{plan.seconds:.0f} s")
            continue
        runs = {"ours": asked(A, options), "csgraph": partial(csgraph.dijkstra, A, indices=sources, threads=1)}
        times: dict[str, float] = {}
        for which, run in runs.items():
            found: list[np.ndarray] = []
            times[which] = own(lambda run=run, found=found: found.append(run()))
            D = found.pop()
            np.testing.assert_allclose(D if count else D[chosen], truth[: count or len(chosen)], rtol=1e-9)
            del D
        sampled = not count and n * a_row > limit
        if not sampled:
            runs["scipy"] = partial(scipys.dijkstra, A, indices=sources)
        in_turns(runs, limit, times)
        times.setdefault("scipy", n * a_row)
        engines, others, fastest = {}, {}, min(times.values())
        for engine in ENGINES:
            if engine == plan.engine:
                engines[engine] = times["ours"]
                continue
            if engine == "elimination" and max(ordering, estimates.counting(n, A.nnz)) > WORTH * fastest:
                continue
            try:
                if engine == "elimination" and not ordering:
                    ordering = own(lambda: sparse.analyse((A.tocoo().row, A.tocoo().col), n))
                    if ordering > WORTH * fastest:
                        continue
                forget()
                other = apsp.plan(A, engine=engine, **options)
            except (SemiringError, ValueError):
                continue
            others[engine] = min([e.seconds for e in other.considered if e.engine == engine] or [other.seconds])
            if others[engine] <= min(WORTH * fastest, limit):
                engines |= in_turns({engine: asked(A, {**options, "engine": engine})}, limit)
        others[plan.engine] = min([e.seconds for e in plan.considered if e.engine == plan.engine] or [plan.seconds])
        yield Cell(
            name,
            count,
            n,
            times["ours"],
            times["csgraph"],
            times["scipy"],
            sampled,
            plan.engine,
            others[plan.engine],
            engines,
            others,
        )


def batch() -> None:
    """Rows of a batch of 32 sources against SciPy's, on one thread and on two."""
    n = 20_000
    A = undirected(n, attached(n, 8))
    sources = np.random.default_rng(0).choice(n, 1024, replace=False)
    truth = scipys.dijkstra(A, indices=sources[:32])
    coo, seconds, own_seconds = A.tocoo(), {}, []
    for threads in (1, 2):
        S = sparse.Searches((coo.row, coo.col), n=n, weights=coo.data, threads=threads)
        np.testing.assert_allclose(np.concatenate([D for _, D in S.rows(sources)])[:32], truth, rtol=1e-9)
        run = lambda S=S: [len(D) for _, D in S.rows(sources)]  # noqa: E731
        seconds[threads] = best(run, 5) / len(sources)
        own_seconds.append(best(run, 3, clock=time.process_time) / len(sources))
    theirs = best(lambda: scipys.dijkstra(A, indices=sources[:32]), clock=time.process_time) / 32
    each, gain = own_seconds[0], seconds[1] / seconds[2]
    print(
        f"a source of attachment 20000, m = 8: SciPy {1e3 * theirs:.3g} ms, in a batch {1e3 * each:.3g} ms of one core,"
    )
    print(f"{theirs / each:.2f} × (bar 8); two threads {gain:.2f} × by the clock on the wall (bar 1.8)", flush=True)


def summary(cells: list[Cell]) -> None:
    """The four bars, and every miss."""
    names = dict.fromkeys(cell.graph for cell in cells)
    cells = [cell for cell in cells if not cell.skipped]

    def kept(what: str, fine: Callable[[Cell], bool], bar: str) -> None:
        missed = [cell for cell in cells if not fine(cell)]
        good = len(names) - len({cell.graph for cell in missed})
        print(f"{what}: {len(cells) - len(missed)} of {len(cells)} questions, {good} of {len(names)} graphs ({bar})")
        for cell in missed:
            print(f"    {cell}")

    kept(f"shortest_paths within {SLOWER} × SciPy, or {1e3 * MORE:g} ms", lambda c: c.within(c.ours), "bar: all")
    kept(f"csgraph within {SLOWER} × SciPy, or {1e3 * MORE:g} ms", lambda c: c.within(c.csgraph), "bar: all")
    kept(f"engine within {CHOSEN} × the fastest", lambda c: c.right, "bar: 57 of 60")
    kept(f"predicted within {PREDICTED:g} ×", lambda c: c.foreseen, "bar: 54 of 60")


def warm(cores: Any = None) -> None:
    """Kernels are compiled; in a process that has a core to itself, of those in a queue."""
    if cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores.get()})
    for _ in range(2):
        for A in (lattice(30, 30), filled(60, 0.9), revalued(lattice(30, 30), lambda r, m: np.ones(m))):
            for engine in ENGINES:
                for sources in (None, range(16)):
                    try:
                        apsp.shortest_paths(A, engine=engine, sources=sources, threads=1).distances  # noqa: B018
                    except (SemiringError, ValueError):
                        break


def task(name: str, counts: list[int], data: Path, limit: float, end: float) -> list[Cell]:
    """The cells of one graph by its name; none if it is too late to begin."""
    if time.time() > end:
        return []
    make = next(make for known, _, make in graphs(data) if known == name)
    return list(measured(name, make(), counts, limit))


def done(tasks: list[tuple[str, list[int]]], args: argparse.Namespace, limit: float) -> Iterator[list[Cell]]:
    """The cells of each, from several processes."""
    end = time.time() + args.within
    if args.jobs == 1:
        warm()
        yield from (task(*one, args.data, limit, end) for one in tasks)
        return
    context = multiprocessing.get_context("spawn")
    cores, own_cores = context.Queue(), sorted(os.sched_getaffinity(0))
    for k in range(args.jobs):
        cores.put(own_cores[k % len(own_cores)])
    with ProcessPoolExecutor(args.jobs, context, warm, (cores,)) as pool:
        for future in as_completed([pool.submit(task, *one, args.data, limit, end) for one in tasks]):
            yield future.result()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real graphs (default: %(default)s)")
    parser.add_argument("--only", default="", help="a pattern of the names of graphs")
    parser.add_argument("--sources", type=int, nargs="+", default=SOURCES, help="0 for all (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a call, at most (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on a core (default: %(default)s)")
    parser.add_argument("--record", type=Path, help="a file of cells, a line each, which are added and not run again")
    parser.add_argument("--within", type=float, default=math.inf, help="seconds after which no graph is begun")
    parser.add_argument("--batch", action="store_true", help="a batch of searches alone")
    args = begin(parser)
    if args.batch:
        batch()
        return
    limit = min(args.limit, 0.05) if args.quick else args.limit
    cells = []
    if args.record and args.record.exists():
        cells = [Cell(**json.loads(line)) for line in args.record.read_text(encoding="utf-8").splitlines()]
    there = {(cell.graph, cell.sources) for cell in cells}
    sized = [
        (n, name) for name, n, _ in graphs(args.data) if re.search(args.only, name) and (n <= 300 or not args.quick)
    ]
    if args.jobs > 1:  # what takes longest first, all rows apart from some
        sized.sort(reverse=True)
        parts = [[count for count in args.sources if bool(count) == some] for some in (False, True)]
    else:
        parts = [list(args.sources)]
    tasks = [
        (name, left)
        for part in parts
        for n, name in sized
        if (left := [count for count in part if count <= n and (name, count) not in there])
    ]
    print(f"{'milliseconds':30} from {'ours':>9} {'csgraph':>9} {'SciPy':>9}  {'engine':11} {'predicted':>9}")
    for new in done(tasks, args, limit):
        for cell in new:
            print(cell, flush=True)
            cells.append(cell)
            if args.record:
                with args.record.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(cell)) + "\n")
    summary(cells)


if __name__ == "__main__":
    main()
