"""How much time do turn costs add to distances on a road network?

    python benchmarks/turns.py --data DIR               # DIR has osm-luxembourg/; else ../shared/data
    python benchmarks/turns.py --networks 100000        # random small networks too, 20 minutes; 1,000 by default
    python benchmarks/turns.py --device cuda            # whole tables by vertex instead, in float32
    python benchmarks/turns.py --quick

Sixteen rows of each are equal to SciPy's Dijkstra on the line graph, whose vertices are arcs, before anything is timed;
small networks to a loop over the last vertices of walks. Times are the best of five, of one thread's processor clock;
on a GPU, of the wall clock. Ratios are those to the network without turns, in the same process.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, begin, best
from fuzz.turns import turning
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from sparse import dimacs

from apsp import Graph, road_like, shortest_paths
from apsp.road.engines.elimination import STRUCTURES

#: Times as long as without turns, at most.
BARS = {
    "restrictions": dict.fromkeys(("cold", "new weights", "1,000²", "labels", "a pair"), 1.15),
    "costs everywhere": {"cold": 4.0, "new weights": 2.2, "a pair": 1.8, "1,000²": 1.5},
}


def main() -> None:
    parser = arguments(__doc__)
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=folder, help="the folder of real graphs")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of what is measured")
    parser.add_argument("--networks", type=int, default=1000, help="random small ones")
    parser.add_argument("--seed", type=int, default=0, help="of these")
    options = begin(parser)
    networks(100 if options.quick else options.networks, options.seed)
    file = options.data / "osm-luxembourg" / "luxembourg.gr.gz"
    if options.quick or not file.exists():
        g = road_like(2000, seed=1)
        tails, heads, weights, n = *np.concatenate(((g.rows, g.cols), (g.cols, g.rows)), axis=1), g.weights, g.n
        weights = np.tile(weights, 2)
    else:
        tails, heads, weights, n = dimacs(file)
    measured = on_gpu if options.device == "cuda" else on_host
    measured(Graph.from_arrays(tails, heads, np.maximum(weights, 1), n=n), 20 if options.quick else 2000)


def networks(count: int, seed: int, together: int = 500) -> None:
    """Networks of 2 to 6 vertices, many at a time as parts of one graph, beside the loop."""
    rng, done, start = np.random.default_rng(seed), 0, time.process_time()
    while done < count:
        edges, rules, wanted, pairs, base, u_turns = [], {}, [], [], 0, (None, math.inf, 3)[int(rng.integers(3))]
        for _ in range(min(together, count - done)):
            n = int(rng.integers(2, 7))
            ends, weights = rng.integers(0, n, (2 * n, 2)).tolist(), rng.integers(0, 9, 2 * n).tolist()
            arcs = {(u, v): w for (u, v), w in zip(ends, weights, strict=True)}
            own = {}
            for _ in range(int(rng.integers(1, 6))):
                walk, size = list(list(arcs)[int(rng.integers(len(arcs)))]), int(rng.choice((3, 3, 3, 4, 5)))
                while len(walk) < size and (ahead := [b for a, b in arcs if a == walk[-1]]):
                    walk.append(ahead[int(rng.integers(len(ahead)))])
                if len(walk) > 2:
                    own[tuple(walk)] = (math.inf, 2, 5, 0)[int(rng.integers(4))]
            edges += [(base + u, base + v, w) for (u, v), w in arcs.items()]
            rules |= {tuple(base + v for v in walk): cost for walk, cost in own.items()}
            for s in range(n):
                found = loop(arcs, own, u_turns or 0, s)
                wanted += [found.get(t, math.inf) for t in range(n)]
                pairs += [(base + s, base + t) for t in range(n)]
            base, done = base + n, done + 1
        r = shortest_paths(
            Graph.from_edges(edges, labels=range(base)), turns=rules, u_turns=u_turns, engine="elimination"
        )
        np.testing.assert_array_equal(r.distance(*np.array(pairs).T), wanted)
    print(f"{done:,} small networks equal the loop, {time.process_time() - start:.0f} s", flush=True)


def loop(arcs: dict[Any, int], rules: dict[Any, float], u_turns: float, source: int) -> dict[int, float]:
    """Distances from a vertex: Dijkstra's algorithm on the last vertices of walks, as many as rules look at."""
    kept = max([3, *map(len, rules)]) - 1
    seen, found, queue = set(), {}, [(0.0, (source,))]
    while queue:
        d, walk = heapq.heappop(queue)
        if walk in seen:
            continue
        seen.add(walk)
        found.setdefault(walk[-1], d)
        for (u, v), w in arcs.items():
            if u == walk[-1] and (turn := turning(walk, v, arcs, rules, u_turns)) < math.inf:
                heapq.heappush(queue, (d + w + turn, (*walk, v)[-kept:]))
    return found


