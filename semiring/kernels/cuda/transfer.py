"""Transfers of large NumPy arrays to and from the GPU: a ring of pinned buffers, filled by threads while others travel.

The copy engine handles pinned memory at bus speed; pageable memory must be copied to and from it, at a fraction of that
speed per thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from threading import Lock, local
from typing import Any

import numpy as np

from ...host.types import Array
from . import gpu
from .library import cuda, cupy

#: Buffer bytes, number of buffers, and least array bytes.
PIECE, RING, LARGE = 32 << 20, 4, 32 << 20
PAGE = 4096
#: Seconds of spinning before sleeping.
AWAKE = 2e-3

_own = local()  # one event per device and thread
_LOCKS: dict[int, Lock] = {}  # one transfer at a time per device's ring


def upload(array: np.ndarray, dtype: np.dtype) -> Any:
    """A NumPy array of any strides and byte order as a new CuPy array of `dtype`, on the caller's stream."""
    plain = array.dtype == dtype and array.dtype.isnative
    source = _lines(array) if plain and array.nbytes >= LARGE else None
    if source is None:
        return cupy.asarray(np.ascontiguousarray(array, dtype=dtype))
    result = cupy.empty(array.shape, dtype)
    stream = cupy.cuda.get_current_stream()
    with _lock():
        ring = _ring(gpu.current(), PIECE)
        for lines, start, (buffer, view, event) in _pieces(source, ring):
            wait(event)  # the buffer's previous contents have arrived
            _copy(view[: lines.size].reshape(lines.shape), lines)
            to, way = result.data.ptr + start, cuda.runtime.memcpyHostToDevice
            cuda.runtime.memcpyAsync(to, buffer.ptr, lines.size, way, stream.ptr)
            event.record(stream)
        for _, _, event in ring:
            wait(event)
    return result


def download(matrix: Array, out: np.ndarray) -> np.ndarray:
    """Copy a CuPy array into a NumPy array of its shape; blocking."""
    plain = out.dtype == matrix.dtype and out.dtype.isnative and matrix.flags.c_contiguous
    target = _lines(out) if plain and out.nbytes >= LARGE else None
    if target is None:
        synchronize()
        if plain and out.size and out.flags.c_contiguous:
            matrix.get(out=out, blocking=True)
        else:
            out[...] = cupy.asnumpy(matrix)
        return out
    stream = cupy.cuda.get_current_stream()
    with _lock():
        ring = _ring(gpu.current(), PIECE)
        waiting: list[Callable[[], None]] = []
        for lines, start, (buffer, view, event) in _pieces(target, ring):
            if len(waiting) == RING:
                waiting.pop(0)()
            source, way = matrix.data.ptr + start, cuda.runtime.memcpyDeviceToHost
            cuda.runtime.memcpyAsync(buffer.ptr, source, lines.size, way, stream.ptr)
            event.record(stream)
            waiting.append(partial(_land, lines, view, event))
        for land in waiting:
            land()
    return out


def fresh(shape: tuple[int, ...], dtype: np.dtype) -> tuple[np.ndarray, Future[None] | None]:
    """A new NumPy array, and a future done once threads have mapped all of its pages."""
    array = np.empty(shape, dtype)
    if array.nbytes < LARGE:
        return array, None
    pages = array.reshape(-1).view(np.uint8)[::PAGE]
    return array, _aside().submit(_each_part, pages, lambda part: part.fill(0))


def wait(event: Any) -> None:
    """Wait for a device event by polling, so that Ctrl-C is handled within milliseconds.

    Short waits spin, as sleeping would overshoot; other threads can run.
    """
    begun = time.perf_counter()
    while not event.done:
        waited = time.perf_counter() - begun
        time.sleep(min(waited / 20, 5e-3) if waited > AWAKE else 0)


def synchronize() -> None:
    events: dict[int, Any] = _own.__dict__.setdefault("events", {})
    device = gpu.current()
    event = events.get(device)
    if event is None:
        event = events[device] = cupy.cuda.Event(disable_timing=True)
    event.record(cupy.cuda.get_current_stream())
    wait(event)


def _land(target: np.ndarray, view: np.ndarray, event: Any) -> None:
    wait(event)
    _copy(target, view[: target.size].reshape(target.shape))


def _lines(array: np.ndarray) -> np.ndarray | None:
    """An array's bytes as (lines, bytes of each), if lines are contiguous, else None."""
    if array.flags.c_contiguous:
        return array.reshape(1, -1).view(np.uint8)
    if array.ndim != 2 or array.strides[1] != array.itemsize or not 0 < array.shape[1] * array.itemsize <= PIECE:
        return None
    return array.view(np.uint8)


def _pieces(lines: np.ndarray, ring: list[Any]) -> Iterator[tuple[np.ndarray, int, Any]]:
    """(part of the lines, its first byte, buffer) round the ring; a single line is cut anywhere."""
    count, length = lines.shape
    if count == 1:
        parts = ((lines[:, i : i + PIECE], i) for i in range(0, length, PIECE))
    else:
        lines_each = PIECE // length
        parts = ((lines[i : i + lines_each], i * length) for i in range(0, count, lines_each))
    for index, (part, start) in enumerate(parts):
        yield part, start, ring[index % RING]


def _copy(to: np.ndarray, source: np.ndarray) -> None:
    """to ← source, bytes in lines, in parallel: NumPy releases the interpreter lock."""
    axis = 1 if len(to) == 1 else 0
    unit, parts = (PAGE if axis else 1), _threads()
    step = -(-to.shape[axis] // (parts * unit)) * unit
    cuts = [(slice(None),) * axis + (slice(i, i + step),) for i in range(0, to.shape[axis], step)]
    list(_pool().map(lambda cut: np.copyto(to[cut], source[cut]), cuts))


def _lock() -> Lock:
    return _LOCKS.setdefault(gpu.current(), Lock())


def _each_part(array: np.ndarray, do: Callable[[np.ndarray], Any]) -> None:
    list(_pool().map(do, np.array_split(array, 8 * _threads())))


def _threads() -> int:
    return max(1, min(16, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="semiring-transfer")


@cache
def _aside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="semiring-pages")


@cache
def _ring(device: int, size: int) -> list[tuple[Any, np.ndarray, Any]]:
    """A device's pinned buffers, each with its bytes and an event; reused across transfers."""
    made = []
    for _ in range(RING):
        buffer = cupy.cuda.alloc_pinned_memory(size)
        made.append((buffer, np.frombuffer(buffer, np.uint8, size), cupy.cuda.Event(disable_timing=True)))
    return made
