"""Einsum: parsing of subscripts, contraction order, memory estimate, and execution on arrays of any library."""

from __future__ import annotations

import math
import operator
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..algebra.dtypes import SCALARS
from ..algebra.records import Semiring
from ..algebra.saturation import holding, narrowed, widened
from ..algebra.survey import survey
from ..dense.product import common
from ..host import memory
from ..host.arrays import check_out
from ..host.devices import module, to_device
from ..host.errors import SemiringError, ShapeError
from ..host.spelling import came
from ..host.types import Array, DType, Matrix
from ..kernels.backend import device_of
from .elementwise import Arrays, by_blas

#: Advice where an einsum does not fit.
HINT = "Use a smaller dtype, cut an index of the result into parts, or see with einsum_path what another order takes."
#: The domain of all real numbers.
EVERY = -math.inf, math.inf
#: Installation of opt_einsum.
INSTALL = "`pip install opt_einsum`"


@dataclass(frozen=True)
class Step:
    """One step of a contraction: one or two operands become one.

    operands   indices of operands (0, 1, …) and of earlier results (counted on), in the order of ⊗
    inputs     index letters of each
    output     index letters of the result: of both, of the first alone, of the second alone
    way        "sum" of one operand; "entries" (elementwise ⊗), these and their "sums"; or matrix "product"
    shape      of the result
    pairs      number of ⊕ and ⊗, counted as pairs
    copied     peak entries in addition to operands and result
    """

    operands: tuple[int, ...]
    inputs: tuple[str, ...]
    output: str
    way: str
    shape: tuple[int, ...]
    pairs: int
    copied: int


@dataclass(frozen=True)
class Contraction:
    """Plan of an einsum; printable.

    Attributes
    ----------
    subscripts : str
        All letters written out, those of "…" too.
    shapes : tuple of tuple of int
        Shapes of the operands.
    semiring, dtype : str
    steps : tuple of Step
    output : str
        Index letters of the result.
    shape : tuple of int
        Shape of the result.
    """

    subscripts: str
    shapes: tuple[tuple[int, ...], ...]
    semiring: str
    dtype: str
    steps: tuple[Step, ...]
    output: str
    shape: tuple[int, ...]

    @property
    def pairs(self) -> int:
        return sum(step.pairs for step in self.steps)

    @cached_property
    def of_products(self) -> bool:
        """Whether all steps are matrix products, so that every entry of every operand counts in the result."""
        return all(step.way == "product" for step in self.steps) and all(map(all, self.shapes))

    @cached_property
    def bytes(self) -> int:
        """Peak bytes in addition to the operands, the result included."""
        most = entries = 0
        sizes: dict[int, int] = {}
        for number, step in enumerate(self.steps, len(self.shapes)):
            sizes[number] = math.prod(step.shape)
            entries += sizes[number]
            most = max(most, entries + step.copied)
            entries -= sum(sizes.pop(operand, 0) for operand in step.operands)
        if self.steps and self.steps[-1].output != self.output:  # a library may want its own order of axes
            most = max(most, 2 * entries)
        return most * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        size = np.dtype(self.dtype).itemsize
        lines = [f"einsum {self.subscripts} over {self.semiring} in {self.dtype}"]
        for step in self.steps:
            text = f"{','.join(step.inputs)}->{step.output}"
            held = memory.shown(math.prod(step.shape) * size)
            lines.append(f"  {text:<24} {step.way:<8} {step.pairs:>9.2g} pairs, {step.shape} of {held}")
        return "\n".join([*lines, f"  {self.pairs:.2g} pairs, {memory.shown(self.bytes)} in addition to the operands"])


def planned(subscripts: str, shapes: Sequence[tuple[int, ...]], s: Semiring, dtype: DType, order: Any) -> Contraction:
    """Plan for operands of these shapes; ShapeError for bad subscripts, SemiringError if opt_einsum is missing."""
    shapes = tuple(map(tuple, shapes))
    # Lists are not hashable, nor are symbolic sizes of compilers.
    hashed = isinstance(subscripts, str) and isinstance(order, str) and {type(n) for x in shapes for n in x} <= {int}
    return (_planned if hashed else _planned.__wrapped__)(subscripts, shapes, s, SCALARS[np.dtype(dtype)].name, order)


