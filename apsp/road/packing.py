"""Lengths that carry quantities along best paths: weights w and quantities q ≥ 0 packed, w · 2ᵏ + q.

A plan asks here before any work, and a result as it begins: which quantities fit, in how many bits, which go along
predecessors and why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.conversion import conform
from semiring.algebra.units import exact
from semiring.dense.cycles import Lengths
from semiring.host.devices import host, module, to_device
from semiring.host.errors import DomainError
from semiring.host.memory import require
from semiring.host.signals import load
from semiring.host.spelling import came
from semiring.host.types import Array, Fields, Label, Scalar
from semiring.kernels.backend import device_of
from semiring.sparse.cycles import Weighted

from ..io.graph import Graph
from ..io.graph.entries import present
from . import engines
from .engines.part import as_limit
from .question import Question

#: Bits of packed lengths: in a float64, where predecessors compare exactly, within 4 eps; in an int64.
TIERS = NARROW, FLOAT, WIDE = 31, 50, 62
#: Entries unpacked at a time, within a core's cache.
TOGETHER = 1 << 14
#: Entries of a matrix looked at before all are.
SAMPLE = 1 << 12


@dataclass(frozen=True)
class Word:
    """A quantity in a packed length: multiples of `unit`, a quotient, in `bits` above `shift`, or in all above."""

    shift: int
    bits: int
    unit: tuple[float, int]
    dtype: np.dtype

    def __call__(self, D: Array, *, overwrite: bool = False) -> Array:
        """The quantity, in its dtype, its ∞ for no path; perhaps in place of the lengths."""
        place = overwrite and D.dtype.itemsize == self.dtype.itemsize
        out = D.view(self.dtype) if place else module(D).empty(D.shape, self.dtype)
        if not isinstance(D, np.ndarray):
            unpack = load("semiring.kernels.cuda.dense.lengths").unpack
            unpack(D, out, no_path(D.dtype), no_path(self.dtype), self.shift, self.bits, self.unit)
            return out
        with np.errstate(invalid="ignore"):
            for part in dtypes.chunks(D, TOGETHER):
                none = D[part] == no_path(D.dtype)
                out[part] = self._of(D[part].astype(np.int64, copy=False))
                if none.any():
                    out[part][none] = no_path(self.dtype)
        return out

    def entry(self, x: Array) -> Scalar:
        """The quantity in one entry, as `__call__`."""
        return no_path(self.dtype) if x == no_path(x.dtype) else self.dtype.type(self._of(int(x)))

    def _of(self, x: Array) -> Scalar:
        x = x >> self.shift
        x = x & ((1 << self.bits) - 1) if self.bits else x
        x = x * self.unit[0] if self.unit[0] != 1 else x
        return x / self.unit[1] if self.unit[1] != 1 else x


@dataclass(frozen=True)
class Carrying:
    """A question that answers for quantities too: `asked` of packed lengths, their words, and what a plan says.

    `words` are of the weight and of the packed quantities; empty where none is packed.
    """

    asked: Question
    words: tuple[Word, ...]
    note: str


def carrying(question: Question, weight: str, quantities: Mapping[str, np.ndarray], ordered: int) -> Carrying:
    """Pack as many of the quantities as fit, in their order, at least the first `ordered`.

    Raises ValueError for a quantity whose name answers have, DomainError if the `ordered` ones cannot be packed.
    """
    if taken := {weight, "from", "to", "path"}.intersection(quantities):  # columns of answers
        wanted = f"another name than the weight, from, to and path, got {came(taken.pop())}"
        raise ValueError(f"along: a quantity must have {wanted}. Pass a dict of names.")
    names, why, asked = list(quantities), "", question
    words: tuple[Word, ...] = ()
    for count in range(len(names), max(ordered, 1) - 1, -1):
        try:
            asked, words = packed(question, {name: quantities[name] for name in names[:count]}, weight)
            break
        except DomainError as error:
            if count == ordered:
                raise DomainError(f"{error} Else pass one weight, and the others as along=.") from None
            why = str(error)
    cut = max(0, len(words) - 1)
    note = f"; lengths carry {', '.join(map(str, names[:cut]))} in {words[0].shift} bits" if words else ""
    note += f"; {', '.join(map(str, names[cut:]))} along predecessors: {why.removeprefix('along: ')}" if why else ""
    return Carrying(asked, words, note)


def packed(question: Question, quantities: Mapping[str, Any], weight: str) -> tuple[Question, tuple[Word, ...]]:
    """The question of packed lengths, and their words; DomainError, with the reason, if they do not fit."""
    graph, s, wants, n = question.graph, question.semiring, question.wants, question.graph.n
    sums, wide = Lengths.of(s), {"int64", "float64"}.issubset(s.dtypes)
    if sums is None or sums.logarithmic or sums.sign < 0 or not wide:
        raise DomainError(f"along: packed lengths must be sums of 64 bits, with ⊕ = min, got {s.name}.")
    if wants.limits is not None or wants.on_negative_cycle != "raise" or graph.windows(s) is not None:
        raise DomainError("along: memory=, checkpoint=, output=, on_negative_cycle= and a matrix on disk go unpacked.")
    own = graph.target(s, wants.dtype)
    if own.itemsize < 8 and (wants.dtype is not None or dtypes.SCALARS[own].floating):
        raise DomainError(f"along: packed lengths need 64 bits, got {own}.")
    which: Any = slice(None)
    every, complete, here = graph.weights, False, "cpu"
    if graph.dense is not None:
        every = graph.matrix(s, wants.dtype)
        needed, hint = 8 * (8 + 2 * len(quantities)) * n * n, "Pass the graph as a list of edges."
        require(needed, device_of(every), where="along", hint=hint)
        which = there = every != dtypes.zero(s, every.dtype)
        gaps = which.size - int(np.count_nonzero(which))
        complete = gaps == n - int(np.count_nonzero(which.diagonal()))
        if complete and device_of(every) != "cpu" and bool((every >= 0).all()):
            here, gaps = device_of(every), 0
            every, quantities = _hollow(every), {name: _hollow(to_device(x, here)) for name, x in quantities.items()}
        every, there = to_device(every, here), to_device(there, here)
        which = there if gaps else slice(None)
    elif every is None:
        every = np.ones(graph.edge_count, np.int64)
    else:
        every = every if wants.dtype is None else conform(every, s, own, where=wants.where)
        which = present(every)
    given = {weight: every, **{name: to_device(x, here) for name, x in quantities.items()}}
    parts, units = zip(*(whole(x[which], n, name) for name, x in given.items()), strict=True)
    lows, highs = zip(*(map(int, dtypes.hull(part, ())) for part in parts), strict=True)
    if few := [name for name, low in zip(quantities, lows[1:], strict=True) if low < 0]:
        raise DomainError(f"along: {came(few[0])} must be at least 0 to be packed, got {quantities[few[0]].min()}.")
    loopless = complete and lows[0] >= 0
    if loopless:  # no vertex is farther than its edge, and no best path has a loop
        square = here == "cpu" and parts[0].ndim == 2  # those of a device have no diagonal
        inner = [x.ravel()[1:].reshape(n - 1, n + 1)[:, :-1] for x in parts] if square else parts
        tops = [int(dtypes.hull(x, ())[1]) for x in inner] if square else highs
        bounds = [high * (n if k else 1) for k, high in enumerate(tops)]
        sample = [host(x[:: 1 + x.size // SAMPLE]) for x in inner]
        near = _closer(bounds, sample, bounds[0])
        least, most = (sum(_values(x) >> bits > 0 for bits in TIERS) for x in (near, bounds))
        if least < most or most == len(TIERS):
            bounds = _closer(bounds, inner, bounds[0])
    else:
        ends = [np.asarray(x)[which] for x in (graph.rows, graph.cols)] if graph.dense is None else np.nonzero(there)
        bounds = _bounds(ends, parts, n, graph.directed)
    widths = [max(1, bound.bit_length()) for bound in bounds]
    shifts = list(accumulate(reversed(widths[1:]), initial=0))[::-1]
    top, heaviest = ((most + 1) << shifts[0] for most in (bounds[0], max(highs[0], -lows[0])))
    room, needed = FLOAT if wants.dtype is not None and dtypes.SCALARS[own].floating else WIDE, max(top, heaviest)
    if (over := needed.bit_length() - room) > 0:
        k = 0 if widths[0] > over + 1 else int(np.argmax(widths))
        unit = 10.0 ** math.ceil(math.log10(units[k][0] / units[k][1]) + (over + 1) * math.log10(2))
        raise DomainError(
            f"along: {', '.join(map(came, given))} must fit {room} bits of a length, got {needed.bit_length()}. "
            f"Count {came(list(given)[k])} in units of {unit:g}: (x / {unit:g}).round()."
        )
    floats = 1 << NARROW <= top < 1 << FLOAT
    narrow = graph.dense is not None and lows[0] >= 0 and not max(top, heaviest) >> NARROW  # of a list, it is proven
    packed = module(parts[0]).empty(parts[0].shape, np.float64 if floats else np.int32 if narrow else np.int64)
    for chunk in dtypes.chunks(packed, TOGETHER):
        total = packed[chunk]
        for k, (part, shift) in enumerate(zip(parts, shifts, strict=True)):
            x = part[chunk] * 2.0**shift if floats else part[chunk].astype(np.int64, copy=False) << shift
            np.add(total, x, out=total, casting="same_kind") if k else np.copyto(total, x, casting="same_kind")
    if packed.shape != every.shape or isinstance(which, np.ndarray):
        total, packed = packed, np.full(every.shape, no_path(packed.dtype))
        packed[which] = total
    if loopless:
        np.fill_diagonal(packed, 0)
    kind = own if dtypes.SCALARS[own].integer else np.dtype(np.float64)
    kinds = [kind, *(q.dtype for q in quantities.values())]
    words = tuple(map(Word, shifts, [0, *widths[1:]], units, kinds))
    weights: Fields = {"weights": packed}
    if graph.dense is not None:
        weights = {"dense": to_device(packed, device_of(graph.dense)), "nulls": (), "unit": False}
    posed = Graph(**{name: getattr(graph, name) for name in Graph.__dataclass_fields__} | weights)
    limit = wants.limit
    if limit is not None and math.isfinite(bound := as_limit(limit)):
        most = math.floor(bound if units[0] == (1, 1) else bound * units[0][1] / units[0][0] + 1)
        most -= sum((most - k) * units[0][0] / units[0][1] > bound for k in range(2))
        limit = ((most + 1) << shifts[0]) - 1
    asked = Question(posed, s, replace(wants, dtype=None, limit=limit, like=None))
    if wants.engine in engines.names() and (no := engines.get(wants.engine).refuses(asked)):
        raise DomainError(f"along: engine={came(wants.engine)} {no}.")
    return asked, words


def _bounds(ends: Sequence[Label], parts: tuple[np.ndarray, ...], n: int, directed: bool) -> list[int]:
    """Bounds on the sums of weights, and of quantities, along a best path: the largest on an edge from each vertex."""
    ways = 1 if directed else 2
    both = [np.concatenate((x, y)[:ways]) for x, y in (ends, ends[::-1])]
    flat = [np.minimum(x.ravel(), no_path(np.dtype(np.int64)) - 1).astype(np.int64) for x in parts]
    arcs = [Weighted(both[0], both[1], np.tile(x, ways), n, get("min_plus")) for x in flat]
    found = [int(x.longest) for x in arcs]
    return _closer(found, parts, arcs[0].farthest()[0]) if _values(found) >> FLOAT else found


def _hollow(x: Array) -> Array:
    """A copy with 0 on the diagonal."""
    x = x.copy()
    np.fill_diagonal(x, 0)
    return x


def _values(bounds: Sequence[int]) -> int:
    """The number of values up to these bounds, packed."""
    return math.prod(x + 1 for x in bounds)


def _closer(bounds: list[int], parts: Sequence[Array], far: float) -> list[int]:
    """Bounds from a diameter bound `far`: `far` times the largest rate per unit weight, plus all at zero weight."""
    if not math.isfinite(far):
        return bounds
    weights, far = parts[0], far * (1 + 2.0**-40)
    sums = [math.ceil(far)]
    for part in parts[1:]:
        most, free = 0.0, 0
        for here in dtypes.chunks(weights, TOGETHER):
            with np.errstate(divide="ignore", invalid="ignore"):
                rates = part[here] / weights[here]
            if (none := weights[here] == 0).any():
                free += int((part[here] * none).sum())
                rates = module(rates).where(none, 0, rates)
            most = max(most, float(rates.max()))
        sums.append(math.ceil(most * far) + free)
    return list(map(min, bounds, sums))


def whole(values: Array, n: int, name: Any) -> tuple[Array, tuple[float, int]]:
    """Values as integers, in int64 or float64, times a unit or a decimal one; DomainError if they have none."""
    if values.dtype.kind in "bi":
        return values.astype(np.int64, copy=False), (1, 1)
    flat, numpys = values.ravel(), isinstance(values, np.ndarray)
    longest, some = float(max(map(abs, dtypes.hull(flat, ())))), host(flat[:SAMPLE])
    if math.isfinite(longest):
        if not some.any() or exact(some, n, longest=longest) is not None:  # else all have no unit either
            plain = not numpys and bool((flat == np.floor(flat)).all()) and np.gcd.reduce(some.astype(np.int64)) == 1
            found = flat if plain else exact(host(flat), n, longest=longest)
            if found is not None:
                unit = 1.0 if plain or found is flat else float(longest / np.abs(found).max())
                return (found if numpys else module(values).asarray(found)).reshape(values.shape), (unit, 1)
        for over in (10**k for k in range(13)):
            if all((np.rint(x * over) / over == x).all() for x in (some, flat)) and longest * over < 2.0**53:
                return np.rint(values * over).astype(np.int64), (1, over)
        digits = 5 - math.floor(math.log10(longest))
        way = f"Round it: x.round({digits})" if abs(digits) < 13 else "Choose a unit nearer to them"
        raise DomainError(
            f"along: {came(name)} must be multiples of a unit to be packed, got floats without one. {way}."
        )
    raise DomainError(f"along: {came(name)} must be finite to be packed, got {came(longest)}.")


@cache
def no_path(dtype: np.dtype) -> Scalar:
    return dtypes.zero(get("min_plus"), dtype)
