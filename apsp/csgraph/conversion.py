"""Conversion of SciPy's graphs, dense, masked or sparse, to a `Network`.

Dense 0, NaN, ±∞ are no edges; unmasked and stored entries are, also 0. Duplicates add up in COO; elsewhere the least
counts, in float64. No weight is too small to be an edge. Where SciPy's functions contradict one another, or compute no
distance, an error is raised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.algebra.conversion import conform, from_sequence
from semiring.host.arrays import asarray, checked_sparse, consistent, refuse_padding, require_square
from semiring.host.devices import host
from semiring.host.errors import DomainError, DTypeError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, DType, Matrix, Scalar

from ..io.graph import Graph
from ..io.graph.compressed import Compressed
from ..io.labels import Labels
from ..io.reading.from_sparse import compressed
from ..road.convergence.saturation import possible
from ..road.engines.base import FEW, MANY_ARCS
from ..road.engines.condensation import reached
from ..road.engines.scipy import canonical, csr

#: SciPy's computing dtype.
FLOAT = np.dtype(np.float64)
#: For errors: code dropping non-finite entries.
_FINITE = "C = A.tocoo(); ok = np.isfinite(C.data); A = type(C)((C.data[ok], (C.row[ok], C.col[ok])), C.shape)"


@dataclass(frozen=True)
class Network:
    """A directed graph, by its matrix or by its arcs.

    `dense` (n, n) is writable, with `zero` for no edge; else `tails`, `heads`, `weights` (arcs,), with CSR `starts`
    (n + 1,) if sorted by tail; `canonical`: sorted by tail, then head, without duplicates. `given` is the caller's CSR
    matrix, if SciPy's loops can search it: float64, consistent, of no negative weight; `bounds` are its least and
    greatest weight.
    """

    n: int
    dtype: np.dtype
    dense: np.ndarray | None = None
    ends: Array = None
    heads: Array = None
    weights: Array = None
    starts: Array = None
    canonical: bool = False
    given: Matrix = None
    bounds: tuple[float, float] | None = None

    @cached_property
    def tails(self) -> np.ndarray:
        if self.ends is not None:
            return self.ends
        return np.repeat(np.arange(self.n, dtype=self.heads.dtype), np.diff(self.starts))

    @property
    def zero(self) -> Scalar:
        """∞: no edge, no path."""
        return dtypes.zero(min_plus, self.dtype)

    @cached_property
    def size(self) -> int:
        return len(self.weights) if self.dense is None else int(np.count_nonzero(self.dense != self.zero))

    @cached_property
    def least(self) -> float:
        if self.bounds is not None:
            return self.bounds[0]
        array = self.weights if self.dense is None else self.dense
        return array.min().item() if array.size else 0.0

    @property
    def may_saturate(self) -> bool:
        """Whether a distance may be beyond the integers."""
        weights = self.weights if self.dense is None else self.dense
        return possible(dtypes.parts(weights), self.dtype, min_plus, self.n)

    @property
    def has_many_arcs(self) -> bool:
        """Whether a matrix is as fast as the list of arcs."""
        return self.size > MANY_ARCS * self.n

    @cached_property
    def is_small(self) -> bool:
        """Whether a matrix is closed in less time than its arcs are listed."""
        if self.dense is None or self.n > FEW or not self.least >= 0:
            return False
        return self.n <= 4 * MANY_ARCS or self.has_many_arcs

    @property
    def row_bytes(self) -> int:
        return self.n * self.dtype.itemsize

    @property
    def matrix(self) -> np.ndarray:
        """The writable matrix: the given one, or a new one."""
        if self.dense is not None:
            return self.dense
        require(self.n * self.row_bytes, where="csgraph", hint="Ask for some rows alone, by `indices`.")
        M = np.full((self.n, self.n), self.zero, self.dtype)
        if self.canonical or (self.given is not None and self.given.has_canonical_format):
            M[self.tails, self.heads] = self.weights
        else:
            np.minimum.at(M, (self.tails, self.heads), self.weights)
        return M

    @property
    def arcs(self) -> Network:
        if self.dense is None:
            return self
        tails, heads = np.nonzero(self.dense != self.zero)
        return replace(self, dense=None, ends=tails, heads=heads, weights=self.dense[tails, heads], canonical=True)

    @property
    def graph(self) -> Graph:
        """The `Graph`: by the given matrix if it has many arcs, else by arcs."""
        if self.given is not None:
            return Compressed.around(self.given, self.bounds)
        names = Labels(range(self.n))
        if self.dense is not None and self.has_many_arcs:
            return Graph(self.n, names, dense=self.dense, nulls=())
        arcs = self.arcs
        if arcs.starts is not None and arcs.dtype == FLOAT and max(arcs.size, self.n) <= np.iinfo(np.int32).max:
            parts = arcs.weights, arcs.heads.astype(np.int32, copy=False), arcs.starts.astype(np.int32, copy=False)
            return Compressed.around(scipy.sparse.csr_array(parts, shape=(self.n, self.n)))
        return Graph(self.n, names, rows=arcs.tails, cols=arcs.heads, weights=arcs.weights)

    def within_reach(self, sources: np.ndarray) -> Network:
        """The subgraph reachable from the sources."""
        arcs = self.arcs
        used = reached(self.n, arcs.tails, arcs.heads, sources)[arcs.tails]
        kept = {"ends": arcs.tails[used], "heads": arcs.heads[used], "weights": arcs.weights[used]}
        return replace(arcs, **kept, starts=None, given=None, bounds=None)

    @property
    def csr(self) -> scipy.sparse.csr_array:
        """CSR in float64 without duplicates, for SciPy's compiled loops."""
        if self.given is not None:
            return self.given
        own = self.canonical_arcs
        return csr(own.tails, own.heads, own.weights.astype(FLOAT), self.n)

    def symmetrized(self) -> Network:
        """Each arc also in the other direction."""
        if self.dense is not None:
            np.minimum(self.dense, self.dense.T.copy(), out=self.dense)
            return self
        if self.given is not None and self.n > FEW:
            return self._both_ways()
        tails, heads = np.concatenate((self.tails, self.heads)), np.concatenate((self.heads, self.tails))
        weights = np.tile(self.weights, 2)
        return replace(self, ends=tails, heads=heads, weights=weights, starts=None, canonical=False, given=None)

    def _both_ways(self) -> Network:
        """`symmetrized` of a CSR matrix: in each row its arcs, then those that lead back."""
        A = self.given
        back, every = A.T.tocsr(), np.arange(A.nnz)
        forth = every + np.repeat(back.indptr[:-1], np.diff(A.indptr))
        behind = every + np.repeat(A.indptr[1:], np.diff(back.indptr))
        heads, weights = np.empty(2 * A.nnz, A.indices.dtype), np.empty(2 * A.nnz)
        heads[forth], heads[behind] = A.indices, back.indices
        weights[forth], weights[behind] = A.data, back.data
        given = type(A)((weights, heads, A.indptr + back.indptr), shape=A.shape)
        return replace(self, heads=given.indices, weights=given.data, starts=given.indptr, given=given)

    def unweighted(self) -> Network:
        if self.dense is not None:
            self.dense[self.dense != self.zero] = 1
            return self
        return replace(self, weights=np.ones_like(self.weights), given=None, bounds=None)

    @property
    def canonical_arcs(self) -> Network:
        """Arcs sorted by tail, then head, without duplicates."""
        if self.dense is not None:
            return self.arcs
        if self.canonical or not len(self.weights):
            return self
        tails, heads, weights = canonical(self.tails, self.heads, self.weights, self.n)
        return replace(self, ends=tails, heads=heads, weights=weights, starts=None, canonical=True)

    def without_duplicates(self, what: str, where: str) -> Network:
        """Self, or DomainError if the sparse matrix has duplicate entries."""
        if len(self.canonical_arcs.weights) < len(self.weights):
            raise DomainError(
                f"{where}: a sparse matrix {what} must have no duplicate entries, as some of SciPy's functions add "
                "them up, and some take the least. Say A.sum_duplicates() first if they add up."
            )
        return self


