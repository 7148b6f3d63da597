"""`eliminate` and `Elimination`: rows, columns, entries and products of A* for a sparse A."""

from __future__ import annotations

import math
import threading
from functools import cached_property
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.conversion import conform
from ..algebra.records import Semiring
from ..algebra.survey import fast, survey
from ..dense.cycles import Lengths
from ..host.arrays import asarray
from ..host.errors import MemoryNeeded, ShapeError
from ..host.memory import require
from ..host.spelling import came
from ..host.types import Array, DType, Fields
from ..kernels.backend import device_of
from ..kernels.cpu.dense.backend import CpuBackend
from ..kernels.cpu.kinds import choose
from ..kernels.cpu.processors import threads_of
from . import fronts, limits
from .analysis import Analysis
from .changes import Changes, Kept, diagonals
from .cycles import Weighted
from .hubs import HubLabels, hub_labels
from .pattern import indices, stored
from .queries import Queries
from .sweep import Sweeper


def eliminate(
    A: Array,
    semiring: str | Semiring = "min_plus",
    *,
    weights: Array = None,
    order: Any = "auto",
    dtype: DType = None,
    threads: int | None = None,
    check: bool = True,
    device: str | None = None,
) -> Elimination:
    """Closure A* of a sparse matrix in factored form: rows, columns and entries are computed on request.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n); or Analysis
        SciPy sparse, any format. Every stored entry is an arc, a stored 0 too; duplicates are combined by ⊕. Absent
        entries are the semiring's zero.
    semiring : str or Semiring
    weights : array_like, shape (arcs,), optional
        Weights in place of A's values, in the order of `A.tocoo()`; required with an Analysis.
    order : str, array_like or Order
        Elimination order. "auto" compares candidates and takes the cheapest by count; "degree" is approximate minimum
        degree; "levels" dissection by breadth-first levels, for lattices; "metis" nested dissection by METIS (pymetis);
        "natural" the order of the labels; an array a permutation of the vertices. It changes only the cost, and
        rounding.
    dtype : dtype, optional
        Dtype to compute in, one of the semiring's; by default that of the weights, or the smallest that holds them.
    threads : int, optional
        By default SEMIRING_NUM_THREADS, or one a processor.
    check : bool
        Raise where A* does not exist; with False see `Elimination.divergence`.
    device : {"cpu", "cuda"}, optional
        Device of the numeric part; the CPU by default. On "cuda", the current GPU, results are CuPy arrays; order and
        structure are still found on the CPU.

    Raises
    ------
    ShapeError
        If A is not square, or the number of weights is not that of arcs.
    DTypeError, DomainError
        If the semiring does not allow the weights.
    DivergenceError
        If A* does not exist: a closed walk beats the semiring's one (NegativeCycleError in min-plus), or a sum
        diverges. `vertex` lies on such a walk.
    DeviceError
        If `order="metis"` and pymetis is not installed, or the device is missing.
    MemoryNeeded
        If the panels do not fit, from the counts.

    See Also
    --------
    sparse.analyse : Order, structure and cost, before any weight.
    apsp.shortest_paths : Graphs with labels; takes this where it is predicted to be fastest.
    apsp.closure : All entries of A*, as a matrix.

    Notes
    -----
    Time and memory depend on the fill, which `analyse(A).cost` counts first. Road networks and meshes have little;
    random graphs of average degree above about ten become one dense supernode. Float (+, ×) has no pivoting: it is
    accurate where all terms have one sign.

    Pairs: Σ w (w + r)² over supernodes of w columns and r rows; Σ w r for each row requested. Panels hold Σ w (w + 2 r)
    entries (`sparse.Cost`). Elimination by blocks is Lehmann 1977, section 4; dissection by levels George 1973, and
    Lipton and Tarjan 1979.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, semiring
    >>> A = scipy.sparse.coo_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
    >>> E = semiring.eliminate(A, "min_plus")
    >>> E.row(0), float(E.entry(0, 2))
    (array([0., 1., 3.]), 3.0)
    """
    where = "eliminate"
    if isinstance(A, Analysis):
        if not isinstance(order, str) or order != "auto":
            raise ShapeError(f"{where}: an Analysis has its order, got order={came(order)}. Leave it out.")
        analysis = A
    else:
        rows, cols, own, n = stored(A, None, where=where)
        weights = own if weights is None else weights
        analysis = Analysis(rows, cols, n, order, threads_of(threads, where))
    if weights is None:
        raise ShapeError(f"{where}: an Analysis has no weights, got weights=None. Pass one weight an arc.")
    return Elimination(analysis, weights, get(semiring), dtype=dtype, threads=threads, check=check, device=device)


