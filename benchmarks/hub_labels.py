"""What do hub labels take, how fast do they answer pairs, and how many times as fast as two climbs?

    python benchmarks/hub_labels.py                 # Luxembourg, a road-like graph, a Delaunay triangulation; 2 minutes
    python benchmarks/hub_labels.py --data DIR      # DIR has osm-luxembourg/; else ../shared/data
    python benchmarks/hub_labels.py --quick         # generated graphs of 2,000 vertices
    python benchmarks/hub_labels.py --device cuda   # made and asked on a GPU, and the nearest of 50; 1 minute

Pairs are checked against SciPy's Dijkstra before anything is timed, and every pair of a batch against `E.entries`,
which climbs from both ends. Times are of one thread's processor clock, the least of several; "2 threads" are wall
clock, in turn with one. On a GPU they are medians between two events of the device. What pairs read is the places at
which labels are looked at, in sectors of 32 bytes. Where there is a bar, it stands behind the number, and whether it is
met.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from common import arguments, begin, best
from scipy.sparse.csgraph import dijkstra
from sparse import DATA, Arcs, both_ways, graphs, matrix, own, road_like

# isort: split
import apsp
from semiring import Elimination
from semiring.sparse import HubLabels
from semiring.sparse.hubs import hub_cost

#: What each graph has to reach: seconds at most, ratios at least.
BARS: dict[str, dict[str, float]] = {
    "Luxembourg": {"made": 0.35, "batch": 0.5e-6, "climbs": 8, "loop": 4e-6, "table": 15e-3, "threads": 1.8},
    "road-like 131000": {"made": 2.5, "threads": 1.8},
    "Delaunay 126146": {"made": 6.0, "threads": 1.8},
    "Luxembourg, GPU": {"made": 5e-3, "rate": 2e9},
    "road-like 131000, GPU": {"made": 25e-3, "rate": 1e9},
    "road-like 100000, GPU": {"nearest": 1e-3},
}
#: Pairs of a batch; of those, pairs by climbs; and vertices of either side of a table. Pairs of a batch on a GPU.
BATCH, CLIMBS, SIDE, MANY = 10**6, 20_000, 1000, 1 << 23
#: Edges that are changed, one at a time.
CHANGES = 300


def say(name: str, key: str, value: float, text: str, scale: float = 1.0, unit: str = "") -> None:
    """A number with its bar."""
    bar = BARS.get(name, {}).get(key)
    least = unit in ("×", "G/s")
    met = "" if bar is None else "  met" if (value >= bar if least else value <= bar) else "  MISSED"
    shown = "" if bar is None else f"  ({'≥' if least else '≤'} {bar * scale:g} {unit}; {value / bar:.2f} of it)"
    print(f"  {text:60} {value * scale:10.3f} {unit}{shown}{met}", flush=True)


def check(E: Elimination, arcs: Arcs) -> None:
    """Pairs of some sources against SciPy; a batch, single pairs and climbs against each other."""
    some = np.random.default_rng(1).integers(0, E.n, 6)
    expected, H = dijkstra(matrix(arcs), indices=some), E.hub_labels()
    np.testing.assert_allclose(H.entries(some[:, None], np.arange(E.n)), expected, rtol=1e-5)
    i, j = np.random.default_rng(2).integers(0, E.n, (2, CLIMBS))
    found = H.entries(i, j)
    np.testing.assert_array_equal(found, E.entries(i, j))
    np.testing.assert_array_equal(
        [H.entry(a, b) for a, b in zip(i[:999].tolist(), j.tolist(), strict=False)], found[:999]
    )


def measure(name: str, arcs: Arcs) -> None:
    tails, heads, weights, n = arcs
    E = Elimination.from_arrays(tails, heads, weights.astype(np.float32), n, threads=1)
    check(E, arcs)
    cost = hub_cost(E.analysis.structure, E.dtype)
    print(f"{name}: {n:,} vertices, equal to SciPy on sampled rows and to climbs on {CLIMBS:,} pairs")
    print(
        f"  {cost.pairs:.3g} pairs, {cost.entries / 2 / n:.0f} hubs a vertex, {cost.bytes(4, 0) / 1e6:.0f} MB, float32"
    )
    made = own(E.hub_labels)
    say(name, "made", made, "labels made, one core", 1e3, "ms")
    H = E.hub_labels()
    i, j = np.random.default_rng(0).integers(0, n, (2, BATCH))
    batch = own(lambda: H.entries(i, j)) / BATCH
    climbs = own(lambda: E.entries(i[:CLIMBS], j[:CLIMBS]), 3) / CLIMBS
    say(name, "batch", batch, f"a pair, of {BATCH:,} in a call", 1e6, "µs")
    say(name, "climbs", climbs / batch, "two climbs (E.entries), relative to this", 1, "×")
    names = [f"crossing {k}" for k in np.random.default_rng(3).permutation(n)]
    graph = apsp.Graph.from_arrays(tails, heads, weights.astype(np.float32), n=n, labels=names)
    r = apsp.shortest_paths(graph, hub_labels=True, threads=1, dtype="float32")
    us, vs = ([names[k] for k in x[:50_000]] for x in (i, j))

    def loop() -> None:
        for u, v in zip(us, vs, strict=True):
            r.distance(u, v)

    say(name, "loop", own(loop, 3) / len(us), "a pair in a Python loop, vertices by name", 1e6, "µs")
    rows, columns = i[:SIDE], j[:SIDE]
    # Where it is large, labels are slower than climbs and sweeps along few root paths, which a result then takes.
    say(name, "table", own(lambda: r.engine.block(rows, columns)), f"a table of {SIDE} × {SIDE}", 1e3, "ms")
    two = Elimination.from_arrays(tails, heads, weights.astype(np.float32), n, threads=2)
    H2 = two.hub_labels()
    by_one, by_two, one, both = np.min(
        [
            [best(run, 1) for run in (E.hub_labels, two.hub_labels, lambda: H.entries(i, j), lambda: H2.entries(i, j))]
            for _ in range(6)
        ],
        axis=0,
    )
    say(name, "threads", by_one / by_two, "2 threads: labels, wall clock", 1, "×")
    say(name, "pairs", one / both, "2 threads: pairs, wall clock", 1, "×")
    measure_changes(r, made)


def measure_changes(r: apsp.Result, made: float) -> None:
    """An edge is changed, and changed back: the update with its labels, and a distance."""
    graph, rng = r.graph, np.random.default_rng(4)
    for what in ("doubled", "closed"):
        spent, edges = [], rng.choice(graph.edge_count, CHANGES, replace=False).tolist()
        for edge in edges[:1] + edges:
            tail, head = (graph.labels[int(x[edge])] for x in (graph.rows, graph.cols))
            start = time.thread_time()
            changed = r.update({(tail, head): np.inf if what == "closed" else 2 * float(graph.weights[edge])})
            changed.distance(tail, head)
            spent.append(time.thread_time() - start)
        H, fresh = changed.engine.hubs, changed.engine.elimination.hub_labels()
        np.testing.assert_array_equal(np.stack((H.out, H.into)), np.stack((fresh.out, fresh.into)))
        for share, text in ((50, f"one edge {what}, labels that follow, a distance: median"), (90, "  of nine in ten")):
            say("", "", float(np.percentile(spent[1:], share)), text, 1e3, "ms")
        say("", "", max(spent[1:]), "  at worst", 1e3, "ms")
        say("", "", float(np.mean(spent[1:])) / made, "  on average, to labels made", 1, "")


def looked_at(H: HubLabels, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The two stretches of labels at which a GPU looks for each pair, as `in_common` in hubs.cu: (pairs, 4)."""
    tops, ends, pairs = H._labels.layout.tops.get().astype(np.int64), [], (H.places[i], H.places[j])
    x, y = (X[:, 1] for X in pairs)
    shared = pairs[0][:, 2] & pairs[1][:, 2] & -highest(np.where(x == y, 1, x ^ y))
    for number, above, length in (X.T[1:] for X in pairs):
        own = (number & -number == shared & -shared) | (x == y)
        k = highest(np.where(own, 1, above & ((shared & -shared) - 1)))
        seen = tops[np.where(own, 0, (number & (-2 * k)) | k), :5]
        ends.append(np.where(own[:, None], np.stack((length, 0 * length, length, length, length), axis=1), seen))
    size = [end[:, 2] - end[:, 1] + end[:, 4] - end[:, 3] for end in ends]
    first = (ends[0][:, 0] < ends[1][:, 0]) | ((ends[0][:, 0] == ends[1][:, 0]) & (size[0] < size[1]))
    return np.where(first[:, None], *ends)[:, 1:]


