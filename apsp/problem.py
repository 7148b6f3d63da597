"""What is known of a matrix before it is closed: a `Problem`, made once of whatever came.

The matrix is taken in, on the device that will close it and in the dtype to compute in, and looked at.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import Taken, take_in
from semiring.backend import Backend, bind, device_of
from semiring.bits import BitMatrix
from semiring.devices import on_device
from semiring.errors import DTypeError, ShapeError
from semiring.memory import require
from semiring.survey import Survey, fast, survey, united
from semiring.types import Array, DType

from . import estimates
from .convergence import divergence
from .graph import Graph
from .graph.entries import over
from .graph.nulls import Nulls
from .plans import Plan, make_plan
from .wants import Request

ROUTES = "Leave paths=True out: path(u, v) needs no table of them, and predecessor_rows() streams it."
HINT = "Use a smaller dtype, overwrite=True, or the Boolean semiring if only reachability matters."


class Memory(Enum):
    """Whose memory a matrix lies in, and so what may be done with it."""

    THEIRS = "the caller's, to be left as it is"
    OURS = "made here, free to be written"
    LENT = "the caller's, who wants the result there (overwrite=True)"


@dataclass(frozen=True)
class Problem:
    """A matrix to be closed, and what is known of it.

    Attributes
    ----------
    matrix : array of shape (n, n) or (batch, n, n), or BitMatrix
        In the dtype to compute in; on `device`, except truth values, which a backend may pack on the way there.
    semiring : Semiring
    device : str
        Where it is closed.
    memory : Memory
        Whose `matrix` is.
    seen : Survey
        What a look at the entries found.
    origin : array or None
        What came, where it lies on another device than `matrix`: the result goes back there.
    lent : bool
        Whether the result is to be written into `origin`.
    """

    matrix: Any
    semiring: Semiring
    device: str
    memory: Memory
    seen: Survey
    origin: Any = None
    lent: bool = False

    @cached_property
    def n(self) -> int:
        """Vertices."""
        return int(self.matrix.shape[-1])

    @cached_property
    def batch(self) -> bool:
        """Whether there are several matrices."""
        return len(self.matrix.shape) == 3

    @cached_property
    def dtype(self) -> np.dtype:
        """What is computed in."""
        return np.dtype(bool) if isinstance(self.matrix, BitMatrix) else self.matrix.dtype

    @cached_property
    def nonnegative(self) -> bool:
        """Whether the entries permit the steps for non-negative weights."""
        return fast(self.seen, self.semiring, self.dtype, self.n)

    @cached_property
    def may_diverge(self) -> bool:
        """Whether such entries can make a closure that does not exist."""
        return divergence.may_diverge(self.semiring, self.seen, self.n)

    @property
    def preserved(self) -> bool:
        """Whether the matrix must outlive the computation, because a diverging cycle would be named by it."""
        return self.semiring.idempotent and self.may_diverge and self.memory is not Memory.LENT

    @cached_property
    def in_place(self) -> bool:
        """Whether the closure is computed in the matrix's own memory (of a batch, in a copy of all of it)."""
        return (self.memory is not Memory.THEIRS or self.batch) and not self.preserved

    @cached_property
    def is_on_device(self) -> bool:
        """Whether the matrix lies on the device that closes it."""
        return self.device == ("cpu" if isinstance(self.matrix, np.ndarray) else location(self.matrix))

    @cached_property
    def made(self) -> int:
        """Bytes on the device that were made of the input and are there already, or are made of an entire batch."""
        ours = self.memory is Memory.OURS or (self.batch and self.memory is Memory.THEIRS)
        return int(self.matrix.nbytes) if ours and self.is_on_device else 0

    def bind(self, request: Request) -> Backend:
        """The verbs, with the variants that the entries permit."""
        cached = vars(self).get("_bound")
        if cached is None or cached[0] != request.options:
            ops = bind(self.semiring, self.dtype, device=self.device, nonnegative=self.nonnegative, **request.options)
            cached = vars(self)["_bound"] = (request.options, ops)
        bound: Backend = cached[1]
        return bound

    def plan(self, ops: Backend, request: Request) -> Plan:
        """The plan of one of its matrices, with all the memory that it takes in addition to the input."""
        packed = ops.grain > 1 and not isinstance(self.matrix, BitMatrix)
        unpacked = (
            self.n**2 if packed and self.is_on_device and not self.in_place else 0
        )  # the result, next to its bits
        return make_plan(
            self.n,
            self.semiring,
            ops,
            schedule=request.schedule,
            block=request.block,
            in_place=self.in_place and self.is_on_device and not packed,
            copies=self.made + unpacked,
            after=self._routes if request.paths else 0,
        )

    @property
    def _routes(self) -> int:
        """Bytes of the closed matrix and its predecessors, for which a matrix that was made here is made again."""
        matrix, size = self.memory is not Memory.THEIRS, self.dtype.itemsize
        return self.n**2 * size + estimates.predecessors(self.n, size, table=True, matrix=matrix)

    def part(self, index: int) -> Problem:
        """One matrix of a batch, as a problem of its own; entries are looked at again."""
        matrix = self.matrix[index]
        memory = Memory.LENT if self.memory is Memory.LENT else Memory.OURS
        return replace(self, matrix=matrix, memory=memory, seen=survey(matrix, self.semiring, where="closure"))


def location(matrix: Array) -> str:
    """The device on which a matrix lies."""
    return device_of(matrix.words if isinstance(matrix, BitMatrix) else matrix)


#: Where no GPU plays a part.
_HOST = nullcontext()


