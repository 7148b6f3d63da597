"""What do flows and betweenness take beside the closure, and how far are NetworkX and igraph from that, on one core?

    python benchmarks/betweenness.py                # two minutes, most of them NetworkX's and igraph's
    python benchmarks/betweenness.py --quick
    python benchmarks/betweenness.py --data DIR     # also DIR/osm-luxembourg/luxembourg.gr.gz
    python benchmarks/betweenness.py --device cuda  # road networks alone, once the structure is known

All on one thread, by the processor's clock; on a GPU by the wall's. Flows are checked by Σ flow · weight =
Σ demand · distance, betweenness by NetworkX's or igraph's values. What takes others long is measured from some
sources, and given for one.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import common
import networkx as nx
import numpy as np
from common import arguments, begin

os.environ["SEMIRING_NUM_THREADS"] = "1"

# isort: split
import apsp
from apsp.doors import networkx_backend

best = partial(common.best, clock=time.process_time)


def flows(n: int, dtype: str) -> None:
    """A demand between all pairs over a complete graph, beside its closure."""
    rng = np.random.default_rng(0)
    A = rng.integers(1, 100, (n, n)).astype(dtype) if dtype == "int32" else rng.random((n, n)).astype(dtype)
    q = rng.random((n, n))
    result = apsp.shortest_paths(A, engine="dense", threads=1)
    carried, distances = (result.flows(q) * A).sum(), (q * result.table()).sum()
    assert abs(carried / distances - 1) < (1e-5 if dtype == "float32" else 1e-12)
    closing = best(lambda: apsp.shortest_paths(A, engine="dense", threads=1).distances, 5)
    sending = best(lambda: result.flows(q), 5, before=lambda: vars(result).pop("_arcs_by_device", None))
    print(f"flows of all pairs, n = {n}, {dtype}: {sending:.3f} s, {sending / closing:.2f} × the closure", flush=True)


def networkx(name: str, G: nx.Graph) -> None:
    """Betweenness with weights, the conversion of the graph included."""
    rng = np.random.default_rng(1)
    for _, _, data in G.edges(data=True):
        data["weight"] = int(rng.integers(1, 100))

    def ours() -> dict[int, float]:
        return networkx_backend.betweenness_centrality(networkx_backend.convert_from_nx(G), weight="weight")

    theirs = nx.betweenness_centrality.orig_func
    values, expected = ours(), theirs(G, weight="weight")
    assert all(abs(values[v] - expected[v]) < 1e-12 for v in G)
    here, there = best(ours, 5), best(lambda: theirs(G, weight="weight"), 1)
    print(f"NetworkX, {name}: {1e3 * here:.1f} ms, {there / here:.0f} × as fast", flush=True)


def igraph(n: int, degree: int, count: int) -> None:
    """Preferential attachment, from `count` vertices."""
    try:
        import igraph as ig
    except ImportError:
        print("igraph is not installed")
        return
    random.seed(0)  # which igraph draws from
    g = ig.Graph.Barabasi(n, degree)
    ends, weights = np.array(g.get_edgelist()), np.random.default_rng(0).random(n * degree)[: g.ecount()] + 0.01
    graph = apsp.Graph.from_arrays(ends[:, 0], ends[:, 1], weights, n=n, directed=False)
    result = apsp.shortest_paths(graph, threads=1)
    sources = np.sort(np.random.default_rng(0).choice(n, count, replace=False)).tolist()
    there = best(lambda: g.betweenness(weights=weights.tolist(), sources=sources), 1)
    expected = np.array(g.betweenness(weights=weights.tolist(), sources=sources))
    part = apsp.shortest_paths(graph, sources=sources, threads=1).betweenness(normalized=False)
    np.testing.assert_allclose(list(part.values()), expected, rtol=1e-9, atol=1e-6)
    here = best(lambda: result.betweenness(sources=count), 3)
    each = f"{1e3 * here / count:.2f} ms a source"
    print(f"igraph, preferential attachment, n = {n}, m = {degree}: {each}, {there / here:.1f} × as fast", flush=True)


def on_gpu(name: str, graph: apsp.Graph, *, check: bool = True) -> None:
    """From all vertices, on a GPU; the check reads all distances."""
    assert graph.weights is not None
    result = apsp.shortest_paths(graph, engine="elimination", device="cuda")
    carried, none = result.edge_betweenness(normalized=False), result.infinity
    if check:
        sums = result.engine.reduced(lambda D: D[none != D].sum(dtype="float64").item())
        total = sum(found for _, found in sums) / (1 if graph.directed else 2)
        assert abs((carried * graph.weights).sum() / total - 1) < 1e-12
    here = common.best(result.edge_betweenness, 3, before=lambda: vars(result).pop("_between_all"))
    print(f"{name}, on a GPU: {1e3 * here:.0f} ms from all {graph.n}", flush=True)
    vars(result).pop("_between_all")
    taken = by_kernel(result.edge_betweenness)
    print("of that in ms " + ", ".join(f"{kernel} {ms:.1f}" for kernel, ms in taken.items()), flush=True)


def by_kernel(call: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds of each kernel of sums over best paths, by events."""
    from device import cp

    from semiring.kernels.cuda.compile import Functions
    from semiring.kernels.cuda.sparse import counted, flows

    launched: list[tuple[str, Any, Any]] = []

    def timed(name: str, kernel: Any) -> Callable[..., None]:
        def launch(*given: Any, **options: Any) -> None:
            start, stop = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            kernel(*given, **options)
            stop.record()
            launched.append((name, start, stop))

        return launch

    def all_of(unit: Any) -> Any:
        def functions(*given: Any) -> Functions:
            found = original(*given)
            return Functions(SimpleNamespace(get_function=lambda name: timed(name, found[name])))

        original = unit.functions
        return mock.patch.object(unit, "functions", functions)

    with all_of(flows.text), all_of(counted.text):
        call()
    cp.cuda.Device().synchronize()
    taken: dict[str, float] = {}
    for name, start, stop in launched:
        taken[name] = taken.get(name, 0.0) + cp.cuda.get_elapsed_time(start, stop)
    return taken


