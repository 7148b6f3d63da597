"""Conversion of any array-like to a NumPy or CuPy array, and of results back in kind."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..algebra.conversion import conform, from_sequence
from ..algebra.records import Semiring
from .devices import CPU, CUDA, PINNED, is_plain
from .errors import DeviceError, DTypeError, SemiringError, ShapeError
from .types import Array, DType

#: Libraries of immutable arrays.
_IMMUTABLE = frozenset(("jax", "jaxlib", "tensorflow"))


class Taken(NamedTuple):
    """Input as a NumPy or CuPy array, in shared memory if possible (else `made`), with its source."""

    array: Any
    source: Any
    made: bool

    def conformed(self, semiring: Semiring, dtype: DType = None, *, where: str) -> Taken:
        """Convert to the requested dtype, or as the semiring resolves it; see `conform`."""
        array = conform(self.array, semiring, dtype, where=where)
        return Taken(array, self.source, self.made or array is not self.array)

    def check_writable(self, dtype: np.dtype, *, where: str) -> None:
        """Raise DTypeError or ValueError unless `overwrite=True` can compute in the source's own memory."""
        if self.unwritable:
            raise DTypeError(
                f"{where}: overwrite=True must have an array to write to, got {self.unwritable}. Leave overwrite out."
            )
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
        """Description of a source that is no array or immutable; "" otherwise."""
        came = type(self.source).__name__
        if _library(self.source) in _IMMUTABLE:
            return f"an immutable {came}"
        view = self.array is self.source or not isinstance(self.array, np.ndarray) or self.array.base is not None
        return came if (not hasattr(self.source, "dtype") if self.made else not view) else ""

    def give_back(self, result: Any, *, where: str) -> Array:
        """Result in kind: same library, device and stream order; the source object if the result is in its memory.

        Raises DTypeError if that library lacks the dtype, as JAX without 64 bits.
        """
        if type(self.source) is np.ndarray or (result is not self.array and _library(self.source) == "cupy"):
            return result
        xp = _namespace(self.source)
        if result is self.array and not self.made:
            if xp is not None and not isinstance(result, np.ndarray):
                import cupy

                cupy.cuda.get_current_stream().synchronize()  # its library does not know our stream
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


def refuse_masked(source: Array, *, where: str, way: str = "A.astype(float).filled(numpy.inf)") -> None:
    """Raise DTypeError for a masked array, whose mask would be lost; `way` fills it, by default for min_plus."""
    if isinstance(source, np.ma.MaskedArray):
        raise DTypeError(f"{where}: a plain array is required, got a masked one. Fill it: {way}.")


def refuse_jax_sparse(source: Array, *, where: str) -> None:
    """Raise DTypeError for a sparse array of JAX, BCOO or BCSR, which is neither exported nor a graph by itself."""
    if type(source).__module__.startswith("jax.experimental.sparse"):
        raise DTypeError(
            f"{where}: a dense array or a sparse matrix of SciPy's is required, got {type(source).__name__}. Of a BCOO "
            "say scipy.sparse.coo_array((A.data, A.indices.T), A.shape); of others A.todense(), where absent "
            "entries are 0."
        )


def refuse_transformed(source: Array, *, where: str) -> None:
    """Raise DTypeError for a tensor of PyTorch's whose numbers cannot be read, or not without losing a derivative."""
    if not _is_tensor(source):
        return
    torch = sys.modules["torch"]
    if type(source).__name__ == "FakeTensor" or source.device.type == "meta":
        got, way = "one without numbers, fake or meta", "Pass a tensor on a device."
    elif torch._C._functorch.is_functorch_wrapped_tensor(source):
        got, way = "one inside of torch.func", "Instead of vmap pass a batch, instead of grad use torch.autograd."
    elif torch.autograd.forward_ad.unpack_dual(source).tangent is not None:
        got, way = "one with a tangent of forward mode", "Use torch.autograd.grad, which goes backward."
    else:
        return
    raise DTypeError(f"{where}: a tensor of numbers is required, got {got}. {way}")


def take_in(source: Array, *, where: str) -> Taken:
    """Convert to a NumPy array, or a CuPy array if on a GPU, without needless copies.

    Accepts NumPy and CuPy arrays; anything with DLPack, tried first as it keeps stream order, or with
    `__cuda_array_interface__`; nested sequences of numbers. bfloat16, unknown to NumPy, becomes float32. DTypeError for
    masked and sparse arrays, entries that are not real, arrays not exported, integers beyond 64 bits; ShapeError for
    ragged rows.

    Examples
    --------
    >>> taken = take_in([[0, 3], [1, 0]], where="example")
    >>> taken.array.dtype.name, taken.made
    ('int64', True)
    """
    if is_plain(source):
        return Taken(source, source, False)
    refuse_masked(source, where=where)
    refuse_jax_sparse(source, where=where)
    refuse_transformed(source, where=where)
    if hasattr(source, "tocsr") or hasattr(source, "tocoo"):
        raise DTypeError(
            f"{where}: a dense array is required, got {type(source).__name__}. "
            "Absent entries need a value: say A.toarray() where that is 0; apsp.closure and apsp.shortest_paths take "
            "sparse matrices as graphs."
        )
    try:
        array, made = _as_array(source, where)
    except SemiringError:
        raise
    except Exception as error:  # any error of the other library
        raise _not_exported(source, error, where) from error
    if array.dtype.kind not in "biuf":
        way = f" Say {'A.astype(float)' if hasattr(source, 'astype') else 'numpy.asarray(A, float)'}."
        way = way if array.dtype.kind in "OSU" else ""
        raise DTypeError(f"{where}: entries must be real numbers or booleans, got dtype {array.dtype}.{way}")
    return Taken(array, source, made)


