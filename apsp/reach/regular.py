"""`reachable`: which vertices walks connect whose labels match a pattern; the answer is `RegularPaths`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from semiring.acyclic import unite_targets
from semiring.arrays import take_in, with_axes
from semiring.bits import BitMatrix
from semiring.devices import host, read_only
from semiring.errors import NoPathError, ShapeError
from semiring.memory import require
from semiring.spelling import came, did_you_mean
from semiring.types import Label

from ..engines.condensation import Condensation, condense
from ..labels import Labels, look_up
from .patterns import Automaton, automaton
from .walks import walk_to_nearest

#: Arcs by label: (tails, heads), positions.
_Arcs = dict[str, tuple[np.ndarray, np.ndarray]]
#: Bytes held of an arc and of a vertex of the product of a graph with a pattern, as SciPy searches it.
ARC, VERTEX = 72, 24


@dataclass(frozen=True, eq=False, repr=False)
class RegularPaths:
    """Which vertices walks connect whose labels match a pattern.

    Attributes
    ----------
    pattern : str
    labels : Labels
        The vertices' names.
    sources : int64 array (k,)
        The positions of the vertices that walks begin at.
    matrix : BitMatrix, shape (k, n)
        Row i is what source i reaches.

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

    def reaches(self, u: Label, v: Label) -> Any:
        """Whether a walk that matches leads from u to v, given by label; of lists or arrays, an array.

        Parameters
        ----------
        u, v : label, or list or array of labels
            u among the sources.

        Returns
        -------
        bool, or bool array

        Raises
        ------
        VertexError
            If a label is not in the graph.
        ShapeError
            If the shapes of u and v do not go together, or u is no source.

        See Also
        --------
        path : Why it does.
        descendants : All such v.

        Notes
        -----
        A bit looked up, O(1) a pair.

        Examples
        --------
        >>> from apsp import reachable
        >>> r = reachable([(0, 1, "a"), (1, 2, "b")], "a b?")
        >>> r.reaches(0, [1, 2]), r.reaches(1, 2)
        (array([ True,  True]), False)
        """
        return look_up(self.labels, u, v, lambda i, j: np.asarray(self.matrix[self._rows(i), j]), where="reaches")

    def descendants(self, u: Label) -> list[Any]:
        """The labels of all vertices to which a walk from u matches.

        Parameters
        ----------
        u : label
            A source.

        Returns
        -------
        list of labels

        Raises
        ------
        VertexError
            If it is not in the graph.
        ShapeError
            If it is no source.

        See Also
        --------
        reaches : One pair.
        counts : How many they are.

        Notes
        -----
        O(n / 64) words read for n vertices.

        Examples
        --------
        >>> from apsp import reachable
        >>> reachable([(0, 1, "a"), (1, 2, "a")], "a+").descendants(0)
        [1, 2]
        """
        row = int(self._rows(np.array([self.labels.position(u)]))[0])
        return [self.labels[int(j)] for j in np.flatnonzero(self.matrix.rows(row))]

    def counts(self, axis: int = 1) -> np.ndarray:
        """How many vertices each source reaches (axis 1), or how many sources reach each vertex (axis 0).

        Parameters
        ----------
        axis : {0, 1}

        Returns
        -------
        int array, shape (k,) or (n,)

        Raises
        ------
        ShapeError
            If there is no such axis.

        See Also
        --------
        descendants : Which they are.

        Notes
        -----
        O(k n / 64) for k sources and n vertices.

        Examples
        --------
        >>> from apsp import reachable
        >>> reachable([(0, 1, "a"), (1, 2, "a")], "a+").counts()
        array([2, 1, 0])
        """
        if axis not in (0, 1):
            raise ShapeError(f"counts: axis must be 0 or 1, got {came(axis)}.")
        return np.asarray(self.matrix.counts(axis))

    def path(self, u: Label, v: Label) -> list[tuple[Any, Any, str]]:
        """Why u reaches v: the edges of a walk of the fewest that matches.

        Parameters
        ----------
        u, v : labels
            u a source.

        Returns
        -------
        list of (vertex, vertex, label)
            In the order of the walk; none where the empty walk matches. An edge that is walked backwards (`^`) is
            listed as the walk goes, its label with "^" before it.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        ShapeError
            If u is no source.
        NoPathError
            If no walk from u to v matches.

        See Also
        --------
        reaches : Only whether one does.

        Notes
        -----
        A breadth-first search of the product of graph and automaton: O(s (n + m)) for s states.

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
        return [(self.labels[x % n], self.labels[y % n], self._taken(x % n, y % n, y // n)) for x, y in pairwise(walk)]

    def _taken(self, x: int, y: int, state: int) -> str:
        """The label of an edge from x to y that leads to a state."""
        step = self._automaton.steps[state - 1]
        for label in [step.label] if step.label is not None else self._arcs:
            tails, heads = self._arcs[label][::-1] if step.backwards else self._arcs[label]
            if ((tails == x) & (heads == y)).any():
                return f"^{label}" if step.backwards else label
        raise AssertionError(f"no edge from {x} to {y} leads to state {state}")

    @cached_property
    def _product(self) -> Any:
        """The arcs of the product as SciPy's matrix."""
        from scipy.sparse import coo_array

        tails, heads = product_arcs(self._automaton, self._arcs, len(self.labels))
        size = len(self.labels) * (1 + len(self._automaton.steps))
        return coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(size, size)).tocsr()

    def _rows(self, positions: np.ndarray) -> np.ndarray:
        """The rows of sources by their positions.

        Raises
        ------
        ShapeError
            If one is no source.
        """
        order = np.argsort(self.sources, kind="stable")
        found = (
            order[np.minimum(np.searchsorted(self.sources[order], positions), len(order) - 1)] if len(order) else order
        )
        missing = positions[self.sources[found] != positions] if len(order) else positions
        if len(missing):
            raise ShapeError(
                f"reachable: walks must begin at one of the {len(self.sources)} sources, got "
                f"{came(self.labels[int(missing[0])])}. Leave sources out to ask for all."
            )
        return found


