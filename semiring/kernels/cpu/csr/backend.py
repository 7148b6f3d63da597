"""Products of CSR matrices on the CPU: threads share row ranges of about equal work."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import memmove
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS, index_dtype
from ....algebra.records import Semiring
from ....host import memory
from ..code import CALL, gain, machine_code
from ..kinds import Kind, choose
from ..pool import run
from ..processors import threads_of
from ..sparse import hubs
from . import entries

#: Parts of a product per thread, least products per part, and most that one thread takes alone: about a millisecond.
PARTS, LEAST, ALONE = 8, 1 << 14, 1 << 18
HINT = "Multiply in parts, or give a mask."
#: Most products per part: each may miss the cache, so that Ctrl-C is handled within a second.
MOST = CALL >> 1
#: Most columns for a direct table, with one slot each, if products are as many.
DIRECT = 1 << 22
#: Mean products per row up to which rows are not counted: C has room for every product, and its unused pages are never
#: mapped.
NARROW = 64
#: Multiplier of Fibonacci hashing, 2³² / φ (Knuth, volume 3, section 6.4).
FACTOR = 0x9E3779B1


def _letter(indices: np.ndarray) -> str:
    return "s" if indices.dtype == np.int32 else "l"


def arranged(keys: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Counting sort of `count` keys: start of each key, and the stable order."""
    starts, order = np.zeros(count + 1, np.int64), np.empty(len(keys), np.int64)
    machine_code(entries.arrange, None, f"{_letter(keys)}ll").call(keys, starts, order)
    return starts, order


def products_of(A: Any, B: Any, threads: int = 1) -> np.ndarray:
    """Products per row of A ⊗ B; allocates only the result."""
    found, lengths = np.empty(A.shape[0], np.int64), np.diff(B.starts)
    call = machine_code(entries.count_products, None, f"l{_letter(A.indices)}llii").call
    parts = cuts(A.starts, threads)
    run(lambda _, start, stop: call(A.starts, A.indices, lengths, found, start, stop), parts, threads)
    return found


