"""Any array-like as a NumPy or CuPy array of a dtype that a semiring computes in."""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from . import dtypes, memory
from .algebra import Semiring
from .errors import DeviceError, DTypeError, SemiringError, ShapeError

#: The integer dtypes whose largest value stands for ∞.
_WITH_INFINITY = (np.dtype("int16"), np.dtype("int32"), np.dtype("int64"))
#: Below this float64 holds every integer, and a float is no rounded one.
_EXACT = 2**53


def module(array: Any) -> Any:
    """numpy or cupy: the module whose functions take this array."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def diagonal(matrix: Any) -> Any:
    """The diagonal of a matrix, of any size, as a view to read and write; no kernel is compiled for its indices."""
    return np.einsum("ii->i", matrix) if isinstance(matrix, np.ndarray) else matrix.diagonal()


def to_device(array: Any, device: str) -> Any:
    """A NumPy array as NumPy or CuPy, by the device's name."""
    if device == "cpu":
        return array
    import cupy

    return cupy.asarray(array)


_HERE: AbstractContextManager[Any] = nullcontext()


def there(array: Any) -> AbstractContextManager[Any]:
    """The GPU on which an array lies as the current one, on which CuPy launches, while this lasts. None for the CPU.

    Parameters
    ----------
    array : array of any library, BitMatrix, or None
    """
    if array is None or type(array) is np.ndarray:
        return _HERE
    if is_plain(array) and array.data.device_id == _current():
        return _HERE
    number = _gpu(getattr(array, "words", array))
    if number is None:
        return _HERE
    import cupy

    found: AbstractContextManager[Any] = cupy.cuda.Device(number)
    return found


def _current() -> int:
    """The number of the current GPU."""
    from cupy.cuda import runtime

    return int(runtime.getDevice())


def is_plain(array: Any) -> bool:
    """Whether this is NumPy's or CuPy's own array, of numbers or truth values: most are, and the rest takes time."""
    kind = type(array)
    ours = kind is np.ndarray or (kind.__name__ == "ndarray" and kind.__module__ == "cupy")
    return ours and array.dtype.kind in "biuf"


def _gpu(array: Any) -> int | None:
    """The number of the GPU on which an array lies; None where it lies elsewhere, or does not tell."""
    try:
        if hasattr(array, "__dlpack_device__"):
            kind, number = array.__dlpack_device__()
            return int(number) if kind == _CUDA else None
        if hasattr(array, "__cuda_array_interface__"):
            from cupy.cuda import runtime

            return int(runtime.pointerGetAttributes(array.__cuda_array_interface__["data"][0]).device)
    except Exception:  # the other library's, which says the same when it is to export the array
        return None
    return None


