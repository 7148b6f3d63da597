"""Warm-up: compile kernels ahead by small questions of every sort, in parallel processes, and keep them on disk.

For container images and cold starts. A sort of questions is a function in `SORTS`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.dense.linalg import matmul
from semiring.dense.random import random_matrix
from semiring.host import compiling
from semiring.host.errors import DeviceError
from semiring.kernels.observed import Callback

from ..answers.reach import transitive_closure
from ..answers.result import shortest_paths
from ..closures import closure
from ..generate import random_graph, road_like
from ..io.graph import Graph

#: Usual dtypes of shortest paths.
DTYPES = ("float32", "float64", "int32", "int64")


class Task(NamedTuple):
    """A sort of questions over one semiring in one dtype."""

    sort: str
    semiring: str
    dtype: str


def _closure(semiring: str, dtype: str) -> None:
    """Matrices of one and several blocks, with and without negative entries, of equal ones; small batches, products."""
    s = get(semiring)
    for n in (40, 600):
        A = np.triu(np.ones((n, n), bool), 1)  # acyclic: a closure exists for any weights
        A = np.where(A, random_matrix(s, (n, n), dtype, seed=1), dtypes.zero(s, np.dtype(dtype)))
        matmul(A, A, s)
        closure(A, s)
        if s.lengths:
            closure(np.where(A == dtypes.zero(s, A.dtype), A, -A), s)
    if s.lengths:
        several = np.random.default_rng(3).random((1200, 1200)) < 0.3
        closure(np.where(several, np.sign(A[0, -1]), dtypes.zero(s, A.dtype)), s, null_value=None)
    closure(np.stack([A[:4, :4]] * 2), s)


def _roads(semiring: Any, dtype: str) -> None:
    """Sparse graphs: elimination, pairs, paths, rows, nearest sources, hub labels; hops."""
    graph, lengths = _road(3000), get(semiring).lengths
    u, v = _first(graph)
    r = shortest_paths(graph, semiring=semiring, dtype=dtype, engine="elimination")
    r.distance(u, v), r.table([u, v], [u, v])
    if get(semiring).add.selects:
        r.path(u, v), r.paths([(u, v)])
    if lengths:
        r.nearest([u, v]), r.reduce("eccentricity")
    if get(semiring).idempotent:
        r.hub_labels(), r.distance(u, v), r.table([u, v], [u, v])
    if semiring == "min_plus":
        hops = shortest_paths(graph, dtype=dtype, unweighted=True, engine="hops")
        hops.distance(u, v), hops.path(u, v), hops.reduce("eccentricity")


def _routes(semiring: Any, dtype: str) -> None:
    """Predecessors of all pairs, paths, hops and verification, dense and sparse."""
    graph = _road(400)
    u, v = _first(graph)
    for engine in ("dense", "elimination") if get(semiring).add.selects else ():
        r = shortest_paths(graph, semiring=semiring, dtype=dtype, engine=engine, paths=True)
        r.paths([(u, v)]), r.hops, r.verify(paths=True)


def _networks(semiring: Any, dtype: str) -> None:
    """Graphs unlike roads: searches by weight, from few and many sources."""
    graph = random_graph(3000, 10, seed=1)
    tails, heads, weights = graph.edges("min_plus")
    ahead = tails < heads
    graph = Graph.from_arrays(tails[ahead], heads[ahead], weights[ahead], n=graph.n)
    if get(semiring).add.selects:
        for few in (1, 100):
            r = shortest_paths(graph, semiring=semiring, dtype=dtype, engine="searches", sources=range(few))
            r.table([0], [1])


def _reach(semiring: str, dtype: str) -> None:
    """Reachability of sparse and dense graphs, and its queries."""
    for n, density, index in ((3000, 0.03, False), (300, 3.0, False), (3000, 0.03, True)):
        graph = random_graph(n, density, seed=1)
        u, v = _first(graph)
        t = transitive_closure(graph, engine="indexed" if index else "auto")
        t.reaches(u, v), t.descendants(u), t.ancestors(v), t.counts(), t.path(u, v), t.reduction()
    large = np.random.default_rng(0).random((1100, 1100)) < 0.01
    closure(large[:300, :300], "boolean"), matmul(large, large, "boolean")  # which AVX2 has another kernel for


def _csgraph(semiring: str, dtype: str) -> None:
    """SciPy's functions, for sparse and dense matrices."""
    import scipy.sparse

    from .. import csgraph

    for n, share in ((2000, 0.001), (1000, 0.005), (200, 0.5)):
        rng = np.random.default_rng(0)
        A = scipy.sparse.csr_array(np.where(rng.random((n, n)) < share, rng.random((n, n)), 0.0).astype(dtype))
        csgraph.shortest_path(A)
        csgraph.shortest_path(A, return_predecessors=True)