def reachable(
    source: Any, pattern: str, *, sources: Iterable[Label] | None = None, label: str = "label"
) -> RegularPaths:
    """Which vertices walks connect whose labels match a regular expression, such as "a (b|c)* d".

    Parameters
    ----------
    source : graph with labelled edges
        Edges (u, v, label), as a list or any iterable; a NetworkX graph, whose edges have the attribute `label`; or
        {label: sparse matrix (n, n)}, whose stored entries are edges between vertices 0, …, n − 1, but for False.
    pattern : str
        Labels one after the other (or with "/" between them), `|`, `*`, `+`, `?` and brackets; "." is any label, and
        `^a` an edge a walked backwards. Labels that are no words in quotes. Labels are compared as text.
    sources : iterable of labels, optional
        The vertices that walks begin at; all by default.
    label : str
        The attribute of a NetworkX graph's edges.

    Returns
    -------
    RegularPaths

    Raises
    ------
    ValueError
        If the pattern is none, or names a label of which there is no edge.
    ShapeError
        If edges are no triples, or matrices not square and of one size.
    VertexError
        If a source is not in the graph.
    MemoryNeeded
        If the bits of all sources and vertices do not fit.

    See Also
    --------
    transitive_closure : Whatever the labels.

    Notes
    -----
    A walk matches where it is one of the product of the graph and the pattern's automaton (Mendelzon and Wood 1995),
    which has a state for each label of the pattern. Of the product, what no source reaches, or leads to no match, is
    left out; the rest is shrunk to its strongly connected components, whose rows of bits, one a vertex, are united:
    O(c n / 64) words for c arcs between components. This is computed on the CPU, wherever matrices are.

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
    """The arcs of the product: vertex (state, v) is state · n + v."""
    tails, heads = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for q, (step, before) in enumerate(zip(machine.steps, machine.before, strict=True), 1):
        for name in [step.label] if step.label is not None else list(arcs):
            left, right = arcs[name][::-1] if step.backwards else arcs[name]
            tails.append(np.add.outer(before * n, left).ravel())
            heads.append(np.tile(q * n + right, len(before)))
    return np.concatenate(tails), np.concatenate(heads)


def _matched(machine: Automaton, arcs: _Arcs, n: int, sources: np.ndarray) -> BitMatrix:
    """Row i has a bit for every vertex v of which a state accepts that source i reaches in the product."""
    tails, heads = product_arcs(machine, arcs, n)
    size = n * (1 + len(machine.steps))
    accepting = np.concatenate([np.arange(n) + state * n for state in sorted(machine.accepting)])
    kept = _met(tails, heads, size, sources) & _met(heads, tails, size, accepting)
    kept[sources] = True
    number = np.cumsum(kept) - 1
    within = kept[tails] & kept[heads]
    c: Condensation = condense(int(kept.sum()), number[tails[within]], number[heads[within]])
    targets = accepting[kept[accepting]]
    return unite_targets(
        c.count, c.tails, c.heads, c.component[number[targets]], targets % n, n, c.component[number[sources]]
    )


def _met(tails: np.ndarray, heads: np.ndarray, size: int, begin: np.ndarray) -> np.ndarray:
    """Which vertices are reached from some, themselves included."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    extra = np.full(len(begin), size)  # one more vertex, with an arc to each
    ends = np.concatenate([tails, extra]), np.concatenate([heads, begin])
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(size + 1, size + 1)).tocsr()
    found = np.zeros(size + 1, bool)
    found[breadth_first_order(graph, size, return_predecessors=False)] = True
    return found[:size]


def _labelled(source: Any, attribute: str) -> tuple[Labels, _Arcs]:
    """Names of vertices, and arcs by label."""
    if isinstance(source, Mapping):
        return _of_matrices(source)
    directed, vertices = True, []
    if hasattr(source, "edges") and hasattr(source, "nodes"):
        directed, vertices = source.is_directed(), list(source.nodes)
        source = source.edges(data=attribute)
    edges = [tuple(edge) for edge in source]
    if wrong := next((edge for edge in edges if len(edge) != 3 or edge[2] is None), None):
        raise ShapeError(
            f"reachable: edges must be (u, v, label), got {came(wrong)}. Of a NetworkX graph say label='…'."
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


def _of_matrices(matrices: Mapping[Any, Any]) -> tuple[Labels, _Arcs]:
    shapes = {
        tuple(A.shape if hasattr(A, "shape") else with_axes(A, where="reachable").shape) for A in matrices.values()
    }
    if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"reachable: all matrices must be square and of one size, got {sorted(map(str, shapes))}.")
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