class Taken(NamedTuple):
    """An array taken in to compute on, and what it came as.

    Attributes
    ----------
    array : NumPy or CuPy array
        In the memory of what came, where that is possible.
    source : object
        What came.
    made : bool
        Whether `array` has memory of its own, made here.
    """

    array: Any
    source: Any
    made: bool

    def conformed(self, semiring: Semiring, dtype: Any = None, *, where: str) -> Taken:
        """In the dtype asked for, or in the one the semiring resolves; see `conform`."""
        array = conform(self.array, semiring, dtype, where=where)
        return Taken(array, self.source, self.made or array is not self.array)

    def check_writable(self, dtype: np.dtype, *, where: str) -> None:
        """Refuse to compute in the memory of what came, where that cannot be: `overwrite=True` means nothing else.

        Raises
        ------
        DTypeError
            If it has another dtype than is computed in, or no memory to write to, or is immutable.
        ValueError
            If it is a read-only array.
        """
        if self.unwritable:
            raise DTypeError(f"{where}: overwrite=True must be given an array to write to, got {self.unwritable}.")
        if self.array.dtype != dtype or not self.array.dtype.isnative or self.made:
            given = getattr(self.source, "dtype", self.array.dtype)
            raise DTypeError(
                f"{where}: overwrite=True must work in A's own memory, so A must be a native {dtype} array, "
                f"got {given}. Convert it first, or leave overwrite out."
            )
        if isinstance(self.array, np.ndarray) and not self.array.flags.writeable:
            raise ValueError(f"{where}: overwrite=True must be given a writeable array, got a read-only one.")

    @property
    def unwritable(self) -> str:
        """What came, in words, where it is no array or never changes; else nothing."""
        came = type(self.source).__name__
        if _library(self.source) in _IMMUTABLE:
            return f"an immutable {came}"
        view = self.array is self.source or not isinstance(self.array, np.ndarray) or self.array.base is not None
        return came if (self.made or not view) and not _is_half(self.source) else ""

    def give_back(self, result: Any, *, where: str) -> Any:
        """A result in kind: of the library that the array came from, on its device, in the order of its stream.

        A result in the memory of what came is the very object that came.

        Raises
        ------
        DTypeError
            If that library has no such dtype, as JAX has no 64 bits unless told.
        """
        if type(self.source) is np.ndarray or (result is not self.array and _library(self.source) == "cupy"):
            return result
        xp = _namespace(self.source)
        if result is self.array and not self.made:
            if xp is not None and not isinstance(result, np.ndarray):
                _wait()  # its library knows nothing of our stream
            return self.source
        if xp is None:
            return result
        back = xp.from_dlpack(result)
        if str(back.dtype).rpartition(".")[2] != result.dtype.name:
            raise DTypeError(
                f"{where}: {xp.__name__} must hold a result of {result.dtype}, got {back.dtype} from it. Say "
                "dtype='float32' or 'int32', or allow 64 bits (in JAX: jax.config.update('jax_enable_x64', True))."
            )
        return back


def take_in(source: Any, *, where: str) -> Taken:
    """The source as a NumPy array, or as a CuPy array if its data lies on a GPU; nothing is copied that need not be.

    NumPy and CuPy arrays; anything with DLPack, which is asked first, as it keeps the order of streams, or with
    `__cuda_array_interface__`; nested sequences of numbers. bfloat16, which NumPy does not have, becomes float32.

    Raises
    ------
    DTypeError
        For masked arrays, sparse matrices, entries that are not real numbers, what its library does not export, and
        integers in a list that neither int64 nor float64 holds.
    ShapeError
        For rows that are not equally long.

    Examples
    --------
    >>> taken = take_in([[0, 3], [1, 0]], where="example")
    >>> taken.array.dtype.name, taken.made
    ('int64', True)
    """
    if is_plain(source):
        return Taken(source, source, False)
    if isinstance(source, np.ma.MaskedArray):
        raise DTypeError(f"{where}: a plain array is required, got a masked one. Fill it: A.filled(zero).")
    if hasattr(source, "tocsr") or hasattr(source, "tocoo"):
        raise DTypeError(
            f"{where}: a dense array is required, got {type(source).__name__}. "
            "Absent entries need a value: apsp.closure and apsp.shortest_paths take sparse matrices as graphs."
        )
    try:
        array, made = _taken(source, where)
    except SemiringError:
        raise
    except Exception as error:  # the other library's, whatever it is
        raise _not_exported(source, error, where) from error
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"{where}: entries must be real numbers or booleans, got dtype {array.dtype}.")
    return Taken(array, source, made)


def in_kind_of(*taken: Taken, where: str) -> Taken:
    """The operand as which a result goes back: any of them, as long as all are of one library and lie on one device.

    Lists go with any.

    Raises
    ------
    DTypeError
        If they are of several libraries.
    DeviceError
        If they lie on several devices: a kernel on one cannot read what lies on another.
    """
    first, *others = taken
    for other in others:
        if _is_list(first.source):
            first = other
        elif not _is_list(other.source):
            if type(other.source) is not type(first.source) and _kind(other.source) != _kind(first.source):
                raise DTypeError(
                    f"{where}: operands must be arrays of one library, got {_kind(first.source)} and "
                    f"{_kind(other.source)}. Convert one of them."
                )
            here, other_one = _place(first.array), _place(other.array)
            if here != other_one:
                raise DeviceError(
                    f"{where}: operands must lie on one device, got {here} and {other_one}. Move one of them."
                )
    return first


