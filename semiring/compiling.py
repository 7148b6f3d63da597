"""Notices of compilation: kernels are compiled on first use, which takes seconds, once a machine.

Backends announce; a log and a progress bar listen. Where none shows it, a terminal and a notebook get a line.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import perf_counter
from typing import NamedTuple

#: Whether all machine code that this process compiled could be kept on disk.
kept = True


class Missing(NamedTuple):
    """How many kernels must be compiled first, and about how many seconds that takes, once a machine."""

    kernels: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{_kernels(self.kernels)}, about {_about(self.seconds)}, once"


class Notice(NamedTuple):
    """What is compiled now.

    Attributes
    ----------
    subject : str
        Such as "min_plus in float32"; "" for kernels that serve every semiring.
    missing : Missing
        All that the work needs; of no kernels where that is not known.
    first : bool
        Whether it is the first notice of the subject in this process.
    """

    subject: str
    missing: Missing
    first: bool

    def __str__(self) -> str:
        many = _kernels(self.missing.kernels) if self.missing.kernels else "kernels"
        took = f", about {_about(self.missing.seconds)}" if self.missing.kernels else ""
        return f"compiling {many}{self.subject and f' of {self.subject}'}{took}, once"


Listener = Callable[[Notice], None]

#: Called with every notice, such as a log. Those that show it to the user are added by `listening`.
listeners: list[Listener] = []
_displays: list[Listener] = []
_subject: ContextVar[str] = ContextVar("subject", default="")
_announced: set[str] = set()
#: Of the work under way: a function that returns its subject and all that it has to compile, called on compilation.
expected: ContextVar[Callable[[], tuple[str, Missing]] | None] = ContextVar("expected", default=None)


@contextmanager
def about(subject: str) -> Iterator[None]:
    """The subject of what this thread compiles within the block."""
    token = _subject.set(subject)
    try:
        yield
    finally:
        _subject.reset(token)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a listener that shows notices, or hides them on purpose, within the block."""
    _displays.append(listener)
    try:
        yield
    finally:
        _displays.remove(listener)


def announce() -> None:
    """Notify the listeners that a kernel is about to be compiled, as it was not found on disk."""
    ask = expected.get()
    subject, missing = ask() if ask else ("", Missing())
    if not missing.kernels:
        subject = _subject.get()
    notice = Notice(subject, missing, first=subject not in _announced)
    _announced.update((subject, "") if missing.kernels else (subject,))  # of what serves every semiring, too
    for listener in (*listeners, *_displays):
        listener(notice)
    if notice.first and not _displays:
        print_line(str(notice))


def print_line(text: str) -> None:
    """Print a line to stderr in a terminal or a notebook; nothing elsewhere."""
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def _kernels(count: int) -> str:
    return f"{count} kernel{'s' * (count != 1)}"


def _about(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 0.95 else f"{max(seconds, 0.1):.1f} s"


# Time


class _Uncounted(threading.local):
    """`with uncounted:` around compilation and loading of code, which is no part of the work; `seconds` of this thread.

    So the difference of two `perf_counter() - uncounted.seconds` is what the work between them took.
    """

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
    """Seconds of this thread for differences, without those in which code was compiled or loaded."""
    return perf_counter() - uncounted.seconds
