"""How long do flows and betweenness of all pairs take on a GPU, where rows of distances are there, or searched for?

    python benchmarks/gpu_flows.py                # n = 8,192, and 20,000 for preferential attachment: a minute
    python benchmarks/gpu_flows.py --quick        # n = 1,024 and 2,000
    python benchmarks/gpu_flows.py --only uniform

Complete graphs of random weights and of integers from 1 to 99, points of the unit square that are near each other, a
third of all pairs alike, 8 edges a vertex of three lengths, all pairs of points; then preferential attachment. Flows
are of a whole table of random demand, and are checked by Σ flow · weight = Σ demand · distance; betweenness, from all
vertices, by the same of one unit a pair. Times are of calls, from an array on the device to one there, or to a
dictionary, the best of three, with planning, the closure and the host's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common import arguments, begin
from device import cp
from gpu_sparse import wall_ms
from searches import attached

# isort: split
import apsp
from apsp import shortest_paths

#: Milliseconds on an H200: the closure with flows of a table, with betweenness; searches with betweenness.
FLOWS, BETWEENNESS, ATTACHED = 42.0, 65.0, 250.0


def families(n: int) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    """Matrices of edges, ∞ where there is none."""
    rng = np.random.default_rng(1)

    def points() -> np.ndarray:
        x, y = rng.random((2, n))
        return np.hypot(x[:, None] - x, y[:, None] - y)

    def near() -> np.ndarray:
        d = points()
        return np.where(d < 0.05 * (8192 / n) ** 0.5, d, np.inf)

    def few() -> np.ndarray:
        A = np.full((n, n), np.inf)
        A[tuple(rng.integers(0, n, (2, 8 * n)))] = rng.choice([1e-3, 1.0, 1e3], 8 * n)
        return A

    yield "uniform", lambda: rng.random((n, n))
    yield "integers 1 to 99", lambda: rng.integers(1, 100, (n, n)).astype(float)
    yield "near points", near
    yield "a third alike", lambda: np.where(rng.random((n, n)) < 0.3, 1.0, np.inf)
    yield "8 a vertex", few
    yield "points", points


def matrix(name: str, A: np.ndarray) -> None:
    """A row of the table."""
    n = len(A)
    np.fill_diagonal(A, np.inf)
    X = cp.asarray(A.astype(np.float32))
    r = shortest_paths(X)
    D, weights = cp.where(cp.isinf(r.distances), 0, r.distances).astype(float), cp.where(cp.isinf(X), 0, X)
    q = cp.random.default_rng(2).random((n, n)) * ~cp.isinf(r.distances)
    cp.fill_diagonal(q, 0)
    for carried, wanted in ((r.flows(q), (q * D).sum()), (r.edge_betweenness(normalized=False), D.sum())):
        assert abs(float((carried * weights).sum()) / float(wanted) - 1) < 1e-5  # distances are float32
    assert r.flows(q).tobytes() == shortest_paths(X).flows(q).tobytes()
    closing = wall_ms(lambda: shortest_paths(X))
    flows = wall_ms(lambda: shortest_paths(X).flows(q))
    between = wall_ms(lambda: shortest_paths(X).betweenness())
    bars = f"(flows {verdict(flows, FLOWS)}, betweenness {verdict(between, BETWEENNESS)})" if n == 8192 else ""
    told = f"{closing:.1f} ms, with flows {flows:.1f}, with betweenness {between:.1f}"
    print(f"{name}, n = {n}, {r.plan.engine}: {told} {bars}", flush=True)


def verdict(found: float, bar: float) -> str:
    return f"{'at most' if found <= bar else 'MORE THAN'} {bar:.0f}"


def searches(n: int) -> None:
    """Preferential attachment with weights, rows by searches."""
    tails, heads = attached(n, 8)
    weights = np.random.default_rng(0).integers(1, 1000, len(tails)).astype(np.float32)
    graph = apsp.Graph.from_arrays(tails, heads, weights, n=n, directed=False)

    def result() -> Any:
        return shortest_paths(graph, device="cuda", dtype="float32")

    r, sources = result(), list(range(0, n, n // 50))
    part, same = (shortest_paths(graph, sources=sources, **where) for where in ({"device": "cuda"}, {}))
    np.testing.assert_allclose(part.edge_betweenness(), same.edge_betweenness(), rtol=1e-9)
    total = sum(float(D.astype(float).sum()) for _, D in r.engine.rows(np.arange(n)))
    assert abs(2 * (r.edge_betweenness(normalized=False) * graph.weights).sum() / total - 1) < 1e-6
    taken = wall_ms(lambda: result().betweenness())
    rows = wall_ms(lambda: [None for _ in result().engine.rows(np.arange(n))])
    bar = f"({verdict(taken, ATTACHED)})" if n == 20_000 else ""
    print(f"preferential attachment, n = {n}, {r.plan.engine}: rows {rows:.1f} ms, with betweenness {taken:.1f} {bar}")


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="families whose name contains this")
    args = begin(parser, gpu=True)
    for name, made in families(1024 if args.quick else 8192):
        if args.only in name:
            matrix(name, made())
            cp.get_default_memory_pool().free_all_blocks()
    if args.only in "preferential attachment":
        searches(2000 if args.quick else 20_000)