def _place(array: Any) -> str:
    """Where NumPy's or CuPy's array lies."""
    return "the CPU" if isinstance(array, np.ndarray) else f"GPU {array.data.device_id}"


def _is_list(source: Any) -> bool:
    """Whether these are numbers of Python's, which are of no library."""
    return isinstance(source, (list, tuple, int, float))


def _kind(source: Any) -> str:
    """The library whose arrays go back for this one."""
    if _library(source) == "cupy":
        return "cupy"
    found = _namespace(source)
    return "numpy" if found is None else str(found.__name__)


def asarray(source: Any, *, where: str) -> Any:
    """The array of `take_in`."""
    return take_in(source, where=where).array


#: Libraries whose arrays never change.
_IMMUTABLE = frozenset(("jax", "jaxlib", "tensorflow"))


def _taken(source: Any, where: str) -> tuple[Any, bool]:
    """NumPy's or CuPy's array, and whether it has memory of its own."""
    if isinstance(source, np.ndarray):
        array: Any = np.asarray(source)
        return (array.astype(np.float32), True) if _is_half(array) else (array, False)
    if _library(source) == "cupy":
        if not _is_half(source):
            return source, False
        with there(source):
            return source.astype(np.float32), True
    if hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__"):
        plain = source.resolve_neg() if hasattr(source, "resolve_neg") else source  # torch exports −x as x
        half = _is_half(source)
        if half:
            xp = _namespace(source)
            plain = plain.to(xp.float32) if hasattr(plain, "to") else xp.astype(plain, xp.float32)
        array = _from_dlpack(plain)
        frozen = isinstance(array, np.ndarray) and not array.flags.writeable
        return array, plain is not source and not frozen  # what JAX converted for us is still immutable
    if hasattr(source, "__cuda_array_interface__"):
        import cupy

        return cupy.asarray(source), False
    return from_sequence(source, where=where), isinstance(source, (list, tuple))


def _library(source: Any) -> str:
    """The package that an object's class comes from."""
    return type(source).__module__.partition(".")[0]


def _is_half(source: Any) -> bool:
    """Whether entries are bfloat16, by the name that every library gives it."""
    return str(getattr(source, "dtype", "")).rpartition(".")[2] == "bfloat16"


def _namespace(source: Any) -> Any:
    """The module of another library that makes its arrays of ours; None for NumPy, CuPy, and what has none."""
    if isinstance(source, np.ndarray) or _library(source) in ("numpy", "cupy"):
        return None
    if hasattr(source, "__array_namespace__"):
        found = source.__array_namespace__()
    else:
        found = sys.modules.get("torch") if _library(source) == "torch" or _is_tensor(source) else None
    return found if hasattr(found, "from_dlpack") else None


