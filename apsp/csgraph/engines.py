"""Rows of distances, and of predecessors, by the fastest engine (apsp/road/road.py), in SciPy's shapes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

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
from ..road.engines.base import FEW, placed
from ..road.engines.elimination import charge
from ..road.engines.scipy import at_once, little, together
from ..road.plans import make_plan
from ..road.question import Question
from ..road.repeated import decided
from ..road.road import answer
from ..road.wants import Wants
from .conversion import Network

#: The request for a matrix that is closed where it stands.
IN_PLACE = Wants(where="csgraph", nulls=(), overwrite=True, table=True, remembers=True)
#: Rows between calls of a callback.
ROWS = 256


class Options(NamedTuple):
    """Options beyond SciPy's parameters, and its `limit`: see `shortest_path`, `dijkstra`; tests force an `engine`."""

    device: str | None = None
    threads: int | None = None
    callback: Callback | None = None
    overwrite: bool = False
    engine: str = "auto"
    limit: float = math.inf


class Rows(NamedTuple):
    """Rows asked of a network: from its sources, or all."""

    network: Network
    sources: np.ndarray | None = None
    options: Options = Options()

    def distances(self) -> np.ndarray:
        """D[sources] (sources, n), or all, perhaps in `network.dense`; an error as `shortest_path` raises it."""
        network, sources, options = self
        lines = network.n if sources is None else len(sources)
        require(lines * network.row_bytes, where="csgraph", hint="Ask for fewer rows, by `indices`.")
        searched = sources is not None and not network.is_small and self._is_searched
        if searched and little(network.n, network.size, lines, network.n, network.dtype.itemsize):
            return self._searched()
        source, wants = self._posed()
        question = Question(source, min_plus, wants)
        if searched and network.given is not None and (taken := question.once(at_once)):
            charge(question, taken.seconds)
            return self._searched()
        engine = answer(question).engine
        out = network.dense if sources is None else None
        if engine.in_memory or (options.callback is None and out is None):
            D: np.ndarray = host(engine.table())
            if engine.in_memory and sources is not None and not question.is_graph:
                D = D[sources]
        elif options.callback is None:
            D = network.matrix
            engine.fill(D)
        else:
            D = np.empty(engine.shape, network.dtype) if out is None else out
            for here, block in placed(engine.rows(np.arange(len(D)), ROWS)):
                D[here] = block
                options.callback(here.stop * D.shape[1], D.size)
        if options.limit < np.inf:
            D[options.limit < D] = network.zero
        return D

    @property
    def _is_searched(self) -> bool:
        """Whether a search by weight for each source answers."""
        network, options = self.network, self.options
        if options.device == "cuda" or options.engine != "auto" or options.callback is not None:
            return False
        return dtypes.SCALARS[network.dtype].floating and network.least >= 0

    def _searched(self) -> np.ndarray:
        """Rows by searches, without an engine about them."""
        network, sources, options = self
        sources = np.arange(network.n) if sources is None else sources
        return dijkstra(network.csr, sources, options.limit).astype(network.dtype, copy=False)

    def _posed(self) -> tuple[Array, Wants]:
        """The matrix of a network where that is closed, else its graph; and the request."""
        network, sources, options = self
        # Every distance is checked, as `shortest_paths` does.
        exact = dtypes.SCALARS[network.dtype].integer and network.may_saturate
        auto, cold = options.engine == "auto" and options.device != "cuda", False
        many = network.dense is not None and network.has_many_arcs
        closed = network.is_small if sources is not None else network.n <= FEW or many
        if not exact and (options.device == "cuda" or options.engine == "dense" or (auto and closed)):
            matrix, wants = network.matrix, self._in_place
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

    @property
    def _in_place(self) -> Wants:
        """The request for a matrix, closed in place; one that may have a negative cycle is kept to name it."""
        options = self.options
        overwrite = options.overwrite or self.network.least >= 0
        if overwrite and (options.device, options.threads, options.callback) == (None, None, None):
            return IN_PLACE
        return Wants.of(
            where="csgraph", device=options.device, threads=options.threads, callback=options.callback, nulls=(),
            overwrite=overwrite, table=True, remembers=True,
        )  # fmt: skip

    def with_predecessors(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances and predecessors: all rows by closure, some by searches (SciPy's in float64)."""
        network, sources, options = self
        hint = "Ask for fewer rows, by `indices`." if sources is None else "Ask for fewer rows."
        require(self.bytes_with_predecessors, where="csgraph", hint=hint)
        if sources is None:
            A = network.matrix if network.dense is None else network.dense.copy()
            return (D := self.distances()), of_closure(A, D, min_plus, options.threads)
        if network.dtype.kind == "f":
            return self._searched_with_predecessors()
        arcs = network.canonical_arcs  # before the matrix is written to
        starts = np.searchsorted(arcs.tails, np.arange(network.n + 1)).astype(np.int64)
        csr = starts, arcs.heads.astype(np.int32), arcs.weights
        return (D := self.distances()), of_rows(min_plus, csr, D, sources, threads=options.threads)

    @property
    def bytes_with_predecessors(self) -> int:
        """Bytes of distances, predecessors and workspace beyond the network."""
        network, threads = self.network, self.options.threads
        n, size = network.n, network.dtype.itemsize
        if self.sources is not None:  # SciPy's batches are copied into the result
            rows = len(self.sources)
            batch = min(rows, self._together)
            return n * (rows * (size + 4) + batch * 8) + 20 * network.size  # predecessors are copied last
        options = {} if threads is None else {"threads": threads}
        ops = bind(min_plus, network.dtype, device="cpu", nonnegative=network.least >= 0, **options)
        copies = 1 if network.dense is not None and network.least >= 0 else 2  # such a matrix is closed in place
        closed = n * n * size * copies + make_plan(n, min_plus, ops).workspace_bytes
        return closed + estimates.predecessors(n, size, table=True, matrix=False)

    def _searched_with_predecessors(self) -> tuple[np.ndarray, np.ndarray]:
        """SciPy's Dijkstra, with Johnson's weights if some are negative."""
        network, sources, options = self
        assert sources is not None
        if network.least < 0:
            arcs = network.arcs
            h = potentials(arcs)
            lengths = np.maximum(arcs.weights + (h[arcs.tails] - h[arcs.heads]), 0)  # clipped against rounding
            D, P = Rows(replace(arcs, weights=lengths), sources, options._replace(limit=np.inf)).with_predecessors()
            D += h
            D -= h[sources][:, None]
            D[np.arange(len(sources)), sources] = 0
            return D, P
        G, n = network.csr, network.n
        D, P = np.empty((len(sources), n), network.dtype), np.empty((len(sources), n), np.int32)
        step = self._together
        for start in range(0, len(sources), step):
            part = slice(start, start + step)
            D[part], P[part] = scipys.dijkstra(G, indices=sources[part], return_predecessors=True, limit=options.limit)
            if options.callback:
                options.callback(min(part.stop, len(sources)) * n, D.size)
        return D, P

    @property
    def _together(self) -> int:
        """Rows a call into SciPy, whose searches take two or three times as long if they keep predecessors."""
        return max(1, together(self.network.n, self.network.size) // 2)

    def nearest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distance from the nearest source, predecessor on that path, and index of that source, of each vertex."""
        network, limit = self.network, self.options.limit
        require(network.n * (network.dtype.itemsize + 4), where="csgraph", hint="Use a smaller dtype.")
        sources = np.arange(network.n) if self.sources is None else self.sources
        if network.least >= 0 and network.dtype.kind == "f":
            D, P, nearest_one = scipys.dijkstra(
                network.csr, indices=sources, min_only=True, limit=limit, return_predecessors=True
            )
            return D.astype(network.dtype, copy=False), P, nearest_one
        if not len(sources):
            nothing = np.full(network.n, NONE, np.int32)
            return np.full(network.n, network.zero, network.dtype), nothing, nothing.copy()
        D, P = self._replace(sources=sources).with_predecessors()
        best, every = D.argmin(axis=0), np.arange(network.n)
        D = D[best, every]
        beyond = (network.zero == D) | (limit < D)
        D[beyond] = network.zero
        return D, np.where(beyond, NONE, P[best, every]), np.where(beyond, NONE, sources[best]).astype(np.int32)


def potentials(network: Network) -> np.ndarray:
    """h with w(u, v) + h(u) − h(v) ≥ 0 up to rounding, for arcs (Johnson 1977); raises `errors.NegativeCycleError`."""
    arcs = Weighted(network.tails, network.heads, network.weights, network.n, min_plus)
    return arcs.potentials(where="csgraph").astype(network.dtype, copy=False)
