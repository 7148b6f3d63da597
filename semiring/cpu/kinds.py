"""`Kind`: which instructions compute ⊕ and ⊗ of one semiring on one dtype, as a type that numba compiles for.

Kernels take a kind as their first argument. It has no value at run time; as a type it selects the code, so one
module-level function serves every semiring and its machine code is found again on disk.
"""

from __future__ import annotations

import itertools
import math
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import NativeValue, models, register_model, unbox

from .. import catalog, dtypes
from ..algebra import Semiring
from .features import processor, registers, vector_bytes


class Tile(NamedTuple):
    """What the micro-kernel keeps in registers: `rows` × `vectors` accumulators of `width` bytes each."""

    rows: int
    vectors: int
    width: int


def _tile(itemsize: int) -> Tile:
    """Most of the registers accumulate: 24 of 32, or 12 of 16. On NEON 6 × 4 takes a sixth less code than 6 × 2."""
    width = vector_bytes()
    if registers() == 16:
        return Tile(6, 2, width)
    # Two-byte items get a narrow tile with AVX-512, so that it is 64 columns wide as that of four-byte items.
    return Tile(12, 2, width) if width == 64 and itemsize == 2 else Tile(6, 4, width)


def integer_minimum(itemsize: int) -> bool:
    """Whether the minimum of bit patterns, as integers, beats that of floats.

    AMD's Zen has more ports for it, and others than those that add floats; elsewhere it has fewer, and at eight bytes
    costs two instructions, or without AVX-512 three.
    """
    return processor().startswith("znver") and (itemsize == 4 or vector_bytes() == 64)


def left_size(size: int) -> int:
    """Bytes of an entry of a packed left operand: of two bytes each is there twice.

    A vector of equal entries of four bytes is loaded at once; of two it would take a shuffle besides, on a port that
    adds and compares.
    """
    return 4 if size == 2 else size


class Kind(types.Type):
    """⊕ and ⊗ as instructions, on one dtype.

    Attributes
    ----------
    label : str
        Under which `semiring_of` finds the declaration; empty for kernels that only move data.
    dtype : str
    zero, one : int or float
        The semiring's, in that dtype.
    add, mul : str
        Instructions on vectors as they lie in memory (see `vectors.emit`); empty where `Op.python` is compiled.
    tile_add, tile_mul : str
        Those of the micro-kernel, which may work on an image of the entries.
    image : str
        What packing does to entries: "same", or "sorted": floats become integers that sort alike.
    tile : Tile
    instructions : str
        All of the above but the label.
    """

    def __init__(
        self,
        label: str,
        dtype: str,
        zero: Any,
        one: Any,
        add: str,
        mul: str,
        tile_add: str,
        tile_mul: str,
        image: str,
        *,
        tile: Tile | None = None,
    ) -> None:
        self.label, self.dtype, self.zero, self.one = label, dtype, zero, one
        self.add, self.mul, self.tile_add, self.tile_mul, self.image = add, mul, tile_add, tile_mul, image
        self.itemsize = np.dtype(dtype).itemsize
        self.left_size = left_size(self.itemsize)
        self.tile = tile or _tile(self.itemsize)
        codes = "/".join((add, mul, tile_add, tile_mul, image))
        self.instructions = f"{dtype}, {zero}, {one}, {codes}, {tuple(self.tile)}"
        super().__init__(name=f"Kind({label}, {self.instructions})")

    @property
    def vector(self) -> bool:
        """Whether explicit vector code computes this kind."""
        return bool(self.add)

    @property
    def variant(self) -> str:
        """ "nonnegative" where entries below 0 would come out wrong, else "general"."""
        return "nonnegative" if self.tile_add in ("umin", "bmin", "bmax") else "general"

    @property
    def tag(self) -> str:
        """What names of kernels end with that are compiled for it: ".min_plus.float32"; ".int32" of what moves data."""
        return f".{self.label}.{self.dtype}" if self.label else f".{self.dtype}"

    @property
    def lanes(self) -> int:
        return self.tile.width // self.itemsize

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return self.tile.vectors * self.lanes

    @property
    def scalar(self) -> Any:
        """The dtype as a numba type."""
        return types.boolean if self.dtype == "bool" else getattr(types, self.dtype)

    @property
    def llvm(self) -> Any:
        """One entry in memory, as an LLVM type."""
        if self.dtype == "float32":
            return ir.FloatType()
        return ir.DoubleType() if self.dtype == "float64" else ir.IntType(8 * self.itemsize)

    @property
    def code(self) -> Kind:
        """The kind that machine code is compiled for: the first, of the catalog before others, computed as this is.

        So a semiring under another name compiles nothing: by the same instructions, or by the very same functions.
        """
        return _code(self) if self.label else self

    @cached_property
    def mover(self) -> Kind:
        """The kind for packing, which does not depend on the operations."""
        return Kind("", self.dtype, 0, 0, "", "", "", "", self.image, tile=self.tile)

    @property
    def group(self) -> int:
        """How many values of k a product with witnesses takes at once."""
        return 8 if self.itemsize == 2 else 4

    @cached_property
    def with_witness(self) -> Kind:
        """The kind for products with witnesses: half of the accumulators note which k changed the others last."""
        width = self.tile.width
        plain = self.image == "sorted"
        add, mul = (self.add, self.mul) if plain else (self.tile_add, self.tile_mul)
        tile = Tile(*((4, 1) if registers() == 16 else (3, 2)), width)
        return Kind(self.label, self.dtype, self.zero, self.one, self.add, self.mul, add, mul, "same", tile=tile)