def with_axes(source: Array, *, where: str) -> Array:
    """Array of any library unchanged; sequences, numbers, buffers and frames as NumPy's, with errors of `take_in`."""
    is_array = hasattr(source, "ndim") and not isinstance(source, memoryview) and not hasattr(source, "iloc")
    return source if is_array else take_in(source, where=where).array


def in_kind_of(*taken: Taken, where: str) -> Taken:
    """Operand whose kind results take, lists going with any; DTypeError or DeviceError if they differ."""
    first, *others = taken
    for other in others:
        if type(first.source) is np.ndarray is type(other.source):
            continue
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
    """`out` as `Taken`: writable, and of the operands' library and device; else DTypeError."""
    output = take_in(out, where=where)
    if output.unwritable:
        raise DTypeError(f"{where}: out must be an array to write to, got {output.unwritable}. Leave it out.")
    if output.made:
        raise DTypeError(f"{where}: out must have the result's dtype {output.array.dtype}, got {out.dtype}.")
    in_kind_of(kind, output, where=where)
    return output


def _place(array: Array) -> str:
    return "the CPU" if isinstance(array, np.ndarray) else f"GPU {array.data.device_id}"


def _is_list(source: Array) -> bool:
    """Whether a source is Python numbers, of no library."""
    return isinstance(source, (list, tuple, int, float))


def _kind(source: Array) -> str:
    """Name of the library in whose kind results go back."""
    if _library(source) == "cupy":
        return "cupy"
    found = _namespace(source)
    return "numpy" if found is None else str(found.__name__)


def require_apart(array: Array, *, where: str) -> None:
    """Raise ValueError if entries share memory, as in a sliding window."""
    reach = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < reach and array.size:
            raise ValueError(
                f"{where} must have an array whose entries do not overlap in memory, got strides "
                f"{array.strides} for shape {array.shape} of {array.dtype}. Copy it first."
            )
        reach += stride * (size - 1)


def share_memory(A: Array, B: Array) -> bool:
    """Whether arrays of one device have entries in common; by shapes and strides, where CuPy sorts all addresses."""
    if not isinstance(A, np.ndarray):  # as NumPy's views of these addresses, which it does not read
        A, B = (np.asarray(SimpleNamespace(__array_interface__=X.__cuda_array_interface__)) for X in (A, B))
    return np.shares_memory(A, B)


def check_out(out: Array, shape: tuple[int, ...], dtype: DType, *, where: str) -> None:
    """Check `out` for results: ShapeError, DTypeError, or ValueError if read-only or overlapping itself."""
    if isinstance(out, np.ma.MaskedArray) or not hasattr(out, "strides"):
        raise DTypeError(f"{where}: out must be a plain array to write to, got {type(out).__name__}.")
    if out.shape != shape:
        raise ShapeError(f"{where}: out must have shape {shape}, got {out.shape}.")
    if out.dtype != dtype:
        raise DTypeError(f"{where}: out must have dtype {np.dtype(dtype)}, got {out.dtype}.")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError(f"{where}: out must be writeable, got a read-only array.")
    require_apart(out, where=f"{where}: out")


