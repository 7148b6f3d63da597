"""Contract between schedules and kernels: verbs on tiles, bound to one semiring and one dtype.

Schedules are written against `Backend` alone; `semiring.kernels.backend.bind` chooses one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..host.compiling import Missing, clock
from ..host.types import Array

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..stores.tiles.windows import SlowMatrix, WindowIO


class Stopwatch(Protocol):
    """Clock that runs from its creation until `stop`."""

    def stop(self) -> None:
        """Stop after all preceding verbs."""

    @property
    def seconds(self) -> float:
        """Elapsed time; blocks until it is known."""


class ConcurrentQueue(Protocol):
    """Queue of verbs that run concurrently with others at higher priority; filled by `with queue: …`.

    They begin when everything queued before the `with` is done.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...

    def join(self) -> None:
        """Order the caller's subsequent verbs after those of this queue."""


class Backend(ABC):
    """Verbs on 2-D matrices of `dtype` over `semiring`; each updates its output in place.

    Matrices come from `upload`, or are slices of it. Any size, zero included. `semiring.kernels.verbs.VERBS` lists
    the verbs with their pairs and entries.

    Attributes
    ----------
    device : str
    semiring : Semiring
    dtype : numpy.dtype
    pivot : int
        Size of pivot block for which `closure` is built: the default blocking factor.
    cutover : int
        Size at which recursion switches to the blocked schedule; `pivot` if never.
    grain : int
        Slices must start at multiples of this: 1, or the word size of packed bits.
    threads : int
        CPU threads of verbs.
    variant : str
        Step c ⊕ a ⊗ b in use: "general", or a faster one that the data permit.
    knows_workspaces : bool
        Whether `verb_workspace` is exact by verb; else `workspace` is one figure for closures.
    aligns : bool
        Whether closures are faster on a copy with another leading dimension, made by `aligned`.
    looks_ahead : bool
        Whether verbs can run concurrently: `concurrent_queue` returns a queue.
    mirrors : int
        Number of vertices from which closures of symmetric matrices (`mirrored`) may be cheaper; 0: never.
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

    # Primitive verbs.

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
        """D ← D* of one pivot block (larger ones are correct, only slow): Floyd–Warshall."""

    @abstractmethod
    def step(self, A: Array, k: int) -> None:
        """A ← A ⊕ A[:,k] ⊗ a* ⊗ A[k,:] with a = A[k,k]: one Floyd–Warshall step on the entire matrix."""

    def missing(self, work: str) -> Missing:
        """Kernels to compile for a "closure", an "elimination", "hops" or "searches"."""
        return Missing()

    def aligned(self, A: Array) -> Any:
        """Matrix to close in place of A: A itself, or a copy on which verbs are faster."""
        return A

    # Derived verbs, which a backend may override.

    def eliminate(self, D: Array, R: Array, C: Array, rest: Any) -> None:
        """R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← C ⊗ D.

        Block Gaussian elimination of [[A11, A12], [A21, A22]]* with D = A11* closed, R = A12, C = A21, rest = A22. C is
        multiplied last, so that D is a factor of C R once.
        """
        self.left_mul(D, R)
        self.gemm(rest, C, R)
        self.right_mul(C, D)

    def eliminate_mirrored(self, D: Array, R: Array, C: Array, rest: Any) -> None:
        """`eliminate` for symmetric D and rest and R = Cᵀ, which stay so; requires `mirrored` of the entire matrix."""
        self.eliminate(D, R, C, rest)

    def mirrored(self, A: Array) -> bool:
        """Whether ⊗ commutes, ⊕ selects and A is symmetric, so that `eliminate_mirrored` and `mirror` apply."""
        s = self.semiring
        return s.mul.commutes and s.add.selects is not None and self.symmetric(A)

    def symmetric(self, A: Array) -> bool:
        """Whether A is known to be bitwise symmetric."""
        return False

    def mirror(self, A: Array) -> None:
        """A[i,j] ← A[j,i] for i < j."""
        for k in range(len(A)):
            A[k, k + 1 :] = A[k + 1 :, k]

    def gemms(self, products: Sequence[tuple[Any, Any, Any]]) -> None:
        """C ← C ⊕ A ⊗ B for each (C, A, B); no C overlaps any other operand."""
        for C, A, B in products:
            self.gemm(C, A, B)

    def add_one(self, A: Array) -> None:
        """A ← I ⊕ A, A square."""
        if len(A):
            add, one = self.semiring.add, dtypes.one(self.semiring, self.dtype)
            diagonal = self.diagonal(A)
            if add.ufunc is not None and (add.selects or dtypes.SCALARS[self.dtype].floating):
                united = add.ufunc(diagonal, one)
            else:
                united = np.array([add.python(x, one.item()) for x in diagonal.tolist()])
            self.set_diagonal(A, united.astype(self.dtype))

    def matmul(self, C: Array, A: Array, B: Array) -> None:
        """C ← A ⊗ B; C must not overlap A or B, and its old entries are not read."""
        self.clear(C)
        self.gemm(C, A, B)

    def prepared(self, m: int, n: int, k: int) -> Callable[[Array, Array, Array], None] | None:
        """`matmul` of contiguous (m, k) and (k, n) in one launch, which is chosen here; None if it takes several."""
        return None

    def matmul_batch(self, C: Array, A: Array, B: Array) -> None:
        """C[i] ← A[i] ⊗ B[i] on three axes; operands may have batch stride 0."""
        for c, a, b in zip(C, A, B, strict=True):
            self.matmul(c, a, b)

    def closure_batch(self, A: Array, blocked: Any = None, *, out: Array = None) -> None:
        """A[i] ← A[i]*, or out[i] ← A[i]*, for (batch, n, n).

        `blocked`: schedule by which a backend may close larger matrices block by block, all at once.
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
        """P[i,j] ← vertex before j on a best path from i, −9999 for none; D is the closure of A.

        Shapes (n, n) or (batch, n, n) on this device; A and D of `dtype`, not packed; P int32. `mirrored`: A and D are
        transposed, so ⊗ takes its operands in the other order. P depends on weights alone (docs/routes.md). Raises
        AlgebraError if ⊕ does not select, DomainError if D is not the closure of A.
        """
        raise NotImplementedError(f"the {self.device} backend finds no predecessors")

    def prepare(self, n: int) -> None:
        """Compile, in parallel, the kernels of the closure of n vertices."""
        return

    # Memory.

    @abstractmethod
    def empty(self, shape: tuple[int, ...]) -> Any:
        """New uninitialised matrix."""

    @abstractmethod
    def copy(self, B: Array, A: Array) -> None:
        """B ← A; equal shapes, no overlap."""

    @abstractmethod
    def clear(self, C: Array) -> None:
        """C ← 0."""

    @abstractmethod
    def upload(self, array: Array, *, copy: bool = True) -> Any:
        """Array as this backend's matrix; with `copy=False` the array itself if possible."""

    @abstractmethod
    def download(self, matrix: Array, out: Array = None) -> Any:
        """Matrix as a NumPy array, or into `out` (NumPy, or on the backend's device)."""

    @abstractmethod
    def diagonal(self, A: Array) -> np.ndarray:
        """Diagonal as a new NumPy array."""

    @abstractmethod
    def set_diagonal(self, A: Array, value: Any) -> None:
        """Diagonal ← value, a scalar or a NumPy array."""

    def panel(self, shape: tuple[int, ...]) -> Any:
        """New contiguous matrix for sending and fast products."""
        return self.empty(shape)

    def flat(self, panel: Array) -> Array:
        """All memory of a `panel` as a 1-D array."""
        return panel.reshape(-1)

    def concurrent_queue(self) -> ConcurrentQueue | None:
        """Second queue of verbs; None if verbs are synchronous."""
        return None

    def window_io(self, slow: SlowMatrix, unit: int) -> WindowIO:
        """Asynchronous window I/O on a `SlowMatrix` in blocks of size `unit`; see `semiring.stores.tiles.windows`."""
        from ..stores.tiles.windows import HostWindowIO

        return HostWindowIO(slow, unit)

    def allocate_result(self, shape: tuple[int, ...]) -> tuple[np.ndarray, Future[None] | None]:
        """New NumPy array to download into, and a future for the mapping of its pages, or None."""
        return np.empty(shape, self.dtype), None

    def synchronize(self) -> None:  # noqa: B027 (where verbs are done when they return, there is nothing to do)
        """Wait for all preceding verbs."""

    def stopwatch(self) -> Stopwatch:
        """Start a clock after all preceding verbs."""
        return HostStopwatch(self)

    def energy(self) -> float | None:
        """Joules used by the device since a fixed time; None if unreported."""
        return None

    def resources(self, verb: str, n: int) -> str:
        """Resource usage of a verb's kernel on n × n, as text; empty if no compiler reports it."""
        return ""

    def matrix_bytes(self, m: int, n: int) -> int:
        return m * n * self.dtype.itemsize if self.grain == 1 else m * -(-n // 64) * 8

    def workspace(self, n: int) -> int:
        """Bytes besides an n × n matrix while its closure is computed, for any schedule."""
        half = -(-n // 2)
        return max(self.verb_workspace("closure", min(n, self.pivot), 0, 0), self.elimination_workspace(half, half))

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        """Workspace bytes of a verb with an m × n output and inner size k; `closure` and `step` are m × m."""
        raise NotImplementedError(
            f"the {self.device} backend does not know the workspace of {verb}; check knows_workspaces first"
        )

    def elimination_workspace(self, d: int, rest: int) -> int:
        """Workspace bytes of `eliminate`: D is d × d, the other blocks have `rest` rows or columns."""
        bytes_of = self.verb_workspace
        return max(bytes_of("left_mul", d, rest, d), bytes_of("gemm", rest, rest, d), bytes_of("right_mul", rest, d, d))


def by_halves(A: Array, ops: Backend) -> None:
    """A ← A* by the closures of its halves."""
    h = len(A) // 2
    A11, A12, A21, A22 = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    ops.closure(A11)
    ops.eliminate(A11, A12, A21, A22)
    ops.closure(A22)
    ops.eliminate(A22, A21, A12, A11)


class HostStopwatch:
    """Stopwatch by the host's clock; waits for the backend at both ends."""

    def __init__(self, ops: Backend) -> None:
        self._ops, self.seconds = ops, 0.0
        ops.synchronize()
        self._start = clock()

    def stop(self) -> None:
        self._ops.synchronize()
        self.seconds = clock() - self._start
