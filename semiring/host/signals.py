"""Work that signals do not interrupt."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable
from functools import cache, partial
from types import FrameType, ModuleType
from typing import Any, TypeVar

from .compiling import uncounted

T = TypeVar("T")
#: Functions of `signal` without its enumerations: a tenth of the time.
_signal: Any = importlib.import_module("_signal")


def undisturbed(work: Callable[[], T]) -> T:
    """Run work() with signals deferred: Ctrl-C is raised when it is done.

    For work that is useless half done, such as importing a compiler, or compilation. It stays on the caller's thread:
    another would deadlock on a module that the caller is importing. Python handlers, which may raise, run on the main
    thread only; others need no deferral.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    handlers: dict[int, Any] = {number: _signal.getsignal(number) for number in _numbers()}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    pending: dict[int, FrameType | None] = {}
    working = True

    def record(number: int, frame: FrameType | None) -> None:
        if working:
            pending.setdefault(number, frame)
        else:  # a signal while handlers are being restored
            handlers[number](number, frame)

    try:
        for number in handlers:
            _signal.signal(number, record)
        return work()
    finally:
        working = False
        for number, handler in handlers.items():
            if _signal.getsignal(number) is record:
                _signal.signal(number, handler)
        for number, frame in pending.items():
            handlers[number](number, frame)


@cache
def _numbers() -> tuple[int, ...]:
    return tuple(map(int, signal.valid_signals()))


@cache
def load(name: str) -> ModuleType:
    """Import a module of numba kernels, Ctrl-C deferred; DeviceError under NUMBA_DISABLE_JIT."""
    with uncounted:
        return undisturbed(partial(importlib.import_module, name))
