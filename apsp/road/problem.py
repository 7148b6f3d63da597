"""A `Problem`: any input as a matrix on its device, in the computing dtype, surveyed before its closure."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, fast, survey
from semiring.dense.bits import BitMatrix
from semiring.host.arrays import Taken, take_in
from semiring.host.devices import on_device
from semiring.host.errors import DTypeError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, DType, Input
from semiring.kernels.backend import Backend, bind, device_of

from ..io.graph import Graph
from ..io.graph.entries import over
from . import estimates
from .convergence import divergence, saturation
from .plans import Plan, make_plan
from .wants import Request, Wants

ROUTES = "Leave paths=True out: path(u, v) needs no table of them, and predecessor_rows() streams it."
HINT = "Use a smaller dtype, overwrite=True, or the Boolean semiring if only reachability matters."


class Memory(Enum):
    """Ownership of a matrix's memory, which decides whether it may be written to."""

    READ_ONLY = "the caller's"
    OWNED = "allocated here, free to be written"
    OVERWRITE = "the caller's, for the result (overwrite=True)"


class Intake(NamedTuple):
    """An input in the computing dtype, the owner of its memory, and whether its nulls are undeclared."""

    taken: Taken
    memory: Memory
    null_undeclared: bool


@dataclass(frozen=True)
class Problem:
    """A matrix to be closed, (n, n), (batch, n, n) or BitMatrix, and its properties.

    `matrix` is in the computing dtype and on `device`, except truth values, which a backend may pack during upload.
    `origin` is the input if on another device, where the result returns, into `origin` itself with `overwrite_origin`.
    """

    matrix: Array
    semiring: Semiring
    device: str
    memory: Memory
    seen: Survey
    origin: Array = None
    overwrite_origin: bool = False

    @cached_property
    def n(self) -> int:
        return int(self.matrix.shape[-1])

    @cached_property
    def batch(self) -> bool:
        return len(self.matrix.shape) == 3

    @cached_property
    def dtype(self) -> np.dtype:
        return np.dtype(bool) if isinstance(self.matrix, BitMatrix) else self.matrix.dtype

    @cached_property
    def nonnegative(self) -> bool:
        return fast(self.seen, self.semiring, self.dtype, self.n)

    @cached_property
    def may_diverge(self) -> bool:
        return divergence.may_diverge(self.semiring, self.seen, self.n)

    @cached_property
    def may_saturate(self) -> bool:
        return saturation.possible(dtypes.parts(self.matrix), self.dtype, self.semiring, self.n)

    @cached_property
    def may_lose(self) -> bool:
        """Whether a distance can be lost to an overflowing part of its walk."""
        return saturation.loses(self.seen, dtypes.parts(self.matrix), self.dtype, self.semiring, self.n)

    @property
    def preserved(self) -> bool:
        """Whether the matrix must be kept to name a cycle in case of divergence."""
        return self.semiring.idempotent and self.may_diverge and self.memory is not Memory.OVERWRITE

    @cached_property
    def in_place(self) -> bool:
        return (self.memory is not Memory.READ_ONLY or self.batch) and not self.preserved

    @cached_property
    def is_on_device(self) -> bool:
        return self.device == ("cpu" if isinstance(self.matrix, np.ndarray) else location(self.matrix))

    @cached_property
    def made(self) -> int:
        """Bytes on the device of the copy of the input, or of a batch."""
        owned = self.memory is Memory.OWNED or (self.batch and self.memory is Memory.READ_ONLY)
        return int(self.matrix.nbytes) if owned and self.is_on_device else 0

    @cached_property
    def home(self) -> str:
        """The device of the input, if that is another."""
        return location(self.origin)

    def bind(self, request: Request) -> Backend:
        cached = vars(self).get("_bound")
        if cached is None or cached[0] != request.options:
            ops = bind(self.semiring, self.dtype, device=self.device, nonnegative=self.nonnegative, **request.options)
            cached = vars(self)["_bound"] = (request.options, ops)
        bound: Backend = cached[1]
        return bound

    def plan(self, ops: Backend, request: Request) -> Plan:
        packed = ops.grain > 1 and not isinstance(self.matrix, BitMatrix)
        # The unpacked result, beside its bits.
        unpacked = self.n**2 if packed and self.is_on_device and not self.in_place else 0
        return make_plan(
            self.n, self.semiring, ops, schedule=request.schedule, block=request.block,
            in_place=self.in_place and self.is_on_device and not packed, copies=self.made + unpacked,
            after=self._routes if request.paths else 0,
        )  # fmt: skip

    @property
    def _routes(self) -> int:
        """Bytes of the closed matrix and its predecessors; a converted matrix is converted again for these."""
        matrix, size = self.memory is not Memory.READ_ONLY, self.dtype.itemsize
        return self.n**2 * size + estimates.predecessors(self.n, size, table=True, matrix=matrix)

    def about(self, matrix: Array, seen: Survey | None = None, **others: Any) -> Problem:
        """Another matrix on the device, which may be written to, surveyed unless it has been."""
        semiring = others.get("semiring", self.semiring)
        seen = survey(matrix, semiring, where="closure") if seen is None else seen
        return replace(self, **{"matrix": matrix, "memory": Memory.OWNED, "origin": None, "seen": seen, **others})


