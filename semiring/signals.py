"""Work that no signal stops half way."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable
from functools import cache, partial
from types import FrameType
from typing import Any, TypeVar

from .compiling import uncounted

T = TypeVar("T")


def undisturbed(work: Callable[[], T]) -> T:
    """work(), after which the signals that came meanwhile are delivered: Ctrl-C is raised when the work is done.

    For what would be of no use any more if it were left half way, as the import of a compiler, or compilation. The work
    stays on the caller's thread: another one would wait for ever for a module that the caller is just importing.
    Handlers written in Python, which may raise, run on the main thread only; others need nothing deferred.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in signal.valid_signals()}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    pending: dict[int, FrameType | None] = {}
    working = True

    def record(number: int, frame: FrameType | None) -> None:
        if working:
            pending.setdefault(number, frame)
        else:  # a signal that strikes while handlers are put back finds all of them working
            handlers[number](number, frame)

    try:
        for number in handlers:
            signal.signal(number, record)
        return work()
    finally:
        working = False
        for number, handler in handlers.items():
            if signal.getsignal(number) is record:
                signal.signal(number, handler)
        for number, frame in pending.items():
            handlers[number](number, frame)


@cache
def load(name: str) -> Any:
    """A module with kernels that numba compiles. Ctrl-C waits while it is imported, and numba with it.

    Raises
    ------
    DeviceError
        If numba must not compile (NUMBA_DISABLE_JIT).
    """
    with uncounted:
        return undisturbed(partial(importlib.import_module, name))
