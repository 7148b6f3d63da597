"""What must be right wherever this is installed, without pytest: `python tests/anywhere.py [PART …]`.

Products, closures, reachability, elimination, routes, files and the command, held to uncompiled loops, to SciPy and to
sums along paths. It prints the time of each part.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import cases
import numpy as np
import scipy
import scipy.sparse.csgraph as reference
from click.testing import CliRunner

import apsp
import semiring
from apsp.doors.cli import main
from semiring.kernels.cpu.features import features, level, vector_bytes
from semiring.stores.tiles import TileStore

#: Below, at and above a pivot block; the oracle's loops are not compiled.
SIZES = (0, 1, 2, 31, 63, 65, 101)


def closures(name: str, dtype: str, sizes: tuple[int, ...] = SIZES) -> None:
    """Of awkward sizes against loops, without and with entries below 0 where that changes the instructions."""
    case = cases.Case(semiring.get(name), np.dtype(dtype))
    for n in sizes:
        A = cases.random_matrix(case, (n, n), n, density=0.1)
        cases.same(case, apsp.closure(A, name), cases.closure(case, A))
    A, B = (cases.random_matrix(case, shape, i, negative=True) for i, shape in enumerate(((29, 83), (83, 71))))
    cases.same(case, semiring.matmul(A, B, name), cases.product(case, A, B))
    if name == "min_plus" and sizes is SIZES:  # R-Kleene, on threads
        A = np.random.default_rng(1).integers(1, 1000, (613, 613)).astype(dtype)
        np.fill_diagonal(A, 0)
        np.testing.assert_array_equal(apsp.closure(A, threads=3), reference.floyd_warshall(A.astype(float)))


def reachability() -> None:
    """A few components, and a graph that is one: on words of bits."""
    for n, degree in ((2000, 1), (300, 12)):
        rng = np.random.default_rng(n)
        A = scipy.sparse.csr_array((np.ones(n * degree, bool), rng.integers(0, n, (2, n * degree))), (n, n))
        reached = np.isfinite(reference.shortest_path(A, method="D", unweighted=True))
        t = apsp.transitive_closure(A, reflexive=True)
        np.testing.assert_array_equal(t.to_bool(), reached)
        u, v = map(int, np.argwhere(reached & ~np.eye(n, dtype=bool))[-1])
        path = t.path(u, v)
        assert (path[0], path[-1]) == (u, v)
        assert all(A[edge] for edge in pairwise(path))
        np.testing.assert_array_equal(apsp.closure(A.toarray(), "boolean"), reached)


def elimination(dtype: str) -> None:
    """Pairs, rows and tables of roads against SciPy's searches; the lengths of the paths that are given."""
    graph, n = apsp.road_like(1500, seed=1), 1500
    A = graph.to_scipy()
    D = reference.dijkstra(A)
    r = apsp.shortest_paths(graph, dtype=dtype, engine="elimination")
    assert r.plan.engine == "elimination"
    rng = np.random.default_rng(0)
    for u, v in rng.integers(0, n, (20, 2)).tolist():
        assert r.distance(u, v) == D[u, v]
        path = r.path(u, v)
        assert (path[0], path[-1]) == (u, v)
        assert sum(A[edge] for edge in pairwise(path)) == D[u, v]
    for labels, rows in r.rows([0, 7, n - 1]):
        np.testing.assert_array_equal(rows, D[list(labels)])
    np.testing.assert_array_equal(r.table(range(70), range(90)), D[:70, :90])
    np.testing.assert_array_equal(r.nearest([5, 77, 1234]).distance, D[[5, 77, 1234]].min(axis=0))


