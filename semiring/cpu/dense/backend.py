"""The verbs on NumPy matrices: which blocks, which threads, which workspace."""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...algebra import Semiring
from ...compiling import Missing
from ...contract import Backend
from ...signals import load
from ..code import CALL, gain
from ..energy import energy
from ..intrinsics import DEPTH, SMALL
from ..inventory import missing
from ..kinds import Kind, raw, semiring_of
from ..pool import run
from .code import code

#: What all threads together may hold in addition to the matrix, in entries: 8 % of one of 4096 × 4096.
WORKSPACE = 5 << 18
#: No block of a product is longer than this on the side that its thread packs for itself.
SIDE = 192
#: How deep an operand is packed at least, in units of DEPTH, where that is a matter of choice.
SLABS = 3
#: Below this many pairs (again, of those slow to compute) a second thread costs more than it brings; see `_worth`.
ALONE = 1 << 17
#: Below this many entries, so does a second thread that packs.
PACK_ALONE = 1 << 17
#: The block that the pivot kernel eliminates row by row.
STEP = 64

_ALIGNMENT = 64


class _Scratch(threading.local):
    """A calling thread's workspace, kept for its next verb."""

    def __init__(self) -> None:
        self.buffer, self.address, self.size = np.empty(0, np.uint8), 0, 0

    def reserve(self, size: int) -> int:
        """The address of `size` bytes, aligned."""
        if size > self.size:
            self.buffer, self.address, self.size = np.empty(0, np.uint8), 0, 0  # the old one goes first
            self.buffer = np.empty(size + _ALIGNMENT, np.uint8)
            address = self.buffer.ctypes.data
            self.address, self.size = address + -address % _ALIGNMENT, size
        return self.address


_scratch = _Scratch()


class _Layout(NamedTuple):
    """The layout of a matrix: shape, address and strides in bytes."""

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


@lru_cache(1024)
def _parts(total: int, unit: int, longest: int, least: int = 1) -> tuple[tuple[int, int], ...]:
    """(start, size) of about equal parts, full units but the last: none over `longest`, at least `least` of them."""
    size = _part(total, unit, longest, least)
    return tuple((start, min(size, total - start)) for start in range(0, total, size))


