"""Rows of distances, and of predecessors, by the fastest engine (apsp/road/road.py), in SciPy's shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse.csgraph as scipys

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.dense.routes import NONE, of_rows
from semiring.host.devices import host
from semiring.host.memory import require
from semiring.host.types import Array
from semiring.kernels.backend import bind
from semiring.kernels.observed import Callback
from semiring.sparse.cycles import Weighted
from semiring.sparse.dijkstra import dijkstra

from ..answers.routes import of_closure
from ..road import estimates
from ..road.arcs import SINGLE
from ..road.convergence.saturation import possible
from ..road.engines.base import FEW, placed
from ..road.engines.elimination import charge
from ..road.engines.scipy import at_once, little
from ..road.plans import make_plan
from ..road.question import Question
from ..road.repeated import decided
from ..road.road import answer
from ..road.wants import Wants
from .conversion import Network

#: Seconds of a call into SciPy; Ctrl-C is handled between calls.
BATCH_SECONDS = 0.3
#: The request for a matrix that is closed where it stands.
IN_PLACE = Wants(where="csgraph", nulls=(), overwrite=True, table=True, remembers=True)
#: Rows between calls of a callback.
ROWS = 256


@dataclass(frozen=True)
class Options:
    """Options beyond SciPy's parameters, and its `limit`: see `shortest_path`, `dijkstra`."""

    device: str | None = None
    threads: int | None = None
    callback: Callback | None = None
    overwrite: bool = False
    engine: str = "auto"
    limit: float = math.inf


