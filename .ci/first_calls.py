"""Which kernels first calls want: `python .ci/first_calls.py > .ci/first_calls.txt` makes the list of what wheels ship.

It has one kernel a line, with the types of its arguments; one that is called by its address alone has a & before its
name, and one that released wheels alone ship, for the calls of `more_calls`, a +. With --check, the calls are made of
what is installed, a released wheel, and it is an error if anything had to be compiled.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """What people compute first, small and large, by name."""
    import numpy as np
    import scipy.sparse

    import apsp
    from apsp import closure, critical_path, csgraph, road_like, shortest_paths, transitive_closure

    rng = np.random.default_rng(0)

    def matrix(n: int, dtype: str, least: int = 1) -> Any:
        return rng.integers(least, 100, (n, n)).astype(dtype)

    def points(n: int) -> Any:
        """Distances in a square of 20,000: every edge matters."""
        x, y = 20_000 * rng.random((2, n))
        return np.hypot(x[:, None] - x, y[:, None] - y)

    def potential(n: int, dtype: str) -> Any:
        """Edges of both signs, and no negative cycle."""
        h = rng.integers(0, 50, n)
        return (matrix(n, "int64") + h[:, None] - h).astype(dtype)

    def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
        for dtype in ("float64", "float32", "int64", "int32", "int16"):
            for n in (6, 256):
                yield f"closure, {dtype}", lambda n=n, dtype=dtype: closure(matrix(n, dtype))
            yield f"closure of points, {dtype}", lambda dtype=dtype: closure(points(1100).astype(dtype))
            yield f"closure of few distances, {dtype}", lambda dtype=dtype: closure(matrix(1100, dtype))
        for dtype in ("float64", "float32", "int64"):
            yield f"closure with negative edges, {dtype}", lambda dtype=dtype: closure(potential(256, dtype))
        for semiring in ("max_min", "min_max"):
            yield f"closure of {semiring}, float64", lambda s=semiring: closure(matrix(256, "float64"), s)
        later = np.where(np.triu(np.ones((256, 256)), 1) > 0, rng.random((256, 256)), -np.inf)
        yield "closure of max_plus, float64", lambda: closure(later, "max_plus")
        yield "closure of reliability, float64", lambda: closure(rng.random((256, 256)), "reliability")
        yield "closure of a batch", lambda: closure(np.stack([matrix(20, "float64")] * 3))
        yield "closure of bool", lambda: closure(rng.random((300, 300)) < 0.1, "boolean")
        for days in (3, 3.5):
            tasks, waits = {"plans": days, "walls": 5}, {"walls": ["plans"]}
            yield "critical_path", lambda tasks=tasks, waits=waits: critical_path(tasks, waits).earliest

        for dtype in ("float64", "int64", "int32"):
            yield f"roads, {dtype}", lambda dtype=dtype: roads(dtype)
        yield "roads in no order", lambda: ask(shortest_paths(shuffled(road_like(110_000, seed=1).to_scipy())), 0, 1)
        yield "examples/roads.gr", lambda: ask(shortest_paths(ROOT / "examples" / "roads.gr"), 1, 96)
        yield "examples/roads.gr with paths", routes
        for dtype in ("int32", "float64"):
            yield f"the best paths, {dtype}", lambda dtype=dtype: ranked(dtype)
        yield "edges by name", lambda: ask(shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)]), "A", "C")
        turns = {("A", "B", "C"): 5}
        yield "turns", lambda: ask(shortest_paths([("A", "B", 4), ("B", "C", 7)], turns=turns), "A", "C")
        yield "a long table of edges", table
        yield "a network that does not separate", network
        for dtype in ("float64", "int32"):
            yield f"searches, {dtype}", lambda dtype=dtype: searches(dtype)
        for dtype in ("float64", "int64"):
            yield f"matrix with paths, {dtype}", lambda dtype=dtype: ask(shortest_paths(matrix(200, dtype)), 0, 199)
            flat = np.where(rng.random((300, 300)) < 0.05, 0, matrix(300, dtype)).astype(dtype)
            yield (
                f"predecessors over edges of 0, {dtype}",
                lambda A=flat: apsp.predecessors(A, closure(A, null_value=None), null_value=None),
            )
            yield f"predecessors, {dtype}", lambda dtype=dtype: apsp.predecessors(A := matrix(300, dtype), closure(A))

        yield "examples/votes.txt", votes
        yield "reachability by name", names
        yield "many components", lambda: transitive_closure(sparse(20_000, 1)).reaches(0, 1)

        for n in (500, 3000):
            yield f"csgraph, {n}", lambda n=n: csgraph.shortest_path(sparse(n, 3))
            yield (
                f"csgraph, {n}, predecessors",
                lambda n=n: csgraph.shortest_path(sparse(n, 3), return_predecessors=True),
            )
            yield f"csgraph, {n}, unweighted", lambda n=n: csgraph.shortest_path(sparse(n, 3), unweighted=True)
        dense = rng.random((400, 400))
        yield "csgraph, dense", lambda: csgraph.floyd_warshall(dense)
        yield "csgraph, dense, predecessors", lambda: csgraph.shortest_path(dense, return_predecessors=True)
        yield "csgraph, some sources", lambda: csgraph.dijkstra(sparse(3000, 3), indices=[0, 1], limit=2.0)
        yield "csgraph, negative edges", lambda: csgraph.johnson(potential(300, "float64"))
        yield "csgraph, undirected", lambda: csgraph.shortest_path(sparse(3000, 3), directed=False)

    def sparse(n: int, edges: int) -> Any:
        return scipy.sparse.random(n, n, density=edges / n, rng=1, format="csr")

    def shuffled(A: Any) -> Any:
        order = rng.permutation(A.shape[0])
        return A[order][:, order]

    def ask(r: Any, u: Any, v: Any) -> Any:
        return r.distance(u, v), r.path(u, v)

    def roads(dtype: str) -> None:
        graph = road_like(20_000, seed=1)
        r = shortest_paths(graph, dtype=dtype)
        ask(r, 0, 19_999)
        for _ in r.rows([0, 1, 2]):
            pass
        r.table(range(70), range(90))
        r.nearest([5, 77, 1234])
        r = shortest_paths(road_like(2000, seed=1), dtype=dtype, paths=True)
        r.diameter(), r.predecessors

    def ranked(dtype: str) -> None:
        r = shortest_paths(road_like(2000, seed=1), dtype=dtype)
        list(r.k_paths(0, 1999, 3)), list(r.k_paths(0, 1999, 3, overlap=0.5))

    def routes() -> None:
        r = shortest_paths(ROOT / "examples" / "roads.gr", paths=True)
        r.predecessors, r.next_hops, r.hops, r.paths([(1, 96), (96, 1)]), r.diameter(), r.center()
        r.verify(paths=True)

    def table() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "roads.csv"
            path.write_text("from,to,metres\n" + "".join(f"{k},{k + 1},123456789\n" for k in range(50_000)))
            apsp.read(path)

    def network() -> None:
        r = shortest_paths(apsp.random_graph(3000, 10, seed=1))
        ask(r, 0, 2999)

    def searches(dtype: str) -> None:
        r = shortest_paths(apsp.random_graph(3000, 10, seed=1), dtype=dtype, engine="searches")
        ask(r, 0, 2999)
        for _ in r.rows(range(100)):
            pass

    def votes() -> None:
        t = transitive_closure(ROOT / "examples" / "votes.txt")
        t.reaches(30, 1412), t.descendants(30), t.components(), t.counts(), t.path(30, 1412)

    def names() -> None:
        t = transitive_closure([("A", "B"), ("B", "C"), ("C", "B")])
        t.reaches("A", "C"), t.descendants("B"), t.path("A", "C"), t.components(), t.counts(), t.reduction()

    yield from cases()


def more_calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls whose kernels take long to compile, for which `pip install .` does not wait."""
    import numpy as np
    import scipy.sparse

    import semiring
    from apsp import Graph, closure, random_graph, road_like, shortest_paths

    def along(dtype: str) -> None:
        graph = random_graph(500, 6, seed=1)
        weights = np.random.default_rng(0).integers(1, 20, len(graph.rows)).astype(dtype)
        if dtype == "float64":
            weights /= 7
        shortest_paths(Graph.from_arrays(graph.rows, graph.cols, weights, n=graph.n), dtype=dtype).betweenness()

    def products() -> None:
        A, x = scipy.sparse.random(3000, 3000, density=1e-3, format="csr", rng=1), np.ones(3000)
        semiring.matmul(A, A, "min_plus"), semiring.matmul(A, x, "min_plus")

    def sums() -> None:
        A = np.log(np.random.default_rng(0).random((200, 200)) / 300)
        closure(A, "log_plus"), semiring.matmul(A, A, "log_plus")

    yield "betweenness of roads", lambda: shortest_paths(road_like(20_000, seed=1)).edge_betweenness()
    for dtype in ("int32", "float64", "float32"):  # float32: NetworkX, without weights
        yield f"betweenness, {dtype}", lambda dtype=dtype: along(dtype)
    yield "sparse products", products
    yield "log_plus", sums


