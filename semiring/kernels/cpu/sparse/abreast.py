"""Partial elimination of a dense front, in blocks K of pivots:

    R ← P A_K·  with  P = A_KK*  in the columns K          `pivots`, the rows K alone
    A ← A ⊕ C R  with  C = A_·K,  C P in the columns K     `others`, on all other rows

(Lehmann 1977, section 4, by blocks.) Nothing is packed: a pass eliminates ABREAST pivots from ABREAST rows, and holds
the factors of C in registers while the rows stream.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..instructions import Builder, Int, Value, instruction
from ..intrinsics import call, clear, copy, itemsize, kernel, load, part, row, star, store, times
from ..kinds import Kind, imaged
from ..vectors import I64, Vectors, loop

#: Pivots per block, whose rows stay in a core's private cache.
BLOCK = 64
#: Pivots, and rows, per pass.
ABREAST = 4
#: Bytes of pivot rows per cached piece; longer rows are split.
NEAR = 1 << 17


def _together(kind: Kind) -> int:
    """Pivots, and rows, per pass: several if it is bound by loads and stores."""
    return ABREAST if kind.vector and kind.add != "logaddexp" else 1


@instruction
def _abreast(builder: Builder, kind: Kind) -> Int:
    return I64(_together(kind))


@instruction
def _rank(
    builder: Builder, kind: Kind, depth: Int, start: Int, stop: Int, pitch: Int, front: Int, k: Int, work: Int
) -> None:
    """A[i,·] ← A[i,·] ⊕ C[i,·] R for start ≤ i < stop, with K the `depth` vertices from k on, C = A_·K, R = A_K·.

    The columns K of A are zeroed first, so that they become C R. C goes to `work`, row by row.
    """
    size, wide, many = I64(kind.itemsize), builder.mul(pitch, I64(kind.itemsize)), _together(kind)
    top, R = _line(builder, front, wide, start), _line(builder, front, wide, k)
    C, aside = _line(builder, top, size, k), builder.mul(depth, size)
    count = builder.sub(stop, start)
    with loop(builder, I64(0), count) as i:
        _move(builder, kind, depth, _line(builder, C, wide, i), _line(builder, work, aside, i))
    v = Vectors(builder, kind, image=kind.image == "same")
    near = NEAR // (BLOCK * kind.lanes * kind.itemsize)
    for begin, end in _pieces(builder, builder.sdiv(pitch, I64(kind.lanes)), near):
        for rows, i in _groups(builder, count, many):
            A, factors = _line(builder, top, wide, i), _line(builder, work, aside, i)
            for pivots, q in _groups(builder, depth, many):
                c, r = _line(builder, factors, size, q), _line(builder, R, wide, q)
                _pass(builder, v, (rows, pivots), (A, wide), (c, aside), (r, wide), begin, end)


def _line(builder: Builder, address: Value, pitch: Value, i: Value) -> Value:
    return builder.add(address, builder.mul(pitch, i))


def _groups(builder: Builder, total: Value, many: int = ABREAST) -> Iterator[tuple[int, Value]]:
    """Loop over range(total), `many` at a time, then singly: yields (count, i)."""
    first: Value = I64(0)
    if many > 1:
        groups = builder.sdiv(total, I64(many))
        with loop(builder, I64(0), groups) as group:
            yield many, builder.mul(group, I64(many))
        first = builder.mul(groups, I64(many))
    with loop(builder, first, total) as i:
        yield 1, i


def _pieces(builder: Builder, total: Value, most: int) -> Iterator[tuple[Value, Value]]:
    with loop(builder, I64(0), builder.sdiv(builder.add(total, I64(most - 1)), I64(most))) as piece:
        start = builder.mul(piece, I64(most))
        stop = builder.add(start, I64(most))
        yield start, builder.select(builder.icmp_signed("<", stop, total), stop, total)


def _move(builder: Builder, kind: Kind, count: Value, source: Value, target: Value) -> None:
    """Move `count` contiguous entries, leaving 0."""
    for lanes, k in _groups(builder, count):
        v, size = Vectors(builder, kind, lanes=lanes), I64(kind.itemsize)
        here = _line(builder, source, size, k)
        v.store(v.load(here), _line(builder, target, size, k))
        v.store(v.zero(), here)


def _pass(
    builder: Builder, v: Vectors, shape: tuple[int, int], A: tuple[Value, Value], C: tuple[Value, Value],
    R: tuple[Value, Value], begin: Value, end: Value,
) -> None:  # fmt: skip
    """A ← A ⊕ C R on vectors begin … end of each row, shape (rows, pivots); matrices are (address, row stride)."""
    rows, pivots = shape
    lines = [_line(builder, *C, I64(x)) for x in range(rows)]
    factors = [[v.splat(v.load(c, q * v.kind.itemsize, type=v.type.element)) for q in range(pivots)] for c in lines]
    targets, sources = ([_line(builder, *X, I64(x)) for x in range(n)] for X, n in ((A, rows), (R, pivots)))
    with loop(builder, begin, end) as j:
        offset = builder.mul(j, I64(v.kind.lanes * v.kind.itemsize))
        loaded = [v.load(builder.add(source, offset)) for source in sources]
        for target, c in zip(targets, factors, strict=True):
            here = builder.add(target, offset)
            value = v.load(here)
            for factor, r in zip(c, loaded, strict=True):
                value = v.step(value, factor, r)
            v.store(value, here)


@part
def _pivot(kind: Kind, k: int, start: int, stop: int, pitch: int, front: int, work: int) -> None:
    """Eliminate vertex k from rows start … stop − 1, k included: one step of `dense.pivot`."""
    size = itemsize(kind)
    wide = pitch * size
    here = front + k * wide
    s = star(kind, load(kind, here + k * size))
    clear(kind, pitch, work)
    row(kind, pitch, work, s, here)  # R = s ⊗ A[k,·]
    store(kind, work + k * size, s)
    for i in range(start, stop):
        if i != k:
            other = front + i * wide
            c = load(kind, other + k * size)
            row(kind, pitch, other, c, work)
            store(kind, other + k * size, times(kind, c, s))
    copy(kind, pitch, work, here)


@kernel
def pivots(kind: Kind, others: int, k: int, stop: int, pitch: int, front: int, work: int) -> None:
    """R ← P A_K·, with P = A_KK* in the columns K, for the vertices K = k … stop − 1 of a front.

    A few at a time are eliminated from one another, then from the other rows of K by the kernel at address `others`.
    Rows of the front are `pitch` entries apart; `work` holds one of them, and K × K entries.
    """
    abreast = _abreast(kind)
    q = k
    while q < stop:
        together = 1 < abreast <= stop - q
        end = q + abreast if together else q + 1
        first, last = (q, end) if together else (k, stop)
        for p in range(q, end):
            _pivot(kind, p, first, last, pitch, front, work)
        if k < first:
            call(kind, others, (q, end - q, k, first, pitch, front, work))
        if last < stop:
            call(kind, others, (q, end - q, last, stop, pitch, front, work))
        q = end


@imaged
@kernel
def others(kind: Kind, k: int, depth: int, start: int, stop: int, pitch: int, front: int, work: int) -> None:
    """A ← A ⊕ C R on rows start … stop − 1, and C P in the columns K of the `depth` vertices from k on; see `pivots`.

    `work` holds (stop − start) × K entries.
    """
    _rank(kind, depth, start, stop, pitch, front, k, work)
