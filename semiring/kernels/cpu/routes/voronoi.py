"""The nearest of several sources for every vertex, from the panels of an elimination: one climb, one sweep.

Each length carries its source; ties go to the least source, which suffices at every step, as ⊗ adds lengths. An entry
without a source is the semiring's 0, and its source −1. Erwig 2000, "The graph Voronoi diagram with applications".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ....host.types import Scalar
from ..annotations import Array, Builder, Context, Intrinsic, Signature, Type, Typing, Value, Values
from ..intrinsics import itemsize, kernel, load, part, short, store, times, write, zero
from ..kinds import Kind
from ..sparse.strips import STRIP, accumulate
from ..vectors import I32, I64, Vectors, compare, multiply, short_at
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


@intrinsic
def strip(
    typing: Typing, kind: Kind, columns: Type, count: Type, rows: Type, x: Type, source: Type, panel: Type, y: Type,
    nearest: Type,
) -> Intrinsic:  # fmt: skip
    """y[c] ← y[c] ⊕ x[rows[k]] ⊗ panel[k, c] over `count` rows, and sources."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        if not kind.vector:
            return context.compile_internal(builder, _generic, signature, args)
        with builder.if_else(builder.icmp_signed("==", args[1], I64(STRIP))) as (full, other):
            with full:
                _emit_full(builder, kind, *args[2:])
            with other:
                context.compile_internal(builder, _generic, signature, args)
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 8), codegen


def _emit_full(
    builder: Builder, kind: Kind, count: Value, rows: Value, x: Value, source: Value, panel: Value, y: Value, to: Value
) -> None:
    v, four = Vectors(builder, kind, lanes=STRIP), ir.VectorType(I32, STRIP)
    into = builder.inttoptr(to, four.as_pointer())
    names = builder.load(into, align=4)
    with accumulate(builder, count, [v.load(y), names]) as (k, (best, of), after):
        row = short_at(builder, rows, k)
        factor = v.splat(v.load(builder.add(x, builder.mul(row, I64(kind.itemsize))), type=kind.llvm))
        one = builder.trunc(short_at(builder, source, row), I32)
        name = builder.insert_element(ir.Constant(four, ir.Undefined), one, I32(0))
        name = builder.shuffle_vector(name, ir.Constant(four, ir.Undefined), ir.Constant(four, None))
        weights = v.load(builder.add(panel, builder.mul(k, I64(STRIP * kind.itemsize))))
        total = multiply(builder, kind.mul, factor, weights, v.zero())
        tie = builder.and_(compare(builder, kind, "==", total, best), builder.icmp_signed("<", name, of))
        taken = builder.or_(emit_better(builder, kind, total, best), tie)
        after += [builder.select(taken, total, best), builder.select(taken, name, of)]
    v.store(after[0], y)
    builder.store(after[1], into, align=4)


def _generic(
    kind: Kind, columns: int, count: int, rows: int, x: int, source: int, panel: int, y: int, nearest: int
) -> None:
    size = itemsize(kind)
    for c in range(columns):
        best, of = load(kind, y + c * size), short(nearest, c)
        for k in range(count):
            row = short(rows, k)
            weight = load(kind, panel + (k * columns + c) * size)
            best, of = nearer_of(kind, load(kind, x + row * size), short(source, row), weight, best, of)
        store(kind, y + c * size, best)
        write(nearest + 4 * c, np.int32(of))
