"""The logger `apsp`: plans, first compilations, progress, warnings of long work."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from semiring.host import compiling
from semiring.kernels.observed import Callback

from ..io.display import bars
from .estimates import in_units
from .plans import Plan

T = TypeVar("T")
logger = logging.getLogger("apsp")
#: Seconds beyond which work tells its progress, and is warned of, unless a callback shows it.
SOON, PATIENCE = 3.0, 60.0


def _log_compiling(notice: compiling.Notice) -> None:
    if notice.first:
        logger.info("%s", notice)


compiling.listeners.append(_log_compiling)


class Watch:
    """Progress by callback, by the bar of `apsp.progress`, or else by one line and, of minutes, a warning if `warns`.

    `what` names the work: "save: 3.2 GiB"; `total` is in any unit. The first part is not extrapolated, as it may
    compile.
    """

    def __init__(self, what: str, total: int, callback: Callback | None, *, warns: bool = True) -> None:
        self._what, self._total = what, total
        self._callback = callback or (bars.chosen(what) if bars.chosen else None)
        self._first: tuple[int, float] | None = None
        self._start, self._said, self._warned = time.monotonic(), bars.chosen is False, not warns

    def __call__(self, done: int, total: int = 0) -> None:
        total = total or self._total
        if self._callback:
            return self._callback(done, total)
        now = time.monotonic()
        before, start = self._first = self._first or (done, now)
        if before < done < total:
            left = (now - start) * (total - done) / (done - before)
            if not self._said and now - self._start >= SOON:
                self._said = True
                share = f"{done / total:.0%} done, {in_units(left)} left"
                compiling.print_line(f"{self._what}: {share}. `apsp.progress()` shows a bar.")
            if not self._warned and now - start >= 2:
                self._warned = True
                if left > PATIENCE:
                    warn(
                        f"{self._what} will take {in_units(left)} more. Pass callback=print to see how far it is, or "
                        "ask for less."
                    )
        return None

    def each(self, parts: Iterable[T], size: Callable[[T], int]) -> Iterator[T]:
        """The parts of a work; each is told, by its `size`, when the next is asked for."""
        done = 0
        for part in parts:
            yield part
            done += size(part)
            self(done)


class Parts:
    """Progress of `what` in parts of `predicted` seconds: by callback, or else as `Watch` by the predicted time.

    More than a minute is warned of.
    """

    def __init__(self, what: str, predicted: Sequence[float], callback: Callback | None) -> None:
        self._ends = [round(1e6 * seconds) for seconds in accumulate(predicted, initial=0.0)]
        self._done, self._callback = 0, callback
        self._watch = Watch(what, self._ends[-1], callback, warns=False)
        if callback is None:
            self._watch(0)
        if callback is None and not bars.chosen and sum(predicted) > PATIENCE:
            warn(f"{what} is predicted to take {in_units(sum(predicted))}. Pass callback=print to see how far it is.")

    def __call__(self) -> None:
        self._done += 1
        if self._callback:
            self._callback(self._done, len(self._ends) - 1)
        else:
            self._watch(self._ends[self._done])


def report_plan(plan: Plan, callback: Callback | None = None) -> None:
    """Log a plan (level INFO); warn if it predicts more than a minute and no callback shows progress."""
    if logger.isEnabledFor(logging.INFO):
        logger.info("%s", plan)
    if plan.seconds > PATIENCE and (callback is None or isinstance(callback, Watch)) and not bars.chosen:
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
