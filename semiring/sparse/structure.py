"""Elimination tree, supernodes and panel layout, from the pattern alone.

Supernode s has columns C, contiguous in the elimination order, and rows R, the vertices above C that its columns meet;
w = |C|, r = |R|. Sources: Liu 1990, "The role of elimination trees in sparse factorization"; Gilbert, Ng and Peyton
1994, "An efficient algorithm to compute row and column counts"; Ashcraft and Grimes 1989 on relaxed supernodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..kernels.cpu.pool import run
from ..kernels.cpu.sparse import symbolic
from ..kernels.cpu.sparse.strips import STRIP
from .order import Order, columns, inverse, postorder
from .pattern import shares

#: Half-open ranges (start, stop).
Ranges = list[tuple[int, int]]
#: Width up to which a supernode may hold any number of explicit zeros, and the fraction allowed to wider ones.
NARROW, ZEROS = 4, 0.2


@dataclass(frozen=True)
class Cost:
    """Operation and memory counts of elimination and queries, from the symbolic structure.

    Attributes
    ----------
    elimination : int
        Pairs (one ⊕ and one ⊗) of the numeric part: Σ w (w + r)².
    sweep : int
        Pairs of one row of A* without its climb: Σ w r.
    climb : int
        Pairs of the costliest climb, with the pivot blocks on its path: upper bound of what a row adds to `sweep`.
    fill : int
        Entries of A* restricted to the panels: Σ w (w + 2 r).
    height : int
        Vertices on the longest path from a leaf to a root.
    front : int
        Order of the largest front.
    entries : int
        Peak numbers in memory while eliminating: panels, pending updates, the largest front.
    changing : int
        Further numbers once few arcs are changed: updates of all fronts and weights, and a second set of everything.
    index_bytes : int
        Bytes of structure, graph and arcs.
    gpu_entries, gpu_index_bytes : int
        On a GPU: panels in strips of four columns, updates of all fronts, the largest front with its workspace,
        weights; and the tables that kernels read.
    """

    elimination: int
    sweep: int
    climb: int
    fill: int
    height: int
    front: int
    entries: int
    changing: int
    index_bytes: int
    gpu_entries: int
    gpu_index_bytes: int

    def bytes(self, itemsize: int) -> int:
        """Peak bytes while eliminating numbers of `itemsize` bytes."""
        return self.entries * itemsize + self.index_bytes

    def gpu_bytes(self, itemsize: int) -> int:
        return self.gpu_entries * itemsize + self.gpu_index_bytes

    def __str__(self) -> str:
        return (
            f"elimination {self.elimination:.3g} pairs, a row {self.sweep:.3g} + at most {self.climb:.3g} pairs, "
            f"fill {self.fill:,}, height {self.height:,}, largest front {self.front:,}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """Supernodes in postorder, each a contiguous range of the elimination order, and the layout of their panels.

    S supernodes; int32 unless noted; −1 for none.

    permutation, position (n,)    vertex eliminated k-th, and the inverse
    first (S + 1,), owner (n,)    first column of each supernode, supernode of each column
    parent, child, sibling (S,)   parent, first child, next child of the same parent
    begin (S + 1,) int64          CSR of the rows R in the next three
    rows, slot, local             column number of each row, its index on the root path, its index in the parent's front
    base (S,)                     index of the first column on the path from the root: 0 for a root
    panel (S,) int64              start of each (w + r) × w panel, in entries; the last supernode's first, as in a sweep
    update (S,) int64             start of the pending r × r update, in entries
    leaf (S,)                     the subtree of s is leaf[s] … s
    work (S + 1,) int64           prefix sum of elimination pairs
    """

    n: int
    permutation: np.ndarray
    position: np.ndarray
    first: np.ndarray
    owner: np.ndarray
    parent: np.ndarray
    child: np.ndarray
    sibling: np.ndarray
    begin: np.ndarray
    rows: np.ndarray
    slot: np.ndarray
    local: np.ndarray
    base: np.ndarray
    panel: np.ndarray
    update: np.ndarray
    leaf: np.ndarray
    work: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)

    def relabelled(self, labels: np.ndarray) -> Structure:
        """Same structure with vertex k renamed labels[k]."""
        permutation = labels[self.permutation]
        return replace(self, permutation=permutation, position=inverse(permutation))

    @cached_property
    def every(self) -> np.ndarray:
        """Path of a complete sweep."""
        return np.arange(len(self), dtype=np.int32)

    @cached_property
    def sizes(self) -> np.ndarray:
        w = np.diff(self.first).astype(np.int64)
        return w * (w + np.diff(self.begin))

    @cached_property
    def height(self) -> int:
        return int((self.base + np.diff(self.first)).max(initial=0))

    @cached_property
    def front(self) -> int:
        return int((np.diff(self.first) + np.diff(self.begin)).max(initial=0))

    @cached_property
    def climb(self) -> int:
        w, r = (np.diff(x).astype(np.int64) for x in (self.first, self.begin))
        return int(paths(self.parent, w, r)[0])

    @cached_property
    def centre(self) -> int:
        """The vertex eliminated last of the largest tree; 0 if there is none."""
        roots = np.flatnonzero(self.parent < 0)
        ends = self.first[roots + 1]
        return int(self.permutation[ends[(ends - self.first[self.leaf[roots]]).argmax()] - 1]) if self.n else 0

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Panel index of each column's diagonal entry of D."""
        return self.diagonal_of(self.panel, np.diff(self.first) + np.diff(self.begin), STRIP, False)

    def diagonal_of(self, panel: np.ndarray, high: np.ndarray, strip: int, padded: bool) -> np.ndarray:
        """`diagonal` for panels at other offsets, of `high` rows in strips of `strip` columns, padded or not."""
        position = np.empty(self.n, np.int64)
        symbolic.diagonal(self.first, panel, high, strip, padded, position)
        return position


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """Supernodes in postorder with their costs; rows are not listed yet.

    permutation (n,) int32: vertex eliminated k-th; first (S + 1,), parent (S,) int32: first column, parent (−1 for a
    root); height (S,) int64: r, the number of rows.
    """

    permutation: np.ndarray
    first: np.ndarray
    parent: np.ndarray
    height: np.ndarray

    @property
    def width(self) -> np.ndarray:
        return np.diff(self.first).astype(np.int64)


