"""Notices of compilation: kernels are compiled on first use, once a machine, which takes seconds.

Backends announce; logs and progress bars listen. If none displays it, terminals and notebooks get a line.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import perf_counter
from typing import NamedTuple

#: Whether all machine code compiled by this process could be cached on disk.
kept = True


class Missing(NamedTuple):
    """Number of kernels to compile first, and estimated seconds."""

    kernels: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{_kernels(self.kernels)}, about {_about(self.seconds)}, once"


class Notice(NamedTuple):
    """Notice of compilation.

    subject: such as "min_plus in float32"; "" for kernels of every semiring. missing: all that the work needs; 0
    kernels if unknown. first: first notice of the subject in this process.
    """

    subject: str
    missing: Missing
    first: bool

    def __str__(self) -> str:
        many = _kernels(self.missing.kernels) if self.missing.kernels else "kernels"
        took = f", about {_about(self.missing.seconds)}" if self.missing.kernels else ""
        return f"compiling {many}{self.subject and f' of {self.subject}'}{took}, once"


Listener = Callable[[Notice], None]

#: Listeners called with every notice, such as a log; displays are added by `listening`.
listeners: list[Listener] = []
_displays: list[Listener] = []
_subject: ContextVar[str] = ContextVar("subject", default="")
_announced: set[str] = set()
#: Callback returning the subject and all missing kernels of the current work, called on compilation.
expected: ContextVar[Callable[[], tuple[str, Missing]] | None] = ContextVar("expected", default=None)


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Context manager: subject of what this thread compiles."""
    token = _subject.set(subject)
    try:
        yield
    finally:
        _subject.reset(token)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Context manager: a listener that displays, or deliberately hides, notices."""
    _displays.append(listener)
    try:
        yield
    finally:
        _displays.remove(listener)


def announce() -> None:
    """Notify listeners that a kernel missing on disk is about to be compiled."""
    ask = expected.get()
    subject, missing = ask() if ask else ("", Missing())
    if not missing.kernels:
        subject = _subject.get()
    notice = Notice(subject, missing, first=subject not in _announced)
    _announced.update((subject, "") if missing.kernels else (subject,))  # also of kernels of every semiring
    for listener in (*listeners, *_displays):
        listener(notice)
    if notice.first and not _displays:
        print_line(str(notice))


def print_line(text: str) -> None:
    """Print to stderr in a terminal or a notebook only."""
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def _kernels(count: int) -> str:
    return f"{count} kernel{'s' * (count != 1)}"


def _about(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 0.95 else f"{max(seconds, 0.1):.1f} s"


# Time


class _Uncounted(threading.local):
    """`with uncounted:` excludes compiling and loading code from `clock`; `seconds` accumulates by thread."""

    seconds = 0.0
    _depth, _start = 0, 0.0

    def __enter__(self) -> None:
        if not self._depth:
            self._start = perf_counter()
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += perf_counter() - self._start


uncounted = _Uncounted()


def clock() -> float:
    """Seconds of this thread, without compiling and loading code."""
    return perf_counter() - uncounted.seconds