def network(
    csgraph: Array,
    *,
    directed: bool = True,
    unweighted: bool = False,
    dtype: DType = None,
    overwrite: bool = False,
    dense: bool = False,
    where: str,
) -> Network:
    """The network of a `csgraph` argument, computing in `dtype` (float64).

    `overwrite`: a dense array may be written to. `dense`: SciPy would use the dense matrix, dropping unmasked zeros.
    Raises ShapeError for other shapes, DTypeError for non-numbers, DomainError where SciPy's functions disagree.
    """
    target = FLOAT if dtype is None else dtypes.resolve(min_plus, dtype, where=where)
    if target == FLOAT and not unweighted and (made := _searchable(csgraph)) is not None:
        return made if directed else made.symmetrized()
    csgraph = csgraph.to_scipy_sparse() if hasattr(csgraph, "to_scipy_sparse") else csgraph
    sparse, masked = hasattr(csgraph, "tocoo"), np.ma.isMaskedArray(csgraph)
    foreign = hasattr(csgraph, "__dlpack__") and not isinstance(csgraph, np.ndarray)
    array: Array = host(asarray(csgraph, where=where)) if foreign else csgraph
    array = array if sparse or masked else from_sequence(array, where=where)
    require_square(array.shape, where=where, what="csgraph")
    refuse_padding(array, where)
    if sparse:
        made = _sparse(array, target, unweighted, where)
    elif masked:
        made = _masked(array, target, unweighted, dense, where)
    else:
        out = csgraph if overwrite and overwritable(csgraph, target) else None
        made = _dense(out, _numbers(array, where), target, where)
    made = made.unweighted() if unweighted else made
    return made if directed else made.symmetrized()