class Elimination(Queries):
    """A* of a sparse matrix over a semiring, in factored form; made by `eliminate`, `from_arrays` or `update`.

    Attributes
    ----------
    n : int
    semiring : Semiring
    dtype : dtype
    analysis : Analysis
        The structure, shared by all updates.
    device : {"cpu", "cuda"}
        Location of the panels; on "cuda" queries return CuPy arrays.
    on_device : OnDevice or None
        The panels on a GPU.

    Raises
    ------
    VertexError, ShapeError
        In `row`, `column`, `entry` and `entries`, if an index lies outside 0 … n − 1, or shapes do not broadcast.
    ShapeError, DTypeError, DomainError
        In `matvec` and `rmatvec`, if x has another shape, or values that the dtype or the semiring does not hold.

    See Also
    --------
    eliminate : Constructor.
    entry, entries, block : Single entries; the submatrix of given rows and columns.
    row, rows, column : Complete rows, in a given order, and columns.
    panels, reduced, to_dense : All of A*: streamed in the fastest order, reduced on the threads that swept it, whole.
    matvec, rmatvec : Products with A* from either side; `semiring.matvec` is for dense matrices.
    hub_labels, HubLabels : Any pair in less than a microsecond.
    apsp.closure, apsp.shortest_paths : Closure of a dense matrix; `Result.reduce` and `Result.update`, by label.

    Notes
    -----
    `row`, `column` and each of `rows` take `Cost.sweep` pairs, and `Cost.climb` at most; `rows` holds n · `block`
    entries. `panels` and `reduced` take n `Cost.sweep` pairs in all and `workspace` bytes, `to_dense` as many and n²
    entries, `matvec` and `rmatvec` about `Cost.fill` pairs a column of x.

    Examples
    --------
    >>> import semiring
    >>> from scipy.sparse import coo_array
    >>> E = semiring.eliminate(coo_array(([4.0, 7.0], ([0, 1], [1, 2])), shape=(3, 3)))
    >>> E.row(0)
    array([ 0.,  4., 11.])
    """

    def __init__(
        self,
        analysis: Analysis,
        weights: Array,
        semiring: Semiring,
        *,
        dtype: DType = None,
        threads: int | None = None,
        check: bool = True,
        device: str | None = None,
    ) -> None:
        where = "eliminate"
        threads = threads_of(threads, where)
        self.device = device_of(np.empty(0), device)
        values = _values(weights, analysis, semiring, dtype)
        seen = survey(values, semiring, where=where)
        nonnegative = self._nonnegative = fast(seen, semiring, values.dtype, analysis.n)
        if dtypes.SCALARS[values.dtype].floating:
            values = values + 0.0  # −0 sorts below 0 where bit patterns are compared
        self.n, self.semiring, self.dtype, self.analysis = analysis.n, semiring, values.dtype, analysis
        self._threads, self._check = int(threads), check
        ends = abs(seen.least), abs(seen.greatest)
        self._largest = max(ends) if max(ends) < math.inf else dtypes.largest_finite(values)
        self._kind = choose(semiring, values.dtype, nonnegative)
        if check and semiring.series == "real" and not seen.nonnegative:
            limits.require_spectrum(analysis.tails, analysis.heads, values, analysis.n)
        self._free: list[Sweeper] = []
        numbers = np.ascontiguousarray(values)
        self._changes: Changes | None = None
        self._kept: Kept | None = None
        self.on_device = None
        if self.device == "cuda":
            from ..kernels.cuda.sparse.elimination import OnDevice

            self.on_device = OnDevice(analysis, numbers, semiring, nonnegative)
        ops = CpuBackend(self._kind, self._threads)
        self._by_front = fronts.collected(analysis.arcs.arc, numbers, ops)
        if self.on_device is None:
            hint = f"{self.cost}. Such a graph is as good as dense; Dijkstra from the sources wanted takes less."
            require(self.cost.bytes(values.dtype.itemsize), where=where, hint=hint)
            progress = fronts.Fronts(analysis.structure, analysis.arcs, self._by_front, ops, analysis.panels)
            self._panels = progress.run()
        if check:
            self._require_limit(values)

    def _require_limit(self, values: np.ndarray) -> None:
        """Raise DivergenceError where a diagonal entry is past `one` by more than rounding."""
        if self.divergence is None:
            return
        if dtypes.SCALARS[values.dtype].floating and Lengths.of(self.semiring) is not None:
            # Judge a walk by its own arcs: a slack that grows with the largest weight would hide true cycles.
            tails, heads = self.analysis.tails, self.analysis.heads
            Weighted(tails, heads, values, self.n, self.semiring).potentials(where="eliminate")
        if self.divergence[1] > self.slack:
            raise limits.error(self.semiring, *self.divergence)

    @classmethod
    def from_arrays(
        cls, rows: Array, cols: Array, weights: Array, n: int, semiring: str | Semiring = "min_plus", *,
        order: Any = "auto", dtype: DType = None, threads: int | None = None, check: bool = True,
        device: str | None = None,
    ) -> Elimination:  # fmt: skip
        """Elimination of the n × n matrix with weights[k] at (rows[k], cols[k]); duplicates are combined by ⊕.

        Parameters
        ----------
        rows, cols : integer array_like, shape (arcs,)
        weights : array_like, shape (arcs,)
        n : int
        semiring, order, dtype, threads, check, device
            As in `eliminate`, with its errors.

        Raises
        ------
        ShapeError, VertexError, DTypeError, DomainError, DivergenceError, DeviceError, MemoryNeeded
            As `eliminate`; VertexError if an index lies outside 0 … n − 1.

        See Also
        --------
        eliminate : From a sparse matrix; cost and sources.

        Notes
        -----
        Cost of `eliminate`, counted by `semiring.sparse.analyse`.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.column(2)
        array([12,  7,  0])
        """
        tails, heads, _, n = stored((rows, cols), n, where="from_arrays")
        analysis = Analysis(tails, heads, n, order, threads_of(threads, "from_arrays"))
        return cls(analysis, weights, get(semiring), dtype=dtype, threads=threads, check=check, device=device)

    def __getstate__(self) -> Fields:
        # A kind names a declaration of this process, and workspaces hold its machine code.
        omitted = "_kind", "_free", "_changes", "_kept"
        return {k: v for k, v in vars(self).items() if k not in omitted} | {"_by_front": self.weights_by_front}

    def __setstate__(self, state: Fields) -> None:
        kind = choose(state["semiring"], state["dtype"], state["_nonnegative"])
        vars(self).update(state, _kind=kind, _free=[], _changes=None, _kept=None)

    def __repr__(self) -> str:
        return (
            f"<Elimination of {self.n:,} vertices, {len(self.analysis.tails):,} arcs over {self.semiring}, "
            f"{self.dtype}, {self.nbytes / 2**20:.1f} MiB: {self.cost}>"
        )

    @property
    def nbytes(self) -> int:
        if self.on_device is not None:
            return int(self.on_device.nbytes) + self.cost.index_bytes
        kept = 0 if self._kept is None else self._kept.updates.nbytes + self._kept.weights.nbytes
        return self._panels.lower.nbytes + self._panels.upper.nbytes + kept + self.cost.index_bytes

    @property
    def weights(self) -> np.ndarray:
        """Weights in the order of the arcs as first passed."""
        return self.weights_by_front[self.analysis.place]

    @property
    def weights_by_front(self) -> np.ndarray:
        """Weights in the order of `analysis.arcs`, front by front."""
        return self._by_front if self._kept is None else self._kept.weights

    def update(self, weights: Array, arcs: Array = None) -> Elimination:
        """Refactorise with new weights: same symbolic structure, new values.

        Parameters
        ----------
        weights : array_like, shape (arcs,)
            In the order of the arcs as first passed: `A.tocoo()` for a sparse matrix.
        arcs : int array_like, optional
            Indices, in that order, of the arcs to change; the others keep their weights. The last weight of a repeated
            arc counts.

        Returns
        -------
        Elimination
            A new one; this one is unchanged. Once nothing refers to an elimination, the next update reuses its memory,
            until rows are streamed.

        Raises
        ------
        ShapeError, DTypeError, DomainError, DivergenceError, VertexError
            As `eliminate`; VertexError if an arc index is out of range.

        See Also
        --------
        eliminate : For another set of arcs.
        apsp.shortest_paths : `Result.update`, by label.

        Notes
        -----
        `Cost.elimination` pairs. For few arcs on a CPU only supernodes on their root paths are recomputed, stopping
        where updates stay the same; the first such call recomputes all once, and from then on `Cost.changing` further
        entries are held.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.update([1, 1]).row(0)
        array([0, 1, 2])
        >>> E.update([1], arcs=[1]).row(0)
        array([0, 5, 6])
        """
        if arcs is not None:
            index = indices(arcs, len(self.analysis.tails), where="update", what="arcs").ravel()
            values = conform(asarray(weights, where="update"), self.semiring, self.dtype, where="update")
            if values.shape != index.shape:
                raise ShapeError(f"update: there must be one weight an arc, {index.shape}, got shape {values.shape}.")
            if (found := self._changed(index, values)) is not None:
                return found
            weights = self.weights.copy()
            weights[index] = values
        options: Fields = {"dtype": self.dtype, "threads": self._threads, "check": self._check}
        return Elimination(self.analysis, weights, self.semiring, **options, device=self.device)

    def hub_labels(self, like: HubLabels | None = None) -> HubLabels:
        """Hub labels: distances of every vertex to and from all columns on its root path; any pair in a microsecond.

        A*[u, v] = ⊕ out(u)[h] ⊗ in(v)[h] over the common part of the root paths of u and v, a prefix of both labels.
        Computed from the panels, parents first: for supernode C with rows R below the columns P, out = U A*[R, P] and
        in = A*[P, R] L.

        Parameters
        ----------
        like : HubLabels, optional
            Labels of an elimination, still alive, related to this one by `update` of few arcs: only differences are
            computed, and `like` is unchanged. Otherwise ignored.

        Returns
        -------
        HubLabels
            On the device of the elimination.

        Raises
        ------
        AlgebraError
            If ⊕ is not idempotent, as in plus_times and log_plus: walks would count once for each hub on them.
        MemoryNeeded
            If the labels do not fit, before any work.

        See Also
        --------
        entries : Pairs without labels.
        rows : Where most of a row is needed.

        Notes
        -----
        Counted first by `sparse.HubCost`: Σ w r (2 b + w) pairs and Σ 2 w (b + w) entries over supernodes of w columns
        and r rows with b columns above; a path has at most `Cost.height` columns. Subtrees run in parallel; on a GPU
        all supernodes of a depth at once. A query takes two lookups in the tree (Schieber and Vishkin 1988) and one
        step a common column. Hub labels are Cohen, Halperin, Kaplan and Zwick 2002; for road networks Abraham, Delling,
        Goldberg and Werneck 2011.

        With `like`, computation starts at the topmost supernodes whose panels differ and goes below one only where an
        entry of its rows has changed; memory of labels that nothing refers to is reused.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> H = E.hub_labels()
        >>> H.entries([0, 1], 2), E.update([1], arcs=[1]).hub_labels(H).entries([0, 1], 2)
        (array([12,  7]), array([6, 1]))
        """
        return hub_labels(self, like)

    def _changed(self, arcs: np.ndarray, values: np.ndarray) -> Elimination | None:
        """Elimination with new weights of few arcs, by supernodes on their root paths; None where not applicable."""
        seen = survey(values, self.semiring, where="update")
        nonnegative = fast(seen, self.semiring, self.dtype, self.n)
        if self.on_device is not None or (not nonnegative and (self._nonnegative or self.semiring.series == "real")):
            return None
        if self._check and self.divergence is not None:
            return None
        try:
            kept, changes = self._keep()
        except MemoryNeeded:
            return None
        found = changes.changed(kept, arcs, values + 0.0 if dtypes.SCALARS[self.dtype].floating else values)
        if found is None:
            return None
        made = Elimination.__new__(Elimination)
        vars(made).update({name: value for name, value in vars(self).items() if name in _SHARED})
        made._kept, made._panels, made._free = found[0], found[0].panels, []
        made._largest = max(self._largest, dtypes.largest_finite(values))
        if vars(self).get("divergence", ()) is None:  # `divergence` is known to be None
            place = diagonals(self.analysis.structure, found[1])
            if limits.worst_pivot(made._panels.lower[place], self.semiring, self.cost.height) is None:
                vars(made)["divergence"] = None
            elif self._check:
                return None  # compute all, and judge it
        return made

    def _differs(self, other: Elimination) -> np.ndarray | None:
        """Supernodes whose panels differ from those of `other`; None unless both share `Changes`."""
        if self._kept is None or other._kept is None or self._changes is not other._changes:
            return None
        return np.flatnonzero(self._kept.stamp != other._kept.stamp)

    def _keep(self) -> tuple[Kept, Changes]:
        """State for changes of few arcs, made on first use; MemoryNeeded if it does not fit."""
        with _keeping:
            if self._kept is None or self._changes is None:
                require(self.cost.changing * self.dtype.itemsize, where="update", hint="Pass all weights.")
                self._changes = Changes(self.analysis, self._kind, self._threads)
                self._kept = self._changes.base(self._by_front)
                self._panels, self._free = self._kept.panels, []  # the same numbers
            return self._kept, self._changes

    @cached_property
    def divergence(self) -> tuple[int, float] | None:
        """Vertex at which A* most clearly fails to exist, and the distance of its entry from `one`; None if A* exists.

        Where ⊕ is idempotent, a closed walk that beats `one` shows on the diagonal of the pivot block of its last
        vertex; elsewhere a divergent star does.
        """
        if self.on_device is None:
            diagonal = self._panels.lower[self.analysis.structure.diagonal]
        else:
            diagonal = self.on_device.diagonal()
        found = limits.worst_pivot(diagonal, self.semiring, self.cost.height)
        return None if found is None else (int(self.order[found[0]]), found[1])

    @property
    def slack(self) -> float:
        """Rounding allowance of a closed walk past `one`: height · eps · the largest weight; 0 for integers."""
        return self.cost.height * dtypes.SCALARS[self.dtype].eps * self._largest if self.semiring.idempotent else 0.0


#: Attributes shared by eliminations related by changes of few arcs.
_SHARED = "n", "semiring", "dtype", "analysis", "device", "on_device", "_threads", "_check", "_kind", "_nonnegative", \
    "_changes", "_by_front"  # fmt: skip
_keeping = threading.Lock()


def _values(weights: Array, analysis: Analysis, semiring: Semiring, dtype: DType) -> np.ndarray:
    """Weights on the host in a dtype of the semiring; ShapeError unless one an arc."""
    values = asarray(weights, where="eliminate")
    values = values if isinstance(values, np.ndarray) else values.get()  # weights are surveyed on the host
    if values.shape != (len(analysis.tails),):
        raise ShapeError(
            f"eliminate: one weight an arc is required, ({len(analysis.tails)},), got shape {values.shape}. "
            "Their order is that of the arcs given first."
        )
    return conform(values, semiring, dtype, where="eliminate")
