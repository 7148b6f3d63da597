"""Rows of distances by the fastest engine (apsp/road/road.py), in SciPy's shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse.csgraph as scipys

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.host.compiling import clock
from semiring.host.devices import host
from semiring.host.memory import require
from semiring.kernels.backend import bind
from semiring.kernels.observed import Callback

from ..road.convergence.saturation import possible
from ..road.engines.base import Engine, placed
from ..road.engines.elimination import spent
from ..road.engines.structures import STRUCTURES
from ..road.question import FEW, Question
from ..road.road import answer
from ..road.wants import Wants
from .conversion import Network

#: Seconds of a call into SciPy; Ctrl-C is handled between calls.
BATCH_SECONDS = 0.3
#: Seconds below which searches run without comparing engines.
SHORT = 1.2e-3
#: Rows between calls of a callback.
ROWS = 256


@dataclass(frozen=True)
class Options:
    """Options beyond SciPy's parameters: see `shortest_path`."""

    device: str | None = None
    threads: int | None = None
    callback: Callback | None = None
    overwrite: bool = False
    engine: str = "auto"


def distances(network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    """D[sources] (sources, n), or all, perhaps in `network.dense`; NegativeCycleError, MemoryNeeded, DomainError."""
    nonnegative, few = network.least >= 0, network.n <= FEW
    cold = (
        network.n <= 2 * FEW
        and options.engine == "auto"
        and bind(min_plus, network.dtype).missing("closure").kernels > 0
    )
    if options.device != "cuda" and nonnegative and options.callback is None and dtypes.SCALARS[network.dtype].floating:
        ops = bind(min_plus, network.dtype, device="cpu", nonnegative=True, threads=options.threads)
        if network.n <= ops.pivot and options.engine == "auto" and not cold:
            M = network.matrix
            ops.closure(M)  # without a schedule, or a check for divergence
            return M if sources is None else M[sources]
        searched = math.inf if sources is None else len(sources) * network.search_seconds
        if searched < SHORT and options.engine == "auto":
            return scipys.dijkstra(network.csr, indices=sources).astype(network.dtype, copy=False)
    # Integers may saturate: check every distance, as `shortest_paths` does.
    weights = network.weights if network.dense is None else network.dense
    exact = possible(dtypes.parts(weights), weights.dtype, min_plus, network.n)
    many = network.dense is not None and network.has_many_arcs
    closed = sources is None and (few or many) and not cold
    matrix = not exact and (
        options.device == "cuda" or options.engine == "dense" or (closed and options.engine == "auto")
    )
    # A matrix that may have a negative cycle is kept to name it, unless it may be overwritten.
    wants = Wants.of(
        where="csgraph", dtype=network.dtype, device=options.device, threads=options.threads,
        callback=options.callback if matrix else None, engine="auto" if matrix else options.engine,
        sources=None if matrix else sources, overwrite=matrix and (options.overwrite or nonnegative),
        nulls=() if matrix else None, table=not exact, remembers=True,
    )  # fmt: skip
    lines = network.n if sources is None else len(sources)
    require(lines * network.row_bytes, where="csgraph", hint="Ask for fewer rows, by `indices`.")
    question = Question(network.matrix if matrix else network.arcs.graph if cold else network.graph, min_plus, wants)
    with remembered(question):
        return _table(question, network, sources, options, matrix=matrix)


@contextmanager
def remembered(question: Question) -> Iterator[None]:
    """Context that charges its time to the arcs' pattern, if structures of it are cached."""
    begun = clock()
    yield
    if "arcs" in vars(question) and question.remembers and not math.isinf(question.once(spent)):
        STRUCTURES.spend(*question.arcs[:2], clock() - begun)


def _table(
    question: Question, network: Network, sources: np.ndarray | None, options: Options, *, matrix: bool
) -> np.ndarray:
    engine = answer(question).engine
    if engine.in_memory:
        D: np.ndarray = host(engine.table())
        return D[sources] if matrix and sources is not None else D
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
