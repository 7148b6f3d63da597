"""Rows of distances by the fastest engine (apsp/road/road.py), in SciPy's shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.host.devices import host
from semiring.host.memory import require
from semiring.host.types import Array
from semiring.kernels.observed import Callback
from semiring.sparse.dijkstra import dijkstra

from ..road.arcs import SINGLE
from ..road.convergence.saturation import possible
from ..road.engines.base import FEW, MANY_ARCS, Engine, placed
from ..road.engines.elimination import charge
from ..road.engines.scipy import at_once, little
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
    searched = sources is not None and not _is_small(network) and _is_searched(network, options)
    if searched and little(network.n, network.size, lines, network.n, network.dtype.itemsize):
        return _searched(network, sources, options)
    source, wants = _posed(network, sources, options)
    question = Question(source, min_plus, wants)
    if searched and network.given is not None and (taken := question.once(at_once)):
        charge(question, taken.seconds)
        return _searched(network, sources, options)
    return _table(question, network, sources, options)


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
    closed = _is_small(network) if sources is not None else network.n <= FEW or many
    if not exact and (options.device == "cuda" or options.engine == "dense" or (auto and closed)):
        matrix, wants = network.matrix, _in_place(network, options)
        cold = auto and network.n <= 2 * FEW and _lacks_kernels(Question(matrix, min_plus, wants))
        if not cold:
            return matrix, wants
    # Of a few rows a lookup of the structure costs more than it gains, unless their arcs were listed anyway.
    few = sources is not None and len(sources) < 4 * SINGLE and network.given is not None
    wants = Wants.of(
        where="csgraph", dtype=network.dtype, device=options.device, threads=options.threads, sources=sources,
        engine=options.engine, limit=None if sources is None or math.isinf(options.limit) else options.limit,
        table=not exact, remembers=not few,
    )  # fmt: skip
    return network.arcs.graph if cold else network.graph, wants


def _is_small(network: Network) -> bool:
    """Whether a matrix is closed in less time than its arcs are listed."""
    if network.dense is None or network.n > FEW or not network.least >= 0:
        return False
    return network.n <= 4 * MANY_ARCS or network.has_many_arcs


def _lacks_kernels(question: Question) -> bool:
    return not decided(question) and question.missing("closure").kernels > 0


def _in_place(network: Network, options: Options) -> Wants:
    """The request for a matrix, closed in place; one that may have a negative cycle is kept to name it."""
    overwrite = options.overwrite or network.least >= 0
    if overwrite and (options.device, options.threads, options.callback) == (None, None, None):
        return IN_PLACE
    return Wants.of(
        where="csgraph", device=options.device, threads=options.threads, callback=options.callback, nulls=(),
        overwrite=overwrite, table=True, remembers=True,
    )  # fmt: skip


def _table(question: Question, network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    engine = answer(question).engine
    if engine.in_memory:
        D: np.ndarray = host(engine.table())
        return D if sources is None or question.is_graph else D[sources]
    out = network.dense if sources is None else None
    if out is None and options.callback is None:
        return host(engine.table())
    out = np.empty(engine.shape, network.dtype) if out is None else out
    _fill(out, engine, options.callback)
    return out


def _fill(out: np.ndarray, engine: Engine, callback: Callback | None) -> None:
    """out ← all rows of an engine, in blocks if there is a callback."""
    if callback is None:
        engine.fill(out)
        return
    for here, block in placed(engine.rows(np.arange(len(out)), ROWS)):
        out[here] = block
        callback(here.stop * out.shape[1], out.size)


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
