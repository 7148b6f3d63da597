"""A graph shrunk to its strongly connected components: what is mutually reachable is one vertex.

The closure of the condensation, an acyclic graph, answers every question of reachability in the graph itself
(Purdom 1970; Nuutila 1995, "Efficient transitive closure computation in large digraphs").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from semiring.acyclic import expand_acyclic
from semiring.bits import BitMatrix

#: So many bits of a strip's transpose are held at a time.
_STRIP = 1 << 28
#: So many rows are copied at a time.
_ROWS = 128
#: Where there are at most so many arcs a component, rows are united along them.
_FEW = 8


@dataclass(frozen=True)
class Condensation:
    """The components of a graph and the arcs between them.

    Attributes
    ----------
    component : int64 array, shape (n,)
        The component of each vertex. They are numbered so that an arc leads from a higher number to a lower one:
        0 is a sink, and ascending order is a reverse topological order.
    sizes : int64 array, shape (count,)
        How many vertices each component has.
    cyclic : bool array, shape (count,)
        Whether its vertices lie on a cycle: there are several, or one with an edge to itself.
    tails, heads : int64 arrays, shape (m,)
        The arcs between different components, each once, sorted by tail; none are listed where nothing shrank.
    """

    component: np.ndarray = field(repr=False)
    sizes: np.ndarray = field(repr=False)
    cyclic: np.ndarray = field(repr=False)
    tails: np.ndarray = field(repr=False)
    heads: np.ndarray = field(repr=False)

    @property
    def count(self) -> int:
        """The number of components."""
        return len(self.sizes)


def trivial(n: int, cyclic: np.ndarray) -> Condensation:
    """Every vertex its own component, no arcs listed: for graphs that are not worth shrinking."""
    none = np.zeros(0, dtype=np.int64)
    return Condensation(np.arange(n), np.ones(n, dtype=np.int64), cyclic, none, none)


def condense(n: int, tails: np.ndarray, heads: np.ndarray) -> Condensation:
    """The condensation of the graph with n vertices and edges tails[e] → heads[e]."""
    count, component = components(n, tails, heads)
    sizes = np.bincount(component, minlength=count)
    cyclic = sizes > 1
    cyclic[component[tails[tails == heads]]] = True
    sources, targets = component[tails], component[heads]
    between = sources != targets
    # One number an arc sorts and merges duplicates in one go; count² stays below 2⁶³ for 3 · 10⁹ components.
    arcs = np.sort(sources[between] * np.int64(count) + targets[between])
    arcs = arcs[np.diff(arcs, prepend=-1) > 0]
    sources, targets = arcs // max(count, 1), arcs % max(count, 1)
    if (sources < targets).any():
        order = _reverse_topological(count, sources, targets)
        component, sizes, cyclic = order[component], _permuted(sizes, order), _permuted(cyclic, order)
        arcs = np.sort(order[sources] * np.int64(count) + order[targets])
        sources, targets = arcs // count, arcs % count
    return Condensation(component, sizes, cyclic, sources, targets)


def expanded(closed: BitMatrix, c: Condensation) -> BitMatrix:
    """The matrix of all vertices, out of that of their components: M[i, j] = closed[component[i], component[j]]."""
    if len(c.tails) <= _FEW * c.count:
        return expand_acyclic(closed, c.component, c.tails, c.heads)
    return _gathered(closed, c.component)


def _gathered(closed: BitMatrix, component: np.ndarray) -> BitMatrix:
    """M[i, j] = closed[component[i], component[j]], whatever the arcs.

    A bit is slow to fetch, a row of words is not: columns are gathered as rows of the transpose, strip by strip.
    """
    n, count = len(component), len(closed)
    words = np.empty((n, -(-n // 64)), np.uint64)
    order = np.argsort(component, kind="stable")
    starts = np.searchsorted(component[order], np.arange(count + 1))
    height = _height(n)
    for first in range(0, count, height):
        last = min(first + height, count)
        across = BitMatrix(closed.words[first:last], (last - first, count)).T
        strip = BitMatrix(across.words[component], (n, last - first)).T
        rows = order[starts[first] : starts[last]]
        for part in range(0, len(rows), _ROWS):  # so few that their copy stays in cache
            here = rows[part : part + _ROWS]
            words[here] = strip.words[component[here] - first]
    return BitMatrix(words, (n, n))


def expansion_bytes(n: int, count: int) -> int:
    """Workspace of `expanded` in bytes: a strip's columns, as rows and as columns; vertices and arcs."""
    return 2 * n * min(_height(n), count) // 8 + 48 * n + 40 * _FEW * count


def _height(n: int) -> int:
    """How many components a strip has, in whole words."""
    return max(64, _STRIP // max(n, 1) // 64 * 64)


def components(n: int, tails: np.ndarray, heads: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strongly connected components, and the component of each vertex."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if n == 0:
        return 0, np.zeros(0, dtype=np.int64)
    edges = coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(n, n))
    count, component = connected_components(edges, directed=True, connection="strong")
    return int(count), component.astype(np.int64)


def reached(n: int, tails: np.ndarray, heads: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Which vertices walks from some sources reach, bool (n,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    lines = coo_array((np.ones(len(tails)), (tails, heads)), shape=(n, n)).tocsr()
    found: np.ndarray = np.isfinite(dijkstra(lines, indices=np.unique(sources), min_only=True))
    return found


def _permuted(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    out = np.empty_like(values)
    out[order] = values
    return out


def _reverse_topological(count: int, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """A new number for each vertex of an acyclic graph, sinks first (Kahn 1962, from the sinks)."""
    by_head = np.argsort(heads, kind="stable")
    start = np.searchsorted(heads[by_head], np.arange(count + 1))
    waiting = np.bincount(tails, minlength=count)
    ready = np.flatnonzero(waiting == 0).tolist()
    order = np.empty(count, dtype=np.int64)
    placed = 0
    while ready:
        v = ready.pop()
        order[v] = placed
        placed += 1
        for u in tails[by_head[start[v] : start[v + 1]]].tolist():
            waiting[u] -= 1
            if not waiting[u]:
                ready.append(u)
    return order
