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
    from ..cpu.sparse import peeling, symbolic
    from ..cpu.sparse.degree import minimum_degree as run

    low = LOW if len(start) < NUMBERED else 0
    first, rest, among, them, *lists = peeling.peel(start, heads, low, SPARE, SEARCHED)
    found, parent, counts, dense = run(among, them, FACTOR, STAMPS)
    if len(parent) < len(found):
        parent, counts = symbolic.columns(among, them, found, inverse(found), dense)
    permutation, *columns = peeling.followed(first, *lists, rest[found], parent, counts, dense)
    return Order(permutation, int(dense), tuple(columns))


def inverse(permutation: np.ndarray) -> np.ndarray:
    """The place of each item of a permutation."""
    position = np.empty(len(permutation), np.int32)
    position[permutation] = np.arange(len(permutation), dtype=np.int32)
    return position


def levels(start: np.ndarray, heads: np.ndarray) -> Order:
    """Nested dissection by levels of breadth-first searches: for lattices."""
    from ..cpu.sparse.levels import levels as run

    return Order(run(start, heads, SMALLEST))


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