def highest(x: np.ndarray) -> np.ndarray:
    """The highest bit of positive numbers."""
    return np.int64(1) << (np.frexp(x.astype(np.float64))[1] - 1)


def sectors(stretches: np.ndarray, unit: int) -> float:
    """How many sectors of `unit` entries stretches take, on average."""
    low, low_end, high, high_end = stretches.T
    begin, again = -(-low_end // unit), high // unit
    both = begin - low // unit + np.maximum(0, -(-high_end // unit) - np.maximum(again, begin))
    return float(np.where(low_end > low, both, 0).mean())


def measure_on_gpu(name: str, arcs: Arcs) -> None:
    from device import bandwidth

    copied, n = bandwidth(), arcs[3]
    print(f"{name}: {n:,} vertices; a copy moves {copied / 1e12:.2f} TB/s")
    some, pairs = (np.random.default_rng(seed).integers(0, n, shape) for seed, shape in ((1, 6), (0, (2, MANY))))
    expected = dijkstra(matrix(arcs), indices=some)
    for dtype in ("float32", "int32", "float64"):
        measure_dtype_on_gpu(f"{name}, GPU" if dtype == "float32" else "", arcs, dtype, some, expected, pairs, copied)


def measure_dtype_on_gpu(
    name: str, arcs: Arcs, dtype: str, some: np.ndarray, expected: np.ndarray, pairs: np.ndarray, copied: float
) -> None:
    import cupy as cp
    from device import milliseconds

    (tails, heads, weights, n), (i, j) = arcs, pairs
    E = Elimination.from_arrays(tails, heads, weights.astype(dtype), n, device="cuda")
    H = E.hub_labels()
    found = H.entries(cp.asarray(some)[:, None], cp.arange(n)).get().astype(float)
    found[found == np.iinfo(np.int32).max] = np.inf
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-9)
    read = 64 * sectors(looked_at(H, i[:BATCH], j[:BATCH]), 32 // H.dtype.itemsize)
    say(name, "made", milliseconds(E.hub_labels) / 1e3, f"{dtype}: labels made", 1e3, "ms")
    ends = cp.asarray(i.astype(np.int32)), cp.asarray(j.astype(np.int32))
    rate = MANY / milliseconds(lambda: H._labels.pairs(*ends)) * 1e3
    say(name, "rate", rate, f"{dtype}: pairs a second, of {MANY:,} in a call", 1e-9, "G/s")
    say("", "", read * rate / copied, f"of what a copy moves; {read:.0f} bytes a pair", 100, "%")
    if not name:
        return
    wall, rows, columns = milliseconds(lambda: H.entries(*ends), launching=True), i[:SIDE, None], j[:SIDE]
    say("", "", MANY / wall * 1e3, "the same, the host's part and the check of positions included", 1e-9, "G/s")
    say("", "", best(lambda: H.entries(i[:BATCH], j[:BATCH]), 5), f"{BATCH:,} pairs from the host and back", 1e3, "ms")
    say("", "", best(lambda: H.entry(5, 7), 50), "one pair, from the host and back", 1e6, "µs")
    say(
        "",
        "",
        best(lambda: H.entries(rows, columns), 5),
        f"a table of {SIDE} × {SIDE}, from the host and back",
        1e3,
        "ms",
    )


def measure_nearest_on_gpu(n: int) -> None:
    from device import milliseconds

    tails, heads, weights, n = arcs = both_ways(road_like(n, seed=0), 1)
    sources, name = np.random.default_rng(3).integers(0, n, 50), f"road-like {n}, GPU"
    r = apsp.shortest_paths(
        apsp.Graph.from_arrays(tails, heads, weights.astype(np.float32), n=n), device="cuda", dtype="float32"
    )
    np.testing.assert_allclose(
        r.nearest(sources).distance, dijkstra(matrix(arcs), indices=sources, min_only=True), rtol=1e-5
    )
    on_device = r.engine.elimination.on_device
    device = milliseconds(lambda: on_device.nearest(sources, mirrored=False)) / 1e3
    say(name, "nearest", device, f"the nearest of {len(sources)}, on the device", 1e3, "ms")
    say("", "", best(lambda: r.engine.nearest(sources, towards=False), 9), "the same, on the host", 1e3, "ms")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real graphs")
    parser.add_argument("--only", default="", help="graphs whose name contains this")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where labels are made and asked")
    options = begin(parser, gpu="cuda" in sys.argv)
    began = time.perf_counter()
    if options.quick:
        globals().update(BATCH=10**4, CLIMBS=1000, SIDE=100, CHANGES=10)
    if options.device == "cuda":
        measure_nearest_on_gpu(2000 if options.quick else 100_000)
    for name, arcs in graphs(options.data, options.quick):
        if name.startswith(("Luxembourg", "road-like", "Delaunay")) and "10⁶" not in name and options.only in name:
            (measure if options.device == "cpu" else measure_on_gpu)(name, arcs())
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