def supernodes(
    start: np.ndarray, adjacent: np.ndarray, order: Order, threads: int = 1, ending: np.ndarray | None = None
) -> Tree:
    """Supernodes of a graph in CSR form (start, adjacent) under an elimination order.

    Leaves among `ending` vertices (see `pattern.ends`) stay alone: they are eliminated by writing panels (fronts.py).
    """
    requested, n = order.permutation, len(order.permutation)
    parent, counts = order.columns or columns(start, adjacent, requested, order.dense)
    C, number, permutation = np.empty(n, symbolic.COLUMN), np.empty(n + 1, np.int32), np.empty(n, np.int32)
    first, above, height = np.zeros(n + 1, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    (size, place), (up, post) = postorder(parent), np.empty((2, n), np.uint32)

    def arrange(_: int, low: int, high: int) -> None:
        symbolic.in_postorder(low, high, parent, counts, size, place, C, up, post)

    run(arrange, shares(n, threads), threads)
    alone = np.zeros(n, bool) if ending is None else ending[requested[post]] & (post < n - order.dense)
    made = permutation, first, above, height
    count = symbolic.supernodes(requested, order.dense, NARROW, ZEROS, C, up, post, alone, number, *made)
    return Tree(permutation, first[: count + 1].copy(), above[:count].copy(), height[:count].copy())


def paths(parent: np.ndarray, w: np.ndarray, r: np.ndarray) -> tuple[int, int, int]:
    """Pairs and columns of the heaviest path to a root, and the peak entries of pending updates."""
    return symbolic.paths(parent, w, r, *np.zeros((3, len(parent)), np.int64))


def cost(tree: Tree, arcs: int) -> Cost:
    w, r = tree.width, tree.height.astype(np.int64)
    on_path, high, waiting = paths(tree.parent, w, r)
    fronts = int((w + r).max(initial=0))
    panels = 2 * int((w * (w + r)).sum())
    return Cost(
        elimination=int((w * (w + r).astype(np.float64) ** 2).sum()),  # beyond 64 bits from two million dense ones on
        sweep=int((w * r).sum()),
        climb=int(on_path),
        fill=int((w * (w + 2 * r)).sum()),
        height=int(high),
        front=fronts,
        entries=panels + int(waiting) + fronts**2,
        changing=panels + 2 * (int((r * r).sum()) + fronts**2 + arcs),
        index_bytes=12 * int(r.sum()) + 28 * len(tree.permutation) + 80 * len(w) + 28 * arcs,
        gpu_entries=8 * int((-(-w // 4) * (w + r + r % 2)).sum()) + int((r * r).sum()) + 5 * fronts**2 // 4 + arcs,
        gpu_index_bytes=16 * int((r + r % 2).sum()) + 16 * len(tree.permutation) + 80 * len(w) + 12 * arcs,
    )


def tops(parent: np.ndarray, leaf: np.ndarray, cost: np.ndarray, most: int) -> np.ndarray:
    """Roots of the maximal subtrees leaf[s] … s that cost at most `most`; see `below`."""
    fits = cost[1:] - cost[leaf] <= most
    return np.flatnonzero(fits & ~((parent >= 0) & fits[parent]))


def below(parent: np.ndarray, leaf: np.ndarray, cost: np.ndarray, most: int) -> Ranges:
    """Ranges of subtrees leaf[s] … s that cost about `most` each; cost is a prefix sum over supernodes."""
    total, uppermost = cost[1:] - cost[leaf], tops(parent, leaf, cost, most)
    start, stop, before = leaf[uppermost], uppermost + 1, np.cumsum(total[uppermost]) - total[uppermost]
    # Neighbours go together while they are few pairs.
    apart = (start[1:] != stop[:-1]) | (np.diff(before // max(1, most // 2)) > 0)
    edges = np.flatnonzero(np.concatenate(([True], apart, [True]))[: len(uppermost) + 1]).tolist()
    return [(int(start[a]), int(stop[b - 1])) for a, b in pairwise(edges)]


def outside(subtrees: Ranges, count: int) -> Ranges:
    """Nonempty ranges of 0 … count between subtrees."""
    ends = [0, *(edge for subtree in sorted(subtrees) for edge in subtree), count]
    return [(start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if start < stop]


def numbered(S: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tree number of each supernode, bits of the numbers above it, and the path length above each number.

    Supernodes with one number form a path (Schieber and Vishkin 1988, "On finding lowest common ancestors:
    simplification and parallelization", sections 2 and 3; here on postorder numbers). A virtual root without columns
    makes a forest a tree.
    """
    m = len(S)
    low, high = np.append(S.leaf, 0).astype(np.int64), np.arange(1, m + 2)  # low + 1 … high are the numbers below each
    bits = np.frexp((low ^ high).astype(np.float64))[1] - 1  # the one with most trailing zeros is taken
    number = high >> bits << bits
    above, up = number & -number, np.append(np.where(S.parent < 0, m, S.parent), m)
    while (up != m).any():
        above, up = above | above[up], up[up]
    above |= above[m]
    base = np.zeros(tree_numbers(S), np.int64)
    base[number[:m]] = S.base  # the last supernode of a number is the topmost
    return number[:m], above[:m], base


def tree_numbers(S: Structure) -> int:
    """Power of two above all tree numbers."""
    return 1 << (len(S) + 1).bit_length()


def build(start: np.ndarray, adjacent: np.ndarray, tree: Tree, threads: int = 1) -> Structure:
    """Rows and layout of all panels."""
    w, r = tree.width, tree.height
    position = inverse(tree.permutation)
    begin, work = (np.concatenate(([0], np.cumsum(x, dtype=np.int64))) for x in (r, w * (w + r) ** 2))
    entries = w * (w + r)
    panel = np.cumsum(entries[::-1])[::-1] - entries
    owner = np.repeat(np.arange(len(w), dtype=np.int32), w)
    S, rows = np.empty(len(w), symbolic.SUPERNODE), np.empty(begin[-1], np.int32)
    S["put"], S["seen"], S["parent"] = begin[:-1], len(position), tree.parent.view(np.uint32)
    base, (child, sibling) = np.zeros(len(w), np.int32), np.full((2, len(w)), -1, np.int32)
    update, leaf = np.empty(len(w), np.int64), np.empty(len(w), np.int32)
    symbolic.relatives(tree.parent, begin, child, sibling, update, leaf)
    local, slot = np.empty((2, len(rows)), np.int32)
    pattern = start, adjacent, *(x.view(np.uint32) for x in (tree.permutation, position, owner)), S, rows

    def fill(_: int, low: int, high: int) -> None:
        symbolic.rows(int(tree.first[low]), int(tree.first[high]), *pattern)

    def place(_: int, low: int, high: int) -> None:
        symbolic.places(low, high, tree.first, tree.parent, begin, rows, local, slot, base)

    # Subtrees in parallel: their rows before, their places after those of the supernodes above.
    most = int(begin[-1]) // (4 * threads)
    subtrees = below(tree.parent, leaf, begin + tree.first, most) if threads > 1 else []
    above = outside(subtrees, len(w))
    run(fill, subtrees, threads)
    for low, high in above:
        fill(0, low, high)
    for low, high in reversed(above):
        place(0, low, high)
    run(place, subtrees, threads)
    family = tree.permutation, position, tree.first, owner, tree.parent, child, sibling
    return Structure(len(position), *family, begin, rows, slot, local, base, panel, update, leaf, work)


@dataclass(frozen=True, eq=False, repr=False)
class Arcs:
    """Destination of arc weights: arcs arc[begin[s] … begin[s + 1]] lie in the front of supernode s, at (row, col)."""

    begin: np.ndarray
    arc: np.ndarray
    row: np.ndarray
    col: np.ndarray


def arcs(structure: Structure, tails: np.ndarray, heads: np.ndarray, threads: int = 1) -> Arcs:
    """Front positions of arcs of the graph analysed."""
    S, count = structure, len(tails)
    tails, heads, position, owner, rows = (x.view(np.uint32) for x in (tails, heads, S.position, S.owner, S.rows))
    of, found, placed = np.empty(count, np.uint32), np.empty(count, symbolic.ARC), np.empty((3, count), np.int32)
    start = np.zeros(len(S) + 1, np.int64)

    def owners(_: int, low: int, high: int) -> None:
        symbolic.owners(tails[low:high], heads[low:high], position, owner, of[low:high])

    def tally(_: int, low: int, high: int, numbers: np.ndarray) -> None:
        symbolic.tally(of, low, high, numbers)

    def place(_: int, low: int, high: int, numbers: np.ndarray) -> None:
        base, workspace = int(start[low]), np.empty(S.n, np.int32)
        ends = tails, heads, position, of, S.first, S.begin, rows
        symbolic.arcs(*ends, low, high, numbers, base, found, workspace, *placed)

    run(owners, shares(count, threads), threads)
    ranges = [(low, high, np.zeros(high - low + 2, np.uint32)) for low, high in shares(len(S), threads)]
    run(tally, ranges, threads)
    for low, high, numbers in ranges:
        start[low + 1 : high + 1] = start[low] + np.cumsum(numbers[2:], dtype=np.int64)
    run(place, ranges, threads)
    return Arcs(start, *placed)
