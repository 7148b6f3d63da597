"""The verbs on NumPy matrices: blocking, threads and workspace."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from ctypes import addressof, c_char
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....algebra.records import Semiring
from ....host.compiling import Missing
from ....host.signals import load
from ....host.types import Array
from ...contract import Backend
from ..code import CALL, gain
from ..energy import energy
from ..inventory import missing
from ..kinds import Kind, raw, semiring_of
from ..pool import piece, pieces, run
from .code import code
from .gemm import DEPTH
from .pivot import SMALL

#: Workspace of all threads together in entries: 8 % of a 4096 × 4096 matrix.
WORKSPACE = 5 << 18
#: Longest block side that a thread packs for itself.
SIDE = 192
#: Least packed depth in units of DEPTH, if the depth may be cut.
SLABS = 3
#: Pairs (slow ones) below which a second thread does not pay; see `_worth`.
ALONE = 1 << 17
#: Entries below which a second packing thread does not pay.
PACK_ALONE = 1 << 17
#: Pivot block size of the row-by-row elimination.
STEP = 64

_ALIGNMENT = 64


class _Scratch(threading.local):
    """A thread's workspace, kept for its next verb."""

    def __init__(self) -> None:
        self.buffer, self.address, self.size = np.empty(0, np.uint8), 0, 0

    def reserve(self, size: int) -> int:
        if size > self.size:
            self.buffer, self.address, self.size = np.empty(0, np.uint8), 0, 0  # frees the old buffer first
            self.buffer = np.empty(size + _ALIGNMENT, np.uint8)
            address = self.buffer.ctypes.data
            self.address, self.size = address + -address % _ALIGNMENT, size
        return self.address


_scratch = _Scratch()


class _Layout(NamedTuple):
    m: int
    n: int
    address: int
    row: int
    col: int

    @property
    def T(self) -> _Layout:
        return _Layout(self.n, self.m, self.address, self.col, self.row)


def _layout(A: np.ndarray) -> _Layout:
    (m, n), (row, col) = A.shape, A.strides
    return _Layout(m, n, A.__array_interface__["data"][0], row, col)