def require_square(shape: tuple[int, ...], *, where: str, what: str = "A") -> None:
    """ShapeError unless the shape of `what` is (n, n)."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"{where}: {what} must be square, (n, n), got shape {shape}.")


def broadcast(names: str, i: Array, j: Array, *, hint: str = "") -> tuple[Array, ...]:
    """Broadcast two arrays; ShapeError if impossible."""
    try:
        return np.broadcast_arrays(i, j)
    except ValueError:
        raise ShapeError(
            f"{names} must be of one shape, or of shapes that broadcast, got {i.shape} and {j.shape}.{hint}"
        ) from None


def asarray(source: Array, *, where: str) -> Array:
    return take_in(source, where=where).array


def _as_array(source: Array, where: str) -> tuple[Array, bool]:
    """NumPy or CuPy array, and whether it has its own memory."""
    if isinstance(source, np.ndarray):
        array: Any = np.asarray(source)
        return (array.astype(np.float32), True) if _is_half(array) else (array, False)
    if _library(source) == "cupy":
        if not _is_half(source):
            return source, False
        with source.device:
            return source.astype(np.float32), True
    if hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__"):
        plain = source.resolve_neg() if hasattr(source, "resolve_neg") else source  # torch exports a lazy −x as x
        half = _is_half(source)
        if half:
            xp = _namespace(source)
            plain = plain.to(xp.float32) if hasattr(plain, "to") else xp.astype(plain, xp.float32)
        array = _from_dlpack(plain)
        frozen = isinstance(array, np.ndarray) and not array.flags.writeable
        return array, plain is not source and not frozen  # a frozen array converted from bfloat16 is still JAX's
    if hasattr(source, "__cuda_array_interface__"):
        import cupy

        return cupy.asarray(source), False
    return from_sequence(source, where=where), isinstance(source, (list, tuple))


def _library(source: Array) -> str:
    return type(source).__module__.partition(".")[0]


def _is_half(source: Array) -> bool:
    """Whether the dtype is bfloat16, by the name that every library uses."""
    return str(getattr(source, "dtype", "")).rpartition(".")[2] == "bfloat16"


def _namespace(source: Array) -> Any:
    """Array module of another library; None for NumPy, CuPy and others without one."""
    if isinstance(source, np.ndarray) or _library(source) in ("numpy", "cupy"):
        return None
    if hasattr(source, "__array_namespace__"):
        found = source.__array_namespace__()
    else:
        found = sys.modules.get("torch") if _library(source) == "torch" or _is_tensor(source) else None
    return found if hasattr(found, "from_dlpack") else None


def _is_tensor(source: Array) -> bool:
    """Whether this is an instance of a subclass of torch.Tensor, such as a parameter."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, getattr(torch, "Tensor", ()))


def _not_exported(source: Array, error: Exception, where: str) -> DTypeError:
    way = "Convert it to a NumPy or CuPy array first."
    if getattr(source, "requires_grad", False):
        way = "Pass A.detach(): gradients go through apsp.closure, semiring.matmul and einsum."
    elif "sparse" in str(getattr(source, "layout", "")):
        way = "Say C = A.to_sparse_coo().coalesce() and scipy.sparse.coo_array((C.values(), C.indices()), C.shape)."
    elif "racer" in type(source).__name__:
        way = "Call this outside of jit and grad, which go through apsp.closure, semiring.matmul and einsum."
    elif str(getattr(source, "dtype", "")).rpartition(".")[2].startswith(("float8", "float4", "int4", "int2", "uint4")):
        way = f"Pass {'A.float()' if _is_tensor(source) else 'A.astype(numpy.float32)'}."
    reason = str(error).partition("\n")[0].rstrip(".")
    return DTypeError(f"{where}: an array must be exported by DLPack, got {type(source).__name__}: {reason}. {way}")


def _from_dlpack(source: Array) -> Array:
    kind = int(source.__dlpack_device__()[0])
    if kind in (CPU, PINNED):
        return np.from_dlpack(source)
    if kind == CUDA:
        import cupy

        return cupy.from_dlpack(source)
    raise DTypeError(f"DLPack data must be on a CPU or an NVIDIA GPU, got device type {kind}. Move it first.")


def checked_sparse(source: Array, *, where: str) -> Array:
    """SciPy matrix whose compressed indices are validated, as SciPy's loops do not check them; else ShapeError."""
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


def consistent(A: Array, *, indices: bool = True, pointers: bool = True) -> bool:
    """Whether A is a well-formed csr matrix: its arrays aligned, contiguous, native, of matching lengths.

    With `indices` and `pointers`, also whether these are in range and in order. A is not changed, and nothing is cached
    in it. If False, `checked_sparse` decides.
    """
    if getattr(A, "format", None) != "csr" or len(A.shape) != 2:
        return False
    data, heads, start, (rows, columns) = A.data, A.indices, A.indptr, A.shape
    for array in (data, heads, start):
        if type(array) is not np.ndarray or array.ndim != 1 or not array.dtype.isnative:
            return False
        if not (array.flags.aligned and array.flags.c_contiguous):
            return False
    if heads.dtype != start.dtype or heads.dtype.name not in ("int32", "int64"):
        return False
    if len(start) != rows + 1 or start[0] != 0 or not start[-1] == len(heads) == len(data):
        return False
    # Unsigned, negative indices are too large.
    if indices and len(heads) and np.maximum.reduce(heads.view(f"u{heads.itemsize}")) >= columns:
        return False
    return not pointers or bool(np.logical_and.reduce(start[1:] >= start[:-1]))


def refuse_padding(source: Array, where: str) -> None:
    """Raise ShapeError for zeros in BSR blocks: edges of weight 0, or padding. False is never an edge."""
    blocks = getattr(source, "format", "") == "bsr" and source.blocksize != (1, 1) and source.dtype.kind != "b"
    if blocks and bool((source.data == 0).any()):
        raise ShapeError(
            f"{where}: the zeros that fill the blocks of a sparse BSR matrix may be edges of weight 0, or none. "
            "Pass B = A.tocsr(), where they are edges, or B.eliminate_zeros() first."
        )
