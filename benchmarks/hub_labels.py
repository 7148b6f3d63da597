"""What do hub labels take, how fast do they answer pairs, and how many times as fast as two climbs?

    python benchmarks/hub_labels.py                 # Luxembourg, a road-like graph, a Delaunay triangulation; 2 minutes
    python benchmarks/hub_labels.py --data DIR      # DIR has osm-luxembourg/; else ../shared/data
    python benchmarks/hub_labels.py --quick         # generated graphs of 20,000 vertices

Pairs are checked against SciPy's Dijkstra before anything is timed, and every pair of a batch against `E.entries`,
which climbs from both ends. Times are of one thread's processor clock, the least of several; "2 threads" are wall
clock, in turn with one. Where there is a bar, it stands behind the number, and whether it is met.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from common import arguments, begin, best
from scipy.sparse.csgraph import dijkstra
from sparse import DATA, Arcs, graphs, matrix, own

# isort: split
import apsp
from semiring import Elimination
from semiring.sparse.hubs import hub_cost

#: What each graph has to reach: seconds at most, ratios at least.
BARS: dict[str, dict[str, float]] = {
    "Luxembourg": {"made": 0.35, "batch": 0.5e-6, "climbs": 8, "loop": 4e-6, "table": 15e-3, "threads": 1.8},
    "road-like 131000": {"made": 2.5, "threads": 1.8},
    "Delaunay 126146": {"made": 6.0, "threads": 1.8},
}
#: Pairs of a batch; of those, pairs by climbs; and vertices of either side of a table.
BATCH, CLIMBS, SIDE = 10**6, 20_000, 1000


def say(name: str, key: str, value: float, text: str, scale: float = 1.0, unit: str = "") -> None:
    """A number with its bar."""
    bar, least = BARS.get(name, {}).get(key), unit == "×"
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
    say(name, "climbs", climbs / batch, "two climbs (E.entries) take so many times as long", 1, "×")
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


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real graphs")
    parser.add_argument("--only", default="", help="graphs whose name contains this")
    options = begin(parser)
    began = time.perf_counter()
    for name, arcs in graphs(options.data, options.quick):
        if name.startswith(("Luxembourg", "road-like", "Delaunay")) and "10⁶" not in name and options.only in name:
            measure(name, arcs())
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