def routes(dtype: str) -> None:
    """Predecessors of all pairs: of roads, and of a dense matrix with edges of length 0."""
    rng = np.random.default_rng(2)
    dense = np.where(rng.random((150, 150)) < 0.1, rng.integers(0, 9, (150, 150)), np.inf)
    np.fill_diagonal(dense, 0)
    for source, options in ((apsp.road_like(400, seed=1), {}), (dense, {"null_value": None})):
        r = apsp.shortest_paths(source, paths=True, **options)
        A = r.graph.to_scipy().tocsr() if not options else dense
        D = reference.dijkstra(A) if not options else floyd_warshall(dense)
        np.testing.assert_array_equal(np.asarray(r, float), D)
        for u, v in rng.integers(0, len(D), (200, 2)).tolist():
            walk, w = 0.0, v
            while w != u and np.isfinite(D[u, v]):
                before = int(r.predecessors[u, w])
                walk, w = walk + A[before, w], before
            assert walk == (D[u, v] if np.isfinite(D[u, v]) else 0)
        assert r.verify(paths=True).ok
    r.next_hops, r.hops, r.diameter()


def floyd_warshall(A: np.ndarray) -> np.ndarray:
    """SciPy's, which takes lengths of 0 for no edges, in NumPy."""
    D = A.copy()
    for k in range(len(D)):
        np.minimum(D, D[:, k, None] + D[k], out=D)
    return D


def files() -> None:
    """What is written is read again: results, tiles, a claimed directory, a checkpointed closure."""
    A = np.random.default_rng(4).integers(1, 99, (300, 300)).astype("int32")
    np.fill_diagonal(A, 0)
    D = reference.floyd_warshall(A)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        r = apsp.shortest_paths(A)
        for suffix in (".npz", ".npy", ".csv", ".tiles"):
            r.save(folder / f"d{suffix}")
        np.testing.assert_array_equal(np.asarray(apsp.Result.load(folder / "d.npz")), D)
        np.testing.assert_array_equal(np.asarray(apsp.Result.load(folder / "d.tiles")), D)
        for _ in range(2):  # the second takes the place of the first
            apsp.closure(A, checkpoint=folder / "ck", output=folder / "tiles")
        np.testing.assert_array_equal(np.asarray(TileStore(folder / "tiles")), D)


def command() -> None:
    """The command, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        graph = str(Path(folder) / "cycle.gr")
        output_of("generate", "cycle", "6", "--output", graph)
        assert "3" in output_of("solve", graph, "--from", "1", "--to", "4").split()
        assert output_of("info")


def output_of(*arguments: str) -> str:
    """What the command prints; it must end well."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.output


#: What is run, by name.
PARTS: dict[str, Any] = {
    "closures, float32": lambda: closures("min_plus", "float32"),
    "closures, float64": lambda: closures("min_plus", "float64"),
    "closures, int32": lambda: closures("min_plus", "int32"),
    "closures, int16": lambda: closures("min_plus", "int16"),
    "closures, bool": lambda: closures("lor_land", "bool"),
    "closures, max_min": lambda: closures("max_min", "float32"),
    "closures, real": lambda: closures("plus_times", "float64"),
    "closures, log": lambda: closures("log_plus", "float64"),
    "reachability": reachability,
    "elimination, float64": lambda: elimination("float64"),
    "elimination, int32": lambda: elimination("int32"),
    "routes, float64": lambda: routes("float64"),
    "files": files,
    "command": command,
}


if __name__ == "__main__":
    wanted = sys.argv[1:]
    chosen = {name: part for name, part in PARTS.items() if not wanted or any(map(name.startswith, wanted))}
    if not chosen:
        sys.exit(f"parts are {', '.join(PARTS)}; got {' '.join(wanted)}")
    import numba

    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, numba {numba.__version__}"
    print(f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {versions}")
    print(f"vectors of {vector_bytes()} bytes, level {level()}, {len(features())} features named")
    began = time.perf_counter()
    for name, part in chosen.items():
        start = time.perf_counter(), time.process_time()
        part()
        wall, cpu = (now - then for now, then in zip((time.perf_counter(), time.process_time()), start, strict=True))
        print(f"ok {name:24} {wall:8.1f} s, {cpu:8.1f} s of processors", flush=True)
    print(f"all right: {len(chosen)} of {len(PARTS)} parts in {time.perf_counter() - began:.0f} s")
