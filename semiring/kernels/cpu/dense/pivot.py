"""Floyd–Warshall–Kleene elimination, one pivot at a time, in place.

For pivot k, with s = A[k,k]*:

    A[k,j] ← s ⊗ A[k,j]                     j ≠ k
    A[i,j] ← A[i,j] ⊕ A[i,k] ⊗ A[k,j]       i, j ≠ k
    A[i,k] ← A[i,k] ⊗ s                     i ≠ k
    A[k,k] ← s

(Lehmann 1977, section 4). Each walk is counted once, so that ⊕ need not be idempotent. The second line runs over all j,
with R = s ⊗ A[k,·] and R[k] = s; its result at A[i,k] is overwritten by the third.
"""

from __future__ import annotations

from llvmlite import ir

from ..instructions import Builder, Entry, Int, Value, instruction
from ..intrinsics import (
    clear,
    itemsize,
    jump,
    kernel,
    left_itemsize,
    load,
    part,
    plus,
    row,
    star,
    store,
    times,
)
from ..kinds import Kind
from ..vectors import I64, Vectors, emit, loop, multiply, splat
from .gemm import DEPTH, block

#: Largest matrix closed in full rows.
SMALL = 16
#: Bytes of the widest vector.
VECTOR = 64


@instruction
def pivot(builder: Builder, kind: Kind, n: Int, k: Int, a: Int, s: Entry, b: Int, t: Entry) -> None:
    """One step of Floyd–Warshall–Kleene (see `dense.pivot`) on A, with s = A[k,k]*, and on B, with t = B[k,k]*.

    Both are n contiguous rows of SMALL entries. Rows are loaded and stored whole, column k included, since a load
    stalls on stores to parts of it. Two matrices hide each other's latency.
    """
    v, size = Vectors(builder, kind, lanes=min(kind.lanes, SMALL)), kind.itemsize
    lanes, pitch = v.type.count, SMALL * size
    index = ir.VectorType(ir.IntType(8 * size), lanes)
    position = splat(builder, k if size == 8 else builder.trunc(k, index.element), lanes)
    vectors = [  # byte offset and mask of column k
        (j * size, builder.icmp_signed("==", position, ir.Constant(index, list(range(j, j + lanes)))))
        for j in range(0, SMALL, lanes)
    ]
    # Idempotent ⊕ needs no exception at column k: 1 ⊕ s = s, so c ⊕ c ⊗ s = c ⊗ s.
    idempotent = kind.add not in ("fadd", "logaddexp")

    def update(here: Value, column: Value, c: Value, r: Value) -> None:
        x = v.step(v.load(here), c, r)
        v.store(x if idempotent else builder.select(column, emit(builder, kind.mul, c, r), x), here)

    own, pivot_rows = builder.mul(k, I64(pitch)), []
    for matrix, closed in ((a, s), (b, t)):
        here, stars = builder.add(matrix, own), v.splat(closed)
        rows = [multiply(builder, kind.mul, stars, v.load(here, offset), v.zero()) for offset, _ in vectors]
        rows = [builder.select(column, stars, r) for r, (_, column) in zip(rows, vectors, strict=True)]
        for r, (offset, _) in zip(rows, vectors, strict=True):
            v.store(r, here, offset)
        pivot_rows.append((matrix, rows))
    for start, stop in ((I64(0), k), (builder.add(k, I64(1)), n)):
        with loop(builder, start, stop) as i:
            for matrix, rows in pivot_rows:
                here = builder.add(matrix, builder.mul(i, I64(pitch)))
                c = v.splat(v.load(builder.add(here, builder.mul(k, I64(size))), type=v.type.element))
                for r, (offset, column) in zip(rows, vectors, strict=True):
                    update(builder.add(here, I64(offset)), column, c, r)


@part
def pivot_row(kind: Kind, n: int, k: int, a: int, a_row: int, a_col: int, r: int) -> None:
    """R ← A[k,·] ← s ⊗ A[k,·], and s = A[k,k]* at k."""
    size = itemsize(kind)
    here = a + k * a_row
    s = star(kind, load(kind, here + k * a_col))
    for j in range(n):
        store(kind, r + j * size, times(kind, s, load(kind, here + j * a_col)))
    store(kind, r + k * size, s)
    for j in range(n):
        store(kind, here + j * a_col, load(kind, r + j * size))


