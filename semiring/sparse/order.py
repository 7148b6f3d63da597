"""Elimination orders of an undirected pattern, which determine the fill.

Approximate minimum degree: Amestoy, Davis and Duff 1996, "An approximate minimum degree ordering algorithm", on their
quotient graph. An eliminated variable becomes an *element*, the clique of its neighbours, stored as one list instead of
its edges; a variable's neighbours are those in its elements' lists and those along remaining edges.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..host.errors import AlgebraError, DeviceError, ShapeError
from ..host.memory import require
from ..host.spelling import did_you_mean
from ..kernels.cpu.pool import run
from . import quotient

#: Size at which dissection stops.
SMALLEST = 6


class Order(NamedTuple):
    """Elimination order.

    permutation (n,), int32    vertices in elimination order
    dense                      number of vertices at the end that form one supernode, as good as complete
    columns, optional          int32 arrays (parent, count): elimination tree parent of each column (−1 for a root; it
    may be an earlier one in a chain of columns of equal rows), and entries on and below the diagonal
    """

    permutation: np.ndarray
    dense: int = 0
    columns: tuple[np.ndarray, np.ndarray] | None = None


def minimum_degree(start: np.ndarray, heads: np.ndarray, threads: int = 1, ending: np.ndarray | None = None) -> Order:
    """Approximate minimum degree order, until half of the rest is adjacent to all of the rest.

    Low degrees are exact and go first, on the graph itself: most vertices of road networks, three times as fast. Large
    graphs are cut into parts for threads (quotient.py); the order does not depend on their number. (start, heads):
    symmetric CSR without loops and duplicates. `ending` vertices (see `pattern.ends`) go first in each part.
    """
    from ..kernels.cpu.sparse import degree, peeling

    if ending is not None:
        ending = ending & (np.diff(start) <= quotient.ENDING)
    parts, frozen, place = quotient.parts(start, heads, threads, ending)
    graphs = [part.graph for part in parts]
    # The rest after low degrees: of each part, then the frozen; steps of each part, then of the united rest.
    offset, before = (np.cumsum([0, *x]) for x in ([G.inner for G in graphs], [len(G.above) for G in graphs]))
    vertex = np.concatenate([*(part.named(part.rest[: part.graph.inner]) for part in parts), frozen.view(np.int32)])
    into, step = np.full((2, len(vertex)), -1, np.int32)
    for G, first, steps in zip(graphs, offset.tolist(), before.tolist(), strict=False):
        for numbers, own, added in (into, G.into, first), (step, G.step, steps):
            numbers[first : first + G.inner] = own[: G.inner] + np.where(own[: G.inner] >= 0, np.int32(added), 0)
    last, above = graphs[0], [G.above for G in graphs]
    if len(parts) > 1:
        last, left = quotient.join(parts, start, heads, frozen, place)
        number = (first + nodes for first, nodes in zip(offset, left, strict=False))
        name = np.concatenate([np.arange(offset[-1], len(vertex)), *number]).astype(np.int32)
        absorbed, pivot = np.flatnonzero(last.into >= 0), np.flatnonzero(last.step >= 0)
        into[name[absorbed]] = name[last.into[absorbed]]
        step[name[pivot]] = last.step[pivot] + np.int32(before[-1])
        above.append(last.above)
    every, dense = np.concatenate(above), last.dense
    order, key, parent, counts = np.empty((4, len(vertex)), np.int32)
    workspace = key, np.zeros(len(every) + 3, np.int64)
    degree.columns(into, step, every, len(every), dense, *workspace, order, parent, counts)
    if last.hubs:
        parent, counts = columns(parts[0].start, parts[0].heads, order, dense)
    permutation = np.concatenate([*(part.named(part.first) for part in parts), vertex[order]])
    position, (up, size) = inverse(permutation), np.empty((2, len(permutation)), np.int32)
    ends = np.cumsum([0, *(len(part.first) for part in parts)]).tolist()

    def follow(_: int, part: quotient.Part, low: int, high: int) -> None:
        places = position if part.names is None else position[part.names]
        peeling.followed(part.first, part.V, part.adjacent, places, len(position), dense, up[low:high], size[low:high])

    run(follow, list(zip(parts, ends, ends[1:], strict=False)), threads)
    up[ends[-1] :], size[ends[-1] :] = np.where(parent >= 0, parent + ends[-1], -1), counts
    return Order(permutation, dense, (up, size))


def inverse(permutation: np.ndarray) -> np.ndarray:
    position = np.empty(len(permutation), np.int32)
    position[permutation] = np.arange(len(permutation), dtype=np.int32)
    return position


def columns(start: np.ndarray, heads: np.ndarray, order: np.ndarray, dense: int) -> tuple[np.ndarray, np.ndarray]:
    """Elimination tree parent and column count (diagonal included) of each column; see `Order`."""
    from ..kernels.cpu.sparse import symbolic

    pattern, n = (start, heads, order, inverse(order)), len(order)
    parent, counts = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    ancestor, *workspace = np.full((4, n), -1, np.int32)
    symbolic.tree(*pattern, parent, ancestor)
    post = inverse(postorder(parent)[1][:n])
    symbolic.counts(*pattern, dense, post, parent, counts, ancestor, *workspace)
    return parent, counts


def postorder(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(size, place): subtree size and postorder number of each vertex; item n is the virtual root."""
    from ..kernels.cpu.sparse import symbolic

    n = len(parent)
    size, (place, end) = np.ones(n + 1, np.uint32), np.empty((2, n + 1), np.uint32)
    symbolic.postorder(parent, size, place, end)
    return size, place