def spelled(type: Any) -> str:
    """A type as `machine_code.py` reads it, whatever the processor."""
    from numba import from_dtype, types

    from semiring.algebra import catalog
    from semiring.kernels.cpu.kinds import Kind, choose
    from semiring.kernels.cpu.routes import ranked
    from semiring.kernels.cpu.routes.tight_arcs import vertex_of
    from semiring.kernels.cpu.sparse.relaxation import Lanes

    if isinstance(type, Lanes):
        return f"Lanes({spelled(type.kind)}, {type.lanes})"
    if isinstance(type, types.BaseNamedTuple):
        fields = type.instance_class
        return f"fields({_named(fields.__module__, fields.__name__)!r}, {', '.join(map(spelled, type))})"
    if isinstance(type, types.Array) and isinstance(type.dtype, types.Record):
        records = {f"records({_named(ranked.__name__, n)!r})": vars(ranked)[n] for n in ("NODE", "SPOT")}
        records |= {f"vertices({d!r})": vertex_of(d) for d in ("int16", "int32", "int64", "float32", "float64")}
        return next((text for text, record in records.items() if from_dtype(record) == type.dtype), repr(type))
    if not isinstance(type, Kind):
        return repr(type)
    if not type.label:
        return f"mover({type.dtype!r}, {type.image!r})"
    import numpy as np

    dtype = np.dtype(type.dtype)
    general = choose(catalog.names()[type.label], dtype, False)
    nonnegative = dtype.kind != "f" and type not in (general, general.code)  # floats ≥ 0 differ on AMD's Zen alone
    return f"kind({type.label!r}, {type.dtype!r}, {nonnegative})"


