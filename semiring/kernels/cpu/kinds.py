"""`Kind`: the instructions for ⊕ and ⊗ of a semiring on a dtype, as a type that numba compiles for.

Kernels take a kind as their first argument. It has no value at run time; as a type it selects the code, so that one
module-level function serves every semiring, and its machine code is found on disk.
"""

from __future__ import annotations

import itertools
import math
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import NativeValue, models, register_model, unbox

from ...algebra import catalog, dtypes
from ...algebra.records import Semiring
from ...host.errors import DTypeError
from .features import processor, registers, vector_bytes

Part = TypeVar("Part")


class Tile(NamedTuple):
    """The micro-kernel's register tile: `rows` × `vectors` accumulators of `width` bytes each."""

    rows: int
    vectors: int
    width: int


def _tile(itemsize: int) -> Tile:
    """Tile that fills most registers: 24 of 32, or 12 of 16. On NEON 6 × 4 is a sixth less code than 6 × 2."""
    width = vector_bytes()
    if registers() == 16:
        return Tile(6, 2, width)
    # with AVX-512, two-byte items get a narrow tile: 64 columns, as four-byte items
    return Tile(12, 2, width) if width == 64 and itemsize == 2 else Tile(6, 4, width)


def integer_minimum(itemsize: int) -> bool:
    """Whether integer minima of bit patterns beat floating-point minima.

    AMD's Zen has more ports for them, distinct from those of float addition; other processors have fewer, and at eight
    bytes need two instructions, or without AVX-512 three.
    """
    return processor().startswith("znver") and (itemsize == 4 or vector_bytes() == 64)


def left_size(size: int) -> int:
    """Bytes of an entry of a packed left operand: two-byte entries are stored twice.

    A broadcast load needs four bytes; of two bytes it would take a shuffle besides, on a port that adds and compares.
    """
    return 4 if size == 2 else size


class Kind(types.Type):
    """⊕ and ⊗ as instructions, on one dtype.

    record : of the dtype
    label : key of the declaration in `semiring_of`; empty for kernels that only move data
    zero, one : of the semiring, in that dtype
    add, mul : instructions on vectors as in memory (see `vectors.emit`); empty if `Op.python` is compiled
    tile_add, tile_mul : instructions of the micro-kernel, which may work on an image of the entries
    image : how packing maps entries: "same", or "sorted": floats to integers of the same order
    instructions : all of the above but the label
    """

    def __init__(
        self, label: str, dtype: str, zero: Any, one: Any, add: str, mul: str, tile_add: str, tile_mul: str, image: str,
        *, tile: Tile | None = None,
    ) -> None:  # fmt: skip
        self.label, self.dtype, self.zero, self.one = label, dtype, zero, one
        self.add, self.mul, self.tile_add, self.tile_mul, self.image = add, mul, tile_add, tile_mul, image
        self.record, self.itemsize = dtypes.SCALARS[np.dtype(dtype)], np.dtype(dtype).itemsize
        self.left_size = left_size(self.itemsize)
        self.tile = tile or _tile(self.itemsize)
        codes = "/".join((add, mul, tile_add, tile_mul, image))
        self.instructions = f"{dtype}, {self.record.order}, {zero}, {one}, {codes}, {tuple(self.tile)}"
        super().__init__(name=f"Kind({label}, {self.instructions})")

    @property
    def vector(self) -> bool:
        return bool(self.add)

    @property
    def variant(self) -> str:
        """Variant: "nonnegative" if entries below 0 would give wrong results, else "general"."""
        return "nonnegative" if self.record.signed and self.tile_add in ("umin", "bmin", "bmax") else "general"

    @property
    def tag(self) -> str:
        """Suffix of the names of its kernels: ".min_plus.float32"; ".int32" for moving data."""
        return f".{self.label}.{self.dtype}" if self.label else f".{self.dtype}"

    @property
    def lanes(self) -> int:
        """Entries per vector; 1 if the operations are functions."""
        return self.tile.width // self.itemsize if self.vector or not self.label else 1

    @property
    def columns(self) -> int:
        return self.tile.vectors * self.tile.width // self.itemsize

    @property
    def scalar(self) -> Any:
        return types.boolean if self.dtype == "bool" else getattr(types, self.dtype)

    @property
    def llvm(self) -> Any:
        if self.dtype == "float32":
            return ir.FloatType()
        return ir.DoubleType() if self.dtype == "float64" else ir.IntType(8 * self.itemsize)

    @property
    def code(self) -> Kind:
        """The kind that machine code is compiled for: the first with the same computation, catalog before others.

        A renamed semiring thus compiles nothing, given the same instructions or the very same functions; nor do floats
        ≥ 0, whose own instructions are the micro-kernel's alone.
        """
        return _code(_plain(self)) if self.label else self

    @property
    def imaged(self) -> Kind:
        """Kind of the machine code of `imaged` parts, which use the micro-kernel's instructions."""
        return _code(self) if self.label else self

    @cached_property
    def mover(self) -> Kind:
        """The kind for packing, independent of the operations."""
        return Kind("", self.dtype, 0, 0, "", "", "", "", self.image, tile=self.tile)

    @property
    def group(self) -> int:
        """Unroll factor along k of the witness product."""
        return 8 if self.itemsize == 2 else 4

    @cached_property
    def with_witness(self) -> Kind:
        """The kind for products with witnesses: half of the accumulators hold witnesses."""
        width = self.tile.width
        plain = self.image == "sorted"
        add, mul = (self.add, self.mul) if plain else (self.tile_add, self.tile_mul)
        tile = Tile(*((4, 1) if registers() == 16 else (3, 2)), width)
        return Kind(self.label, self.dtype, self.zero, self.one, self.add, self.mul, add, mul, "same", tile=tile)