class _Table:
    """Table of one row's columns, hashed or direct; `slots`, `factor` and `shift` as in `entries.count_entries`."""

    def __init__(self, columns: int, longest: int, products: int) -> None:
        self.slots = 1 << max(4, (2 * min(longest, columns)).bit_length())
        self.factor, self.shift = FACTOR, 33 - self.slots.bit_length()
        if columns <= max(self.slots, min(products, DIRECT)) or self.shift <= 1:
            self.slots, self.factor, self.shift = columns, 1, 0

    def made(self, index: np.dtype, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Slots for numbers up to `last`, and, unless direct, the column of each slot."""
        return np.full(self.slots, -1, index_dtype(last)), np.empty(self.slots if self.shift else 0, index)

    def bytes(self, index: np.dtype, last: int) -> int:
        return self.slots * (index_dtype(last).itemsize + bool(self.shift) * index.itemsize)


def cuts(
    starts: np.ndarray, threads: int, most: int = MOST, each: int = 1, parts: int = PARTS
) -> list[tuple[int, int]]:
    """Row ranges (start, stop) of about equal work: `each` per entry, or product, before starts[row + 1].

    About `parts` a thread; one of all rows for one thread, or for little work.
    """
    rows = len(starts) - 1
    if int(starts[-1]) * each + 4 * rows <= (most if threads == 1 else min(most, ALONE)):
        return [(0, rows)] if rows else []
    grain = max(1, rows // (64 * parts * threads))  # rows per unit of cutting
    units = np.minimum(np.arange(grain, rows + grain, grain), rows)
    work = starts[units] * each + 4 * units  # an empty row costs something, too
    total = int(work[-1]) if rows else 0
    step = min(most, max(LEAST, total // (parts * threads)))
    ends = units[np.unique(np.searchsorted(work, np.arange(step, total, step), "left"))].tolist() if rows else []
    return [(i, j) for i, j in pairwise([0, *ends, rows]) if i < j]


def added_up(counts: np.ndarray) -> np.ndarray:
    """Starts of consecutive ranges of these lengths, and the end of the last."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _empty_mask(rows: int, index: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(rows + 1, np.int64), np.empty(0, index)


def multiply(
    A: Any, B: Any, s: Semiring, mask: Any, complement: bool, threads: int | None, where: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, indices and entries of A ⊗ B, at the mask's positions or at all others; columns unsorted within rows."""
    count, kind = threads_of(threads, where), choose(s, A.data.dtype, False)
    products = products_of(A, B, count)
    if mask is not None and not complement:
        return _masked(A, B, kind, mask, products, count, where)
    index, rows, total = B.indices.dtype, len(products), int(products.sum())
    outside = (mask.starts, mask.indices) if mask else _empty_mask(rows, index)
    met = products + np.diff(outside[0]) if mask else products
    table = _Table(B.shape[1], int(met.max(initial=0)), int(met.sum()))
    begins = added_up(products)
    parts = cuts(begins, count, MOST if gain(kind) > 1 else MOST >> 3)
    workers = min(count, max(1, len(parts)))
    a, b, counts = _letter(A.indices), _letter(B.indices), np.zeros(rows, np.int64)
    size, each = total, index.itemsize + kind.itemsize
    if counted := total > NARROW * rows or not memory.fits(total * each):
        memory.require(workers * table.bytes(index, rows), where=where, hint=HINT)
        tables = [table.made(index, rows) for _ in range(workers)]
        counting = machine_code(entries.count_entries, None, f"l{a}l{b}l{b}ii{_letter(tables[0][0])}{b}lii").call

        def measure(worker: int, start: int, stop: int) -> None:
            counting(
                A.starts, A.indices, B.starts, B.indices, *outside, table.factor, table.shift, *tables[worker], counts,
                start, stop,
            )  # fmt: skip

        run(measure, parts, count)
        size = int(counts.sum())
    memory.require(workers * table.bytes(index, size) + size * each, where=where, hint=HINT)
    tables = [table.made(index, size) for _ in range(workers)]
    indices, data = np.empty(size, index), np.empty(size, A.data.dtype)
    call = machine_code(entries.multiply_rows, kind, f"l{a}il{b}il{b}ii{_letter(tables[0][0])}{b}l{b}iiii").call
    if counted:
        begins = added_up(counts)

    done = 0  # entries that one worker has written

    def compute(worker: int, start: int, stop: int) -> None:
        nonlocal done
        free = done if workers == 1 else begins[start]
        call(
            kind.code, A.starts, A.indices, A.data.ctypes.data, B.starts, B.indices, B.data.ctypes.data, *outside,
            table.factor, table.shift, *tables[worker], counts, indices, data.ctypes.data, free, start, stop,
        )  # fmt: skip
        done += int(counts[start:stop].sum()) if workers == 1 else 0

    run(compute, parts, count)
    if counted:
        return begins, indices, data
    starts = added_up(counts)
    for array in (indices, data):
        for start, stop in parts if workers > 1 else ():  # close the gaps between parts
            source, to, end = (array.itemsize * int(x) for x in (begins[start], starts[start], starts[stop]))
            memmove(array.ctypes.data + to, array.ctypes.data + source, end - to)
        array.resize(int(starts[-1]), refcheck=False)
    return starts, indices, data


def _masked(
    A: Any, B: Any, kind: Kind, mask: Any, products: np.ndarray, threads: int, where: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`multiply` at the mask's positions only: they bound C, so that counting is skipped."""
    index, size, lengths = B.indices.dtype, len(mask.indices), np.diff(mask.starts)
    table = _Table(B.shape[1], int(lengths.max(initial=0)), int(products.sum()))
    parts = cuts(added_up(products * (lengths > 0) + lengths), threads, MOST if gain(kind) > 1 else MOST >> 3)
    workers = min(threads, max(1, len(parts)))
    needed = workers * table.bytes(index, size) + 2 * size * (1 + index.itemsize + kind.itemsize)
    memory.require(needed, where=where, hint=HINT)
    tables = [table.made(index, size) for _ in range(workers)]
    met, data = np.zeros(size, np.uint8), np.empty(size, A.data.dtype)
    a, b, t = _letter(A.indices), _letter(B.indices), _letter(tables[0][0])
    call = machine_code(entries.multiply_masked, kind, f"l{a}il{b}il{b}ii{t}{b}ciii").call

    def compute(worker: int, start: int, stop: int) -> None:
        call(
            kind.code, A.starts, A.indices, A.data.ctypes.data, B.starts, B.indices, B.data.ctypes.data, mask.starts,
            mask.indices, table.factor, table.shift, *tables[worker], met, data.ctypes.data, start, stop,
        )  # fmt: skip

    run(compute, parts, threads)
    kept = met.view(bool)
    if kept.all():
        return mask.starts, mask.indices.copy(), data
    total = np.concatenate([[0], np.cumsum(kept)])
    return total[mask.starts], mask.indices[kept], data[kept]


def gather(
    A: Any, X: np.ndarray, out: np.ndarray, s: Semiring, *, mirrored: bool, threads: int | None, where: str
) -> None:
    """out ← A ⊗ X, or out[i, j] = ⊕ X[k, j] ⊗ A[i, k] if not mirrored; rows of X and of `out` are contiguous."""
    count, kind = threads_of(threads, where), choose(s, A.data.dtype, False)
    lanes, a = X.shape[1], A.data.ctypes.data
    if lanes == 1:
        gather_column(A, X, out, s, mirrored=mirrored, threads=threads, where=where, looks=False)
        return
    tile = machine_code(hubs.combine_strip, kind, "biiiiiiii", called=False).address
    call = machine_code(entries.gather_rows, None, "iilsi" + "iiiii" + "bii").call
    vectors = max(1, lanes * kind.itemsize // 64) if gain(kind) > 1 else lanes
    addresses = X.ctypes.data, X.strides[0], out.ctypes.data, out.strides[0], lanes, mirrored

    def compute(worker: int, start: int, stop: int) -> None:
        call(tile, kind.itemsize, A.starts, A.indices, a, *addresses, start, stop)

    run(compute, cuts(A.starts, count, each=vectors), count)


def gather_column(
    A: Any, x: np.ndarray, y: np.ndarray, s: Semiring, *, mirrored: bool, threads: int | None, where: str, looks: bool
) -> bool | None:
    """y ← A ⊗ x; None if an index or a start, int32 or int64, is out of range or order.

    Else with `looks` whether A's entries are finite floats, which are read a second time for it; of real sums those
    of y, which no other entries leave finite.
    """
    count, kind = threads_of(threads, where), choose(s, A.data.dtype, False)
    column = machine_code(entries.gather_column, kind, f"l{_letter(A.indices)}iiiibii").call
    of_a, of_x, of_y, columns = A.data.ctypes.data, x.ctypes.data, y.ctypes.data, A.shape[1]
    looks = looks and SCALARS[A.data.dtype].floating
    seen: list[bool | None] = []

    def compute(_: int, start: int, stop: int) -> None:
        if not column(kind.code, A.starts, A.indices, of_a, of_x, columns, of_y, mirrored, start, stop):
            seen.append(None)
        elif looks:
            real = s.add.ufunc is np.add and s.mul.ufunc is np.multiply
            seen.append(finite(y, start, stop) if real else finite(A.data, A.starts[start], A.starts[stop]))

    run(compute, cuts(A.starts, count, parts=2), count)
    return None if None in seen else looks and all(seen)


def finite(x: np.ndarray, start: int, stop: int) -> bool:
    """Whether entries start … stop − 1 of a vector of floats are finite."""
    largest, words, infinity = _magnitudes(x.dtype)
    return bool(largest(x.view(words), start, stop) < infinity)


@cache
def _magnitudes(dtype: np.dtype) -> tuple[Callable[..., int], np.dtype, int]:
    """Kernel of the largest magnitude of floats as integers, the dtype of these, and infinity."""
    infinity = np.array(np.inf, dtype).view(f"i{dtype.itemsize}")
    return machine_code(entries.largest_magnitude, None, f"{_letter(infinity)}ii").call, infinity.dtype, int(infinity)
