"""The nearest of several sources for every vertex, from the panels of an elimination: one climb, one sweep.

Each length carries its source; ties go to the least source, which suffices at every step, as ⊗ adds lengths. An entry
without a source is the semiring's 0, and its source −1. Erwig 2000, "The graph Voronoi diagram with applications".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ....host.types import Scalar
from ..instructions import Array, Builder, Int, Value, instruction
from ..intrinsics import itemsize, kernel, part, times, zero
from ..kinds import Kind
from ..sparse.strips import STRIP
from ..vectors import I32, I64, Vectors, accumulate, compare, loop, short_at, splat
from .equality import better, emit_better


@part
def nearer_of(kind: Kind, x: Any, name: int, weight: Scalar, best: Any, of: int) -> Any:
    """The better of x ⊗ weight from source `name` and the best so far from source `of`."""
    total = times(kind, x, weight)
    if better(kind, total, best) or (total == best and name < of):
        best, of = total, name
    return best, of


@kernel
def climb(
    kind: Kind, start: int, stop: int, chain: Array, first: Array, begin: Array, rows: Array, panel: Array, up: Array,
    z: Array, source: Array,
) -> None:  # fmt: skip
    """z_R ← z_R ⊕ z_C U and sources, for supernodes chain[start:stop]."""
    for q in range(start, stop):
        s = chain[q]
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        for j in range(0, w, STRIP):
            columns, p = min(STRIP, w - j), first[s] + j
            u = panel[s] + j * (w + r) + w * columns
            for k in range(r):
                o = rows[low + k]
                best, of = z[o], source[o]
                for c in range(columns):
                    best, of = nearer_of(kind, z[p + c], source[p + c], up[u + k * columns + c], best, of)
                z[o], source[o] = best, of


@kernel
def sweep(
    kind: Kind, start: int, stop: int, first: Array, begin: Array, rows: Array, panel: Array, down: Array, z: Array,
    source: Array, numbers: Array, y: Array, nearest: Array,
) -> None:  # fmt: skip
    """y_C = z_C D ⊕ y_R L and sources, for supernodes stop − 1 … start; numbers[p] = p."""
    size = itemsize(kind)
    for s in range(stop - 1, start - 1, -1):
        w, low = first[s + 1] - first[s], begin[s]
        r, reached = begin[s + 1] - low, False
        for p in range(first[s], first[s + 1]):
            reached |= source[p] >= 0
            y[p], nearest[p] = zero(kind), -1
        for j in range(0, w, STRIP):
            columns, p = min(STRIP, w - j), first[s] + j
            d, to = down.ctypes.data + (panel[s] + j * (w + r)) * size, y.ctypes.data + p * size
            names = nearest.ctypes.data + 4 * p
            if reached:
                own = numbers.ctypes.data + 4 * first[s]
                strip(kind, columns, w, own, z.ctypes.data, source.ctypes.data, d, to, names)
            above, d = rows.ctypes.data + 4 * low, d + w * columns * size
            strip(kind, columns, r, above, y.ctypes.data, nearest.ctypes.data, d, to, names)


@instruction
def strip(
    builder: Builder, kind: Kind, columns: Int, count: Int, rows: Int, x: Int, source: Int, panel: Int, y: Int,
    nearest: Int,
) -> None:  # fmt: skip
    """y[c] ← y[c] ⊕ x[rows[k]] ⊗ panel[k, c] over `count` rows, and sources."""
    given, size = (columns, count, rows, x, source), I64(kind.itemsize)

    def by_columns() -> None:
        with loop(builder, I64(0), columns) as c:
            places = (
                builder.add(base, builder.mul(c, by)) for base, by in ((panel, size), (y, size), (nearest, I64(4)))
            )
            _emit_strip(Vectors(builder, kind, lanes=1), *given, *places)

    if not kind.vector:
        by_columns()
        return
    with builder.if_else(builder.icmp_signed("==", columns, I64(STRIP))) as (full, other):
        with full:
            _emit_strip(Vectors(builder, kind, lanes=STRIP), I64(STRIP), *given[1:], panel, y, nearest)
        with other:
            by_columns()


def _emit_strip(
    v: Vectors, columns: Value, count: Value, rows: Value, x: Value, source: Value, panel: Value, y: Value, to: Value
) -> None:
    builder, kind, lanes = v.builder, v.kind, v.type.count
    size, into = I64(kind.itemsize), builder.inttoptr(to, ir.VectorType(I32, lanes).as_pointer())
    with accumulate(builder, count, [v.load(y), builder.load(into, align=4)]) as (k, (best, of), after):
        row = short_at(builder, rows, k)
        factor = v.splat(v.load(builder.add(x, builder.mul(row, size)), type=kind.llvm))
        name = splat(builder, builder.trunc(short_at(builder, source, row), I32), lanes)
        total = v.product(factor, v.load(builder.add(panel, builder.mul(k, builder.mul(columns, size)))))
        tie = builder.and_(compare(builder, kind, "==", total, best), builder.icmp_signed("<", name, of))
        taken = builder.or_(emit_better(builder, kind, total, best), tie)
        after += [builder.select(taken, total, best), builder.select(taken, name, of)]
    v.store(after[0], y)
    builder.store(after[1], into, align=4)