def _is_tensor(source: Any) -> bool:
    """Whether this is a subclass of torch's tensor, such as a parameter."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, getattr(torch, "Tensor", ()))


def _not_exported(source: Any, error: Exception, where: str) -> DTypeError:
    way = "Convert it to a NumPy or CuPy array first."
    if getattr(source, "requires_grad", False):
        way = "Pass A.detach(): no gradient goes through here."
    elif "sparse" in str(getattr(source, "layout", "")):
        way = "Pass (A.indices(), A.values()) of the coalesced tensor as a graph, or a dense one with inf for no edge."
    elif "racer" in type(source).__name__:
        way = "Call this outside of jit."
    reason = str(error).partition("\n")[0].rstrip(".")
    return DTypeError(f"{where}: an array must be exported by DLPack, got {type(source).__name__}: {reason}. {way}")


def from_sequence(source: Any, *, where: str) -> np.ndarray:
    """Nested sequences as an array. NumPy alone would round integers beyond 2⁵³ that have a float beside them.

    Raises
    ------
    ShapeError
        If rows are not equally long.
    DTypeError
        If a number does not fit; see `exact`.
    """
    try:
        array = np.asarray(source)
    except OverflowError:
        array = np.asarray(source, dtype=object)
    except ValueError as error:
        raise ShapeError(f"{where}: rows must be equally long, got {error}.") from None
    large = array.dtype.kind == "f" and bool((np.isfinite(array) & (np.abs(array) >= _EXACT)).any())
    if array.dtype.kind == "O" or (large and isinstance(source, (list, tuple))):
        objects = np.asarray(source, dtype=object)
        if all(isinstance(value, (int, float, np.integer, np.floating)) for value in objects.flat):
            return exact(objects, where=where)
    return array


def exact(values: np.ndarray, *, where: str) -> np.ndarray:
    """An array of Python's numbers as int64 where all are integers that fit, else as float64.

    Raises
    ------
    DTypeError
        If float64 is too small for a number, or would round an integer. Fractions and decimals are rounded.
    """
    integers = [int(value) if isinstance(value, (int, np.integer)) else None for value in values.flat]
    info = np.iinfo(np.int64)
    if all(integer is not None and info.min <= integer <= info.max for integer in integers):
        return np.array(integers, dtype=np.int64).reshape(values.shape)
    floats: list[float] = []
    for at, (value, integer) in enumerate(zip(values.flat, integers, strict=True)):
        try:
            near = float(value)
        except OverflowError:
            near = math.inf
        if (integer is not None and integer != near) or (math.isinf(near) and value != near):
            shown = value if integer is None else _digits(integer)
            index = at if values.ndim == 1 else tuple(map(int, np.unravel_index(at, values.shape)))
            raise DTypeError(
                f"{where}: 64 bits must hold every integer exactly and every number, got {shown} at {index}. "
                "Convert it to a float if it may be rounded."
            )
        floats.append(near)
    return np.array(floats, dtype=np.float64).reshape(values.shape)


def _digits(integer: int) -> str:
    return str(integer) if integer.bit_length() <= 128 else f"an integer of {integer.bit_length()} bits"


#: What DLPack calls the places where we compute.
_CPU, _CUDA, _PINNED = 1, 2, 3


def _wait() -> None:
    """Until the current stream of CuPy's is done."""
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def _from_dlpack(source: Any) -> Any:
    kind = int(source.__dlpack_device__()[0])
    if kind in (_CPU, _PINNED):
        return np.from_dlpack(source)
    if kind == _CUDA:
        import cupy

        return cupy.from_dlpack(source)
    raise DTypeError(f"DLPack data must lie on a CPU or an NVIDIA GPU, got device type {kind}. Move it there first.")


def conform(array: Any, semiring: Semiring, dtype: Any = None, *, where: str, first: int = 0) -> Any:
    """The array in the dtype asked for, or in the one the semiring resolves; the same array where it already fits.

    ∞ keeps its meaning: inf becomes an integer dtype's end, and an integer's end becomes inf or the wider end. `first`
    is the number of the array's first item, for messages.

    Raises
    ------
    DTypeError
        If the semiring has no such dtype.
    DTypeError
        If a finite value cannot be represented: a fraction in an integer dtype, a number beyond its range, an integer
        that float64 would round. (float32 rounds, as whoever asks for it knows.)
    """
    if semiring.dtypes == ("bool",) and array.dtype.kind != "b":
        return _as_bool(array, semiring, where)
    target = dtypes.resolve(semiring, array.dtype if dtype is None else dtype, where=where)
    if array.dtype == target and array.dtype.isnative:
        return array
    if array.dtype.kind == "b":
        dtypes.resolve(semiring, array.dtype, where=where)  # a boolean is no number: the same refusal, whatever dtype
    memory.require(
        array.size * target.itemsize,
        _device(array),
        where=f"{where}: a copy in {target}",
        hint=f"Pass an array of {target}.",
    )
    out = module(array).empty(array.shape, target)
    for part in dtypes.chunks(array.shape):  # no mask is as large as the array
        out[part] = _converted(array[part], semiring, target, part, where, first)
    return out


