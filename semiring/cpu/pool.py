"""Threads that pull jobs: compiled code runs without the interpreter lock, so plain threads are enough."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any


def _nothing() -> None:
    pass


class _Share:
    """Somebody's work, which helpers may join until it is closed; and how many of them are at it.

    Ctrl-C may strike its owner between any two steps. So the owner counts nobody in: a helper counts itself, and the
    owner closes the share and waits until nobody is left, by a count that no lost word can hide.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self.failure: BaseException | None = None
        self._work, self._lock = work, threading.Lock()
        self._closed, self._busy = False, 0
        self._ended: SimpleQueue[None] = SimpleQueue()

    def join(self) -> None:
        """A helper's part in it."""
        with self._lock:
            if self._closed:
                return
            self._busy += 1
        try:
            self._work()
        except BaseException as failure:
            self.failure = failure
        finally:
            with self._lock:
                self._busy -= 1
            self._ended.put(None)

    def close(self) -> None:
        """Let nobody join any more, and wait for those who did."""
        with self._lock:
            self._closed = True
        while self._busy:
            with suppress(Empty):
                self._ended.get(timeout=0.05)
        self._work = _nothing  # who comes late finds nothing to do, and keeps nothing alive


_shares: SimpleQueue[_Share] = SimpleQueue()
_helpers = 0
_lock = threading.Lock()


def run(job: Callable[..., None], calls: Sequence[tuple[Any, ...]], threads: int) -> None:
    """job(worker, *call) for every call, on at most `threads` threads, the caller's among them.

    Returns when all are done. An exception, Ctrl-C included, drops the calls that have not begun, waits for those
    that have, and is raised; the threads stay usable.
    """
    threads = min(threads, len(calls))
    if threads <= 1:
        for call in calls:
            job(0, *call)
        return
    queue = deque(calls)
    workers = deque(range(1, threads))

    def pull(worker: int) -> None:
        try:
            while queue:
                try:
                    call = queue.popleft()
                except IndexError:  # somebody else took the last one
                    return
                job(worker, *call)
        except BaseException:
            queue.clear()
            raise

    share = _Share(lambda: pull(workers.popleft()))

    failure: BaseException | None = None
    try:
        _hire(threads - 1)
        for _ in range(threads - 1):
            _shares.put(share)
        pull(0)
    except BaseException as caught:  # Ctrl-C, or what another signal's handler raises, among them
        failure = caught
    while True:
        try:
            if failure is not None:
                queue.clear()
            share.close()
            break
        except BaseException as caught:
            failure = caught
    failure = failure or share.failure
    if failure is not None:
        raise failure


def _hire(count: int) -> None:
    """See to it that there are at least that many helpers, or as many as the system lets be."""
    global _helpers
    if _helpers < count:
        with _lock, suppress(RuntimeError):
            while _helpers < count:
                threading.Thread(target=_help, args=(_shares,), name=f"semiring-{_helpers}", daemon=True).start()
                _helpers += 1


def _help(shares: SimpleQueue[_Share]) -> None:
    while True:
        share = shares.get()
        share.join()
        del share  # keep nothing alive while waiting


def _forget() -> None:
    """Threads do not survive a fork; the child starts its own."""
    global _shares, _helpers, _lock
    _shares, _helpers, _lock = SimpleQueue(), 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
