"""Hub labels: for every vertex the distances to and from all columns on its path to the root of the elimination tree.

Every walk from u to v passes a column of their lowest common supernode, or of one above it. Columns are ordered along
the path from the root, so what two labels have in common is where both begin:

    A*[u, v] = ⊕ out(u)[h] ⊗ in(v)[h] over the columns h of the common path

wherever a ⊕ a = a. Sources: Cohen, Halperin, Kaplan and Zwick 2002, "Reachability and distance queries via 2-hop
labels", which defines such labels; Abraham, Delling, Goldberg and Werneck 2011, "A hub-based labeling algorithm for
shortest paths in road networks", and Akiba, Iwata and Yoshida 2013, "Fast exact shortest-path distance queries on large
networks by pruned landmark labeling", which find small ones. Those here are neither pruned nor sorted: they follow from
the elimination tree alone, so that their places are known before any weight.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..algebra import Semiring
from ..cpu.code import CALL, Entry, gain, machine_code
from ..cpu.kinds import Kind, choose, raw
from ..cpu.pool import run
from ..cpu.processors import default_threads
from ..cpu.sparse import hubs as kernels
from ..devices import host
from ..errors import AlgebraError, VertexError
from ..memory import require
from . import sharing
from .buffers import LINE, Pages, aligned
from .pattern import indices, paired, together
from .structure import Ranges, Structure

if TYPE_CHECKING:
    from ..cuda.sparse.hubs import Labels
    from .elimination import Elimination
    from .fronts import Panels

T = TypeVar("T")

#: What the labels of a supernode cost in addition to its pairs, in pairs.
OVERHEAD = 1 << 12
#: Pairs of vertices that are answered by one thread alone.
FEW = 1 << 12
#: Bytes of a page of labels, which those that follow a change share or copy as one; and how many pages at most.
PAGE, PAGES = 1 << 16, 1 << 12
#: The way out where labels do not fit.
HINT = "Pairs are answered without them too, as are rows."
#: Arguments of kernels: `Descent._tables`.
_TABLES = "slsss" + "sll"


@dataclass(frozen=True)
class HubCost:
    """What hub labels take, counted before any number is touched.

    Attributes
    ----------
    pairs : int
        Each one ⊕ with one ⊗: Σ w r (2 b + w) over supernodes of w columns, r rows and b columns above.
    entries : int
        Numbers in all labels, of both directions.
    square : int
        Entries of the two squares that each thread works on.
    tables, gpu_tables : int
        Bytes of what finds labels, and of what tells how much two have in common; and of the same on a GPU.
    """

    pairs: int
    entries: int
    square: int
    tables: int
    gpu_tables: int

    def bytes(self, itemsize: int, threads: int = 1) -> int:
        """Bytes in use while labels of numbers of that size are made; without threads, those of the labels alone."""
        return (self.entries + threads * self.square) * itemsize + self.tables

    def gpu_bytes(self, itemsize: int) -> int:
        """The same on a GPU."""
        return self.entries * itemsize + self.gpu_tables


def hub_cost(structure: Structure, dtype: np.dtype) -> HubCost:
    """What the hub labels of a structure take.

    Parameters
    ----------
    structure : Structure
    dtype : dtype
        Of the distances: labels begin at cache lines.
    """
    w, r, b = _shape(structure)
    return HubCost(
        pairs=int((w * r * (2 * b + w)).sum()),
        entries=2 * int((w * _padded(b + w, dtype)).sum()),
        square=2 * structure.height * _pitch(structure, dtype) // dtype.itemsize,
        tables=32 * structure.n + 8 * _numbers(structure),
        gpu_tables=16 * structure.n + 32 * _numbers(structure),
    )


class HubLabels:
    """A* of a sparse matrix as labels of its vertices, from which any entry is computed. See `Elimination.hub_labels`.

    Attributes
    ----------
    n : int
    semiring : Semiring
    dtype : dtype
    out, into : arrays
        The labels of all vertices, one after the other: A*[v, h], and A*[h, v], of the columns h on v's path. They may
        be mapped from a file; of an elimination on a GPU they are CuPy's. Of labels that follow others they are made
        when they are looked at, as their memory is that of the others where they are the same.
    places : int64 array, shape (n, 4)
        Of each vertex: where its labels begin in both arrays, its number in the tree, the numbers of what is above it,
        and the length of its labels.
    base : int64 array
        The length of the path above the topmost node of each number. Its own length is a power of two.
    threads : int
        For batches.

    See Also
    --------
    Elimination.hub_labels : What makes them.

    Examples
    --------
    >>> import semiring
    >>> from scipy.sparse import coo_array
    >>> E = semiring.eliminate(coo_array(([4.0, 7.0], ([0, 1], [1, 2])), shape=(3, 3)))
    >>> E.hub_labels().entries([0, 1], [2, 2])
    array([11.,  7.])
    """

    def __init__(
        self,
        semiring: Semiring,
        out: np.ndarray,
        into: np.ndarray,
        places: np.ndarray,
        base: np.ndarray,
        *,
        threads: int = 1,
        kind: Kind | None = None,
        labels: Pages | Labels | None = None,
    ) -> None:
        self.n, self.semiring, self.dtype, self.threads = len(places), semiring, out.dtype, threads
        self.places, self.base = places, base
        self._labels: Any = Pages((out, into)) if labels is None else labels
        self._made: weakref.ref[Elimination] | None = None
        self._open(kind)

    def _open(self, kind: Kind | None) -> None:
        self._kind = kind = kind or choose(self.semiring, self.dtype, False)
        self._tables = kernels_of(kind).meet.address, kind.itemsize, _address(self.places), _address(self.base)
        self._arguments = *self._tables, *self._labels.addresses
        self._free: list[tuple[np.ndarray, int]] = []  # memory for single entries, and its address

    def _follow(self, E: Elimination, labels: Pages) -> HubLabels:
        """Labels of the same vertices."""
        made = HubLabels.__new__(HubLabels)
        vars(made).update(vars(self))
        made._labels, made._arguments, made._made = labels, (*self._tables, *labels.addresses), weakref.ref(E)
        return made

    @property
    def out(self) -> np.ndarray:
        return self._labels.arrays[0]

    @property
    def into(self) -> np.ndarray:
        return self._labels.arrays[1]

    @cached_property
    def _most(self) -> int:
        """Pairs of a call."""
        return max(1, CALL * gain(self._kind) // max(1, int(self.places[:, 3].max(initial=1))))

    @classmethod
    def of_arrays(
        cls, semiring: Semiring, out: np.ndarray, into: np.ndarray, places: np.ndarray, base: np.ndarray
    ) -> HubLabels:
        """Labels from the arrays of others, which may have been damaged since: no pair reads beyond them.

        Parameters
        ----------
        semiring : Semiring
        out, into, places, base : arrays
            As the attributes.

        Returns
        -------
        HubLabels

        Raises
        ------
        ValueError
            If they do not go together.
        AlgebraError
            If the semiring has no hub labels.

        See Also
        --------
        Elimination.hub_labels : What makes them.

        Notes
        -----
        The tables that find labels are checked, O(n); labels are not read, but copied where their bytes are not in
        this machine's order.

        Examples
        --------
        >>> import numpy as np, semiring
        >>> H = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3).hub_labels()
        >>> again = semiring.sparse.HubLabels.of_arrays(H.semiring, H.out, H.into, H.places, H.base)
        >>> int(again.entry(0, 2))
        12
        """
        require_hubs(semiring, where="HubLabels.of_arrays")
        # Kernels read addresses: whatever came becomes native, contiguous and aligned.
        out, into, places, base = (
            np.require(x, x.dtype.newbyteorder("="), ("C", "A")) for x in (out, into, places, base)
        )
        tables = places.dtype == base.dtype == np.int64 and (places.ndim, base.ndim) == (2, 1)
        if not tables or places.shape[1] != 4:
            raise ValueError(f"hub labels: places must be of shape (n, 4), in int64, got {places.shape}")
        if (out.dtype, out.shape, out.ndim) != (into.dtype, into.shape, 1) or out.dtype.name not in semiring.dtypes:
            raise ValueError(f"hub labels: labels must be of one length, in a dtype of {semiring}, got {out.dtype}")
        start, number, above, length = places.T
        within = (start >= 0) & (length > 0) & (start <= out.size - _padded(length, out.dtype))
        # With these, the number of each ancestor that is looked up is below the power of two that base has items.
        known = (0 < number) & (number < len(base)) & (0 < above) & (above < len(base))
        known &= number & -number == above & -above
        if len(base) & (len(base) - 1) or not (within & known).all() or (base < 0).any():
            raise ValueError("hub labels: places must lie within the labels, and numbers in the tree")
        return cls(semiring, out, into, places, base, threads=default_threads())

    def __getstate__(self) -> dict[str, Any]:
        nonnegative = self._kind is not choose(self.semiring, self.dtype, False)
        arrays = {"labels": self._labels.arrays, "nonnegative": nonnegative}
        return {k: v for k, v in vars(self).items() if k[0] != "_"} | arrays

    def __setstate__(self, state: dict[str, Any]) -> None:
        nonnegative = state.pop("nonnegative")
        labels = Pages(state.pop("labels"))
        vars(self).update(state, _made=None, _labels=labels)
        self._open(choose(self.semiring, self.dtype, nonnegative))

    def __repr__(self) -> str:
        mean = self._labels.entries / max(1, self.n)
        return (
            f"<HubLabels of {self.n:,} vertices over {self.semiring}, {self.dtype}, {self.nbytes / 2**20:.1f} MiB, "
            f"{mean:.0f} hubs a vertex>"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the labels and of what finds them, of which those that follow others share a part."""
        return 2 * self._labels.entries * self.dtype.itemsize + self.places.nbytes + self.base.nbytes

    def entry(self, i: int, j: int) -> Any:
        """A*[i, j], a scalar of the dtype.

        Parameters
        ----------
        i, j : int

        Returns
        -------
        scalar

        Raises
        ------
        VertexError
            If an index lies outside 0 … n − 1.

        See Also
        --------
        entries : Many at once.

        Notes
        -----
        A pair for each column that both paths have in common.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> int(E.hub_labels().entry(0, 2))
        12
        """
        try:
            u, v = i.__index__(), j.__index__()
        except AttributeError:
            raise VertexError(f"entry: vertices must be integers below {self.n}, got {i!r} and {j!r}.") from None
        if not (0 <= u < self.n and 0 <= v < self.n):
            raise VertexError(f"entry: vertices must lie in 0 … {self.n - 1}, got {u} and {v}.")
        return self._entry(u, v)

    def _entry(self, u: int, v: int) -> Any:
        """A*[u, v] of vertices."""
        try:
            found, address = self._free.pop()
        except IndexError:
            found = np.empty(1, self.dtype)
            address = found.ctypes.data
        _pair().call(u, v, address, *self._arguments)
        entry = found[0]
        self._free.append((found, address))
        return entry

    def entries(self, i: Any, j: Any) -> np.ndarray:
        """A*[i[q], j[q]] for all q; i and j are broadcast against each other.

        Parameters
        ----------
        i, j : int array_like

        Returns
        -------
        array, of the shape that i and j are broadcast to
            NumPy's; CuPy's where labels are on a GPU, and i or j is CuPy's.

        Raises
        ------
        VertexError
            If an index lies outside 0 … n − 1.
        ShapeError
            If the shapes do not go together.

        See Also
        --------
        entry : One of them.
        Elimination.entries : Without labels.

        Notes
        -----
        A pair for each column that the paths of i[q] and j[q] have in common.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.hub_labels().entries([0, 1], 2)
        array([12,  7])
        """
        i, j = paired(i, j, self.n)
        sources, targets, out = (np.ascontiguousarray(x).reshape(-1) for x in (i, j, np.empty(i.shape, self.dtype)))
        threads = self.threads if i.size > FEW else 1
        parts = max(4 * threads if threads > 1 else 1, -(-i.size // self._most))
        edges = np.linspace(0, i.size, parts + 1).astype(int).tolist()

        def work(_: int, start: int, stop: int) -> None:
            _pairs().call(start, stop, sources, targets, out.ctypes.data, *self._arguments)

        run(work, list(pairwise(edges)), threads)
        return out.reshape(i.shape)


class LabelsOnDevice(HubLabels):
    """Hub labels on a GPU: `labels` of `semiring.cuda.sparse.hubs`. Pickled, they are the CPU's."""

    def __init__(self, semiring: Semiring, labels: Labels) -> None:
        layout = labels.layout
        super().__init__(semiring, labels.out, labels.into, layout.places, layout.base, labels=labels)

    def _open(self, kind: Kind | None) -> None:
        """No kernel of the CPU is needed."""

    def __reduce__(self) -> Any:
        arrays = self._labels.out.get(), self._labels.into.get(), self.places, self.base
        return HubLabels.of_arrays, (self.semiring, *arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the labels and of what finds them, on the device."""
        return self._labels.nbytes

    def _entry(self, u: int, v: int) -> Any:
        return self.entries([u], [v])[0]

    def entries(self, i: Any, j: Any) -> Any:
        """See `HubLabels.entries`."""
        import cupy

        with cupy.cuda.Device(self._labels.device):
            if not (isinstance(i, cupy.ndarray) or isinstance(j, cupy.ndarray)):
                i, j = paired(i, j, self.n)
                ends = (cupy.asarray(np.ascontiguousarray(x, np.int32)) for x in (i, j))
                return self._labels.pairs(*ends)[0].get().reshape(i.shape)
            i, j = (cupy.asarray(x) for x in (i, j))
            for x in (i, j):
                indices(np.zeros(min(x.size, 1), x.dtype), self.n, where="entries")  # of integers
            i, j = together(i, j)
            dtype = np.promote_types(np.int32, np.promote_types(i.dtype, j.dtype))
            ends = (cupy.ascontiguousarray(x, np.int32 if dtype == np.int32 else np.int64) for x in (i, j))
            found, outside = self._labels.pairs(*ends)
            if host(outside)[0]:
                paired(host(i), host(j), self.n)  # says which
            return found.reshape(i.shape)


def hub_labels(E: Elimination, like: HubLabels | None) -> HubLabels:
    """See `Elimination.hub_labels`."""
    where, hint = "hub_labels", HINT
    require_hubs(E.semiring, where=where)
    if (found := _followed(E, like)) is not None:
        return found
    S, size = E.analysis.structure, E.dtype.itemsize
    cost = hub_cost(S, E.dtype)
    if E.on_device is not None:
        require(cost.gpu_bytes(size), "cuda", where=where, hint=hint)
        return LabelsOnDevice(E.semiring, E.on_device.hub_labels(lambda: located(S, E.dtype)))
    require(cost.bytes(size, E._threads), where=where, hint=hint)
    made = Descent(S, E._kind).make(E._panels, E._threads)
    tables = *made.arrays, *_once(S, size, lambda: located(S, E.dtype))[1:]
    found = HubLabels(E.semiring, *tables, threads=E._threads, kind=E._kind, labels=made)
    found._made = weakref.ref(E)
    return found


def _followed(E: Elimination, like: HubLabels | None) -> HubLabels | None:
    """What other labels become where they are those of an elimination of the same family."""
    other = None if like is None or like._made is None else like._made()
    differing = None if other is None else E._differs(other)
    if like is None or differing is None or E._changes is None:
        return None
    return like._follow(E, E._changes.labels.follow(E._panels, like._labels, differing))


def require_hubs(semiring: Semiring, *, where: str) -> None:
    """Refuse a semiring that has no hub labels.

    Raises
    ------
    AlgebraError
    """
    if not semiring.idempotent:
        raise AlgebraError(
            f"{where}: hub labels need a ⊕ that adds a to itself as a, as min and max do, got {semiring.add.name} of "
            f"{semiring.name}: a walk would count once for each hub on it. Pairs and rows are computed without them."
        )


class _Squares:
    """A* between the columns of the present path from the root, X by rows and Y by columns."""

    def __init__(self, S: Structure, kind: Kind, pitch: int) -> None:
        dtype = np.dtype(kind.dtype)
        self.X, self.Y = (aligned((S.height * pitch // dtype.itemsize,), dtype) for _ in range(2))
        self.X[:], self.Y[:] = kind.zero, kind.zero
        self.path = np.empty(S.height, np.int32)
        self.present, self.touched = np.empty(S.height, np.int32), np.empty(S.height, np.int32)


class Descent:
    """Labels of a structure being made from panels: what is above all subtrees first, then subtrees on all threads.

    Parameters
    ----------
    S : Structure
    kind : Kind
    """

    def __init__(self, S: Structure, kind: Kind) -> None:
        self.S, self.kind, self.dtype, self.code = S, kind, np.dtype(kind.dtype), kernels_of(kind)
        w, r, b = _shape(S)
        self.pitch, self.label = _pitch(S, self.dtype), _starts(S, self.dtype)
        self.cost = np.concatenate(([0], np.cumsum(w * r * (2 * b + w) + OVERHEAD)))
        self._free: list[_Squares] = []
        self._tables = S.first, S.begin, S.slot, S.base, S.parent, S.child, S.panel, self.label

    def make(self, panels: Panels, threads: int) -> Pages:
        """All labels."""
        S, entries = self.S, int(self.label[-1])
        made = Pages([aligned((entries,), self.dtype) for _ in range(2)], *self._pages)
        total = int(self.cost[-1])
        threads = threads if total > 64 * OVERHEAD else 1
        subtrees: Ranges = []
        if threads > 1:
            subtrees = _once(
                S, ("threads", threads), lambda: sharing.divided(S, self.cost, threads, together=1 / threads)
            )
        inside = np.zeros(len(S), bool)
        for start, stop in subtrees:
            inside[start:stop] = True
        self._descend(np.flatnonzero(~inside)[::-1].astype(np.int32), panels, made)

        def work(_: int, start: int, stop: int) -> None:
            self._descend(np.arange(stop - 1, start - 1, -1, dtype=np.int32), panels, made)

        run(work, subtrees, threads)
        return made

    def follow(self, panels: Panels, like: Pages, differing: np.ndarray) -> Pages:
        """Labels of panels of which these supernodes differ from those of other labels.

        Raises
        ------
        MemoryNeeded
            If as much as has been copied does not fit again.
        """
        made, squares, size, ahead = like.successor(), self._squares(), self.dtype.itemsize, 0
        computed, again = np.zeros(len(self.S), np.int32), differing[::-1].astype(np.int32)
        addresses, s = self._addresses(panels, made, squares), int(again[0]) if len(again) else -1
        while s >= 0:
            s = _follow(size).call(
                raw(size), *self._steps[:2], s, CALL * gain(self.kind), again, computed, squares.touched, self.S.leaf,
                made.owned, *self._tables, squares.present, squares.path, *addresses,
            )  # fmt: skip
            require(made.own(ahead // 4), where="hub_labels", hint=HINT)
            ahead += 1  # many are neighbours
        self._free.append(squares)
        return made

    @cached_property
    def _pages(self) -> tuple[np.ndarray, int]:
        """Where pages of labels begin, each at a label, and the last one's end; and `Pages.shift`."""
        w, _, b = _shape(self.S)
        entries, padded = int(self.label[-1]), _padded(b + w, self.dtype)
        shift = max((PAGE // self.dtype.itemsize).bit_length() - 1, (entries // PAGES).bit_length())
        if not entries:
            return np.zeros(2, np.int64), shift
        begin = np.arange(0, entries, 1 << shift)
        s = np.searchsorted(self.label, begin, side="right") - 1
        return np.append(self.label[s] + -((self.label[s] - begin) // padded[s]) * padded[s], entries), shift

    def _squares(self) -> _Squares:
        try:
            squares = self._free.pop()
        except IndexError:
            squares = _Squares(self.S, self.kind, self.pitch)
        squares.present[:] = squares.touched[:] = -1
        return squares

    @property
    def _steps(self) -> tuple[int, int, int]:
        return self.code.combine.address, self.code.pivots.address, self.code.put.address

    def _addresses(self, panels: Panels, made: Pages, squares: _Squares) -> tuple[int, ...]:
        unit = self.kind.lanes if self.kind.vector else 1
        tables = panels.lower, panels.upper, squares.X, squares.Y
        return *map(_address, tables), self.pitch, unit, LINE // self.dtype.itemsize, *made.addresses

    def _descend(self, wanted: np.ndarray, panels: Panels, made: Pages) -> None:
        """The labels of these supernodes, in calls that are short enough."""
        squares = self._squares()
        taken = np.cumsum(np.diff(self.cost)[wanted])
        most, size = CALL * gain(self.kind), self.dtype.itemsize
        edges = np.unique(
            [0, *np.searchsorted(taken, np.arange(most, int(taken[-1]) if len(taken) else 0, most)), len(wanted)]
        )
        for start, stop in pairwise(edges.tolist()):
            _descend(size).call(
                raw(size), *self._steps, start, stop, wanted, *self._tables, squares.present, squares.path,
                *self._addresses(panels, made, squares),
            )  # fmt: skip
        self._free.append(squares)


def _once(S: Structure, key: Any, make: Callable[[], T]) -> T:
    """What follows from a structure alone, and is kept as long as that is."""
    known: dict[Any, T] = _known.setdefault(S, {})
    if key not in known:
        known[key] = make()
    return known[key]


_known: weakref.WeakKeyDictionary[Structure, dict[Any, Any]] = weakref.WeakKeyDictionary()


def located(S: Structure, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the labels of each supernode begin, and the last one's end; and `HubLabels.places` and `base`."""
    w, _, b = _shape(S)
    padded, label = _padded(b + w, dtype), _starts(S, dtype)
    number, above, base = numbered(S)
    owner = S.owner[S.position]
    places = np.stack((label[:-1], number, above, b + w), axis=1).take(owner, axis=0)
    places[:, 0] += (S.position - S.first[owner]) * padded[owner]
    return label, places, base


def _starts(S: Structure, dtype: np.dtype) -> np.ndarray:
    """Where the labels of each supernode begin, and the last one's end."""
    w, _, b = _shape(S)
    return np.concatenate(([0], np.cumsum(w * _padded(b + w, dtype))))


def numbered(S: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The number of each supernode in a complete binary tree, the bits of those above it, and `HubLabels.base`.

    All supernodes with one number are on a path (Schieber and Vishkin 1988, "On finding lowest common ancestors:
    simplification and parallelization", sections 2 and 3; here on postorder numbers). A root above all roots, of no
    column, makes a forest a tree.
    """
    m = len(S)
    low, high = np.append(S.leaf, 0).astype(np.int64), np.arange(1, m + 2)  # low + 1 … high are the numbers below each
    bits = np.frexp((low ^ high).astype(np.float64))[1] - 1  # of which that with most zeros at its end is taken
    number = high >> bits << bits
    above, up = number & -number, np.append(np.where(S.parent < 0, m, S.parent), m)
    while (up != m).any():
        above, up = above | above[up], up[up]
    above |= above[m]
    base = np.zeros(_numbers(S), np.int64)
    base[number[:m]] = S.base  # the last one of a number is the topmost
    return number[:m], above[:m], base


def _numbers(S: Structure) -> int:
    """The power of two below which the numbers of all supernodes are, and of the root above them."""
    return 1 << (len(S) + 1).bit_length()


def _address(x: np.ndarray) -> int:
    return int(x.ctypes.data)


def _shape(S: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, rows, and columns above, of each supernode."""
    w, r, b = np.diff(S.first), np.diff(S.begin), S.base
    return w.astype(np.int64), r.astype(np.int64), b.astype(np.int64)


def _padded(length: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Entries that labels of so many take in memory: complete cache lines."""
    line = LINE // dtype.itemsize
    return -(-length // line) * line


def _pitch(S: Structure, dtype: np.dtype) -> int:
    """Bytes of a row of a square: an odd number of cache lines, so that columns do not share few sets of a cache."""
    return (-(-S.height * dtype.itemsize // LINE) | 1) * LINE


class Kernels:
    """The machine code for labels of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.combine = machine_code(kernels.combine_strip, kind, "biiiiiiii", called=False)
        self.pivots = machine_code(kernels.add_pivots, kind, "iiiii", called=False)
        self.put = machine_code(kernels.put_labels, kind, "iiiiii", called=False)
        self.meet = machine_code(kernels.meet, kind, "iiii", called=False)


kernels_of = cache(Kernels)


@cache
def _descend(itemsize: int) -> Entry:
    return machine_code(kernels.descend, raw(itemsize), "iiiii" + "s" + _TABLES + "ss" + "iiiiiiiiii")


@cache
def _follow(itemsize: int) -> Entry:
    return machine_code(kernels.follow, raw(itemsize), "iiii" + "ssssc" + _TABLES + "ss" + "iiiiiiiiii")


@cache
def _pairs() -> Entry:
    return machine_code(kernels.pairs, None, "iilliiiiiiii")


@cache
def _pair() -> Entry:
    return machine_code(kernels.pair, None, "iiiiiiiiii", released=False)
