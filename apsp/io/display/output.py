"""Output of numbers: integers that stand for no path become inf or −inf."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.host.errors import DTypeError
from semiring.host.types import Label, Scalar

#: Vertices shown at the beginning of a long walk.
_NAMED = 8


def walk(names: Sequence[Label]) -> str:
    """A walk on one line, abbreviated in the middle.

    >>> walk(["A", "B", "C"]), walk(range(1000))
    ('A → B → C', '0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → … → 999')
    """
    shown = [str(name) for name in names[:_NAMED]]
    more = ["…"] * (len(names) > _NAMED + 1) + [str(name) for name in names[max(_NAMED, len(names) - 1) :]]
    return " → ".join(shown + more)


@lru_cache(256)
def infinities(semiring: Semiring, dtype: np.dtype) -> dict[int, float]:
    """The integers of a dtype that stand for infinities, with those; empty for other dtypes.

    >>> import semiring
    >>> infinities(semiring.max_plus, np.dtype("int16"))
    {-32768: -inf}
    """
    return {end: x for x, end in SCALARS[dtype].infinities.items() if x in (semiring.zero, semiring.one)}


def number(x: Scalar, semiring: Semiring) -> Scalar:
    value = x.item()
    return infinities(semiring, x.dtype).get(value, value)


def text(x: Scalar, semiring: Semiring) -> str:
    """An entry as text, with all digits."""
    return str(infinities(semiring, x.dtype).get(x.item(), x))


def row(entries: np.ndarray, semiring: Semiring) -> list[Scalar]:
    """A row of entries as Python numbers; ints stay ints beside infinities."""
    ends, values = infinities(semiring, entries.dtype), entries.tolist()
    return [ends.get(value, value) for value in values] if ends else values


def numbers(entries: np.ndarray, semiring: Semiring) -> np.ndarray:
    """Entries with an infinity for no path: float64 for integers (DTypeError if inexact), else the same array.

    >>> import semiring
    >>> numbers(np.array([7, 32767], np.int16), semiring.min_plus)
    array([ 7., inf])
    """
    ends = infinities(semiring, entries.dtype)
    if not ends:
        return entries
    out = entries.astype(np.float64)
    for end, infinity in ends.items():
        out[entries == end] = infinity
    if entries.dtype.itemsize < 8:
        return out
    large = np.isfinite(out) & (np.abs(out) >= 2.0**53)
    if large.any() and any(int(out[k]) != int(entries[k]) for k in zip(*large.nonzero(), strict=True)):
        raise DTypeError(
            "Result: float64 must hold every distance exactly where an array or a table shows no path as inf, got an "
            "integer beyond 2⁵³. Ask for single pairs, or take `distances`, whose `infinity` is no path."
        )
    return out
