"""Sums over best paths: counts, flows, betweenness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np

from semiring.dense.routes import adjoint, require_countable
from semiring.host.devices import host, module, on_device, read_only, to_device
from semiring.host.errors import DomainError, NoPathError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array, Label
from semiring.kernels.backend import cuda_available
from semiring.kernels.observed import Callback

from ...generate import generator
from ...road.engines.base import Asked
from ...road.engines.part import Limit
from ...road.log import Watch
from ..flows import Arcs, Balance, Demand, Scale, Sums
from .routed import Routed
from .turned import cut_off, folded, refuse_turns

#: Rows of distances per block and thread; on a GPU, bytes per block.
_BLOCK, _BYTES = 64, 1 << 31


class Flowing(Routed):
    """Sums over best paths; ties share equally, and are those of Dijkstra's algorithm.

    Float lengths, added up from the source on, are compared bit for bit, as NetworkX does.
    """

    def tied(self, ties_within: float) -> Self:
        """The result in whose `counts`, `betweenness`, `flows` and `all_paths` nearly equal paths tie.

        Parameters
        ----------
        ties_within : float
            An edge (k, j) is on a best path from s if d(s, k) + w(k, j) ≤ d(s, j) + `ties_within`.

        Returns
        -------
        Result
            A new one of the same distances.

        Raises
        ------
        DomainError
            If the tolerance is negative or no number; in the query that follows, if it is not below all edge lengths.

        Notes
        -----
        O(1). Sums are then found on the CPU, from rows of distances.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 0.1), ("B", "C", 0.2), ("A", "C", 0.3)])
        >>> int(r.counts[0, 2]), int(r.tied(1e-9).counts[0, 2])
        (1, 2)
        """
        refuse_turns(self, "tied", "Round weights and costs to multiples of the tolerance.")
        if not isinstance(ties_within, Real) or not 0 <= ties_within < math.inf:
            raise DomainError(f"tied: ties_within must be a number of at least 0, got {came(ties_within)}.")
        return replace(self, ties_within=float(ties_within))

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of best paths from each source to each target: int64, shape of `distances`, read-only on the host.

        Paths differ by their vertices; 1 from a vertex to itself, 0 for no path. Raises DivergenceError for a cycle
        that costs nothing, DomainError beyond 2⁶³ − 1 paths.
        """
        k, m = self.engine.shape
        require(8 * k * m, where="counts", hint="Take a result of some sources and targets.")
        out = np.empty((k, m), np.int64)
        device, done, targets = self._device, 0, self._ends(np.arange(m))
        with self._where(device):
            sums = self._adjoint("counts", device)
            for positions, D in self._rows(self._in_graph(self.sources, np.arange(k)), device, sums.threads):
                rows = np.empty((len(positions), self._walked.n), np.int64)
                sums.counts(D, positions, rows)
                out[done : done + len(positions)] = np.where(host(self._reached(D)), rows, 0)[:, targets]
                done += len(positions)
        return read_only(out)

    def flows(self, demand: Any, *, unreachable: str = "raise", callback: Callback | None = None) -> np.ndarray:
        """All-or-nothing assignment: the flow on each edge if demand takes best paths, shared equally among ties.

        Parameters
        ----------
        demand : array, table, mapping, or list of triples
            Amounts by source and target: a NumPy or CuPy array of the shape of `distances`; a data frame with columns
            origin, destination and trips; {(u, v): trips}; or (u, v, trips). Finite and at least 0. Sources without
            demand are not searched; demand from a vertex to itself uses no edge.
        unreachable : {"raise", "drop"}
            For demand between vertices without a path.
        callback : callable, optional
            `callback(done, total)` in sources.

        Returns
        -------
        float64 array, shape (edges,)
            In the order of the graph's edge list, both directions of an undirected edge together; equally good parallel
            edges share. For a matrix, shape (n, n) on the device of the distances.

        Raises
        ------
        VertexError, NoPathError
            If demand names a vertex outside sources or targets, or a pair without a path.
        ShapeError, DTypeError, DomainError
            If demand has another shape, is masked, or not finite and at least 0.

        Notes
        -----
        O(n + m) a source beyond its distances; for a matrix, m counts the edges on best paths. The flow is the
        derivative of Σ demand · distance by the weight, where it exists: Σ flow · weight = Σ demand · distance. Source:
        Brandes 2001, "A faster algorithm for betweenness centrality".

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> r.flows({("A", "C"): 100, ("B", "C"): 10})
        array([100., 110.,   0.])
        """
        if unreachable not in ("raise", "drop"):
            raise ValueError(f"flows: unreachable must be 'raise' or 'drop', got {came(unreachable)}.")
        wanted, n = Demand.of(demand, self.sources, self.targets), self._walked.n
        sources, targets = wanted.sources, self._ends(np.arange(self.engine.shape[1]))
        origins, every = self._in_graph(self.sources, sources), self.targets is self.labels
        done = 0

        def asked(part: slice, xp: Any = np) -> Any:
            q = wanted.rows(sources[part])
            q = host(q) if xp is np else xp.asarray(q)
            if every and self.turned is None:
                return q
            wider = xp.zeros((len(q), n))
            wider[:, xp.asarray(targets)] = q
            return wider

        def rows(positions: np.ndarray, D: Array) -> Any:
            nonlocal done
            xp = module(D)
            q = asked(slice(done, done + len(positions)), xp)
            done += len(positions)
            worst = D.min() if self.semiring.add.selects == "greatest" else D.max()
            if self.engine.limit is None and worst != self.infinity:
                return q
            lost = ~self._reached(D) & (q != 0)
            if unreachable == "raise" and bool(lost.any()):
                i, j = (int(x[0]) for x in lost.nonzero())
                u, v = self._walked.labels[int(positions[i])], self._walked.labels[j]
                why = cut_off(self, self.graph.index(u), self.graph.index(v))
                raise NoPathError(
                    f"flows: where there is demand there must be a path, got {q[i, j]:g} from {came(u)} to {came(v)} "
                    f"and none{why} Pass unreachable='drop' to leave such pairs out."
                )
            return xp.where(lost, 0.0, q)

        swept = self._swept("flows", origins, asked, callback) if every else None
        sums = swept or self._summed("flows", origins, rows, callback)
        return self._carried(sums)

    def betweenness(
        self,
        *,
        sources: int | None = None,
        seed: int = 0,
        endpoints: bool = False,
        normalized: bool = True,
        callback: Callback | None = None,
    ) -> dict[Label, float]:
        """The share of best paths through each vertex, by label: NetworkX's `betweenness_centrality`.

        Parameters
        ----------
        sources : int, optional
            Number of sources drawn at random, with sums scaled up; by default all, exactly.
        seed : int
            Of the draw.
        endpoints : bool
            Whether paths pass their ends.
        normalized : bool
            Divide by the number of pairs that a vertex may lie between; otherwise sums of an undirected graph are
            halved, so that each pair counts once.
        callback : callable, optional
            `callback(done, total)` in sources.

        Returns
        -------
        dict
            In graph order. For a partial result, the sums between its sources and targets, as
            `betweenness_centrality_subset`.

        Notes
        -----
        O(n + m) a source beyond its distances; exact sums are cached. With k drawn sources, all normalized values are
        within √(ln(2 n / p) / (2 k)) · n / (n − 2) of the exact ones with probability 1 − p (Hoeffding 1963; Brandes
        and Pich 2007, "Centrality estimation in large networks"). Bitwise reproducible for any number of threads.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).betweenness()
        {'A': 0.0, 'B': 1.0, 'C': 0.0}
        """
        drawn, sums = self._between("betweenness", sources, seed, callback, edges=False)
        scale = self._scale(normalized, endpoints, None if sources is None else len(drawn))
        if self.turned is not None:
            sums = folded(self.turned, sums, drawn, self._unit[0])
        found = sums.through + sums.ending if endpoints else sums.through
        if scale.source == scale.other:
            found = found * scale.other
        else:
            factor = np.full(self.graph.n, scale.other)
            factor[drawn] = scale.source
            found = found * factor
        return dict(zip(self.labels, found.tolist(), strict=True))

    def edge_betweenness(
        self,
        *,
        sources: int | None = None,
        seed: int = 0,
        normalized: bool = True,
        callback: Callback | None = None,
    ) -> np.ndarray:
        """The share of best paths through each edge: NetworkX's `edge_betweenness_centrality`.

        Parameters
        ----------
        sources, seed, normalized, callback
            As in `betweenness`.

        Returns
        -------
        float64 array, shape (edges,)
            In the order of the graph's edge list; equally good parallel edges share. For a matrix, shape (n, n) on the
            device of the distances.

        Notes
        -----
        Cost and precision as of `betweenness`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> r.edge_betweenness(normalized=False)
        array([2., 2., 0.])
        """
        drawn, sums = self._between("edge_betweenness", sources, seed, callback, edges=True)
        scale = self._scale(normalized, True, None if sources is None else len(drawn))
        carried = self._carried(sums)
        carried *= scale.other
        return carried

    def _scale(self, normalized: bool, endpoints: bool, sampled: int | None) -> Scale:
        refuse_texts("betweenness", normalized=normalized, endpoints=endpoints)
        graph = self.graph
        return Scale.of(
            graph.n, directed=graph.directed, normalized=normalized, endpoints=endpoints, sampled=sampled
        )  # fmt: skip

    def _between(
        self, where: str, count: int | None, seed: int, callback: Callback | None, *, edges: bool
    ) -> tuple[np.ndarray, Any]:
        """Sources, and sums of one unit from each to all it reaches, cached; those of edges may be None if costly."""
        k = self.engine.shape[0]
        every, known = self._in_graph(self.sources, np.arange(k)), vars(self).get("_between_all")
        if count is None and known is not None and not (edges and known.along is None):
            return every, known
        if count is not None and (isinstance(count, bool) or not hasattr(count, "__index__") or not 0 < count <= k):
            raise ShapeError(
                f"{where}: sources must be a number from 1 to {k}, the sources of this result, got {came(count)}."
            )
        drawn = every if count is None else np.sort(generator(seed, where).choice(every, count, replace=False))
        unit = self._unit
        limited = self.engine.limit is not None
        sums = self._swept(where, drawn, unit[0], callback) or self._summed(
            where, drawn, lambda _, D: unit * self._reached(D) if limited else unit, callback, unit[0], edges=edges
        )
        if count is None:
            vars(self)["_between_all"] = sums
        return drawn, sums

    @property
    def _unit(self) -> np.ndarray:
        """A unit of demand at each target, by column of the table of all pairs."""
        unit = np.zeros((1, self._walked.n))
        unit[:, self._ends(np.arange(self.engine.shape[1]))] = 1.0
        return unit

    def _swept(self, where: str, sources: np.ndarray, asked: Asked, callback: Callback | None) -> Balance | None:
        """The sums from the engine's `flows`, without rows, or None if it has none."""
        if self.engine.limit is not None or self.engine.all_pairs.in_memory or self.ties_within:
            return None
        require_countable(self.semiring, where=where)
        arcs = self._arcs_of("cpu")
        _, heads, weights = arcs.edges
        watch = Watch(f"{where}: best paths from {len(sources)} vertices", len(sources), callback)
        found = self.engine.all_pairs.flows((arcs.tails, heads, weights), sources, asked, watch)
        if found is None:
            return None
        along, reached = found
        return Balance.of(arcs, along, reached * (1.0 if callable(asked) else asked))

    def _summed(
        self, where: str, sources: np.ndarray, demand: Callable[[np.ndarray, Array], Array], callback: Callback | None,
        unit: np.ndarray | None = None, *, edges: bool = True,
    ) -> Any:  # fmt: skip
        """The sums of `demand(positions, D)` over rows of these sources.

        On a GPU vertex sums need a common `unit` (n,); edge sums may be missing unless requested.
        """
        device = self._device
        with self._where(device):
            sums = self._adjoint(where, device)
            if device == "cuda":
                sums.of_edges = edges
            else:
                sums.of_vertices = unit is not None
            watch = Watch(f"{where}: best paths from {len(sources)} vertices", len(sources), callback)
            for positions, D in watch.each(self._rows(sources, device, sums.threads), lambda block: len(block[0])):
                sums.add(D, positions, demand(positions, D))
            sums.finish()
            if device == "cpu":
                return sums
            if unit is None:
                return Sums(np.empty(0), np.empty(0), sums.along)
            flow = sums.of_vertices()
            return Balance(sums.along if sums.carried else None, sums.arrivals * unit, lambda: flow)

    def _where(self, device: str) -> AbstractContextManager[Any]:
        engine = self.engine.all_pairs
        return on_device(engine.table() if device == "cuda" and engine.in_memory else None)

    @property
    def _device(self) -> str:
        gpu = self.plan.device == "cuda" and self.engine.limit is None and cuda_available()
        return "cuda" if gpu and not self.ties_within else "cpu"

    def _rows(self, sources: np.ndarray, device: str, threads: int) -> Iterator[tuple[np.ndarray, Any]]:
        """Blocks of rows of the all-pairs table, on a device."""
        engine = self.engine.all_pairs
        if device == "cpu":
            yield from ((positions, host(D)) for positions, D in engine.rows(sources, _BLOCK * threads))
            return
        block = max(_BLOCK, _BYTES // (8 * max(1, self._walked.n)))
        yield from ((positions, to_device(D, device)) for positions, D in engine.rows(sources, block))

    def _reached(self, D: Array) -> Any:
        """Mask of entries with a path within the limit."""
        limit = self.engine.limit
        within = D if limit is None else Limit(limit, self.semiring, self.dtype)(D)
        return within != self.infinity

    def _adjoint(self, where: str, device: str = "cpu") -> Any:
        threads = getattr(self.engine.all_pairs, "threads", None)
        require_countable(self.semiring, where=where)  # before edges are listed
        edges, names, within = self._arcs_of(device).edges, self._walked.labels, self._weighed.within
        if within:
            starts, heads, weights = edges
            least = weights.min() if len(weights) else math.inf
            if not (self.semiring.lengths and self.semiring.add.selects == "least" and within < least):
                raise DomainError(
                    f"{where}: ties_within must be below all lengths, of min_plus or its like, got {within:g} beside "
                    f"an edge of {least:g} over {self.semiring.name}. Choose a smaller one."
                )
            edges = starts, heads, weights - weights.dtype.type(within)
        sums = adjoint(self.semiring, self.dtype, edges, where=where, names=names, threads=threads, device=device)
        sums.cut = self.engine.limit is not None  # searches go no further
        if within:
            sums.loosen()
        return sums

    def _carried(self, sums: Any) -> Any:
        """Edge flows; for a matrix with its table on a GPU, there."""
        arcs = self._arcs_of("cpu" if isinstance(sums.along, np.ndarray) else "cuda")
        flows = arcs.of_edges(sums.along, self._walked)
        return flows if self.turned is None else self.turned.carried(flows, self.graph.edge_count)

    def _arcs_of(self, device: str) -> Arcs:
        known = self._arcs_by_device
        if device not in known:
            known[device] = Arcs.of(self._weighed, device)
            if known[device].place is not None:  # a list of edges is on the host
                known["cpu"] = known["cuda"] = known[device]
        return known[device]

    @cached_property
    def _arcs_by_device(self) -> dict[str, Arcs]:
        return {}
