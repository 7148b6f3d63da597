"""Fronts: assembled from arcs and from the updates of children, eliminated, and taken apart into panels.

A front of supernode s is a dense matrix on its columns C and rows R. Eliminating C leaves

    [[D, U], [L, A_RR ⊕ L A_CR]]   with   D = A_CC*,  U = D ⊗ A_CR,  L = A_RC ⊗ D

(Duff and Reid 1983, "The multifrontal solution of indefinite sparse symmetric linear equations"). The panels hold
[D; L] and [D U]ᵀ; what is left at R is the update for the parent. A panel of (w + r) × w entries lies in strips of
STRIP columns, row by row, the last strip as narrow as it is.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .vectors import I32, I64, Vectors, loop
from .words import call, itemsize, kernel, load, part, plus, row, star, store, times, zero

#: Columns of a panel that lie together: what one tile of a sweep computes.
STRIP = 4
#: Fewer entries side by side are added one by one.
SHORT = 8
#: Fronts of more bytes than this are eliminated in blocks, smaller ones pivot by pivot.
NEAR = 1 << 17
#: The pivot block of larger fronts.
STEP = 64


@intrinsic
def lanes(typing: Any, kind: Any) -> Any:
    """Entries of a vector, a constant; 1 where there is no vector code."""
    count = kind.lanes if kind.vector else 1
    return types.intp(kind), lambda context, builder, signature, args: I64(count)


@intrinsic
def one(typing: Any, kind: Any) -> Any:
    """The semiring's 1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(kind.scalar, kind.one)

    return kind.scalar(kind), codegen


@intrinsic
def clear(typing: Any, kind: Any, count: Any, target: Any) -> Any:
    """`count` entries become 0; where there is vector code, in whole vectors, as many as it takes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _clear_generic, signature, args)
        v = Vectors(builder, kind)
        with loop(builder, I64(0), _vectors(builder, kind, args[1])) as j:
            v.store(v.zero(), builder.add(args[2], builder.mul(j, I64(kind.tile.width))))
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp), codegen


@intrinsic
def copy(typing: Any, kind: Any, count: Any, source: Any, target: Any) -> Any:
    """`count` entries from one place to another; where there is vector code, in whole vectors."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _copy_generic, signature, args)
        v = Vectors(builder, kind)
        with loop(builder, I64(0), _vectors(builder, kind, args[1])) as j:
            offset = builder.mul(j, I64(kind.tile.width))
            v.store(v.load(builder.add(args[2], offset)), builder.add(args[3], offset))
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp, types.intp), codegen


def _vectors(builder: Any, kind: Any, count: Any) -> Any:
    return builder.sdiv(builder.add(count, I64(kind.lanes - 1)), I64(kind.lanes))


def _clear_generic(kind: Any, count: int, target: int) -> None:
    for j in range(count):
        store(kind, target + j * itemsize(kind), zero(kind))


def _copy_generic(kind: Any, count: int, source: int, target: int) -> None:
    for j in range(count):
        store(kind, target + j * itemsize(kind), load(kind, source + j * itemsize(kind)))


@part
def pitch_of(kind: Any, m: int) -> int:
    """Entries from one row of a front to the next: whole vectors."""
    return -(-m // lanes(kind)) * lanes(kind)


@intrinsic
def strip_down(typing: Any, kind: Any, m: Any, source: Any, row: Any, target: Any) -> Any:
    """STRIP entries of each of m rows, one after the other."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, m, source, row, target = args
        v = Vectors(builder, kind, lanes=STRIP)
        with loop(builder, I64(0), m) as i:
            x = v.load(builder.add(source, builder.mul(i, row)))
            v.store(x, builder.add(target, builder.mul(i, I64(STRIP * kind.itemsize))))
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 4), codegen


@intrinsic
def strip_across(typing: Any, kind: Any, m: Any, source: Any, row: Any, target: Any) -> Any:
    """STRIP rows of m entries, transposed; m is a multiple of STRIP."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, m, source, row, target = args
        v, size = Vectors(builder, kind, lanes=STRIP), kind.itemsize
        with loop(builder, I64(0), builder.sdiv(m, I64(STRIP))) as i:
            here = builder.add(source, builder.mul(i, I64(STRIP * size)))
            there = builder.add(target, builder.mul(i, I64(STRIP * STRIP * size)))
            rows = [v.load(builder.add(here, builder.mul(row, I64(k)))) for k in range(STRIP)]
            for k, column in enumerate(transposed(builder, rows)):
                v.store(column, there, k * STRIP * size)
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 4), codegen


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """A square of vectors, transposed: squares off the diagonal change places, the larger the later."""
    rows, count, distance = list(rows), len(rows), 1
    while distance < count:
        for i in range(count):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                low = [j if not j & distance else count + j - distance for j in range(count)]
                high = [j + distance if not j & distance else count + j for j in range(count)]
                for at, mask in ((i, low), (i + distance, high)):
                    rows[at] = builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, count), mask))
        distance *= 2
    return rows


