"""The seven verbs on NumPy matrices: which blocks, which threads, which workspace."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core import types

from ..algebra import Semiring
from . import gemm, pivot
from .kinds import Kind, semiring_of, shipped
from .pool import run
from .simd import DEPTH

#: What all threads together may hold beside the matrix, in entries: 8 % of one of 4096 × 4096.
WORKSPACE = 5 << 18
#: No block of a product is longer than this on the side that its thread packs for itself.
SIDE = 192
#: A call into compiled code computes at most about this many pairs (of those slow to compute), so that Ctrl-C is heard.
CALL = 1 << 24
#: Below this many pairs (again, of those slow to compute) a second thread costs more than it brings.
ALONE = 1 << 19
#: How many times faster explicit vector code is than compiled Python, roughly.
VECTOR_GAIN = 64
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
            self.buffer = np.empty(size + _ALIGNMENT, np.uint8)
            address = self.buffer.ctypes.data
            self.address, self.size = address + -address % _ALIGNMENT, size
        return self.address


_scratch = _Scratch()


class _Code:
    """The machine code of one kind's kernels; each is compiled, or found on disk, when it is first wanted."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @cached_property
    def pack(self) -> Callable[..., None]:
        return _compile(gemm.pack, self.kind, "biiiiiiii")

    @cached_property
    def block(self) -> Callable[..., None]:
        return _compile(gemm.block, self.kind, "biiiiiiiiiiiiibi")

    @cached_property
    def pivot_row(self) -> Callable[..., None]:
        return _compile(pivot.pivot_row, self.kind, "iiiiii")

    @cached_property
    def sweep(self) -> Callable[..., None]:
        return _compile(pivot.sweep, self.kind, "iiiiiiii")

    @cached_property
    def closure(self) -> Callable[..., None]:
        return _compile(pivot.closure, self.kind, "iiiiii")


_code = cache(_Code)


def _compile(kernel: Any, kind: Kind, arguments: str) -> Callable[..., None]:
    """A kernel's machine code for a kind; `arguments` has a letter for each other argument, i for intp, b for bool."""
    # What a user's function calls may change: its machine code never goes to disk.
    entry = njit(nogil=True, error_model="numpy", cache=not kind.label or shipped(semiring_of(kind)))(kernel.py_func)
    code: Callable[..., None] = entry.compile((kind, *({"i": types.intp, "b": types.boolean}[a] for a in arguments)))
    return code


class _Layout(NamedTuple):
    """Where a matrix lies: shape, address and strides in bytes."""

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


