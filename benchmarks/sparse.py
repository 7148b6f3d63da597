"""How long do elimination, sweeps and hop distances of sparse graphs take, and how far is SciPy from that?

    python benchmarks/sparse.py                     # everything, a graph a process; ten minutes
    python benchmarks/sparse.py --data DIR          # DIR has dimacs/, osm-luxembourg/ and snap/; else ../shared/data
    python benchmarks/sparse.py --only Delaunay     # graphs whose name contains this
    python benchmarks/sparse.py --quick             # generated graphs of 2,000 vertices

Rows are checked against SciPy's Dijkstra before anything is timed. Times are of one thread's processor clock, the best
of several, so that a busy machine adds little; "2 threads" are wall clock, in turn with one. SciPy's time for all pairs
is that of some sources, scaled; the dense closure's is n³ over the rate of one of 1024 vertices in the same process. An
entry is one distance. Where there is a bar, it stands behind the number, and whether it is met.
"""

from __future__ import annotations

import gzip
import itertools
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT, arguments, begin, best, peak
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay

# isort: split
import apsp
from apsp.generate import grid, road_like
from semiring import Elimination
from semiring.sparse import Hops
from semiring.sparse.analysis import Analysis

#: What each graph has to reach: times in seconds at most, ratios to SciPy at least.
BARS: dict[str, dict[str, float]] = {
    "rome99": {"all pairs": 15e-3, "SciPy": 70},
    "Luxembourg": {
        "cold": 0.1, "panels": 0.25e-9, "rows": 0.7e-9, "pair": 25e-6, "pairs": 8e-6, "weights": 20e-3,
        "first distance": 0.5, "two sweeps": 1.8, "table 50": 5e-3, "table 1000": 60e-3, "path": 1e-3, "paths": 0.15e-3,
        "one arc": 0.5e-3, "one arc at worst": 3e-3, "closed": 0.5e-3,
        "closed at worst": 3e-3, "new weights": 1.15, "as it comes": 1.2e-9,
    },
    "road-like 131000": {"cold": 0.2, "panels": 0.36e-9, "SciPy": 400, "two sweeps": 1.8, "nearest": 12e-3},
    "Delaunay 126146": {"cold": 0.35, "panels": 1e-9, "weights": 60e-3, "two sweeps": 1.8, "two numbers": 1.5},
    "road-like 10⁶": {"cold": 2.5, "source": 0.8e-3, "peak": 1e9},
    "wiki-Vote": {"all pairs": 1.0, "SciPy": 1, "dense": 1},
    "random 10000, degree 4": {"SciPy": 1, "dense": 1},
    "random 10000, degree 8": {"SciPy": 1, "dense": 1},
    "hops, preferential attachment 20000, m = 8": {"SciPy": 30},
}  # fmt: skip

#: Where real graphs lie, beside the repository.
DATA = ROOT.parent / "shared" / "data"

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


def graphs(data: Path, quick: bool) -> Iterator[tuple[str, Callable[[], Arcs]]]:
    if data.is_dir() and not quick:
        yield "rome99", lambda: dimacs(data / "dimacs/rome99.gr")
        yield "Luxembourg", lambda: dimacs(data / "osm-luxembourg/luxembourg.gr.gz")
        yield "wiki-Vote", lambda: snap(data / "snap/wiki-Vote.txt")
    n, side = (2000, 45) if quick else (131_000, 355)
    yield f"road-like {n}", lambda: both_ways(road_like(n, seed=0), 1)
    points, m = (2000, 2000) if quick else (126_146, 20_000)
    yield f"Delaunay {points}", lambda: delaunay(points)
    yield f"grid {side}²", lambda: both_ways(grid(side, side), 2)
    if not quick:
        yield "random 10000, degree 4", lambda: random(10_000, 4)
        yield "random 10000, degree 8", lambda: random(10_000, 8)
        yield "road-like 10⁶", lambda: both_ways(road_like(10**6, seed=0), 3)
    yield f"hops, preferential attachment {m}, m = 8", lambda: attached(m, 8)


