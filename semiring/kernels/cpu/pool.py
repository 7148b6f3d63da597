"""A thread pool for compiled code, which runs without the interpreter lock."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import itemgetter
from queue import Empty, SimpleQueue
from typing import Any

from ...algebra.ranges import steps

#: Steps per call, so that Ctrl-C is handled; steps below which a second thread does not pay.
CALL, ALONE = 1 << 24, 1 << 15


class _ParallelRegion:
    """A job that worker threads join until the region is closed.

    Ctrl-C may interrupt the caller between any two steps. So workers count themselves; the caller closes the region and
    waits for a count of zero, which no lost notification can hide.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._lock = work, threading.Lock()
        self._closed, self._busy = False, 0
        self._ended: SimpleQueue[None] = SimpleQueue()

    def join(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._busy += 1
        try:
            self._work()
        finally:
            with self._lock:
                self._busy -= 1
            self._ended.put(None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        while self._busy:
            with suppress(Empty):
                self._ended.get(timeout=0.05)
        self._work = lambda: None  # a late worker does nothing, and nothing is kept alive


_regions: SimpleQueue[_ParallelRegion | None] = SimpleQueue()
_workers: list[threading.Thread] = []
_lock = threading.Lock()


def run(job: Callable[..., None], calls: Sequence[tuple[Any, ...]], threads: int) -> None:
    """job(worker, *call) for every call, on at most `threads` threads including the caller's.

    Returns when all are done. An exception, Ctrl-C included, drops calls not yet begun, waits for the others, and is
    raised, of several that of the first call, whatever the schedule; the pool stays usable.
    """
    threads = min(threads, len(calls))
    if threads <= 1:
        for call in calls:
            job(0, *call)
        return
    queue = deque(enumerate(calls))
    workers = deque(range(1, threads))
    failures: list[tuple[bool, int, BaseException]] = []

    def pull(worker: int) -> None:
        while queue:
            try:
                index, call = queue.popleft()
            except IndexError:  # lost the race for the last call
                return
            try:
                job(worker, *call)
            except BaseException as failure:
                failures.append((isinstance(failure, Exception), index, failure))
                queue.clear()

    region = _ParallelRegion(lambda: pull(workers.popleft()))

    failure: BaseException | None = None
    try:
        _start_workers(threads - 1)
        for _ in range(threads - 1):
            _regions.put(region)
        pull(0)
    except BaseException as caught:  # Ctrl-C and exceptions of signal handlers included
        failure = caught
    while True:
        try:
            if failure is not None:
                queue.clear()
            region.close()
            break
        except BaseException as caught:
            failure = caught
    if failure is None and failures:
        failure = min(failures, key=itemgetter(0, 1))[2]  # Ctrl-C first
    if failure is not None:
        raise failure


@lru_cache(1024)
def pieces(total: int, unit: int, longest: int, least: int = 1) -> tuple[tuple[int, int], ...]:
    """(start, size) of at least `least` equal pieces, none above `longest`, all but the last of whole units."""
    return tuple(spans(total, piece(total, unit, longest, least)))


def piece(total: int, unit: int, longest: int, least: int = 1) -> int:
    units = max(1, -(-total // unit))
    count = min(units, max(least, -(-units // max(1, longest // unit))))
    return -(-units // count) * unit


def spans(total: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(size, total - start)) for start in range(0, total, size)]


def calls(total: int, each: int, threads: int, unit: int = 1) -> list[tuple[int, int]]:
    """Ranges (first, last + 1) of items of `each` steps: at most CALL steps a range; of large work four a thread."""
    several = 4 * threads if total * each >= ALONE else 1
    size = max(1, min(CALL // max(1, each), -(-total // several)))
    return steps(total, -(-size // unit) * unit)


def _start_workers(count: int) -> None:
    if len(_workers) < count:
        with _lock, suppress(RuntimeError):
            while len(_workers) < count:
                name = f"semiring-{len(_workers)}"
                worker = threading.Thread(target=_serve, args=(_regions,), name=name, daemon=True)
                worker.start()
                _workers.append(worker)


def _serve(regions: SimpleQueue[_ParallelRegion | None]) -> None:
    while (region := regions.get()) is not None:
        region.join()
        del region  # keeps nothing alive while waiting


@atexit.register
def _stop() -> None:
    """End the workers before the interpreter does: unwinding them out of compiled code would abort."""
    regions, workers = _regions, _workers
    _forget()
    for _ in workers:
        regions.put(None)
    deadline = time.monotonic() + 1
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))


def _forget() -> None:
    """Drop the pool: threads do not survive a fork; the child, or work at exit, starts new ones."""
    global _regions, _workers, _lock
    _regions, _workers, _lock = SimpleQueue(), [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