def _part(total: int, unit: int, longest: int, least: int = 1) -> int:
    """The size of such parts, before the last one is cut off."""
    units = max(1, -(-total // unit))
    count = min(units, max(least, -(-units // max(1, longest // unit))))
    return -(-units // count) * unit


@lru_cache(4096)
def _worth(threads: int, work: int, alone: int) -> int:
    """How many of the threads are worth their start, for work of which two are worth it from `alone` on.

    They start one after the other: work / k + k · start is least where k is the root of work / start.
    """
    return threads if alone <= 0 else max(1, min(threads, math.isqrt(4 * work // alone)))


class _Plan(NamedTuple):
    """How a product is cut.

    Attributes
    ----------
    strips : tuples of (start, size)
        Of the operand that all threads share, packed to its full depth.
    padded : int
        The size of a strip in full panels.
    shares : tuples of (start, size)
        How the threads pack a strip.
    blocks : tuples of (i, m, j, n)
        What one call computes of a strip's product.
    own, shared, workspace : int
        Bytes: what each thread has for itself, what all of them have, and both with the packed strip.
    """

    strips: tuple[tuple[int, int], ...]
    padded: int
    shares: tuple[tuple[int, int], ...]
    blocks: tuple[tuple[int, int, int, int], ...]
    own: int
    shared: int
    workspace: int


def _slab(columns: int) -> int:
    """How deep a product of so many columns is packed at most, where its depth may be cut."""
    return max(SLABS * DEPTH, WORKSPACE // 2 // max(1, columns))


class _Packing(NamedTuple):
    """What a product holds packed: `longest` is a strip's most, `padded` a full strip's size, `side` what each thread
    packs for itself at a time; `own` and `workspace` are the bytes of one thread and of everything.
    """

    longest: int
    padded: int
    side: int
    own: int
    workspace: int


def _packing(kind: Kind, m: int, n: int, depth: int, left: bool, threads: int) -> _Packing:
    """What an m × depth by depth × n product holds; `left` shares the left operand."""
    rows, columns, size = kind.tile.rows, kind.columns, kind.itemsize
    (long, unit), (short, other) = ((m, rows), (n, columns)) if left else ((n, columns), (m, rows))
    deep = -(-depth // DEPTH) * DEPTH  # what one thread packs, and A's rows, have a stride of DEPTH entries
    # All threads' own parts take at most half of the workspace, as long as one panel fits in each.
    shared, single = (kind.left_size, size) if left else (size, kind.left_size)
    side = -(-min(SIDE, short, max(1, WORKSPACE * size // (2 * threads * DEPTH * single))) // other) * other
    own = columns * (1 + rows) * size + side * DEPTH * single
    own += -own % _ALIGNMENT
    longest = max(unit, (WORKSPACE * size - threads * own) // (deep * shared))
    padded = _part(long, unit, longest)
    return _Packing(longest, padded, side, own, threads * own + padded * deep * shared)


@lru_cache(4096)
def _plan(kind: Kind, m: int, n: int, depth: int, left: bool, threads: int) -> _Plan:
    """How to cut an m × depth by depth × n product; `left` shares the left operand."""
    (long, unit), (short, other) = (
        ((m, kind.tile.rows), (n, kind.columns)) if left else ((n, kind.columns), (m, kind.tile.rows))
    )
    longest, padded, side, own, workspace = _packing(kind, m, n, depth, left, threads)
    strips = _parts(long, unit, longest)
    width = strips[0][1]
    several = 3 * threads if threads > 1 else 1
    call = gain(kind) * CALL
    outer = _parts(short, other, max(other, min(side, call // (padded * depth))), several)
    inner = _parts(width, unit, padded, -(-several // len(outer)))
    blocks = tuple((*y, *x) if left else (*x, *y) for x in outer for y in inner)
    shares = _parts(width, unit, padded, _worth(threads, width * depth, PACK_ALONE))
    return _Plan(strips, padded, shares, blocks, own, threads * own, workspace)


class CpuBackend(Backend):
    """The verbs of `semiring.backend.Backend` on NumPy arrays of any strides.

    Parameters
    ----------
    kind : Kind
        The instructions that compute the semiring on a dtype.
    threads : int
    access : {"rows", "columns"}
        Which way a step goes.
    """

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
        """What must be compiled before a computation."""
        return missing(work, self.kind)

    def gemm(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← C ⊕ A ⊗ B; C must not overlap A or B."""
        self._product(C, A, B, fresh=False)

    def matmul(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← A ⊗ B; C must not overlap A or B, and what it held is not read."""
        if len(B):
            self._product(C, A, B, fresh=True)
        else:
            C[...] = self.kind.zero

    def _product(self, C: np.ndarray, A: np.ndarray, B: np.ndarray, *, fresh: bool) -> None:
        c, a, b = _layout(C), _layout(A), _layout(B)
        # Nothing is in place here, so the depth may be cut too: the flatter the strips, the wider, and the less often
        # is the other operand packed.
        for k, depth in _parts(a.n, DEPTH, _slab(b.n)):
            left = _Layout(a.m, depth, a.address + k * a.col, a.row, a.col)
            right = _Layout(depth, b.n, b.address + k * b.row, b.row, b.col)
            self._multiply(c, left, right, fresh=fresh and k == 0, left=False)

    def matmul_with_witness(self, C: np.ndarray, K: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← A ⊗ B, and K ← the smallest k that attains each entry, −1 where that is zero; C and K contiguous."""
        kind = self.kind.with_witness
        C[...], K[...] = kind.zero, -1
        c, w, a, b = _layout(C), _layout(K), _layout(A), _layout(B)
        if not (c.m and c.n and a.n):
            return
        threads = self._crew(a.m * b.n * a.n)
        for k, depth in _parts(a.n, DEPTH, _slab(b.n)):
            plan = _plan(kind, a.m, b.n, depth, False, threads)
            for strip in plan.strips:
                self._strip_with_witness(kind, plan, c, w, a, b, (k, depth), strip, threads)
        rows, columns = np.ascontiguousarray(A), self._transposed(B)  # they live until `refine` is done
        left, right, entry = _layout(rows), _layout(columns), code(kind).refine

        def refine(_: int, i: int, m: int) -> None:
            # fmt: off
            entry.call(
                kind, m, c.n, a.n, left.address + i * left.row, left.row, right.address, right.row,
                c.address + i * c.row, c.row, w.address + i * w.row, w.row,
            )
            # fmt: on

        run(refine, _parts(c.m, 1, STEP), threads)

    def _strip_with_witness(
        self,
        kind: Kind,
        plan: _Plan,
        c: _Layout,
        w: _Layout,
        a: _Layout,
        b: _Layout,
        part: tuple[int, int],
        strip: tuple[int, int],
        threads: int,
    ) -> None:
        """C ← C ⊕ A ⊗ B, and K where that changes C, on a strip of columns and a part of k."""
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
        """Bᵀ with contiguous rows."""
        if B.T.flags.c_contiguous:
            return B.T
        new = self.empty(B.shape[::-1])
        self._turn(new, np.ascontiguousarray(B))
        return new

    def _turn(self, X: np.ndarray, Y: np.ndarray) -> None:
        """X ← Yᵀ, of matrices apart from each other."""
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

        run(part, _parts(source.m, STEP, max(STEP, CALL // source.n)), self._crew(X.size))

    def eliminate_mirrored(self, D: np.ndarray, R: np.ndarray, C: np.ndarray, rest: Any) -> None:
        """R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← Rᵀ, where C is Rᵀ and D and rest are symmetric."""
        self.left_mul(D, R)
        self._gemm_below(rest, C, R)
        self.mirror(rest)
        self._turn(C, R)

    def _gemm_below(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← C ⊕ A ⊗ B, C square, as far as its diagonal; and some of what is beyond."""
        n = len(C)
        if n <= self.pivot:
            self.gemm(C, A, B)
            return
        h = n // 2
        self._gemm_below(C[:h, :h], A[:h], B[:, :h])
        self.gemm(C[h:, :h], A[h:], B[:, :h])
        self._gemm_below(C[h:, h:], A[h:], B[:, h:])

    def symmetric(self, A: np.ndarray) -> bool:
        """Whether A is symmetric."""
        step, differs = self.pivot, False

        def part(_: int, i: int, rows: int) -> None:
            nonlocal differs
            for j in range(0, i + 1, step):
                if differs or not np.array_equal(A[i : i + rows, j : j + step], A[j : j + step, i : i + rows].T):
                    differs = True
                    return

        part(0, 0, min(step, len(A)))  # most matrices differ at once
        if not differs:
            run(part, _parts(len(A), step, step), self._crew(A.size))
        return not differs

    def mirror(self, A: np.ndarray) -> None:
        """A[i,j] ← A[j,i] for i < j."""
        for start, size in _parts(len(A), self.pivot, self.pivot):
            rows = slice(start, start + size)
            self._turn(A[:start, rows], A[rows, :start])
            corner = A[rows, rows]
            np.copyto(corner, corner.T.copy(), where=~np.tri(size, dtype=np.bool_))

    def left_mul(self, D: np.ndarray, R: np.ndarray) -> None:
        """R ← D ⊗ R; D is square and must not overlap R."""
        r = _layout(R)
        self._multiply(r, _layout(D), r, fresh=True, left=False)

    def right_mul(self, C: np.ndarray, D: np.ndarray) -> None:
        """C ← C ⊗ D; D is square and must not overlap C."""
        c = _layout(C)
        self._multiply(c, c, _layout(D), fresh=True, left=True)

    def closure(self, D: np.ndarray) -> None:
        """D ← D*: Floyd–Warshall by blocks, in one call into compiled code where D is a pivot block."""
        n = len(D)
        if n > self.pivot:
            for k in range(n):
                self.step(D, k)
        elif n:
            d = self._upright(_layout(D))
            work = _scratch.reserve(self.verb_workspace("closure", n, n, n))
            self._code.closure(STEP, n, n, d.address, d.row, d.col, work)

    def closure_batch(self, A: np.ndarray, blocked: Any = None, out: np.ndarray | None = None) -> None:
        """A[i] ← A[i]*, or out[i] ← A[i]*, for (batch, n, n) with n at most `pivot`: each thread takes a few."""
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

        run(chunk, _parts(batch, 1, max(1, self._gain * CALL // n**3), threads), threads)

    def step(self, A: np.ndarray, k: int) -> None:
        """A ← A ⊕ A[:,k] ⊗ a* ⊗ A[k,:] with a = A[k,k]: one Floyd–Warshall step on the entire matrix."""
        a = self._upright(_layout(A))
        if self.access == "columns":  # of the transposed matrix along its rows, whose entries lie far apart
            a = a.T
        n, r = a.n, _scratch.reserve(a.n * self._size)
        kind, sweep = self.kind, self._code.sweep.call
        self._code.pivot_row.call(kind, n, k, a.address, a.row, a.col, r)
        threads = self.threads if n * n >= ALONE else 1
        parts = _parts(n, 1, max(1, CALL // n), threads)
        run(lambda _, i, m: sweep(kind, i, i + m, n, k, a.address, a.row, a.col, r), parts, threads)

    def predecessors(self, P: np.ndarray, A: np.ndarray, D: np.ndarray, mirrored: bool = False) -> None:
        """P[i,j] ← the vertex before j on a best path from i."""
        load("semiring.cpu.routes.predecessors").predecessors(self.semiring, P, A, D, mirrored, self.threads)

    def empty(self, shape: tuple[int, ...]) -> np.ndarray:
        """A new matrix, uninitialised."""
        return np.empty(shape, self.dtype)

    def clear(self, C: np.ndarray) -> None:
        """C ← 0."""
        C[...] = self.kind.zero

    def copy(self, B: np.ndarray, A: np.ndarray) -> None:
        """B ← A."""
        B[...] = A

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        """The entries (k, k) as a new array."""
        return A.diagonal().copy()

    def set_diagonal(self, A: np.ndarray, value: Any) -> None:
        """Entries (k, k) ← value."""
        np.fill_diagonal(A, value)

    def upload(self, array: Any, *, copy: bool = True) -> np.ndarray:
        """The array in the bound dtype, with contiguous rows where it is copied; else the same memory if it fits."""
        if copy:
            return np.array(array, self.dtype, order="C")
        # For an equal dtype that is another object, NumPy would make another array of the same memory.
        return array if isinstance(array, np.ndarray) and array.dtype == self.dtype else np.asarray(array, self.dtype)

    def energy(self) -> float | None:
        """Joules that the processors have used; None where RAPL cannot be read."""
        return energy()

    def download(self, matrix: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The matrix itself, or `out` with its entries."""
        if out is None:
            return matrix
        if _layout(out) != _layout(matrix):  # not the same memory seen twice
            out[...] = matrix
        return out

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        """Bytes that a verb with an m × n output and inner size k holds; of `closure` and `step`, m × m."""
        if not m:
            return 0
        if verb == "closure" and m <= self.pivot:
            # Two packed operands, and what a product needs besides; the pivot block's copy takes less.
            rows, columns = self._rows, self._columns
            size = self._size
            return (m + max(rows, columns)) * DEPTH * (size + self.kind.left_size) + columns * (1 + rows) * size
        if verb in ("closure", "step"):
            return m * self._size
        if not (n and k):
            return 0
        depth = _part(k, DEPTH, _slab(n)) if verb == "gemm" else k
        left = verb == "right_mul"
        return _packing(self.kind, m, n, min(depth, k), left, self._crew(m * n * depth)).workspace

    def _crew(self, pairs: int) -> int:
        """As many threads as this much work is worth."""
        return _worth(self.threads, pairs, self._gain * ALONE)

    def _upright(self, a: _Layout) -> _Layout:
        """The matrix, or its transpose where ⊗ commutes and the rows of that are contiguous."""
        return a.T if self._vector and a.row == self._size != a.col else a

    def _multiply(self, c: _Layout, a: _Layout, b: _Layout, *, fresh: bool, left: bool) -> None:
        """C ← C ⊕ A ⊗ B or, fresh, A ⊗ B; A may be C itself where `left`, else B.

        Strip by strip, the operand that may be C is packed to its full depth before that strip of C is written.
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
