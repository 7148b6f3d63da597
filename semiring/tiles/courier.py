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


class Slow(ABC):
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
    def write(self, rows: slice, columns: slice, entries: np.ndarray, turn: int) -> None:
        """A window ← entries, which have gone through `turn` pivots."""

    def turn(self, rows: slice, columns: slice) -> int:
        """How many pivots all of a window has gone through; 0 where that is not recorded."""
        return 0


class InArray(Slow):
    """An array in memory of the host, or `np.memmap`."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype = array, (len(array), array.shape[1]), array.dtype

    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        """out ← a window."""
        np.copyto(out, self.array[rows, columns])

    def write(self, rows: slice, columns: slice, entries: np.ndarray, turn: int) -> None:
        """A window ← entries; how many pivots they have gone through is not recorded."""
        np.copyto(self.array[rows, columns], entries)


class InStore(Slow):
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

    def write(self, rows: slice, columns: slice, entries: np.ndarray, turn: int) -> None:
        """The tiles of a window ← entries."""
        self.store.put(entries, rows.start, columns.start, round=turn, durable=self._durable)

    def turn(self, rows: slice, columns: slice) -> int:
        """The round of the oldest of its tiles."""
        (a, b) = self.block
        return min(
            self.store.round(i, j)
            for i in range(rows.start // a, -(-rows.stop // a))
            for j in range(columns.start // b, -(-columns.stop // b))
        )


class Courier(ABC):
    """Brings windows of a slow matrix to where verbs work, and takes them back, while verbs work on others.

    Windows are fetched into named buffers. A fetch waits until what was in the buffer has been written back, and until
    its own window, if that is on its way back, has been written.

    Parameters
    ----------
    slow : Slow
    unit : int
        The size of the blocks by which it is remembered what is on its way back.
    """

    def __init__(self, slow: Slow, unit: int) -> None:
        self.slow, self._unit = slow, unit
        self._written: dict[tuple[int, int], Any] = {}  # by block: done when it is written back
        self._left: dict[Hashable, Any] = {}  # by buffer: done when it may be used again

    def __enter__(self) -> Courier:
        return self

    @abstractmethod
    def __exit__(self, *exception: object) -> None:
        """Wait until no transfer is under way."""

    @abstractmethod
    def bring(self, X: Array, rows: slice, columns: slice, buffer: Hashable = None) -> Any:
        """Begin X ← window, after the verbs so far, and when what was in this buffer is back."""

    @abstractmethod
    def arrived(self, sent: Any) -> None:
        """Verbs from now on see what `bring` began, or write where `freed` says; nothing for None."""

    def freed(self, buffer: Hashable) -> Any:
        """What to wait for by `arrived` before verbs write to a buffer."""
        return self._left.get(buffer)

    @abstractmethod
    def take_back(self, X: Array, rows: slice, columns: slice, buffer: Hashable, turn: int) -> None:
        """Begin window ← X, after the verbs so far."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until all is back; raise the error of any."""

    def _blocks(self, rows: slice, columns: slice) -> Iterator[tuple[int, int]]:
        unit = self._unit
        for i in range(rows.start // unit, -(-rows.stop // unit)):
            for j in range(columns.start // unit, -(-columns.stop // unit)):
                yield i, j

    def _before(self, rows: slice, columns: slice, buffer: Hashable) -> list[Any]:
        """What must be done before a window is read into a buffer."""
        found = {id(t): t for index in self._blocks(rows, columns) if (t := self._written.get(index)) is not None}
        if buffer is not None and buffer in self._left:
            found[id(self._left[buffer])] = self._left[buffer]
        return list(found.values())

    def _leaves(self, rows: slice, columns: slice, buffer: Hashable, done: Any) -> None:
        self._left[buffer] = done
        for index in self._blocks(rows, columns):
            self._written[index] = done


class HostCourier(Courier):
    """Threads that read and write, for verbs that are done when they return."""

    def __init__(self, slow: Slow, unit: int) -> None:
        super().__init__(slow, unit)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="semiring-reads")
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="semiring-writes")

    def __exit__(self, *exception: object) -> None:
        for pool in (self._readers, self._writers):
            pool.shutdown(wait=True, cancel_futures=True)

    def bring(self, X: np.ndarray, rows: slice, columns: slice, buffer: Hashable = None) -> Future[None]:
        """Begin X ← window."""
        return self._readers.submit(self._read, self._before(rows, columns, buffer), X, rows, columns)

    def arrived(self, sent: Future[None] | None) -> None:
        """Wait for it."""
        if sent is not None:
            sent.result()

    def take_back(self, X: np.ndarray, rows: slice, columns: slice, buffer: Hashable, turn: int) -> None:
        """Begin window ← X."""
        self._leaves(rows, columns, buffer, self._writers.submit(self.slow.write, rows, columns, X, turn))

    def finish(self) -> None:
        """Wait until all is back."""
        for done in self._written.values():
            done.result()
        self._written.clear()

    def _read(self, before: list[Future[None]], X: np.ndarray, rows: slice, columns: slice) -> None:
        for done in before:
            done.result()
        self.slow.read(rows, columns, X)
