"""C ← log(eᶜ + eᴬ eᴮ) by an ordinary product: maxima taken out, exponentials, FMA, logarithms.

With r[i] the greatest of A's row i and c[j] that of B's column j, over a slab of the depth,

    log Σ exp(A[i,k] + B[k,j]) = r[i] + c[j] + log Σ exp(A[i,k] − r[i]) exp(B[k,j] − c[j]),

so exponentials are taken once per operand entry, not per pair. Below 2^−CUT they are flushed to 0. A sum not far above
that, in a row or column that lost an entry, is recomputed from A and B, pair by pair.

A* is log((exp A)*) over (+, ×) where that is exact. What underflows, of an exponential or of a product of two, is less
than 2^e, the least normal number, and contributes at most n² 2^e h² to an entry of the closure, h being the greatest
entry. So if all entries lie between n² 2^e h² / eps and h, each is as exact as sums and products of positive numbers
are. Loops must not have weights near 1: 1 − eᵃ would lose digits that a has.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from ....algebra import catalog
from ....algebra.records import Semiring
from ....host.compiling import Missing
from ...contract import Backend, by_halves
from ..code import machine_code
from ..instructions import Builder, Flag, Int, Value, Values, instruction
from ..intrinsics import itemsize, kernel, load, store_index
from ..kinds import Kind, choose
from ..logarithm import Functions
from ..pool import pieces, run
from ..vectors import I64, Vectors, across, emit, entries, lanes_of, loop
from .backend import WORKSPACE, CpuBackend, _layout

#: Block of a product: rows, depth, columns.
ROWS, DEPTH, COLUMNS = 256, 512, 1024
#: Sides and pair counts below which products are computed pair by pair.
SHORTEST, PAIRS = 32, 1 << 20
#: Rows up to which a closure is computed pair by pair, if exponentials are not exact.
PAIRWISE = 128
#: Entries per pass over a batch of small matrices, for any number of threads: what fails decides how others are closed.
BATCH = 1 << 18
#: By float width: exponentials below 2^−cut are 0; others are scaled by 2^scale, so that products of two, and sums of
#: 2²⁴ of them, stay normal numbers.
_CUT, _SCALE = {32: 100, 64: 900}, {32: 50, 64: 450}
#: log₂ of the greatest closure entry, by float width in bits.
_HIGH = {32: 10, 64: 200}
#: Greatest logarithm of a loop's weight.
_LOOP = -0.125


def any_lane(builder: Builder, mask: Value) -> Value:
    if not isinstance(mask.type, ir.VectorType):
        return mask
    bits = ir.IntType(mask.type.count)
    return builder.icmp_unsigned("!=", builder.bitcast(mask, bits), bits(0))


def _scale(builder: Builder, kind: Kind, rows: bool, args: Values) -> None:
    """X ← 2^scale e^(X − peak) along lines of `count` vectors, one row or `lanes` columns; peak and loss per line."""
    lines, count, x, line, step, peaks, losses = args
    v = Vectors(builder, kind)
    f = Functions(builder, v.type)
    least, nil, bits = f.constant(-math.inf), f.constant(0.0), f.form.bits
    top, lost = (cgutils.alloca_once(builder, v.type) for _ in range(2))
    width = kind.itemsize if rows else kind.tile.width
    with loop(builder, I64(0), lines) as i:
        start, offset = builder.add(x, builder.mul(i, line)), builder.mul(i, I64(width))
        builder.store(least, top)
        builder.store(nil, lost)
        with loop(builder, I64(0), count) as j:
            entry = v.load(builder.add(start, builder.mul(j, step)))
            builder.store(emit(builder, "fmax", entry, builder.load(top)), top)
        peak = builder.load(top)
        if rows:
            peak = v.splat(across(builder, "fmax", peak))
        endless = builder.fcmp_ordered("==", peak, f.constant(math.inf))  # everything is lost
        builder.store(builder.select(endless, f.constant(1.0), nil), lost)
        peak = builder.select(builder.or_(endless, builder.fcmp_ordered("==", peak, least)), nil, peak)
        with loop(builder, I64(0), count) as j:
            here = builder.add(start, builder.mul(j, step))
            entry = v.load(here)
            d = builder.fsub(entry, peak)
            near = builder.fcmp_ordered(">=", d, f.constant(-_CUT[bits] * math.log(2)))
            near = builder.and_(near, builder.fcmp_ordered("<=", d, nil))
            power = f.exponential(d, f.remainder(entry, builder.fneg(peak), d), _SCALE[bits])
            v.store(builder.select(near, power, nil), here)
            gone = builder.and_(builder.not_(near), builder.fcmp_unordered(">", entry, least))
            builder.store(builder.select(gone, f.constant(1.0), builder.load(lost)), lost)
        loss = builder.load(lost)
        if rows:
            for value, target in ((peak, peaks), (v.splat(across(builder, "fmax", loss)), losses)):
                one = builder.extract_element(value, I64(0))
                builder.store(one, builder.inttoptr(builder.add(target, offset), one.type.as_pointer()))
        else:
            v.store(peak, builder.add(peaks, offset))
            v.store(loss, builder.add(losses, offset))


@instruction
def _scale_rows(
    builder: Builder, kind: Kind, m: Int, count: Int, x: Int, line: Int, step: Int, peaks: Int, losses: Int
) -> None:
    _scale(builder, kind, True, (m, count, x, line, step, peaks, losses))


@instruction
def _scale_columns(
    builder: Builder, kind: Kind, m: Int, count: Int, x: Int, line: Int, step: Int, peaks: Int, losses: Int
) -> None:
    _scale(builder, kind, False, (m, count, x, line, step, peaks, losses))


def _again(v: Vectors, f: Functions, depth: Any, a: Any, a_col: Any, b: Any, b_row: Any) -> Any:
    """log Σ exp(A[i,k] + B[k,j]) for the lanes j, relative to each sum's own maximum."""
    builder = v.builder
    top, total = (cgutils.alloca_once(builder, v.type) for _ in range(2))
    least, nil = f.constant(-math.inf), f.constant(0.0)

    def pair(k: Any) -> tuple[Any, Any]:
        x = v.splat(v.load(builder.add(a, builder.mul(k, a_col)), type=v.type.element))
        y = v.load(builder.add(b, builder.mul(k, b_row)))
        both = builder.fadd(x, y)
        return both, f.remainder(x, y, both)

    builder.store(least, top)
    builder.store(nil, total)
    with loop(builder, I64(0), depth) as k:
        builder.store(emit(builder, "fmax", pair(k)[0], builder.load(top)), top)
    peak = builder.load(top)
    finite = builder.fcmp_ordered("==", builder.fsub(peak, peak), nil)
    with loop(builder, I64(0), depth) as k:
        both, rest = pair(k)
        d = builder.fsub(both, peak)
        near = builder.fcmp_ordered(">=", d, f.constant(f.form.smallest))
        term = builder.select(near, f.exponential(d, rest), nil)
        builder.store(builder.fadd(builder.load(total), term), total)
    return builder.select(finite, f.sum(peak, *f.logarithm(builder.load(total))), peak)