def roads(path: Path, device: str) -> None:
    """Luxembourg, from all vertices; a millisecond more an edge, as some cost nothing both ways."""
    read = apsp.read(path)
    assert read.rows is not None
    assert read.weights is not None
    jitter = np.random.default_rng(0).random(len(read.weights))
    for name, weights in (("integers", read.weights + 1), ("floats", read.weights + 1 + jitter)):
        graph = apsp.Graph.from_arrays(read.rows, read.cols, weights, n=read.n)
        if device == "cuda":
            on_gpu(f"Luxembourg, {name}", graph)
            continue
        result = apsp.shortest_paths(graph, threads=1)
        carried, none = result.edge_betweenness(normalized=False), result.infinity
        total = sum(sums for _, sums in result.engine.reduced(lambda D, none=none: np.where(none == D, 0, D).sum()))
        assert abs((carried * weights).sum() / total - 1) < 1e-12
        here = best(result.betweenness, 3, before=lambda result=result: vars(result).pop("_between_all"))
        print(f"Luxembourg, {name}: {here:.2f} s from all {graph.n}", flush=True)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, help="a folder with osm-luxembourg/luxembourg.gr.gz")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    args = begin(parser)
    if args.device == "cuda":
        on_gpu("road-like", apsp.road_like(2000 if args.quick else 131_000, seed=0))
        if not args.quick:
            on_gpu("road-like", apsp.road_like(1_000_000, seed=0), check=False)
    else:
        for dtype in ("float64", "float32", "int32"):
            flows(128 if args.quick else 2048, dtype)
        size = 40 if args.quick else 400
        networkx(f"complete, n = {size}", nx.complete_graph(size))
        networkx(f"a tenth of all pairs, n = {size}", nx.gnp_random_graph(size, 0.1, seed=1))
        networkx(f"4 edges a vertex, n = {size}", nx.gnm_random_graph(size, 4 * size, seed=1))
        igraph(500 if args.quick else 20_000, 8, 20 if args.quick else 500)
    if args.data is not None:
        roads(args.data / "osm-luxembourg" / "luxembourg.gr.gz", args.device)
