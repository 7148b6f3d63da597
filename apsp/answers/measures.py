"""Eccentricity, diameter, closeness and similar measures of distances, with NetworkX's definitions.

D, shape (n, n), NumPy or CuPy, is as `closure` returns it over min-plus: no path is inf, or the largest integer.
Each function is also a method of `Result`, by label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.algebra.records import Semiring
from semiring.host.arrays import take_in
from semiring.host.devices import module, on_device
from semiring.host.errors import AlgebraError, DomainError, DTypeError, NoPathError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Array, Blocks, Label, Scalar

if TYPE_CHECKING:
    from ..io.graph import Graph
    from ..io.labels import Labels
    from ..road.engines.base import Engine

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


def diameter(D: Array) -> Scalar:
    """The greatest eccentricity; raises as `eccentricity`."""
    return _totals(D).connected("diameter").farthest.max().item()


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


def average_path_length(D: Array) -> float:
    """The mean distance between different vertices; 0 for a single one. Raises as `eccentricity`."""
    return _totals(D).connected("average_path_length").mean("total")


def global_efficiency(D: Array) -> float:
    """The mean of 1 / distance over pairs of different vertices; no path and distance 0 count as 0.

    Correct also where reciprocals of single distances exceed float64. Raises DomainError for a negative distance.
    """
    return _totals(D).mean("inverse")


@dataclass(frozen=True)
class Totals:
    """Sums and extremes of all distances, from one pass.

    `inward` and `reaching` are the sum of distances to each vertex and the number of vertices that reach it, itself
    included. `total` and `inverse`, sums of distances and of reciprocals of those above 0, may exceed float64; `least`
    is at most 0; `apart` are two vertices without a path.
    """

    farthest: Array
    inward: Array
    reaching: Array
    total: Fraction
    inverse: Fraction
    least: float
    apart: tuple[int, int] | None

    @property
    def n(self) -> int:
        return len(self.farthest)

    @classmethod
    def of(cls, blocks: Blocks, n: int, dtype: np.dtype) -> Totals:
        """The totals of blocks of rows (positions, entries)."""
        farthest: Array = None
        total, inverse, least = Fraction(0), Fraction(0), 0.0
        apart, zero = None, dtypes.zero(min_plus, dtype)
        for rows, D in blocks:
            xp = module(D)
            with on_device(D):
                if farthest is None:
                    farthest, inward, reaching = xp.zeros(n, dtype), xp.zeros(n), xp.zeros(n, np.int64)
                path = D != zero
                lengths = xp.where(path, D, 0)
                if apart is None and not bool(path.all()):
                    i, j = (int(x[0]) for x in (~path).nonzero())
                    apart = int(rows[i]), j
                farthest[xp.asarray(rows)] = lengths.max(axis=1)
                with np.errstate(over="ignore"):
                    inward += lengths.sum(axis=0, dtype=np.float64)
                reaching += path.sum(axis=0)
                total += _sum(xp, lengths)
                inverse += _sum(xp, lengths, inverse=True)
                least = min(least, float(lengths.min()))
        if farthest is None:
            return cls(np.zeros(0, dtype), np.zeros(0), np.zeros(0, np.int64), total, inverse, least, None)
        return cls(farthest, inward, reaching, total, inverse, least, apart)

    def connected(self, where: str, names: tuple[Labels, Labels] | None = None) -> Totals:
        """Self if every vertex reaches every other, else NoPathError naming two vertices."""
        if not self.n:
            raise NoPathError(f"{where}: there must be a vertex, got a graph without any.")
        if self.apart is not None:
            u, v = self.apart if names is None else (side[x] for side, x in zip(names, self.apart, strict=True))
            raise NoPathError(
                f"{where}: every vertex must reach every other one, got no path from {came(u)} to {came(v)}. Take the "
                "largest (strongly) connected component, or global_efficiency and closeness, which allow for it."
            )
        return self

    def mean(self, which: str) -> float:
        """The named sum over the number of ordered pairs of different vertices."""
        if which == "inverse" and self.least < 0:
            raise negative_error("global_efficiency", self.least)
        try:
            return float(getattr(self, which) / max(self.n * (self.n - 1), 1))
        except OverflowError:
            return math.inf

    def closeness(self, wf_improved: bool) -> Array:
        xp, others = module(self.inward), self.reaching - 1
        reached = self.inward > 0
        with np.errstate(over="ignore"):
            values = xp.where(reached, others / xp.where(reached, self.inward, 1.0), 0.0)
        return values * others / (self.n - 1) if wf_improved and self.n > 1 else values


def negative_error(where: str, least: float) -> DomainError:
    return DomainError(
        f"{where}: 1 / distance must be of distances of at least 0, got {least:g}. Leave negative weights out, or take "
        "the distances themselves: reduce('total'), average_path_length()."
    )


def _sum(xp: Any, lengths: Array, *, inverse: bool = False) -> Fraction:
    """Σ lengths, or Σ 1 / length over those above 0: float64 precision, unlimited range."""
    above = lengths > 0

    def scaled(exponent: int) -> float:
        """The sum for the lengths divided by 2**exponent."""
        x = xp.ldexp(lengths.astype(np.float64), -exponent) if exponent else lengths
        x = xp.where(above, 1.0 / xp.where(above, x, 1).astype(np.float64), 0.0) if inverse else x
        return float(x.sum(dtype=np.float64))

    with np.errstate(over="ignore"):
        plain = scaled(0)
        if math.isfinite(plain):
            return Fraction(plain)
        ends = lengths[above]
        exponent = math.frexp(float(ends.min() if inverse else ends.max()))[1]
        return Fraction(scaled(exponent)) * Fraction(2) ** (-exponent if inverse else exponent)


def _totals(D: Array) -> Totals:
    D = take_in(D, where="measures").array
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ShapeError(f"measures: D must be square, (n, n), got shape {D.shape}.")
    if D.dtype.kind not in "if":
        raise DTypeError(f"measures: D must hold lengths, got {D.dtype}. Close a matrix of numbers over min_plus.")
    if D.dtype.name not in min_plus.dtypes:
        D = D.astype(dtypes.resolve(min_plus, D.dtype, where="measures"))
    return Totals.of(_blocks(D), len(D), D.dtype)


def _blocks(D: Array) -> Blocks:
    entries = _CHUNK if isinstance(D, np.ndarray) else _CHUNK_GPU
    rows = max(1, entries // max(1, len(D)))
    return ((np.arange(start, min(start + rows, len(D))), D[start : start + rows]) for start in range(0, len(D), rows))


def _where(farthest: Array, which: str) -> Array:
    return (farthest == getattr(farthest, which)()).nonzero()[0]


class Measured:
    """Min-plus measures of a `Result`, by label; without a table, rows are streamed once, and not stored."""

    graph: Graph
    semiring: Semiring
    engine: Engine
    sources: Labels
    targets: Labels

    def _measured(self, where: str, *, connected: bool = True) -> Totals:
        cached = vars(self).get("_totals")
        if cached is None:
            if not (self.semiring.lengths and self.semiring.add.selects == "least"):
                raise AlgebraError(f"{where}: distances must add, as in min_plus, got {self.semiring.name}.")
            n, engine = self.graph.n, self.engine
            engine.refuse_unbounded(where, self.graph.labels)
            if engine.shape != (n, n):
                raise ShapeError(f"{where}: all pairs are needed, got a result of shape {engine.shape} for n = {n}.")
            blocks = _blocks(engine.table()) if engine.in_memory else engine.rows(np.arange(n))
            cached = vars(self)["_totals"] = Totals.of(blocks, n, engine.dtype)
        totals: Totals = cached
        return totals.connected(where, (self.sources, self.targets)) if connected else totals

    def eccentricity(self) -> dict[Label, float]:
        """The greatest distance from each vertex, by label.

        Returns
        -------
        dict

        Raises
        ------
        NoPathError
            If a vertex cannot be reached from another one.
        AlgebraError, ShapeError
            If the semiring has no lengths, or this result is partial.

        See Also
        --------
        reduce : As an array, with inf where a vertex does not reach all.
        diameter, radius, center, periphery : Measures derived from it.

        Notes
        -----
        One pass over all n² distances, shared by all measures; without a table, rows are streamed.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).eccentricity()
        {'A': 11, 'B': 7, 'C': 11}
        """
        return dict(zip(self.sources, self._measured("eccentricity").farthest.tolist(), strict=True))

    def diameter(self) -> float:
        """The greatest eccentricity.

        Returns
        -------
        int or float

        Raises
        ------
        NoPathError, AlgebraError, ShapeError
            As `eccentricity`.

        See Also
        --------
        radius, periphery : The least eccentricity; the vertices at the greatest.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).diameter()
        11
        """
        return self._measured("diameter").farthest.max().item()

    def radius(self) -> float:
        """The least eccentricity.

        Returns
        -------
        int or float

        Raises
        ------
        NoPathError, AlgebraError, ShapeError
            As `eccentricity`.

        See Also
        --------
        diameter, center : The greatest eccentricity; the vertices at the least.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).radius()
        7
        """
        return self._measured("radius").farthest.min().item()

    def center(self) -> list[Label]:
        """The vertices whose eccentricity is the radius.

        Returns
        -------
        list of labels

        Raises
        ------
        NoPathError, AlgebraError, ShapeError
            As `eccentricity`.

        See Also
        --------
        periphery, radius : The opposite; the eccentricity of the center.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).center()
        ['B']
        """
        return [self.sources[k] for k in _where(self._measured("center").farthest, "min").tolist()]

    def periphery(self) -> list[Label]:
        """The vertices whose eccentricity is the diameter.

        Returns
        -------
        list of labels

        Raises
        ------
        NoPathError, AlgebraError, ShapeError
            As `eccentricity`.

        See Also
        --------
        center, diameter : The opposite; the eccentricity of the periphery.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).periphery()
        ['A', 'C']
        """
        return [self.sources[k] for k in _where(self._measured("periphery").farthest, "max").tolist()]

    def closeness(self, *, wf_improved: bool = True) -> dict[Label, float]:
        """The reciprocal of the mean distance to each vertex, by label: NetworkX's `closeness_centrality`.

        Parameters
        ----------
        wf_improved : bool
            Scale by the fraction of vertices that reach the vertex (Wasserman and Faust 1994), as NetworkX does.

        Returns
        -------
        dict

        Raises
        ------
        AlgebraError, ShapeError
            If the semiring has no lengths, or this result is partial.

        See Also
        --------
        reduce, networkx.closeness_centrality : "closeness" and "harmonic" as arrays; the same measure.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).closeness()["B"]
        0.18181818181818182
        """
        values = self._measured("closeness", connected=False).closeness(wf_improved)
        return dict(zip(self.targets, values.tolist(), strict=True))

    def average_path_length(self) -> float:
        """The mean distance between different vertices.

        Returns
        -------
        float
            0 for a single vertex.

        Raises
        ------
        NoPathError, AlgebraError, ShapeError
            As `eccentricity`.

        See Also
        --------
        global_efficiency : Also for disconnected graphs.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).average_path_length()
        7.333333333333333
        """
        return self._measured("average_path_length").mean("total")

    def global_efficiency(self) -> float:
        """The mean of 1 / distance over pairs of different vertices; no path counts as 0.

        Returns
        -------
        float

        Raises
        ------
        AlgebraError, ShapeError
            If the semiring has no lengths, or this result is partial.
        DomainError
            If a distance is negative.

        See Also
        --------
        average_path_length, networkx.global_efficiency : The mean distance; the same measure.

        Notes
        -----
        One pass over all n² distances, shared by all measures.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).global_efficiency()
        0.16125541125541126
        """
        return self._measured("global_efficiency", connected=False).mean("inverse")