def _parts(total: int, unit: int, longest: int, least: int = 1) -> list[tuple[int, int]]:
    """(start, size) of about equal parts, whole units but the last: none over `longest`, at least `least` of them."""
    units = -(-total // unit)
    count = min(units, max(least, -(-units // max(1, longest // unit))))
    size = -(-units // count) * unit
    return [(start, min(size, total - start)) for start in range(0, total, size)]


class CpuBackend:
    """The verbs of `semiring.backend.Backend` on NumPy arrays of any strides.

    Parameters
    ----------
    kind : Kind
        The instructions that compute the semiring on a dtype.
    threads : int
    """

    device = "cpu"
    grain = 1
    pivot = 256
    cutover = 256

    def __init__(self, kind: Kind, threads: int) -> None:
        self.kind, self.threads = kind, threads
        self.semiring: Semiring = semiring_of(kind)
        self.dtype = np.dtype(kind.dtype)
        self._size, self._rows, self._columns = kind.itemsize, kind.tile.rows, kind.columns
        self._mover = kind.mover
        self._code, self._moves = _code(kind), _code(self._mover)
        self._gain = VECTOR_GAIN if kind.vector else 1

    def __repr__(self) -> str:
        return f"CpuBackend({self.semiring}, {self.dtype}, threads={self.threads})"

    def gemm(self, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """C ← C ⊕ A ⊗ B, C apart from A and B."""
        self._multiply(_layout(C), _layout(A), _layout(B), fresh=False, left=False)

    def left_mul(self, D: np.ndarray, R: np.ndarray) -> None:
        """R ← D ⊗ R, D square and apart from R."""
        r = _layout(R)
        self._multiply(r, _layout(D), r, fresh=True, left=False)

    def right_mul(self, C: np.ndarray, D: np.ndarray) -> None:
        """C ← C ⊗ D, D square and apart from C."""
        c = _layout(C)
        self._multiply(c, c, _layout(D), fresh=True, left=True)

    def closure(self, D: np.ndarray) -> None:
        """D ← D*: Floyd–Warshall by blocks, in one call into compiled code where D is a pivot block."""
        n = len(D)
        if n > self.pivot:
            for k in range(n):
                self.step(D, k)
        elif n:
            d, rows, columns = self._upright(_layout(D)), self._rows, self._columns
            # Two packed operands, and what a product needs besides; the pivot block's copy takes less.
            work = _scratch.reserve((2 * (n + max(rows, columns)) * DEPTH + columns * (1 + rows)) * self._size)
            self._code.closure(self.kind, STEP, n, d.address, d.row, d.col, work)

    def step(self, A: np.ndarray, k: int) -> None:
        """A ← A ⊕ A[:,k] ⊗ a* ⊗ A[k,:] with a = A[k,k]: one Floyd–Warshall step on the whole matrix."""
        a = self._upright(_layout(A))
        n, r = a.n, _scratch.reserve(a.n * self._size)
        kind, sweep = self.kind, self._code.sweep
        self._code.pivot_row(kind, n, k, a.address, a.row, a.col, r)
        threads = self.threads if n * n >= ALONE else 1
        parts = _parts(n, 1, max(1, CALL // n), threads)
        run(lambda _, i, m: sweep(kind, i, i + m, n, k, a.address, a.row, a.col, r), parts, threads)

    def empty(self, shape: tuple[int, ...]) -> np.ndarray:
        """A new matrix, uninitialised."""
        return np.empty(shape, self.dtype)

    def upload(self, array: Any, *, copy: bool = True) -> np.ndarray:
        """The array in the bound dtype, with contiguous rows where it is copied; else the same memory if it fits."""
        if copy:
            return np.array(array, self.dtype, order="C")
        return np.asarray(array, self.dtype)

    def download(self, matrix: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The matrix itself, or `out` with its entries."""
        if out is None:
            return matrix
        if out is not matrix:
            out[...] = matrix
        return out

    def synchronize(self) -> None:
        """Every verb is done when it returns."""

    def workspace(self, n: int) -> int:
        """Bytes held beside an n × n matrix while its closure is computed."""
        half = -(-n // 2)
        return max(self._plan(half, half, half, left=left, threads=self.threads).workspace for left in (False, True))

    def _upright(self, a: _Layout) -> _Layout:
        """The matrix, or its transpose where ⊗ commutes and the rows of that are contiguous."""
        return a.T if self.kind.vector and a.row == self._size != a.col else a

    def _plan(self, m: int, n: int, depth: int, *, left: bool, threads: int) -> _Plan:
        """How a product is cut: strips of the operand packed by all, blocks of the one packed by each thread."""
        rows, columns, size = self._rows, self._columns, self._size
        unit, other = (rows, columns) if left else (columns, rows)
        long, short = (m, n) if left else (n, m)
        deep = -(-depth // DEPTH) * DEPTH if left else depth  # A's rows are DEPTH apart, filled or not
        side = -(-min(SIDE, short) // other) * other
        own = (columns * (1 + rows) + side * min(deep, DEPTH) if left else columns * (1 + rows) + side * DEPTH) * size
        own += -own % _ALIGNMENT
        strips = _parts(long, unit, max(unit, (WORKSPACE - threads * own // size) // deep))
        padded = -(-strips[0][1] // unit) * unit
        call = self._gain * CALL
        blocks = _parts(
            short, other, max(other, min(side, call // (padded * depth))), 3 * threads if threads > 1 else 1
        )
        return _Plan(strips, padded, blocks, own, threads * own, threads * own + padded * deep * size)

    def _multiply(self, c: _Layout, a: _Layout, b: _Layout, *, fresh: bool, left: bool) -> None:
        """C ← C ⊕ A ⊗ B or, fresh, A ⊗ B; A may be C itself where `left`, else B.

        Strip by strip, the operand that may be C is packed to its full depth before that strip of C is written.
        """
        if self._upright(c) is not c:  # (A ⊗ B)ᵀ = Bᵀ ⊗ Aᵀ
            return self._multiply(c.T, b.T, a.T, fresh=fresh, left=not left)
        m, n, depth = c.m, c.n, a.n
        if m == 0 or n == 0 or depth == 0:
            return None
        threads = self.threads if m * n * depth >= self._gain * ALONE else 1
        plan = self._plan(m, n, depth, left=left, threads=threads)
        kind, mover = self.kind, self._mover
        shared, single, unit = (a, b, self._rows) if left else (b, a, self._columns)
        work = _scratch.reserve(plan.workspace)
        packed, padded = work + plan.shared, plan.padded
        pack, block = self._moves.pack, self._code.block
        into, line = (c.address, c.row) if left else (c.address, c.col)
        along = shared.row if left else shared.col
        for start, width in plan.strips:
            source, target = shared.address + start * along, into + start * line

            def fill(_: int, i: int, count: int, source: int = source) -> None:
                pack(mover, left, padded, i, count, depth, source, shared.row, shared.col, packed)

            def multiply(worker: int, i: int, m: int, j: int, n: int, target: int = target) -> None:
                own = work + worker * plan.own
                # fmt: off
                block(
                    kind, left, packed, padded, i, j, m, n, depth,
                    single.address, single.row, single.col, target, c.row, c.col, fresh, own,
                )
                # fmt: on

            run(fill, _parts(width, unit, width, threads), threads)
            pieces = _parts(width, unit, width, -(-3 * threads // len(plan.blocks)) if threads > 1 else 1)
            if left:
                calls = [(*piece, *some) for some in plan.blocks for piece in pieces]
            else:
                calls = [(*some, *piece) for some in plan.blocks for piece in pieces]
            run(multiply, calls, threads)
        return None


class _Plan(NamedTuple):
    """How a product is cut. Sizes in bytes: what a thread owns, where the shared panels begin, and all together."""

    strips: list[tuple[int, int]]
    padded: int
    blocks: list[tuple[int, int]]
    own: int
    shared: int
    workspace: int