@instruction
def _unscale(
    builder: Builder, kind: Kind, m: Int, n: Int, depth: Int, s: Int, s_row: Int, r: Int, r_lost: Int, c: Int,
    c_lost: Int, a: Int, a_row: Int, a_col: Int, b: Int, b_row: Int, out: Int, out_row: Int, fresh: Int,
) -> None:  # fmt: skip
    size = I64(kind.itemsize)
    for lanes, start, stop in lanes_of(builder, kind, n):
        v = Vectors(builder, kind, lanes=lanes)
        f = Functions(builder, v.type)
        bits = f.form.bits
        value_at = cgutils.alloca_once(builder, v.type)
        # The loss is then below half a unit in the last place of the sum.
        safe = math.ldexp(1.0, 2 * _SCALE[bits] - _CUT[bits] + f.form.mantissa + 2)
        bound = v.splat(builder.fmul(builder.sitofp(depth, v.type.element), v.type.element(safe)))
        with loop(builder, I64(0), m) as i:
            own = builder.mul(i, size)
            peak, loss = (v.splat(v.load(builder.add(x, own), type=v.type.element)) for x in (r, r_lost))
            with loop(builder, start, stop) as j:
                offset = builder.mul(j, I64(lanes * kind.itemsize))
                total = v.load(builder.add(builder.add(s, builder.mul(i, s_row)), offset))
                column = v.load(builder.add(c, offset))
                builder.store(f.sum(peak, column, *f.logarithm(total, 2 * _SCALE[bits])), value_at)
                lost = builder.fadd(loss, v.load(builder.add(c_lost, offset)))
                doubtful = builder.and_(
                    builder.fcmp_unordered("<", total, bound), builder.fcmp_ordered(">", lost, f.constant(0.0))
                )
                with builder.if_then(any_lane(builder, doubtful), likely=False):
                    row = builder.add(a, builder.mul(i, a_row))
                    builder.store(_again(v, f, depth, row, a_col, builder.add(b, offset), b_row), value_at)
                here = builder.add(builder.add(out, builder.mul(i, out_row)), offset)
                value, old = builder.load(value_at), v.load(here)
                fresh_value = builder.icmp_signed("!=", fresh, I64(0))
                with builder.if_else(fresh_value) as (then, otherwise):
                    with then:
                        v.store(value, here)
                    with otherwise:
                        v.store(emit(builder, kind.add, old, value), here)


