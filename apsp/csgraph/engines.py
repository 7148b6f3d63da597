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
from semiring.devices import host
from semiring.memory import require
from semiring.observed import Callback

from .. import estimates
from ..engines.elimination import spent
from ..engines.saturation import possible
from ..engines.structures import STRUCTURES
from ..graph import Graph
from ..labels import Labels
from ..question import CROWDED, FEW
from ..road import answer, ask
from ..wants import Wants
from .conversion import Network

#: Seconds of SciPy's compiled loops at a time: in between, Ctrl-C is heard.
STRETCH = 0.3
#: Searches that take less than this, in seconds, are not worth a thought about engines.
SHORT = 1.2e-3
#: Rows that are found together where a callback watches.
ROWS = 256


@dataclass(frozen=True)
class Options:
    """What a caller may ask for beside SciPy's own parameters: see `shortest_path`."""

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
    n, nonnegative = network.n, network.least >= 0
    if options.device != "cuda" and nonnegative and options.callback is None and network.dtype.kind == "f":
        ops = bind(min_plus, network.dtype, device="cpu", nonnegative=True, threads=options.threads)
        if n <= ops.pivot and options.engine == "auto":
            M = network.matrix()
            ops.closure(M)  # one verb: no schedule, nothing that may diverge
            return M if sources is None else M[sources]
        searched = math.inf if sources is None else len(sources) * estimates.search(n, network.size, "dijkstra")
        if searched < SHORT and options.engine == "auto":
            return scipys.dijkstra(network.csr(), indices=sources).astype(network.dtype, copy=False)
    # Integers that may saturate: every distance is looked at, as `shortest_paths` does.
    exact = possible(network.weights if network.dense is None else network.dense, min_plus, n)
    crowded = sources is None and (n <= FEW or network.size > CROWDED * n)
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
    if matrix:
        D: np.ndarray = answer(ask(network.matrix(), min_plus, wants)).engine.kept
        return D if sources is None else D[sources]
    return _rows(network, sources, wants, options)


def _rows(network: Network, sources: np.ndarray | None, wants: Wants, options: Options) -> np.ndarray:
    """The rows of whichever engine takes least, straight into memory that may be written to."""
    n, begun = network.n, time.perf_counter()
    wanted = np.arange(n) if sources is None else sources
    require(len(wanted) * n * network.dtype.itemsize, where="csgraph", hint="Ask for fewer rows, by `indices`.")
    question = ask(_graph(network), min_plus, wants)
    found = answer(question)
    engine = found.engine
    if engine.held:
        return host(engine.table())
    out = network.dense if sources is None and network.dense is not None else None
    out = np.empty((len(wanted), n), network.dtype) if out is None else out
    if not options.callback and sources is None:
        engine.fill(out)
    else:
        at = 0
        for positions, block in engine.rows(np.arange(len(wanted)), ROWS):
            out[at : at + len(positions)] = block
            at += len(positions)
            if options.callback:
                options.callback(at * n, len(wanted) * n)
    if "arcs" in vars(question) and question.remembers:
        if not math.isinf(question.once(spent)):  # its structure is not known
            STRUCTURES.spend(*question.arcs[:2], time.perf_counter() - begun)
    return out


def _graph(network: Network) -> Graph:
    """The network as a graph: by its arcs, or by its matrix where almost all of them are there."""
    names = Labels(range(network.n))
    if network.dense is not None and network.size > CROWDED * network.n:
        return Graph(network.n, names, dense=network.dense, nulls=())
    thin = network.arcs()
    return Graph(network.n, names, rows=thin.tails, cols=thin.heads, weights=thin.weights)


def stretch(rows: int, seconds: float) -> int:
    """Rows that are searched for in a call, of so many that are predicted to take so long."""
    return max(1, min(rows, int(rows * STRETCH / max(seconds, 1e-9))))


def in_stretches(
    rows: int, seconds: float, some: Callable[[int, int], None], n: int, callback: Callback | None = None
) -> None:
    """some(start, stop) over all rows, in calls of about `STRETCH` seconds, and of no more rows than was predicted."""
    step, at = stretch(rows, seconds), 0
    most = step
    while at < rows:
        stop, begun = min(at + step, rows), time.perf_counter()
        some(at, stop)
        took = time.perf_counter() - begun
        step = max(1, min(most, 2 * step, int(step * STRETCH / max(took, 1e-6))))
        at = stop
        if callback:
            callback(at * n, rows * n)
