"""Stored arcs of a sparse matrix, and its undirected pattern (neighbours in either direction)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..host.arrays import broadcast, checked_sparse, consistent, refuse_masked, require_square
from ..host.errors import DTypeError, ShapeError, VertexError
from ..host.types import Array
from ..kernels.cpu.pool import run
from ..kernels.cpu.sparse import symbolic
from .quotient import ENDS, cuts, spans

#: Vertices below which neither renumbering nor threads pay; and the mean distance of neighbours' numbers, as a share of
#: n, from which `near` renumbers.
SMALL, APART = 10_000, 1 / 16


def near(
    tails: np.ndarray, heads: np.ndarray, start: np.ndarray, adjacent: np.ndarray, threads: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Locality-improving vertex order and the renumbered graph; None where neighbours are near already.

    On a mesh of 126,000 vertices in random order, ordering and symbolic analysis take two thirds of the time. It also
    leaves few edges between parts (quotient.py).
    """
    n = len(start) - 1
    if n < SMALL or not len(tails) or np.abs(tails - heads).mean() < APART * n:
        return None
    place, begin, edges = np.full(n, n, np.uint32), np.zeros(n + 1, np.int64), np.array(cuts(n), np.uint64)
    order, renumbered = np.empty(n + 1, np.uint32), np.empty_like(adjacent)
    symbolic.grow(start, adjacent, edges, order, place, *np.empty((2, len(edges) - 1), np.uint64))
    np.cumsum(np.diff(start)[order[:n]], out=begin[1:])

    def renumber(_: int, low: int, high: int) -> None:
        symbolic.renumber(start, adjacent, order, place, low, high, begin, renumbered)

    run(renumber, spans(n), threads)
    return order[:n].view(np.int32), begin, renumbered


def neighbours(tails: np.ndarray, heads: np.ndarray, n: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric CSR (start int64, adjacent uint32) of the arcs, without loops and duplicates."""
    start, tails, heads = np.zeros(n + 1, np.int64), tails.view(np.uint32), heads.view(np.uint32)
    ranges = shares(n, threads)
    found: dict[int, np.ndarray] = {}

    def find(_: int, low: int, high: int) -> None:
        place, seen = np.zeros(high - low + 2, np.uint32), np.full(n, n, np.uint32)
        for ends in tails, heads:
            symbolic.tally(ends, low, high, place)
        adjacent = np.empty(place.sum(dtype=np.int64), np.uint32)
        count = symbolic.neighbours(tails, heads, low, high, start[low + 1 : high + 1], adjacent, place, seen)
        found[low] = adjacent[:count]

    run(find, ranges, threads)
    for low, high in ranges[1:]:
        start[low + 1 : high + 1] += start[low]
    return start, np.concatenate([found[low] for low, _ in ranges])


def ends(tails: np.ndarray, heads: np.ndarray, n: int) -> np.ndarray | None:
    """Mask of the vertices that no walk passes through, without arcs in or out; None if they are few."""
    out, into = np.zeros((2, n + 2), np.uint32)
    for side, count in (tails, out), (heads, into):
        symbolic.tally(side.view(np.uint32), 0, n, count)
    found = (out[2:] == 0) | (into[2:] == 0)
    return found if np.count_nonzero(found) > ENDS * n else None


def shares(count: int, parts: int) -> list[tuple[int, int]]:
    """0 … count in at most `parts` nonempty ranges of about equal length."""
    parts = max(1, min(parts, count))
    edges = [count * k // parts for k in range(parts + 1)]
    return list(pairwise(edges))


def indices(x: Array, n: int, *, where: str, what: str = "vertices") -> np.ndarray:
    """Vertices (or `what`) as int64, any shape; VertexError unless integers in 0 … n − 1."""
    return checked(x, n, where=where, what=what).astype(np.int64, copy=False)


def checked(x: Array, n: int, *, where: str, what: str = "vertices") -> np.ndarray:
    """Validate; return unchanged."""
    refuse_masked(x, where=where, way=f"{what} = x.compressed()")
    array = np.asarray(x)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise VertexError(f"{where}: {what} must be integers, got dtype {array.dtype}.")
    least, greatest = int(array.min()), int(array.max())
    if least < 0 or greatest >= n:
        raise VertexError(f"{where}: {what} must lie in 0 … {n - 1}, got {least if least < 0 else greatest}.")
    return array


def paired(i: Array, j: Array, n: int) -> tuple[np.ndarray, ...]:
    return broadcast("entries: i and j", *(indices(x, n, where="entries") for x in (i, j)))


def rows_wanted(sources: Array, n: int, block: int | None) -> np.ndarray:
    """Sources of requested rows, by default all; VertexError or ShapeError for invalid sources or block."""
    if block is not None and (not isinstance(block, (int, np.integer)) or block < 1):
        raise ShapeError(f"rows: block must be a positive integer, got {block!r}.")
    return np.arange(n) if sources is None else indices(sources, n, where="rows").ravel()


def stored(A: Array, n: int | None, *, where: str) -> tuple[np.ndarray, np.ndarray, Array, int]:
    """(rows, columns, values, n) of a sparse matrix or a pair of arrays: all stored entries."""
    if isinstance(A, tuple) and len(A) == 2:
        rows, cols = (x if isinstance(x, np.ma.MaskedArray) else np.asarray(x) for x in A)
        values = None
        if n is None:
            raise ShapeError(f"{where}: rows and columns need the number of vertices, got n=None. Pass n.")
    elif hasattr(A, "tocoo"):
        require_square(A.shape, where=where, what="a sparse matrix")
        coo = checked_sparse(A, where=where).tocoo(copy=False)
        if n is not None and n != A.shape[0]:
            raise ShapeError(f"{where}: n must be that of the matrix, {A.shape[0]}, got {n}. Leave it out.")
        rows, cols, values, n = coo.row, coo.col, coo.data, A.shape[0]
    else:
        raise DTypeError(
            f"{where}: a SciPy sparse matrix or array is required, got {type(A).__name__}. "
            "Pass scipy.sparse.coo_array(A), or Elimination.from_arrays for arcs."
        )
    if rows.ndim != 1 or rows.shape != cols.shape:
        raise ShapeError(f"{where}: rows and columns must be vectors of one length, got {rows.shape} and {cols.shape}.")
    if n != int(n) or not 0 <= n < 2**31 - 1:
        raise ShapeError(f"{where}: the number of vertices must be an integer in 0 … 2³¹ − 2, got {n}.")
    n = int(n)
    if len(rows) >= 2**30:
        raise ShapeError(f"{where}: a matrix of fewer than 2³⁰ stored entries is required, got {len(rows):,}.")
    rows, cols = (checked(x, n, where=where).astype(np.int32) for x in (rows, cols))  # copies
    return rows, cols, values, n


def is_square_csr(A: Array) -> bool:
    """Whether A is a consistent, square csr matrix whose arcs 32 bits count."""
    return consistent(A) and A.shape[0] == A.shape[1] < 2**31 - 1 and len(A.indices) < 2**30


def tails_of(start: np.ndarray) -> np.ndarray:
    """Row of each entry of a CSR matrix."""
    return np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
