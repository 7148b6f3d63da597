"""What SciPy takes for a graph, as it is to be understood here: dense, masked or sparse → `Network`.

Dense 0, NaN, ±∞ and masked entries are no edge. A stored entry of a sparse matrix is one, a stored 0 too, unless it is
NaN, ±∞ or False. Among entries of one place the least counts. No weight is too small to be an edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from semiring import dtypes
from semiring.catalog import min_plus
from semiring.conversion import conform
from semiring.errors import DTypeError, ShapeError
from semiring.memory import require

from ..reading.from_sparse import refuse_padding

#: In which SciPy computes.
FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class Network:
    """A directed graph: its matrix or its arcs, whichever came.

    Attributes
    ----------
    n : int
    dtype : dtype
        Of the weights, in which distances are computed.
    dense : array (n, n), optional
        Our own or lent: free to be written. No edge is `zero`.
    tails, heads, weights : arrays (arcs,), optional
    sorted : bool
        Whether arcs lie in the order of their tails, heads ascending, no two of one place.
    """

    n: int
    dtype: np.dtype
    dense: np.ndarray | None = None
    tails: Any = None
    heads: Any = None
    weights: Any = None
    sorted: bool = False

    @property
    def zero(self) -> Any:
        """∞: no edge, and no path."""
        return dtypes.zero(min_plus, self.dtype)

    @cached_property
    def size(self) -> int:
        """The number of arcs."""
        return len(self.weights) if self.dense is None else int(np.count_nonzero(self.dense != self.zero))

    @cached_property
    def least(self) -> float:
        """The least weight; 0 where there is none."""
        given = self.weights if self.dense is None else self.dense
        return given.min().item() if given.size else 0.0

    def matrix(self) -> np.ndarray:
        """All of it, to be written: the one that came, or a new one."""
        if self.dense is not None:
            return self.dense
        require(self.n**2 * self.dtype.itemsize, where="csgraph", hint="Ask for some rows alone, by `indices`.")
        M = np.full((self.n, self.n), self.zero, self.dtype)
        if self.sorted:
            M[self.tails, self.heads] = self.weights
        else:
            np.minimum.at(M, (self.tails, self.heads), self.weights)
        return M

    def arcs(self) -> Network:
        """The same by its arcs."""
        if self.dense is None:
            return self
        tails, heads = np.nonzero(self.dense != self.zero)
        return replace(self, dense=None, tails=tails, heads=heads, weights=self.dense[tails, heads], sorted=True)

    def csr(self) -> Any:
        """As SciPy's compiled loops need it: CSR in float64, no two entries of one place."""
        own = self.arcs()._in_order()
        # The least SciPy's searches take indices of 32 bits alone.
        index = np.int32 if len(own.weights) < 2**31 else np.int64
        indptr = np.zeros(self.n + 1, index)
        np.cumsum(np.bincount(own.tails, minlength=self.n), out=indptr[1:])
        heads = own.heads.astype(index, copy=False)
        return scipy.sparse.csr_array((own.weights.astype(FLOAT), heads, indptr), shape=(self.n, self.n))

    def both_ways(self) -> Network:
        """Undirected: each arc also in the other direction."""
        if self.dense is not None:
            np.minimum(self.dense, self.dense.T.copy(), out=self.dense)
            return self
        tails, heads = np.concatenate((self.tails, self.heads)), np.concatenate((self.heads, self.tails))
        return replace(self, tails=tails, heads=heads, weights=np.tile(self.weights, 2), sorted=False)

    def unweighted(self) -> Network:
        """Every arc weighs 1."""
        if self.dense is not None:
            self.dense[self.dense != self.zero] = 1
            return self
        return replace(self, weights=np.ones_like(self.weights))

    def _in_order(self) -> Network:
        if self.sorted or not len(self.weights):
            return self
        place = self.tails.astype(np.int64) * self.n + self.heads
        order = np.argsort(place, kind="stable")
        place, weights = place[order], self.weights[order]
        first = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1])))
        tails, heads = np.divmod(place[first], self.n)
        return replace(self, tails=tails, heads=heads, weights=np.minimum.reduceat(weights, first), sorted=True)


