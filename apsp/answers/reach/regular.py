"""Regular path queries: `reachable` finds vertices connected by walks whose labels match a pattern (`RegularPaths`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np

from semiring.dense.acyclic import unite_targets
from semiring.dense.bits import BitMatrix
from semiring.host.arrays import take_in, with_axes
from semiring.host.devices import host, read_only
from semiring.host.errors import NoPathError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Array, Input, Label, Matrix, Vertices

from ...io.labels import Labels, look_up
from ...road.engines.condensation import Condensation, adjacency, condense, reached
from .patterns import Automaton, automaton
from .walks import walk_to_nearest

#: Tails and heads (positions) of the arcs, by label.
_Arcs = dict[str, tuple[np.ndarray, np.ndarray]]
#: Bytes for an arc and a vertex of the product graph, searched by SciPy.
ARC, VERTEX = 72, 24


@dataclass(frozen=True, eq=False, repr=False)
class RegularPaths:
    """Vertices connected by walks whose edge labels match a pattern.

    Attributes
    ----------
    pattern : str
    labels : Labels
        Vertex names.
    sources : int64 array (k,)
        Positions of the start vertices.
    matrix : BitMatrix, shape (k, n)
        Row i: the vertices reached from source i.

    Raises
    ------
    VertexError, ShapeError
        In `reaches` and `descendants`, if a label is unknown; if shapes do not broadcast, or u is no source.

    See Also
    --------
    reaches, path, descendants, counts : A decision; a walk as proof; all vertices reached; their numbers.
    apsp.reachable : Computes it.

    Notes
    -----
    `reaches` reads one bit a pair, `descendants` n / 64 words, `counts` k n / 64 words for k sources.

    Examples
    --------
    >>> from apsp import reachable
    >>> r = reachable([("x", "y", "a"), ("y", "z", "b"), ("z", "z", "b"), ("z", "w", "c")], "a b* c")
    >>> r.reaches("x", "w"), r.descendants("x")
    (True, ['w'])
    >>> r.path("x", "w")
    [('x', 'y', 'a'), ('y', 'z', 'b'), ('z', 'w', 'c')]
    """

    pattern: str
    labels: Labels
    sources: np.ndarray
    matrix: BitMatrix
    _automaton: Automaton = field(repr=False)
    _arcs: _Arcs = field(repr=False)

    def __repr__(self) -> str:
        return f"<RegularPaths {self.pattern!r}: {len(self.sources)} sources, {len(self.labels)} vertices>"

    @overload
    def reaches(self, u: list[Any] | np.ndarray, v: Vertices) -> np.ndarray: ...
    @overload
    def reaches(self, u: Vertices, v: list[Any] | np.ndarray) -> np.ndarray: ...
    @overload
    def reaches(self, u: Hashable, v: Hashable) -> bool: ...
    def reaches(self, u: Vertices, v: Vertices) -> Array:
        """Whether a matching walk leads from u to v, given by label; lists and arrays broadcast.

        Parameters
        ----------
        u, v : label, or list or array of labels
            u among the sources.

        Returns
        -------
        bool, or bool array

        Examples
        --------
        >>> from apsp import reachable
        >>> r = reachable([(0, 1, "a"), (1, 2, "b")], "a b?")
        >>> r.reaches(0, [1, 2]), r.reaches(1, 2)
        (array([ True,  True]), False)
        """
        return look_up(self.labels, u, v, lambda i, j: np.asarray(self.matrix[self._rows(i), j]), where="reaches")

    def descendants(self, u: Label) -> list[Label]:
        """The labels of all vertices reached from a source u by a matching walk.

        Examples
        --------
        >>> from apsp import reachable
        >>> reachable([(0, 1, "a"), (1, 2, "a")], "a+").descendants(0)
        [1, 2]
        """
        row = int(self._rows(np.array([self.labels.position(u)]))[0])
        return [self.labels[int(j)] for j in np.flatnonzero(self.matrix.rows(row))]

    def counts(self, axis: int = 1) -> np.ndarray:
        """Numbers of vertices reached by each source, shape (k,), or (axis 0) of sources that reach each vertex, (n,).

        Raises
        ------
        ShapeError
            If there is no such axis.

        Examples
        --------
        >>> from apsp import reachable
        >>> reachable([(0, 1, "a"), (1, 2, "a")], "a+").counts()
        array([2, 1, 0])
        """
        if axis not in (0, 1):
            raise ShapeError(f"counts: axis must be 0 or 1, got {came(axis)}.")
        return np.asarray(self.matrix.counts(axis))

    def path(self, u: Label, v: Label) -> list[tuple[Label, Label, str]]:
        """The edges of a shortest matching walk from u to v.

        Parameters
        ----------
        u, v : labels
            u a source.

        Returns
        -------
        list of (vertex, vertex, label)
            In walk order; empty if the empty walk matches. An edge walked backwards (`^`) is listed in walk direction,
            its label prefixed by "^".

        Raises
        ------
        VertexError, ShapeError
            If a label is unknown, or u is no source.
        NoPathError
            If no walk from u to v matches.

        Notes
        -----
        Breadth-first search of the product of graph and automaton: O(s (n + m)) for s states.

        Examples
        --------
        >>> from apsp import reachable
        >>> reachable([("x", "y", "a"), ("z", "y", "a")], "a ^a").path("x", "z")
        [('x', 'y', 'a'), ('y', 'z', '^a')]
        """
        if not self.reaches(u, v):
            raise NoPathError(
                f"path: a walk that matches {came(self.pattern)} must lead from {came(u)} to {came(v)}, got none."
            )
        n, start, end = len(self.labels), self.labels.position(u), self.labels.position(v)
        ends = np.zeros(self._product.shape[0], bool)
        ends[[state * n + end for state in self._automaton.accepting]] = True
        walk = walk_to_nearest(self._product, start, ends)
        return [
            (self.labels[x % n], self.labels[y % n], self._label_of(x % n, y % n, y // n)) for x, y in pairwise(walk)
        ]

    def _label_of(self, x: int, y: int, state: int) -> str:
        """The label of an edge x → y that leads to `state`."""
        step = self._automaton.steps[state - 1]
        for label in [step.label] if step.label is not None else self._arcs:
            tails, heads = self._arcs[label][::-1] if step.backwards else self._arcs[label]
            if ((tails == x) & (heads == y)).any():
                return f"^{label}" if step.backwards else label
        raise AssertionError(f"no edge from {x} to {y} leads to state {state}")

    @cached_property
    def _product(self) -> Array:
        size = len(self.labels) * (1 + len(self._automaton.steps))
        return adjacency(size, *product_arcs(self._automaton, self._arcs, len(self.labels))).tocsr()

    @cached_property
    def _row_of(self) -> np.ndarray:
        """The first row of each vertex, −1 of none."""
        found = np.full(len(self.labels), -1)
        found[self.sources[::-1]] = np.arange(len(self.sources))[::-1]
        return found

    def _rows(self, positions: np.ndarray) -> np.ndarray:
        """The rows of sources by position; raises ShapeError for another vertex."""
        found = self._row_of[positions]
        missing = positions[found < 0]
        if len(missing):
            raise ShapeError(
                f"reachable: walks must begin at one of the {len(self.sources)} sources, got "
                f"{came(self.labels[int(missing[0])])}. Leave sources out to ask for all."
            )
        return found


def reachable(
    source: Input, pattern: str, *, sources: Iterable[Label] | None = None, label: str = "label"
) -> RegularPaths:
    """Vertices connected by walks whose edge labels match a regular expression, such as "a (b|c)* d".

    Parameters
    ----------
    source : graph with labelled edges
        Edges (u, v, label) as an iterable; a NetworkX graph with edge attribute `label`; or {label: sparse matrix
        (n, n)}, whose stored entries other than False are edges between vertices 0, …, n − 1.
    pattern : str
        Concatenated labels (optionally with "/"), `|`, `*`, `+`, `?` and brackets; "." is any label, `^a` an edge a
        walked backwards. Quote labels that are no words. Labels compare as text.
    sources : iterable of labels, optional
        Start vertices; all by default.
    label : str
        The edge attribute in a NetworkX graph.

    Raises
    ------
    ValueError, DTypeError, ShapeError
        If the pattern is malformed or names an unused label; if it is no text; if edges are no triples, or
        matrices not square of one size.
    VertexError, MemoryNeeded
        If a source is not in the graph; if the bits of sources × vertices do not fit.

    See Also
    --------
    transitive_closure : For any labels.

    Notes
    -----
    Reachability in the product of the graph with the pattern's automaton (Mendelzon and Wood 1995), which has a state
    for each label of the pattern. Product vertices that no source reaches or that reach no match are dropped; the rest
    is condensed to strongly connected components, whose bit rows are united: O(c n / 64) words for c arcs between
    components, on the CPU.

    Examples
    --------
    >>> from apsp import reachable
    >>> edges = [("ann", "bob", "knows"), ("bob", "cid", "knows"), ("cid", "zip", "works at")]
    >>> reachable(edges, "knows* 'works at'").descendants("ann")
    ['zip']
    """
    machine = automaton(pattern)
    labels, arcs = _labelled(source, label)
    for step in machine.steps:
        if step.label is not None and step.label not in arcs:
            raise ValueError(
                f"reachable: the pattern's labels must be among {', '.join(sorted(arcs)) or 'none'}, got "
                f"{came(step.label)}.{did_you_mean(step.label, arcs)}"
            )
    n = len(labels)
    chosen = np.arange(n) if sources is None else labels.positions(list(sources))
    steps = zip(machine.steps, machine.before, strict=True)
    walked = sum(
        len(before) * len(arcs[name][0])
        for step, before in steps
        for name in ([step.label] if step.label is not None else arcs)
    )
    held = len(chosen) * -(-n // 64) * 8 + ARC * walked + VERTEX * n * (1 + len(machine.steps))
    require(held, where="reachable", hint="Give fewer sources, or a pattern of fewer steps.")
    matrix = _matched(machine, arcs, n, np.asarray(chosen, np.int64))
    matrix.words = read_only(matrix.words)
    return RegularPaths(pattern, labels, np.asarray(chosen, np.int64), matrix, machine, arcs)


def product_arcs(machine: Automaton, arcs: _Arcs, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Arcs of the product graph; vertex (state, v) is state · n + v."""
    tails, heads = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for q, (step, before) in enumerate(zip(machine.steps, machine.before, strict=True), 1):
        for name in [step.label] if step.label is not None else list(arcs):
            left, right = arcs[name][::-1] if step.backwards else arcs[name]
            tails.append(np.add.outer(before * n, left).ravel())
            heads.append(np.tile(q * n + right, len(before)))
    return np.concatenate(tails), np.concatenate(heads)