def attached(n: int, m: int) -> Arcs:
    import networkx as nx

    edges = np.array(nx.barabasi_albert_graph(n, m, seed=0).edges()).T
    tails, heads = np.concatenate((edges, edges[::-1]), axis=1)
    return tails, heads, np.ones(len(tails)), n


def random(n: int, degree: int) -> Arcs:
    rng = np.random.default_rng(degree)
    return rng.integers(0, n, n * degree), rng.integers(0, n, n * degree), rng.integers(1, 1000, n * degree), n


def own(run: Callable[[], Any], repeat: int = 5) -> float:
    """The least seconds of this thread's processor clock."""
    return best(run, repeat, clock=time.thread_time)


def consume(blocks: Iterator[Any], count: int) -> int:
    """Entries of the first blocks."""
    entries = 0
    for _, block in blocks:
        entries += block.size
        count -= 1
        if not count:
            break
    return entries


class Lines:
    """What was measured, printed with its bar."""

    def __init__(self, name: str) -> None:
        self.bars = next((bars for key, bars in BARS.items() if key == name), {})

    def say(self, key: str, value: float, text: str, scale: float = 1.0, unit: str = "") -> None:
        bar = self.bars.get(key)
        least = key in ("SciPy", "dense", "two sweeps", "two numbers")
        met = "" if bar is None else "  met" if (value >= bar if least else value <= bar) else "  MISSED"
        shown = "" if bar is None else f"  ({'≥' if least else '≤'} {bar * scale:g} {unit})"
        print(f"  {text:52} {value * scale:10.3f} {unit}{shown}{met}", flush=True)

    def planned(self, arcs: Arcs, first: float | None, every: dict[str, float], dtype: str = "float32") -> None:
        """The plan's predictions beside what was measured: until the first distance, and all rows by each engine."""
        tails, heads, weights, n = arcs
        plan = apsp.plan(apsp.Graph.from_arrays(tails, heads, weights, n=n), dtype=dtype, threads=1)
        rows = [(f"all rows by {e.engine}", e.seconds, every[e.engine]) for e in plan.considered if e.engine in every]
        if first is not None and (found := [e for e in plan.considered if e.engine == "elimination"]):
            rows.insert(0, ("the first distance by elimination", found[0].start, first))
        print(f"  plan: {plan.engine}; measured fastest: {min(every, key=lambda e: every[e])}")
        for what, predicted, measured in rows:
            ratio = predicted / measured
            met = "met" if 0.5 <= ratio <= 2 else "MISSED"
            print(f"    {what:38} predicted {predicted:10.4g} s, measured {measured:10.4g} s: {ratio:5.2f}  {met}")