def distances(network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    """D[sources] (sources, n), or all, perhaps in `network.dense`; NegativeCycleError, MemoryNeeded, DomainError."""
    lines = network.n if sources is None else len(sources)
    require(lines * network.row_bytes, where="csgraph", hint="Ask for fewer rows, by `indices`.")
    searched = sources is not None and not network.is_small and _is_searched(network, options)
    if searched and little(network.n, network.size, lines, network.n, network.dtype.itemsize):
        return _searched(network, sources, options)
    source, wants = _posed(network, sources, options)
    question = Question(source, min_plus, wants)
    if searched and network.given is not None and (taken := question.once(at_once)):
        charge(question, taken.seconds)
        return _searched(network, sources, options)
    engine = answer(question).engine
    if engine.in_memory:
        D: np.ndarray = host(engine.table())
        return D if sources is None or question.is_graph else D[sources]
    out = network.dense if sources is None else None
    if options.callback is None:
        if out is None:
            return host(engine.table())
        engine.fill(out)
        return out
    out = np.empty(engine.shape, network.dtype) if out is None else out
    for here, block in placed(engine.rows(np.arange(len(out)), ROWS)):
        out[here] = block
        options.callback(here.stop * out.shape[1], out.size)
    return out


def _is_searched(network: Network, options: Options) -> bool:
    """Whether a search by weight for each source answers."""
    if options.device == "cuda" or options.engine != "auto" or options.callback is not None:
        return False
    return dtypes.SCALARS[network.dtype].floating and network.least >= 0


def _searched(network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    """Rows by searches, without an engine about them."""
    wanted = np.arange(network.n) if sources is None else sources
    return dijkstra(network.csr, wanted, options.limit).astype(network.dtype, copy=False)


def _posed(network: Network, sources: np.ndarray | None, options: Options) -> tuple[Array, Wants]:
    """The matrix of a network where that is closed, else its graph; and the request."""
    # Integers may saturate: check every distance, as `shortest_paths` does.
    weights = network.weights if network.dense is None else network.dense
    exact = dtypes.SCALARS[network.dtype].integer and possible(
        dtypes.parts(weights), weights.dtype, min_plus, network.n
    )
    auto, cold = options.engine == "auto" and options.device != "cuda", False
    many = network.dense is not None and network.has_many_arcs
    closed = network.is_small if sources is not None else network.n <= FEW or many
    if not exact and (options.device == "cuda" or options.engine == "dense" or (auto and closed)):
        matrix, wants = network.matrix, _in_place(network, options)
        if not (auto and network.n <= 2 * FEW):
            return matrix, wants
        question = Question(matrix, min_plus, wants)
        if decided(question) or not question.missing("closure").kernels:
            return matrix, wants
        cold = True
    # Of a few rows a lookup of the structure costs more than it gains, unless their arcs were listed anyway.
    few = sources is not None and len(sources) < 4 * SINGLE and network.given is not None
    wants = Wants.of(
        where="csgraph", dtype=network.dtype, device=options.device, threads=options.threads, sources=sources,
        engine=options.engine, limit=None if sources is None or math.isinf(options.limit) else options.limit,
        table=not exact, remembers=not few,
    )  # fmt: skip
    return network.arcs.graph if cold else network.graph, wants


def _in_place(network: Network, options: Options) -> Wants:
    """The request for a matrix, closed in place; one that may have a negative cycle is kept to name it."""
    overwrite = options.overwrite or network.least >= 0
    if overwrite and (options.device, options.threads, options.callback) == (None, None, None):
        return IN_PLACE
    return Wants.of(
        where="csgraph", device=options.device, threads=options.threads, callback=options.callback, nulls=(),
        overwrite=overwrite, table=True, remembers=True,
    )  # fmt: skip


def with_predecessors(graph: Network, sources: np.ndarray | None, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Distances and predecessors: all rows by closure, some by searches (SciPy's in float64)."""
    hint = "Ask for fewer rows, by `indices`." if sources is None else "Ask for fewer rows."
    require(bytes_needed(graph, sources, options.threads), where="csgraph", hint=hint)
    if sources is None:
        A = graph.matrix if graph.dense is None else graph.dense.copy()
        D = distances(graph, None, options)
        return D, of_closure(A, D, min_plus, options.threads)
    if graph.dtype.kind == "f":
        return _searched_with_predecessors(graph, sources, options)
    arcs = graph.canonical_arcs  # before the matrix is written to
    starts = np.searchsorted(arcs.tails, np.arange(graph.n + 1)).astype(np.int64)
    csr = starts, arcs.heads.astype(np.int32), arcs.weights
    D = distances(graph, sources, options)
    return D, of_rows(min_plus, csr, D, sources, threads=options.threads)


def bytes_needed(graph: Network, sources: np.ndarray | None, threads: int | None = None) -> int:
    """Bytes of distances, predecessors and workspace beyond the network."""
    n, size = graph.n, graph.dtype.itemsize
    if sources is not None:  # SciPy's batches are copied into the result
        rows = len(sources)
        batch = batch_rows(rows, rows * graph.search_seconds)
        return n * (rows * (size + 4) + batch * 8) + 20 * graph.size  # predecessors are copied last
    options = {} if threads is None else {"threads": threads}
    ops = bind(min_plus, graph.dtype, device="cpu", nonnegative=graph.least >= 0, **options)
    copies = 1 if graph.dense is not None and graph.least >= 0 else 2  # such a dense matrix is closed in place
    closed = n * n * size * copies + make_plan(n, min_plus, ops).workspace_bytes
    return closed + estimates.predecessors(n, size, table=True, matrix=False)


def _searched_with_predecessors(graph: Network, sources: np.ndarray, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's Dijkstra, with Johnson's weights if some are negative."""
    if graph.least < 0:
        arcs = graph.arcs
        h = potentials(arcs)
        lengths = np.maximum(arcs.weights + (h[arcs.tails] - h[arcs.heads]), 0)  # clipped against rounding
        reduced = replace(arcs, weights=lengths)
        D, P = _searched_with_predecessors(reduced, sources, replace(options, limit=np.inf))
        D += h
        D -= h[sources][:, None]
        D[np.arange(len(sources)), sources] = 0
        return D, P
    G, n = graph.csr, graph.n
    D, P = np.empty((len(sources), n), graph.dtype), np.empty((len(sources), n), np.int32)

    def advance(start: int, stop: int) -> None:
        D[start:stop], P[start:stop] = scipys.dijkstra(
            G, indices=sources[start:stop], return_predecessors=True, limit=options.limit
        )

    seconds = len(sources) * graph.search_seconds
    in_batches(len(sources), seconds, advance, n, options.callback)
    return D, P


def nearest(graph: Network, sources: np.ndarray | None, options: Options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distance from the nearest source, predecessor on that path, and index of that source, of each vertex."""
    limit = options.limit
    require(graph.n * (graph.dtype.itemsize + 4), where="csgraph", hint="Use a smaller dtype.")
    sources = np.arange(graph.n) if sources is None else sources
    if graph.least >= 0 and graph.dtype.kind == "f":
        D, P, nearest_one = scipys.dijkstra(
            graph.csr, indices=sources, min_only=True, limit=limit, return_predecessors=True
        )
        return D.astype(graph.dtype, copy=False), P, nearest_one
    if not len(sources):
        nothing = np.full(graph.n, NONE, np.int32)
        return np.full(graph.n, graph.zero, graph.dtype), nothing, nothing.copy()
    D, P = with_predecessors(graph, sources, options)
    best, every = D.argmin(axis=0), np.arange(graph.n)
    D = D[best, every]
    beyond = (graph.zero == D) | (limit < D)
    D[beyond] = graph.zero
    return D, np.where(beyond, NONE, P[best, every]), np.where(beyond, NONE, sources[best]).astype(np.int32)


def potentials(network: Network) -> np.ndarray:
    """h with w(u, v) + h(u) − h(v) ≥ 0 up to rounding, for arcs (Johnson 1977); raises `errors.NegativeCycleError`."""
    arcs = Weighted(network.tails, network.heads, network.weights, network.n, min_plus)
    return arcs.potentials(where="csgraph").astype(network.dtype, copy=False)


def batch_rows(rows: int, seconds: float) -> int:
    """Rows per call of SciPy's search, for a predicted total of `seconds`."""
    return max(1, min(rows, int(rows * BATCH_SECONDS / max(seconds, 1e-9))))


def in_batches(
    rows: int, seconds: float, advance: Callable[[int, int], None], n: int, callback: Callback | None = None
) -> None:
    """advance(start, stop) over all rows, in calls of about `BATCH_SECONDS` and at most `batch_rows` rows."""
    step, start = batch_rows(rows, seconds), 0
    most = step
    while start < rows:
        stop, begun = min(start + step, rows), time.perf_counter()
        advance(start, stop)
        took = time.perf_counter() - begun
        step = max(1, min(most, 2 * step, int(step * BATCH_SECONDS / max(took, 1e-6))))
        start = stop
        if callback:
            callback(start * n, rows * n)
