"""`add`, `transpose` and `reduce` of sparse matrices."""

from __future__ import annotations

from ...algebra.catalog import get
from ...algebra.records import Semiring
from ...host.devices import module, on_device, to_device
from ...host.errors import DTypeError, ShapeError
from ...host.spelling import came
from ...host.types import DType, InKind, Matrix
from ...kernels.backend import device_of
from .matrix import CSR, as_csr, common_dtype, is_sparse
from .products import added, reduced


def _operand(source: Matrix, where: str) -> CSR:
    if not is_sparse(source):
        raise DTypeError(
            f"{where}: a sparse matrix of SciPy's or CuPy's is required, got {type(source).__name__}. "
            "Arrays have NumPy's own functions."
        )
    return as_csr(source, where=where)


def add(
    A: InKind,
    B: InKind,
    semiring: str | Semiring = "min_plus",
    *,
    dtype: DType = None,
    device: str | None = None,
    threads: int | None = None,
) -> InKind:
    """A ⊕ B of sparse matrices, entrywise; an entry that only one of them stores is copied.

    Parameters
    ----------
    A, B : sparse matrix, shape (m, n)
        SciPy or CuPy, in csr, csc, coo or bsr. Duplicates are summed by ⊕.
    semiring : str or Semiring
    dtype, device, threads
        As in `matmul`.

    Returns
    -------
    csr matrix or array, shape (m, n)
        Of A's kind. An entry is stored wherever A or B stores one; rows are unsorted.

    Raises
    ------
    ShapeError, DTypeError, DomainError, DeviceError, MemoryNeeded
        As `matmul`; ShapeError if the shapes differ, DTypeError if an operand is not sparse.

    See Also
    --------
    matmul, reduce : Products; sums of rows or columns.

    Notes
    -----
    O(m + e) time and memory for e entries in all.

    Examples
    --------
    >>> import semiring
    >>> from scipy.sparse import csr_array
    >>> A, B = csr_array([[3.0, 0], [0, 5]]), csr_array([[2.0, 4], [0, 0]])
    >>> semiring.add(A, B, "min_plus").toarray()
    array([[2., 4.],
           [0., 5.]])
    """
    s = get(semiring)
    a, b = _operand(A, "add"), _operand(B, "add")
    if a.shape != b.shape:
        raise ShapeError(f"add: both matrices must have one shape, got {a.shape} and {b.shape}.")
    if a.device != b.device:
        raise DTypeError("add: both matrices must be on the CPU or both on a GPU, got one of each. Move one.")
    with on_device(a.data):
        dtype = common_dtype(s, dtype, a.data, b.data, where="add")
        target = device_of(a.data, device)
        x, y = (M.conformed(s, dtype, where="add").move(target) for M in (a, b))
        return added(x, y, s, threads, "add").move(a.device).give_back(where="add")


def transpose(A: InKind) -> InKind:
    """Aᵀ of a sparse matrix, as csr.

    Parameters
    ----------
    A : sparse matrix, shape (m, n)
        SciPy or CuPy, in csr, csc, coo or bsr.

    Returns
    -------
    csr matrix or array, shape (n, m)
        Duplicates are kept; rows are sorted.

    Raises
    ------
    ShapeError, DTypeError, MemoryNeeded
        As `matmul`.

    See Also
    --------
    matmul : Products; takes csr, csc, coo and bsr without transposition.

    Notes
    -----
    O(m + n + e) time and memory for e entries. SciPy's `A.T` switches the format instead, in O(1).

    Examples
    --------
    >>> import semiring
    >>> from scipy.sparse import csr_array
    >>> semiring.transpose(csr_array([[0, 7], [0, 0]])).toarray()
    array([[0, 0],
           [7, 0]])
    """
    a = _operand(A, "transpose")
    with on_device(a.data):
        return a.transposed().give_back(where="transpose")


def reduce(
    A: Matrix,
    axis: int | None = None,
    semiring: str | Semiring = "min_plus",
    *,
    dtype: DType = None,
    device: str | None = None,
    threads: int | None = None,
) -> Matrix:
    """Sum ⊕ of the stored entries of each row (axis 1), of each column (axis 0), or of all (None).

    Parameters
    ----------
    A : sparse matrix, shape (m, n)
        SciPy or CuPy, in csr, csc, coo or bsr.
    axis : {0, 1, None}
    semiring : str or Semiring
    dtype, device, threads
        As in `matmul`.

    Returns
    -------
    array, shape (m,), (n,) or ()
        On A's device; the semiring's zero where there is no entry.

    Raises
    ------
    ValueError, ShapeError, DTypeError, DomainError, DeviceError, MemoryNeeded
        As `matmul`; ValueError if the axis is invalid.

    See Also
    --------
    matvec, add : Weighted sums; sums of two matrices.

    Notes
    -----
    O(m + n + e) time for e entries.

    Examples
    --------
    The cheapest arc out of each vertex:

    >>> import semiring
    >>> from scipy.sparse import csr_array
    >>> semiring.reduce(csr_array([[0, 7.0], [0, 0]]), 1, "min_plus")
    array([ 7., inf])
    """
    s = get(semiring)
    if isinstance(axis, bool) or axis not in (0, 1, None):
        raise ValueError(f"reduce: axis must be 0, 1 or None, got {came(axis)}.")
    a = _operand(A, "reduce")
    with on_device(a.data):
        x = a.conformed(s, common_dtype(s, dtype, a.data, where="reduce"), where="reduce")
        x = x.move(device_of(a.data, device))
        if axis is None:
            xp = module(x.data)
            x = CSR((1, 1), xp.asarray([0, len(x.data)]), x.indices, x.data, A)
        sums = reduced(x.transposed() if axis == 0 else x, s, threads, "reduce")
        sums = to_device(sums, a.device)
        return sums[0] if axis is None else sums