def _named(module: str, name: str) -> str:
    return f"{module.removeprefix('semiring.kernels.cpu.')}.{name}"


def wanted() -> list[str]:
    """The kernels that calls want, as lines of the list."""
    from semiring.kernels.cpu import compile as compiling

    found: dict[str, None] = {}
    under_way: list[Any] = []
    load, compile = compiling.OnDisk.load_overload, compiling.Kernel.compile

    def compiled(self: Any, sig: Any) -> Any:
        under_way.append(self)
        try:
            return compile(self, sig)
        finally:
            under_way.pop()

    def loaded(self: Any, sig: Any, target_context: Any) -> Any:
        if len(under_way) == 1:  # else a part of another kernel
            found[f"{'' if self._called else '&'}{self._name}({', '.join(map(spelled, sig))})"] = None
        return load(self, sig, target_context)

    compiling.Kernel.compile, compiling.OnDisk.load_overload = compiled, loaded
    common: set[str] = set()
    for some in (calls(), more_calls()):
        for name, call in some:
            before = len(found)
            call()
            print(f"{len(found) - before:4} {name}", file=sys.stderr)
        common = common or set(found)
    return sorted(line if line in common else f"+{line}" for line in found)


def check() -> None:
    """Make the calls.

    Raises
    ------
    SystemExit
        If a kernel was compiled.
    """
    import apsp
    from semiring.kernels.cpu import compile, features

    compiled: list[str] = []
    search = compile.OnDisk.load_overload

    def searched(self: Any, sig: Any, target_context: Any) -> Any:
        found = search(self, sig, target_context)
        if found is None:
            compiled.append(f"{self._name} of {', '.join(map(spelled, sig))}")
        return found

    compile.OnDisk.load_overload = searched
    for _, call in (*calls(), *more_calls()):
        call()
    print(f"{apsp.__file__}, {features.level()}: {len(compiled)} kernels compiled")
    if compiled:
        sys.exit("\n".join(["not shipped:", *compiled]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        os.environ["NUMBA_CACHE_DIR"] = empty
        if sys.argv[1:] == ["--check"]:
            check()
        else:
            sys.path.insert(0, str(ROOT))
            os.environ["SEMIRING_ASSUME_COMPILED"] = "1"  # engines are chosen as where these kernels are shipped
            print(*wanted(), sep="\n")
