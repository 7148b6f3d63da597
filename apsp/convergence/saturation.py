"""Integers that saturate on the way of a walk: whether that is possible, and the error that names one that did.

Where all lengths lead away from 0, what is beyond an end of the dtype stays there. With lengths of both signs a
distance that fits is lost where a part of its walk does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.bits import BitMatrix
from semiring.devices import host, module
from semiring.errors import DomainError
from semiring.memory import require
from semiring.saturation import FLOATS, extremes
from semiring.spelling import came
from semiring.survey import Survey
from semiring.types import Array

from ..log import logger

#: Which vertices walks from some sources reach: bool, shape (sources, n).
Reach = Callable[[np.ndarray], np.ndarray]
#: Some vertices, and their rows.
Rows = Iterable[tuple[np.ndarray, Any]]


def possible(weights: Iterable[Array], dtype: np.dtype, s: Semiring, n: int, *, mixed: bool = False) -> bool:
    """Whether a walk of n edges can weigh more than the integers hold; if `mixed`, one with edges of both signs.

    The weights are given in parts; the semiring's zero is none of them.
    """
    if dtype.kind != "i" or not s.mul.saturating:
        return False
    ends = [extremes(part, s) for part in weights] or [(0, 0)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return (low < 0 < high or not mixed) and n * max(-low, high) >= np.iinfo(dtype).max


def loses(seen: Survey, weights: Iterable[Array], dtype: np.dtype, s: Semiring, n: int) -> bool:
    """Whether what has saturated can become a number again that is wrong; the weights are looked at where need be."""
    return s.add.selects is not None and seen.least < 0 < seen.greatest and possible(weights, dtype, s, n, mixed=True)


def refuse(
    rows: Rows, dtype: np.dtype, labels: Any, reach: Callable[[], Reach | None], *, where: str = "shortest_paths"
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
        ends = (found == info.min) | (found == info.max)
        bad = np.flatnonzero(host(ends.any(axis=1)))
        if not len(bad):
            continue
        ends = host(ends)[bad]
        if reached is None and (reached := reach()) is None:
            u, v = labels[int(sources[bad[0]])], labels[int(ends[0].argmax())]
            text = f"{where}: no walk from %r to %r, or one beyond ±%d, which %s does not hold. Say a wider dtype."
            logger.warning(text, u, v, info.max, dtype)
            return
        wrong = ends & reached(sources[bad])
        if wrong.any():
            k, j = np.argwhere(wrong)[0]
            u, v = labels[int(sources[bad[k]])], labels[int(j)]
            raise too_far(f"a walk from {came(u)} to {came(v)} that goes beyond ±{info.max}", dtype, where=where)


def too_far(got: str, dtype: np.dtype, *, where: str) -> DomainError:
    """The error that names a walk which integers do not hold."""
    way = "Say dtype='int64', or dtype='float64', which rounds." if dtype.itemsize < 8 else FLOATS
    return DomainError(f"{where}: every distance must fit {dtype}, got {got}. {way}")


def reached(rows: Rows, n: int, zero: Any) -> Reach:
    """Whom walks reach, by a closure in which some have saturated.

    Each edge is an entry of it. So where two entries follow each other, there is a walk; and if any walk is lost, one
    is of such two.
    """
    words: list[Any] = [BitMatrix.from_bool(part != zero).words for _, part in rows]
    pattern = BitMatrix(module(words[0]).concatenate(words), (n, n))
    joined = pattern @ pattern
    return lambda sources: host(joined.rows(sources))


def refuse_in_matrix(D: Array, s: Semiring, *, where: str) -> None:
    """`refuse` in a closure, NumPy's or CuPy's, of vertices that have no names."""

    def rows() -> Iterator[tuple[np.ndarray, Any]]:
        for part in dtypes.chunks(D.shape):
            yield np.arange(part[0].start, part[0].stop), D[part]

    def reach() -> Reach:
        device = "cpu" if isinstance(D, np.ndarray) else "cuda"
        require(
            D.size // 4, device, where=f"{where}: bits that tell walks from missing ones", hint="Use a wider dtype."
        )
        return reached(rows(), len(D), dtypes.zero(s, D.dtype))

    refuse(rows(), D.dtype, range(len(D)), reach, where=where)
