"""Any array-like as a NumPy or CuPy array to compute on, and results back in kind."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from .algebra import Semiring
from .conversion import conform, from_sequence
from .devices import CPU, CUDA, PINNED, is_plain, on_device
from .errors import DeviceError, DTypeError, SemiringError, ShapeError
from .types import Array, DType

#: Libraries whose arrays never change.
_IMMUTABLE = frozenset(("jax", "jaxlib", "tensorflow"))


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

    def conformed(self, semiring: Semiring, dtype: DType = None, *, where: str) -> Taken:
        """In the dtype requested, or in the one the semiring resolves; see `conform`."""
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
            raise DTypeError(f"{where}: overwrite=True must have an array to write to, got {self.unwritable}.")
        if self.array.dtype != dtype or not self.array.dtype.isnative or self.made:
            found = getattr(self.source, "dtype", self.array.dtype)
            raise DTypeError(
                f"{where}: overwrite=True must work in A's own memory, so A must be a native {dtype} array, "
                f"got {found}. Convert it first, or leave overwrite out."
            )
        if isinstance(self.array, np.ndarray) and not self.array.flags.writeable:
            raise ValueError(f"{where}: overwrite=True must have a writeable array, got a read-only one.")
        require_apart(self.array, where=f"{where}: overwrite=True")

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
            If that library has no such dtype, as JAX has no 64 bits unless enabled.
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


def refuse_masked(source: Any, *, where: str, zero: str = "zero") -> None:
    """Refuse an array whose mask would be left out; `zero` is what it may be filled with.

    Raises
    ------
    DTypeError
    """
    if isinstance(source, np.ma.MaskedArray):
        raise DTypeError(f"{where}: a plain array is required, got a masked one. Fill it: A.filled({zero}).")


def take_in(source: Any, *, where: str) -> Taken:
    """The source as a NumPy array, or as a CuPy array if its data is on a GPU; nothing is copied that need not be.

    NumPy and CuPy arrays; anything with DLPack, which is tried first, as it keeps the order of streams, or with
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
    refuse_masked(source, where=where)
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


def with_axes(source: Any, *, where: str) -> Any:
    """The source where it is an array of any library; NumPy's of nested sequences, numbers and buffers.

    Raises
    ------
    ShapeError, DTypeError
        As `take_in`.
    """
    is_array = hasattr(source, "ndim") and not isinstance(source, memoryview)
    return source if is_array else from_sequence(source, where=where)


def in_kind_of(*taken: Taken, where: str) -> Taken:
    """The operand as which a result goes back: any of them, as long as all are of one library and on one device.

    Lists go with any.

    Raises
    ------
    DTypeError
        If they are of several libraries.
    DeviceError
        If they are on several devices: a kernel on one cannot read what is on another.
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
                    f"{where}: operands must be on one device, got {here} and {other_one}. Move one of them."
                )
    return first


def output_of(out: Array, kind: Taken, *, where: str) -> Taken:
    """Memory to write a result to, of the library that its operands are from.

    Raises
    ------
    DTypeError
        If it cannot be written to, or is of another library.
    """
    output = take_in(out, where=where)
    if output.unwritable:
        raise DTypeError(f"{where}: out must be an array to write to, got {output.unwritable}.")
    if output.made:
        raise DTypeError(f"{where}: out must have the result's dtype {output.array.dtype}, got {out.dtype}.")
    in_kind_of(kind, output, where=where)
    return output


def _place(array: Array) -> str:
    """The device of NumPy's or CuPy's array."""
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


def require_apart(array: Array, *, where: str) -> None:
    """Refuse to write to entries that share memory, as of a window that slides.

    Raises
    ------
    ValueError
    """
    reach = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < reach and array.size:
            raise ValueError(
                f"{where} must have an array of which each entry has memory of its own, got strides "
                f"{array.strides} for shape {array.shape} of {array.dtype}. Copy it first."
            )
        reach += stride * (size - 1)


def check_out(out: Array, shape: tuple[int, ...], dtype: DType, *, where: str) -> None:
    """Refuse an array that results of this shape and dtype cannot be written to.

    Raises
    ------
    ShapeError, DTypeError
        If its shape or dtype is another.
    ValueError
        If it is read-only, or entries share memory.
    """
    if out.shape != shape:
        raise ShapeError(f"{where}: out must have shape {shape}, got {out.shape}.")
    if out.dtype != dtype:
        raise DTypeError(f"{where}: out must have dtype {np.dtype(dtype)}, got {out.dtype}.")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError(f"{where}: out must be writeable, got a read-only array.")
    require_apart(out, where=f"{where}: out")


def asarray(source: Any, *, where: str) -> Any:
    """The array of `take_in`."""
    return take_in(source, where=where).array


def _taken(source: Any, where: str) -> tuple[Any, bool]:
    """NumPy's or CuPy's array, and whether it has memory of its own."""
    if isinstance(source, np.ndarray):
        array: Any = np.asarray(source)
        return (array.astype(np.float32), True) if _is_half(array) else (array, False)
    if _library(source) == "cupy":
        if not _is_half(source):
            return source, False
        with on_device(source):
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
        way = "Pass A.detach(): gradients go through apsp.closure and semiring.matmul alone."
    elif "sparse" in str(getattr(source, "layout", "")):
        way = "Pass (A.indices(), A.values()) of the coalesced tensor as a graph, or a dense one with inf for no edge."
    elif "racer" in type(source).__name__:
        way = "Call this outside of jit and grad, which apsp.closure and semiring.matmul alone go through."
    reason = str(error).partition("\n")[0].rstrip(".")
    return DTypeError(f"{where}: an array must be exported by DLPack, got {type(source).__name__}: {reason}. {way}")


def _wait() -> None:
    """Until the current stream of CuPy's is done."""
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def _from_dlpack(source: Any) -> Any:
    kind = int(source.__dlpack_device__()[0])
    if kind in (CPU, PINNED):
        return np.from_dlpack(source)
    if kind == CUDA:
        import cupy

        return cupy.from_dlpack(source)
    raise DTypeError(f"DLPack data must be on a CPU or an NVIDIA GPU, got device type {kind}. Move it first.")


