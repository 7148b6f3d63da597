"""`matmul`, `matvec`, `power` and `eye` on arrays of any library, returned in kind; the product is in product.py."""

from __future__ import annotations

from types import ModuleType
from typing import Literal, Unpack, overload

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.conversion import conform
from ..algebra.records import Semiring
from ..algebra.saturation import holding, narrowed, widened
from ..algebra.survey import survey
from ..host import memory
from ..host.arrays import in_kind_of, output_of, require_square, take_in, with_axes
from ..host.devices import diagonal, module, on_device, to_device
from ..host.errors import DTypeError, ShapeError
from ..host.spelling import Named, came, refuse_texts
from ..host.types import Algebra, Array, ArrayLike, Computing, DType, InKind, Masked, Product, Ties
from ..kernels.backend import device_of, threads_of
from ..sparse.csr.matrix import is_sparse
from ..sparse.csr.products import multiplied as sparse_product
from ..sparse.csr.products import powered as sparse_power
from ..tensors.gradients import TIES, asked_by, ties_error
from . import small
from . import witness as witnesses
from .product import multiplied, product_shape


@overload
def matmul(
    A: Array, B: Array, semiring: Algebra = ..., *, witness: Literal[True], **options: Unpack[Product]
) -> tuple[np.ndarray, np.ndarray]: ...
@overload
def matmul(A: ArrayLike, B: ArrayLike, semiring: Algebra = ..., **options: Unpack[Product]) -> np.ndarray: ...
@overload
def matmul(A: InKind, B: InKind, semiring: Algebra = ..., **options: Unpack[Product]) -> InKind: ...
def matmul(
    A: Array,
    B: Array,
    semiring: Algebra = "min_plus",
    *,
    out: Array = None,
    accumulate: bool = False,
    dtype: DType = None,
    device: str | None = None,
    threads: int | None = None,
    ties: Ties = "one",
    mask: Array = None,
    complement: bool = False,
    witness: bool = False,
) -> Array:
    """C ← A ⊗ B, or C ← C ⊕ A ⊗ B: the matrix product over a semiring, by `numpy.matmul`'s shape rules.

    Parameters
    ----------
    A : array_like, shape (…, m, k) or (k,)
    B : array_like, shape (…, k, n) or (k,)
        Vectors are promoted to matrices and the extra axis removed again; leading axes broadcast. NumPy, CuPy, PyTorch
        and JAX arrays, anything with DLPack or `__cuda_array_interface__`, both of one library; lists go with any.
        Either may be a SciPy or CuPy sparse matrix in csr, csc, coo or bsr: absent entries are the semiring's zero,
        stored ones count whatever their value, duplicates are summed by ⊕.
    semiring : str or Semiring
    out : array, shape (…, m, n), optional
        Receives the product, in its dtype and the operands' library; may be an operand. Of two sparse operands a csr
        matrix, whose arrays are replaced.
    accumulate : bool
        out ← out ⊕ A ⊗ B.
    dtype : dtype, optional
        Dtype to compute in; by default the operands' common one if the semiring allows it, else the smallest allowed
        one that holds it safely.
    device : {"cpu", "cuda"}, optional
        Device to compute on; by default that of the operands.
    threads : int, optional
        CPU threads; all available by default.
    ties : {"one", "shared"}
        Whether a gradient (PyTorch, JAX) goes to the first best product of each sum, or equally to all best ones
        (docs/gradients.md).
    mask : sparse matrix, or array of bool, shape (m, n), optional
        With a sparse operand: the entries to compute, all others being the semiring's zero. All stored entries of a
        sparse mask count, except False.
    complement : bool
        Compute the entries outside the mask instead.
    witness : bool
        Return (C, K): K[…, i, j], int32, is the smallest k with C[…, i, j] = A[…, i, k] ⊗ B[…, k, j], and −1 where C is
        the semiring's zero. `out` is then a tuple (C, K), either of which may be None.

    Returns
    -------
    array, shape (…, m, n), or csr matrix or array where both operands are sparse; two arrays with `witness`
        `out` if passed; else of the operands' library, on their device, in the order of its stream. float16 and
        bfloat16 give float32. Where k = 0 every entry is the semiring's zero. A sparse product has an entry wherever
        stored entries meet, whatever their sum; its rows are unsorted. Differentiable where operands require gradients.

    Raises
    ------
    AlgebraError
        If `witness` is requested where ⊕ does not select.
    ShapeError
        If inner sizes differ, leading axes do not broadcast, an operand is a scalar, or `out` does not fit.
    DTypeError
        If the semiring is not defined on the dtype, or `dtype` does not hold the entries; if operands and `out` are of
        different libraries, cannot be exported, or `out` is immutable.
    DomainError
        If an entry is NaN or outside the semiring.
    DeviceError
        If the device is missing or takes no threads, or operands and `out` are on several devices.
    MemoryNeeded
        If the product does not fit, before any work.

    See Also
    --------
    matvec, power : Products with vectors; powers of a matrix.
    add, reduce, transpose : Further operations on sparse matrices.
    apsp.closure : All powers of a matrix together.
    numpy.matmul : The product over (+, ×), rounded differently.

    Notes
    -----
    m · k · n pairs (one ⊕, one ⊗) for each matrix of a batch; memory for m · n entries, with `out` too. For the Boolean
    semiring on bits see `BitMatrix`. For sparse operands, the pairs of stored entries that meet
    (docs/sparse-products.md).

    Integers saturate: an infinite entry of one product stays infinite in the next. `einsum` and `power` of several
    factors are exact where the result fits; for successive products, pass a wider dtype. Witnesses take up to twice the
    time; a tenth more for integers on a GPU whose sums and k together have at most 31 bits.

    Examples
    --------
    >>> import numpy as np, semiring
    >>> semiring.matmul([[0, 5], [2, 0]], [[0, 1], [1, 0]], "min_plus")
    array([[0, 1],
           [1, 0]])

    Of a sparse matrix, where an absent entry is no edge:

    >>> from scipy.sparse import csr_array
    >>> A = csr_array([[0, 8.0, 0], [0, 0, 9.0], [0, 0, 0]])
    >>> semiring.matmul(A, A, "min_plus").toarray()
    array([[ 0.,  0., 17.],
           [ 0.,  0.,  0.],
           [ 0.,  0.,  0.]])

    Through which k the best of two legs goes:

    >>> C, K = semiring.matmul([[0, 5], [2, 0]], [[0, 1], [1, 0]], "min_plus", witness=True)
    >>> K
    array([[0, 0],
           [1, 1]], dtype=int32)
    """
    if threads is not None:
        threads_of(threads, "matmul")
    given = out is not None or dtype is not None or device is not None or threads is not None or mask is not None
    if not (given or accumulate or complement or witness) and ties == "one":
        product = small.multiplied(A, B, semiring)
        if product is not None:
            return product
    if ties not in TIES:
        raise ties_error(ties, "matmul")
    refuse_texts("matmul", accumulate=accumulate, complement=complement, witness=witness)
    if witness and (accumulate or mask is not None or is_sparse(A) or is_sparse(B)):
        raise ShapeError(
            "matmul: witness=True is of dense operands, without accumulate and mask, got others. Leave one of them out."
        )
    if is_sparse(A) or is_sparse(B):
        return sparse_product(
            A, B, get(semiring), out, mask=mask, complement=complement, accumulate=accumulate, dtype=dtype,
            device=device, threads=threads,
        )  # fmt: skip
    if mask is not None or complement:
        raise DTypeError("matmul: a mask must have a sparse operand, got dense ones. Pass csr_array(A).")
    library = asked_by(A, B)
    if witness and library:
        raise DTypeError(
            f"matmul: witness=True must have operands without gradients, got {library}'s. Detach them, or leave it out."
        )
    if library:
        if library == "torch":
            from ..tensors.gradients.tensors import matmul as differentiable
        else:
            from ..tensors.gradients.tracers import matmul as differentiable
        others = {"out": out, "accumulate": accumulate, "dtype": dtype, "device": device}
        return differentiable(A, B, semiring, ties, threads, **others)
    s = get(semiring)
    a, b = take_in(A, where="matmul"), take_in(B, where="matmul")
    kind = in_kind_of(a, b, where="matmul")
    if witness and out is not None and not (isinstance(out, tuple) and len(out) == 2):
        raise DTypeError(f"matmul: with witness=True, out must be a tuple (C, K), got {type(out).__name__}.")
    outs = (out or (None, None)) if witness else (out,)
    outputs = [kind if X is None else output_of(X, kind, where="matmul") for X in outs]
    with on_device(a.array):
        if not witness:
            into = None if out is None else outputs[0].array
            product = multiplied(
                a.array, b.array, s, into, accumulate=accumulate, dtype=dtype, device=device, threads=threads
            )
            return outputs[0].give_back(product, where="matmul")
        targets = [None if X is None else output.array for X, output in zip(outs, outputs, strict=True)]
        found = witnesses.multiplied(a.array, b.array, s, targets, dtype=dtype, device=device, threads=threads)
        C, K = (output.give_back(result, where="matmul") for output, result in zip(outputs, found, strict=True))
        return C, K