def at(source: Any) -> AbstractContextManager[Any]:
    """The GPU on which a source's matrix lies as the current one, while this lasts."""
    array = source.dense if isinstance(source, Graph) else source
    return _HOST if array is None or isinstance(array, np.ndarray) else on_device(array)


def take(
    A: Array,
    s: Semiring,
    request: Request,
    *,
    dtype: DType,
    overwrite: bool,
    unweighted: bool,
    nulls: Nulls,
    where: str,
) -> tuple[Taken, Memory, bool]:
    """What came as an array in the dtype to compute in, whose memory that is, and whether its nulls were left unsaid.

    Raises
    ------
    ValueError
        If what must become another matrix is to be overwritten.
    """
    if overwrite and nulls:
        raise ValueError(
            f"{where}: overwrite=True must work on the matrix as it is, got null_value={nulls[0]} as well. Leave one "
            "of them out."
        )
    taken, unsaid = _take(A, s, dtype, request, unweighted, nulls, where)
    if overwrite:
        taken.check_writable(dtypes.resolve(s, dtype, taken.array.dtype, where=where), where=where)
        return taken, Memory.LENT, unsaid
    if not isinstance(A, Graph):  # whose matrix is of that dtype
        taken = taken.conformed(s, dtype, where=where)
    return taken, Memory.OURS if taken.made else Memory.THEIRS, unsaid


def pose_array(
    array: Array,
    s: Semiring,
    memory: Memory,
    *,
    device: str | None = None,
    move: bool = True,
    null_unsaid: bool = False,
    where: str = "closure",
) -> Problem:
    """The problem of closing an array of the computing dtype; brought to the device and looked at there."""
    target = device_of(array, device)
    packed_on_the_way = target == "cuda" and array.dtype.kind == "b"  # on the way, piece by piece
    if not move or device_of(array) == target or packed_on_the_way or not array.size:
        if (
            move and memory is Memory.THEIRS
        ):  # its closure lies elsewhere; the survey takes time, in vain where memory is short
            require(array.size // 8 if array.dtype.kind == "b" else array.nbytes, target, where=where, hint=HINT)
        return Problem(array, s, target, memory, survey(array, s, where=where, null_unsaid=null_unsaid))
    require(array.nbytes, target, where=where, hint="Use a smaller dtype, or compute where A lies.")
    moved = bind(s, array.dtype, device="cuda").upload(array) if target == "cuda" else array.get()
    seen = survey(moved, s, where=where, null_unsaid=null_unsaid)
    return Problem(moved, s, target, Memory.OURS, seen, array, memory is not Memory.THEIRS)


def pose_bits(A: BitMatrix, s: Semiring, device: str | None, overwrite: bool) -> Problem:
    """Packed bits are closed where they lie."""
    if not s.boolean:
        raise DTypeError(
            f"closure: a BitMatrix is closed over the Boolean semiring, got {s.name}. Say semiring='boolean'."
        )
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"closure: A must be square, got a BitMatrix of shape {A.shape}.")
    home = location(A)
    if device not in (None, home):
        raise DTypeError(f"closure: a BitMatrix is closed where it lies, on {home}, got device={device!r}.")
    return Problem(A, s, home, Memory.LENT if overwrite else Memory.THEIRS, Survey(0, 1, True))


def _take(
    A: Array, s: Semiring, dtype: DType, request: Request, unweighted: bool, nulls: Nulls, where: str
) -> tuple[Taken, bool]:
    """A square matrix, or a batch of them, from an array or a graph; and whether its nulls were left unsaid."""
    if isinstance(A, Graph):
        matrix, made = matrix_of(A, s, dtype, request, where=where)
        return Taken(matrix, A, made), A.null_unsaid
    taken = take_in(A, where=where)
    if taken.array.ndim not in (2, 3) or taken.array.shape[-1] != taken.array.shape[-2]:
        raise ShapeError(f"{where}: A must be square, (n, n) or (batch, n, n), got shape {taken.array.shape}.")
    if not unweighted and nulls is None:
        return taken, True
    array = over(taken.array, s, dtype, nulls=nulls, unweighted=unweighted, where=where)
    return Taken(array, A, taken.made or array is not taken.array), False


def matrix_of(graph: Graph, s: Semiring, dtype: DType, request: Request, *, where: str) -> tuple[Any, bool]:
    """A graph's matrix, and whether it was made here; refused before that where it or its closure does not fit."""
    if graph.dense is not None:
        matrix = graph.matrix(s, dtype)
        return matrix, matrix is not graph.dense
    n = graph.n
    target = graph.target(s, dtype, where=where)
    looks: list[Survey] = []
    edges = 0
    for _, _, weights in graph.pieces(s, target):
        looks.append(survey(weights, s, where=where, first=(edges,)))
        edges += len(weights)
    seen = united(looks, s, target)
    # The matrix itself is not there yet: its shape and what its edges weigh are all that a plan needs.
    shape_only = np.broadcast_to(np.zeros((), target), (n, n))
    host = replace(request, options={k: v for k, v in request.options.items() if k == "threads"})
    expected = Problem(shape_only, s, "cpu", Memory.OURS, seen)
    plan = expected.plan(expected.bind(host), host)
    hint = (
        "A sparse graph does without its matrix: shortest_paths(graph, engine='elimination'). Else use a smaller "
        "dtype, or transitive_closure if only reachability matters."
    )
    require(plan.beside_bytes, where=where, hint=ROUTES if request.paths else hint)
    return graph.matrix(s, target), True
