"""Windows of a host or disk matrix to and from the device, on two streams beside the compute stream.

A host array is pinned in place for the copy engines. Others, and disks, go through pinned buffers served by threads.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np

from ...host.types import Array
from ...stores.tiles.windows import READERS, HostWindowIO, InArray, SlowMatrix, WindowIO
from ..contract import Backend
from . import gpu, transfer
from .library import cuda, cupy

#: Bytes of a pinned buffer, if the matrix itself is not pinned.
BUFFER = 64 << 20


def window_io(slow: SlowMatrix, unit: int, ops: Backend) -> WindowIO:
    """Window I/O through pinned memory if the matrix can be pinned, else through buffers."""
    if isinstance(slow, InArray) and slow.array.size:
        pinned = Pinned.of(slow.array)
        if pinned is not None:
            return PinnedWindowIO(slow, unit, pinned)
    return StagedWindowIO(slow, unit)


class Pinned:
    """A host array with pages pinned until `release`."""

    def __init__(self, array: np.ndarray, *, registered: bool) -> None:
        self.array, self._registered = array, registered

    @classmethod
    def of(cls, array: np.ndarray) -> Pinned | None:
        if not array.flags.writeable or array.strides[1] != array.itemsize or array.strides[0] < 0:
            return None
        address = array.ctypes.data
        size = (len(array) - 1) * array.strides[0] + array.shape[1] * array.itemsize
        try:
            if cuda.runtime.pointerGetAttributes(address).type == 1:  # already pinned
                return cls(array, registered=False)
            cuda.runtime.hostRegister(address, size, 1)  # for every device's context
        except cuda.runtime.CUDARuntimeError:  # a limit, or file-backed memory
            return None
        return cls(array, registered=True)

    def release(self) -> None:
        if self._registered:
            self._registered = False
            cuda.runtime.hostUnregister(self.array.ctypes.data)


class PinnedWindowIO(WindowIO):
    """Copy engines on the array itself; only `flush` blocks the host."""

    def __init__(self, slow: SlowMatrix, unit: int, pinned: Pinned) -> None:
        super().__init__(slow, unit)
        self._pinned, (self._in, self._out) = pinned, (gpu.stream(), gpu.stream())
        self._rows = pinned.array.strides[0]

    def __exit__(self, *exception: object) -> None:
        for stream in (self._in, self._out):
            with stream:
                transfer.synchronize()
        self._pinned.release()

    def prefetch(self, X: Array, rows: slice, columns: slice, buffer: Hashable = None) -> Any:
        for event in (*self._dependencies(rows, columns, buffer), gpu.recorded()):
            self._in.wait_event(event)
        _copy(X.data.ptr, X.strides[0], self._address(rows, columns), self._rows, X, 1, self._in)
        return gpu.recorded(self._in)

    def wait(self, ticket: Any) -> None:
        if ticket is not None:
            gpu.follow([ticket])

    def write_back(self, X: Array, rows: slice, columns: slice, buffer: Hashable, round: int) -> None:
        self._out.wait_event(gpu.recorded())
        _copy(self._address(rows, columns), self._rows, X.data.ptr, X.strides[0], X, 2, self._out)
        self._record(rows, columns, buffer, gpu.recorded(self._out))

    def flush(self) -> None:
        with self._out:
            transfer.synchronize()
        self._block_writes.clear()

    def _address(self, rows: slice, columns: slice) -> int:
        array = self._pinned.array
        return int(array.ctypes.data) + rows.start * self._rows + columns.start * array.itemsize


class StagedWindowIO(HostWindowIO):
    """Threads that fill and drain pinned buffers, and copy engines between these and the device."""

    def __init__(self, slow: SlowMatrix, unit: int) -> None:
        super().__init__(slow, unit)
        self._device, (self._in, self._out) = gpu.current(), (gpu.stream(), gpu.stream())
        self._buffers: dict[str, SimpleQueue[Any]] = {}

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        for stream in (self._in, self._out):
            with stream:
                transfer.synchronize()

    def prefetch(self, X: Array, rows: slice, columns: slice, buffer: Hashable = None) -> Future[Any]:
        dependencies = self._dependencies(rows, columns, buffer)
        return self._readers.submit(self._filled, dependencies, gpu.recorded(), X, rows, columns)

    def wait(self, ticket: Future[Any] | None) -> None:
        event = None if ticket is None else ticket.result()
        if event is not None:
            gpu.follow([event])

    def write_back(self, X: Array, rows: slice, columns: slice, buffer: Hashable, round: int) -> None:
        self._record(rows, columns, buffer, self._writers.submit(self._write, gpu.recorded(), X, rows, columns, round))

    def _filled(self, dependencies: list[Future[Any]], used: Any, X: Array, rows: slice, columns: slice) -> Any:
        for write in dependencies:
            write.result()
        with cupy.cuda.Device(self._device):
            self._in.wait_event(used)
            for part in self._parts(rows, X, self.slow.block[0]):
                with self._buffer("in", X) as (buffer, array, event):
                    y = X[part.start - rows.start : part.stop - rows.start]
                    view = array[: y.size].reshape(y.shape)
                    self.slow.read(part, columns, view)
                    _copy(y.data.ptr, y.strides[0], buffer.ptr, view.strides[0], y, 1, self._in)
                    event.record(self._in)
            return gpu.recorded(self._in)

    def _write(self, computed: Any, X: Array, rows: slice, columns: slice, round: int) -> None:
        with cupy.cuda.Device(self._device):
            for part in self._parts(rows, X, self.slow.block[0]):
                with self._buffer("out", X) as (buffer, array, event):
                    y = X[part.start - rows.start : part.stop - rows.start]
                    view = array[: y.size].reshape(y.shape)
                    self._out.wait_event(computed)
                    _copy(buffer.ptr, view.strides[0], y.data.ptr, y.strides[0], y, 2, self._out)
                    event.record(self._out)
                    transfer.wait(event)
                    self.slow.write(part, columns, view, round)

    def _parts(self, rows: slice, X: Array, block: int) -> Iterator[slice]:
        """Row ranges of a window in complete blocks, as large as a buffer."""
        width = max(1, X.shape[1] * X.itemsize)
        step = max(block, BUFFER // width // block * block)
        return (slice(start, min(start + step, rows.stop)) for start in range(rows.start, rows.stop, step))

    @contextmanager
    def _buffer(self, direction: str, X: Array) -> Iterator[tuple[Any, np.ndarray, Any]]:
        needed = max(BUFFER, min(self.slow.block[0], len(X)) * X.shape[1] * X.itemsize)
        with _LOCK:
            queue = self._buffers.get(direction)
            if queue is None:
                queue = self._buffers[direction] = SimpleQueue()
                for _ in range(READERS + 1):
                    queue.put(None)
        made = queue.get()
        if made is None or made[1].nbytes < needed:
            made = None
            buffer = cupy.cuda.alloc_pinned_memory(needed)
            array = np.frombuffer(buffer, X.dtype, needed // X.itemsize)
            made = buffer, array, cupy.cuda.Event(disable_timing=True)
        else:
            transfer.wait(made[2])
        try:
            yield made
        finally:
            queue.put(made)


_LOCK = threading.Lock()


def _copy(target: int, target_pitch: int, source: int, pitch: int, X: Array, kind: int, stream: Any) -> None:
    """Copy rows of X from the host (1) or to it (2), on a stream."""
    if X.size:
        width = X.shape[1] * X.itemsize
        pitches = max(target_pitch, width), max(pitch, width)
        cuda.runtime.memcpy2DAsync(target, pitches[0], source, pitches[1], width, len(X), kind, stream.ptr)
