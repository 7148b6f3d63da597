"""Windows of a matrix in slow memory, read and written back concurrently with computation on others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ...algebra.ranges import blocks
from ...host.types import Array
from .store import TileStore

#: Numbers of reader and writer threads.
READERS, WRITERS = 2, 2


class SlowMatrix(ABC):
    """Matrix read and written window by window, by several threads; written windows are complete blocks."""

    shape: tuple[int, int]
    dtype: np.dtype
    block: tuple[int, int] = (1, 1)

    @abstractmethod
    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        """out ← a window."""

    @abstractmethod
    def write(self, rows: slice, columns: slice, entries: np.ndarray, round: int) -> None:
        """A window ← entries, to which `round` pivots have been applied."""

    def round(self, rows: slice, columns: slice) -> int:
        """Number of pivots applied to all of a window; 0 if unknown."""
        return 0


class InArray(SlowMatrix):
    """Array in host memory, or `np.memmap`; rounds are not recorded."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, (len(array), array.shape[1]), array.dtype

    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        np.copyto(out, self.array[rows, columns])

    def write(self, rows: slice, columns: slice, entries: np.ndarray, round: int) -> None:
        np.copyto(self.array[rows, columns], entries)


class InStore(SlowMatrix):
    """Tile store; `durable`: every tile is on disk before the next step, see `TileStore.write`."""

    def __init__(self, store: TileStore, *, durable: bool = True) -> None:
        self.store, self.shape, self.dtype, self.block = store, store.shape, store.dtype, store.block
        self._durable = durable

    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        self.store.window(rows, columns, out)

    def write(self, rows: slice, columns: slice, entries: np.ndarray, round: int) -> None:
        self.store.put(entries, rows.start, columns.start, round=round, durable=self._durable)

    def round(self, rows: slice, columns: slice) -> int:
        """Least round of its tiles."""
        return min(self.store.round(i, j) for i, j in blocks(rows, columns, self.block))


class WindowIO(ABC):
    """Asynchronous reads and writes of windows of a slow matrix.

    Windows are read into named buffers. A read waits for the buffer's write-back, and for pending writes to its own
    window. `unit`: size of the blocks for which pending writes are recorded.
    """

    def __init__(self, slow: SlowMatrix, unit: int) -> None:
        self.slow, self._unit = slow, unit
        self._block_writes: dict[tuple[int, int], Any] = {}
        self._buffer_writes: dict[Hashable, Any] = {}

    def __enter__(self) -> WindowIO:
        return self

    @abstractmethod
    def __exit__(self, *exception: object) -> None:
        """Wait for all transfers."""

    @abstractmethod
    def prefetch(self, X: Array, rows: slice, columns: slice, buffer: Hashable = None) -> Any:
        """Begin X ← window, after preceding verbs and the buffer's pending write; returns a ticket for `wait`."""

    @abstractmethod
    def wait(self, ticket: Any) -> None:
        """Order subsequent verbs after a ticket of `prefetch` or `pending`; None is a no-op."""

    def pending(self, buffer: Hashable) -> Any:
        """Ticket to `wait` for before verbs write to a buffer."""
        return self._buffer_writes.get(buffer)

    @abstractmethod
    def write_back(self, X: Array, rows: slice, columns: slice, buffer: Hashable, round: int) -> None:
        """Begin window ← X, after preceding verbs."""

    @abstractmethod
    def flush(self) -> None:
        """Wait for all writes; raise their errors."""

    def _blocks(self, rows: slice, columns: slice) -> Iterator[tuple[int, int]]:
        return blocks(rows, columns, (self._unit, self._unit))

    def _dependencies(self, rows: slice, columns: slice, buffer: Hashable) -> list[Any]:
        """Pending writes that precede a read of this window into this buffer."""
        writes = [self._block_writes.get(index) for index in self._blocks(rows, columns)]
        if buffer is not None:
            writes.append(self._buffer_writes.get(buffer))
        return list({id(write): write for write in writes if write is not None}.values())

    def _record(self, rows: slice, columns: slice, buffer: Hashable, write: Any) -> None:
        self._buffer_writes[buffer] = write
        self._block_writes.update(dict.fromkeys(self._blocks(rows, columns), write))


class HostWindowIO(WindowIO):
    """Windows by reader and writer threads, for synchronous verbs."""

    def __init__(self, slow: SlowMatrix, unit: int) -> None:
        super().__init__(slow, unit)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="semiring-reads")
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="semiring-writes")

    def __exit__(self, *exception: object) -> None:
        for pool in (self._readers, self._writers):
            pool.shutdown(wait=True, cancel_futures=True)

    def prefetch(self, X: np.ndarray, rows: slice, columns: slice, buffer: Hashable = None) -> Future[None]:
        return self._readers.submit(self._read, self._dependencies(rows, columns, buffer), X, rows, columns)

    def wait(self, ticket: Future[None] | None) -> None:
        if ticket is not None:
            ticket.result()

    def write_back(self, X: np.ndarray, rows: slice, columns: slice, buffer: Hashable, round: int) -> None:
        self._record(rows, columns, buffer, self._writers.submit(self.slow.write, rows, columns, X, round))

    def flush(self) -> None:
        for write in self._block_writes.values():
            write.result()
        self._block_writes.clear()

    def _read(self, dependencies: list[Future[None]], X: np.ndarray, rows: slice, columns: slice) -> None:
        for write in dependencies:
            write.result()
        self.slow.read(rows, columns, X)
