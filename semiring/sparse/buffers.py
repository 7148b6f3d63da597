"""Reuse of memory that no array refers to, as fresh pages cost more than the computation; copy-on-write pages."""

from __future__ import annotations

import itertools
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np

from ..host.memory import require

T = TypeVar("T")

#: Counter of versions: equal stamps mean equal numbers.
STAMPS = itertools.count(1)
#: Alignment of arrays: a cache line.
LINE = 64


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return _view(_owner(_bytes(shape, dtype)), shape, dtype)


def addresses(*arrays: np.ndarray) -> list[int]:
    return [x.ctypes.data for x in arrays]


class Buffers:
    """Pool of at most `most` arrays; memory returns to it when no array refers to it."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._owners: list[np.ndarray] = []
        self._lock = threading.Lock()

    def get(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        size = _bytes(shape, dtype)
        with self._lock:
            owner = next((owner for owner in unused(self._owners) if len(owner) >= size + LINE), None)
            if owner is None:
                owner = _owner(size)
                self._owners = [*self._owners[1 - self._most :], owner] if self._most > 1 else [owner]
            return _view(owner, shape, dtype)

    def release(self) -> None:
        with self._lock:
            released = {id(owner) for owner in unused(self._owners)}
            self._owners = [owner for owner in self._owners if id(owner) not in released]

    def __reduce__(self) -> Any:
        return Buffers, (self._most,)  # as new, in another process


class Recycled:
    """Pool of many arrays of at most `size` bytes; at most `most` unused ones are kept."""

    def __init__(self, size: int, most: int) -> None:
        self._size, self._most, self._since = size, most, 0
        self._owners: list[np.ndarray] = []
        self._free: list[np.ndarray] = []
        self._lock = threading.Lock()

    def get(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        with self._lock:
            self._since += 1
            if not self._free and self._since > len(self._owners) // 4:  # seldom enough to cost little
                free = list(unused(self._owners))
                self._free, surplus = free[: self._most], {id(owner) for owner in free[self._most :]}
                self._owners = [owner for owner in self._owners if id(owner) not in surplus]
                self._since = 0
            if not self._free:
                self._free = [_owner(self._size)]
                self._owners += self._free
            return _view(self._free.pop(), shape, dtype)


class Pages:
    """Two contiguous arrays of equal length, in pages shared copy-on-write with successors.

    Page k of each holds entries edges[k] … edges[k + 1] (by default a single page); offsets are looked up in page
    offset >> shift.
    table (2, pages), int64: the address that entry 0 would have if all entries were contiguous with the page.
    owned (2 · pages,), uint8: 1 for pages that nothing else refers to; 2 for pages to be copied by `own`.
    """

    def __init__(self, arrays: Sequence[np.ndarray], edges: np.ndarray | None = None, shift: int = 62) -> None:
        self.dtype, self.entries, self.shift = arrays[0].dtype, arrays[0].size, shift
        self._edges = np.array([0, self.entries]) if edges is None else edges
        pages = len(self._edges) - 1
        self._pages = [array for array in arrays for _ in range(pages)]
        self._memory = Recycled(int(np.diff(self._edges).max()) * self.dtype.itemsize, 2 * pages)
        self.table = np.repeat([array.ctypes.data for array in arrays], pages).reshape(2, pages)
        self.owned = np.zeros(2 * pages, np.uint8)

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Kernel arguments: the address of each array's table row, and `shift`."""
        begin = self.table.ctypes.data
        return begin, begin + self.table.strides[0], self.shift

    def successor(self) -> Pages:
        made = copy(self)
        made._pages, made.table, made.owned = self._pages.copy(), self.table.copy(), np.zeros_like(self.owned)
        return made

    def own(self, ahead: int = 0) -> int:
        """Copy pages with owned[k] = 2, and up to `ahead` before each; returns the bytes of all owned pages."""
        pages = self.table.shape[1]
        for k in np.flatnonzero(self.owned == 2).tolist():
            for before in range(max(k - k % pages, k - ahead), k + 1):
                if self.owned[before] != 1:
                    self._own(before)
        return int(np.count_nonzero(self.owned)) * (self.dtype.itemsize << self.shift)

    def _own(self, k: int) -> None:
        low, high = self._page(k)
        page = self._memory.get((high - low,), self.dtype)
        page[:] = self._of(k)
        self._pages[k], self.table.flat[k], self.owned[k] = page, page.ctypes.data - low * self.dtype.itemsize, 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        first, second = (self._array(side * self.table.shape[1]) for side in range(2))
        return first, second

    def _array(self, begin: int) -> np.ndarray:
        pages = range(begin, begin + self.table.shape[1])
        if all(self._pages[k] is self._pages[begin] for k in pages):
            return self._pages[begin]
        return np.concatenate([self._of(k) for k in pages])

    def _page(self, k: int) -> tuple[int, int]:
        k %= self.table.shape[1]
        return int(self._edges[k]), int(self._edges[k + 1])

    def _of(self, k: int) -> np.ndarray:
        """Entries of page k, from its own memory or a slice of an array."""
        (low, high), page = self._page(k), self._pages[k]
        return page if page.size == high - low else page[low:high]


class Pool:
    """Pool of the numbers (`Kept`) of related eliminations, at most `most`, for reuse once nothing refers to them."""

    def __init__(self, most: int) -> None:
        self.items: list[Any] = []
        self._most, self._lock = most, threading.Lock()

    def get(self, make: Callable[[], Any]) -> Any:
        """Unreferenced numbers to overwrite, or new ones."""
        with self._lock:
            for item in unused(self.items):
                if item.free:
                    return item
            made = make()
            self.items = [*self.items[1 - self._most :], made]
            return made

    def remember(self, item: Any) -> None:
        with self._lock:
            if not any(known is item for known in self.items):
                self.items = [*self.items[1 - self._most :], item]


def _bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    return math.prod(shape) * dtype.itemsize


def _owner(size: int) -> np.ndarray:
    require(size, where="elimination", hint="Ask for fewer rows at a time, or let fewer threads do it.")
    return np.empty(size + LINE, np.uint8)


def _view(owner: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    start = -owner.ctypes.data % LINE
    return owner[start : start + _bytes(shape, dtype)].view(dtype).reshape(shape)


def unused(owners: list[T]) -> Iterator[T]:
    """Items that only the list refers to; every view of an array refers to the array."""
    for owner in owners:
        if sys.getrefcount(owner) <= _ALONE:
            yield owner


def _references() -> int:
    """Reference count of an array that only a list holds, seen from a loop over the list."""
    for owner in [_owner(0)]:
        return sys.getrefcount(owner)
    raise AssertionError


_ALONE = _references()
