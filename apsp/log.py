"""What is said before a computation, to the logger `apsp`: its plan, and that kernels are compiled for the first time.

And a warning where it will take long.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Sequence

from semiring import compiling
from semiring.observed import Callback

from .estimates import in_units
from .plans import Plan

logger = logging.getLogger("apsp")
#: Who is to wait longer than this, in seconds, is warned, unless a callback shows how far it is.
PATIENCE = 60.0


def _say_compiling(notice: compiling.Notice) -> None:
    """Log once for each semiring and dtype that kernels are compiled (level INFO)."""
    if notice.first:
        logger.info("%s", notice)


compiling.listeners.append(_say_compiling)


class Watch:
    """Reports progress: to the callback, or, without one, by a single warning when more than a minute is left.

    Parameters
    ----------
    what : str
        The work, for the warning: "save: 3.2 GiB".
    total : int
        All of it, in whatever it is counted.
    callback : callable or None
        The caller's, `callback(done, total)`.
    Notes
    -----
    The time left is extrapolated from what was done after the first part, because that part may have compiled code.
    """

    def __init__(self, what: str, total: int, callback: Callback | None) -> None:
        self._what, self._total, self._callback = what, total, callback
        self._first: tuple[int, float] | None = None
        self._said = callback is not None

    def __call__(self, done: int) -> None:
        """So much is done."""
        if self._callback:
            self._callback(done, self._total)
        if self._said:
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done, now
        before, start = self._first
        if now - start < 2 or done <= before:
            return
        self._said = True
        left = (now - start) * (self._total - done) / (done - before)
        if left > PATIENCE:
            warn(
                f"{self._what} will take {in_units(left)} more. Pass callback=print to see how far it is, or ask for "
                "fewer sources or targets."
            )


class Parts:
    """Reports work of several parts: to the callback, or, without one, to who waits before a terminal or a notebook.

    A line says beforehand how long it is predicted to take, where that is more than a second or two, and others what is
    left, by how long the parts so far took. More than a minute is warned of.

    Parameters
    ----------
    what : str
        The work: "compare".
    predicted : sequence of float
        Seconds that each part is predicted to take.
    callback : callable or None
        The caller's, `callback(done, total)`, in parts.
    """

    #: Seconds between two lines, and that are worth one.
    EVERY = 2.0

    def __init__(self, what: str, predicted: Sequence[float], callback: Callback | None) -> None:
        self._what, self._predicted, self._callback = what, predicted, callback
        total = sum(predicted)
        self._shown = callback is None and total > self.EVERY
        if self._shown:
            compiling.say(f"{what}: {len(predicted)} runs, predicted to take {in_units(total)}")
        if callback is None and total > PATIENCE:
            warn(f"{what} is predicted to take {in_units(total)}. Pass callback=print to see how far it is.")
        self._start = self._said = time.monotonic()
        self._done = 0

    def __call__(self) -> None:
        """One more part is done."""
        self._done += 1
        if self._callback:
            self._callback(self._done, len(self._predicted))
        now, before, left = time.monotonic(), sum(self._predicted[: self._done]), sum(self._predicted[self._done :])
        if self._shown and before and left and now - self._said >= self.EVERY:
            self._said = now
            left *= (now - self._start) / before
            compiling.say(f"{self._what}: {self._done} of {len(self._predicted)} runs done, {in_units(left)} left")


def tell(plan: Plan, callback: Callback | None = None) -> None:
    """Log a plan (level INFO), and warn where its predicted time is more than a minute and nothing shows progress.

    Parameters
    ----------
    plan : Plan
    callback : callable or None
        The caller's.
    """
    if logger.isEnabledFor(logging.INFO):
        logger.info("%s", plan)
    if plan.seconds > PATIENCE and callback is None:
        warn(
            f"{plan!r} is predicted to take {in_units(plan.seconds)}. Pass callback=print to see how far it is; a GPU "
            "(device='cuda'), a smaller dtype, or transitive_closure where only reachability matters take less."
        )


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's own code that called into these packages."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


#: Packages whose frames are not the user's: those that call us for them, and what lies between.
_OURS = ("semiring", "apsp", "contextlib", "_apsp_networkx", "networkx")
