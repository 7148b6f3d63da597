"""`einsum`, `einsum_path`, `sum`, `prod` and `outer` over a semiring, on arrays of any library.

An einsum is planned and executed in contraction.py, by products of matrices and the operations of elementwise.py.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from typing import Any, Unpack, overload

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.saturation import holding, narrowed, widened
from ..dense.product import common
from ..host.arrays import in_kind_of, output_of, take_in, with_axes
from ..host.devices import module, on_device
from ..host.errors import ShapeError
from ..host.spelling import Named
from ..host.types import Algebra, Along, Array, ArrayLike, DType, InKind, Matrix, Sums, Ties, Values
from ..kernels.backend import threads_of
from ..sparse.csr.matrix import is_sparse
from .contraction import Contraction, evaluated, planned
from .gradients import TIES, asked_by, ties_error


@overload
def einsum(subscripts: str, *operands: ArrayLike, semiring: Algebra = ..., **options: Unpack[Sums]) -> np.ndarray: ...
@overload
def einsum(subscripts: str, *operands: InKind, semiring: Algebra = ..., **options: Unpack[Sums]) -> InKind: ...
def einsum(
    subscripts: str,
    *operands: Array,
    semiring: Algebra = "min_plus",
    out: Array = None,
    dtype: DType = None,
    device: str | None = None,
    threads: int | None = None,
    order: str | Sequence[tuple[int, ...]] = "auto",
    ties: Ties = "one",
    checkpoint: bool = False,
) -> Matrix:
    """Einstein summation over a semiring: ⊕ over the indices that the result lacks, of ⊗ of the operands' entries.

    `einsum("bij,bjk->bik", X, Y)` is a batch of products, `einsum("ij->i", A)` row sums, `einsum("i,j->ij", x, y)` an
    outer product, `einsum("ii->i", A)` a diagonal.

    Parameters
    ----------
    subscripts : str
        As in `numpy.einsum`: a letter for each axis, commas between operands, and after "->" the indices of the result;
        without "->" those that occur once, in alphabetical order. "..." stands for further axes, which broadcast, as do
        axes of size 1.
    *operands : array_like
        NumPy, CuPy, PyTorch and JAX arrays, anything with DLPack or `__cuda_array_interface__`, all of one library;
        lists go with any. Sparse matrices, as in `matmul`, for products, transpositions and sums.
    semiring : str or Semiring
    out : array, optional
        Receives the result, in its shape and dtype and the operands' library; may be an operand.
    dtype, device, threads
        As in `matmul`.
    order : str or sequence of tuples
        For three operands or more: `optimize` of opt_einsum, "auto", "optimal" or "greedy"; or positions, pair after
        pair, as from `numpy.einsum_path`. If ⊗ does not commute, from left to right.
    ties : {"one", "shared"}
        As in `matmul`.
    checkpoint : bool
        With gradients: keep about √k of k results for the backward pass, and recompute the others.

    Returns
    -------
    array
        `out` if passed; else of the operands' library, on their device, in the order of its stream. float16 and
        bfloat16 give float32. The semiring's zero where a summation index is empty. Differentiable where operands
        require gradients (docs/gradients.md).

    Raises
    ------
    ShapeError
        If subscripts are malformed or do not fit, or `out` does not fit.
    DTypeError, DomainError, DeviceError
        As `matmul`.
    MemoryNeeded
        If the results held at a time do not fit, before any work.
    SemiringError
        If opt_einsum is needed for the order and not installed.

    See Also
    --------
    einsum_path, matmul : The plan; a single product.
    numpy.einsum : Over (+, ×).

    Notes
    -----
    Each step that sums over an index is a product of matrices; `einsum_path` prints pairs and bytes. Integers saturate;
    three or more operands with both signs that may saturate midway are computed in a wider dtype, in copies, so that
    results that fit are exact; int64 then raises DomainError.

    Examples
    --------
    >>> import semiring
    >>> semiring.einsum("ij,jk->ik", [[0, 5], [2, 0]], [[0, 1], [1, 0]], semiring="min_plus")
    array([[0, 1],
           [1, 0]])
    >>> semiring.einsum("ij->j", [[0, 5], [2, 0]], semiring="max_plus")
    array([2, 5])
    """
    if threads is not None:
        threads_of(threads, "einsum")  # no step may ask for them
    if library := asked_by(*operands):
        if library == "torch":
            from .gradients.tensors import einsum as differentiable
        else:
            from .gradients.tracers import einsum as differentiable
        others = {"out": out, "dtype": dtype, "device": device}
        return differentiable(subscripts, operands, semiring, order, ties, threads, checkpoint, **others)
    if ties not in TIES:
        raise ties_error(ties, "einsum")
    if not operands:
        raise ShapeError("einsum: at least one operand is required, got none. Pass arrays after the subscripts.")
    s = get(semiring)
    if any(map(is_sparse, operands)):
        from ..sparse.csr.contraction import evaluated as with_sparse

        options = {"out": out, "dtype": dtype, "device": device, "threads": threads}
        return with_sparse(subscripts, operands, s, order=order, **options)
    taken = [take_in(X, where="einsum") for X in operands]
    kind = in_kind_of(*taken, where="einsum")
    output = kind if out is None else output_of(out, kind, where="einsum")
    with on_device(kind.array):
        into = None if out is None else output.array
        options = {"dtype": dtype, "device": device, "threads": threads, "out": into}
        result = evaluated(subscripts, [X.array for X in taken], s, order=order, **options)
        return output.give_back(result, where="einsum")


def einsum_path(
    subscripts: str,
    *operands: Matrix,
    semiring: Algebra = "min_plus",
    dtype: DType = None,
    order: str | Sequence[tuple[int, ...]] = "auto",
) -> Contraction:
    """Plan of an `einsum`: steps, pairs and memory; printable.

    Parameters
    ----------
    subscripts : str
    *operands : arrays or tuples of int
        Operands of `einsum`, or their shapes.
    semiring : str or Semiring
    dtype : dtype, optional
        By default that of the arrays, or the semiring's own.
    order : str or sequence of tuples
        As in `einsum`.

    Returns
    -------
    Contraction
        With `steps`, `pairs` and `bytes`.

    Raises
    ------
    ShapeError, DTypeError, SemiringError
        As `einsum`.

    See Also
    --------
    einsum : Execution.

    Notes
    -----
    Nothing is computed; entries are not read.

    Examples
    --------
    >>> import semiring
    >>> print(semiring.einsum_path("bij,bjk->bik", (64, 512, 512), (64, 512, 512), dtype="float32"))
    einsum bij,bjk->bik over min_plus in float32
      bij,bjk->bik             product    8.6e+09 pairs, (64, 512, 512) of 64.0 MiB
      8.6e+09 pairs, 64.0 MiB in addition to the operands
    """
    s = get(semiring)
    found = {dtypes.plain(X.dtype) if "bfloat16" not in str(X.dtype) else np.dtype(np.float32)
             for X in operands if hasattr(X, "dtype")}  # fmt: skip
    natural = np.result_type(*found) if found else None
    shapes = [
        _sizes(X) if type(X) is tuple else X.shape if hasattr(X, "shape") else with_axes(X, where="einsum_path").shape
        for X in operands
    ]
    return planned(subscripts, shapes, s, dtypes.resolve(s, dtype, natural, where="einsum_path"), order)


@overload
def sum(A: ArrayLike, semiring: Algebra = ..., **options: Unpack[Along]) -> np.ndarray: ...
@overload
def sum(A: InKind, semiring: Algebra = ..., **options: Unpack[Along]) -> InKind: ...
def sum(
    A: Array,
    semiring: Algebra = "min_plus",
    *,
    axis: int | Sequence[int] | None = None,
    dtype: DType = None,
    threads: int | None = None,
    ties: Ties = "one",
) -> Matrix:
    """⊕ of entries along axes: in min-plus the least, in (+, ×) the sum.

    Parameters
    ----------
    A : array_like
        Of any library, as in `matmul`.
    semiring : str or Semiring
    axis : int or sequence of int, optional
        All axes by default.
    dtype, threads, ties
        As in `matmul`.

    Returns
    -------
    array
        Without those axes; the semiring's zero where they are empty.

    Raises
    ------
    ShapeError, DTypeError, DomainError, DeviceError, MemoryNeeded
        As `matmul`; ShapeError if A has no such axis.

    See Also
    --------
    prod, einsum : ⊗ instead; sums of products.

    Notes
    -----
    Reads each entry twice: domain check and sum.

    Examples
    --------
    >>> import semiring
    >>> semiring.sum([[3, 1], [2, 5]], "min_plus", axis=1)
    array([1, 2])
    """
    A = with_axes(A, where="sum")
    ndim = A.ndim
    several = isinstance(axis, Iterable) and getattr(axis, "ndim", True)
    given: Any = axis if several else range(ndim) if axis is None else (axis,)
    axes = [_axis(k, ndim, "sum") for k in given]
    if len({*axes}) < len(axes):
        raise ShapeError(f"sum: axes must be different ones, got {axis!r}.")
    letters = string.ascii_letters[:ndim]
    kept = "".join(x for k, x in enumerate(letters) if k not in axes)
    with Named("sum", "einsum"):
        return einsum(f"{letters}->{kept}", A, semiring=semiring, dtype=dtype, threads=threads, ties=ties)


@overload
def prod(A: ArrayLike, semiring: Algebra = ..., *, axis: int = ..., threads: int | None = ...) -> np.ndarray: ...
@overload
def prod(A: InKind, semiring: Algebra = ..., *, axis: int = ..., threads: int | None = ...) -> InKind: ...
def prod(A: Array, semiring: Algebra = "min_plus", *, axis: int = -1, threads: int | None = None) -> Matrix:
    """⊗ of entries along an axis, in order: in min-plus their sum, in (+, ×) their product.

    Parameters
    ----------
    A : array_like
        Of any library, as in `matmul`.
    semiring : str or Semiring
    axis : int
    threads : int, optional

    Returns
    -------
    array
        Without that axis; the semiring's one where it is empty.

    Raises
    ------
    ShapeError, DTypeError, DomainError, DeviceError, MemoryNeeded
        As `matmul`; ShapeError if A has no such axis.

    See Also
    --------
    sum, outer : ⊕ instead; products of two vectors.

    Notes
    -----
    log₂ n rounds of products of neighbours: rounding errors grow with log n. Integers as in `einsum`.

    Examples
    --------
    >>> import semiring
    >>> semiring.prod([[3, 1], [2, 5]], "min_plus", axis=1)
    array([4, 7])
    """
    s = get(semiring)
    X = with_axes(A, where="prod")
    axis = _axis(axis, X.ndim, "prod")
    if X.shape[axis] > 2 and not asked_by(X):
        taken = take_in(X, where="prod")
        with on_device(taken.array):
            (array,) = common([taken.array], s, None, where="prod")
            wide = holding([array], s, where="prod", times=X.shape[axis])
            if wide != array.dtype:
                exact = prod(widened(array, wide, s), s, axis=axis, threads=threads)
                return taken.give_back(narrowed(exact, array.dtype), where="prod")
    letters = string.ascii_letters[: X.ndim]
    kept = letters[:axis] + letters[axis + 1 :]

    def cut(X: Matrix, start: int, stop: int, step: int = 1) -> Matrix:
        return X[(*(slice(None),) * axis, slice(start, stop, step), ...)]

    def times(X: Matrix, Y: Matrix) -> Matrix:
        with Named("prod", "einsum"):
            return einsum(f"{letters},{letters}->{letters}", X, Y, semiring=s, threads=threads)

    if not X.shape[axis]:
        taken = take_in(X.detach() if hasattr(X, "detach") else X, where="prod")
        shape = (*X.shape[:axis], *X.shape[axis + 1 :])
        with on_device(taken.array):
            (like,) = common([taken.array], s, None, where="prod")
            return taken.give_back(module(like).full(shape, dtypes.one(s, like.dtype), like.dtype), where="prod")
    rest = None
    while (n := X.shape[axis]) > 1:
        if n % 2:
            rest = cut(X, n - 1, n) if rest is None else times(cut(X, n - 1, n), rest)
        X = times(cut(X, 0, n - 1, 2), cut(X, 1, n, 2))
    X = X if rest is None else times(X, rest)
    with Named("prod", "einsum"):
        return einsum(f"{letters}->{kept}", X, semiring=s, threads=threads)


def outer(x: Array, y: Array, semiring: Algebra = "min_plus", *, threads: int | None = None) -> Matrix:
    """Outer product: x ⊗ y for each entry of x and each of y.

    Parameters
    ----------
    x : array_like, shape (…, m)
    y : array_like, shape (…, n)
        Any library, as in `matmul`; leading axes broadcast.
    semiring : str or Semiring
    threads : int, optional

    Returns
    -------
    array, shape (…, m, n)

    Raises
    ------
    ShapeError, DTypeError, DomainError, DeviceError, MemoryNeeded
        As `matmul`; ShapeError if either is a scalar.

    See Also
    --------
    matmul, prod : Sums of such products; ⊗ within an array.

    Notes
    -----
    O(m n) time.

    Examples
    --------
    >>> import semiring
    >>> semiring.outer([0, 2], [1, 5], "min_plus")
    array([[1, 5],
           [3, 7]])
    """
    for operand in (x, y):
        if not with_axes(operand, where="outer").ndim:
            raise ShapeError(f"outer: both operands must be vectors, or arrays of them, got {operand!r}. Pass [x].")
    with Named("outer", "einsum"):
        return einsum("...i,...j->...ij", x, y, semiring=semiring, threads=threads)


def _sizes(shape: Values) -> tuple[int, ...]:
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape):
        raise ShapeError(
            f"einsum_path: sizes must be integers of at least 0, got {shape!r}. Pass an array or its shape."
        )
    return tuple(map(int, shape))


def _axis(axis: Any, ndim: int, where: str) -> int:
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -ndim <= axis < ndim:
        raise ShapeError(f"{where}: axis must be one of the array's, {ndim} in all, got {axis!r}.")
    return int(axis) % ndim


__all__ = ["einsum", "einsum_path", "outer", "prod", "sum"]