@overload
def matvec(A: ArrayLike, x: ArrayLike, semiring: Algebra = ..., **options: Unpack[Masked]) -> np.ndarray: ...
@overload
def matvec(A: Array, x: InKind, semiring: Algebra = ..., **options: Unpack[Masked]) -> InKind: ...
def matvec(
    A: Array,
    x: Array,
    semiring: Algebra = "min_plus",
    *,
    out: Array = None,
    dtype: DType = None,
    device: str | None = None,
    threads: int | None = None,
    mask: Array = None,
    complement: bool = False,
) -> Array:
    """y ← A ⊗ x.

    Parameters
    ----------
    A : array_like, shape (…, m, n)
    x : array_like, shape (…, n)
        Leading axes broadcast: (batch, n) is a batch of vectors, each with its own matrix or all with one. Any library,
        as in `matmul`. With a sparse A, one vector (n,) or a sparse matrix (n, 1).
    semiring : str or Semiring
    out : array, shape (…, m), optional
    dtype, device, threads, mask, complement
        As in `matmul`.

    Returns
    -------
    array, shape (…, m), or a sparse matrix (m, 1) where A and x are sparse

    Raises
    ------
    ShapeError, DTypeError, DomainError, DeviceError
        As `matmul`.

    See Also
    --------
    matmul, power : Matrix products; powers.

    Notes
    -----
    m · n pairs a vector; m entries of the product.

    Examples
    --------
    One round of Bellman–Ford towards vertex 1:

    >>> import semiring
    >>> semiring.matvec([[0, 3], [1, 0]], [9, 0])
    array([3, 0])
    """
    s = get(semiring)
    if is_sparse(A) or is_sparse(x):
        A, x = (X if is_sparse(X) else with_axes(X, where="matvec") for X in (A, x))
        if A.ndim != 2 or (x.shape[1:] != (1,) if is_sparse(x) else x.ndim != 1):
            raise ShapeError(
                "matvec: where one is sparse, a matrix (m, n) and one vector (n,), or a sparse matrix (n, 1), are "
                f"required, got A {tuple(A.shape)} and x {tuple(x.shape)}. Use matmul for products of matrices."
            )
        options = {"mask": mask, "complement": complement, "dtype": dtype, "device": device, "threads": threads}
        return sparse_product(A, x, s, out, where="matvec", **options)
    if mask is not None or complement:
        raise DTypeError("matvec: a mask must have a sparse operand, got dense ones. Pass csr_array(A).")
    if threads is not None:
        threads_of(threads, "matvec")
    a, b = take_in(A, where="matvec"), take_in(x, where="matvec")
    if a.array.ndim < 2 or b.array.ndim < 1 or a.array.shape[-1] != b.array.shape[-1]:
        raise ShapeError(
            f"matvec: matrices (…, m, n) and vectors (…, n) are required, got A {a.array.shape} and x {b.array.shape}."
        )
    kind = in_kind_of(a, b, where="matvec")
    output = kind if out is None else output_of(out, kind, where="matvec")
    many = b.array.ndim > 1  # a batch of columns, each its own product
    with Named("matvec", "matmul"), on_device(a.array):
        columns = b.array[..., None] if many else b.array
        shape = product_shape(a.array, columns)[: -1 if many else None]
        if out is not None and output.array.shape != shape:
            raise ShapeError(f"matvec: out must have shape {shape}, got {output.array.shape}.")
        into = None if out is None else output.array[..., None] if many else output.array
        product = multiplied(a.array, columns, s, into, dtype=dtype, device=device, threads=threads)
        y = output.array if out is not None else product[..., 0] if many else product
        return output.give_back(y, where="matvec")