def _searchable(csgraph: Array) -> Network | None:
    """The network of a CSR matrix that SciPy's loops can search as it is; None of others, and to find what is wrong."""
    if getattr(csgraph, "dtype", None) != FLOAT or not consistent(csgraph) or not compressed(csgraph):
        return None
    n, weights = csgraph.shape[0], csgraph.data
    ends = (np.minimum.reduce(weights), np.maximum.reduce(weights)) if len(weights) else (0.0, 0.0)
    least, greatest = map(float, ends)
    if csgraph.shape[1] != n or not (0 <= least and greatest < np.inf) or (least == 0 and np.signbit(weights).any()):
        return None
    return Network(
        n, FLOAT, heads=csgraph.indices, weights=weights, starts=csgraph.indptr, given=csgraph, bounds=(least, greatest)
    )


def _dense(out: Array, array: np.ndarray, target: np.dtype, where: str) -> Network:
    absent = array == 0
    if array.dtype.kind == "f":
        absent |= ~np.isfinite(array)
    return _from_entries(out, array, absent, target, where)


def _masked(csgraph: np.ma.MaskedArray, target: np.dtype, unweighted: bool, dense: bool, where: str) -> Network:
    """Unmasked entries are edges, 0 too, as in SciPy's searches and manual."""
    array, absent = _numbers(np.ma.getdata(csgraph), where), np.ma.getmaskarray(csgraph)
    present = array[~absent]
    _refuse_infinite(present, unweighted, "np.ma.masked_invalid(A)", where)
    if np.isnan(present).any():
        raise DomainError(
            f"{where}: entries that are not masked must be numbers, got NaN. Say np.ma.masked_invalid(A)."
        )
    if dense and ((array == 0) & ~absent & ~np.eye(len(array), dtype=bool)).any():
        raise DomainError(
            f"{where}: zeros that are not masked are edges to SciPy's searches, and none to its Floyd–Warshall. Pass "
            "csgraph_from_masked(A) where they are, np.ma.masked_equal(A, 0) where they are not."
        )
    array = array + array.dtype.type(0)  # no −0
    return _from_entries(None, array, absent | ~np.isfinite(array), target, where)


def _from_entries(out: Array, array: np.ndarray, absent: np.ndarray, target: np.dtype, where: str) -> Network:
    """The dense network of entries, in the memory of `out` or a copy."""
    if out is not None:
        M = out
    elif array.dtype.kind == "f" and target.kind == "f":
        M = np.array(array, target, order="C")
    else:
        M = np.array(_conformed(np.where(absent, 0, array), target, where), order="C")
    M[absent] = dtypes.zero(min_plus, target)
    return Network(len(M), target, dense=M)


def _sparse(csgraph: Any, target: np.dtype, unweighted: bool, where: str) -> Network:
    tails, heads, weights, canonical = stored(csgraph, where)
    starts = csgraph.indptr if csgraph.format == "csr" else None
    if weights.dtype.kind == "b" and not weights.all():
        raise DomainError(
            f"{where}: a stored False is an edge of weight 0 to SciPy, and may be meant as none. Say A.astype(float) "
            "where it is one, A.eliminate_zeros() first where it is not."
        )
    dtype, weights = weights.dtype, _numbers(weights, where)
    _refuse_infinite(weights, unweighted, _FINITE, where)
    real = np.isfinite(weights)
    if not real.all():
        tails, heads, weights, starts = tails[real], heads[real], weights[real], None
    weights = _conformed(weights, target, where) + target.type(0)  # −0 sorts below 0 where bit patterns are compared
    made = Network(
        csgraph.shape[0], target, ends=tails, heads=heads, weights=weights, starts=starts, canonical=canonical
    )
    # SciPy's conversion to float64 adds up duplicates of other dtypes; its Floyd–Warshall still takes the least.
    return made if unweighted or dtype == FLOAT else made.without_duplicates("of another dtype than float64", where)


