"""Integers that have saturated: where a distance is beyond what its dtype holds, and the error that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.errors import DomainError

from .engines.base import host
from .log import logger

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
        Called where an entry is an end of the dtype: what tells the vertices that walks reach, or None where that does
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
