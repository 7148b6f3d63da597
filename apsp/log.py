"""The logger `apsp`: plans, first compilations, progress, warnings of long work."""

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
#: Seconds of work beyond which a warning is given, unless a callback shows progress.
PATIENCE = 60.0


def _log_compiling(notice: compiling.Notice) -> None:
    if notice.first:
        logger.info("%s", notice)


compiling.listeners.append(_log_compiling)


class Watch:
    """Progress by callback, or else a single warning when more than a minute is left.

    `what` names the work: "save: 3.2 GiB"; `total` is in any unit. The first part is not extrapolated, as it may
    compile.
    """

    def __init__(self, what: str, total: int, callback: Callback | None) -> None:
        self._what, self._total, self._callback = what, total, callback
        self._first: tuple[int, float] | None = None
        self._warned = callback is not None

    def __call__(self, done: int) -> None:
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
    """Progress of `what` in parts of `predicted` seconds: by callback, or else on a terminal or notebook.

    Before work of more than two seconds a line gives its predicted time, later ones the time left; more than a minute
    is warned of.
    """

    #: Minimum seconds between lines.
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
    """Log a plan (level INFO); warn if it predicts more than a minute and no callback shows progress."""
    if logger.isEnabledFor(logging.INFO):
        logger.info("%s", plan)
    if plan.seconds > PATIENCE and callback is None:
        warn(
            f"{plan!r} is predicted to take {in_units(plan.seconds)}. Pass callback=print to see how far it is; a GPU "
            "(device='cuda'), a smaller dtype, or transitive_closure where only reachability matters take less."
        )


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of user code that called these packages."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


#: Packages whose frames are skipped: these two, their callers, and the standard library between.
_PACKAGES = ("semiring", "apsp", "contextlib", "_apsp_networkx", "networkx")
