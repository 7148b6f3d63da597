"""Records of dtypes, ∞ and 0 in each, resolution of dtypes, and partition of arrays into small parts.

A dtype is one row of `SCALARS`. A dtype without a row, or whose row has nothing for a backend, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..host.errors import DomainError, DTypeError
from ..host.types import Array, DType, Scalar

if TYPE_CHECKING:
    from .records import Semiring


class DTypeRecord:
    """Numbers of one dtype.

    Of integers the ends stand for infinities: the greatest for ∞, the least for −∞ if the dtype is signed.

    name : NumPy's
    cpu : whether numba kernels are compiled for it
    cuda : C++ types in memory, in a register, and for saturating operations; () if there are no kernels
    entries : whether semirings may be defined on it
    boolean, integer, floating, signed : its kind
    order : comparison by LLVM: "s" signed integers, "u" unsigned, "f" floats; "" if there are no kernels
    low, high : least and greatest number, infinities included
    infinities : what stands for them, of integers
    bounds : of integers, finite ones lie strictly between
    eps : relative spacing of numbers; 0 where they are exact
    """

    low: Scalar
    high: Scalar

    def __init__(self, name: str, cuda: tuple[str, ...] = (), *, cpu: bool = True, entries: bool = True) -> None:
        dtype = np.dtype(name)
        self.name, self.cuda, self.entries = name, cuda, entries
        self.boolean, self.integer = dtype.kind == "b", dtype.kind in "iu"
        self.floating, self.signed = dtype.kind == "f", dtype.kind in "if"
        self.order = ("f" if self.floating else "s" if self.signed else "u") if cpu else ""
        self.low, self.high = (-math.inf, math.inf) if self.floating else (False, True)
        self.eps = float(np.finfo(dtype).eps) if self.floating else 0.0
        self.infinities: dict[float, int] = {}
        if self.integer:
            self.low, self.high = np.iinfo(dtype).min, np.iinfo(dtype).max
            self.infinities = {math.inf: self.high} | ({-math.inf: self.low} if self.signed else {})
        self.bounds = self.infinities.get(-math.inf, -1), self.high

    def holds(self, value: float) -> bool:
        """Whether a Python number is one of the dtype, rounded if floating."""
        if self.floating:
            return math.isinf(value) or abs(value) <= float(np.finfo(self.name).max)
        return value in self.infinities or (self.low <= value <= self.high and value == int(value))


class _Table(dict[np.dtype, DTypeRecord]):
    """Records by dtype, in either byte order; DTypeError for dtypes without one."""

    def __missing__(self, dtype: DType) -> DTypeRecord:
        found = self.get(np.dtype(dtype).newbyteorder("="))
        if found is None:
            known = ", ".join(x.name for x in self.values() if x.entries)
            raise DTypeError(
                f"dtype: entries must be of {known}, got {dtype}. Convert the array first, as by A.astype('float64')."
            )
        return found


SCALARS = _Table(
    (np.dtype(record.name), record)
    for record in (
        DTypeRecord("int8", ("signed char", "int", "int"), cpu=False, entries=False),  # hop counts
        DTypeRecord("int16", ("short", "int", "int")),
        DTypeRecord("int32", ("int", "int", "long long")),
        DTypeRecord("int64", ("long long", "long long", "__int128")),
        DTypeRecord("float32", ("float", "float", "float")),
        DTypeRecord("float64", ("double", "double", "double")),
        DTypeRecord("bool", ("bool", "int", "int")),
    )
)


def encode(value: Any, dtype: DType) -> Any:
    """Mathematical value as a scalar of `dtype`; ±inf become the ends of an integer dtype.

    Examples
    --------
    >>> int(encode(float("inf"), "int16"))
    32767
    """
    dtype = np.dtype(dtype)
    if isinstance(value, float) and math.isinf(value):
        value = SCALARS[dtype].infinities.get(value, value)
    return dtype.type(value)


def zero(semiring: Semiring, dtype: DType) -> Any:
    return encode(semiring.zero, dtype)


def one(semiring: Semiring, dtype: DType) -> Any:
    return encode(semiring.one, dtype)


def plain(dtype: DType) -> np.dtype:
    """NumPy dtype for one of any library, such as torch.float32, by name; TypeError if there is none."""
    try:
        return np.dtype(dtype)
    except TypeError:
        if isinstance(dtype, str):
            raise
        return np.dtype(str(dtype).rpartition(".")[2])


def resolve(semiring: Semiring, dtype: DType, natural: Any = None, *, where: str = "semiring") -> np.dtype:
    """Dtype to compute in: the one requested, or the semiring's smallest that holds it safely.

    Without `dtype`, that of the data (`natural`); without either, float64 or the semiring's first. Raises DTypeError if
    none holds every value of `dtype`; bool is no number here.
    """
    if dtype is None:
        dtype = natural
    if dtype is None:
        dtype = "float64" if "float64" in semiring.dtypes else semiring.dtypes[0]
    try:
        requested = dtype if isinstance(dtype, np.dtype) else plain(dtype)
    except TypeError:
        raise DTypeError(
            f"{where}: dtype must be one of {', '.join(semiring.dtypes)} for {semiring.name}, got {dtype!r}."
        ) from None
    allowed = _named(semiring.dtypes)
    if requested in allowed:
        return requested
    native = requested.newbyteorder("=")
    if native in allowed:
        return allowed[allowed.index(native)]
    if native.kind != "b":
        for candidate in allowed:
            if np.can_cast(native, candidate, "safe"):
                return candidate
    hint = "Convert the array first"
    if native.kind == "b":
        hint = f"Say what True and False weigh, for instance {_weighed(semiring)}"
    elif allowed == (np.dtype(bool),):
        hint = "Say which entries are edges, for instance A < np.inf or A != 0"
    raise DTypeError(f"{where}: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {requested}. {hint}.")


def _weighed(semiring: Semiring) -> str:
    """NumPy expression where True weighs 1, as unweighted edges do, and False is the zero; one of a sparse matrix."""
    target = max(of(semiring), key=lambda dtype: (SCALARS[dtype].floating, dtype.itemsize))
    nil = zero(semiring, target).item()
    shown = repr(nil) if math.isfinite(nil) else "np.inf" if nil > 0 else "-np.inf"
    text, kind = f"np.where(A, {target.type(1).item()!r}, {shown})", repr(target.name)
    return f"{text}{'' if target.itemsize == 8 else f'.astype({kind})'}; of a sparse A: A.astype({kind})"


def of(semiring: Semiring) -> tuple[np.dtype, ...]:
    return _named(semiring.dtypes)


@cache
def _named(names: tuple[str, ...]) -> tuple[np.dtype, ...]:
    return tuple(np.dtype(name) for name in names)


def index_dtype(count: int) -> np.dtype:
    """Dtype for indices below `count`."""
    return np.dtype(np.int32 if count <= np.iinfo(np.int32).max else np.int64)


def too_many_hops(dtype: np.dtype, where: str = "Hops") -> DomainError:
    """DomainError for hop counts beyond an integer dtype."""
    return DomainError(
        f"{where}: {dtype} must hold every number of hops, up to {np.iinfo(dtype).max - 1}, got a vertex that is "
        "further away. Take a wider dtype, or give a limit."
    )


#: Entries surveyed or converted at a time, to keep temporaries small; on a GPU, where every part costs a wait.
_CHUNK, ON_GPU = 1 << 18, 1 << 24
#: Entries computed together on the CPU, so that temporaries stay in cache.
TOGETHER = 1 << 16


def largest_finite(A: Array) -> float:
    """Largest |entry| that is not infinite; 0 if there is none."""
    return float(max(map(abs, hull(A, SCALARS[A.dtype].infinities.values() or (math.inf, -math.inf)))))


def hull(A: Array, without: Collection[float]) -> tuple[Scalar, Scalar]:
    """Least and greatest of 0 and of the entries other than `without`."""
    least, greatest = 0, 0
    for part in parts(A):
        low, high = _ends(part)
        if low in without or high in without:
            for x in without:
                part = part[part != x]
            low, high = _ends(part)
        least, greatest = min(least, low), max(greatest, high)
    return least, greatest


def _ends(A: Array) -> tuple[Scalar, Scalar]:
    return (A.min().item(), A.max().item()) if A.size else (0, 0)


def chunks(A: Array, entries: int = _CHUNK) -> Iterator[tuple[Any, ...]]:
    """Slices that partition an array, or what has windows, into parts of about `entries` entries, on a GPU more.

    (None,) without axes.
    """
    on_gpu = not isinstance(A, np.ndarray) and hasattr(A, "__cuda_array_interface__")
    return _chunks(A.shape, max(entries, ON_GPU) if on_gpu else entries)


def _chunks(shape: tuple[int, ...], entries: int) -> Iterator[tuple[Any, ...]]:
    if not shape:
        yield (None,)
        return
    item = math.prod(shape[1:])
    if item > entries and len(shape) > 2:
        for index in range(shape[0]):
            yield from ((slice(index, index + 1), *part) for part in _chunks(shape[1:], entries))
        return
    rows = max(1, entries // max(1, item))
    for start in range(0, shape[0], rows):
        yield (slice(start, min(start + rows, shape[0])),)


def parts(A: Array) -> Iterator[Any]:
    return (A[part] for part in chunks(A))
