"""Memory that is reused once no array refers to it: fresh pages cost more than what is computed into them."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

T = TypeVar("T")

#: Of numbers, one for each time that some are written.
STAMPS = itertools.count(1)
#: Arrays begin at a cache line.
LINE = 64


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new array, uninitialised, that begins at a cache line."""
    return _view(_owner(_bytes(shape, dtype)), shape, dtype)


class Buffers:
    """Hands out arrays, and hands the same memory out again when no array of it is left.

    Parameters
    ----------
    most : int
        How many are remembered. Arrays beyond that are not used again.
    """

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._owners: list[np.ndarray] = []
        self._lock = threading.Lock()

    def get(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array, uninitialised; several threads may call this at once."""
        size = _bytes(shape, dtype)
        with self._lock:
            owner = next((owner for owner in unused(self._owners) if len(owner) >= size + LINE), None)
            if owner is None:
                owner = _owner(size)
                self._owners = [*self._owners[1 - self._most :], owner] if self._most > 1 else [owner]
            return _view(owner, shape, dtype)

    def release(self) -> None:
        """Free the memory to which no array refers."""
        with self._lock:
            released = {id(owner) for owner in unused(self._owners)}
            self._owners = [owner for owner in self._owners if id(owner) not in released]

    def __reduce__(self) -> Any:
        return Buffers, (self._most,)  # as new, in another process


class Stamped:
    """Two arrays of as many entries, to be written over once nothing refers to them or to a part of them.

    Attributes
    ----------
    stamp : int64 array
        Equal stamps mean equal numbers, part by part; −1 what is being written.
    """

    def __init__(self, entries: int, dtype: np.dtype, parts: int) -> None:
        self._shape, self._dtype = (entries,), dtype
        self._owners = [_owner(_bytes(self._shape, dtype)) for _ in range(2)]
        self.stamp = np.full(parts, next(STAMPS))

    @property
    def arrays(self) -> list[np.ndarray]:
        """Both, from a cache line on."""
        return [_view(owner, self._shape, self._dtype) for owner in self._owners]

    @property
    def free(self) -> bool:
        """Whether nothing refers to them."""
        return len(list(unused(self._owners))) == len(self._owners)

    def written(self, parts: np.ndarray) -> None:
        """These parts have numbers of their own."""
        self.stamp[parts] = next(STAMPS)


class Free(Protocol):
    """What knows whether it may be written over."""

    @property
    def free(self) -> bool: ...


F = TypeVar("F", bound=Free)


class Pool(Generic[F]):
    """The numbers of eliminations that follow from one another, some of which nothing refers to any more.

    Parameters
    ----------
    most : int
        How many are remembered.
    """

    def __init__(self, most: int) -> None:
        self.items: list[F] = []
        self._most, self._lock = most, threading.Lock()

    def get(self, make: Callable[[], F]) -> F:
        """Numbers to write over: those that nothing refers to, or new ones."""
        with self._lock:
            for item in unused(self.items):
                if item.free:
                    return item
            made = make()
            self.items = [*self.items[1 - self._most :], made]
            return made

    def remember(self, item: F) -> None:
        """Numbers that are written over once nothing else refers to them."""
        with self._lock:
            if not any(known is item for known in self.items):
                self.items = [*self.items[1 - self._most :], item]


def _bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


def _owner(size: int) -> np.ndarray:
    return np.empty(size + LINE, np.uint8)


def _view(owner: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    start = -owner.ctypes.data % LINE
    return owner[start : start + _bytes(shape, dtype)].view(dtype).reshape(shape)


def unused(owners: list[T]) -> Iterator[T]:
    """Those that only the list refers to: every view of an array refers to it too."""
    for owner in owners:
        if sys.getrefcount(owner) <= _ALONE:
            yield owner


def _references() -> int:
    """How often an array is referred to that only a list holds, as seen from a loop over it."""
    for owner in [_owner(0)]:
        return sys.getrefcount(owner)
    raise AssertionError


_ALONE = _references()
