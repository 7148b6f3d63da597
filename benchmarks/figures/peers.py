"""Speed-up over SciPy, NetworkX, NumPy and pandas on the same input; answers are compared first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import networkx as nx
import numpy as np
import reach
import scipy.sparse as sp
import scipy.sparse.csgraph as scipys

import apsp
import semiring
from apsp import Graph, closure, csgraph, shortest_paths
from apsp.generate import grid, road_like

from . import Task, beside
from .calls import Pair, _dijkstra, roads

#: Seconds that a call of csgraph may take beyond SciPy's.
CALL = 60e-6
#: Functions of NetworkX that the backend answers, with arcs or without.
NETWORKX = (
    *("all_pairs_dijkstra_path_length", "all_pairs_dijkstra_path", "all_pairs_bellman_ford_path_length"),
    *("all_pairs_shortest_path_length", "johnson", "floyd_warshall_numpy", "transitive_closure"),
    *("closeness_centrality", "betweenness_centrality", "eccentricity", "average_shortest_path_length"),
)


def tasks(device: str) -> Iterator[Task]:
    """On the CPU alone: there are the others."""
    if device != "cpu":
        return
    few = common.quick()
    yield beside("closure of 512, one thread", partial(_closure, 128 if few else 512), "SciPy", least=10)
    for n, degree in ((30, 6), (256, 6), (256, 256), (1000, 6), (1000, 64))[: 2 if few else 5]:
        yield beside(f"csgraph.shortest_path, n = {n}, degree {degree}", partial(_ladder, n, degree), "SciPy", least=1)
    for name, graph in _families(2000).items():
        for sources in (1, 16):
            what = f"{sources} source{'s' * (sources > 1)} of {name}"
            ours = partial(_sources, graph, sources, True)
            yield beside(f"csgraph.dijkstra, {what}", ours, "SciPy", least=0.8, beyond=CALL)
            yield beside(what, partial(_sources, graph, sources), "SciPy")
    yield beside("csgraph.dijkstra, 4 of 2,000", partial(_dijkstra, 2000, 4), "SciPy", least=0.8)
    for name, graph in _families(2000 if few else 20_000).items():
        if name in ("roads", "degree 6"):
            for door in (True, False):
                what = f"{'csgraph.dijkstra, ' * door}16 sources of {name}, within a limit"
                yield beside(what, partial(_sources, graph, 16, door, 0.5), "SciPy", least=0.3 if door else None)
    yield beside("nearest of 50, random graph of 5,000", partial(_nearest, 5000), "SciPy", least=1)
    yield beside("transitive closure, degree 6", partial(_reaches, 100 if few else 400), "NetworkX", least=20)
    n = 20_000 if few else 500_000
    yield beside(
        f"index of {n:,} packages, as many pairs", partial(_packages, n), "SciPy's components, one search", most=0.65
    )
    for n in (30, 200)[: 1 if few else 2]:
        for name in NETWORKX:
            yield beside(f"NetworkX's {name}, n = {n}", partial(_networkx, name, n), "NetworkX", least=1)
    for tasks in (30, 3000)[: 1 if few else 2]:
        yield beside(
            f"critical_path, {tasks} tasks", partial(_critical, tasks), "NetworkX", least=1 if tasks < 99 else 2
        )
    for s in ("plus_times", "min_plus"):
        yield beside(
            f"csr and vector, {s}, 50,000 rows", partial(_vector, s), "SciPy's (+, ×)", least=1 if s[0] == "p" else None
        )
        yield beside(
            f"csr and csr, {s}, grid of 100²", partial(_square, s), "SciPy's (+, ×)", least=0.9 if s[0] == "p" else None
        )
    for name, (text, *shapes) in EINSUMS.items():
        yield beside(f"einsum (+, ×), {name}", partial(_einsum, text, shapes), "NumPy", least=0.9)
    for kind in ("csv", "txt", "gr", "frame"):
        yield beside(
            f"reading edges, {kind}", partial(_reading, kind, 2000 if few else 200_000), "pandas' read_csv", least=0.5
        )
    named = partial(_reading_names, 2000 if few else 200_000)
    yield beside("reading edges, csv of names", named, "pandas' read_csv and factorize")


EINSUMS = {
    "256³": ("ij,jk->ik", (256, 256), (256, 256)),
    "64 × 32²": ("bij,bjk->bik", (64, 32, 32), (64, 32, 32)),
    "20-cubes": ("ijk,kl->ijl", (20, 20, 20), (20, 20)),
}


def _closure(n: int) -> Pair:
    A = np.random.default_rng(n).integers(5000, 5099, (n, n)).astype(float)
    np.testing.assert_array_equal(closure(A), scipys.floyd_warshall(A))
    return partial(closure, A, threads=1), partial(scipys.floyd_warshall, A)


def _ladder(n: int, degree: int) -> Pair:
    A = roads(n, degree)
    np.testing.assert_allclose(csgraph.shortest_path(A), scipys.shortest_path(A), rtol=1e-12)
    return partial(csgraph.shortest_path, A), partial(scipys.shortest_path, A)


def _families(n: int) -> dict[str, Any]:
    """Graphs of several shapes, as sparse matrices."""
    side, rng = int(n**0.5), np.random.default_rng(n)
    g, h = road_like(n, seed=1), grid(side, side)
    path = sp.diags_array(rng.random(n - 1) + 0.1, offsets=1, shape=(n, n)).tocsr()
    parts = sp.block_diag([roads(n // 50) for _ in range(50)], format="csr")
    return {
        "roads": _csr(g, rng),
        "a grid": _csr(h, rng),
        "degree 6": roads(n),
        "a path": path + path.T,
        "50 components": parts,
        "a banded DAG": sp.diags_array([rng.random(n - k) + 0.1 for k in (1, 2, 3)], offsets=[1, 2, 3]).tocsr(),
    }


def _csr(g: Any, rng: np.random.Generator) -> Any:
    A = sp.coo_array((rng.random(len(g.rows)) + 0.1, (g.rows, g.cols)), shape=(g.n, g.n)).tocsr()
    return (A + A.T).tocsr()


def _sources(A: Any, count: int, door: bool = False, limit: float = np.inf) -> Pair:
    some = np.arange(count) * (A.shape[0] // count)

    def ours() -> Any:
        if door:
            return csgraph.dijkstra(A, indices=some, limit=limit)
        return shortest_paths(A, sources=some, limit=None if limit == np.inf else limit).distances

    np.testing.assert_allclose(ours(), scipys.dijkstra(A, indices=some, limit=limit), rtol=1e-12)
    return ours, partial(scipys.dijkstra, A, indices=some)


def _nearest(n: int) -> Pair:
    A, some = roads(n), np.arange(50)
    r = shortest_paths(A)
    np.testing.assert_allclose(r.nearest(some).distance, scipys.dijkstra(A, indices=some, min_only=True), rtol=1e-12)
    return partial(r.nearest, some), partial(scipys.dijkstra, A, indices=some, min_only=True)


def _networkx(name: str, n: int) -> Pair:
    G = nx.gnm_random_graph(n, 4 * n, seed=1, directed=name == "transitive_closure")
    rng = np.random.default_rng(1)
    for _, _, data in G.edges(data=True):
        data["weight"] = float(rng.random())
    if not G.is_directed():
        G = G.subgraph(max(nx.connected_components(G), key=len)).copy()

    def ask(backend: str) -> Any:
        G.__networkx_cache__.clear()
        found = getattr(nx, name)(G, backend=backend)
        return dict(found) if hasattr(found, "__next__") else found

    mine, theirs = (ask(backend) for backend in ("apsp", "networkx"))
    if isinstance(theirs, (float, np.ndarray)):
        np.testing.assert_allclose(mine, theirs)
    else:
        assert len(mine) == len(theirs)
    return partial(ask, "apsp"), partial(ask, "networkx")


def _reaches(n: int) -> Pair:
    A = roads(n)
    G = nx.from_scipy_sparse_array(A, create_using=nx.DiGraph)
    ours = partial(apsp.transitive_closure, A)
    assert ours().counts().sum() == nx.transitive_closure(G).number_of_edges()
    return ours, partial(nx.transitive_closure, G)


def _packages(n: int) -> Pair:
    tails, heads = reach.arcs("packages", n)
    graph, A = Graph.from_arrays(tails, heads, n=n), sp.csr_array((np.ones(len(tails)), (tails, heads)), shape=(n, n))
    pairs = np.random.default_rng(1).integers(0, n, (2, n))

    def ours() -> Any:
        return apsp.transitive_closure(graph, engine="indexed", reflexive=True).reaches(*pairs)

    def theirs() -> Any:
        scipys.connected_components(A, connection="strong")
        return scipys.breadth_first_order(A, int(pairs[0, 0]), return_predecessors=False)

    found = theirs()
    t = apsp.transitive_closure(graph, engine="indexed", reflexive=True)
    assert t.reaches(int(pairs[0, 0]), np.arange(n)).sum() == len(found)
    return ours, theirs


def _critical(n: int) -> Pair:
    rng = np.random.default_rng(n)
    days = {f"t{k}": float(rng.integers(1, 9)) for k in range(n)}
    after = {f"t{k}": [f"t{j}" for j in sorted(set(rng.integers(max(0, k - 20), k, 2).tolist()))] for k in range(1, n)}

    def theirs() -> float:
        G = nx.DiGraph()
        G.add_nodes_from(days)
        for task, before in after.items():
            G.add_weighted_edges_from((one, task, days[one]) for one in before)
        for task in days:
            G.add_edge(task, "end", weight=days[task])
        return float(nx.dag_longest_path_length(G))

    ours = partial(apsp.critical_path, days, after)
    assert ours().length == theirs()
    return ours, theirs


def _vector(s: str) -> Pair:
    A, x = roads(50_000), np.random.default_rng(1).random(50_000)
    found = semiring.matmul(A, x, s)
    row = A[[7]].toarray()[0]
    assert np.isclose(found[7], (A @ x)[7] if s == "plus_times" else (row + x)[row > 0].min())
    return partial(semiring.matmul, A, x, s), lambda: A @ x


def _square(s: str) -> Pair:
    A = _csr(grid(100, 100), np.random.default_rng(1))
    assert semiring.matmul(A, A, s).nnz == (A @ A).nnz
    return partial(semiring.matmul, A, A, s), lambda: A @ A


def _einsum(text: str, shapes: list[tuple[int, ...]]) -> Pair:
    X = [np.random.default_rng(k).random(shape) for k, shape in enumerate(shapes)]
    np.testing.assert_allclose(semiring.einsum(text, *X, semiring="plus_times"), np.einsum(text, *X))
    return partial(semiring.einsum, text, *X, semiring="plus_times"), partial(np.einsum, text, *X, optimize=True)


def _reading_names(m: int) -> Pair:
    import pandas as pd

    path, ends = (
        Path(tempfile.mkdtemp(prefix="ledger-")) / "g.csv",
        np.random.default_rng(m).integers(0, m // 4, (2, m)),
    )
    pd.DataFrame({k: [f"v{x:07}" for x in side] for k, side in zip(("from", "to"), ends.tolist(), strict=True)}).to_csv(
        path, index=False
    )

    def theirs() -> object:
        frame = pd.read_csv(path)
        return pd.factorize(pd.concat([frame["from"], frame["to"]]), sort=True)

    assert list(apsp.read(path).labels) == sorted(theirs()[1])
    return partial(apsp.read, path), theirs


def _reading(kind: str, m: int) -> Pair:
    import pandas as pd

    folder = Path(tempfile.mkdtemp(prefix="ledger-"))
    rng = np.random.default_rng(m)
    frame = pd.DataFrame(
        {"from": rng.integers(0, m // 4, m), "to": rng.integers(0, m // 4, m), "weight": rng.integers(1, 99, m)}
    )
    frame.to_csv(folder / "g.csv", index=False)
    if kind == "txt":
        frame.to_csv(folder / "g.txt", index=False, header=False, sep=" ")
    if kind == "gr":
        g = apsp.Graph.from_arrays(
            frame["from"].to_numpy(), frame["to"].to_numpy(), frame["weight"].to_numpy(), n=m // 4
        )
        apsp.write(g, folder / "g.gr")
    ours = partial(apsp.as_graph, frame) if kind == "frame" else partial(apsp.read, folder / f"g.{kind}")
    assert ours().edge_count == m
    return ours, partial(pd.read_csv, folder / "g.csv")