@kernel
def scale_rows(kind: Kind, m: int, count: int, x: int, line: int, step: int, peaks: int, losses: int) -> None:
    """m rows of `count` vectors: X ← 2^scale e^(X − peak); peaks and losses (whether any entry was flushed) per row."""
    _scale_rows(kind, m, count, x, line, step, peaks, losses)


@kernel
def scale_columns(kind: Kind, n: int, count: int, x: int, line: int, step: int, peaks: int, losses: int) -> None:
    """`scale_rows` for columns: n vectors of columns, `count` rows."""
    _scale_columns(kind, n, count, x, line, step, peaks, losses)


@kernel
def finish(
    kind: Kind, m: int, n: int, depth: int, s: int, s_row: int, r: int, r_lost: int, c: int, c_lost: int, a: int,
    a_row: int, a_col: int, b: int, b_row: int, out: int, out_row: int, fresh: int,
) -> None:  # fmt: skip
    """C ← C ⊕ (log S + r + c), or without C if fresh; recomputed from A and B where S lost too much."""
    _unscale(
        kind, m, n, depth, s, s_row, r, r_lost, c, c_lost, a, a_row, a_col, b, b_row, out, out_row, fresh
    )  # fmt: skip


@instruction
def _exponentiate(builder: Builder, kind: Kind, count: Int, x: Int) -> None:
    for v, (here,) in entries(builder, kind, count, x):
        f, entry = Functions(builder, v.type), v.load(here)
        least, most = f.constant(f.form.smallest), f.constant(-f.form.smallest)
        below, above = builder.fcmp_ordered("<", entry, least), builder.fcmp_ordered(">", entry, most)
        power = f.exponential(builder.select(below, least, builder.select(above, most, entry)))
        power = builder.select(above, f.constant(math.inf), power)
        v.store(builder.select(below, f.constant(0.0), power), here)


@instruction
def _take_logarithms(builder: Builder, kind: Kind, count: Int, x: Int) -> None:
    for v, (here,) in entries(builder, kind, count, x):
        f = Functions(builder, v.type)
        v.store(builder.fadd(*f.logarithm(v.load(here))), here)