@cache
def _plain(kind: Kind) -> Kind:
    """Kind of the same operations whose micro-kernel takes entries as they are stored."""
    plain = kind.add, kind.mul
    return Kind(kind.label, kind.dtype, kind.zero, kind.one, *plain, *plain, "same", tile=kind.tile)


@cache
def _code(kind: Kind) -> Kind:
    dtype, wanted = np.dtype(kind.dtype), _compiled_from(kind)
    chosen = (choose(s, dtype, b) for s in catalog.CATALOG if kind.dtype in s.dtypes for b in (False, True))
    kinds = (other for one in chosen for other in (one, _plain(one)))
    alike = next((other for other in kinds if _compiled_from(other) == wanted), kind)
    return _first.setdefault(wanted, alike)


#: The first kind of each computation, whose machine code the others share.
_first: dict[tuple[Any, ...], Kind] = {}


def _compiled_from(kind: Kind) -> tuple[Any, ...]:
    """All that machine code depends on; functions compare by identity, and errors of a star contain its name."""
    s = semiring_of(kind)
    functions = () if kind.vector else tuple((op.python, op.saturating) for op in (s.add, s.mul))
    return kind.instructions, s.add.selects, s.mul.selects, s.star and (s.name, s.star), functions


def imaged(part: Part) -> Part:
    """Decorator of parts that use the micro-kernel's instructions."""
    part.imaged = True  # type: ignore[attr-defined]  # a mark on the function
    return part


@cache
def raw(itemsize: int) -> Kind:
    return Kind("", f"int{8 * itemsize}", 0, 0, "", "", "", "", "same")


def without_value(kind: type[types.Type]) -> None:
    """Register a type without a run-time value: arguments of it only select code."""
    register_model(kind)(models.OpaqueModel)
    unbox(kind)(lambda _type, _value, c: NativeValue(c.context.get_dummy_value()))


without_value(Kind)


_declared: dict[str, Semiring] = {}
_keys: dict[Semiring, str] = {}
_serial = itertools.count(1)


def semiring_of(kind: Kind) -> Semiring:
    """The declaration of a kind, or of another type with its label."""
    return _declared[kind.label]


def shipped(semiring: Semiring) -> bool:
    """Whether the declaration is the catalog's own object, so that its machine code may be kept on disk."""
    return catalog.names().get(semiring.name) is semiring


def on_disk(kind: Kind) -> bool:
    """Whether machine code for this type may go to disk: callees of user functions may change."""
    return not getattr(kind, "label", "") or shipped(semiring_of(kind))


@cache
def choose(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> Kind:
    """The fastest instructions that compute `semiring` on `dtype` exactly."""
    key = _keys.setdefault(semiring, semiring.name if shipped(semiring) else f"{semiring.name}#{next(_serial)}")
    _declared[key] = semiring
    zero, one = (value(semiring, dtype).item() for value in (dtypes.zero, dtypes.one))
    record = dtypes.SCALARS[dtype]
    codes: tuple[str, ...] = ("", "", "", "", "same")
    if not record.order:
        raise DTypeError(f"bind: the CPU has no instructions for {dtype}. Convert the array first.")
    if record.floating:
        codes = _float_codes(semiring, dtype, nonnegative)
    elif record.integer:
        codes = _integer_codes(semiring, dtype, nonnegative)
    return Kind(key, dtype.name, zero, one, *codes)


def _float_codes(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> tuple[str, ...]:
    add, mul = semiring.add.simd, semiring.mul.simd
    if semiring.add is catalog.LOGADDEXP and mul == "add":
        return "logaddexp", "fadd", "logaddexp", "fadd", "same"
    if add not in ("add", "min", "max") or mul not in ("add", "mul", "min", "max"):
        return "", "", "", "", "same"
    plain = f"f{add}", f"f{mul}"
    if not integer_minimum(dtype.itemsize):
        return *plain, *plain, "same"
    # The bit patterns of floats ≥ 0 sort as signed integers, with −∞ below and +∞ above them.
    if {add, mul} <= {"min", "max"}:
        return (*plain, f"b{add}", f"b{mul}", "same") if nonnegative else (*plain, f"s{add}", f"s{mul}", "sorted")
    zeros = math.inf if add == "min" else -math.inf
    if nonnegative and mul == "add" and add != "add" and semiring.zero == zeros:
        return *plain, f"b{add}", "fadd", "same"
    return *plain, *plain, "same"


def _integer_codes(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> tuple[str, ...]:
    add, mul = semiring.add.simd, semiring.mul.simd
    if add not in ("min", "max") or mul not in ("add", "min", "max"):
        return "", "", "", "", "same"
    record = dtypes.SCALARS[dtype]
    codes: tuple[str, str] = f"{record.order}{add}", f"{record.order}{mul}"
    if mul == "add":
        codes = codes[0], "saturate" if semiring.mul.saturating else "add"
        infinite = add == "min" and dtypes.zero(semiring, dtype) == record.high
        # ∞ = 2ᵇ⁻¹ − 1: the unsigned sum of two entries in [0, ∞] cannot wrap, and one above ∞ loses to ∞.
        if record.signed and nonnegative and infinite:
            codes = "umin", "add"
        elif not record.signed and semiring.mul.saturating:  # a sum stays at ∞, which is 0; elsewhere 0 needs a look
            codes = ("umin", "usaturate") if infinite else ("", "")
    return *codes, *codes, "same"
