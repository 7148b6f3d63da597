"""Packed words on the CPU: blocked, threaded products, and the passes of `BitMatrix`.

Reading order: `multiply`, then the two in-place products. The kernels are in `gemm`, `planes` and `rows`.
"""

from __future__ import annotations

import mmap
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..pool import piece, pieces, run, spans
from ..processors import default_threads
from . import gemm as bitgemm
from . import nibbles as bitnibbles
from . import planes as bitplanes
from . import rows as bitrows
from .vectors import LANES

if TYPE_CHECKING:
    from ....dense.bits import BitMatrix

#: Largest block of C per thread, in rows and words: 850 KB of workspace, for the L2 cache.
ROWS, WORDS = 2048, 32
#: Strip width if an operand is copied first: the copy counts as additional memory.
NARROW = 16
#: Least size for tables in the cache (`nibbles`) instead of 32-byte registers.
LARGE = 1024
#: Least bit pairs per thread: 0.1 ms of work; waking a thread costs half of that.
ALONE = 1 << 31
#: Least bytes per thread in a single pass over memory.
PASS = 1 << 21

_local = threading.local()
#: A forked child must not write into its parent's workspace.
_PRIVATE: dict[str, int] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def scratch(size: int) -> int:
    """Page-aligned address of this thread's workspace of at least `size` bytes, kept for the next verb.

    Mapped, not allocated: on growth the old pages return to the system at once.
    """
    if getattr(_local, "size", 0) < size:
        _local.buffer, _local.size = None, 0
        _local.buffer, _local.size = mmap.mmap(-1, size, **_PRIVATE), size
        _local.address = np.frombuffer(_local.buffer, np.uint8).__array_interface__["data"][0]
    return int(_local.address)