@instruction
def _exact(builder: Builder, kind: Kind, n: Int, x: Int) -> Flag:
    """Whether all n² entries lie within the bounds above."""
    count, outside = builder.mul(n, n), cgutils.alloca_once_value(builder, ir.IntType(1)(0))
    for v, (here,) in entries(builder, kind, count, x):
        f, entry = Functions(builder, v.type), v.load(here)
        high, element = _HIGH[f.form.bits], v.plain.element
        least = element(math.ldexp(1.0, 2 * high + f.form.mantissa + 2 - f.form.bias))
        low = v.splat(builder.fmul(builder.sitofp(count, element), least))
        inside = builder.and_(
            builder.fcmp_ordered(">=", entry, low), builder.fcmp_ordered("<=", entry, f.constant(2.0**high))
        )
        builder.store(builder.or_(any_lane(builder, builder.not_(inside)), builder.load(outside)), outside)
    return builder.not_(builder.load(outside))


@kernel
def exponentials(kind: Kind, count: int, x: int) -> None:
    """X ← eˣ, flushed to 0 below the normal numbers and to ∞ before overflow."""
    _exponentiate(kind, count, x)


@kernel
def logarithms(kind: Kind, batch: int, n: int, x: int, a: int, a_batch: int, a_diagonal: int, failed: int) -> None:
    """X ← log X of every matrix that is exactly (exp A)*; failed[i] ← 1 for the others."""
    for i in range(batch):
        here, exact = x + i * n * n * itemsize(kind), True
        for k in range(n):
            exact = exact and load(kind, a + i * a_batch + k * a_diagonal) <= _LOOP
        exact = exact and _exact(kind, n, here)
        if exact:
            _take_logarithms(kind, n * n, here)
        store_index(failed + 4 * i, 0 if exact else 1)


