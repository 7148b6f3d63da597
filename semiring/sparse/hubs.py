"""Hub labels: distances of each vertex to and from all columns on its root path in the elimination tree.

Every walk from u to v passes a column of their lowest common supernode, or of one above it. Columns are ordered from
the root, so the common part of two labels is a prefix of both:

    A*[u, v] = ⊕ out(u)[h] ⊗ in(v)[h] over the columns h of the common path

wherever a ⊕ a = a. Sources: Cohen, Halperin, Kaplan and Zwick 2002, "Reachability and distance queries via 2-hop
labels", which defines such labels; Abraham, Delling, Goldberg and Werneck 2011, "A hub-based labeling algorithm for
shortest paths in road networks", and Akiba, Iwata and Yoshida 2013, "Fast exact shortest-path distance queries on large
networks by pruned landmark labeling", which find small ones. Here labels are neither pruned nor sorted: their layout
follows from the elimination tree alone, before any weight.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.ranges import cut
from ..algebra.records import Semiring
from ..host.arrays import broadcast
from ..host.devices import host
from ..host.memory import require
from ..host.types import Array, Fields, Scalar
from ..kernels.cpu.code import CALL, gain, machine_code
from ..kernels.cpu.kinds import Kind, choose, raw
from ..kernels.cpu.pool import run
from ..kernels.cpu.processors import default_threads
from ..kernels.cpu.sparse import hubs as kernels
from . import sharing
from .answers import Pairs, require_hubs, vertex
from .buffers import LINE, Pages, addresses, aligned
from .fronts import Panels, code_of
from .pattern import indices, paired
from .structure import Ranges, Structure, numbered, tree_numbers

if TYPE_CHECKING:
    from ..kernels.cuda.sparse.hubs import Labels
    from .elimination import Elimination

#: Overhead of a supernode's labels, in pairs.
OVERHEAD = 1 << 12
#: Number of queries answered by one thread alone.
FEW = 1 << 12
#: Queries per vertex, each of another source than the one before, from which they are sorted.
RECURRING = 4
#: Bytes of a page of labels, the unit of copy-on-write; and the largest number of pages.
PAGE, PAGES = 1 << 16, 1 << 12
#: Advice where labels do not fit.
HINT = "Pairs are answered without them too, as are rows."
#: Arguments of kernels: `Descent._tables`.
_TABLES = "slsss" + "sll"


@dataclass(frozen=True)
class HubCost:
    """Operation and memory counts of hub labels, from the symbolic structure.

    Attributes
    ----------
    pairs : int
        One ⊕ and one ⊗ each: Σ w r (2 b + w) over supernodes of w columns, r rows and b columns above.
    entries : int
        Numbers in all labels, of both directions.
    square : int
        Entries of a thread's two square workspaces.
    tables, gpu_tables : int
        Bytes of the tables that locate labels and their common prefixes; and on a GPU.
    """

    pairs: int
    entries: int
    square: int
    tables: int
    gpu_tables: int

    def bytes(self, itemsize: int, threads: int = 1) -> int:
        """Peak bytes while labels of `itemsize`-byte numbers are made; with threads=0 of labels alone."""
        return (self.entries + threads * self.square) * itemsize + self.tables

    def gpu_bytes(self, itemsize: int) -> int:
        return self.entries * itemsize + self.gpu_tables


def hub_cost(structure: Structure, dtype: np.dtype) -> HubCost:
    """Cost of a structure's hub labels, for distances of `dtype` (labels begin at cache lines)."""
    w, r, b = _shape(structure)
    return HubCost(
        pairs=int((w * r * (2 * b + w)).sum()),
        entries=2 * int((w * _padded(b + w, dtype)).sum()),
        square=2 * structure.height * _pitch(structure, dtype) // dtype.itemsize,
        tables=32 * structure.n + 8 * tree_numbers(structure),
        gpu_tables=16 * structure.n + 32 * tree_numbers(structure),
    )


