"""∞ and 0 in each dtype, resolution of dtypes, and partition of arrays into small parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ..host.errors import DomainError, DTypeError
from ..host.types import Array, DType
from .records import Semiring


def encode(value: Any, dtype: DType) -> Any:
    """Mathematical value as a scalar of `dtype`; ±inf become the ends of an integer dtype.

    Examples
    --------
    >>> int(encode(float("inf"), "int16"))
    32767
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "i" and isinstance(value, float) and math.isinf(value):
        info = np.iinfo(dtype)
        return dtype.type(info.max if value > 0 else info.min)
    return dtype.type(value)


def zero(semiring: Semiring, dtype: DType) -> Any:
    return encode(semiring.zero, dtype)


def one(semiring: Semiring, dtype: DType) -> Any:
    return encode(semiring.one, dtype)


@cache
def name(dtype: np.dtype) -> str:
    """Cached dtype name; NumPy computes it slowly."""
    return dtype.name


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
    """NumPy expression in which True weighs 1, as unweighted edges do, and False is the zero."""
    target = max(of(semiring), key=lambda dtype: (dtype.kind == "f", dtype.itemsize))
    nil = zero(semiring, target).item()
    shown = repr(nil) if math.isfinite(nil) else "np.inf" if nil > 0 else "-np.inf"
    text = f"np.where(A, {target.type(1).item()!r}, {shown})"
    return text if target.itemsize == 8 else f"{text}.astype({target.name!r})"


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


#: Entries surveyed or converted at a time, to keep temporaries small.
_CHUNK = 1 << 18
#: Entries computed together on the CPU, so that temporaries stay in cache.
TOGETHER = 1 << 16


def largest_finite(A: Array) -> float:
    """Largest |entry| that is not infinite; 0 if there is none."""
    ends: tuple[float, float] = (-math.inf, math.inf)
    if A.dtype.kind == "i":
        ends = (np.iinfo(A.dtype).min, np.iinfo(A.dtype).max)
    largest = 0.0
    for part in parts(A):
        if not part.size:
            continue
        low, high = part.min(), part.max()
        if low == ends[0] or high == ends[1]:
            finite = part[(part != ends[0]) & (part != ends[1])]
            low, high = (finite.min(), finite.max()) if finite.size else (0, 0)
        largest = max(largest, abs(float(low)), abs(float(high)))
    return largest


def chunks(shape: tuple[int, ...], entries: int = _CHUNK) -> Iterator[tuple[Any, ...]]:
    """Slices that partition an array of this shape into parts of about `entries` entries; (None,) without axes."""
    if not shape:
        yield (None,)
        return
    item = math.prod(shape[1:])
    if item > entries and len(shape) > 2:
        for index in range(shape[0]):
            yield from ((slice(index, index + 1), *part) for part in chunks(shape[1:], entries))
        return
    rows = max(1, entries // max(1, item))
    for start in range(0, shape[0], rows):
        yield (slice(start, min(start + rows, shape[0])),)


def parts(A: Array) -> Iterator[Any]:
    return (A[part] for part in chunks(A.shape))
