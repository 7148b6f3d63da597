"""Integers that have saturated: where a distance is beyond what its dtype holds, and the error that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.backend import bind
from semiring.bits import BitMatrix
from semiring.catalog import lor_land
from semiring.devices import host
from semiring.errors import DomainError
from semiring.memory import available

from ..graph import Graph
from ..log import logger
from ..wants import Wants
from .base import Engine
from .condensation import condense
from .packed import close
from .united import closed

#: Which vertices walks from some sources reach: bool, shape (sources, n).
Reach = Callable[[np.ndarray], np.ndarray]


def possible(weights: Any, s: Semiring, n: int) -> bool:
    """Whether a walk of n − 1 edges can weigh more than the integers hold; it would seem to be no walk."""
    if weights.dtype.kind != "i" or not s.mul.saturating:
        return False
    return bool(n * dtypes.largest_finite(weights) >= np.iinfo(weights.dtype).max)


def refuse(
    rows: Iterable[tuple[np.ndarray, Any]],
    dtype: np.dtype,
    labels: Any,
    reach: Callable[[], Reach | None],
    *,
    where: str = "shortest_paths",
) -> None:
    """Refuse distances in which a best walk has saturated: the zero where there is a walk, or the other end.

    None is missed. Parts of a best walk are best walks, so that where no best walk saturates, none of its parts does;
    and of those that do, one of fewest edges is joined from parts that are exact. A saturated sum never beats the true
    one, so that a closed walk that beats `one` does so in truth; and one that does not because a part of it has
    saturated has another part that is beyond the other end, which is seen here.

    Parameters
    ----------
    rows : iterable of (sources, rows)
        All distances, computed in this dtype.
    labels : sequence
        What vertices are called.
    reach : callable
        Called where an entry is an end of the dtype: what finds the vertices that walks reach, or None where that does
        not fit; the log then says what may have saturated.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    info, reached = np.iinfo(dtype), None
    for sources, found in rows:
        block = host(found)
        ends = (block == info.min) | (block == info.max)
        bad = np.flatnonzero(ends.any(axis=1))
        if not len(bad):
            continue
        if reached is None and (reached := reach()) is None:
            u, v = labels[int(sources[bad[0]])], labels[int(ends[bad[0]].argmax())]
            text = f"{where}: no walk from %r to %r, or one beyond ±%d, which %s does not hold. Say a wider dtype."
            logger.warning(text, u, v, info.max, dtype)
            return
        wrong = ends[bad] & reached(sources[bad])
        if wrong.any():
            k, j = np.argwhere(wrong)[0]
            u, v = labels[int(sources[bad[k]])], labels[int(j)]
            wider = ", or a wider integer" if dtype.itemsize < 8 else ""
            raise DomainError(
                f"{where}: every distance must fit {dtype}, got a walk from {u!r} to {v!r} beyond ±{info.max}. "
                f"Say dtype='float64', which rounds{wider}."
            )


def refuse_where_far(D: Engine, graph: Graph, s: Semiring, memory: int | None = None) -> None:
    """`refuse_saturated` where a walk can be so long; the matrix of the graph need not be at hand."""
    if D.dtype.kind != "i" or not s.mul.saturating:
        return
    weights: Any = graph.windows(s, D.dtype)
    if weights is None:
        weights = graph.matrix(s, D.dtype) if graph.dense is not None else graph.edges(s, D.dtype)[2]
    if possible(weights, s, graph.n):
        refuse_saturated(D, graph, s, memory)


def refuse_saturated(D: Engine, graph: Graph, s: Semiring, memory: int | None = None) -> None:
    """Refuse distances in which a best walk has saturated.

    Where a matrix on disk is so large that not even its edges' bits fit `memory`, or what there is where that is not
    said, the log tells what may have.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    refuse(D.rows(np.arange(graph.n)), D.dtype, graph.labels, lambda: _reached(graph, s, D.dtype, memory))


def _reached(graph: Graph, s: Semiring, dtype: np.dtype, memory: int | None) -> Reach | None:
    """Which vertices walks from others reach; None where a matrix on disk is too large to tell."""
    windows, zero, n = graph.windows(s, dtype), dtypes.zero(s, dtype), graph.n
    if windows is not None:
        most = available() if memory is None else memory
        if most is not None and n * n // 8 > most // 2:
            return None
        bits = windows.packed()
        close(bits, bind(lor_land, bool), Wants())
        return lambda sources: bits.rows(sources)
    if graph.dense is not None:  # whose edges may be too many to be listed
        bits = BitMatrix.from_bool(host(graph.matrix(s, dtype) != zero))
        close(bits, bind(lor_land, bool), Wants())
        return lambda sources: bits.rows(sources)
    tails, heads, weights = graph.edges(s, dtype)
    walked = weights != zero
    c = condense(n, tails[walked], heads[walked])
    found = closed(c, bind(lor_land, bool), Wants())
    return lambda sources: found.rows(c.component[sources])[:, c.component]