def stored(csgraph: Any, where: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Entries of a square sparse matrix as in SciPy's searches, and whether they are canonical."""
    n = csgraph.shape[0]
    if csgraph.format != "csr":
        coo = checked_sparse(csgraph, where=where).tocoo()
        _require_within(coo.row, coo.col, n, where)
        if csgraph.format != "coo":
            return coo.row, coo.col, coo.data, False
        csgraph = _summed(coo, where)
    start, heads, weights = csgraph.indptr, csgraph.indices, csgraph.data
    counts = np.diff(start)
    if len(counts) != n or start[0] != 0 or (counts < 0).any() or not start[-1] <= len(heads) == len(weights):
        raise ShapeError(
            f"{where}: the indices of a sparse matrix must be consistent, got indptr that does not rise from 0 to the "
            f"{len(heads)} stored entries in {n} steps. Build it anew, scipy.sparse.csr_array((data, indices, indptr))."
        )
    tails = np.repeat(np.arange(n, dtype=heads.dtype), counts)
    heads, weights = heads[: len(tails)], weights[: len(tails)]
    _require_within(tails, heads, n, where)
    return tails, heads, weights, bool(csgraph.has_canonical_format)


def _require_within(tails: np.ndarray, heads: np.ndarray, n: int, where: str) -> None:
    if len(heads):
        low, high = min(heads.min(), tails.min()), max(heads.max(), tails.max())
        if low < 0 or high >= n:
            raise ShapeError(
                f"{where}: the indices of a sparse matrix must be consistent, got {low} … {high} of 0 … {n - 1}."
            )


def _summed(coo: scipy.sparse.coo_array, where: str) -> scipy.sparse.csr_array:
    """CSR with duplicates added up, as in SciPy; DomainError on overflow."""
    summed = coo.tocsr()
    if coo.dtype.kind in "iu" and len(summed.data) < len(coo.data):
        wrapped = ~np.isclose(summed.data, coo.astype(FLOAT).tocsr().data, rtol=1e-9)
        if wrapped.any():
            raise DomainError(
                f"{where}: duplicate entries of a COO matrix add up, which {coo.dtype} must hold, got "
                f"{summed.data[wrapped][0]}. Say A.astype(float)."
            )
    return summed


def _refuse_infinite(weights: np.ndarray, unweighted: bool, way: str, where: str) -> None:
    """Refuse −∞; if unweighted also NaN and ∞, which may be meant as no edge."""
    if weights.dtype.kind != "f":
        return
    wrong = ~np.isfinite(weights) if unweighted else np.isneginf(weights)
    if wrong.any():
        need = "finite where unweighted=True, as SciPy's functions disagree on others" if unweighted else "above -inf"
        raise DomainError(f"{where}: entries must be {need}, got {weights[wrong][0]}. Say {way}.")


def overwritable(csgraph: Array, target: np.dtype) -> bool:
    """Whether the result can be computed in place of the input."""
    return type(csgraph) is np.ndarray and csgraph.dtype == target and csgraph.flags.writeable


def as_number(value: Scalar, where: str, name: str) -> float:
    """A parameter as a float; DTypeError for what is no number."""
    if isinstance(value, (str, bytes)) or np.ndim(value) or not hasattr(value, "__float__"):
        raise DTypeError(f"{where}: {name} must be a number, got {came(value)}.")
    return float(value)


def _numbers(array: np.ndarray, where: str) -> np.ndarray:
    """Real numbers: bools as 0 and 1, convertible objects as float64."""
    if array.dtype.kind in "iuf":
        return array
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    try:
        if array.dtype.kind != "O":
            raise TypeError
        return array.astype(FLOAT)
    except (TypeError, ValueError):
        raise DTypeError(f"{where}: csgraph must hold real numbers, got dtype {array.dtype}.") from None


def _conformed(array: np.ndarray, target: np.dtype, where: str) -> np.ndarray:
    """Weights in the computing dtype; floats round as in SciPy, integers must fit."""
    if target.kind == "f":
        return array.astype(target, copy=False)
    conformed: np.ndarray = conform(array, min_plus, target, where=where)
    return conformed
