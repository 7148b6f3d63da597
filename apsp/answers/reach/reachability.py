"""`Reachability`: transitive closure queries on bits, or on an index, of strongly connected components."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from semiring.algebra.pickling import uncached
from semiring.dense.bits import BitMatrix
from semiring.host.devices import module, read_only, to_device
from semiring.host.errors import NoPathError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Fields, Label, Vertices
from semiring.sparse.reach import ReachIndex

from ...io.display import notebook
from ...io.graph import Graph
from ...io.labels import Labels, look_up
from ...road.engines.condensation import Condensation, expanded, expansion_bytes
from ...road.estimates import in_units
from ...road.plans import Plan
from . import archives
from .archives import Closed
from .counting import counts, dense_rows, reduction
from .updates import updated
from .walks import Walks, walks_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class Reachability:
    """Reachability by walks of at least one edge (A⁺), or of any length if `reflexive` (A*).

    Attributes
    ----------
    labels : Labels
        Vertex names, in the order of the matrix.
    condensation : Condensation
        Strongly connected components; every vertex its own where condensing did not pay.
    closed : BitMatrix, StoredBits or ReachIndex, shape (count, count)
        The reflexive closure of the condensation: bits in memory or on disk, or an index of labels (`plan.engine`).
    reflexive : bool
    plan : Plan
        The method and its reasons.
    seconds : float
        Time taken.
    graph : Graph, optional
        The edges for `path`; None if loaded from a file.

    Raises
    ------
    VertexError, ShapeError
        In `reaches`, `descendants` and `ancestors`, if a label is not in the graph; if the shapes of u and v do not
        broadcast.
    MemoryNeeded
        In `reduction`, `to_bool`, `to_sparse` and `to_edges`, if the packed bits or the result do not fit.

    See Also
    --------
    reaches, path : A decision; a walk as proof.
    descendants, ancestors, counts : All vertices reached, all that reach; their numbers.
    components, reduction : Strongly connected components; the fewest edges of the same reachability.
    to_bool, to_sparse, to_edges : All pairs, dense and sparse.
    save, load : A file or a store, and back.
    update, apsp.update, Result.update : Edges added or removed; for a matrix and its closure; for distances.
    apsp.transitive_closure, apsp.shortest_paths : Computes it; walks of the least weight.

    Notes
    -----
    `descendants` and `ancestors` read one row or column, n bits; of an index they search, O(n) at least. `components`
    sorts its members, O(n log n). `to_bool` takes n² bytes, eight times the packed bits, `to_sparse` a bool and an
    index a pair and n + 1 row bounds, `to_edges` 16 bytes a pair and the list of labels.

    Examples
    --------
    >>> from apsp import transitive_closure
    >>> t = transitive_closure([("a", "b"), ("b", "c"), ("c", "b"), ("a", "c")])
    >>> t.reaches("a", "c"), t.reaches(["b", "c"], "a")
    (True, array([False, False]))
    >>> t.descendants("b"), t.ancestors("b")
    (['b', 'c'], ['a', 'b', 'c'])
    >>> t.counts(), t.components()
    (array([2, 2, 2]), [['b', 'c'], ['a']])
    """

    labels: Labels
    condensation: Condensation
    closed: Closed
    reflexive: bool
    plan: Plan
    seconds: float
    graph: Graph | None = None

    def __repr__(self) -> str:
        how = f"{self.plan.schedule}, {in_units(self.seconds)}"
        kind = "reflexive, " if self.reflexive else ""
        parts = "" if self._uncondensed else f" in {self.condensation.count} components"
        return f"<Reachability: {self.n} vertices{parts}, {kind}{how}>"

    def _repr_html_(self) -> str:
        rows = [(u, len(self.descendants(u))) for u in self.labels[: notebook.SHOWN]]
        note = f"The first {len(rows)} of {self.n} vertices." if len(rows) < self.n else ""
        return notebook.table(repr(self), ["vertex", "reaches"], rows, note)

    def __len__(self) -> int:
        """The number of pairs (u, v) such that u reaches v; raises as `counts`."""
        return int(self.counts().sum())

    def __bool__(self) -> bool:
        """True of any answer, also of one without pairs."""
        return True

    def __getstate__(self) -> Fields:
        """State without cached properties."""
        return uncached(self)

    @property
    def n(self) -> int:
        """The number of vertices."""
        return len(self.labels)

    @property
    def _uncondensed(self) -> bool:
        """Whether each vertex may have been closed by itself, components unknown."""
        c = self.condensation
        return not (len(c.tails) or isinstance(self.closed, ReachIndex) or (c.sizes > 1).any() or not c.cyclic.any())

    @property
    def component_count(self) -> int:
        """The number of strongly connected components."""
        return int(self._classes.max(initial=-1)) + 1

    @cached_property
    def matrix(self) -> BitMatrix:
        """All pairs as a read-only n × n BitMatrix on the host, expanded from the components; raises MemoryNeeded."""
        c, words = self.condensation, -(-self.n // 64)
        uncondensed = c.count == self.n and (c.component == np.arange(self.n)).all()
        needed = 8 * words * self.n + (0 if uncondensed else expansion_bytes(self.n, c.count))
        needed += 0 if isinstance(self.closed, BitMatrix) else c.count**2 // 8
        require(needed, where="Reachability.matrix", hint="Ask reaches, or counts, instead.")
        if uncondensed:
            full = self._bits.copy() if isinstance(self.closed, BitMatrix) else self._bits
        else:
            full = expanded(self._bits, c)
        if not self.reflexive:
            full.set_diagonal(c.cyclic[c.component])
        full.words = read_only(full.words)
        return full

    @overload
    def reaches(self, u: list[Any] | np.ndarray, v: Vertices) -> np.ndarray: ...
    @overload
    def reaches(self, u: Vertices, v: list[Any] | np.ndarray) -> np.ndarray: ...
    @overload
    def reaches(self, u: Hashable, v: Hashable) -> bool: ...
    def reaches(self, u: Vertices, v: Vertices) -> Array:
        """Whether a walk leads from u to v.

        Parameters
        ----------
        u, v : label, or list or array of labels

        Returns
        -------
        bool, or bool array
            CuPy if u or v is.

        Notes
        -----
        O(1) a pair: one bit, or two labels, which leave some pairs to a search (`plan` says how many). Lists or arrays
        broadcast: `reaches(us[:, None], vs)` is a table. A tuple is one label.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.reaches("a", "c"), t.reaches("a", ["a", "b"])
        (True, array([False,  True]))
        """
        if "cupy" in (type(u).__module__, type(v).__module__):
            return self._reaches_on_device(u, v)
        return look_up(self.labels, u, v, self._between, where="reaches")

    @cached_property
    def _on_devices(self) -> dict[int, Array]:
        return {}

    def _reaches_on_device(self, u: Vertices, v: Vertices) -> Array:
        """`reaches` as a CuPy array; by an index of numbered vertices without a way over the host."""
        count, on_gpu = len(self.labels), [x for x in (u, v) if type(x).__module__ == "cupy"]
        numbers = self.labels.numbered and all(x.dtype.kind in "iu" for x in on_gpu)
        if not (numbers and isinstance(self.closed, ReachIndex)):
            u, v = (x.get() if type(x).__module__ == "cupy" else x for x in (u, v))
            return to_device(np.asarray(self.reaches(u, v)), "cuda")
        xp, device = module(on_gpu[0]), on_gpu[0].device.id
        places = (x if type(x).__module__ == "cupy" else xp.asarray(self.labels.positions_like(x)) for x in (u, v))
        i, j = xp.broadcast_arrays(*places)
        for x in (i, j):
            if x.size and not 0 <= int(x.min()) <= int(x.max()) < count:
                self.labels.positions_like(x.get())  # raises for the first that is unknown
        if device not in self._on_devices:
            parts = self.condensation.component, self.condensation.cyclic
            self._on_devices[device] = tuple(map(xp.asarray, parts))
        component, cyclic = self._on_devices[device]
        own = component[i]
        found = self.closed[own, component[j]]
        return found if self.reflexive else found & ((i != j) | cyclic[own])

    def path(self, u: Label, v: Label) -> list[Label]:
        """The labels u, …, v along a walk of the fewest edges.

        Raises
        ------
        VertexError, NoPathError
            If a label is not in the graph; if u does not reach v.
        ValueError, MemoryNeeded
            If the answer was loaded from a file, which has no edges; if a copy of the edges does not fit.

        Notes
        -----
        Breadth-first search, O(n + m). For u = v the shortest cycle [u, …, u], or [u] in a reflexive closure.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])
        >>> t.path("a", "d"), t.path("b", "b")
        (['a', 'b', 'c', 'd'], ['b', 'c', 'b'])
        """
        i, j = self.labels.position(u), self.labels.position(v)
        if not self.reaches(u, v):
            raise NoPathError(f"path: {came(v)} must be reachable from {came(u)}, got no walk between them.")
        self._edges("path")
        walk = [i] if self.reflexive and i == j else self._walks(i, j)
        return [self.labels[k] for k in walk]

    def descendants(self, u: Label) -> list[Label]:
        """The labels of all vertices that u reaches, in matrix order.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.descendants("a")
        ['b', 'c']
        """
        i, c = self.labels.position(u), self.condensation
        return self._names(self.closed.rows(int(c.component[i]))[c.component], i)

    def ancestors(self, v: Label) -> list[Label]:
        """The labels of all vertices that reach v, in matrix order.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.ancestors("c")
        ['a', 'b']
        """
        j, c = self.labels.position(v), self.condensation
        return self._names(self.closed.column(int(c.component[j]))[c.component], j)

    def counts(self, axis: int = 1) -> np.ndarray:
        """Numbers, int64 of shape (n,), of vertices that each reaches (axis 1: row sums) or is reached from (axis 0).

        Raises
        ------
        ValueError
            If the axis is neither 0 nor 1; if an index would take minutes.

        Notes
        -----
        Reads the c² / 8 bytes of c components once; an index computes them by strips, c / 64 words an arc.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.counts(), t.counts(axis=0)
        (array([2, 1, 0]), array([0, 1, 2]))
        """
        if axis not in (0, 1):
            raise ValueError(
                f"counts: axis must be 1 (how many each reaches) or 0 (how many reach it), got {came(axis)}."
            )
        return counts(self, axis)

    def components(self) -> list[list[Label]]:
        """Strongly connected components as lists of labels; the largest first, then by first member.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> transitive_closure([("a", "b"), ("b", "a"), ("b", "c")]).components()
        [['a', 'b'], ['c']]
        """
        order = np.argsort(self._classes, kind="stable")
        ends = np.flatnonzero(np.diff(self._classes[order], append=-1)) + 1
        members = order.tolist()
        classes = [members[start:end] for start, end in pairwise([0, *ends.tolist()])]
        classes.sort(key=lambda part: (-len(part), part[0]))
        return [[self.labels[i] for i in part] for part in classes]

    def reduction(self) -> Graph:
        """The transitive reduction: a graph of the fewest edges with the same reachability.

        Unique, and a subgraph, for an acyclic graph. Otherwise each nontrivial component becomes a ring, and edges
        between components join their first vertices (Aho, Garey, Ullman 1972).

        Notes
        -----
        O(n + edges), and an answer for each two arcs that leave one of c components, by an index; without an index and
        with more than 8 c arcs, one Boolean product, c³ bit operations.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> transitive_closure([("a", "b"), ("b", "c"), ("a", "c")]).reduction().edge_count
        2
        """
        return reduction(self)

    def to_bool(self) -> np.ndarray:
        """All pairs as an n × n NumPy bool array.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.to_bool().astype(int)
        array([[0, 1, 1],
               [0, 0, 1],
               [0, 0, 0]])
        """
        dense: np.ndarray = self.matrix.to_bool()
        return dense

    def to_sparse(self) -> csr_array:
        """All pairs as a SciPy `csr_array` of bool.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.to_sparse().nnz
        3
        """
        return self.matrix.to_sparse()

    def to_edges(self) -> list[tuple[Label, Label]]:
        """All pairs (u, v) of labels such that u reaches v.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("b", "c")])
        >>> t.to_edges()
        [('a', 'b'), ('a', 'c'), ('b', 'c')]
        """
        rows, cols = self.matrix.to_edges()
        return [(self.labels[i], self.labels[j]) for i, j in zip(rows.tolist(), cols.tolist(), strict=True)]

    def update(self, changes: Mapping[tuple[Label, Label], bool]) -> Reachability:
        """The answer after edges are added or removed.

        Parameters
        ----------
        changes : mapping
            {(u, v): True} adds an edge, {(u, v): False} removes it and all parallel ones; both ways if undirected.

        Returns
        -------
        Reachability
            A new one; this one is unchanged.

        Raises
        ------
        VertexError, ShapeError
            If a key is no pair of labels; if both ways of an undirected edge differ.
        DomainError
            If a value is neither True nor False, 1 nor 0.
        ValueError, MemoryNeeded
            If the answer was loaded from a file, which has no edges; if it does not fit a second time.

        Notes
        -----
        The edges are copied, O(m). A new one that changes no answer costs no more. Else the c components are closed
        again, without the graph: O(c + arcs) for an index. Bits of all vertices, as of small and dense graphs, unite
        rows, O(n² / 64) an edge. Where an edge is removed, the graph is closed anew.

        Examples
        --------
        >>> from apsp import transitive_closure
        >>> t = transitive_closure([("a", "b"), ("c", "d")])
        >>> t.update({("b", "c"): True}).descendants("a"), t.update({("a", "b"): False}).descendants("a")
        (['b', 'c', 'd'], [])
        """
        return updated(self, self._edges("update"), changes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the answer atomically to an `.npz` file, or to a store of tiles if the path ends with "/".

        Raises
        ------
        ValueError
            If the suffix is unknown, or the path is the store answered from.
        FormatError, OSError
            If a label cannot be saved (see `apsp.io.saving.encoding`); if the file cannot be written.

        Notes
        -----
        c² / 8 bytes for c components, of an index 8 bytes an arc between them, and the labels. `load` answers from a
        store without reading all of it (docs/stores.md).

        Examples
        --------
        >>> import tempfile
        >>> from apsp import Reachability, transitive_closure
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     transitive_closure([("a", "b")]).save(f"{folder}/reach.npz")
        ...     Reachability.load(f"{folder}/reach.npz").reaches("a", "b")
        True
        """
        archives.write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reachability:
        """Read the file, or open the store, at `path`, that `save` wrote.

        Returns
        -------
        Reachability
            Without edges, so without `path`.

        Raises
        ------
        FormatError, OSError
            If the file is damaged or of another kind; if it cannot be read.

        Notes
        -----
        A file is read entirely, c² / 8 bytes for c components; a store on demand. An index is labelled again.

        Examples
        --------
        >>> from apsp import Reachability
        >>> Reachability.load("reach.npz").reaches("a", "b")  # doctest: +SKIP
        """
        return cls(*archives.read(path))

    def _edges(self, where: str) -> Graph:
        """The graph, or ValueError."""
        if self.graph is None:
            raise ValueError(
                f"{where}: the edges of the graph are needed, got an answer that was loaded, which has none. Ask "
                f"transitive_closure(graph).{where}."
            )
        return self.graph

    @property
    def _bits(self) -> BitMatrix:
        return self.closed if isinstance(self.closed, BitMatrix) else self.closed.to_bit_matrix()

    @cached_property
    def _walks(self) -> Walks:
        return walks_of(self._edges("path"))

    @cached_property
    def _classes(self) -> np.ndarray:
        """The strongly connected component of each vertex, also without condensation."""
        if not self._uncondensed:
            return self.condensation.component
        mutual = self._bits & self._bits.T
        # A class is named by its first member.
        first = np.concatenate([dense.argmax(axis=1) for dense in dense_rows(mutual)])
        component: np.ndarray = np.unique(first, return_inverse=True)[1]
        return component

    def _between(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        c = self.condensation
        answer: np.ndarray = np.asarray(self.closed[c.component[i], c.component[j]])
        if not self.reflexive:
            answer = answer & ((i != j) | c.cyclic[c.component[i]])
        return answer

    def _names(self, reached: np.ndarray, own: int) -> list[Label]:
        if not self.reflexive:
            reached[own] = self.condensation.cyclic[self.condensation.component[own]]
        return [self.labels[k] for k in np.flatnonzero(reached).tolist()]