def _road(n: int) -> Graph:
    """An acyclic road network of one-way streets."""
    tails, heads, weights = road_like(n, seed=1).edges("min_plus")
    ahead = tails < heads
    return Graph.from_arrays(tails[ahead], heads[ahead], weights[ahead], n=n)


def _first(graph: Graph) -> tuple[int, int]:
    tails, heads, _ = graph.edges("boolean")
    return int(tails[0]), int(heads[0])


#: Sorts of questions, with their dtypes; None for those requested.
SORTS: dict[str, tuple[Callable[[str, str], None], tuple[str, ...] | None]] = {
    "closure": (_closure, None),
    "roads": (_roads, None),
    "routes": (_routes, None),
    "networks": (_networks, None),
    "reach": (_reach, ("bool",)),
    "csgraph": (_csgraph, ("float64",)),
}


def tasks(sorts: Iterable[str], semirings: Iterable[str], dtypes: Iterable[str]) -> list[Task]:
    """The tasks, one of each sort first, which compiles what all dtypes share."""
    found = []
    for sort in dict.fromkeys(sorts):
        fixed = SORTS[sort][1]
        known = [(s, d) for s in semirings for d in dtypes if d in get(s).dtypes] if fixed is None else [("", fixed[0])]
        found += [(place, Task(sort, s, d)) for place, (s, d) in enumerate(known)]
    return [task for place, task in sorted(found, key=lambda pair: pair[0] > 0)]


def warm(work: list[Task], processes: int, callback: Callback | None = None) -> int:
    """Run all tasks in parallel processes; returns the number of kernels compiled. DeviceError without a disk cache."""
    compiled, done, others = 0, 0, set(active_children())
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_begin) as pool:
        first = len({task.sort for task in work})
        try:
            for together in (work[:first], work[first:]):
                for future in as_completed([pool.submit(_run_task, task) for task in together]):
                    compiled += future.result()
                    done += 1
                    if callback:
                        callback(done, len(work))
        except BaseException:  # a compiler may not react for seconds
            for child in set(active_children()) - others:
                child.terminate()
            pool.shutdown(cancel_futures=True)
            raise
    return compiled


def _begin() -> None:
    """Process initialiser: Ctrl-C ends silently; plan as if all kernels were compiled."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ["SEMIRING_ASSUME_COMPILED"] = "1"


def _run_task(task: Task) -> int:
    """Run a task in its own process; returns the number of kernels compiled."""
    notices: list[compiling.Notice] = []

    def listener(notice: compiling.Notice) -> None:
        _require_kept()
        notices.append(notice)

    with compiling.listening(listener):
        SORTS[task.sort][0](task.semiring, task.dtype)
    _require_kept()
    return len(notices)


def _require_kept() -> None:
    if not compiling.kept:
        raise DeviceError(
            "warm: compiled kernels must be kept on disk, got no folder that takes them. Set "
            "NUMBA_CACHE_DIR to a folder that you alone can write, with room in it."
        )
