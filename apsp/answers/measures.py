"""Eccentricity, diameter, closeness and similar measures of distances, with NetworkX's definitions.

D, shape (n, n), NumPy or CuPy, is as `closure` returns it over min-plus: no path is inf, or the largest integer.
Each function is also a method of `Result`, by label.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.algebra.records import Semiring
from semiring.host.arrays import require_square, take_in
from semiring.host.devices import host
from semiring.host.errors import AlgebraError, DTypeError, ShapeError
from semiring.host.spelling import refuse_texts
from semiring.host.types import Array, Blocks, Label, Scalar

from ..io.graph import Graph
from ..io.labels import Labels
from ..road.engines.base import Engine
from ..road.log import Watch
from .totals import FarthestPair, Totals

#: Entries of a block, on the host (small temporaries) and on a GPU (occupancy).
_CHUNK, _CHUNK_GPU = 1 << 20, 1 << 24


def eccentricity(D: Array) -> Array:
    """The greatest distance from each vertex: shape (n,), on the device of D.

    Raises NoPathError if a vertex cannot be reached from another one, as NetworkX for disconnected graphs; ShapeError,
    DTypeError if D is not square, or holds no lengths.

    >>> import numpy as np
    >>> eccentricity(np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]]))
    array([3, 2, 3])
    """
    return _totals(D).connected("eccentricity").farthest


def diameter(D: Array, *, connected: bool = False) -> Scalar:
    """The greatest eccentricity, or over connected pairs an `OverPairs`; raises as `eccentricity`."""
    return _totals(D).diameter(connected)


def radius(D: Array) -> Scalar:
    """The least eccentricity; raises as `eccentricity`."""
    return _totals(D).connected("radius").farthest.min().item()


def center(D: Array) -> Array:
    """Ascending positions of the vertices whose eccentricity is the radius; raises as `eccentricity`."""
    return _where(_totals(D).connected("center").farthest, "min")


def periphery(D: Array) -> Array:
    """Ascending positions of the vertices whose eccentricity is the diameter; raises as `eccentricity`."""
    return _where(_totals(D).connected("periphery").farthest, "max")


def closeness(D: Array, *, wf_improved: bool = True) -> Array:
    """The reciprocal of the mean distance *to* each vertex: float64 (n,), on the device of D.

    The mean is over the r vertices that reach it, itself included; `wf_improved` scales by (r − 1) / (n − 1) (Wasserman
    and Faust 1994), as NetworkX's `closeness_centrality`. 0 if no other vertex reaches it, or the sum is 0, negative or
    beyond float64; inf if the reciprocal is beyond float64.

    >>> import numpy as np
    >>> closeness(np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]]))
    array([0.5       , 0.66666667, 0.4       ])
    """
    return _totals(D).closeness(wf_improved)


def average_path_length(D: Array, *, connected: bool = False) -> float:
    """The mean distance between different vertices, or over connected pairs an `OverPairs`; 0 for a single one.

    Raises as `eccentricity`.
    """
    return _totals(D).connected("average_path_length", allowed=connected).mean("total", connected)


def global_efficiency(D: Array, *, connected: bool = False) -> float:
    """The mean of 1 / distance over pairs of different vertices; no path and distance 0 count as 0.

    Correct also where reciprocals of single distances exceed float64; over connected pairs an `OverPairs`. Raises
    DomainError for a negative distance.
    """
    return _totals(D).mean("inverse", connected)


def _totals(D: Array) -> Totals:
    D = take_in(D, where="measures").array
    require_square(D.shape, where="measures", what="D")
    if D.dtype.kind not in "if":
        raise DTypeError(f"measures: D must hold lengths, got {D.dtype}. Close a matrix of numbers over min_plus.")
    if D.dtype.name not in min_plus.dtypes:
        D = D.astype(dtypes.resolve(min_plus, D.dtype, where="measures"))
    return Totals.of(_blocks(D), len(D), D.dtype)


def _blocks(D: Array) -> Blocks:
    entries = _CHUNK if isinstance(D, np.ndarray) else _CHUNK_GPU
    rows = max(1, entries // max(1, len(D)))
    return ((np.arange(start, min(start + rows, len(D))), D[start : start + rows]) for start in range(0, len(D), rows))


def _watched(where: str, blocks: Blocks, n: int) -> Blocks:
    """The blocks of all distances, with progress."""
    return Watch(f"{where}: {n} × {n} distances", n, None).each(blocks, lambda block: len(block[0]))


def _where(farthest: Array, which: str) -> Array:
    return (farthest == getattr(farthest, which)()).nonzero()[0]


class Measured:
    """Min-plus measures of a `Result`, by label; without a table, rows are streamed once, and not stored."""

    graph: Graph
    semiring: Semiring
    engine: Engine
    sources: Labels
    targets: Labels
    path: Callable[[Label, Label], list[Label]]

    def _measured(self, where: str, *, apart: bool = False) -> Totals:
        refuse_texts(where, connected=apart)
        cached = vars(self).get("_totals")
        if cached is None:
            self._require_all_pairs(where)
            n, engine = self.graph.n, self.engine
            blocks = _blocks(engine.table()) if engine.in_memory else engine.rows(np.arange(n))
            cached = vars(self)["_totals"] = Totals.of(_watched(where, blocks, n), n, engine.dtype)
        totals: Totals = cached
        return totals if apart else totals.connected(where, (self.sources, self.targets))

    def _farthest(self, where: str) -> np.ndarray:
        """The greatest distance from each vertex, by the engine's own pass; `_measured` names two without a path."""
        found = vars(self).get("_worst")
        if found is None and "_totals" not in vars(self):
            self._require_all_pairs(where)
            n, lines = self.graph.n, self.engine.worst(lambda panel: panel.max(axis=0))
            found = np.empty(n, self.engine.dtype)
            for positions, line in _watched(where, lines, n):
                found[positions] = host(line)
            vars(self)["_worst"] = found
        if found is None or not found.size or (found == dtypes.zero(min_plus, found.dtype)).any():
            found = host(self._measured(where).farthest)
        return found

    def _require_all_pairs(self, where: str) -> None:
        if not (self.semiring.lengths and self.semiring.add.selects == "least"):
            raise AlgebraError(f"{where}: distances must add, as in min_plus, got {self.semiring.name}.")
        n, engine = self.graph.n, self.engine
        engine.refuse_unbounded(where, self.graph.labels)
        if engine.shape != (n, n):
            way = "Ask without sources=, targets=."
            raise ShapeError(f"{where}: all pairs are needed, got shape {engine.shape} for n = {n}. {way}")

    def eccentricity(self) -> dict[Label, float]:
        """The greatest distance from each vertex, by label.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).eccentricity()
        {'A': 11, 'B': 7, 'C': 11}
        """
        return dict(zip(self.sources, self._farthest("eccentricity").tolist(), strict=True))

    def diameter(self, *, connected: bool = False) -> float:
        """The greatest eccentricity; with `connected`, an `OverPairs` of the pairs that have a path.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).diameter()
        11
        """
        if not connected:
            return self._farthest("diameter").max().item()
        return self._measured("diameter", apart=connected).diameter(connected, (self.sources, self.targets))

    def farthest_pair(self, *, connected: bool = False) -> FarthestPair:
        """Two vertices whose distance is the diameter, `connected` or not, and a best path; of several pairs the first.

        Returns
        -------
        FarthestPair
            `source`, `target`, `distance`, and `path`, the vertices on a best one.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7), ("D", "A", 1)]).farthest_pair(connected=True)
        FarthestPair(source='D', target='C', distance=12, path=['D', 'A', 'B', 'C'])
        """
        totals = self._measured("farthest_pair", apart=connected).connected("farthest_pair", allowed=True)
        i = int(totals.farthest.argmax())
        row = host(self.engine.row(i))
        j = int(np.where(row == dtypes.zero(min_plus, row.dtype), -row, row).argmax())
        u, v = self.sources[i], self.targets[j]
        return FarthestPair(u, v, row[j].item(), self.path(u, v))

    def radius(self) -> float:
        """The least eccentricity.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).radius()
        7
        """
        return self._farthest("radius").min().item()

    def center(self) -> list[Label]:
        """The vertices whose eccentricity is the radius.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).center()
        ['B']
        """
        return [self.sources[k] for k in _where(self._farthest("center"), "min").tolist()]

    def periphery(self) -> list[Label]:
        """The vertices whose eccentricity is the diameter.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).periphery()
        ['A', 'C']
        """
        return [self.sources[k] for k in _where(self._farthest("periphery"), "max").tolist()]

    def closeness(self, *, wf_improved: bool = True) -> dict[Label, float]:
        """The reciprocal of the mean distance to each vertex, by label: NetworkX's `closeness_centrality`.

        Parameters
        ----------
        wf_improved : bool
            Scale by the fraction of vertices that reach the vertex (Wasserman and Faust 1994), as NetworkX does.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).closeness()["B"]
        0.18181818181818182
        """
        refuse_texts("closeness", wf_improved=wf_improved)
        values = self._measured("closeness", apart=True).closeness(wf_improved)
        return dict(zip(self.targets, values.tolist(), strict=True))

    def average_path_length(self, *, connected: bool = False) -> float:
        """The mean distance between different vertices, 0 for a single one; with `connected`, an `OverPairs`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).average_path_length()
        7.333333333333333
        """
        return self._measured("average_path_length", apart=connected).mean("total", connected)

    def global_efficiency(self, *, connected: bool = False) -> float:
        """The mean of 1 / distance over pairs of different vertices; no path counts as 0, unless `connected`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).global_efficiency()
        0.16125541125541126
        """
        return self._measured("global_efficiency", apart=connected or True).mean("inverse", connected)