def network(
    csgraph: Any, *, directed: bool = True, unweighted: bool = False, dtype: Any = None, lent: bool = False, where: str
) -> Network:
    """The graph that a `csgraph` argument means.

    Parameters
    ----------
    csgraph : array_like, masked array, or sparse matrix or array, shape (n, n)
    directed, unweighted : bool
    dtype : dtype, optional
        In which to compute; float64.
    lent : bool
        Whether a dense array may be written to, where that is possible.

    Raises
    ------
    ShapeError
        If it is not a matrix, or not square.
    DTypeError
        If its entries are not real numbers, or `dtype` does not hold them.
    """
    target = FLOAT if dtype is None else dtypes.resolve(min_plus, dtype, where=where)
    csgraph = csgraph.to_scipy_sparse() if hasattr(csgraph, "to_scipy_sparse") else csgraph
    made = _sparse(csgraph, target, where) if hasattr(csgraph, "tocoo") else _dense(csgraph, target, lent, where)
    made = made.unweighted() if unweighted else made
    return made if directed else made.both_ways()


def _dense(csgraph: Any, target: np.dtype, lent: bool, where: str) -> Network:
    given = np.ma.getdata(csgraph) if np.ma.isMaskedArray(csgraph) else np.asarray(csgraph)
    _require_square(given.shape, where)
    given = _numbers(given, where)
    absent = given == 0
    if given.dtype.kind == "f":
        absent |= ~np.isfinite(given)
    if given is not csgraph and np.ma.isMaskedArray(csgraph):
        absent |= np.ma.getmaskarray(csgraph)
    if lent and lendable(csgraph, target):
        M = csgraph
    elif given.dtype.kind == "f" and target.kind == "f":
        M = np.array(given, target, order="C")
    else:
        M = np.array(_conformed(np.where(absent, 0, given), target, where), order="C")
    M[absent] = dtypes.zero(min_plus, target)
    return Network(len(M), target, dense=M)


def _sparse(csgraph: Any, target: np.dtype, where: str) -> Network:
    _require_square(csgraph.shape, where)
    refuse_padding(csgraph, where)
    n = csgraph.shape[0]
    in_order = False
    if csgraph.format == "csr":
        counts = np.diff(csgraph.indptr)
        heads, weights = csgraph.indices, csgraph.data
        if len(counts) != n or (counts < 0).any() or not csgraph.indptr[-1] <= len(heads) == len(weights):
            raise ShapeError(f"{where}: the indices of a sparse matrix must be consistent, got rows that overlap.")
        tails = np.repeat(np.arange(n, dtype=heads.dtype), counts)
        heads, weights = heads[: len(tails)], weights[: len(tails)]
        in_order = bool(csgraph.has_canonical_format)
    else:
        coo = csgraph.tocoo()
        tails, heads, weights = coo.row, coo.col, coo.data
    if len(heads):
        low, high = min(heads.min(), tails.min()), max(heads.max(), tails.max())
        if low < 0 or high >= n:
            raise ShapeError(f"{where}: the indices of a sparse matrix must lie in 0 … {n - 1}, got {low} … {high}.")
    weights = _numbers(weights, where)
    real = weights != 0 if csgraph.dtype.kind == "b" else np.isfinite(weights)
    if not real.all():
        tails, heads, weights = tails[real], heads[real], weights[real]
    weights = _conformed(weights, target, where) + target.type(0)  # −0 sorts below 0 where bit patterns are compared
    return Network(n, target, tails=tails, heads=heads, weights=weights, sorted=in_order)


def lendable(csgraph: Any, target: np.dtype) -> bool:
    """Whether a result can be computed in the memory of what came."""
    return type(csgraph) is np.ndarray and csgraph.dtype == target and csgraph.flags.writeable


def _require_square(shape: tuple[int, ...], where: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"{where}: csgraph must be a square matrix, (n, n), got shape {shape}.")


def _numbers(given: np.ndarray, where: str) -> np.ndarray:
    """Real numbers: truth values are 0 and 1, what else NumPy can read as float64 is that."""
    if given.dtype.kind in "iuf":
        return given
    if given.dtype.kind == "b":
        return given.view(np.uint8)
    try:
        if given.dtype.kind != "O":
            raise TypeError
        return given.astype(FLOAT)
    except (TypeError, ValueError):
        raise DTypeError(f"{where}: csgraph must hold real numbers, got dtype {given.dtype}.") from None


def _conformed(given: np.ndarray, target: np.dtype, where: str) -> np.ndarray:
    """In the dtype to compute in; float64 rounds, as SciPy does, integers must hold every weight."""
    if target.kind == "f":
        return given.astype(target, copy=False)
    held: np.ndarray = conform(given, min_plus, target, where=where)
    return held
