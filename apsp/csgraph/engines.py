"""Rows of distances by three ways: the dense closure, elimination, and SciPy's Dijkstra."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.csgraph as scipys

from semiring.backend import bind
from semiring.catalog import min_plus
from semiring.memory import require
from semiring.observed import Callback

from .. import saturation
from ..answering import answer
from ..choosing import Asked
from ..closures import closure
from ..engines.base import host
from ..graph import Graph
from ..problem import Request
from .choice import Choice, choose
from .conversion import Network
from .potentials import on_potentials, restored

#: Seconds of SciPy's compiled loops at a time: in between, Ctrl-C is heard.
STRETCH = 0.3
#: Rows that are swept together.
ROWS = 256


@dataclass(frozen=True)
class Options:
    """What a caller may ask for beside SciPy's own parameters: see `shortest_path`."""

    device: str | None = None
    threads: int | None = None
    callback: Callback | None = None
    overwrite: bool = False


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
    if saturation.possible(network.weights if network.dense is None else network.dense, min_plus, network.n):
        return _held(network, sources, options)
    if options.device == "cuda":
        return _closed(network, sources, options)
    nonnegative = network.least >= 0
    ops = bind(min_plus, network.dtype, device="cpu", nonnegative=nonnegative, threads=options.threads)
    if network.n <= ops.pivot and nonnegative and options.callback is None and network.dtype.kind == "f":
        M = network.matrix()
        ops.closure(M)  # one verb: no schedule, nothing that may diverge
        return M if sources is None else M[sources]
    rows = network.n if sources is None else len(sources)
    choice = choose(network, rows, ops.threads)
    if choice.engine == "dense":
        return _closed(network, sources, options)
    require(rows * network.n * network.dtype.itemsize, where="csgraph", hint="Ask for fewer rows, by `indices`.")
    if choice.engine == "search":
        return _searched(network, sources, choice, options)
    return _eliminated(network, sources, choice, options)


def _held(network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    """Of integers that may saturate: as `shortest_paths` finds them, which looks whether any distance has."""
    thin = network.arcs()
    graph = Graph.from_arrays(thin.tails, thin.heads, thin.weights, n=network.n)
    request = Request.of(threads=options.threads, callback=options.callback)
    asked = Asked(dtype=network.dtype, device=options.device, sources=sources)
    return host(answer(graph, min_plus, request, asked).engine.table())


def _closed(network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    M = network.matrix()
    # What may hold a negative cycle is kept to be examined, unless its memory was lent.
    ours = options.overwrite or network.least >= 0
    D = closure(
        M, overwrite=ours, null_value=None, device=options.device, threads=options.threads, callback=options.callback
    )
    return D if sources is None else D[sources]


def _eliminated(network: Network, sources: np.ndarray | None, choice: Choice, options: Options) -> np.ndarray:
    thin = network.arcs()
    E = _elimination(choice, thin.weights, network, options)
    if E.divergence is None:
        return _rows(E, network, sources, options)
    # Negative cycles, or cycles of length about 0 whose rounding would feed on each other.
    reduced, h = on_potentials(thin)
    D = _rows(_elimination(choice, reduced.weights, network, options), network, sources, options)
    return restored(D, h, sources)


def _elimination(choice: Choice, weights: np.ndarray, network: Network, options: Options) -> Any:
    from semiring import eliminate

    return eliminate(
        choice.analysis, min_plus, weights=weights, dtype=network.dtype, threads=options.threads, check=False
    )


def _rows(E: Any, network: Network, sources: np.ndarray | None, options: Options) -> np.ndarray:
    """The rows of an elimination, straight into the result where no one watches."""
    out = network.dense if sources is None and network.dense is not None else None
    if sources is None and options.callback is None:
        return E.to_dense(out)
    wanted = np.arange(E.n) if sources is None else sources
    out = np.empty((len(wanted), E.n), E.dtype) if out is None else out
    at = 0
    for index, block in E.rows(wanted, block=ROWS):
        out[at : at + len(index)] = block
        at += len(index)
        if options.callback:
            options.callback(at * E.n, len(wanted) * E.n)
    return out


def _searched(network: Network, sources: np.ndarray | None, choice: Choice, options: Options) -> np.ndarray:
    """SciPy's Dijkstra, so many sources at a time that it stops when asked to."""
    if network.least < 0:
        reduced, h = on_potentials(network.arcs())
        return restored(_searched(reduced, sources, choice, options), h, sources)
    G, n = network.csr(), network.n
    if sources is None and n and choice.seconds["search"] < STRETCH and not options.callback:
        return scipys.dijkstra(G).astype(network.dtype, copy=False)
    wanted = np.arange(n) if sources is None else sources
    D = np.empty((len(wanted), n), network.dtype)

    def some(start: int, stop: int) -> None:
        D[start:stop] = scipys.dijkstra(G, indices=wanted[start:stop])

    in_stretches(len(wanted), choice.seconds["search"], some, n, options.callback)
    return D


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