def cases(g: Graph, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """Options: without turns, with restrictions at some junctions, with costs at all of them."""
    n = g.n
    e, f = in_and_out(g)
    neighbours = np.unique(np.concatenate((g.rows * n + g.cols, g.cols * n + g.rows)))
    junction = np.bincount(neighbours // n, minlength=n) > 2
    e, f = (x[junction[g.cols[e]]] for x in (e, f))
    triples = np.stack((g.rows[e], g.cols[e], g.cols[f]))
    triples = triples[:, np.unique((triples[1] * n + triples[0]) * n + triples[2], return_index=True)[1]]
    ahead = triples[:, triples[0] != triples[2]]
    ahead = ahead[:, rng.permutation(ahead.shape[1])]
    banned = ahead[:, np.unique(ahead[1], return_index=True)[1]]
    banned = banned[:, rng.permutation(banned.shape[1])[:count]]
    names, costs = ("from", "via", "to"), rng.integers(0, 30_000, triples.shape[1])
    turns = {"turns": dict(zip(names, banned, strict=True))}
    return {
        "without": {},
        "restrictions": turns,
        "costs everywhere": {"turns": dict(zip((*names, "cost"), (*triples, costs), strict=True))},
        "restrictions, no U-turns": {**turns, "u_turns": math.inf},
    }


def on_gpu(g: Graph, count: int) -> None:
    """New weights, and the whole table by vertex."""
    from device import cp

    rng = np.random.default_rng(0)
    new = (g.weights * rng.uniform(1, 1.5, len(g.weights))).astype(np.int64)
    before: list[float] = []
    for name, options in cases(g, count, rng).items():
        r = shortest_paths(g, engine="elimination", device="cuda", dtype="float32", **options)
        if options:
            equal_to_scipy(g, r, options, rng.integers(0, g.n, 16))

        def waited(run: Callable[[], Any]) -> float:
            return best(lambda: (run(), cp.cuda.Device().synchronize()), 5)

        times = [waited(lambda r=r: r.update(new)), waited(lambda r=r: r.engine.table())]
        before = before or times
        print(name, r.plan.reason.rpartition(";")[2], flush=True)
        for what, t, b in zip(("new weights", "all pairs"), times, before, strict=True):
            print(f"    {what:14} {1e3 * t:10.4g} ms, {t / b:.2f} ×", flush=True)


def on_host(g: Graph, count: int) -> None:
    """A first answer, new weights, a table, hub labels, a pair."""
    rng, n = np.random.default_rng(0), g.n
    chosen = cases(g, count, rng)
    new = (g.weights * rng.uniform(1, 1.5, len(g.weights))).astype(np.int64)
    i, j = (rng.choice(n, min(n, 1000), replace=False) for _ in "ij")
    pairs = rng.integers(0, n, (2, 1_000_000 if count > 100 else 1000))
    before: list[float] = []
    for name, options in chosen.items():

        def cold(options: Any = options) -> Any:
            return shortest_paths(g, engine="elimination", threads=1, **options)

        r = cold()
        if options:
            equal_to_scipy(g, r, options, rng.integers(0, n, 16))
        E, table = r.engine.all_pairs.elimination, r.table
        numbers = E.weights + 1
        times = [
            own(cold, STRUCTURES.__init__),
            own(lambda r=r: r.update(new)),
            own(lambda E=E, w=numbers: E.update(w)),
        ]
        times.append(own(lambda t=table: t(i, j)))
        times.append(own(lambda E=E: E.hub_labels()))
        r.hub_labels()
        times.append(own(lambda r=r: r.distance(*pairs)) / pairs.shape[1])
        before = before or times
        told = zip(("cold", "new weights", "numbers alone", "1,000²", "labels", "a pair"), times, before, strict=True)
        print(name, r.plan.reason.rpartition(";")[2], flush=True)
        bars = BARS.get(name, {})
        for what, t, b in told:
            bar = bars.get(what)
            met = "" if bar is None else f", at most {bar}: {'met' if t <= bar * b else 'MISSED'}"
            print(f"    {what:14} {1e3 * t:10.4g} ms, {t / b:.2f} ×{met}", flush=True)


def own(run: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> float:
    return best(run, 5, clock=time.process_time, before=before)


def in_and_out(g: Graph) -> tuple[np.ndarray, np.ndarray]:
    """All turns of the network, as arcs in and out."""
    order = np.argsort(g.rows, kind="stable")
    first = np.searchsorted(g.rows[order], np.arange(g.n + 1))
    count = np.diff(first)[g.cols]
    e = np.repeat(np.arange(len(g.rows)), count)
    within = np.arange(len(e)) - np.repeat(np.cumsum(count) - count, count)
    return e, order[first[g.cols[e]] + within]


def equal_to_scipy(g: Graph, r: Any, options: dict[str, Any], sources: np.ndarray) -> None:
    """Rows beside SciPy's on the line graph: arcs are vertices, turns arcs that weigh their cost and what follows."""
    (e, f), n, m, turns = in_and_out(g), g.n, len(g.rows), options["turns"]
    code = (g.rows[e] * n + g.cols[e]) * n + g.cols[f]
    listed = (np.asarray(turns["from"]) * n + turns["via"]) * n + turns["to"]
    by = np.argsort(listed)
    place = np.minimum(np.searchsorted(listed[by], code), len(by) - 1)
    told = listed[by][place] == code
    costs = np.full(len(by), np.inf) if "cost" not in turns else np.asarray(turns["cost"], float)
    out = {v: set() for v in range(n)}
    for u, v in zip(g.rows.tolist(), g.cols.tolist(), strict=True):
        out[u].add(v)
    back = g.rows[e] == g.cols[f]
    dead = np.array([len(out[v]) == 1 for v in range(n)])
    turn = np.where(back & ~dead[g.cols[e]], options.get("u_turns", 0.0), 0.0)
    turn[told] = costs[by][place[told]]
    kept = np.isfinite(turn)
    starts = [np.flatnonzero(g.rows == s) for s in sources.tolist()]
    rows = np.concatenate((e[kept], np.repeat(m + np.arange(len(sources)), list(map(len, starts)))))
    cols, w = np.concatenate((f[kept], *starts)), np.concatenate((turn[kept], np.zeros(sum(map(len, starts)))))
    A = csr_array((w + g.weights[cols], (rows, cols)), shape=(m + len(sources),) * 2)
    D = dijkstra(A, indices=m + np.arange(len(sources)))[:, :m]
    wanted = np.full((len(sources), n), np.inf)
    for k, s in enumerate(sources.tolist()):
        np.minimum.at(wanted[k], g.cols, D[k])
        wanted[k, s] = 0.0
    rtol = 0 if r.dtype.kind == "i" else 1e-5
    np.testing.assert_allclose(np.asarray(r.table(sources), float), wanted, rtol=rtol)


if __name__ == "__main__":
    main()
