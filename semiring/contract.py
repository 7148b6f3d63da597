"""The contract between schedules and kernels: verbs on tiles, bound to one semiring and one dtype.

A schedule is written against `Backend` alone; `semiring.backend.bind` chooses one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from . import dtypes
from .algebra import Semiring
from .compiling import Missing, clock
from .types import Array

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .tiles.windows import SlowMatrix, WindowIO


class Stopwatch(Protocol):
    """Runs from when it was made until `stop`."""

    def stop(self) -> None:
        """Stop after all verbs so far."""

    @property
    def seconds(self) -> float:
        """The time between; waits until it is known."""


class ConcurrentQueue(Protocol):
    """A queue of verbs that run concurrently with others, at a higher priority: `with queue: …` fills it.

    They begin when all that was queued before the `with` is done.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...

    def join(self) -> None:
        """What the caller queues from now on waits for the verbs of this queue."""


class Backend(ABC):
    """Verbs on 2-D matrices of `dtype` over `semiring`; every one updates its output in place.

    Matrices are whatever `upload` returns, or slices of it. Sizes are arbitrary, zero included. The verbs stand in
    `semiring.verbs.VERBS`, with the pairs and the entries of each.

    Attributes
    ----------
    device : str
    semiring : Semiring
    dtype : numpy.dtype
    pivot : int
        The pivot block for which `closure` is built: the default blocking factor.
    cutover : int
        The size from which recursion hands over to the blocked schedule; `pivot` where it never should.
    grain : int
        Matrices may be sliced at multiples of this only: 1, or the word size where columns are packed bits.
    threads : int
        CPU threads that verbs use.
    variant : str
        The step c ⊕ a ⊗ b that verbs compute with: "general", or the name of a faster one that the data must permit.
    knows_workspaces : bool
        Whether `verb_workspace` knows the workspace of each verb; where not, `workspace` is one figure for closures.
    aligns : bool
        Whether closures are faster on a copy with another leading dimension, which `aligned` then makes.
    looks_ahead : bool
        Whether verbs can run concurrently with others: `concurrent_queue` returns a queue.
    mirrors : int
        From how many vertices on closures of symmetric matrices may take less than others, of which `mirrored` says; 0:
        never.
    """

    device: str
    semiring: Semiring
    dtype: np.dtype
    pivot: int
    cutover: int
    grain: int = 1
    threads: int = 1
    variant: str = "general"
    knows_workspaces: bool = False
    aligns: bool = False
    looks_ahead: bool = False
    mirrors: int = 0

    # Verbs that every backend has of its own.

    @abstractmethod
    def gemm(self, C: Array, A: Array, B: Array) -> None:
        """C ← C ⊕ A ⊗ B; C must not overlap A or B."""

    @abstractmethod
    def left_mul(self, D: Array, R: Array) -> None:
        """R ← D ⊗ R; D is square and must not overlap R."""

    @abstractmethod
    def right_mul(self, C: Array, D: Array) -> None:
        """C ← C ⊗ D; D is square and must not overlap C."""

    @abstractmethod
    def closure(self, D: Array) -> None:
        """D ← D*, one pivot block of at most `pivot` rows (more is right, only slow): Floyd–Warshall."""

    @abstractmethod
    def step(self, A: Array, k: int) -> None:
        """A ← A ⊕ A[:,k] ⊗ a* ⊗ A[k,:] with a = A[k,k]: one Floyd–Warshall step on the entire matrix."""

    def missing(self, work: str) -> Missing:
        """What must be compiled before a computation: a "closure", an "elimination", "hops", "searches"."""
        return Missing()

    def aligned(self, A: Array) -> Any:
        """A matrix to close in the place of A: A itself, or a copy of it on which verbs are faster."""
        return A

    # Verbs that follow from others, unless a backend does better.

    def eliminate(self, D: Array, R: Array, C: Array, rest: Any) -> None:
        """R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← C ⊗ D.

        With D = A11*, R = A12, C = A21 and rest = A22 this is what remains of [[A11, A12], [A21, A22]]* when D is
        closed and before rest is: block Gaussian elimination. C is multiplied last, so that D is a factor of C R once.
        """
        self.left_mul(D, R)
        self.gemm(rest, C, R)
        self.right_mul(C, D)

    def eliminate_mirrored(self, D: Array, R: Array, C: Array, rest: Any) -> None:
        """The same where `mirrored` said so of all of it: D and rest are symmetric and R is Cᵀ, and they stay so."""
        self.eliminate(D, R, C, rest)

    def mirrored(self, A: Array) -> bool:
        """Whether ⊗ commutes, ⊕ selects and A is symmetric: it may be closed by `eliminate_mirrored` and `mirror`."""
        s = self.semiring
        return s.mul.commutes and s.add.selects is not None and self.symmetric(A)

    def symmetric(self, A: Array) -> bool:
        """Whether A is known to be symmetric, bit for bit."""
        return False

    def mirror(self, A: Array) -> None:
        """A[i,j] ← A[j,i] for i < j."""
        for k in range(len(A)):
            A[k, k + 1 :] = A[k + 1 :, k]

    def gemms(self, products: Sequence[tuple[Any, Any, Any]]) -> None:
        """C ← C ⊕ A ⊗ B for each (C, A, B); no C overlaps another operand of any."""
        for C, A, B in products:
            self.gemm(C, A, B)

    def add_one(self, A: Array) -> None:
        """A ← I ⊕ A, A square."""
        if len(A):
            add, one = self.semiring.add, dtypes.one(self.semiring, self.dtype)
            diagonal = self.diagonal(A)
            if add.ufunc is not None and (add.selects or self.dtype.kind == "f"):
                united = add.ufunc(diagonal, one)
            else:
                united = np.array([add.python(x, one.item()) for x in diagonal.tolist()])
            self.set_diagonal(A, united.astype(self.dtype))

    def matmul(self, C: Array, A: Array, B: Array) -> None:
        """C ← A ⊗ B; C must not overlap A or B, and its old entries are not read."""
        self.clear(C)
        self.gemm(C, A, B)

    def matmul_batch(self, C: Array, A: Array, B: Array) -> None:
        """C[i] ← A[i] ⊗ B[i] for every matrix of three axes; operands may be broadcast, with a stride of 0."""
        for c, a, b in zip(C, A, B, strict=True):
            self.matmul(c, a, b)

    def closure_batch(self, A: Array, blocked: Any = None, *, out: Array = None) -> None:
        """A[i] ← A[i]*, or out[i] ← A[i]*, for every matrix of (batch, n, n).

        `blocked` is the schedule by which a backend may close larger matrices, block by block, all at once.
        """
        if out is not None:
            out[...] = A
            A = out
        for matrix in A:
            if blocked is None or len(matrix) <= self.pivot:
                self.closure(matrix)
            else:
                blocked(matrix, self, block=self.pivot)

    def predecessors(self, P: Array, A: Array, D: Array, mirrored: bool = False) -> None:
        """P[i,j] ← the vertex before j on a best path from i, −9999 where there is none; D is the closure of A.

        Arrays of shape (n, n) or (batch, n, n) on this device, A and D of `dtype` and not packed, P of int32. Where
        `mirrored` they are transposes of those meant, so that ⊗ takes its operands in the other order. What P is
        depends on weights alone (docs/routes.md).

        Raises
        ------
        AlgebraError
            If ⊕ does not select.
        DomainError
            If D is not the closure of A.
        """
        raise NotImplementedError(f"the {self.device} backend finds no predecessors")

    def prepare(self, n: int) -> None:
        """Compile what the closure of n vertices will want, side by side, where a backend compiles as it goes."""
        return

    # Memory, and its contents.

    @abstractmethod
    def empty(self, shape: tuple[int, ...]) -> Any:
        """A new matrix, uninitialised."""

    @abstractmethod
    def copy(self, B: Array, A: Array) -> None:
        """B ← A; they have one shape and must not overlap."""

    @abstractmethod
    def clear(self, C: Array) -> None:
        """C ← 0."""

    @abstractmethod
    def upload(self, array: Array, *, copy: bool = True) -> Any:
        """The array as this backend's matrix; `copy=False` returns the array itself where that is possible."""

    @abstractmethod
    def download(self, matrix: Array, out: Array = None) -> Any:
        """The matrix as a NumPy array, or into `out` (NumPy, or on the backend's device) where it is passed."""

    @abstractmethod
    def diagonal(self, A: Array) -> np.ndarray:
        """The entries (k, k) as a new NumPy array."""

    @abstractmethod
    def set_diagonal(self, A: Array, value: Any) -> None:
        """Entries (k, k) ← value, one scalar or a NumPy array of them."""

    def panel(self, shape: tuple[int, ...]) -> Any:
        """A new matrix to multiply by and to send: in one piece of memory, with rows that products read fast."""
        return self.empty(shape)

    def flat(self, panel: Array) -> Array:
        """All memory of what `panel` returned, as an array with one axis."""
        return panel.reshape(-1)

    def concurrent_queue(self) -> ConcurrentQueue | None:
        """A second queue of verbs, concurrent with the caller's; None where verbs are done when they return."""
        return None

    def window_io(self, slow: SlowMatrix, unit: int) -> WindowIO:
        """Asynchronous reads and writes of windows of a matrix in slow memory; see `semiring.tiles.windows`.

        `slow` is a `SlowMatrix`, and `unit` the size of the blocks of which its windows are made.
        """
        from .tiles.windows import HostWindowIO

        return HostWindowIO(slow, unit)

    def allocate_result(self, shape: tuple[int, ...]) -> tuple[np.ndarray, Future[None] | None]:
        """A new NumPy array to download into, and a future, done when all its pages are mapped; or None."""
        return np.empty(shape, self.dtype), None

    def synchronize(self) -> None:  # noqa: B027 (where verbs are done when they return, there is nothing to do)
        """Wait until all verbs so far are done."""

    def stopwatch(self) -> Stopwatch:
        """A clock that runs from now, after all verbs so far."""
        return HostStopwatch(self)

    def energy(self) -> float | None:
        """Joules that the device has used since a fixed time; None where it does not report it."""
        return None

    def resources(self, verb: str, n: int) -> str:
        """What the kernel of a verb on n × n takes of the device, as text; empty where no compiler says."""
        return ""

    def matrix_bytes(self, m: int, n: int) -> int:
        """Bytes of an m × n matrix."""
        return m * n * self.dtype.itemsize if self.grain == 1 else m * -(-n // 64) * 8

    def workspace(self, n: int) -> int:
        """Bytes in addition to an n × n matrix while its closure is computed, whatever the schedule."""
        half = -(-n // 2)
        return max(self.verb_workspace("closure", min(n, self.pivot), 0, 0), self.elimination_workspace(half, half))

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        """Bytes of workspace of a verb with an m × n output and inner size k; of `closure` and `step`, m × m."""
        raise NotImplementedError(
            f"the {self.device} backend does not know the workspace of {verb}; check knows_workspaces first"
        )

    def elimination_workspace(self, d: int, rest: int) -> int:
        """Bytes of workspace of `eliminate`, where D is d × d and the other blocks have `rest` rows or columns."""
        bytes_of = self.verb_workspace
        return max(bytes_of("left_mul", d, rest, d), bytes_of("gemm", rest, rest, d), bytes_of("right_mul", rest, d, d))


def by_halves(A: Array, ops: Backend) -> None:
    """A ← A* by the closures of its two halves."""
    h = len(A) // 2
    A11, A12, A21, A22 = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    ops.closure(A11)
    ops.eliminate(A11, A12, A21, A22)
    ops.closure(A22)
    ops.eliminate(A22, A21, A12, A11)


class HostStopwatch:
    """Seconds of the host's clock, between two moments at which the backend has nothing left to do."""

    def __init__(self, ops: Backend) -> None:
        self._ops, self.seconds = ops, 0.0
        ops.synchronize()
        self._start = clock()

    def stop(self) -> None:
        """Stop after all verbs so far."""
        self._ops.synchronize()
        self.seconds = clock() - self._start
