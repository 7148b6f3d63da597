"""Nearer predecessors: lines one and two of the rule (see routes.py), target by target, sources in vectors.

With T = Dᵀ, the entries D[i,k] of many sources i are contiguous, and so are the P[i,j] of one target j.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from ....host.types import Scalar
from ..instructions import Array, Builder, Entry, Flag, Int, instruction
from ..intrinsics import kernel, one, zero
from ..kinds import Kind
from ..vectors import I32, I64, Vectors, compare, lanes_of, loop, opaque, splat
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


@instruction
def step(
    builder: Builder, kind: Kind, count: Int, T: Int, n: Int, k: Int, i: Int, w: Entry, goal: Int, least: Int,
    came: Int, mirrored: Flag,
) -> None:  # fmt: skip
    """came[i+x] ← k for `count` lanes x with D[i+x,k] better than goal[x] and T[k, i+x] ⊗ w = goal[x].

    If ⊗ rounds, k is the first whose sum is at least as good, else that of the best sum better than least[x].
    """
    row = builder.add(T, builder.mul(builder.add(builder.mul(k, n), i), I64(kind.itemsize)))
    numbers, loops = builder.add(came, builder.mul(i, I64(4))), lanes_of(builder, kind, count)
    for wide, start, stop in loops:
        v = Vectors(builder, kind, lanes=wide)
        v.swapped = mirrored
        weight, number = v.splat(w), splat(builder, builder.trunc(k, I32), wide)
        with loop(builder, start, stop) as x:
            offset = builder.mul(x, I64(wide * kind.itemsize))
            near, wanted, least_yet = (v.load(builder.add(base, offset)) for base in (row, goal, least))
            place = builder.inttoptr(builder.add(numbers, builder.mul(x, I64(4 * wide))), number.type.as_pointer())
            before = builder.load(place, align=4)
            total = v.times(near, weight)
            if rounds(kind):
                again = builder.and_(
                    emit_better(builder, kind, total, least_yet), emit_better(builder, kind, wanted, least_yet)
                )
            else:
                unserved = builder.icmp_signed("==", before, ir.Constant(before.type, [OPEN] * wide))
                again = builder.and_(compare(builder, kind, "==", total, wanted), unserved)
            taken = builder.and_(emit_better(builder, kind, near, wanted), again)
            if rounds(kind):
                v.store(builder.select(taken, total, least_yet), builder.add(least, offset))
            builder.store(opaque(builder, builder.select(taken, number, before)), place, align=4)


@kernel
def serve(
    kind: Kind, a: Array, heads: Array, count: int, T: Array, d: Array, top: Array, came: Array, i: int, lanes: int,
    goal: Array, least: Array, mirrored: bool, slack: Scalar,
) -> None:  # fmt: skip
    """came[x] ← the first of `count` tight edges by which source x attains D from a better D."""
    # A source already served, or without better vertices, gets the goal `one`, which nothing beats.
    matrix, numbers, left = T.ctypes.data, came.ctypes.data, 0
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
        step(kind, lanes, matrix, len(d), k, i, w, goal.ctypes.data, least.ctypes.data, numbers, mirrored)
        if c % LOOK == LOOK - 1:
            left = 0
            for x in range(lanes):
                still = better(kind, goal[x], least[x]) if inexact(kind) else came[i + x] == OPEN
                left += still and goal[x] != one(kind)
