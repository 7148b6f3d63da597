"""How long do the k best simple paths take, beside SciPy's yen and NetworkX?

    python benchmarks/ranked.py --data DIR          # DIR has osm-luxembourg/; else ../shared/data
    python benchmarks/ranked.py --quick

Each answer is checked first: lengths against SciPy's or NetworkX's, or against the paths themselves. Times are of the
whole call, the row of distances from the source among them; ratios are of the same run.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from common import arguments, begin
from scipy.sparse.csgraph import yen

from apsp import csgraph, road_like, shortest_paths


def main() -> None:
    parser = arguments(__doc__)
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=folder, help="the folder of real graphs")
    parser.add_argument("--pairs", type=int, default=1000, help="of Luxembourg")
    options = begin(parser)
    file = options.data / "osm-luxembourg" / "luxembourg.gr.gz"
    r = shortest_paths(road_like(500, seed=1) if options.quick or not file.exists() else file, threads=1)
    pairs = _connected(r, 10 if options.quick else options.pairs)
    for k in (10, 100, 1000):
        _pairs(r, pairs if k < 1000 else pairs[: max(5, len(pairs) // 10)], k)
    _alternatives(r, pairs[:20])
    _scipys(r, pairs[0])
    _networkx(100 if options.quick else 400)
    _dense(100 if options.quick else 1000)
    _many(500 if options.quick else 9000, 100 if options.quick else 10_000)


def _connected(r: Any, count: int) -> list[tuple[Any, Any]]:
    """Random pairs of a network, with a way."""
    ends = np.random.default_rng(0).integers(0, r.graph.n, (2 * count, 2)).tolist()
    pairs = [(r.labels[u], r.labels[v]) for u, v in ends]
    return [(u, v) for u, v in pairs if r.distance(u, v) < np.inf][:count]


def _timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds on the clock and of the processor, and the answer."""
    wall, processor = time.perf_counter(), time.process_time()
    answer = call()
    return time.perf_counter() - wall, time.process_time() - processor, answer


def _pairs(r: Any, pairs: list[tuple[Any, Any]], k: int) -> None:
    lengths = r.k_distances(*pairs[0], k)
    assert (np.diff(lengths) >= 0).all()
    assert lengths[0] == r.distance(*pairs[0])
    took = [_timed(lambda u=u, v=v: sum(1 for _ in r.k_paths(u, v, k))) for u, v in pairs]
    walls, processors, found = zip(*took, strict=True)
    print(
        f"{r.graph.n} vertices, {len(pairs)} pairs, K = {k}: median {1e3 * statistics.median(walls):.2f} ms, worst "
        f"{1e3 * max(walls):.1f}; of the processor {1e3 * statistics.median(processors):.2f} and "
        f"{1e3 * max(processors):.1f}; {statistics.mean(found):.0f} paths each",
        flush=True,
    )


def _alternatives(r: Any, pairs: list[tuple[Any, Any]]) -> None:
    took = [_timed(lambda u=u, v=v: r.k_distances(u, v, 3, overlap=0.6))[0] for u, v in pairs]
    print(f"3 alternatives that share at most 0.6: median {1e3 * statistics.median(took):.1f} ms", flush=True)


def _scipys(r: Any, pair: tuple[Any, Any]) -> None:
    g = r.graph
    u, v = (g.index(x) for x in pair)
    best = {}
    for a, b, w in zip(g.rows.tolist(), g.cols.tolist(), g.weights.tolist(), strict=True):
        best[a, b] = min(w, best.get((a, b), w))
    tails, heads = np.array(list(best), np.int32).T
    A = sp.csr_array(sp.coo_array((np.array(list(best.values()), float), (tails, heads)), shape=(g.n, g.n)))
    A = A if g.directed else A.maximum(A.T)
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    mine = min(_timed(lambda: r.k_distances(*pair, 10))[0] for _ in range(5))
    theirs, _, expected = _timed(lambda: yen(A, u, v, 10))
    np.testing.assert_allclose(r.k_distances(*pair, 10), expected)
    np.testing.assert_allclose(csgraph.yen(A, u, v, 10), expected)
    ours = min(_timed(lambda: csgraph.yen(A, u, v, 10))[0] for _ in range(3))
    hops = len(r.path(*pair)) - 1
    print(
        f"SciPy's yen, K = 10, {hops} edges: {theirs:.2f} s, {theirs / mine:.0f} × k_distances; csgraph.yen with its "
        f"row {1e3 * ours:.0f} ms, {theirs / ours:.0f} ×",
        flush=True,
    )


def _networkx(n: int) -> None:
    G, rng = nx.gnp_random_graph(n, 8 / n, seed=1, directed=True), np.random.default_rng(1)
    for a, b in G.edges:
        G[a][b]["weight"] = int(rng.integers(1, 100))

    def found(**options: Any) -> list[int]:
        paths = nx.shortest_simple_paths(G, 0, n - 1, weight="weight", **options)
        return [nx.path_weight(G, path, "weight") for path in itertools.islice(paths, 30)]

    nx.config.warnings_to_ignore.add("cache")
    found(backend="apsp")
    mine, theirs = min(_timed(lambda: found(backend="apsp"))[0] for _ in range(5)), _timed(found)
    assert found(backend="apsp") == theirs[2]
    print(f"NetworkX, {n} vertices, K = 30: {1e3 * theirs[0]:.0f} ms, {theirs[0] / mine:.0f} × its backend", flush=True)


def _dense(n: int) -> None:
    A = np.random.default_rng(1).random((n, n))
    r = shortest_paths(A, threads=1)
    list(r.k_paths(0, 1, 10))
    took = sorted(_timed(lambda u=u: list(r.k_paths(u, u + 1, 10)))[0] for u in range(50))
    print(f"dense, n = {n}, K = 10: median {1e3 * took[25]:.2f} ms, worst {1e3 * took[-1]:.2f}", flush=True)


def _many(n: int, count: int) -> None:
    r = shortest_paths(road_like(n, seed=2), threads=1)
    pairs = np.random.default_rng(3).integers(0, n, (count, 2))
    wall, processor, found = _timed(lambda: r.k_paths(pairs, 5))
    assert sum(map(len, found)) > 4 * count
    one = _timed(lambda: list(r.k_paths(0, n - 1, 1000)))
    assert len({tuple(path) for path in one[2]}) == len(one[2])
    print(f"city of {n}, {count} pairs × 5: {wall:.2f} s, {processor:.2f} of the processor", flush=True)
    print(f"{len(one[2])} distinct routes of a pair: {one[0]:.3f} s, {one[1]:.3f} of the processor", flush=True)


if __name__ == "__main__":
    main()