def checked_sparse(source: Any, *, where: str) -> Any:
    """A compressed SciPy matrix whose indices have all been checked, as SciPy's compiled loops do not check them.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    if getattr(source, "format", None) not in ("csr", "csc", "bsr") or not isinstance(source.data, np.ndarray):
        return source
    try:
        # Another matrix object on the same arrays, as the check may change attributes of the object.
        same = type(source)((source.data, source.indices, source.indptr), shape=source.shape)
        same.check_format(full_check=True)
        if (np.diff(same.indptr) < 0).any():  # SciPy does not look where the last of them is 0
            raise ValueError("index pointer values must not decrease")
    except (ValueError, ArithmeticError) as error:
        raise ShapeError(f"{where}: the indices of a sparse matrix must be consistent, got {error}.") from error
    return same


def consistent(A: Any, *, indices: bool = True) -> bool:
    """Whether A is a csr matrix as SciPy makes them: aligned arrays, of which the `indices` are in range if need be.

    Nothing of A is changed, and nothing is remembered in it. Where it is False, `checked_sparse` decides.
    """
    if getattr(A, "format", None) != "csr" or len(A.shape) != 2:
        return False
    data, heads, start, (rows, columns) = A.data, A.indices, A.indptr, A.shape
    for array in (data, heads, start):
        if type(array) is not np.ndarray or array.ndim != 1 or not (array.flags.aligned and array.dtype.isnative):
            return False
    if heads.dtype != start.dtype or heads.dtype.name not in ("int32", "int64"):
        return False
    if len(start) != rows + 1 or start[0] != 0 or not start[-1] == len(heads) == len(data):
        return False
    # As unsigned integers, those below 0 are too large.
    if indices and len(heads) and np.maximum.reduce(heads.view(f"u{heads.itemsize}")) >= columns:
        return False
    return bool(np.logical_and.reduce(start[1:] >= start[:-1]))


def refuse_padding(source: Any, where: str) -> None:
    """Refuse zeros in blocks: they may be edges of weight 0, or what a dense block has where no edge is.

    False is no edge wherever it stands.

    Raises
    ------
    ShapeError
    """
    blocks = getattr(source, "format", "") == "bsr" and source.blocksize != (1, 1) and source.dtype.kind != "b"
    if blocks and bool((source.data == 0).any()):
        raise ShapeError(
            f"{where}: the zeros that fill the blocks of a sparse BSR matrix may be edges of weight 0, or none. "
            "Pass B = A.tocsr(), where they are edges, or B.eliminate_zeros() first."
        )
