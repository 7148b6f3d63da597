"""Edges of a graph as arrays, and as a matrix over a semiring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra import catalog, dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.dense.cycles import Lengths
from semiring.host import memory
from semiring.host.types import Algebra, Array, DType, Edges
from semiring.sparse.cycles import Weighted

from ..labels import Labels
from .entries import both_ways, combine, is_boolean, listed, over, present, unit_dtype
from .nulls import Nulls
from .ondisk import OnDisk, Windows

#: Edges scattered into a matrix at a time.
_ARCS = 1 << 16


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Vertices and edges, as a matrix or a list, and what is read of them; see `Graph`."""

    n: int
    labels: Labels = field(repr=False)
    dense: Any = field(default=None, repr=False)
    rows: np.ndarray | None = field(default=None, repr=False)
    cols: np.ndarray | None = field(default=None, repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)
    directed: bool = True
    name: str = ""
    unit: bool = field(default=False, repr=False)
    nulls: Nulls = field(default=None, repr=False)
    places: np.ndarray | None = field(default=None, repr=False)
    planar: bool = field(default=False, repr=False)

    @property
    def edge_count(self) -> int:
        """The number of edges as listed (undirected ones once), or of matrix entries that are edges."""
        if self.rows is not None:
            return len(self.rows)
        boolean = catalog.get("boolean")
        A = self.windows(boolean)
        if A is None:
            A = self.dense if self.nulls is None and not self.unit else self._from_dense(boolean, None)
        return sum(int(present(A[part]).sum()) for part in dtypes.chunks(A))

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Tails and heads of the edge list, which a dense matrix lacks."""
        assert self.rows is not None
        assert self.cols is not None
        return self.rows, self.cols

    @property
    def arc_count(self) -> int:
        """The number of arcs: undirected edges count twice."""
        return self.edge_count * (1 if self.directed else 2)

    def matrix(self, semiring: Algebra = "min_plus", dtype: DType = None) -> Array:
        """The matrix A[i, j] = ⊕ of the weights of edges i → j; the semiring's zero where there is none.

        Parameters
        ----------
        semiring : str or Semiring
        dtype : dtype, optional
            By default float64 for float weights; for integers int32 if the sum over all vertices of the heaviest
            out-edge fits (no path overflows), else int64; int16 for unweighted graphs under 32,767 vertices, else
            int32; a matrix keeps its own. Where the semiring excludes that dtype, the smallest safe one that it allows.

        Returns
        -------
        array, shape (n, n)
            A copy, except for a directed dense matrix that already fits.

        Notes
        -----
        O(n² + m) time, n² entries. Over the Boolean semiring every edge of finite weight, 0 included, is True; a
        numeric matrix then has an edge per finite entry if it holds infinities, and must else be 0/1.

        Examples
        --------
        >>> from apsp import Graph
        >>> Graph.from_edges([(0, 1, 5), (0, 1, 3)]).matrix("min_plus", "float64")
        array([[inf,  3.],
               [inf, inf]])
        """
        s = catalog.get(semiring)
        if self.dense is not None:
            return self._from_dense(s, dtype)
        target = self.target(s, dtype)
        memory.require(
            self.n**2 * target.itemsize, where="Graph.matrix", hint="Use a smaller dtype, or fewer vertices."
        )
        A = np.full((self.n, self.n), dtypes.zero(s, target), dtype=target)
        for back in (False, True)[: 1 if self.directed else 2]:
            for i, j, w in self.pieces(s, target):
                if back:  # a loop leads back to where it began, once
                    i, j, w = (x[i != j] for x in (j, i, w))
                combine(A.reshape(-1), i * self.n + j, w, s)
        return A

    def edges(self, semiring: str | Semiring = "min_plus", dtype: DType = None) -> Edges:
        """Rows, cols and weights of all arcs; undirected edges both ways, weights as `matrix` holds them.

        Parameters
        ----------
        semiring : str or Semiring
            Its zero marks the non-edges of a dense matrix.
        dtype : dtype, optional
            As in `matrix`.

        Returns
        -------
        rows, cols : int64 arrays, shape (arcs,)
        weights : array, shape (arcs,)

        Examples
        --------
        >>> from apsp import Graph
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.edges()
        (array([0, 1]), array([1, 2]), array([4, 7], dtype=int32))
        """
        s = catalog.get(semiring)
        if self.dense is not None:
            windows = self.windows(s, dtype, where="Graph.edges")
            return listed(self._from_dense(s, dtype) if windows is None else windows, s)
        rows, cols, weights = self._listed(s, self.target(s, dtype, where="Graph.edges"), slice(None))
        weights = weights if weights.flags.writeable else weights.copy()
        return (rows, cols, weights) if self.directed else both_ways(rows, cols, weights)

    def pieces(self, s: Semiring, target: np.dtype) -> Iterator[Edges]:
        """The edge list in pieces, each edge once, with weights as `matrix` holds them."""
        for (part,) in dtypes.chunks(self.ends[0], _ARCS):
            yield self._listed(s, target, part)

    def _listed(self, s: Semiring, target: np.dtype, part: slice) -> Edges:
        """A slice of the edge list; unit weights as a broadcast view."""
        rows, cols, weights = *(x[part] for x in self.ends), None if self.weights is None else self.weights[part]
        if is_boolean(s):
            if weights is not None and not (mask := present(weights)).all():
                rows, cols = rows[mask], cols[mask]
            return rows, cols, np.broadcast_to(True, len(rows))
        if weights is None:
            return rows, cols, np.broadcast_to(conform(np.ones(1, np.int32), s, target, where="Graph"), len(rows))
        return rows, cols, conform(weights, s, target, where="Graph.matrix", first=part.start or 0)

    def target(self, s: Semiring, dtype: DType = None, *, where: str = "Graph.matrix") -> np.dtype:
        """The matrix dtype: as requested, else the matrix's own, else the narrowest exact one safe for paths."""
        natural: Any = np.int32
        if dtype is not None:
            return dtypes.resolve(s, dtype, where=where)
        if is_boolean(s):
            natural = np.bool_
        elif self.unit or (self.dense is None and self.weights is None):
            natural = unit_dtype(self.n, s)
        elif self.dense is not None:
            natural = self.dense.dtype
        elif self.weights is not None:
            if self.weights.dtype.kind == "f":
                natural = np.float64
            elif self._longest(s) >= np.iinfo(np.int32).max:
                natural = np.int64
        return dtypes.resolve(s, dtype, natural, where=where)

    def _longest(self, s: Semiring) -> float:
        """An upper bound on integer edge weights and on the weight of simple paths."""
        assert self.weights is not None
        finite = self.weights[self.weights != dtypes.zero(s, self.weights.dtype)]
        heaviest, lengths = max(int(finite.max(initial=0)), -int(finite.min(initial=0))), Lengths.of(s)
        most = np.iinfo(np.int32).max
        if self.n * heaviest < most or heaviest >= most or lengths is None or lengths.logarithmic:
            return self.n * heaviest
        return min(self.edge_count * heaviest, self._heaviest if self.n <= 4 * self.edge_count else math.inf)

    @cached_property
    def _heaviest(self) -> int:
        """The sum over vertices of the heaviest out-edge (integer weights)."""
        assert self.weights is not None
        finite = present(self.weights)
        tails, heads, weights = (x if finite.all() else x[finite] for x in (*self.ends, self.weights))
        if not self.directed:
            tails, weights = np.concatenate((tails, heads)), np.tile(weights, 2)
        return int(Weighted(tails, tails, weights, self.n, catalog.get("min_plus")).longest)

    def windows(self, s: Semiring, dtype: DType = None, *, where: str = "Graph.matrix") -> Windows | None:
        """`matrix` as windows on disk; None if in memory, or if telling edges takes a pass over all entries."""
        if not isinstance(self.dense, OnDisk) or self.unit:
            return None
        declared = self.dense.dtype.kind == "b" or self.dense.semiring is not None or self.nulls is not None
        return self.dense.over(s, dtype, self.nulls, where=where) if declared or not is_boolean(s) else None

    @property
    def null_undeclared(self) -> bool:
        """Whether neither caller nor store declared which matrix entries are no edges."""
        declared = isinstance(self.dense, OnDisk) and self.dense.semiring is not None
        return self.dense is not None and self.nulls is None and not self.unit and not declared

    def _from_dense(self, s: Semiring, dtype: DType) -> Array:
        windows = self.windows(s, dtype)
        if windows is not None:
            return windows.to_array()
        dense = self.dense.to_array() if isinstance(self.dense, OnDisk) else self.dense
        return over(dense, s, dtype, nulls=self.nulls, unweighted=self.unit, where="Graph.matrix")
