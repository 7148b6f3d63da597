"""Windows of a matrix in slow memory: fetched to where verbs work and written back, concurrently with the verbs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ..types import Array
from .store import TileStore

#: Threads that read, and threads that write.
READERS, WRITERS = 2, 2


class SlowMatrix(ABC):
    """A matrix that is read and written window by window, by several threads at a time.

    Attributes
    ----------
    shape : (int, int)
    dtype : numpy.dtype
    block : (int, int)
        Windows that are written are complete blocks of this size, or end with the matrix.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    block: tuple[int, int] = (1, 1)

    @abstractmethod
    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        """out ← a window."""

    @abstractmethod
    def write(self, rows: slice, columns: slice, entries: np.ndarray, round: int) -> None:
        """A window ← entries, which have gone through `round` pivots."""

    def round(self, rows: slice, columns: slice) -> int:
        """The pivots that all of a window has gone through; 0 where that is not recorded."""
        return 0


class InArray(SlowMatrix):
    """An array in memory of the host, or `np.memmap`."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, (len(array), array.shape[1]), array.dtype

    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        """out ← a window."""
        np.copyto(out, self.array[rows, columns])

    def write(self, rows: slice, columns: slice, entries: np.ndarray, round: int) -> None:
        """A window ← entries; the round is not recorded."""
        np.copyto(self.array[rows, columns], entries)


class InStore(SlowMatrix):
    """A tile store.

    Parameters
    ----------
    store : TileStore
    durable : bool
        Whether every tile is on the disk before the next step; see `TileStore.write`.
    """

    def __init__(self, store: TileStore, *, durable: bool = True) -> None:
        self.store, self.shape, self.dtype, self.block = store, store.shape, store.dtype, store.block
        self._durable = durable

    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        """out ← a window; its tiles are checked."""
        self.store.window(rows, columns, out)

    def write(self, rows: slice, columns: slice, entries: np.ndarray, round: int) -> None:
        """The tiles of a window ← entries."""
        self.store.put(entries, rows.start, columns.start, round=round, durable=self._durable)

    def round(self, rows: slice, columns: slice) -> int:
        """The round of the oldest of its tiles."""
        (a, b) = self.block
        return min(
            self.store.round(i, j)
            for i in range(rows.start // a, -(-rows.stop // a))
            for j in range(columns.start // b, -(-columns.stop // b))
        )


class WindowIO(ABC):
    """Asynchronous reads and writes of windows of a slow matrix, concurrent with the verbs on others.

    Windows are read into named buffers. A read waits until the buffer has been written back, and until pending writes
    to its own window are done.

    Parameters
    ----------
    slow : SlowMatrix
    unit : int
        The size of the blocks for which pending writes are recorded.
    """

    def __init__(self, slow: SlowMatrix, unit: int) -> None:
        self.slow, self._unit = slow, unit
        self._block_writes: dict[tuple[int, int], Any] = {}
        self._buffer_writes: dict[Hashable, Any] = {}

    def __enter__(self) -> WindowIO:
        return self

    @abstractmethod
    def __exit__(self, *exception: object) -> None:
        """Wait for all transfers under way."""

    @abstractmethod
    def prefetch(self, X: Array, rows: slice, columns: slice, buffer: Hashable = None) -> Any:
        """Begin X ← window, after the verbs so far and the pending write of this buffer; a ticket for `wait`."""

    @abstractmethod
    def wait(self, ticket: Any) -> None:
        """Have the verbs from now on wait for what `prefetch` or `pending` returned; nothing for None."""

    def pending(self, buffer: Hashable) -> Any:
        """The ticket to `wait` for before verbs write to a buffer."""
        return self._buffer_writes.get(buffer)

    @abstractmethod
    def write_back(self, X: Array, rows: slice, columns: slice, buffer: Hashable, round: int) -> None:
        """Begin window ← X, after the verbs so far."""

    @abstractmethod
    def flush(self) -> None:
        """Wait for all writes; raise the error of any."""

    def _blocks(self, rows: slice, columns: slice) -> Iterator[tuple[int, int]]:
        unit = self._unit
        for i in range(rows.start // unit, -(-rows.stop // unit)):
            for j in range(columns.start // unit, -(-columns.stop // unit)):
                yield i, j

    def _dependencies(self, rows: slice, columns: slice, buffer: Hashable) -> list[Any]:
        """The pending writes that must be done before a window is read into a buffer."""
        writes = [self._block_writes.get(index) for index in self._blocks(rows, columns)]
        if buffer is not None:
            writes.append(self._buffer_writes.get(buffer))
        return list({id(write): write for write in writes if write is not None}.values())

    def _record(self, rows: slice, columns: slice, buffer: Hashable, write: Any) -> None:
        self._buffer_writes[buffer] = write
        self._block_writes.update(dict.fromkeys(self._blocks(rows, columns), write))


class HostWindowIO(WindowIO):
    """By threads that read and threads that write, for verbs that are done when they return."""

    def __init__(self, slow: SlowMatrix, unit: int) -> None:
        super().__init__(slow, unit)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="semiring-reads")
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="semiring-writes")

    def __exit__(self, *exception: object) -> None:
        for pool in (self._readers, self._writers):
            pool.shutdown(wait=True, cancel_futures=True)

    def prefetch(self, X: np.ndarray, rows: slice, columns: slice, buffer: Hashable = None) -> Future[None]:
        """Begin X ← window."""
        return self._readers.submit(self._read, self._dependencies(rows, columns, buffer), X, rows, columns)

    def wait(self, ticket: Future[None] | None) -> None:
        """Block until it is done."""
        if ticket is not None:
            ticket.result()

    def write_back(self, X: np.ndarray, rows: slice, columns: slice, buffer: Hashable, round: int) -> None:
        """Begin window ← X."""
        self._record(rows, columns, buffer, self._writers.submit(self.slow.write, rows, columns, X, round))

    def flush(self) -> None:
        """Block until all writes are done."""
        for write in self._block_writes.values():
            write.result()
        self._block_writes.clear()

    def _read(self, dependencies: list[Future[None]], X: np.ndarray, rows: slice, columns: slice) -> None:
        for write in dependencies:
            write.result()
        self.slow.read(rows, columns, X)
