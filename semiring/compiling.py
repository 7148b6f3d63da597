"""Kernels are compiled when they are first wanted, which takes seconds, once a machine: who waits is told for what.

Backends announce; a log and a progress bar listen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: `listener(subject)`: what is compiled, such as "min_plus in float32"; "" for kernels that serve every semiring.
Listener = Callable[[str], None]

listeners: list[Listener] = []
_subject: ContextVar[str] = ContextVar("subject", default="")


@contextmanager
def about(subject: str) -> Iterator[None]:
    """What is compiled meanwhile on this thread, if anything is, is for this."""
    token = _subject.set(subject)
    try:
        yield
    finally:
        _subject.reset(token)


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """Let somebody listen for a while."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)


def announce() -> None:
    """A kernel is about to be compiled, as it was not found on disk."""
    for listener in tuple(listeners):
        listener(_subject.get())
