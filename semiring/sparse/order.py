"""Elimination orders of an undirected pattern: which vertex goes first decides the fill.

Approximate minimum degree: Amestoy, Davis and Duff 1996, "An approximate minimum degree ordering algorithm", on their
quotient graph. A variable that is eliminated becomes an *element*, the clique of its neighbours, stored as one list
instead of its edges; a variable's neighbours are those in the lists of its elements and those it still has by edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import AlgebraError, DeviceError, ShapeError
from ..spelling import did_you_mean

#: Parts of so many vertices are not dissected.
SMALLEST = 6
#: Vertices of at most so many neighbours are eliminated on the graph itself, if each of these has no more than SEARCHED
#: itself, and has not got more than SPARE since.
LOW, SPARE, SEARCHED = 3, 4, 64
#: Vertices of more than max(16, FACTOR √n) neighbours are ordered last: their lists would be read again at each step.
FACTOR = 10
#: So many vertices can wait 1 + LOW times each, numbered in 32 bits; so far go the stamps of quotient graphs.
NUMBERED, STAMPS = 2**30, 2**31 - 1


class Order(NamedTuple):
    """An elimination order.

    Attributes
    ----------
    permutation : int32 array, shape (n,)
        The vertices in the order in which they are eliminated.
    dense : int
        The last so many are to be one supernode: what remains there is as good as complete.
    columns : (int32 array, int32 array), optional
        Where they are known by then, the parent of each column in the elimination tree, −1 for a root, and the number
        of its entries on and below the diagonal. In place of the parent it may be one that goes before it in a chain of
        columns of the same rows.
    """

    permutation: np.ndarray
    dense: int = 0
    columns: tuple[np.ndarray, np.ndarray] | None = None


def minimum_degree(start: np.ndarray, heads: np.ndarray) -> Order:
    """The order by approximate minimum degree, until half of what remains are neighbours of everything that remains.

    Low degrees are exact, and go first, on the graph itself: of roads and the like most vertices, three times as fast.

    Parameters
    ----------
    start, heads : int64 array (n + 1,), uint32 array
        Neighbours of v: heads[start[v] : start[v + 1]], symmetric, without loops and duplicates.
    """
    from ..cpu.sparse import peeling

    n, low = len(start) - 1, LOW if len(start) < NUMBERED else 0
    V, adjacent = np.empty(n + 1, peeling.VERTEX), np.empty(len(heads) + n * SPARE, np.uint32)
    V["start"] = start + SPARE * np.arange(n + 1)
    first, turns = np.empty(n, np.int32), np.empty((2, 2 + n + low * n), np.uint32)
    count = peeling.peel(start, heads, low, SEARCHED, V, adjacent, first, *np.zeros((2, low + 1), np.uint32), *turns)
    del turns
    first, rest = first[:count], np.flatnonzero(V["turn"][:n] != peeling.GONE).astype(np.int32)
    begin, place = np.concatenate(([0], np.cumsum(V["degree"][rest], dtype=np.int64))), np.empty(n, np.uint32)
    place[rest], left = np.arange(len(rest), dtype=np.uint32), np.empty(begin[-1], np.uint32)
    peeling.among_themselves(V, adjacent, rest, place, left)
    found = _quotient(begin, left)
    parent, counts = found.columns or columns(begin, left, found.permutation, found.dense)
    permutation, (up, size) = np.concatenate((first, rest[found.permutation])), np.empty((2, n), np.int32)
    peeling.followed(first, V, adjacent, inverse(permutation), found.dense, up, size)
    up[count:], size[count:] = np.where(parent >= 0, parent + count, -1), counts
    return Order(permutation, found.dense, (up, size))


def _quotient(start: np.ndarray, heads: np.ndarray) -> Order:
    """The order by approximate minimum degree on the quotient graph; no columns where hubs are last."""
    from ..cpu.sparse import degree

    n, size = len(start) - 1, len(heads)
    lists = np.empty(min(size + size // 5 + n + 1, 2**32 - 1), np.uint32)
    lists[:size] = heads
    into, step, above = *np.full((2, n), -1, np.int32), np.empty(n, np.int32)
    steps, dense, hubs = degree.minimum_degree(
        start, size, max(16.0, FACTOR * n**0.5), STAMPS, lists, np.empty(n + 1, degree.VERTEX), into, step, above,
        np.full(n + 1, n, np.uint32), np.full(degree.HASHES, n, np.uint32),
    )  # fmt: skip
    order, key, *known = np.empty((4, n), np.int32)
    degree.columns(into, step, above, steps, dense, key, np.zeros(steps + 3, np.int64), order, *known)
    return Order(order, dense, None if hubs else (known[0], known[1]))


def inverse(permutation: np.ndarray) -> np.ndarray:
    """The place of each item of a permutation."""
    position = np.empty(len(permutation), np.int32)
    position[permutation] = np.arange(len(permutation), dtype=np.int32)
    return position


def columns(start: np.ndarray, heads: np.ndarray, order: np.ndarray, dense: int) -> tuple[np.ndarray, np.ndarray]:
    """The parent of each column in the elimination tree, and its entries on and below the diagonal; see `Order`."""
    from ..cpu.sparse import symbolic

    pattern, n = (start, heads, order, inverse(order)), len(order)
    parent, counts = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    ancestor, *workspace = np.full((4, n), -1, np.int32)
    symbolic.tree(*pattern, parent, ancestor)
    post = inverse(postorder(parent)[1][:n])
    symbolic.counts(*pattern, dense, post, parent, counts, ancestor, *workspace)
    return parent, counts


def postorder(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(size, place): vertices of each one's subtree, and its place where children come before parents; n: the root."""
    from ..cpu.sparse import symbolic

    n = len(parent)
    size, (place, end) = np.ones(n + 1, np.uint32), np.empty((2, n + 1), np.uint32)
    symbolic.postorder(parent, size, place, end)
    return size, place