@part
def sweep(kind: Kind, start: int, stop: int, n: int, k: int, a: int, a_row: int, a_col: int, r: int) -> None:
    """A[i,·] ← A[i,·] ⊕ A[i,k] ⊗ R for start ≤ i < stop, i ≠ k."""
    size = itemsize(kind)
    s = load(kind, r + k * size)
    for i in range(start, stop):
        if i != k:
            here = a + i * a_row
            c = load(kind, here + k * a_col)
            if a_col == size:
                row(kind, n, here, c, r)
            else:
                for j in range(n):
                    target = here + j * a_col
                    store(kind, target, plus(kind, load(kind, target), times(kind, c, load(kind, r + j * size))))
            store(kind, here + k * a_col, times(kind, c, s))


@part
def _eliminate(
    pivot_row: int, sweep: int, copy: int, size: int, n: int, d: int, d_row: int, d_col: int, work: int
) -> None:
    """D ← D*, all n pivots, on a copy behind R in `work`, with rows of full vectors."""
    wide = -(-n * size // VECTOR) * VECTOR
    pitch, r, D = wide // size, work, work + wide
    jump(copy, (n, pitch, d, d_row, d_col, D, wide, size))
    for k in range(n):
        jump(pivot_row, (pitch, k, D, wide, size, r))
        jump(sweep, (0, n, pitch, k, D, wide, size, r))
    jump(copy, (n, n, D, wide, size, d, d_row, d_col))


@kernel
def closure(
    pivot_row: int, sweep: int, copy: int, pack: int, panel: int, rows: int, columns: int, size: int,
    step: int, pivots: int, n: int, d: int, row: int, col: int, work: int,
) -> None:  # fmt: skip
    """D ← D* by pivot blocks P of `step`: R ← P* R, then trailing ← trailing ⊕ C R, then C ← C P*.

    If only the first `pivots` are eliminated, D = [[A, B], [C, E]] becomes [[A*, A* B], [C A*, E ⊕ C A* B]]. Kernels
    are called by address: those of this file, `movers.copy_square`, and `gemm.block`'s.
    """
    for k in range(0, pivots, step):
        b = min(step, pivots - k)
        _eliminate(pivot_row, sweep, copy, size, b, d + k * (row + col), row, col, work)
        for phase in range(3):
            for sides in range(4):  # rows before or after the pivot block × columns before or after it
                i, m = (0, k) if sides < 2 else (k + b, n - k - b)
                j, w = (0, k) if sides % 2 == 0 else (k + b, n - k - b)
                if phase == 0:
                    i, m = k, b if sides < 2 else 0
                if phase == 2:
                    j, w = k, b if sides % 2 == 0 else 0
                if m <= 0 or w <= 0:
                    continue
                # C ← C P* packs its left operand before it writes, P* R and C R their right operand.
                left, C, R = phase == 2, d + i * row + k * col, d + k * row + j * col
                unit, count, packed, single = (rows, m, C, R) if left else (columns, w, R, C)
                padded = -(-count // unit) * unit
                own = work + padded * (DEPTH * left_itemsize(size) if left else b * size)
                jump(pack, (left, padded, 0, count, b, packed, row, col, work))
                block(
                    pack, panel, rows, columns, size, left, work, padded, 0, 0, m, w, b, single, row, col,
                    d + i * row + j * col, row, col, phase != 1, own,
                )  # fmt: skip


@kernel
def small_closures(
    kind: Kind, copy: int, batch: int, stride: int, n: int, d: int, row: int, col: int, work: int
) -> None:
    """D ← D* of n × n matrices `stride` bytes apart, n ≤ SMALL: two at a time, in `work`, in rows of SMALL entries."""
    size = itemsize(kind)
    wide = SMALL * size
    other = work + SMALL * wide
    clear(kind, 2 * SMALL * SMALL, work)
    for i in range(0, batch, 2):
        first, second = d + i * stride, d + min(i + 1, batch - 1) * stride  # an odd last one twice
        jump(copy, (n, n, first, row, col, work, wide, size))
        jump(copy, (n, n, second, row, col, other, wide, size))
        for k in range(n):
            diagonal = k * (wide + size)
            s, t = star(kind, load(kind, work + diagonal)), star(kind, load(kind, other + diagonal))
            pivot(kind, n, k, work, s, other, t)
        jump(copy, (n, n, work, wide, size, first, row, col))
        jump(copy, (n, n, other, wide, size, second, row, col))
