"""Ranges of rows or columns, as slices with both ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from ..host.spelling import came
from ..host.types import Array


def local(span: slice, within: slice) -> slice:
    """Range relative to the start of `within`."""
    return slice(span.start - within.start, span.stop - within.start)


def overlap(a: slice, b: slice) -> bool:
    return a.start < b.stop and b.start < a.stop


def meet(a: slice, b: slice) -> slice:
    start = max(a.start, b.start)
    return slice(start, max(start, min(a.stop, b.stop)))


def without(span: slice, *left_out: slice | None) -> Iterator[slice]:
    """Nonempty parts of a range outside several others."""
    start = span.start
    for out in sorted((meet(span, x) for x in left_out if x is not None), key=lambda x: (x.start, x.stop)):
        if out.start < out.stop:
            if start < out.start:
                yield slice(start, out.start)
            start = out.stop
    if start < span.stop:
        yield slice(start, span.stop)


def runs(keys: np.ndarray) -> list[slice]:
    """Runs of equal keys in a sorted array.

    Examples
    --------
    >>> runs(np.array([4, 4, 7]))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    edges = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
    return [slice(*run) for run in pairwise(edges) if run[1] > run[0]]


def cut(total: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Ranges (start, stop) of items that cost about `most` together; `total`: prefix sum of costs, from 0.

    >>> cut(np.array([0, 2, 4, 6, 7]), 3)
    [(0, 2), (2, 3), (3, 4)]
    """
    cuts = np.searchsorted(total, np.arange(0, total[-1], most))
    return list(pairwise(np.unique([0, *cuts, len(total) - 1]).tolist()))


def steps(stop: int, size: int, start: int = 0) -> list[tuple[int, int]]:
    """Ranges (first, last + 1) of `size` from `start` to `stop`; the last one may be shorter."""
    return [(first, min(first + size, stop)) for first in range(start, stop, size)]


def blocks(rows: slice, columns: slice, block: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Indices of the blocks that a window touches, row by row."""
    down, across = (range(x.start // size, -(-x.stop // size)) for x, size in zip((rows, columns), block, strict=True))
    return product(down, across)


def positions(starts: Array, counts: np.ndarray) -> np.ndarray:
    """Concatenated aranges (start[i], count[i]).

    Examples
    --------
    >>> positions(np.array([10, 40]), np.array([3, 2]))
    array([10, 11, 12, 40, 41])
    """
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))


def sliced(key: Any, size: int, *, where: str) -> slice:
    """Slice of an axis with explicit start and stop; IndexError unless a slice of step 1.

    Examples
    --------
    >>> sliced(slice(-3, None), 9, where="M")
    slice(6, 9, None)
    """
    if not isinstance(key, slice):
        raise IndexError(f"{where}: a slice is required, got {came(key)}.")
    start, stop, step = key.indices(size)
    if step != 1:
        raise IndexError(f"{where}: slices must have step 1, got {came(key)}.")
    return slice(start, max(start, stop))