def measure(name: str, arcs: Arcs, path: Path | None) -> None:
    tails, heads, weights, n = arcs
    args, lines = weights.astype(np.float32), Lines(name)
    made = Elimination.from_arrays(tails, heads, args, n, threads=1)  # compiled, or found on disk
    check(made, arcs)
    print(f"{name}: {n:,} vertices, {len(tails):,} arcs, order {made.analysis.order}, equal to SciPy on sampled rows")
    print(f"  {made.cost}")
    large = n > 500_000

    def anew() -> None:
        Elimination.from_arrays(tails, heads, args, n, threads=1)

    cold = own(anew, repeat=1)
    repeat = 1 if cold > 2 else 2 if large else 5
    cold = min(cold, own(anew, repeat=repeat - 1) if repeat > 1 else cold)
    order = own(lambda: Analysis(tails.astype(np.int32), heads.astype(np.int32), n), repeat=repeat)
    update = own(lambda: made.update(args), repeat=repeat)
    lines.say("cold", cold, "cold: from arrays to panels", 1e3, "ms")
    lines.say("order", order, "order and tree, a part of it", 1e3, "ms")
    lines.say("weights", update, "new weights", 1e3, "ms")
    blocks = max(2, min(-(-n // 64), int(5e8 / (64 * n))))
    if made.cost.climb > 10**7:
        blocks = 2  # every source climbs through one large dense front

    def entry_time(stream: Callable[[], Iterator[Any]]) -> float:
        entries = consume(stream(), blocks)
        return own(lambda: consume(stream(), blocks), repeat=3) / entries

    panels, rows = entry_time(made.panels), entry_time(made.rows)
    lines.say("panels", panels, "an entry, in panels as they are swept", 1e9, "ns")
    lines.say("rows", rows, "an entry, in rows in the order of labels", 1e9, "ns")
    lines.say("source", panels * n, "a source, in a batch of 64", 1e3, "ms")
    lines.say("row", own(lambda: made.row(n // 2)), "one source alone", 1e3, "ms")
    count = max(20, min(2000, int(1e9 / max(1, made.cost.climb))))
    i, j = np.random.default_rng(0).integers(0, n, (2, count))
    few = list(zip(i[:300].tolist(), j[:300].tolist(), strict=True))
    lines.say("pair", own(lambda: [made.entry(a, b) for a, b in few]) / len(few), "one pair, in a loop", 1e6, "µs")
    lines.say("pairs", own(lambda: made.entries(i, j)) / len(i), f"one pair, of {count} in a call", 1e6, "µs")
    if not large and made.cost.climb <= 10**7:
        near(arcs, lines)
    every = cold + n * n * panels
    lines.say("all pairs", every, "all pairs, cold", 1.0, "s")
    scipy, dense = scipys(arcs), n**3 / dense_rate()
    lines.say("SciPy", scipy / every, "SciPy's Dijkstra, relative to this", 1.0, "×")
    lines.say("dense", dense / every, "the dense closure would", 1.0, "×")
    lines.planned(arcs, cold, {"elimination": cold + n * n * rows, "scipy": scipy, "dense": dense})
    if path is not None:
        lines.say("first distance", first_distance(path), "from the file to the first distance", 1.0, "s")
        measure_result(path, lines)
    lines.say("peak", streaming_peak(made), "resident at most while rows are streamed", 1e-6, "MB")
    if cold < 2 and not large:
        two = Elimination.from_arrays(tails, heads, args, n, threads=2)
        sweeps = in_turn(lambda E: under_way(E, blocks), (made, two), repeat)
        numbers = in_turn(lambda E: wall(E.update, args), (made, two), 3 * repeat)
        lines.say("two sweeps", sweeps[0] / sweeps[1], "2 threads: sweeps, wall clock", 1.0, "×")
        share = args.itemsize / sweeps[1] / filled()
        lines.say("filled", share, "  of what two threads write where they only fill", 100, "%")
        lines.say("two numbers", numbers[0] / numbers[1], "2 threads: new weights, wall clock", 1.0, "×")


def near(arcs: Arcs, lines: Lines) -> None:
    """Tables of few entries, the nearest of several, paths: equal to SciPy's, or as long, and timed next to SciPy's."""
    tails, heads, weights, n = arcs
    graph, A, rng = apsp.Graph.from_arrays(tails, heads, weights, n=n), matrix(arcs), np.random.default_rng(3)
    r = apsp.shortest_paths(graph, dtype="float32", engine="elimination", threads=1)
    for k in (50, 1000):
        sources, targets = rng.integers(0, n, (2, k))
        expected = dijkstra(A, indices=sources[:5])[:, targets]
        np.testing.assert_allclose(r.table(sources, targets)[:5], expected, rtol=1e-5, atol=1e-3)
        table = own(lambda i=sources, j=targets: r.table(i, j))
        lines.say(f"table {k}", table, f"a table of {k} × {k}", 1e3, "ms")
    hospitals = rng.permutation(n)[:50]
    expected = dijkstra(A, indices=hospitals, min_only=True)
    np.testing.assert_allclose(r.nearest(hospitals).distance, expected, rtol=1e-5, atol=1e-3)
    nearest = own(lambda: r.nearest(hospitals))
    lines.say("nearest", nearest, "the nearest of 50, for every vertex", 1e3, "ms")
    lines.say(
        "min_only", own(lambda: dijkstra(A, indices=hospitals, min_only=True), 3) / nearest, "SciPy takes", 1, "×"
    )
    i, j = rng.integers(0, n, (2, 10_000))
    reached = r.distance(i, j) < np.inf
    pairs = np.stack((i, j), axis=1)[reached]
    some = r.paths(pairs[:100])
    ends = np.array([edge for path in some for edge in itertools.pairwise(path)])
    steps = np.asarray(A[ends[:, 0], ends[:, 1]])
    length = np.bincount(np.repeat(np.arange(100), some.hops), weights=steps, minlength=100)
    np.testing.assert_allclose(length, r.distance(*pairs[:100].T), rtol=1e-5, atol=1e-3)
    lines.say("paths", own(lambda: r.paths(pairs), 2) / len(pairs), f"a path, of {len(pairs)} in a call", 1e3, "ms")
    u, v = max(some, key=len)[:: some.hops.max()]
    path, tree = own(lambda: r.path(u, v), 20), own(lambda: dijkstra(A, indices=u, return_predecessors=True))
    lines.say("path", path, f"one path, of {some.hops.max() + 1} vertices", 1e3, "ms")
    lines.say("tree", tree / path, "SciPy's whole tree, relative to this path", 1, "×")


def in_turn(run: Callable[[Elimination], float], which: tuple[Elimination, ...], repeat: int) -> list[float]:
    """What each takes, the best of several, in turn."""
    return np.min([[run(E) for E in which] for _ in range(1 + repeat)], axis=0).tolist()


def wall(run: Callable[..., Any], *args: Any) -> float:
    return best(lambda: run(*args), 1)


def under_way(E: Elimination, count: int) -> float:
    """Seconds an entry, by the wall clock, of some panels of a stream whose memory has been used before."""
    stream, entries = E.panels(), []
    consume(stream, 12)
    return wall(lambda: entries.append(consume(stream, count))) / entries[0]


def filled() -> float:
    """Bytes a second that two threads write to memory, each to an array of its own."""
    arrays = [np.ones(1 << 24, np.float32) for _ in range(2)]

    def both() -> None:
        threads = [threading.Thread(target=X.fill, args=(2,)) for X in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return 2 * arrays[0].nbytes / best(both, 20)


def measure_hops(name: str, arcs: Arcs) -> None:
    from scipy.sparse.csgraph import shortest_path

    tails, heads, _, n = arcs
    A = csr_array((np.ones(len(tails)), (tails, heads)), shape=(n, n))
    some = np.random.default_rng(1).integers(0, n, 20)
    expected = shortest_path(A, unweighted=True, indices=some)
    np.testing.assert_array_equal(np.concatenate([D for _, D in Hops(A).rows(some)]), expected)
    print(f"{name}: {n:,} vertices, {len(tails):,} arcs, equal to SciPy on sampled rows")
    lines = Lines(name)
    every = own(lambda: consume(Hops(A, threads=1).rows(), n), repeat=3)
    scipy = own(lambda: shortest_path(A, unweighted=True, indices=some), repeat=2) / len(some) * n
    lines.say("all pairs", every, "all pairs, from a SciPy matrix", 1.0, "s")
    lines.say("entry", every / n**2, "an entry", 1e9, "ns")
    lines.say("SciPy", scipy / every, "SciPy's shortest_path(unweighted=True) takes", 1.0, "×")
    lines.planned(arcs, None, {"hops": every, "scipy": scipy}, "int16")


def first_distance(path: Path) -> float:
    """Seconds from a file to one distance, by the library as people call it."""

    def run() -> None:
        r = apsp.shortest_paths(path, threads=1)
        r.distance(r.graph.labels[0], r.graph.labels[-1])

    return own(run, repeat=3)


def measure_result(path: Path, lines: Lines) -> None:
    """What `shortest_paths` of a file answers as it comes: rows, one arc changed, all new weights."""
    r = apsp.shortest_paths(path, threads=1)
    graph, rng = r.graph, np.random.default_rng(4)
    names = graph.labels
    entries = consume(r.rows(), 30)
    lines.say("as it comes", own(lambda: consume(r.rows(), 30), 3) / entries, f"an entry of rows, {r.dtype}", 1e9, "ns")
    sources, targets = ([names[k] for k in rng.integers(0, r.graph.n, 3000).tolist()] for _ in range(2))
    edges = rng.choice(graph.edge_count, 3000, replace=False).tolist()
    for key, what in (("one arc", "doubled"), ("closed", "closed")):
        spent = []
        for edge, u, v in zip(2 * edges[:1] + edges, 2 * sources[:1] + sources, 2 * targets[:1] + targets, strict=True):
            tail, head, weight = names[int(graph.rows[edge])], names[int(graph.cols[edge])], graph.weights[edge].item()
            start = time.thread_time()
            changed = r.update({(tail, head): np.inf if what == "closed" else 2 * weight})
            changed.distance(u, v)
            spent.append(time.thread_time() - start)
        check_result(changed)
        lines.say(key, float(np.median(spent[2:])), f"one arc {what}, and the next distance: median", 1e3, "ms")
        lines.say(f"{key} at worst", max(spent[2:]), "  at worst", 1e3, "ms")
    weights = (graph.weights * rng.uniform(0.5, 2, graph.edge_count)).astype(np.int64)
    check_result(r.update(weights))
    E = r.engine.elimination
    alone = own(lambda: E.update(E.weights), 15)
    lines.say(
        "new weights", own(lambda: r.update(weights), 15) / alone, "all new weights, to the engine's own", 1.0, "×"
    )


def check_result(r: apsp.Result) -> None:
    """Sampled rows are SciPy's."""
    arcs = r.graph.rows, r.graph.cols, r.graph.weights.astype(float), r.graph.n
    arcs[2][r.graph.weights == np.iinfo(np.int64).max] = np.inf
    some = np.random.default_rng(5).integers(0, r.graph.n, 2)
    found = r.table([r.graph.labels[k] for k in some.tolist()], list(r.graph.labels))
    np.testing.assert_allclose(found, dijkstra(matrix(arcs), indices=some), atol=1)


def dense_rate() -> float:
    """Pairs a second of a dense closure."""
    n = 1024
    A = np.random.default_rng(0).integers(1, 1000, (n, n)).astype(np.float32)
    apsp.closure(A, threads=1)
    return n**3 / own(lambda: apsp.closure(A, threads=1), repeat=3)


def streaming_peak(made: Elimination) -> float:
    """Bytes of the process at most while some blocks of rows are streamed; NaN where the system does not say."""
    try:
        return peak(lambda: consume(made.rows(), 8))[1]
    except OSError:
        return float("nan")


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
    return own(lambda: dijkstra(A, indices=some), repeat=2) / len(some) * n


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real graphs")
    parser.add_argument("--only", help="graphs whose name contains this")
    options = begin(parser)
    spawn = multiprocessing.get_context("spawn")
    for name, _ in graphs(options.data, options.quick):
        if (options.only or "") not in name:
            continue
        if options.quick:
            one(name, options.data, options.quick)
        else:  # each in a process of its own, so that none holds another's memory
            child = spawn.Process(target=one, args=(name, options.data, options.quick))
            child.start()
            child.join()
            if child.exitcode:
                raise SystemExit(child.exitcode)


def one(name: str, data: Path, quick: bool) -> None:
    """What a graph takes."""
    arcs = dict(graphs(data, quick))[name]()
    if name.startswith("hops"):
        measure_hops(name, arcs)
    else:
        measure(name, arcs, data / "osm-luxembourg/luxembourg.gr.gz" if name == "Luxembourg" else None)


if __name__ == "__main__":
    main()