@part
def extend(kind: Any, r: int, low: int, local: Any, update: int, front: int, wide: int, unit: Any) -> None:
    """F[local, local] ← F[local, local] ⊕ the update of a child, its r rows at local[low] …"""
    size = itemsize(kind)
    j = 0
    while j < r:  # columns that stay side by side are met together
        k = j + 1
        while k < r and local[low + k] == local[low + k - 1] + 1:
            k += 1
        to, source = front + local[low + j] * size, update + j * size
        if k - j >= SHORT:
            for i in range(r):
                row(kind, k - j, to + local[low + i] * wide, unit, source + i * r * size)
        else:
            for i in range(r):
                for q in range(k - j):
                    at = to + local[low + i] * wide + q * size
                    store(kind, at, plus(kind, load(kind, at), load(kind, source + (i * r + q) * size)))
        j = k


@part
def assemble(
    kind: Any, s: int, first: Any, begin: Any, local: Any, child: Any, sibling: Any, where: Any,
    arcs: Any, arc: Any, arc_row: Any, arc_col: Any, weights: int, front: int,
) -> None:  # fmt: skip
    """The front of supernode s: arcs and the children's updates, each once, met by ⊕."""
    size = itemsize(kind)
    m = first[s + 1] - first[s] + begin[s + 1] - begin[s]
    wide = pitch_of(kind, m) * size
    unit = one(kind)
    clear(kind, m * pitch_of(kind, m), front)
    for a in range(arcs[s], arcs[s + 1]):
        to = front + arc_row[a] * wide + arc_col[a] * size
        store(kind, to, plus(kind, load(kind, to), load(kind, weights + arc[a] * size)))
    c = child[s]
    while c >= 0:
        extend(kind, begin[c + 1] - begin[c], begin[c], local, where[c], front, wide, unit)
        c = sibling[c]


@part
def pivots(kind: Any, w: int, m: int, front: int, work: int) -> None:
    """Eliminate the first w vertices of a front one after the other; see `pivot`, of which this is the first part."""
    size, pitch = itemsize(kind), pitch_of(kind, m)
    wide = pitch * size
    for k in range(w):
        here = front + k * wide
        s = star(kind, load(kind, here + k * size))
        clear(kind, pitch, work)
        row(kind, pitch, work, s, here)  # R = s ⊗ A[k,·]
        store(kind, work + k * size, s)
        for i in range(m):
            if i != k:
                there = front + i * wide
                c = load(kind, there + k * size)
                row(kind, pitch, there, c, work)
                store(kind, there + k * size, times(kind, c, s))
        copy(kind, pitch, work, here)


@part
def take_apart(kind: Any, w: int, m: int, front: int, lower: int, upper: int, update: int) -> None:
    """[D; L] and [D U]ᵀ, in strips, and the update."""
    size, wide, r = itemsize(kind), pitch_of(kind, m) * itemsize(kind), m - w
    for j in range(0, w, STRIP):
        columns = min(STRIP, w - j)
        done_lower = done_upper = 0
        if columns == STRIP and lanes(kind) >= STRIP:
            done_lower, done_upper = m, m // STRIP * STRIP
            strip_down(kind, m, front + j * size, wide, lower + j * m * size)
            strip_across(kind, done_upper, front + j * wide, wide, upper + j * m * size)
        for k in range(columns):
            for i in range(done_lower, m):
                store(kind, lower + (j * m + i * columns + k) * size, load(kind, front + i * wide + (j + k) * size))
            for i in range(done_upper, m):
                store(kind, upper + (j * m + i * columns + k) * size, load(kind, front + (j + k) * wide + i * size))
    for i in range(r):  # in whole vectors: what is too much of a row, the next one overwrites
        copy(kind, r, front + (w + i) * wide + w * size, update + i * r * size)


@kernel
def gather(
    kind: Any, s: int, first: Any, begin: Any, local: Any, child: Any, sibling: Any, where: Any,
    arcs: Any, arc: Any, arc_row: Any, arc_col: Any, weights: int, front: int,
) -> None:  # fmt: skip
    """One front, to be eliminated by others."""
    assemble(kind, s, first, begin, local, child, sibling, where, arcs, arc, arc_row, arc_col, weights, front)


@kernel
def scatter(kind: Any, w: int, m: int, front: int, lower: int, upper: int, update: int) -> None:
    """One front that was eliminated by others."""
    take_apart(kind, w, m, front, lower, upper, update)


@kernel
def eliminate(
    kind: Any, closure: int, pack: int, block: int, start: int, stop: int,
    first: Any, begin: Any, local: Any, child: Any, sibling: Any, where: Any, panel: Any,
    arcs: Any, arc: Any, arc_row: Any, arc_col: Any, weights: int, lower: int, upper: int, front: int, work: int,
) -> None:  # fmt: skip
    """Supernodes start … stop, in that order; where[s] is the address at which the update of each is put.

    `closure`, `pack` and `block` are the addresses of the kernels of that name.
    """
    size = itemsize(kind)
    for s in range(start, stop):
        w = first[s + 1] - first[s]
        m = w + begin[s + 1] - begin[s]
        wide = pitch_of(kind, m) * size
        assemble(kind, s, first, begin, local, child, sibling, where, arcs, arc, arc_row, arc_col, weights, front)
        if m * wide <= NEAR or w < STRIP:
            pivots(kind, w, m, front, work)
        else:
            call(kind, closure, (pack, block, STEP, w, m, front, wide, size, work))
        take_apart(kind, w, m, front, lower + panel[s] * size, upper + panel[s] * size, where[s])
