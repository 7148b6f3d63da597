"""Fronts: assembled from arcs and from the updates of children, eliminated, and taken apart into panels.

A front of supernode s is a dense matrix on its columns C and rows R. Eliminating C leaves

    [[D, U], [L, A_RR ⊕ L A_CR]]   with   D = A_CC*,  U = D ⊗ A_CR,  L = A_RC ⊗ D

(Duff and Reid 1983, "The multifrontal solution of indefinite sparse symmetric linear equations"). The panels hold
[D; L] and [D U]ᵀ; what is left at R is the update for the parent. A panel of (w + r) × w entries lies in strips of
STRIP columns, row by row, the last strip as narrow as it is.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from .intrinsics import clear, copy, itemsize, jump, kernel, load, part, plus, row, short, star, store, times, zero
from .strips import STRIP
from .vectors import I64, Vectors, emit, loop

#: Fronts of more bytes than this are eliminated in blocks, smaller ones pivot by pivot.
NEAR = 1 << 18
#: The pivot block of larger fronts.
STEP = 64
#: So many pivots of smaller fronts are eliminated from a row in one pass over it.
ABREAST = 4


# For each kind, called by address


@intrinsic
def _met(typing: Any, kind: Any, count: Any, target: Any, source: Any) -> Any:
    """target[j] ← target[j] ⊕ source[j] for `count` entries side by side."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _met_generic, signature, args)
        _, count, target, source = args
        whole = builder.sdiv(count, I64(kind.lanes))
        rest = builder.mul(whole, I64(kind.lanes))
        for lanes, start, stop in ((kind.lanes, I64(0), whole), (1, rest, count)):
            v = Vectors(builder, kind, lanes=lanes)
            with loop(builder, start, stop) as j:
                offset = builder.mul(j, I64(lanes * kind.itemsize))
                here = builder.add(target, offset)
                v.store(emit(builder, kind.add, v.load(here), v.load(builder.add(source, offset))), here)
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp, types.intp), codegen


def _met_generic(kind: Any, count: int, target: int, source: int) -> None:
    size = itemsize(kind)
    for j in range(count):
        store(kind, target + j * size, plus(kind, load(kind, target + j * size), load(kind, source + j * size)))


@kernel
def extend(kind: Any, r: int, columns: int, local: int, front: int, wide: int, update: int) -> None:
    """Rows local[i] of a front meet those of an update, for so many columns side by side.

    `local` is the address of r short integers; `front` and `update` are those of the first column, whose rows are
    `wide` bytes and r entries apart.
    """
    size = itemsize(kind)
    for i in range(r):
        _met(kind, columns, front + short(local, i) * wide, update + i * r * size)


@kernel
def place(kind: Any, start: int, stop: int, arc_row: int, arc_col: int, weights: int, front: int, wide: int) -> None:
    """The weights of arcs start … stop meet in a front, each at its row and column."""
    size = itemsize(kind)
    for a in range(start, stop):
        to = front + short(arc_row, a) * wide + short(arc_col, a) * size
        store(kind, to, plus(kind, load(kind, to), load(kind, weights + a * size)))


@intrinsic
def _abreast(typing: Any, kind: Any) -> Any:
    """How many pivots are eliminated from a row in one pass over it, a constant: 1 where ⊕ is many instructions."""
    count = ABREAST if kind.vector and kind.add != "logaddexp" else 1
    return types.intp(kind), lambda context, builder, signature, args: I64(count)