@cache
def _code(kind: Kind) -> Kind:
    dtype, wanted = np.dtype(kind.dtype), _compiled_from(kind)
    kinds = (
        choose(s, dtype, nonnegative)
        for s in catalog.CATALOG
        if kind.dtype in s.dtypes
        for nonnegative in (False, True)
    )
    alike = next((other for other in kinds if _compiled_from(other) == wanted), kind)
    return _first.setdefault(wanted, alike)


#: Of kinds that are computed alike, the one whose machine code all have.
_first: dict[tuple[Any, ...], Kind] = {}


def _compiled_from(kind: Kind) -> tuple[Any, ...]:
    """All that machine code depends on. Functions are compared by what they are; an error of a star has its name."""
    s = semiring_of(kind)
    functions = () if kind.vector else tuple((op.python, op.saturating) for op in (s.add, s.mul))
    return kind.instructions, s.add.selects, s.mul.selects, s.star and (s.name, s.star), functions


@cache
def raw(itemsize: int) -> Kind:
    """The kind for entries of which nothing but the size matters."""
    return Kind("", f"int{8 * itemsize}", 0, 0, "", "", "", "", "same")


def without_value(kind: type[types.Type]) -> None:
    """What is a type and nothing more: an argument of it selects the code, and has no value at run time."""
    register_model(kind)(models.OpaqueModel)
    unbox(kind)(lambda _type, _value, c: NativeValue(c.context.get_dummy_value()))


without_value(Kind)


_declared: dict[str, Semiring] = {}
_keys: dict[Semiring, str] = {}
_serial = itertools.count(1)


def semiring_of(kind: Any) -> Semiring:
    """The declaration whose operations this kind, or type with a kind's label, computes."""
    return _declared[kind.label]


def shipped(semiring: Semiring) -> bool:
    """Whether this very declaration is the catalog's, so that its machine code may be kept on disk."""
    return catalog.names().get(semiring.name) is semiring


def on_disk(kind: Any) -> bool:
    """Whether machine code for this type may go to disk: what a user's own function calls may change."""
    return not getattr(kind, "label", "") or shipped(semiring_of(kind))


@cache
def choose(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> Kind:
    """The fastest instructions that compute `semiring` on `dtype` exactly."""
    key = _keys.setdefault(semiring, semiring.name if shipped(semiring) else f"{semiring.name}#{next(_serial)}")
    _declared[key] = semiring
    zero, one = (value(semiring, dtype).item() for value in (dtypes.zero, dtypes.one))
    codes = _float_codes(semiring, dtype, nonnegative) if dtype.kind == "f" else ("",) * 4 + ("same",)
    if dtype.kind == "i":
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
    codes: tuple[str, str] = f"s{add}", f"s{mul}"
    if mul == "add":
        codes = f"s{add}", "saturate" if semiring.mul.saturating else "add"
        # ∞ = 2ᵇ⁻¹ − 1: the unsigned sum of two entries in [0, ∞] cannot wrap, and one above ∞ loses to ∞.
        if nonnegative and add == "min" and dtypes.zero(semiring, dtype) == np.iinfo(dtype).max:
            codes = "umin", "add"
    return *codes, *codes, "same"
