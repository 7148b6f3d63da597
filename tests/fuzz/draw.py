"""`Draw`: the random choices of one case, recorded, so that a failing case can be replayed and made smaller."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Draw:
    """Choices of one case, each a number below a bound; smaller ones make simpler cases.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the choices come from,
    script : sequence of int
        or these, and 0 once they are used up.
    heard : callable, optional
        Told of each choice at once: the case may not live to tell them all.
    """

    def __init__(
        self,
        rng: np.random.Generator | None = None,
        script: Sequence[int] = (),
        heard: Callable[[int], object] = lambda choice: None,
    ) -> None:
        self._rng, self._script, self._heard = rng, script, heard
        self.choices: list[int] = []
        self.notes: dict[str, Any] = {}

    def below(self, bound: int) -> int:
        """An integer in 0 … bound − 1."""
        if self._rng is not None:
            choice = int(self._rng.integers(bound))
        else:
            at = len(self.choices)
            choice = min(self._script[at], bound - 1) if at < len(self._script) else 0
        self.choices.append(choice)
        self._heard(choice)
        return choice

    def between(self, low: int, high: int) -> int:
        """An integer in low … high."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; the simplest stands first."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of 100 cases."""
        return self.below(100) >= 100 - percent

    def rng(self) -> np.random.Generator:
        """A generator for what would be too many choices, such as the entries of a matrix."""
        return np.random.default_rng(self.below(1 << 32))

    def note(self, **values: Any) -> None:
        """Keep what a report of this case should show."""
        self.notes |= values


def of(seed: int, target: str, index: int, heard: Callable[[int], object] = lambda choice: None) -> Draw:
    """The choices of case number `index`."""
    return Draw(np.random.default_rng([seed, zlib.crc32(target.encode()), index]), heard=heard)


def smaller(choices: Sequence[int], fails: Callable[[list[int]], list[int] | None], seconds: float) -> list[int]:
    """The simplest choices found that still fail: fewer of them, then smaller ones.

    `fails(candidate)` returns the choices that the candidate came to where it fails in the same way, else None.
    """
    best, end = list(choices), time.monotonic() + seconds

    def attempt(candidate: list[int]) -> bool:
        nonlocal best
        if time.monotonic() > end:
            return False
        came = fails(candidate)
        if came is None or (len(came), came) >= (len(best), best):
            return False
        best = came
        return True

    improved = True
    while improved and time.monotonic() < end:
        improved = False
        for size in (16, 8, 4, 2, 1):
            at = len(best) - size
            while at >= 0:
                improved |= attempt(best[:at] + best[at + size :])
                at -= size
        for at in range(len(best)):
            while at < len(best) and best[at]:
                value = best[at]
                lower = (0, value // 2, value - 1)
                if not any(attempt([*best[:at], new, *best[at + 1 :]]) for new in lower if new < value):
                    break
                improved = True
    return best