@lru_cache(4096)
def _worth(threads: int, work: int, alone: int) -> int:
    """Thread count that minimises time, for work of which two threads pay from `alone` on.

    Threads start one after the other: work / k + k · start is least at k = √(work / start).
    """
    return threads if alone <= 0 else max(1, min(threads, math.isqrt(4 * work // alone)))


class _Plan(NamedTuple):
    """Blocking of a product.

    `strips` (start, size) cut the shared operand, packed to its full depth and `padded` to full panels; `shares`
    (start, size) cut the packing of a strip, `blocks` (i, m, j, n) its product; `own` and `shared` are bytes of each
    thread and of all threads, `workspace` with the packed strip.
    """

    strips: tuple[tuple[int, int], ...]
    padded: int
    shares: tuple[tuple[int, int], ...]
    blocks: tuple[tuple[int, int, int, int], ...]
    own: int
    shared: int
    workspace: int


def _slab(columns: int) -> int:
    """Largest packed depth of a product with `columns` columns, if the depth may be cut."""
    return max(SLABS * DEPTH, WORKSPACE // 2 // max(1, columns))


class _Packing(NamedTuple):
    """Packed sizes of a product: longest strip, padded strip, `side` packed per thread; bytes per thread and total."""

    longest: int
    padded: int
    side: int
    own: int
    workspace: int


def _packing(kind: Kind, m: int, n: int, depth: int, left: bool, threads: int) -> _Packing:
    """Packing of an m × depth by depth × n product; `left` shares the left operand."""
    rows, columns, size = kind.tile.rows, kind.columns, kind.itemsize
    (long, unit), (short, other) = ((m, rows), (n, columns)) if left else ((n, columns), (m, rows))
    deep = -(-depth // DEPTH) * DEPTH  # the stride of A's packed rows, and of what one thread packs, is DEPTH entries
    # The threads' own parts take at most half of the workspace, provided that one panel fits in each.
    shared, single = (kind.left_size, size) if left else (size, kind.left_size)
    side = -(-min(SIDE, short, max(1, WORKSPACE * size // (2 * threads * DEPTH * single))) // other) * other
    own = columns * (1 + rows) * size + side * DEPTH * single
    own += -own % _ALIGNMENT
    longest = max(unit, (WORKSPACE * size - threads * own) // (deep * shared))
    padded = piece(long, unit, longest)
    return _Packing(longest, padded, side, own, threads * own + padded * deep * shared)


@lru_cache(4096)
def _plan(kind: Kind, m: int, n: int, depth: int, left: bool, threads: int) -> _Plan:
    (long, unit), (short, other) = (
        ((m, kind.tile.rows), (n, kind.columns)) if left else ((n, kind.columns), (m, kind.tile.rows))
    )
    longest, padded, side, own, workspace = _packing(kind, m, n, depth, left, threads)
    strips = pieces(long, unit, longest)
    width = strips[0][1]
    several = 3 * threads if threads > 1 else 1
    call = gain(kind) * CALL
    outer = pieces(short, other, max(other, min(side, call // (padded * depth))), several)
    inner = pieces(width, unit, padded, -(-several // len(outer)))
    blocks = tuple((*y, *x) if left else (*x, *y) for x in outer for y in inner)
    shares = pieces(width, unit, padded, _worth(threads, width * depth, PACK_ALONE))
    return _Plan(strips, padded, shares, blocks, own, threads * own, workspace)


class CpuBackend(Backend):
    """The verbs of `semiring.kernels.backend.Backend` on NumPy arrays of any strides; `access`: traversal of `step`."""

    device = "cpu"
    knows_workspaces = True
    pivot = 256
    cutover = 256
    mirrors = 2048

    def __init__(self, kind: Kind, threads: int, access: str = "rows") -> None:
        self.kind, self.threads, self.access = kind, threads, access
        self.semiring: Semiring = semiring_of(kind)
        self.dtype, self.variant = np.dtype(kind.dtype), kind.variant
        self._size, self._rows, self._columns = kind.itemsize, kind.tile.rows, kind.columns
        self._vector = kind.vector
        self._mover = kind.mover
        self._code = code(kind)
        self._gain = gain(kind)

    def __repr__(self) -> str:
        return f"CpuBackend({self.semiring}, {self.dtype}, threads={self.threads})"

    def missing(self, work: str) -> Missing:
        return missing(work, self.kind)

    def prepared(self, m: int, n: int, k: int) -> Callable[..., None] | None:
        plan = _plan(self.kind, m, n, k, False, 1)
        once = k <= _slab(n) and len(plan.strips) + len(plan.shares) + len(plan.blocks) == 3
        return _contiguous(self._code, self._mover, plan, _scratch, (m, n, k), self._size) if once else None

    def gemm(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        self._product(C, A, B, fresh=False)

    def matmul(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← A ⊗ B; C must not overlap A or B, and its old entries are not read."""
        if len(B):
            self._product(C, A, B, fresh=True)
        else:
            C[...] = self.kind.zero

    def _product(self, C: np.ndarray, A: np.ndarray, B: np.ndarray, *, fresh: bool) -> None:
        c, a, b = _layout(C), _layout(A), _layout(B)
        # Nothing is in place, so the depth may be cut: flatter strips are wider, and the other operand is packed less
        # often.
        for k, depth in pieces(a.n, DEPTH, _slab(b.n)):
            left = _Layout(a.m, depth, a.address + k * a.col, a.row, a.col)
            right = _Layout(depth, b.n, b.address + k * b.row, b.row, b.col)
            self._multiply(c, left, right, fresh=fresh and k == 0, left=False)

    def matmul_with_witness(self, C: np.ndarray, K: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← A ⊗ B; K ← the smallest k that attains each entry, −1 where that is zero; C and K contiguous."""
        kind = self.kind.with_witness
        C[...], K[...] = kind.zero, -1
        c, w, a, b = _layout(C), _layout(K), _layout(A), _layout(B)
        if not (c.m and c.n and a.n):
            return
        threads = self._crew(a.m * b.n * a.n)
        for k, depth in pieces(a.n, DEPTH, _slab(b.n)):
            plan = _plan(kind, a.m, b.n, depth, False, threads)
            for strip in plan.strips:
                self._strip_with_witness(kind, plan, c, w, a, b, (k, depth), strip, threads)
        rows, columns = np.ascontiguousarray(A), self._transposed(B)  # referenced until `refine` is done
        left, right, entry = _layout(rows), _layout(columns), code(kind).refine

        def refine(_: int, i: int, m: int) -> None:
            # fmt: off
            entry.call(
                kind, m, c.n, a.n, left.address + i * left.row, left.row, right.address, right.row,
                c.address + i * c.row, c.row, w.address + i * w.row, w.row,
            )
            # fmt: on

        run(refine, pieces(c.m, 1, STEP), threads)

    def _strip_with_witness(
        self, kind: Kind, plan: _Plan, c: _Layout, w: _Layout, a: _Layout, b: _Layout, part: tuple[int, int],
        strip: tuple[int, int], threads: int,
    ) -> None:  # fmt: skip
        """C ← C ⊕ A ⊗ B on a strip of columns and a slab of k; K ← k where C changes."""
        machine, size, (k, depth), (start, width) = code(kind), kind.itemsize, part, strip
        edge = kind.tile.rows * kind.columns * (size + w.col)  # a tile of C and one of K
        edge += -edge % _ALIGNMENT
        slabs = _scratch.reserve(plan.workspace + threads * edge)
        packed, edges, source = slabs + plan.shared, slabs + plan.workspace, b.address + k * b.row + start * b.col

        def fill(_: int, first: int, count: int) -> None:
            count = min(count, width - first)
            if count > 0:
                machine.pack.call(kind.mover, False, plan.padded, first, count, depth, source, b.row, b.col, packed)

        def multiply(worker: int, i: int, m: int, j: int, n: int) -> None:
            if min(n, width - j) > 0:
                # fmt: off
                machine.block_with_witness(
                    packed, plan.padded, i, j, m, min(n, width - j), k, depth, a.address + k * a.col, a.row, a.col,
                    c.address + start * size, c.row, w.address + start * w.col, w.row,
                    edges + worker * edge, slabs + worker * plan.own,
                )
                # fmt: on

        run(fill, plan.shares, threads)
        run(multiply, plan.blocks, threads)

    def _transposed(self, B: np.ndarray) -> np.ndarray:
        if B.T.flags.c_contiguous:
            return B.T
        new = self.empty(B.shape[::-1])
        self._turn(new, np.ascontiguousarray(B))
        return new

    def _turn(self, X: np.ndarray, Y: np.ndarray) -> None:
        """X ← Yᵀ; no overlap."""
        target, source, size = _layout(X), _layout(Y), self._size
        if not X.size or target.col != size or source.col != size:
            X[...] = Y.T
            return

        def part(_: int, i: int, count: int) -> None:
            # fmt: off
            self._code.transpose.call(
                raw(size), count, source.n, source.address + i * source.row, source.row,
                target.address + i * size, target.row,
            )
            # fmt: on

        run(part, pieces(source.m, STEP, max(STEP, CALL // source.n)), self._crew(X.size))

    def eliminate_mirrored(self, D: np.ndarray, R: np.ndarray, C: np.ndarray, rest: Any) -> None:
        self.left_mul(D, R)
        self._gemm_below(rest, C, R)
        self.mirror(rest)
        self._turn(C, R)

    def _gemm_below(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← C ⊕ A ⊗ B for square C, at least on and below the diagonal."""
        n = len(C)
        if n <= self.pivot:
            self.gemm(C, A, B)
            return
        h = n // 2
        self._gemm_below(C[:h, :h], A[:h], B[:, :h])
        self.gemm(C[h:, :h], A[h:], B[:, :h])
        self._gemm_below(C[h:, h:], A[h:], B[:, h:])

    def symmetric(self, A: np.ndarray) -> bool:
        step, differs = self.pivot, False

        def part(_: int, i: int, rows: int) -> None:
            nonlocal differs
            for j in range(0, i + 1, step):
                if differs or not np.array_equal(A[i : i + rows, j : j + step], A[j : j + step, i : i + rows].T):
                    differs = True
                    return

        part(0, 0, min(step, len(A)))  # most asymmetric matrices differ here
        if not differs:
            run(part, pieces(len(A), step, step), self._crew(A.size))
        return not differs

    def mirror(self, A: np.ndarray) -> None:
        for start, size in pieces(len(A), self.pivot, self.pivot):
            rows = slice(start, start + size)
            self._turn(A[:start, rows], A[rows, :start])
            corner = A[rows, rows]
            np.copyto(corner, corner.T.copy(), where=~np.tri(size, dtype=np.bool_))

    def left_mul(self, D: np.ndarray, R: np.ndarray) -> None:
        r = _layout(R)
        self._multiply(r, _layout(D), r, fresh=True, left=False)

    def right_mul(self, C: np.ndarray, D: np.ndarray) -> None:
        c = _layout(C)
        self._multiply(c, c, _layout(D), fresh=True, left=True)

    def closure(self, D: np.ndarray) -> None:
        """D ← D*: blocked Floyd–Warshall, in one call into compiled code if D is a pivot block."""
        n = len(D)
        if n > self.pivot:
            for k in range(n):
                self.step(D, k)
        elif n:
            d = self._upright(_layout(D))
            work = _scratch.reserve(self.verb_workspace("closure", n, n, n))
            self._code.closure(STEP, n, n, d.address, d.row, d.col, work)

    def closure_batch(self, A: np.ndarray, blocked: Any = None, out: np.ndarray | None = None) -> None:
        """A[i] ← A[i]*, or out[i] ← A[i]*, for shape (batch, n, n), n ≤ `pivot`; threads take runs of matrices."""
        D = A if out is None else out
        if out is not None:
            out[...] = A
        if not D.size:
            return
        batch, n, batch_stride = len(D), D.shape[-1], D.strides[0]
        d = self._upright(_layout(D[0]))
        own = self.verb_workspace("closure", n, n, n)
        own += -own % _ALIGNMENT
        threads = self._crew(batch * n**3)
        work = _scratch.reserve(threads * own)
        small = self._vector and n <= SMALL
        close = self._code.small_closures if small else self._code.closure

        def chunk(worker: int, first: int, count: int) -> None:
            start, workspace = d.address + first * batch_stride, work + worker * own
            if small:
                close(count, batch_stride, n, start, d.row, d.col, workspace)
                return
            for i in range(count):
                close(STEP, n, n, start + i * batch_stride, d.row, d.col, workspace)

        run(chunk, pieces(batch, 1, max(1, self._gain * CALL // n**3), threads), threads)

    def step(self, A: np.ndarray, k: int) -> None:
        a = self._upright(_layout(A))
        if self.access == "columns":  # traverse the transpose along its strided rows
            a = a.T
        n, r = a.n, _scratch.reserve(a.n * self._size)
        kind, sweep = self.kind, self._code.sweep.call
        self._code.pivot_row.call(kind, n, k, a.address, a.row, a.col, r)
        threads = self.threads if n * n >= ALONE else 1
        parts = pieces(n, 1, max(1, CALL // n), threads)
        run(lambda _, i, m: sweep(kind, i, i + m, n, k, a.address, a.row, a.col, r), parts, threads)

    def predecessors(self, P: np.ndarray, A: np.ndarray, D: np.ndarray, mirrored: bool = False) -> None:
        load("semiring.kernels.cpu.routes.predecessors").predecessors(self.semiring, P, A, D, mirrored, self.threads)

    def empty(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, self.dtype)

    def clear(self, C: np.ndarray) -> None:
        C[...] = self.kind.zero

    def copy(self, B: np.ndarray, A: np.ndarray) -> None:
        B[...] = A

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        return A.diagonal().copy()

    def set_diagonal(self, A: np.ndarray, value: Any) -> None:
        np.fill_diagonal(A, value)

    def upload(self, array: Any, *, copy: bool = True) -> np.ndarray:
        """The array in the bound dtype: with contiguous rows if copied, else the same memory if possible."""
        if copy:
            return np.array(array, self.dtype, order="C")
        # For an equal dtype that is another object, NumPy would make another array of the same memory.
        return array if isinstance(array, np.ndarray) and array.dtype == self.dtype else np.asarray(array, self.dtype)

    def energy(self) -> float | None:
        return energy()

    def download(self, matrix: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            return matrix
        if _layout(out) != _layout(matrix):  # else the same memory seen twice
            out[...] = matrix
        return out

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        if not m:
            return 0
        if verb == "closure" and m <= self.pivot:
            # Two packed operands and a product's own workspace; the copy of the pivot block takes less.
            rows, columns = self._rows, self._columns
            size = self._size
            return (m + max(rows, columns)) * DEPTH * (size + self.kind.left_size) + columns * (1 + rows) * size
        if verb in ("closure", "step"):
            return m * self._size
        if not (n and k):
            return 0
        depth = piece(k, DEPTH, _slab(n)) if verb == "gemm" else k
        left = verb == "right_mul"
        return _packing(self.kind, m, n, min(depth, k), left, self._crew(m * n * depth)).workspace

    def _crew(self, pairs: int) -> int:
        return _worth(self.threads, pairs, self._gain * ALONE)

    def _upright(self, a: _Layout) -> _Layout:
        """The matrix, or its transpose if ⊗ commutes and the transpose has contiguous rows."""
        return a.T if self._vector and a.row == self._size != a.col else a

    def _multiply(self, c: _Layout, a: _Layout, b: _Layout, *, fresh: bool, left: bool) -> None:
        """C ← C ⊕ A ⊗ B, or A ⊗ B if `fresh`; C may alias A if `left`, else B.

        The operand that C may alias is packed strip by strip, to its full depth, before the strip of C is written.
        """
        if self._vector and c.row == self._size != c.col:  # (A ⊗ B)ᵀ = Bᵀ ⊗ Aᵀ
            return self._multiply(c.T, b.T, a.T, fresh=fresh, left=not left)
        m, n, depth = c.m, c.n, a.n
        if m == 0 or n == 0 or depth == 0:
            return None
        threads = self._crew(m * n * depth)
        mover = self._mover
        plan = _plan(self.kind, m, n, depth, left, threads)
        work = _scratch.reserve(plan.workspace)
        packed, padded, own = work + plan.shared, plan.padded, plan.own
        pack, block = self._code.pack.call, self._code.block
        shared, single = (a, b) if left else (b, a)
        for start, width in plan.strips:
            source = shared.address + start * (shared.row if left else shared.col)
            target = c.address + start * (c.row if left else c.col)

            def fill(_: int, first: int, count: int, source: int = source, width: int = width) -> None:
                count = min(count, width - first)  # the last strip may be narrower
                if count > 0:
                    pack(mover, left, padded, first, count, depth, source, shared.row, shared.col, packed)

            def multiply(worker: int, i: int, m: int, j: int, n: int, target: int = target, width: int = width) -> None:
                m, n = (min(m, width - i), n) if left else (m, min(n, width - j))
                if m > 0 and n > 0:
                    # fmt: off
                    block(
                        left, packed, padded, i, j, m, n, depth, single.address, single.row, single.col,
                        target, c.row, c.col, fresh, work + worker * own,
                    )
                    # fmt: on

            if len(plan.shares) == 1:
                fill(0, *plan.shares[0])
            else:
                run(fill, plan.shares, threads)
            if len(plan.blocks) == 1:
                multiply(0, *plan.blocks[0])
            else:
                run(multiply, plan.blocks, threads)
        return None


def _contiguous(
    code: Any, mover: Any, plan: Any, scratch: Any, sizes: tuple[int, int, int], itemsize: int
) -> Callable[[Array, Array, Array], None]:
    """C ← A ⊗ B of contiguous (m, k) and (k, n) in two calls, by a plan of one strip, share and block; no overlap."""
    (m, n, k), pack, block = sizes, code.pack.call, code.block
    row_a, row_b = k * itemsize, n * itemsize

    def multiply(C: Array, A: Array, B: Array) -> None:
        a, b, c = _address(A), _address(B), _address(C)
        work = scratch.reserve(plan.workspace)
        packed, padded = work + plan.shared, plan.padded
        pack(mover, False, padded, 0, n, k, b, row_b, itemsize, packed)
        block(False, packed, padded, 0, 0, m, n, k, a, row_a, itemsize, c, row_b, itemsize, True, work)

    return multiply


def _address(A: Array) -> int:
    """Address of a nonempty contiguous matrix, a microsecond faster if it is writeable."""
    return addressof(c_char.from_buffer(A)) if A.flags.writeable else int(A.__array_interface__["data"][0])
