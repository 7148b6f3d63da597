"""The logger `apsp`: plans, and kernels that are compiled for the first time; progress, and warnings of long work."""

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
#: Work of more seconds than this is warned of, unless a callback shows progress.
PATIENCE = 60.0


def _log_compiling(notice: compiling.Notice) -> None:
    """Log once for each semiring and dtype that kernels are compiled (level INFO)."""
    if notice.first:
        logger.info("%s", notice)


compiling.listeners.append(_log_compiling)


class Watch:
    """Reports progress: to the callback, or, without one, by a single warning when more than a minute is left.

    Parameters
    ----------
    what : str
        The work, for the warning: "save: 3.2 GiB".
    total : int
        All of it, in any unit.
    callback : callable or None
        The caller's, `callback(done, total)`.

    Notes
    -----
    The time left is extrapolated from what follows the first part, as that may have compiled code.
    """

    def __init__(self, what: str, total: int, callback: Callback | None) -> None:
        self._what, self._total, self._callback = what, total, callback
        self._first: tuple[int, float] | None = None
        self._warned = callback is not None

    def __call__(self, done: int) -> None:
        """Report that `done` of the total is done."""
        if self._callback:
            self._callback(done, self._total)
        if self._warned:
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done, now
        before, start = self._first
        if now - start < 2 or done <= before:
            return
        self._warned = True
        left = (now - start) * (self._total - done) / (done - before)
        if left > PATIENCE:
            warn(
                f"{self._what} will take {in_units(left)} more. Pass callback=print to see how far it is, or ask for "
                "fewer sources or targets."
            )


class Parts:
    """Reports progress of work in several parts: to the callback, or, without one, to a terminal or a notebook.

    Before work of more than two seconds a line has its predicted time, and later ones the time left, by that of the
    parts so far. There is a warning of more than a minute.

    Parameters
    ----------
    what : str
        The work: "compare".
    predicted : sequence of float
        Seconds that each part is predicted to take.
    callback : callable or None
        The caller's, `callback(done, total)`, in parts.
    """

    #: Seconds between two lines; shorter work has none.
    EVERY = 2.0

    def __init__(self, what: str, predicted: Sequence[float], callback: Callback | None) -> None:
        self._what, self._predicted, self._callback = what, predicted, callback
        total = sum(predicted)
        self._shown = callback is None and total > self.EVERY
        if self._shown:
            compiling.print_line(f"{what}: {len(predicted)} runs, predicted to take {in_units(total)}")
        if callback is None and total > PATIENCE:
            warn(f"{what} is predicted to take {in_units(total)}. Pass callback=print to see how far it is.")
        self._start = self._printed = time.monotonic()
        self._done = 0

    def __call__(self) -> None:
        """Report that one more part is done."""
        self._done += 1
        if self._callback:
            self._callback(self._done, len(self._predicted))
        now, before, left = time.monotonic(), sum(self._predicted[: self._done]), sum(self._predicted[self._done :])
        if self._shown and before and left and now - self._printed >= self.EVERY:
            self._printed = now
            left *= (now - self._start) / before
            compiling.print_line(
                f"{self._what}: {self._done} of {len(self._predicted)} runs done, {in_units(left)} left"
            )


def report_plan(plan: Plan, callback: Callback | None = None) -> None:
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
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


#: Packages whose frames are not the user's: these two, those that call them, and the standard library's in between.
_PACKAGES = ("semiring", "apsp", "contextlib", "_apsp_networkx", "networkx")