def _matched(machine: Automaton, arcs: _Arcs, n: int, sources: np.ndarray) -> BitMatrix:
    """BitMatrix of (source, vertex): source i reaches v in an accepting state."""
    tails, heads = product_arcs(machine, arcs, n)
    size = n * (1 + len(machine.steps))
    accepting = np.concatenate([np.arange(n) + state * n for state in sorted(machine.accepting)])
    kept = reached(size, tails, heads, sources) & reached(size, heads, tails, accepting)
    kept[sources] = True
    number = np.cumsum(kept) - 1
    within = kept[tails] & kept[heads]
    c: Condensation = condense(int(kept.sum()), number[tails[within]], number[heads[within]])
    targets = accepting[kept[accepting]]
    return unite_targets(
        c.count, c.tails, c.heads, c.component[number[targets]], targets % n, n, c.component[number[sources]]
    )


def _labelled(source: Input, attribute: str) -> tuple[Labels, _Arcs]:
    """Vertex names, and arcs by label."""
    if isinstance(source, Mapping):
        return _of_matrices(source)
    directed, vertices = True, []
    if hasattr(source, "edges") and hasattr(source, "nodes"):
        directed, vertices = source.is_directed(), list(source.nodes)
        source = source.edges(data=attribute)
    edges = [tuple(edge) for edge in source]
    if wrong := next((edge for edge in edges if len(edge) != 3 or edge[2] is None), None):
        raise ShapeError(
            f"reachable: edges must be (u, v, label), got {came(wrong)}. Pass a table's rows; of NetworkX, label='…'."
        )
    names = list(dict.fromkeys([*vertices, *(x for u, v, _ in edges for x in (u, v))]))
    position = {name: k for k, name in enumerate(names)}
    lists: dict[str, list[tuple[int, int]]] = {}
    for u, v, name in edges:
        pairs = lists.setdefault(str(name), [])
        pairs.append((position[u], position[v]))
        if not directed:
            pairs.append((position[v], position[u]))
    ends = {name: np.array(pairs, np.int64).T for name, pairs in lists.items()}
    return Labels(names), {name: (x[0], x[1]) for name, x in ends.items()}


def _of_matrices(matrices: Mapping[Label, Matrix]) -> tuple[Labels, _Arcs]:
    shapes = {
        tuple(A.shape if hasattr(A, "shape") else with_axes(A, where="reachable").shape) for A in matrices.values()
    }
    (shape, *others) = shapes or {()}
    if others or len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"reachable: all matrices must be square and of one size, got {came(sorted(shapes))}.")
    parts: dict[str, list[tuple[Any, Any]]] = {}
    for name, A in matrices.items():
        coo = A.tocoo() if hasattr(A, "tocoo") else None
        if coo is None:
            rows, columns = np.nonzero(host(take_in(A, where="reachable").array))
        else:
            kept = host(coo.data) if coo.data.dtype.kind == "b" else slice(None)
            rows, columns = host(coo.row)[kept], host(coo.col)[kept]
        parts.setdefault(str(name), []).append((rows, columns))
    arcs = {name: np.concatenate(ends, axis=1, dtype=np.int64) for name, ends in parts.items()}
    return Labels(range(shape[0])), {name: (ends[0], ends[1]) for name, ends in arcs.items()}
