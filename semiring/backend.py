"""The contract between schedules and kernels: seven verbs on tiles, bound to one semiring and one dtype.

A schedule is written against `Backend` alone. A backend is one folder beside `cpu/`, and its name in `BACKENDS`.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any, Protocol

import numpy as np

from .algebra import Semiring
from .errors import DeviceError

#: device name → the module whose `bind(semiring, dtype, nonnegative=…)` returns a Backend.
BACKENDS = {"cpu": "semiring.cpu", "cuda": "semiring.cuda"}

_INTERFACE = "__cuda_array_interface__"


class Backend(Protocol):
    """Verbs on 2-D matrices of `dtype` over `semiring`; every one updates its output in place.

    Matrices are whatever the backend's `upload` returns, or slices of it. Sizes are arbitrary, zero included.

    Attributes
    ----------
    pivot : int
        The pivot block for which `closure` is built: the default blocking factor.
    cutover : int
        The size from which recursion hands over to the blocked schedule; `pivot` where it never should.
    grain : int
        Matrices may be sliced at multiples of this only: 1, or the word size where columns are packed bits.

    A backend may also have `closure_batch(A, blocked, out=…)`: A[i] ← A[i]*, or out[i] ← A[i]*, for (batch, n, n) with
    n at most `pivot`, in one call; `blocked` is a schedule for those that it closes block by block, all at once. One
    that can work on several products at a time may have `eliminate(D, R, C, rest)`, as the function below. One that
    need not read what a product is written over may have `matmul(C, A, B)`: C ← A ⊗ B. One that knows what each verb
    holds may have `room(verb, m, n, k)`: the bytes of a verb whose output is m × n, k the inner size; of `closure` and
    `step` the matrix is m × m. One that compiles as it goes may have `prepare(n)`: what the closure of n vertices will
    want, now and side by side. One with a memory of its own has `landing(shape)`: a NumPy array to download into, whose
    pages are asked for meanwhile.
    """

    device: str
    semiring: Semiring
    dtype: np.dtype
    pivot: int
    cutover: int
    grain: int

    def gemm(self, C: Any, A: Any, B: Any) -> None:
        """C ← C ⊕ A ⊗ B, C apart from A and B."""

    def left_mul(self, D: Any, R: Any) -> None:
        """R ← D ⊗ R, D square and apart from R."""

    def right_mul(self, C: Any, D: Any) -> None:
        """C ← C ⊗ D, D square and apart from C."""

    def closure(self, D: Any) -> None:
        """D ← D*, one pivot block of at most `pivot` rows (more is right, only slow): Floyd–Warshall."""

    def step(self, A: Any, k: int) -> None:
        """A ← A ⊕ A[:,k] ⊗ a* ⊗ A[k,:] with a = A[k,k]: one Floyd–Warshall step on the whole matrix."""

    def empty(self, shape: tuple[int, ...]) -> Any:
        """A new matrix, uninitialised."""

    def upload(self, array: Any, *, copy: bool = True) -> Any:
        """The array as this backend's matrix; `copy=False` returns the array itself where that is possible."""

    def download(self, matrix: Any, out: Any = None) -> Any:
        """The matrix as a NumPy array, or into `out` (NumPy, or on the backend's device) where it is given."""

    def synchronize(self) -> None:
        """Wait until all verbs so far are done."""

    def workspace(self, n: int) -> int:
        """Bytes held beside an n × n matrix while its closure is computed."""


def eliminate(ops: Backend, D: Any, R: Any, C: Any, rest: Any) -> None:
    """R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← C ⊗ D: by the backend's own verb, else by three in turn.

    With D = A11*, R = A12, C = A21 and rest = A22 this is what remains of [[A11, A12], [A21, A22]]* when D is closed
    and before rest is: block Gaussian elimination.
    """
    own = getattr(ops, "eliminate", None)
    if own:
        own(D, R, C, rest)
    else:
        in_turn(ops, D, R, C, rest)


def in_turn(ops: Backend, D: Any, R: Any, C: Any, rest: Any) -> None:
    """`eliminate` by three verbs. C is multiplied last, so that rest meets D once."""
    ops.left_mul(D, R)
    ops.gemm(rest, C, R)
    ops.right_mul(C, D)


def elimination_room(ops: Any, d: int, rest: int) -> int:
    """The bytes that `in_turn` holds, where D is d × d and `rest` as many rows and columns as it says."""
    room = ops.room
    return max(room("left_mul", d, rest, d), room("gemm", rest, rest, d), room("right_mul", rest, d, d))


def cuda_available() -> bool:
    """Whether CuPy is installed and sees a GPU. (`import cupy` alone works without one.)"""
    try:
        import cupy
    except ImportError:
        return False
    try:
        return bool(cupy.cuda.is_available())
    except Exception:  # a broken driver raises whatever it likes; the answer is the same
        return False


def device_of(array: Any, device: str | None = None) -> str:
    """The device to compute on: the one asked for, else the one on which the array lies.

    Raises
    ------
    DeviceError
        If the device is unknown, or is "cuda" and there is none.
    """
    if device is None:
        # Asked of the type first: CuPy's property takes its time to describe the array.
        there = hasattr(type(array), _INTERFACE) or hasattr(array, _INTERFACE)
        return "cuda" if there and not isinstance(array, np.ndarray) else "cpu"
    if device not in BACKENDS:
        raise DeviceError(f"device must be one of {', '.join(BACKENDS)}, got {device!r}.")
    if device == "cuda" and not cuda_available():
        raise DeviceError(
            "device='cuda' needs an NVIDIA GPU and CuPy, got a machine without; "
            "install with `pip install \"semiring-apsp[cuda13]\"` or use device='cpu'."
        )
    return device


@cache
def _module(device: str) -> Any:
    return importlib.import_module(BACKENDS[device])


def bind(semiring: Semiring, dtype: Any, *, device: str = "cpu", nonnegative: bool = False, **options: Any) -> Backend:
    """A backend's verbs for one semiring and dtype.

    Parameters
    ----------
    semiring : Semiring
    dtype : dtype
        One of the semiring's own.
    device : {"cpu", "cuda"}
    nonnegative : bool
        That the data was looked at and no entry is below 0 other than the semiring's zero: permits variants.
    **options
        A backend's own, for instance `threads=1` on the CPU.

    Raises
    ------
    DeviceError
        If the backend has no such option.
    """
    module = _module(device)
    if options:
        known = [name for name, p in inspect.signature(module.bind).parameters.items() if p.kind is p.KEYWORD_ONLY]
        foreign = ", ".join(name for name in options if name not in known)
        if foreign:
            raise DeviceError(f"bind: the {device} backend takes the options {', '.join(known)}, got {foreign}.")
    backend: Backend = module.bind(semiring, np.dtype(dtype), nonnegative=nonnegative, **options)
    return backend