def levels(start: np.ndarray, heads: np.ndarray) -> Order:
    """Nested dissection by levels of breadth-first searches: for lattices."""
    from ..cpu.sparse.levels import levels as run

    n = len(start) - 1
    order, part, seen = np.arange(n, dtype=np.int32), np.zeros(n, np.int32), np.full(n, -1, np.int32)
    run(start, heads, SMALLEST, order, part, seen, *np.empty((4, n + 2), np.int32))
    return Order(order)


def even(start: np.ndarray) -> bool:
    """Whether nearly all vertices have the same few neighbours, as in a lattice."""
    degrees = np.diff(start)
    return len(degrees) >= 1000 and 3 <= degrees.max() <= 6 and bool(degrees.mean() >= degrees.max() - 0.5)


def metis(start: np.ndarray, heads: np.ndarray) -> Order:
    """Nested dissection by METIS (Karypis and Kumar 1998).

    Raises
    ------
    DeviceError
        If pymetis is not installed.
    """
    try:
        import pymetis
    except ImportError:
        raise DeviceError(
            "order='metis' needs pymetis, got an installation without. `pip install pymetis`, or leave the order out."
        ) from None
    if len(start) <= 2:
        return natural(start, heads)
    permutation, _ = pymetis.nested_dissection(xadj=start, adjncy=heads.view(np.int32))
    return Order(np.asarray(permutation, np.int32))


def natural(start: np.ndarray, heads: np.ndarray) -> Order:
    """The vertices as they are numbered."""
    return Order(np.arange(len(start) - 1, dtype=np.int32))


#: Name → the function that finds an order.
ORDERS = {"degree": minimum_degree, "levels": levels, "metis": metis, "natural": natural}

#: Those that find one, whatever the labels are.
FOUND = ("auto", "degree", "levels", "metis")


def candidates(start: np.ndarray, heads: np.ndarray, wanted: Any) -> dict[str, Order]:
    """What the caller wants, by name: one order, or for "auto" those of which the one that counts least is to be taken.

    Raises
    ------
    AlgebraError
        If there is no such order.
    ShapeError
        If an array is not a permutation of the vertices.
    """
    if isinstance(wanted, str) and wanted == "auto":
        names = ["degree", "levels"] if even(start) else ["degree"]
        return {name: ORDERS[name](start, heads) for name in names}
    n = len(start) - 1
    if isinstance(wanted, Order):
        return {"given": wanted}
    if isinstance(wanted, str):
        if wanted not in ORDERS:
            raise AlgebraError(
                f"order must be one of auto, {', '.join(ORDERS)} or a permutation of the vertices, got {wanted!r}."
                f"{did_you_mean(wanted, ('auto', *ORDERS))}"
            )
        return {wanted: ORDERS[wanted](start, heads)}
    permutation = np.asarray(wanted)
    fits = permutation.shape == (n,) and (n == 0 or permutation.dtype.kind in "iu")
    if not fits or not np.array_equal(np.sort(permutation), np.arange(n)):
        raise ShapeError(
            f"order must be a permutation of the vertices 0 … {n - 1}, got an array of shape {permutation.shape} and "
            f"dtype {permutation.dtype} that is none."
        )
    return {"given": Order(permutation.astype(np.int32))}