class HubLabels(Pairs):
    """A* of a sparse matrix as labels of its vertices, from which any entry is computed. See `Elimination.hub_labels`.

    Attributes
    ----------
    n, semiring, dtype : int, Semiring, numpy.dtype
    out, into : arrays
        Concatenated labels of all vertices: A*[v, h], and A*[h, v], for the columns h on v's path. They may be
        memory-mapped; CuPy arrays after an elimination on a GPU; assembled on access for labels that share pages with
        others.
    places : int64 array, shape (n, 4)
        By vertex: start of its labels in both arrays, its tree number, the bits of the numbers above it, length of its
        labels.
    base : int64 array
        Path length above the topmost node of each number; a power of two in size.
    threads : int
        Threads of batch queries.

    Raises
    ------
    VertexError, ShapeError
        In `entry` and `entries`, if an index lies outside 0 … n − 1, or shapes do not broadcast.

    See Also
    --------
    entry, entries, of_arrays : A pair; many; labels from stored arrays.
    Elimination.hub_labels, Elimination.block : Labels from an elimination; all pairs of given rows and columns.
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
        self._tables = code_of(kind).meet.address, kind.itemsize, *addresses(self.places, self.base)
        self._arguments = *self._tables, *self._labels.addresses
        self._free: list[tuple[np.ndarray, int]] = []  # memory for single entries, and its address

    def _follow(self, E: Elimination, labels: Pages) -> HubLabels:
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
        return max(1, CALL * gain(self._kind) // max(1, int(self.places[:, 3].max(initial=1))))

    @classmethod
    def of_arrays(
        cls, semiring: Semiring, out: np.ndarray, into: np.ndarray, places: np.ndarray, base: np.ndarray
    ) -> HubLabels:
        """Labels from stored arrays, validated against damage: no query reads out of bounds.

        Parameters
        ----------
        semiring : Semiring
        out, into, places, base : arrays
            As the attributes of `HubLabels`.

        Raises
        ------
        ValueError
            If the arrays are inconsistent.
        AlgebraError
            If the semiring has no hub labels.

        Notes
        -----
        O(n) for the tables; labels are not read, but copied if their byte order is foreign.

        Examples
        --------
        >>> import numpy as np, semiring
        >>> H = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3).hub_labels()
        >>> again = semiring.sparse.HubLabels.of_arrays(H.semiring, H.out, H.into, H.places, H.base)
        >>> int(again.entry(0, 2))
        12
        """
        require_hubs(semiring, where="HubLabels.of_arrays")
        # Kernels read raw addresses: arrays must be native, contiguous and aligned.
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
        # These conditions keep every ancestor number looked up below len(base), a power of two.
        known = (0 < number) & (number < len(base)) & (0 < above) & (above < len(base))
        known &= number & -number == above & -above
        if len(base) & (len(base) - 1) or not (within & known).all() or (base < 0).any():
            raise ValueError("hub labels: places must lie within the labels, and numbers in the tree")
        return cls(semiring, out, into, places, base, threads=default_threads())

    def __getstate__(self) -> Fields:
        nonnegative = self._kind is not choose(self.semiring, self.dtype, False)
        arrays = {"labels": self._labels.arrays, "nonnegative": nonnegative}
        return {k: v for k, v in vars(self).items() if k[0] != "_"} | arrays

    def __setstate__(self, state: Fields) -> None:
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
        """Bytes of labels and tables, including pages shared with other labels."""
        return 2 * self._labels.entries * self.dtype.itemsize + self.places.nbytes + self.base.nbytes

    def entry(self, i: int, j: int) -> Scalar:
        return self._entry(vertex(i, self.n, "entry"), vertex(j, self.n, "entry"))

    def _entry(self, u: int, v: int) -> Scalar:
        try:
            found, address = self._free.pop()
        except IndexError:
            found = np.empty(1, self.dtype)
            address = found.ctypes.data
        _pair().call(u, v, address, *self._arguments)
        entry = found[0]
        self._free.append((found, address))
        return entry

    def entries(self, i: Array, j: Array) -> np.ndarray:
        i, j = paired(i, j, self.n)
        sources, targets, out = (np.ascontiguousarray(x).reshape(-1) for x in (i, j, np.empty(i.shape, self.dtype)))
        order = None
        if np.count_nonzero(sources[1:] != sources[:-1]) > RECURRING * self.n:  # each label is read once
            ranks = self.places[:, 0] >> max(0, int(self.places[:, 0].max()).bit_length() - 16)
            order = np.argsort(ranks.astype(np.uint16)[sources], kind="stable")  # of 16 bits in linear time
            sources, targets = sources[order], targets[order]
        threads = self.threads if i.size > FEW else 1
        parts = max(4 * threads if threads > 1 else 1, -(-i.size // self._most))
        edges = np.linspace(0, i.size, parts + 1).astype(int).tolist()

        def work(_: int, start: int, stop: int) -> None:
            _pairs().call(start, stop, sources, targets, out.ctypes.data, *self._arguments)

        run(work, list(pairwise(edges)), threads)
        if order is not None:
            out[order] = out.copy()
        return out.reshape(i.shape)


class LabelsOnDevice(HubLabels):
    """Hub labels on a GPU, as `labels` of `semiring.kernels.cuda.sparse.hubs`; pickled as labels on the CPU."""

    def __init__(self, semiring: Semiring, labels: Labels) -> None:
        layout = labels.layout
        super().__init__(semiring, labels.out, labels.into, layout.places, layout.base, labels=labels)

    def _open(self, kind: Kind | None) -> None:
        """Load no CPU kernels."""

    def __reduce__(self) -> Any:
        arrays = self._labels.out.get(), self._labels.into.get(), self.places, self.base
        return HubLabels.of_arrays, (self.semiring, *arrays)

    @property
    def nbytes(self) -> int:
        return self._labels.nbytes

    def _entry(self, u: int, v: int) -> Scalar:
        return self.entries([u], [v])[0]

    def entries(self, i: Array, j: Array) -> Array:
        """`HubLabels.entries` on the GPU; NumPy result unless i or j is CuPy's."""
        import cupy

        with cupy.cuda.Device(self._labels.device):
            if not (isinstance(i, cupy.ndarray) or isinstance(j, cupy.ndarray)):
                i, j = paired(i, j, self.n)
                ends = (cupy.asarray(np.ascontiguousarray(x, np.int32)) for x in (i, j))
                return self._labels.pairs(*ends)[0].get().reshape(i.shape)
            i, j = (cupy.asarray(x) for x in (i, j))
            for x in (i, j):
                indices(np.zeros(min(x.size, 1), x.dtype), self.n, where="entries")  # raises unless integers
            i, j = broadcast("entries: i and j", i, j)
            dtype = np.promote_types(np.int32, np.promote_types(i.dtype, j.dtype))
            ends = (cupy.ascontiguousarray(x, np.int32 if dtype == np.int32 else np.int64) for x in (i, j))
            found, outside = self._labels.pairs(*ends)
            if host(outside)[0]:
                paired(host(i), host(j), self.n)  # raises for the first invalid index
            return found.reshape(i.shape)