@overload
def power(A: ArrayLike, k: int, semiring: Algebra = ..., **options: Unpack[Computing]) -> np.ndarray: ...
@overload
def power(A: InKind, k: int, semiring: Algebra = ..., **options: Unpack[Computing]) -> InKind: ...
def power(
    A: Array,
    k: int,
    semiring: Algebra = "min_plus",
    *,
    dtype: DType = None,
    device: str | None = None,
    threads: int | None = None,
) -> Array:
    """Aᵏ = A ⊗ A ⊗ … ⊗ A by repeated squaring; A⁰ is `eye`.

    In min-plus, entry (i, j) is the length of the shortest walk from i to j of exactly k edges.

    Parameters
    ----------
    A : array_like or sparse matrix, shape (n, n)
    k : int, at least 0
    semiring : str or Semiring
    dtype, device, threads
        As in `matmul`.

    Returns
    -------
    array, shape (n, n)
        A csr matrix where A is sparse and every intermediate power has less than a quarter of its entries; else an
        array, which the logger "semiring" reports.

    Raises
    ------
    ShapeError, ValueError
        If A is not square, or k is negative: a semiring has no inverses.
    DTypeError, DomainError, DeviceError, MemoryNeeded
        As `matmul`.

    See Also
    --------
    matmul, eye : A single product; the power 0.
    apsp.closure : All powers together.

    Notes
    -----
    At most 2 log₂ k products of n³ pairs, and three matrices of n² entries at once. Integers of both signs that may
    saturate midway are computed in a wider dtype; int64 then raises DomainError.

    Examples
    --------
    >>> import semiring
    >>> semiring.power([[0.0, 1.0], [1.0, 0.0]], 2, "plus_times")
    array([[1., 0.],
           [0., 1.]])
    """
    s = get(semiring)
    taken = None if is_sparse(A) else take_in(A, where="power")
    shape = taken.array.shape if taken else A.shape
    require_square(shape, where="power")
    if not isinstance(k, (int, np.integer)) or k < 0:
        raise ValueError(f"power: k must be an integer of at least 0 (a semiring has no inverses), got {came(k)}.")
    if threads is not None:
        threads_of(threads, "power")  # A¹ asks for none
    if taken is None:
        return sparse_power(A, int(k), s, dtype, device, threads)
    with Named("power", "matmul"), on_device(taken.array):
        array = conform(taken.array, s, dtype, where="power")
        survey(array, s, where="power")
        own, wide = array.dtype, holding([array], s, where="power", times=int(k))
        array = array if wide == own else widened(array, wide, s)
        home, where = device_of(array), device_of(array, device)
        result = to_device(_power(to_device(array, where), int(k), s, where, threads), home)
        return taken.give_back(result if wide == own else narrowed(result, own), where="power")