@intrinsic
def _pass(typing: Any, kind: Any, count: Any, target: Any, a: Any, r: Any, wide: Any) -> Any:
    """target[j] ← target[j] ⊕ a[0] ⊗ R[0, j] ⊕ a[1] ⊗ R[1, j] ⊕ …; rows of R are `wide` bytes apart, whole vectors."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector or kind.add == "logaddexp":
            return context.get_dummy_value()
        _, count, target, a, r, wide = args
        v = Vectors(builder, kind)
        factors = [v.splat(v.load(a, k * kind.itemsize, type=v.type.element)) for k in range(ABREAST)]
        rows = [builder.add(r, builder.mul(wide, I64(k))) for k in range(ABREAST)]
        with loop(builder, I64(0), builder.sdiv(count, I64(kind.lanes))) as j:
            offset = builder.mul(j, I64(kind.tile.width))
            here = builder.add(target, offset)
            value = v.load(here)
            for factor, start in zip(factors, rows, strict=True):
                value = v.step(value, factor, v.load(builder.add(start, offset)))
            v.store(value, here)
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 5), codegen


@part
def _pivot(kind: Any, k: int, start: int, stop: int, pitch: int, front: int, work: int) -> None:
    """Eliminate vertex k from rows start … stop, its own among them; see `pivot`, of which this is one step."""
    size = itemsize(kind)
    wide = pitch * size
    here = front + k * wide
    s = star(kind, load(kind, here + k * size))
    clear(kind, pitch, work)
    row(kind, pitch, work, s, here)  # R = s ⊗ A[k,·]
    store(kind, work + k * size, s)
    for i in range(start, stop):
        if i != k:
            there = front + i * wide
            c = load(kind, there + k * size)
            row(kind, pitch, there, c, work)
            store(kind, there + k * size, times(kind, c, s))
    copy(kind, pitch, work, here)


@kernel
def pivots(kind: Any, w: int, m: int, pitch: int, front: int, work: int) -> None:
    """Eliminate the first w vertices of a front, some at a time: P = A_KK*, R = P A_K·, and then on the other rows

        A ← A ⊕ C R   with C = A_·K, whose columns become C P

    Rows of the front are `pitch` entries apart; `work` has room for `ABREAST` of them.
    """
    size, abreast = itemsize(kind), _abreast(kind)
    wide = pitch * size
    k = 0
    while k < w:
        some = abreast > 1 and k + ABREAST <= w
        start, stop = (k, k + ABREAST) if some else (0, m)
        for p in range(k, k + ABREAST if some else k + 1):  # the rows K become R, P in the columns K
            _pivot(kind, p, start, stop, pitch, front, work)
        if not some:
            k += 1
            continue
        for i in range(m):  # C goes aside, and 0 in its place: so C R puts C P there
            for p in range(ABREAST):
                store(kind, work + (i * ABREAST + p) * size, load(kind, front + i * wide + (k + p) * size))
            if i < k or i >= k + ABREAST:
                for p in range(ABREAST):
                    store(kind, front + i * wide + (k + p) * size, zero(kind))
        for i in range(m):
            if i < k or i >= k + ABREAST:
                _pass(kind, pitch, front + i * wide, work + i * ABREAST * size, front + k * wide, wide)
        k += ABREAST


# For all kinds: `steps` holds the addresses of what knows one.

FILL, PLACE, EXTEND, PIVOTS, APART, CLOSURE, PACK, BLOCK = range(8)


@part
def pitch_of(m: int, lanes: int) -> int:
    """Entries from one row of a front to the next: whole vectors. The number of lanes is a power of two."""
    return (m + lanes - 1) & -lanes


@part
def assemble(
    steps: Any, size: int, lanes: int, s: int, first: Any, begin: Any, local: Any, child: Any, sibling: Any,
    where: Any, arcs: Any, arc_row: Any, arc_col: Any, weights: int, front: int,
) -> None:  # fmt: skip
    """The front of supernode s: arcs and the children's updates, each once, met by ⊕."""
    m = first[s + 1] - first[s] + begin[s + 1] - begin[s]
    pitch = pitch_of(m, lanes)
    wide = pitch * size
    jump(steps[FILL], (m * pitch, front, -1))
    jump(
        steps[PLACE],
        (arcs[s], arcs[s + 1], arc_row.ctypes.data, arc_col.ctypes.data, weights, front, wide),
    )
    c = child[s]
    while c >= 0:
        low, r, j = begin[c], begin[c + 1] - begin[c], 0
        while j < r:  # columns that stay side by side are met together
            k = j + 1
            while k < r and local[low + k] == local[low + k - 1] + 1:
                k += 1
            to, source = front + local[low + j] * size, where[c] + j * size
            jump(steps[EXTEND], (r, k - j, local.ctypes.data + 4 * low, to, wide, source))
            j = k
        c = sibling[c]


@kernel
def gather(
    steps: Any, size: int, lanes: int, s: int, first: Any, begin: Any, local: Any, child: Any, sibling: Any,
    where: Any, arcs: Any, arc_row: Any, arc_col: Any, weights: int, front: int,
) -> None:  # fmt: skip
    """One front, to be eliminated by others."""
    assemble(steps, size, lanes, s, first, begin, local, child, sibling, where, arcs, arc_row, arc_col, weights, front)


@kernel
def eliminate(
    steps: Any, size: int, lanes: int, start: int, stop: int, first: Any, begin: Any, local: Any, child: Any,
    sibling: Any, where: Any, panel: Any, arcs: Any, arc_row: Any, arc_col: Any, weights: int, lower: int,
    upper: int, front: int, work: int,
) -> None:  # fmt: skip
    """Supernodes start … stop, in that order; where[s] is the address at which the update of each is put."""
    for s in range(start, stop):
        w = first[s + 1] - first[s]
        m = w + begin[s + 1] - begin[s]
        pitch = pitch_of(m, lanes)
        wide = pitch * size
        assemble(
            steps, size, lanes, s, first, begin, local, child, sibling, where, arcs, arc_row, arc_col, weights,
            front,
        )  # fmt: skip
        if m * wide <= NEAR or w < STRIP:
            jump(steps[PIVOTS], (w, m, pitch, front, work))
        else:
            jump(steps[CLOSURE], (steps[PACK], steps[BLOCK], STEP, w, m, front, wide, size, work))
        jump(
            steps[APART],
            (lanes > 1, w, m, front, wide, lower + panel[s] * size, upper + panel[s] * size, where[s]),
        )
