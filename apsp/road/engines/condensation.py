"""Condensation of a graph to its strongly connected components.

The closure of the condensation, an acyclic graph, answers all reachability queries (Purdom 1970; Nuutila 1995,
"Efficient transitive closure computation in large digraphs").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from semiring.dense.acyclic import expand_acyclic
from semiring.dense.bits import BitMatrix
from semiring.host.types import Matrix
from semiring.sparse.reach import components

#: Bits of a strip's transpose.
_STRIP = 1 << 28
#: Rows copied at a time.
_ROWS = 128
#: Maximum arcs per component for uniting rows along them, and for asking about pairs of them.
FEW = 8


@dataclass(frozen=True)
class Condensation:
    """The components of a graph and the arcs between them.

    `component` (n,), int32, is that of each vertex, in reverse topological order: arcs lead to lower numbers, 0 is a
    sink. `sizes`, `cyclic` (count,) are the number of vertices, and whether they lie on a cycle (several vertices, or a
    loop). `tails`, `heads` (m,) are the arcs between components, distinct, sorted by tail; empty if nothing shrank.
    """

    component: np.ndarray = field(repr=False)
    sizes: np.ndarray = field(repr=False)
    cyclic: np.ndarray = field(repr=False)
    tails: np.ndarray = field(repr=False)
    heads: np.ndarray = field(repr=False)

    @property
    def count(self) -> int:
        return len(self.sizes)


def trivial(n: int, cyclic: np.ndarray) -> Condensation:
    """Every vertex its own component, without arcs: for graphs not worth condensing."""
    none = np.zeros(0, dtype=np.int64)
    return Condensation(np.arange(n), np.ones(n, dtype=np.int64), cyclic, none, none)


def condense(n: int, tails: np.ndarray, heads: np.ndarray) -> Condensation:
    """The condensation of n vertices with edges tails[e] → heads[e]."""
    count, component = components(n, tails, heads)
    sizes = np.bincount(component, minlength=count).astype(np.int32)
    cyclic = sizes > 1
    cyclic[component[tails[tails == heads]]] = True
    sources, targets = component[tails], component[heads]
    between = sources != targets
    # One key an arc sorts and deduplicates at once; count² < 2⁶³ up to 3 · 10⁹ components.
    arcs = np.sort(sources[between] * np.int64(count) + targets[between])
    arcs = arcs[np.diff(arcs, prepend=-1) > 0]
    return Condensation(component, sizes, cyclic, *(x.astype(np.int32) for x in np.divmod(arcs, max(count, 1))))


def expanded(closed: BitMatrix, c: Condensation) -> BitMatrix:
    """The closure of vertices from that of components: M[i, j] = closed[component[i], component[j]]."""
    if len(c.tails) <= FEW * c.count:
        return expand_acyclic(closed, c.component, c.tails, c.heads)
    return _gathered(closed, c.component)


def _gathered(closed: BitMatrix, component: np.ndarray) -> BitMatrix:
    """`expanded` for any arcs, by strips: columns are gathered as rows of the transpose, as single bits are slow."""
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
        for part in range(0, len(rows), _ROWS):  # few enough for the cache
            here = rows[part : part + _ROWS]
            words[here] = strip.words[component[here] - first]
    return BitMatrix(words, (n, n))


def expansion_bytes(n: int, count: int) -> int:
    """Workspace of `expanded` in bytes: a strip's columns in both layouts; vertices and arcs."""
    return 2 * n * min(_height(n), count) // 8 + 48 * n + 40 * FEW * count


def _height(n: int) -> int:
    """Components per strip, a multiple of 64."""
    return max(64, _STRIP // max(n, 1) // 64 * 64)


def reached(n: int, tails: np.ndarray, heads: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Mask of vertices reachable from some sources, which are included: bool (n,)."""
    from scipy.sparse.csgraph import breadth_first_order

    extra = np.full(len(sources), n)  # a super-source
    A = adjacency(n + 1, np.concatenate((tails, extra)), np.concatenate((heads, sources)))
    found = np.zeros(n + 1, bool)
    found[breadth_first_order(A.tocsr(), n, return_predecessors=False)] = True
    return found[:n]


def adjacency(n: int, tails: np.ndarray, heads: np.ndarray) -> Matrix:
    """The pattern of arcs as a SciPy `coo_array`."""
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n, n))
