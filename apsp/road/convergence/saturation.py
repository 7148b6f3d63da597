"""Saturation of integers along a walk: whether it is possible, and the error that names an instance.

With lengths of one sign, values beyond an end of the dtype stay there. With both signs, a distance that fits is lost
where part of its walk does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.saturation import FLOATS, extremes
from semiring.algebra.survey import Survey
from semiring.dense.bits import packed_strips
from semiring.host.devices import host
from semiring.host.errors import DomainError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array

from ..log import logger

#: Reachability from sources: bool, shape (sources, n).
Reach = Callable[[np.ndarray], np.ndarray]
#: Vertices and their rows.
Rows = Iterable[tuple[np.ndarray, Any]]


def possible(weights: Iterable[Array], dtype: np.dtype, s: Semiring, n: int, *, mixed: bool = False) -> bool:
    """Whether a walk of n edges can overflow the integers; if `mixed`, one with both signs. Weights come in parts."""
    if not dtypes.SCALARS[dtype].integer or not s.mul.saturating:
        return False
    ends = [extremes(part, s) for part in weights] or [(0, 0)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return (low < 0 < high or not mixed) and n * max(-low, high) >= dtypes.SCALARS[dtype].high


def loses(seen: Survey, weights: Iterable[Array], dtype: np.dtype, s: Semiring, n: int) -> bool:
    """Whether a saturated value can become a wrong number; weights are read only if necessary."""
    return s.add.selects is not None and seen.least < 0 < seen.greatest and possible(weights, dtype, s, n, mixed=True)


class Distances(NamedTuple):
    """All distances of a closure in integers, by rows, its vertices' labels, and the semiring's zero."""

    rows: Callable[[], Rows]
    labels: Any
    zero: np.generic

    def refuse(self, reach: Callable[[], Reach | None], *, where: str = "shortest_paths") -> None:
        """Raise DomainError, naming two vertices, if a best walk saturated: zero although reached, or the other end.

        Complete: parts of best walks are best walks, so among saturated ones, one of fewest edges joins exact parts. A
        saturated sum never beats the true one, so a closed walk that beats `one` truly does; one that fails to because
        a part has saturated has another part beyond the other end, which is detected here.

        `reach()` is called if an entry is an end of the dtype; it returns a `Reach`, or None if that does not fit, and
        then the log says what may have saturated.
        """
        dtype, labels, reached = self.zero.dtype, self.labels, None
        high = dtypes.SCALARS[dtype].high
        for sources, found in self.rows():
            ends = found == high
            if dtypes.SCALARS[dtype].signed:
                ends |= found == dtypes.SCALARS[dtype].low
            bad = np.flatnonzero(host(ends.any(axis=1)))
            if not len(bad):
                continue
            ends = host(ends)[bad]
            if reached is None and (reached := reach()) is None:
                u, v = labels[int(sources[bad[0]])], labels[int(ends[0].argmax())]
                text = f"{where}: no walk from %r to %r, or one beyond ±%d, which %s does not hold. Say a wider dtype."
                logger.warning(text, u, v, high, dtype)
                return
            wrong = ends & reached(sources[bad])
            if wrong.any():
                k, j = np.argwhere(wrong)[0]
                u, v = labels[int(sources[bad[k]])], labels[int(j)]
                raise too_far(f"a walk from {came(u)} to {came(v)} that goes beyond ±{high}", dtype, where=where)

    def reached(self) -> Reach:
        """Reachability of a closure with saturated walks: squared, as any lost walk joins two entries."""
        n = len(self.labels)
        pattern = packed_strips((part != self.zero for _, part in self.rows()), (n, n))
        joined = pattern @ pattern
        return lambda sources: host(joined.rows(sources))


def too_far(got: str, dtype: np.dtype, *, where: str) -> DomainError:
    """The error naming a walk that integers do not hold."""
    way = "Say dtype='int64', or dtype='float64', which rounds." if dtype.itemsize < 8 else FLOATS
    return DomainError(f"{where}: every distance must fit {dtype}, got {got}. {way}")


def refuse_in_matrix(D: Array, s: Semiring, *, where: str) -> None:
    """`Distances.refuse` for a closure (NumPy or CuPy) without labels."""

    def rows() -> Iterator[tuple[np.ndarray, Array]]:
        for part in dtypes.chunks(D):
            yield np.arange(part[0].start, part[0].stop), D[part]

    def reach() -> Reach:
        device = "cpu" if isinstance(D, np.ndarray) else "cuda"
        require(
            D.size // 4, device, where=f"{where}: bits that tell walks from missing ones", hint="Use a wider dtype."
        )
        return every.reached()

    every = Distances(rows, range(len(D)), dtypes.zero(s, D.dtype))
    every.refuse(reach, where=where)
