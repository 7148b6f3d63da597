"""Nearer predecessors: lines one and two of the rule (see routes.py), target by target, sources in vectors.

With T = Dᵀ, the entries D[i,k] of many sources i are contiguous, and so are the P[i,j] of one target j.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ....host.types import Scalar
from ..annotations import Array, Builder, Context, Intrinsic, Signature, Type, Typing, Value, Values
from ..intrinsics import kernel, one, times, zero
from ..kinds import Kind
from ..vectors import I32, I64, Vectors, compare, emit, loop, opaque
from .equality import better, emit_better, inexact, limit, rounds, tight

#: No predecessor, as in SciPy; undecided.
NONE, OPEN = -9999, -1
#: Targets per group: a cache line of A's entries.
GROUP = 16
#: Sources per group; a group ends once all are served.
LANES = 256
#: Candidates between checks that all are served.
LOOK = 4


@kernel
def best(kind: Kind, T: Array, top: Array, first: int, last: int) -> None:
    """top[i] ← the best D[i,k] over k ≠ i, for sources first … last − 1; T = Dᵀ."""
    for i in range(first, last):
        top[i] = zero(kind)
    for k in range(len(T)):
        held = first <= k < last  # top[k] is another thread's otherwise
        own = top[k] if held else zero(kind)
        for i in range(first, last):
            top[i] = T[k, i] if better(kind, T[k, i], top[i]) else top[i]
        if held:
            top[k] = own


@kernel
def nearest(
    kind: Kind, A: Array, T: Array, top: Array, P: Array, strict: bool, mirrored: bool, slack: Scalar, floor: Scalar,
    rows: Array, before: Array, heads: Array, goal: Array, least: Array, first: int, last: int,
) -> int:  # fmt: skip
    """P[i,j] for targets first … last − 1 by lines one and two of the rule; returns the number of open pairs. T = Dᵀ.

    Workspace: `rows` and `before` GROUP × n, `heads` n, `goal` and `least` LANES.
    """
    n, left = len(A), 0
    for start in range(first, last, GROUP):
        stop = min(start + GROUP, last)
        for k in range(n):
            for j in range(start, stop):
                rows[j - start, k] = A[k, j]
        for j in range(start, stop):
            a, came, d = rows[j - start], before[j - start], T[j]
            count = np.intp(0)
            for k in range(n):  # tight edges into j; those of weight `one` bring nothing nearer
                found = tight(kind, a[k], d[k], slack, floor)
                came[k] = k if found else (OPEN if d[k] != zero(kind) else NONE)
                heads[count] = k
                count += found & (k != j) & (a[k] != one(kind))
            came[j] = NONE
            if strict and count:
                for i in range(0, n, LANES):
                    serve(kind, a, heads, count, T, d, top, came, i, min(LANES, n - i), goal, least, mirrored, slack)
            for k in range(n):
                left += came[k] == OPEN
        for i in range(n):
            for j in range(start, stop):
                P[i, j] = before[j - start, i]
    return left


@intrinsic
def step(
    typing: Typing, kind: Kind, lanes: Type, T: Type, k: Type, i: Type, w: Type, goal: Type, least: Type, came: Type,
    mirrored: Type,
) -> Intrinsic:  # fmt: skip
    """came[i+x] ← k for lanes x with D[i+x,k] better than goal[x] and T[k, i+x] ⊗ w = goal[x].

    If ⊗ rounds, k is the first whose sum is at least as good, else that of the best sum better than least[x].
    """

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        if not kind.vector:
            return context.compile_internal(builder, _generic_step, signature, args)
        count, k, i, w = args[1], args[3], args[4], args[5]
        arrays = (2, T), (6, goal), (7, least), (8, came)
        matrix, *others = (_data(context, builder, t, args[index]) for index, t in arrays)
        n = _length(context, builder, T, args[2])
        row = builder.add(matrix, builder.mul(builder.add(builder.mul(k, n), i), I64(kind.itemsize)))
        numbers = builder.add(others.pop(), builder.mul(i, I64(4)))
        vectors = builder.sdiv(count, I64(kind.lanes))
        for wide, start, stop in ((kind.lanes, I64(0), vectors), (1, builder.mul(vectors, I64(kind.lanes)), count)):
            v = Vectors(builder, kind, lanes=wide)
            weight, number = v.splat(w), _splat(builder, builder.trunc(k, I32), wide)
            with loop(builder, start, stop) as x:
                offset = builder.mul(x, I64(wide * kind.itemsize))
                near, wanted, least_yet = (v.load(builder.add(base, offset)) for base in (row, *others))
                place = builder.inttoptr(builder.add(numbers, builder.mul(x, I64(4 * wide))), number.type.as_pointer())
                before = builder.load(place, align=4)
                total = emit(builder, kind.mul, near, weight)
                if rounds(kind):
                    again = builder.and_(
                        emit_better(builder, kind, total, least_yet), emit_better(builder, kind, wanted, least_yet)
                    )
                else:
                    unserved = builder.icmp_signed("==", before, ir.Constant(before.type, [OPEN] * wide))
                    again = builder.and_(compare(builder, kind, "==", total, wanted), unserved)
                taken = builder.and_(emit_better(builder, kind, near, wanted), again)
                if rounds(kind):
                    v.store(builder.select(taken, total, least_yet), builder.add(others[1], offset))
                builder.store(opaque(builder, builder.select(taken, number, before)), place, align=4)
        return context.get_dummy_value()

    return types.none(
        kind, types.intp, T, types.intp, types.intp, kind.scalar, goal, least, came, types.boolean
    ), codegen


def _generic_step(
    kind: Kind, lanes: int, T: Any, k: int, i: int, w: Any, goal: Any, least: Any, came: Any, mirrored: bool
) -> None:
    for x in range(lanes):
        if better(kind, T[k, i + x], goal[x]):
            s = times(kind, w, T[k, i + x]) if mirrored else times(kind, T[k, i + x], w)
            if inexact(kind):
                if better(kind, s, least[x]) and better(kind, goal[x], least[x]):
                    least[x], came[i + x] = s, k
            elif s == goal[x] and came[i + x] == OPEN:
                came[i + x] = k


def _data(context: Context, builder: Builder, array: Value, value: Value) -> Value:
    return builder.ptrtoint(cgutils.create_struct_proxy(array)(context, builder, value).data, I64)


def _length(context: Context, builder: Builder, array: Value, value: Value) -> Value:
    shape = cgutils.create_struct_proxy(array)(context, builder, value).shape
    return builder.extract_value(shape, array.ndim - 1)


def _splat(builder: Builder, scalar: Value, lanes: int) -> Value:
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    mask = ir.Constant(ir.VectorType(I32, lanes), None)
    return builder.shuffle_vector(builder.insert_element(undefined, scalar, I32(0)), undefined, mask)


@kernel
def serve(
    kind: Kind, a: Array, heads: Array, count: int, T: Array, d: Array, top: Array, came: Array, i: int, lanes: int,
    goal: Array, least: Array, mirrored: bool, slack: Scalar,
) -> None:  # fmt: skip
    """came[x] ← the first of `count` tight edges by which source x attains D from a better D."""
    # A source already served, or without better vertices, gets the goal `one`, which nothing beats.
    left = 0
    for x in range(lanes):
        wanted = came[i + x] == OPEN and better(kind, top[i + x], d[i + x])
        goal[x] = d[i + x] if wanted else one(kind)
        least[x] = limit(kind, d[i + x], d[i + x], slack)
        left += wanted
    for c in range(count):
        if left == 0:
            return
        k = heads[c]
        w = a[k]
        step(kind, lanes, T, k, i, w, goal, least, came, mirrored)
        if c % LOOK == LOOK - 1:
            left = 0
            for x in range(lanes):
                still = better(kind, goal[x], least[x]) if inexact(kind) else came[i + x] == OPEN
                left += still and goal[x] != one(kind)
