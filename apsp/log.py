"""What is said before a computation, to the logger `apsp`: its plan, and that kernels are compiled for the first time.

And a warning where it will take long.
"""

from __future__ import annotations

import logging
import time
import warnings

from semiring import compiling
from semiring.observed import Callback

from .estimates import in_units
from .plans import Plan

logger = logging.getLogger("apsp")
#: Who is to wait longer than this, in seconds, is warned, unless a callback shows how far it is.
PATIENCE = 60.0


def _say_compiling(subject: str) -> None:
    """Log once for each semiring and dtype that kernels are compiled (level INFO)."""
    if subject not in _compiled:
        _compiled.add(subject)
        logger.info("compiling kernels%s, which takes seconds, once", subject and f" of {subject}")


_compiled: set[str] = set()
compiling.listeners.append(_say_compiling)


class Watch:
    """Tells of long work as it goes: the callback, or once whoever waits for more than a minute and has none.

    Parameters
    ----------
    what : str
        The work, for the warning: "save: 3.2 GiB".
    total : int
        All of it, in whatever it is counted.
    callback : callable or None
        The caller's, `callback(done, total)`.
    """

    def __init__(self, what: str, total: int, callback: Callback | None) -> None:
        self._what, self._total, self._callback = what, total, callback
        self._start, self._said = time.monotonic(), callback is not None

    def __call__(self, done: int) -> None:
        """So much is done."""
        if self._callback:
            self._callback(done, self._total)
        passed = time.monotonic() - self._start
        if self._said or passed < 2 or not done:
            return
        self._said = True
        left = passed * (self._total / done - 1)
        if left > PATIENCE:
            warnings.warn(
                f"{self._what} will take {in_units(left)} more. Pass callback=print to see how far it is, or ask for "
                "fewer sources or targets.",
                stacklevel=2,
            )


def tell(plan: Plan, callback: Callback | None = None, *, stacklevel: int = 3) -> None:
    """Log a plan (level INFO), and warn where its predicted time is more than a minute and nothing shows progress.

    Parameters
    ----------
    plan : Plan
    callback : callable or None
        The caller's.
    stacklevel : int
        Of the warning, as `warnings.warn` counts from here: 3 is the caller of whoever calls this.
    """
    logger.info("%s", plan)
    if plan.seconds > PATIENCE and callback is None:
        warnings.warn(
            f"{plan!r} is predicted to take {in_units(plan.seconds)}. Pass callback=print to see how far it is; a GPU "
            "(device='cuda'), a smaller dtype, or transitive_closure where only reachability matters take less.",
            stacklevel=stacklevel,
        )