def levels(start: np.ndarray, heads: np.ndarray, threads: int = 1) -> Order:
    """Nested dissection by breadth-first levels, for lattices."""
    from ..kernels.cpu.sparse.levels import levels as run

    n = len(start) - 1
    order, part, seen = np.arange(n, dtype=np.int32), np.zeros(n, np.int32), np.full(n, -1, np.int32)
    run(start, heads, SMALLEST, order, part, seen, *np.empty((4, n + 2), np.int32))
    return Order(order)


def even(start: np.ndarray) -> bool:
    """Whether nearly all vertices have the same small degree, as in a lattice."""
    degrees = np.diff(start)
    return len(degrees) >= 1000 and 3 <= degrees.max() <= 6 and bool(degrees.mean() >= degrees.max() - 0.5)


def metis(start: np.ndarray, heads: np.ndarray, threads: int = 1) -> Order:
    """Nested dissection by METIS (Karypis and Kumar 1998); DeviceError without pymetis."""
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


def natural(start: np.ndarray, heads: np.ndarray, threads: int = 1) -> Order:
    return Order(np.arange(len(start) - 1, dtype=np.int32))


#: Order function by name.
ORDERS = {"degree": minimum_degree, "levels": levels, "metis": metis, "natural": natural}

#: Orders independent of the labels.
FOUND = ("auto", "degree", "levels", "metis")


def candidates(
    start: np.ndarray, heads: np.ndarray, wanted: Any, threads: int = 1, ending: np.ndarray | None = None
) -> dict[str, Order]:
    """Requested orders by name: one, or for "auto" several to compare by count.

    Raises AlgebraError for an unknown name, ShapeError for an array that is no permutation, and MemoryNeeded, as
    ordering holds more than the arcs.
    """
    hint = "Finding an order takes more than the arcs; Dijkstra from the sources wanted takes less."
    require(32 * len(heads) + 48 * len(start), where="eliminate", hint=hint)
    orders = ORDERS | {"degree": partial(minimum_degree, ending=ending)}
    if isinstance(wanted, str) and wanted == "auto":
        names = ["degree", "levels"] if even(start) else ["degree"]
        return {name: orders[name](start, heads, threads) for name in names}
    n = len(start) - 1
    if isinstance(wanted, Order):
        return {"given": wanted}
    if isinstance(wanted, str):
        if wanted not in ORDERS:
            raise AlgebraError(
                f"order must be one of auto, {', '.join(ORDERS)} or a permutation of the vertices, got {wanted!r}."
                f"{did_you_mean(wanted, ('auto', *ORDERS))}"
            )
        return {wanted: orders[wanted](start, heads, threads)}
    permutation = np.asarray(wanted)
    fits = permutation.shape == (n,) and (n == 0 or permutation.dtype.kind in "iu")
    if not fits or not np.array_equal(np.sort(permutation), np.arange(n)):
        raise ShapeError(
            f"order must be a permutation of the vertices 0 … {n - 1}, got an array of shape {permutation.shape} and "
            f"dtype {permutation.dtype} that is none."
        )
    return {"given": Order(permutation.astype(np.int32))}