@lru_cache(256)
def _planned(subscripts: str, shapes: tuple[tuple[int, ...], ...], s: Semiring, dtype: str, order: Any) -> Contraction:
    inputs, output = read(subscripts, shapes)
    sizes = _sizes(inputs, shapes, subscripts)
    steps: list[Step] = []
    # An axis of size 1 that meets a longer one is dropped. First single operands: diagonals, indices of no other.
    own = [
        "".join(dict.fromkeys(x for x, n in zip(letters, shape, strict=True) if n == sizes[x]))
        for letters, shape in zip(inputs, shapes, strict=True)
    ]
    counts, live = Counter("".join(own)), []
    for number, (letters, mine) in enumerate(zip(inputs, own, strict=True)):
        kept = "".join(x for x in mine if counts[x] > 1 or x in output)
        live.append(
            (number, letters) if kept == letters else _add(steps, len(inputs), ((number, letters),), kept, sizes)
        )
    operands = dict(live)
    for pair in _pairs([letters for _, letters in live], output, sizes, s, order):
        ends = [list(operands.items())[position] for position in pair]
        for number, _ in ends:
            del operands[number]
        while len(ends) > 1:
            (_, x), (_, y), *others = ends
            needed = set(output).union(*operands.values(), *(letters for _, letters in others))
            x_alone, y_alone = (tuple(c for c in a if c in needed and c not in b) for a, b in ((x, y), (y, x)))
            kept = "".join((*(c for c in x if c in needed and c in y), *x_alone, *y_alone))
            ends = [_add(steps, len(inputs), tuple(ends[:2]), kept, sizes), *others]
        operands[ends[0][0]] = ends[0][1]
    written = f"{','.join(inputs)}->{output}"
    shape = tuple(sizes[x] for x in output)
    return Contraction(written, shapes, s.name, dtype, tuple(steps), output, shape)


def _add(
    steps: list[Step], count: int, ends: tuple[tuple[int, str], ...], kept: str, sizes: dict[str, int]
) -> tuple[int, str]:
    """Append a step; its number and the index letters of its result."""

    def size(letters: Any) -> int:
        return math.prod(sizes[x] for x in letters)

    numbers, inputs = zip(*ends, strict=True)
    everything = dict.fromkeys("".join(inputs))
    contracted = [x for x in everything if x not in kept]
    copied, way = 0, "sum"
    if len(ends) > 1:
        x, y = inputs
        batch = size(c for c in kept if c in x and c in y)
        rows, columns = size(c for c in kept if c not in y), size(c for c in kept if c not in x)
        if not contracted:
            way = "entries"
        elif batch > 1 and min(rows, columns) == 1:  # a batch of vectors: no reuse
            way, copied = "sums", 2 * size(everything)
        else:
            way = "product"
            parts = ([c for c in kept if c not in y], [c for c in kept if c not in x], contracted)
            copied = (size(x) + size(y)) * any(len(part) > 1 for part in parts)
    elif contracted:
        copied = 2 * size(everything)
    shape = tuple(sizes[c] for c in kept)
    steps.append(Step(tuple(numbers), tuple(inputs), kept, way, shape, size(everything), copied))
    return count + len(steps) - 1, kept


def _pairs(inputs: list[str], output: str, sizes: dict[str, int], s: Semiring, order: Any) -> list[tuple[int, ...]]:
    """Positions of the operands contracted in each step, results appended; left to right if ⊗ does not commute."""
    count = len(inputs)
    if count < 3 or not s.mul.commutes:
        return [tuple(range(count))] if count > 1 else []
    if not isinstance(order, str):
        return _in_order(order, count)
    try:
        import opt_einsum
    except ImportError:
        raise SemiringError(
            f"einsum: three operands or more must be ordered by opt_einsum, got none installed. Install it, {INSTALL}, "
            "or say the order, as order=[(0, 1), (0, 1)]."
        ) from None
    text = f"{','.join(inputs)}->{output}"
    shapes = [tuple(sizes[x] for x in letters) for letters in inputs]
    try:
        path, _ = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=order)
    except KeyError:
        raise ShapeError(
            f"einsum: order must be a name that opt_einsum knows or a list of positions, got {order!r}. Say 'auto', "
            "'optimal' or 'greedy'."
        ) from None
    return [tuple(sorted(pair)) for pair in path]


def _in_order(order: Any, count: int) -> list[tuple[int, ...]]:
    """Validate a user's order: positions that leave one of `count` operands; NumPy's lists begin with a word."""
    try:
        pairs = [tuple(sorted(map(operator.index, pair))) for pair in order if not isinstance(pair, str)]
    except TypeError:
        pairs = []
    left = count
    for pair in pairs:
        distinct = len(set(pair)) == len(pair) > 0
        left = left - len(pair) + 1 if distinct and 0 <= pair[0] and pair[-1] < left else 0
    if left != 1:
        raise ShapeError(
            f"einsum: order must have positions that leave one operand of {count}, got {order!r}. Each time the "
            f"result goes to the end: order={[(0, 1)] * (count - 1)} is one."
        )
    return pairs