def location(matrix: Array) -> str:
    return device_of(matrix.words if isinstance(matrix, BitMatrix) else matrix)


def on_device_of(source: Input) -> AbstractContextManager[Any]:
    """Context manager: the GPU of a source's matrix is current."""
    return on_device(source.dense if isinstance(source, Graph) else source)


def take(A: Array, s: Semiring, wants: Wants, dtype: DType) -> Intake:
    """A square matrix, or a batch, in the computing dtype; ValueError if it is to be overwritten and cannot be."""
    nulls, where = wants.nulls, wants.where
    if wants.overwrite and nulls:
        raise ValueError(
            f"{where}: overwrite=True must work on the matrix as it is, got null_value={nulls[0]} as well. Leave one "
            "of them out."
        )
    if isinstance(A, Graph):
        array, undeclared = A.matrix(s, dtype), A.null_undeclared
        taken = Taken(array, A, array is not A.dense)
    else:
        taken, undeclared = take_in(A, where=where), not wants.unweighted and nulls is None
        require_matrices(taken.array.shape, where)
        if not undeclared:
            array = over(taken.array, s, dtype, nulls=nulls, unweighted=wants.unweighted, where=where)
            taken = Taken(array, A, taken.made or array is not taken.array)
    if wants.overwrite:
        taken.check_writable(dtypes.resolve(s, dtype, taken.array.dtype, where=where), where=where)
        return Intake(taken, Memory.OVERWRITE, undeclared)
    if not isinstance(A, Graph):  # a graph's matrix has that dtype already
        taken = taken.conformed(s, dtype, where=where)
    return Intake(taken, Memory.OWNED if taken.made else Memory.READ_ONLY, undeclared)


def require_matrices(shape: tuple[int, ...], where: str) -> None:
    """ShapeError unless the shape is that of a square matrix, or of a batch of them."""
    if len(shape) not in (2, 3) or shape[-1] != shape[-2]:
        raise ShapeError(f"{where}: A must be square, (n, n) or (batch, n, n), got shape {shape}.")


def pose_array(intake: Intake, s: Semiring, wants: Wants) -> Problem:
    """The problem of closing an array of the computing dtype: copied to the device and surveyed there."""
    array, memory, move, where = intake.taken.array, intake.memory, not wants.dry, wants.where
    home = device_of(array)
    target = home if wants.device is None else device_of(array, wants.device)
    boolean = dtypes.SCALARS[array.dtype].boolean
    packed_on_the_way = target == "cuda" and boolean  # in pieces, by the upload
    if not move or home == target or packed_on_the_way or not array.size:
        if move and memory is Memory.READ_ONLY:  # refuse before the survey if the result does not fit
            require(array.size // 8 if boolean else array.nbytes, target, where=where, hint=HINT)
        return Problem(array, s, target, memory, survey(array, s, where=where, null_undeclared=intake.null_undeclared))
    require(array.nbytes, target, where=where, hint="Use a smaller dtype, or compute on the device of A.")
    moved = bind(s, array.dtype, device="cuda").upload(array) if target == "cuda" else array.get()
    seen = survey(moved, s, where=where, null_undeclared=intake.null_undeclared)
    return Problem(moved, s, target, Memory.OWNED, seen, array, memory is not Memory.READ_ONLY)


def pose_bits(A: BitMatrix, s: Semiring, wants: Wants) -> Problem:
    """The problem of closing packed bits, on their own device."""
    if not s.boolean:
        raise DTypeError(
            f"closure: a BitMatrix is closed over the Boolean semiring, got {s.name}. Say semiring='boolean'."
        )
    dtypes.resolve(s, wants.dtype, np.dtype(bool), where="closure")
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"closure: A must be square, got a BitMatrix of shape {A.shape}.")
    home = location(A)
    if wants.device not in (None, home):
        raise DTypeError(f"closure: a BitMatrix is closed on its own device, {home}, got device={came(wants.device)}.")
    return Problem(A, s, home, Memory.OVERWRITE if wants.overwrite else Memory.READ_ONLY, Survey(0, 1, True))
