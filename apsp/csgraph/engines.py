"""Rows of distances, by whichever engine takes least: the road of apsp/road.py, in SciPy's shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse.csgraph as scipys

from semiring.backend import bind
from semiring.catalog import min_plus
from semiring.compiling import clock
from semiring.devices import host
from semiring.memory import require
from semiring.observed import Callback

from ..engines.base import Engine
from ..engines.elimination import spent
from ..engines.saturation import possible
from ..engines.structures import STRUCTURES
from ..question import FEW, Question
from ..road import answer
from ..wants import Wants
from .conversion import Network

#: Seconds of SciPy's compiled loops at a time: in between, Ctrl-C is handled.
STRETCH = 0.3
#: Searches that take less than this, in seconds, are not worth a thought about engines.
SHORT = 1.2e-3
#: Rows that are found together where a callback watches.
ROWS = 256


@dataclass(frozen=True)
class Options:
    """What a caller may ask for in addition to SciPy's own parameters: see `shortest_path`."""

    device: str | None = None
    threads: int | None = None
    callback: Callback | None = None
    overwrite: bool = False
    engine: str = "auto"


def distances(network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    """D[sources], shape (sources, n), or all of D; `network.dense` may be written to.

    Raises
    ------
    NegativeCycleError
        Of `semiring.errors`.
    MemoryNeeded
        If it does not fit.
    DomainError
        If integers do not hold a distance.
    """
    nonnegative, few = network.least >= 0, network.n <= FEW
    cold = few and options.engine == "auto" and bind(min_plus, network.dtype).missing("closure").kernels > 0
    if options.device != "cuda" and nonnegative and options.callback is None and network.dtype.kind == "f":
        ops = bind(min_plus, network.dtype, device="cpu", nonnegative=True, threads=options.threads)
        if network.n <= ops.pivot and options.engine == "auto" and not cold:
            M = network.matrix
            ops.closure(M)  # one verb: no schedule, nothing that may diverge
            return M if sources is None else M[sources]
        searched = math.inf if sources is None else len(sources) * network.search
        if searched < SHORT and options.engine == "auto":
            return scipys.dijkstra(network.csr, indices=sources).astype(network.dtype, copy=False)
    # Integers that may saturate: every distance is looked at, as `shortest_paths` does.
    exact = possible(network.weights if network.dense is None else network.dense, min_plus, network.n)
    crowded = sources is None and (few or network.crowded) and not cold
    matrix = not exact and (
        options.device == "cuda" or options.engine == "dense" or (crowded and options.engine == "auto")
    )
    # What may hold a negative cycle is kept to be examined, unless its memory was lent.
    wants = Wants.of(
        where="csgraph",
        dtype=network.dtype,
        device=options.device,
        threads=options.threads,
        callback=options.callback if matrix else None,
        engine="auto" if matrix else options.engine,
        sources=None if matrix else sources,
        overwrite=matrix and (options.overwrite or nonnegative),
        nulls=() if matrix else None,
        table=not exact,
        remembers=True,
    )
    begun, lines = clock(), network.n if sources is None else len(sources)
    require(lines * network.line, where="csgraph", hint="Ask for fewer rows, by `indices`.")
    question = Question(network.matrix if matrix else network.arcs.graph if cold else network.graph, min_plus, wants)
    engine = answer(question).engine
    if engine.in_memory:
        D: np.ndarray = host(engine.table())
        return D[sources] if matrix and sources is not None else D
    out = network.dense if sources is None and network.dense is not None else np.empty(engine.shape, network.dtype)
    _fill(out, engine, options.callback)
    if "arcs" in vars(question) and question.remembers and not math.isinf(question.once(spent)):
        STRUCTURES.spend(*question.arcs[:2], clock() - begun)
    return out


def _fill(out: np.ndarray, engine: Engine, callback: Callback | None) -> None:
    """out ← all rows of an engine, some at a time where a callback watches."""
    if callback is None:
        engine.fill(out)
        return
    offset = 0
    for positions, block in engine.rows(np.arange(len(out)), ROWS):
        out[offset : offset + len(positions)] = block
        offset += len(positions)
        callback(offset * out.shape[1], out.size)


def stretch(rows: int, seconds: float) -> int:
    """Rows that are searched for in a call, of so many that are predicted to take so long."""
    return max(1, min(rows, int(rows * STRETCH / max(seconds, 1e-9))))


def in_stretches(
    rows: int, seconds: float, advance: Callable[[int, int], None], n: int, callback: Callback | None = None
) -> None:
    """some(start, stop) over all rows, in calls of about `STRETCH` seconds, and of no more rows than was predicted."""
    step, start = stretch(rows, seconds), 0
    most = step
    while start < rows:
        stop, begun = min(start + step, rows), time.perf_counter()
        advance(start, stop)
        took = time.perf_counter() - begun
        step = max(1, min(most, 2 * step, int(step * STRETCH / max(took, 1e-6))))
        start = stop
        if callback:
            callback(start * n, rows * n)