def read(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Index letters of each operand and of the result; "…" is given unused letters. ShapeError if malformed.

    Examples
    --------
    >>> read("...ij,...jk", [(5, 2, 3), (3, 4)])
    (['aij', 'jk'], 'aik')
    """

    def refuse(requirement: str, subscripts: Any) -> ShapeError:
        return ShapeError(f"einsum: {requirement}, got {came(subscripts)}. Write them as in numpy.einsum: 'ij,jk->ik'.")

    if not isinstance(subscripts, str):
        raise refuse("subscripts must be a text", subscripts)
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes):
        raise refuse(f"subscripts must have as many parts as operands, {len(shapes)}", subscripts)
    for part in (*inputs, right):
        letters = part.replace("...", "", 1)
        if not (not letters or (letters.isalpha() and part.count("...") <= 1)):
            raise refuse("subscripts must be letters, commas, '->' and one '...' an operand", subscripts)
    free = (x for x in (*string.ascii_letters, *map(chr, range(0x3B1, 0x3FF))) if x not in subscripts)
    broadcast: list[str] = []  # the letters of "…", the last axis first
    written = []
    for part, shape in zip(inputs, shapes, strict=True):
        named = len(part.replace("...", ""))
        hidden = len(shape) - named if "..." in part else 0
        if named + hidden != len(shape) or hidden < 0:
            raise refuse(f"subscripts must name each axis of an operand of shape {tuple(shape)}", part)
        broadcast += [next(free) for _ in range(hidden - len(broadcast))]
        written.append(part.replace("...", "".join(broadcast[:hidden][::-1])))
    ellipsis = "".join(broadcast[::-1])
    if not arrow:
        counts = Counter("".join(part.replace("...", "") for part in inputs))
        return written, ellipsis + "".join(sorted(x for x, n in counts.items() if n == 1))
    if ellipsis and "..." not in right:
        raise refuse("the result's subscripts must have '...' where operands have", subscripts)
    output = right.replace("...", ellipsis)
    if len(set(output)) < len(output) or not set(output) <= set("".join(written)):
        raise refuse("indices of the result must be different ones of the operands'", subscripts)
    return written, output


def _sizes(inputs: list[str], shapes: Sequence[tuple[int, ...]], subscripts: str) -> dict[str, int]:
    """Size of each index; 1 broadcasts."""
    sizes: dict[str, int] = {}
    for letters, shape in zip(inputs, shapes, strict=True):
        for x, n in zip(letters, shape, strict=True):
            if sizes.setdefault(x, n) == 1:
                sizes[x] = n
            elif n not in (1, sizes[x]):
                raise ShapeError(
                    f"einsum: axes of one index must be of one size, or 1, got {sizes[x]} and {n} of {x!r} in "
                    f"{subscripts!r} with shapes {', '.join(str(tuple(shape)) for shape in shapes)}."
                )
    return sizes


def evaluated(
    subscripts: str, operands: Sequence[Array], s: Semiring, *, order: Any = "auto", out: Array = None,
    dtype: DType = None, device: str | None = None, threads: int | None = None,
) -> Matrix:  # fmt: skip
    """`einsum` of NumPy or CuPy arrays, into `out` or new memory on their device."""
    arrays = common(operands, s, dtype, where="einsum")
    plan = planned(subscripts, [X.shape for X in arrays], s, arrays[0].dtype, order)
    if out is not None:
        check_out(out, plan.shape, arrays[0].dtype, where="einsum")
    home, place = device_of(arrays[0]), device_of(arrays[0], device)
    memory.require(plan.bytes, place, where="einsum", hint=HINT)
    # Over (+, ×) NaN or ∞ in an operand leads to one in the result, which is looked at instead.
    later = plan.of_products and by_blas(s, arrays[0]) and s.domain == EVERY and SCALARS[arrays[0].dtype].floating
    if not later:
        check(arrays, s)
    wide = holding(arrays, s, where="einsum")
    if wide != arrays[0].dtype:
        exact = [widened(X, wide, s) for X in arrays]
        found = evaluated(subscripts, exact, s, order=order, device=device, threads=threads)
        return narrowed(found, arrays[0].dtype, out)
    there = arrays if place == home else [to_device(X, place) for X in arrays]
    result = contracted(plan, there, Arrays(s, threads))
    result = result if place == home else to_device(result, home)
    if len(operands) == 1 or (out is None and not result.flags.c_contiguous):  # copied to C order
        result = module(result).array(result, order="C")
    if later and not math.isfinite(np.vdot(result, result)):  # or a square overflows
        check(arrays, s)
    if out is None:
        return result
    out[...] = result
    return out


def check(arrays: Sequence[Array], s: Semiring) -> None:
    """Raise DomainError unless all entries lie in the semiring."""
    for X in arrays:
        survey(X, s, where="einsum")


def contracted(plan: Contraction, operands: Sequence[Matrix], library: Any) -> Matrix:
    """Einsum of operands by their library's `Arrays`, `Tensors` or `Traced`; may be a view for one operand."""
    live = dict(enumerate(operands))
    for number, step in enumerate(plan.steps, len(operands)):
        live[number] = performed(step, [live.pop(k) for k in step.operands], library)
    (X,) = live.values()
    return finished(plan, X, library)


def finished(plan: Contraction, X: Matrix, library: Any) -> Matrix:
    """Transpose the last result to the axes of the output."""
    letters = plan.steps[-1].output if plan.steps else plan.subscripts.partition("->")[0]
    return _arranged(X, letters, plan.output, library)


def performed(step: Step, operands: Sequence[Matrix], library: Any) -> Matrix:
    if step.way == "sum":
        return _alone(operands[0], step.inputs[0], step.output, library)
    (X, Y), (x, y), kept = operands, step.inputs, step.output
    if step.way != "product":
        contracted = "".join(c for c in x if c not in kept)
        terms = library.times(*(_spread(Z, z, kept + contracted, library) for Z, z in ((X, x), (Y, y))))
        return library.total(terms, tuple(range(len(kept), terms.ndim))) if contracted else terms
    first, second, (b, r, c) = _matrices(x, y, kept)
    left, right = _arranged(X, x, first, library), _arranged(Y, y, second, library)
    outer, m, k, n = left.shape[:b], *map(math.prod, (left.shape[b : b + r], left.shape[b + r :], right.shape[b + c :]))
    product = library.product(left.reshape((*outer, m, k)), right.reshape((*outer, k, n)))
    return product.reshape(step.shape)


@lru_cache(256)
def _matrices(x: str, y: str, kept: str) -> tuple[str, str, tuple[int, int, int]]:
    """Index orders of both operands of a product: batch, rows and columns; and the counts of batch, rows, summed."""
    contracted = "".join(c for c in x if c not in kept)
    batch, rows, columns = (
        "".join(c for c in kept if (c in x, c in y) == where) for where in ((True, True), (True, False), (False, True))
    )
    return batch + rows + contracted, batch + contracted + columns, (len(batch), len(rows), len(contracted))


def _alone(X: Matrix, letters: str, kept: str, library: Any) -> Matrix:
    """Diagonals of an operand, and sums over indices of no other."""
    for axis in reversed(range(len(letters))):  # ⊕ of one entry is the entry; and 1 goes with the same index elsewhere
        if X.shape[axis] == 1 and (letters[axis] not in kept or letters.count(letters[axis]) > 1):
            X = X.reshape((*X.shape[:axis], *X.shape[axis + 1 :]))
            letters = letters[:axis] + letters[axis + 1 :]
    while len(set(letters)) < len(letters):
        twice = next(c for c in letters if letters.count(c) > 1)
        i, j = letters.index(twice), letters.rindex(twice)
        X = library.diagonal(X, i, j)
        letters = "".join(c for axis, c in enumerate(letters) if axis not in (i, j)) + twice
    axes = tuple(axis for axis, c in enumerate(letters) if c not in kept)
    if axes:
        X, letters = library.total(X, axes), "".join(c for c in letters if c in kept)
    return _arranged(X, letters, kept, library)


def _arranged(X: Matrix, letters: str, wanted: str, library: Any) -> Matrix:
    """Permute axes to the index order `wanted`."""
    return X if letters == wanted else library.permuted(X, tuple(map(letters.index, wanted)))


def _spread(X: Matrix, letters: str, wanted: str, library: Any) -> Matrix:
    """Permute axes to the index order `wanted`, with size 1 for missing indices."""
    X = _arranged(X, letters, "".join(c for c in wanted if c in letters), library)
    sizes = iter(X.shape)
    return X.reshape([next(sizes) if c in letters else 1 for c in wanted])