class _Buffers(threading.local):
    """A thread's scaled operands, kept for its next product."""

    buffer = np.empty(0, np.uint8)

    def reserve(self, *shapes: tuple[int, int], dtype: np.dtype) -> list[np.ndarray]:
        sizes = [-(-m * n * dtype.itemsize // 64) * 64 for m, n in shapes]
        if self.buffer.size < sum(sizes) + 64:
            self.buffer = np.empty(0, np.uint8)  # frees the old buffer first
            self.buffer = np.empty(sum(sizes) + 64, np.uint8)
        offset, found = -self.buffer.ctypes.data % 64, []
        for (m, n), size in zip(shapes, sizes, strict=True):
            found.append(self.buffer[offset : offset + m * n * dtype.itemsize].view(dtype).reshape(m, n))
            offset += size
        return found


_scaled, _copied = _Buffers(), _Buffers()


_NONE = np.empty(0, np.intp)


class LogarithmicBackend(CpuBackend):
    """The verbs of ⊕ = log(eᵃ + eᵇ) and ⊗ = +."""

    pivot = cutover = 512  # size of one exponentiation

    def __init__(self, kind: Kind, threads: int) -> None:
        super().__init__(kind, threads)
        sums: Semiring = catalog.get("plus_times")
        self._sums = CpuBackend(choose(sums, self.dtype, False), threads)

    def missing(self, work: str) -> Missing:
        return super().missing("exponentials" if work == "closure" else work)

    def closure(self, D: np.ndarray) -> None:
        """D ← D*: by exponentials if exact; else by halves, and pair by pair."""
        n = len(D)
        if n < SHORTEST or n > self.pivot:
            return super().closure(D)
        batch, quarter = D[None], D[None, : n // 4, : n // 4]  # if inexact, the whole is not tried
        if (n < PAIRWISE or not len(self._exponentials(quarter, None))) and not len(self._exponentials(batch, batch)):
            return None
        return super().closure(D) if n <= PAIRWISE else by_halves(D, self)

    def closure_batch(self, A: np.ndarray, blocked: Any = None, out: np.ndarray | None = None) -> None:
        D = A if out is None else out
        if out is not None:
            out[...] = A
        n, failed = D.shape[-1], D[:0]
        if n > PAIRWISE:
            return super(CpuBackend, self).closure_batch(D, blocked)
        if not D.size:
            return None
        for i, count in pieces(len(D), 1, max(1, BATCH // n**2)):
            part = D[i : i + count]
            # Once most of a chunk is inexact, exponentials are no longer tried.
            pairwise = np.arange(count) if 2 * len(failed) > count else self._exponentials(part, part)
            failed = part[pairwise]
            super().closure_batch(failed)
            part[pairwise] = failed
        return None

    def _exponentials(self, A: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """out[i] ← log((exp A[i])*) where exact; returns the indices of the others."""
        batch, n = A.shape[:2]
        (X,) = _scaled.reserve((batch * n, n), dtype=self.dtype)
        X = X.reshape(A.shape)
        X[...] = A
        flags = np.empty(batch, np.int32)
        x, a, failed = (Y.__array_interface__["data"][0] for Y in (X, A, flags))
        powers, logs = (machine_code(f, self.kind, "i" * k).call for f, k in ((exponentials, 2), (logarithms, 7)))

        def exponentiate(_: int, i: int, count: int) -> None:
            powers(self.kind, count, x + i * self._size)

        def take_logarithms(_: int, i: int, count: int) -> None:
            stride, row, column = A.strides
            logs(self.kind, count, n, x + i * n * n * self._size, a + i * stride, stride, row + column, failed + 4 * i)

        threads = self.threads if X.size >= _ALONE else 1
        run(exponentiate, pieces(X.size, 1, X.size, threads), threads)
        if n > self._sums.pivot:
            by_halves(X[0], self._sums)
        elif batch > 1:
            self._sums.closure_batch(X)
        else:
            self._sums.closure(X[0])
        run(take_logarithms, pieces(batch, 1, batch, threads), threads)
        if flags.any():
            if out is not None:
                out[flags == 0] = X[flags == 0]
            return np.flatnonzero(flags)
        if out is not None:
            out[...] = X
        return _NONE

    def left_mul(self, D: np.ndarray, R: np.ndarray) -> None:
        if not self._suits(R, len(D)):
            return super().left_mul(D, R)
        for j, n in pieces(R.shape[1], 64, self._strip(len(D))):
            (before,) = _copied.reserve((len(D), n), dtype=self.dtype)
            before[...] = R[:, j : j + n]
            self._product(R[:, j : j + n], D, before, fresh=True)
        return None

    def right_mul(self, C: np.ndarray, D: np.ndarray) -> None:
        if not self._suits(C, len(D)):
            return super().right_mul(C, D)
        for i, m in pieces(C.shape[0], 64, self._strip(len(D))):
            (before,) = _copied.reserve((m, len(D)), dtype=self.dtype)
            before[...] = C[i : i + m]
            self._product(C[i : i + m], before, D, fresh=True)
        return None

    @staticmethod
    def _strip(depth: int) -> int:
        return max(64, WORKSPACE // 2 // depth)

    def _suits(self, C: np.ndarray, depth: int) -> bool:
        """Whether the product is large enough, and C has contiguous rows or columns."""
        pays = min(*C.shape, depth) >= SHORTEST and C.size * depth >= PAIRS
        return pays and self._size in C.strides

    prepared = Backend.prepared  # a product is several

    def _product(self, C: np.ndarray, A: np.ndarray, B: np.ndarray, *, fresh: bool) -> None:
        if not self._suits(C, len(B)):
            return super()._product(C, A, B, fresh=fresh)
        if C.strides[1] != self._size:
            return self._product(C.T, B.T, A.T, fresh=fresh)
        lanes = self.kind.lanes
        depth, columns = len(B), C.shape[1]
        for k, d in pieces(depth, lanes, DEPTH):
            for j, n in pieces(columns, lanes, COLUMNS):
                wide, deep = -(-n // lanes) * lanes, -(-d // lanes) * lanes
                rows = min(ROWS, len(C))
                contiguous = B.strides[1] == self._size
                shapes = [(deep, wide), (rows, deep), (rows, wide), (2, wide), (2, rows)]
                shapes += [] if contiguous else [(d, n)]
                right, left, sums, column, row, *copy = _scaled.reserve(*shapes, dtype=self.dtype)
                part = B[k : k + d, j : j + n]
                right[:d, :n] = part
                right[:d, n:] = -np.inf
                if copy:
                    copy[0][...] = part
                    part = copy[0]
                self._scale("scale_columns", right, wide // lanes, d, lanes * self._size, right.strides[0], column)
                for i, m in pieces(len(C), 1, rows):
                    left[:m, :d] = A[i : i + m, k : k + d]
                    left[:m, d:] = -np.inf
                    self._scale("scale_rows", left, m, deep // lanes, left.strides[0], lanes * self._size, row)
                    self._sums.matmul(sums[:m], left[:m, :d], right[:d])
                    self._finish(
                        C[i : i + m, j : j + n], A[i : i + m, k : k + d], part, sums, row, column, fresh and k == 0
                    )
        return None

    def _scale(self, name: str, X: np.ndarray, lines: int, count: int, line: int, step: int, found: np.ndarray) -> None:
        x, peaks = _layout(X), _layout(found)
        work = machine_code(_KERNELS[name], self.kind, "iiiiiii").call
        width = line if name == "scale_columns" else self._size

        def part(_: int, first: int, size: int) -> None:
            at = peaks.address + first * width
            work(self.kind, size, count, x.address + first * line, line, step, at, at + peaks.row)

        threads = self.threads if X.size >= _ALONE else 1
        run(part, pieces(lines, 1, lines, threads), threads)

    def _finish(
        self, C: np.ndarray, A: np.ndarray, B: np.ndarray, sums: np.ndarray, row: np.ndarray, column: np.ndarray,
        fresh: bool,
    ) -> None:  # fmt: skip
        c, a, b, s, r, q = map(_layout, (C, A, B, sums, row, column))
        work = machine_code(finish, self.kind, "i" * 17).call

        def part(_: int, i: int, m: int) -> None:
            own = r.address + i * self._size
            work(
                self.kind, m, c.n, a.n, s.address + i * s.row, s.row, own, own + r.row, q.address, q.address + q.row,
                a.address + i * a.row, a.row, a.col, b.address, b.row, c.address + i * c.row, c.row, fresh,
            )  # fmt: skip

        threads = self.threads if C.size >= _ALONE else 1
        # parts are short even if all is recomputed, so that Ctrl-C is handled
        run(part, pieces(c.m, 1, max(1, (1 << 24) // (c.n * a.n)), threads), threads)

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        if verb == "closure" and PAIRWISE < m <= self.pivot:
            half, block = m - m // 2, self.verb_workspace(verb, PAIRWISE, PAIRWISE, PAIRWISE)
            by_halves = max(self.elimination_workspace(half, half), block)
            return max(by_halves, m * m * self._size + self._sums.workspace(m))
        least = super().verb_workspace(verb, m, n, k)
        if verb == "closure" and m <= PAIRWISE:
            return least + m * m * self._size
        if verb in ("closure", "step") or not (m and n and k):
            return least
        lanes = self.kind.lanes
        rows, deep, wide = min(m, ROWS), min(k, DEPTH) + lanes, min(n, COLUMNS) + lanes
        transposed = max(m, n)  # without contiguous rows, the transpose is computed
        rows, wide = min(transposed, ROWS), min(transposed, COLUMNS) + lanes
        scaled = 2 * deep * wide + rows * (deep + wide) + 2 * (rows + wide) + 6 * 64
        side = n if verb == "left_mul" else m
        copied = 0 if verb == "gemm" else k * min(side + 64, self._strip(k) + 64)
        inner = self._sums.verb_workspace("gemm", rows, wide, deep)
        return max(least, (scaled + copied) * self._size + inner + 128)


#: Entries below which a second thread does not pay.
_ALONE = 1 << 15
_KERNELS = {"scale_rows": scale_rows, "scale_columns": scale_columns}