def hub_labels(E: Elimination, like: HubLabels | None) -> HubLabels:
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
    tables = *made.arrays, *sharing.once(S, size, lambda: located(S, E.dtype))[1:]
    found = HubLabels(E.semiring, *tables, threads=E._threads, kind=E._kind, labels=made)
    found._made = weakref.ref(E)
    return found


def _followed(E: Elimination, like: HubLabels | None) -> HubLabels | None:
    """Labels updated from `like` if both eliminations share a structure and `Changes`, else None."""
    other = None if like is None or like._made is None else like._made()
    differing = None if other is None else E._differs(other)
    if like is None or differing is None or E._changes is None:
        return None
    return like._follow(E, E._changes.labels.follow(E._panels, like._labels, differing))


class _Squares:
    """Workspace: A* between the columns of the current root path, X by rows and Y by columns."""

    def __init__(self, S: Structure, kind: Kind, pitch: int) -> None:
        dtype = np.dtype(kind.dtype)
        self.X, self.Y = (aligned((S.height * pitch // dtype.itemsize,), dtype) for _ in range(2))
        self.X[:], self.Y[:] = kind.zero, kind.zero
        self.path = np.empty(S.height, np.int32)
        self.present, self.touched = np.empty(S.height, np.int32), np.empty(S.height, np.int32)


class Descent:
    """Hub labels from panels: top of the tree first, then subtrees in parallel."""

    def __init__(self, S: Structure, kind: Kind) -> None:
        self.S, self.kind, self.dtype, self.code = S, kind, np.dtype(kind.dtype), code_of(kind)
        w, r, b = _shape(S)
        self.pitch, self.label = _pitch(S, self.dtype), _starts(S, self.dtype)
        self.cost = np.concatenate(([0], np.cumsum(w * r * (2 * b + w) + OVERHEAD)))
        self._free: list[_Squares] = []
        self._tables = S.first, S.begin, S.slot, S.base, S.parent, S.child, S.panel, self.label

    def make(self, panels: Panels, threads: int) -> Pages:
        S, entries = self.S, int(self.label[-1])
        made = Pages([aligned((entries,), self.dtype) for _ in range(2)], *self._pages)
        total = int(self.cost[-1])
        threads = threads if total > 64 * OVERHEAD else 1
        subtrees: Ranges = []
        if threads > 1:
            shares = partial(sharing.divided, S, self.cost, threads, together=1 / threads)
            subtrees = sharing.once(S, ("threads", threads), shares)
        inside = np.zeros(len(S), bool)
        for start, stop in subtrees:
            inside[start:stop] = True
        self._descend(np.flatnonzero(~inside)[::-1].astype(np.int32), panels, made)

        def work(_: int, start: int, stop: int) -> None:
            self._descend(np.arange(stop - 1, start - 1, -1, dtype=np.int32), panels, made)

        run(work, subtrees, threads)
        return made

    def follow(self, panels: Panels, like: Pages, differing: np.ndarray) -> Pages:
        """Labels updated from `like` for supernodes whose panels differ, by copy-on-write pages (MemoryNeeded)."""
        made, squares, size, ahead = like.successor(), self._squares(), self.dtype.itemsize, 0
        computed, again = np.zeros(len(self.S), np.int32), differing[::-1].astype(np.int32)
        addresses, s = self._addresses(panels, made, squares), int(again[0]) if len(again) else -1
        while s >= 0:
            s = _follow(size).call(
                raw(size), *self._steps[:2], s, CALL * gain(self.kind), again, computed, squares.touched, self.S.leaf,
                made.owned, *self._tables, squares.present, squares.path, *addresses,
            )  # fmt: skip
            require(made.own(ahead // 4), where="hub_labels", hint=HINT)
            ahead += 1  # copies come in runs of neighbours
        self._free.append(squares)
        return made

    @cached_property
    def _pages(self) -> tuple[np.ndarray, int]:
        """(edges, shift) of `Pages`: every page begins at a label."""
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
        return self.code.combine.address, self.code.add_pivots.address, self.code.put.address

    def _addresses(self, panels: Panels, made: Pages, squares: _Squares) -> tuple[int, ...]:
        unit = self.kind.lanes if self.kind.vector else 1
        tables = addresses(panels.lower, panels.upper, squares.X, squares.Y)
        return *tables, self.pitch, unit, LINE // self.dtype.itemsize, *made.addresses

    def _descend(self, wanted: np.ndarray, panels: Panels, made: Pages) -> None:
        """Labels of these supernodes, parents first, in calls short enough for Ctrl-C."""
        squares = self._squares()
        total, size = np.concatenate(([0], np.cumsum(np.diff(self.cost)[wanted]))), self.dtype.itemsize
        for start, stop in cut(total, CALL * gain(self.kind)):
            _descend(size).call(
                raw(size), *self._steps, start, stop, wanted, *self._tables, squares.present, squares.path,
                *self._addresses(panels, made, squares),
            )  # fmt: skip
        self._free.append(squares)


def located(S: Structure, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(label, places, base): start of each supernode's labels with the total, and the tables of `HubLabels`."""
    w, _, b = _shape(S)
    padded, label = _padded(b + w, dtype), _starts(S, dtype)
    number, above, base = numbered(S)
    owner = S.owner[S.position]
    places = np.stack((label[:-1], number, above, b + w), axis=1).take(owner, axis=0)
    places[:, 0] += (S.position - S.first[owner]) * padded[owner]
    return label, places, base


def _starts(S: Structure, dtype: np.dtype) -> np.ndarray:
    w, _, b = _shape(S)
    return np.concatenate(([0], np.cumsum(w * _padded(b + w, dtype))))


def _shape(S: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    w, r, b = np.diff(S.first), np.diff(S.begin), S.base
    return w.astype(np.int64), r.astype(np.int64), b.astype(np.int64)


def _padded(length: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Label lengths rounded up to cache lines, in entries."""
    line = LINE // dtype.itemsize
    return -(-length // line) * line


def _pitch(S: Structure, dtype: np.dtype) -> int:
    """Bytes of a row of a square: an odd number of cache lines, against cache-set conflicts along columns."""
    return (-(-S.height * dtype.itemsize // LINE) | 1) * LINE


_descend = cache(lambda of: machine_code(kernels.descend, raw(of), "iiiiis" + _TABLES + "ss" + "iiiiiiiiii"))
_follow = cache(lambda of: machine_code(kernels.follow, raw(of), "iiii" + "ssssc" + _TABLES + "ss" + "iiiiiiiiii"))
_pairs = cache(partial(machine_code, kernels.pairs, None, "iilliiiiiiii"))
_pair = cache(partial(machine_code, kernels.pair, None, "iiiiiiiiii", released=False))