def _converted(
    array: Any, semiring: Semiring, target: np.dtype, part: tuple[slice, ...], where: str, first: int
) -> Any:
    """A part of an array in the dtype `target`."""
    at = (part[0].start + first, *(axis.start for axis in part[1:]))
    xp = module(array)
    with np.errstate(all="ignore"):
        out = array.astype(target)
    source = array.dtype.newbyteorder("=")
    if target.kind == "i":
        info = np.iinfo(target)
        if source.kind == "f":
            finite = xp.isfinite(array)
            wrong = finite & ((array != xp.floor(array)) | (array >= info.max) | (array <= info.min))
            out[array == math.inf], out[array == -math.inf] = info.max, info.min
            nan = xp.isnan(array)
            _refuse(array, nan, at, f"{where}: {semiring.name} entries must not be NaN")
        else:
            top, bottom = _ends(source, xp, array)
            wrong = ~top & ~bottom & ((array >= info.max) | (array <= info.min))  # its ends stand for ∞
            out[top], out[bottom] = info.max, info.min
        _refuse(array, wrong, at, f"{where}: {target} must hold every entry exactly")
    elif source.kind in "iu":
        top, bottom = _ends(source, xp, array)
        if target.itemsize == source.itemsize == 8:
            _refuse(
                array,
                _rounded(array, out, ~top & ~bottom),
                at,
                f"{where}: {target} must hold every integer exactly",
                "Convert them first if they may be rounded.",
            )
        if semiring.zero in (math.inf, -math.inf):
            out[top], out[bottom] = math.inf, -math.inf
    elif source.kind == "f":
        _refuse(array, xp.isinf(out) & ~xp.isinf(array), at, f"{where}: {target} must hold every finite entry")
    return out


def _device(array: Any) -> str:
    return "cpu" if isinstance(array, np.ndarray) else "cuda"


def _ends(source: np.dtype, xp: Any, array: Any) -> tuple[Any, Any]:
    """Masks of the entries that stand for +∞ and −∞ in an integer array."""
    if source not in _WITH_INFINITY:
        none = xp.zeros(array.shape, dtype=bool)
        return none, none
    info = np.iinfo(source)
    return array == info.max, array == info.min


def _rounded(integers: Any, floats: Any, finite: Any) -> Any:
    """Which 64-bit integers, of those that stand for no infinity, are no longer what they were."""
    rounded = finite & ((floats >= _EXACT) | (floats <= -_EXACT))
    at = rounded.nonzero()  # few, as a rule
    back = floats[at]
    inside = back < 2.0 ** (63 if integers.dtype.kind == "i" else 64)  # what is outside cannot be turned back
    rounded[at] = ~inside | ((back * inside).astype(integers.dtype.newbyteorder("=")) != integers[at])
    return rounded


def _refuse(array: Any, wrong: Any, at: tuple[int, ...], requirement: str, hint: str = "Use a wider dtype.") -> None:
    """Name the first of the wrong entries, where the array begins at index `at` of the one that came."""
    if bool(wrong.any()):
        index = tuple(int(i[0]) for i in wrong.nonzero())
        shown = tuple(i + (at[axis] if axis < len(at) else 0) for axis, i in enumerate(index))
        raise DTypeError(f"{requirement}, got {array[index].item()} at {shown}. {hint}")


def _as_bool(array: Any, semiring: Semiring, where: str) -> Any:
    """Numbers as truth values, only where each is 0 or 1: what else would be an edge is for the caller to say."""
    memory.require(array.size, _device(array), where=f"{where}: a copy in bool", hint="Pass an array of bool.")
    out = module(array).empty(array.shape, bool)
    for part in dtypes.chunks(array.shape):
        if bool(((array[part] != 0) & (array[part] != 1)).any()):
            dtypes.resolve(semiring, array.dtype, where=where)
        out[part] = array[part] != 0
    return out