def _lines(size: int) -> int:
    return -(-size // 64) * 64


def _location(matrix: BitMatrix) -> tuple[int, int]:
    return matrix.words.__array_interface__["data"][0], matrix.words.strides[0]


def target_of(matrix: BitMatrix) -> tuple[int, int]:
    """Address and row stride in bytes of a writeable matrix."""
    if not matrix.words.flags.writeable:
        raise ValueError("BitMatrix: the result must be writeable, got read-only words. Take matrix.copy().")
    return _location(matrix)


def _grid(m: int, n: int, threads: int) -> tuple[int, int]:
    """Number of parts of rows and of words of a product: the fewest that occupy all threads.

    Each block packs its operands: per 88 cycles of look-up about 30,000 / rows (B) and 200 / words (A).
    """
    high, wide = -(-m // ROWS), -(-n // WORDS)
    while high * wide < threads and (high * bitplanes.STRIP < m or wide < n):
        if 30000 * high * n < 200 * wide * m:
            high *= 2
        else:
            wide *= 2
    return high, wide


class _Cut(NamedTuple):
    """Blocking of a product: output rows and words per part, threads, and workspace per thread.

    The first `copied` of each thread's `per_thread` bytes hold a copy of an operand that is overwritten in place.
    """

    rows: int
    words: int
    threads: int
    copied: int
    per_thread: int

    def workspace(self, parts: int) -> int:
        return min(self.threads, parts) * self.per_thread


def _kernel(m: int, k: int, n: int) -> Any:
    """The module (`multiply_block`, `block_bytes`) for m × k bits times k × n words.

    Tables in 64-byte registers beat any in memory; those in 32-byte registers do only if few rows share a table.
    """
    return bitnibbles if LANES == 32 and min(m, k, 64 * n) >= LARGE else bitgemm


def cut_product(m: int, k: int, n: int, threads: int | None) -> _Cut:
    """Blocks of C ← C ∨ A ∧ B, m rows × n words."""
    threads = _enough(m * k * n * 64, threads)
    high, wide = _grid(m, n, threads)
    rows, words = piece(m, bitplanes.STRIP, ROWS, high), piece(n, 8, WORDS, wide)
    return _Cut(rows, words, threads, 0, _kernel(m, k, n).block_bytes(min(m, rows), min(n, words)))


def cut_left(m: int, n: int, threads: int | None) -> _Cut:
    """Strips of columns of R ← D ∧ R, m rows × n words; a strip of several blocks reads a copy of its old self."""
    threads = _enough(m * m * n * 64, threads)
    words = piece(n, 8, NARROW if m > ROWS else WORDS, threads)
    wide = min(n, words)
    copied = _lines(8 * wide * m) if m > ROWS else 0
    rows = piece(m, bitplanes.STRIP, ROWS)
    return _Cut(rows, words, threads, copied, _kernel(m, m, n).block_bytes(min(m, ROWS), wide) + copied)


def cut_right(m: int, k: int, n: int, threads: int | None) -> _Cut:
    """Blocks of rows of C ← C ∧ D, m rows × n words; each reads a copy of its old self."""
    threads = _enough(m * k * n * 64, threads)
    # All copies together stay below a quarter of C, or half of it if blocks would be too low.
    tallest = min(ROWS, max(ROWS // 2, m // (4 * threads)))
    rows = piece(m, bitplanes.STRIP, tallest, threads)
    high = min(m, rows)
    copied = _lines(8 * n * high)
    space = _kernel(m, k, n).block_bytes(high, min(n, WORDS))
    return _Cut(rows, piece(n, 8, WORDS), threads, copied, space + copied)


def multiply(C: BitMatrix, A: BitMatrix, B: BitMatrix, *, fresh: bool = False, threads: int | None = None) -> None:
    """C ← C ∨ A ∧ B, or C ← A ∧ B if `fresh`; C must not overlap A or B."""
    (m, k), n = A.shape, C.words.shape[1]
    if not (m and n and (k or fresh)):
        return
    (c, ldc), (a, lda), (b, ldb) = target_of(C), _location(A), _location(B)
    cut, product = cut_product(m, k, n, threads), _kernel(m, k, n).multiply_block

    def block(worker: int, i: int, rows: int, j: int, words: int) -> None:
        work = scratch(cut.per_thread)
        product(c + i * ldc + 8 * j, ldc, a + i * lda, lda, b + 8 * j, ldb, rows, k, words, fresh, work)

    run(block, [(*i, *j) for i in spans(m, cut.rows) for j in spans(n, cut.words)], cut.threads)


def left_multiply(D: BitMatrix, R: BitMatrix, *, threads: int | None = None) -> None:
    """R ← D ∧ R, in independent strips of columns."""
    m, n = R.shape[0], R.words.shape[1]
    if not (m and n):
        return
    (d, ldd), (r, ldr) = _location(D), target_of(R)
    cut, product = cut_left(m, n, threads), _kernel(m, m, n).multiply_block

    def strip(worker: int, j: int, words: int) -> None:
        work = scratch(cut.per_thread)
        old, ldo, space = r + 8 * j, ldr, work + cut.copied
        if cut.copied:
            bitplanes.copy_words(old, ldo, work, 8 * words, m, words)
            old, ldo = work, 8 * words
        for i, rows in spans(m, cut.rows):
            product(r + i * ldr + 8 * j, ldr, d + i * ldd, ldd, old, ldo, rows, m, words, True, space)

    run(strip, spans(n, cut.words), cut.threads)


def right_multiply(C: BitMatrix, D: BitMatrix, *, threads: int | None = None) -> None:
    """C ← C ∧ D, in independent blocks of rows."""
    (m, k), n = C.shape, C.words.shape[1]
    if not (m and n):
        return
    (c, ldc), (d, ldd) = target_of(C), _location(D)
    cut, product = cut_right(m, k, n, threads), _kernel(m, k, n).multiply_block

    def rows_of(worker: int, i: int, rows: int) -> None:
        work = scratch(cut.per_thread)
        space = work + cut.copied
        bitplanes.copy_words(c + i * ldc, ldc, work, 8 * n, rows, n)
        for j, words in spans(n, cut.words):
            product(c + i * ldc + 8 * j, ldc, work, 8 * n, d + 8 * j, ldd, rows, k, words, True, space)

    run(rows_of, spans(m, cut.rows), cut.threads)


def _enough(pairs: int, threads: int | None) -> int:
    return max(1, min(default_threads() if threads is None else threads, pairs // ALONE))


def each_rows(job: Any, rows: int, bytes_a_row: int, threads: int | None = None) -> None:
    """Run job(i, size) over row ranges of a single pass over memory."""
    count = default_threads() if threads is None else threads
    count = max(1, min(count, rows * bytes_a_row // PASS))
    run(lambda worker, i, size: job(i, size), pieces(rows, 64, max(64, rows), 4 * count if count > 1 else 1), count)


def pack(array: np.ndarray, matrix: BitMatrix, *, threads: int | None = None) -> None:
    (m, n), (y, ldy) = array.shape, target_of(matrix)
    if not (m and n):
        return

    def rows(i: int, size: int) -> None:
        for start in range(i, i + size, 512):  # keeps a copy for contiguity small
            part = array[start : min(start + 512, i + size)]
            if part.strides[1] != 1:
                part = np.ascontiguousarray(part)
            x = part.__array_interface__["data"][0]
            bitrows.pack_rows(x, part.strides[0], y + start * ldy, ldy, len(part), n)

    each_rows(rows, m, n, threads)


def unpack(matrix: BitMatrix, out: np.ndarray, *, threads: int | None = None) -> None:
    (m, n), (x, ldx) = out.shape, _location(matrix)
    if not (m and n):
        return

    def rows(i: int, size: int) -> None:
        for start in range(i, i + size, 512):
            part = out[start : min(start + 512, i + size)]
            target = part if part.strides[1] == 1 else np.empty(part.shape, bool)
            y = target.__array_interface__["data"][0]
            bitrows.unpack_rows(x + start * ldx, ldx, y, target.strides[0], len(part), n)
            if target is not part:
                part[...] = target

    each_rows(rows, m, n, threads)


def transpose(A: BitMatrix, B: BitMatrix, *, threads: int | None = None) -> None:
    (m, n), (a, lda), (b, ldb) = A.shape, _location(A), _location(B)
    if m and n:

        def rows(i: int, size: int) -> None:
            work = scratch(bitrows.TRANSPOSE_BYTES)
            bitrows.transpose_rows(a + i * lda, lda, size, n, b + i // 8, ldb, work)

        each_rows(rows, m, 8 * A.words.shape[1], threads)


def count(A: BitMatrix, axis: int) -> np.ndarray:
    (m, n), (a, lda) = A.shape, _location(A)
    counts = np.zeros(n if axis == 0 else m, np.int64)
    if m and n:
        target = counts.__array_interface__["data"][0]
        if axis:
            bitrows.count_rows(a, lda, m, A.words.shape[1], target)
        else:
            bitrows.count_columns(a, lda, m, n, target, scratch(bitrows.TRANSPOSE_BYTES))
    return counts


def columns(A: BitMatrix, total: int) -> np.ndarray:
    found, (a, lda) = np.empty(total, np.int64), _location(A)
    if total:
        bitrows.list_columns(a, lda, len(A), A.words.shape[1], found.__array_interface__["data"][0])
    return found


def set_bits(A: BitMatrix, rows: np.ndarray, columns: np.ndarray) -> None:
    """Set bits (rows[e], columns[e]); contiguous int64 indices within bounds."""
    a, lda = target_of(A)
    r, c = (x.__array_interface__["data"][0] for x in (rows, columns))
    bitrows.set_bits(a, lda, r, c, len(rows))