def _power(A: Array, k: int, s: Semiring, device: str, threads: int | None) -> Array:
    result = None
    while k:
        if k & 1:
            result = A.copy() if result is None else multiplied(result, A, s, device=device, threads=threads)
        k >>= 1
        if k:
            A = multiplied(A, A, s, device=device, threads=threads)
    return _eye(len(A), s, A.dtype, module(A)) if result is None else result


@overload
def eye(n: int, semiring: Algebra = ..., *, dtype: DType = ..., like: None = ...) -> np.ndarray: ...
@overload
def eye(n: int, semiring: Algebra = ..., *, dtype: DType = ..., like: InKind) -> InKind: ...
def eye(n: int, semiring: Algebra = "min_plus", *, dtype: DType = None, like: Array = None) -> Array:
    """Identity matrix: the semiring's one on the diagonal, its zero elsewhere.

    Parameters
    ----------
    n : int, at least 0
    semiring : str or Semiring
    dtype : dtype, optional
        One that the semiring allows; by default float64 if allowed, else its first.
    like : array, optional
        Determines library and device of the result; NumPy by default.

    Returns
    -------
    array, shape (n, n)

    Raises
    ------
    ValueError, DTypeError, MemoryNeeded
        If n is negative; if the semiring does not allow the dtype, or `like` is no array; if it does not fit.

    See Also
    --------
    power : Its power 0 is `eye`.
    matmul : `eye` is its one.

    Notes
    -----
    O(n²) time; n² entries.

    Examples
    --------
    >>> import semiring
    >>> semiring.eye(2, "min_plus")
    array([[ 0., inf],
           [inf,  0.]])
    """
    s = get(semiring)
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"eye: n must be an integer of at least 0, got {came(n)}.")
    requested, dtype = dtype, dtypes.resolve(s, dtype, where="eye")
    if requested is not None and dtypes.plain(requested) != dtype:
        raise DTypeError(f"eye: {s.name} is defined on {', '.join(s.dtypes)}, got {requested}.")
    if like is None:
        return _eye(int(n), s, dtype, np)
    taken = take_in(like, where="eye")
    with on_device(taken.array):
        return taken.give_back(_eye(int(n), s, dtype, module(taken.array)), where="eye")


def _eye(n: int, s: Semiring, dtype: np.dtype, xp: ModuleType) -> Array:
    memory.require(n * n * dtype.itemsize, "cpu" if xp is np else "cuda", where="eye", hint="Use fewer rows.")
    identity = xp.full((n, n), dtypes.zero(s, dtype), dtype=dtype)
    diagonal(identity)[...] = dtypes.one(s, dtype)
    return identity


__all__ = ["eye", "matmul", "matvec", "power"]
