"""`einsum` with sparse operands: products of matrices and vectors, transpositions, sums of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algebra.conversion import conform
from ...algebra.records import Semiring
from ...algebra.saturation import holding, narrowed, widened
from ...algebra.survey import survey
from ...host.arrays import take_in
from ...host.errors import ShapeError
from ...host.types import DType, Fields, Matrix
from ...tensors.contraction import contracted, planned
from ...tensors.elementwise import Arrays
from .matrix import as_csr, common_dtype, is_sparse
from .parts import reduce, transpose
from .products import multiplied


class Operand:
    """Sparse matrix with the array interface of contractions."""

    ndim = 2

    def __init__(self, matrix: Matrix, library: Mixed) -> None:
        self.matrix, self.library, self.shape = matrix, library, tuple(matrix.shape)

    def reshape(self, *shape: Any) -> Matrix:
        """Return self, or its sums along an axis of size 1; ShapeError for any other shape."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        for axis in (0, 1):
            if self.shape[axis] == 1 and tuple(sizes) == (self.shape[1 - axis],):
                return self.library.total(self, (axis,))
        if tuple(sizes) != self.shape:
            raise _refuse(f"one of shape {self.shape} where {tuple(sizes)} is needed")
        return self


class Mixed(Arrays):
    """`Arrays` some of which are sparse; products are computed in `dtype` on `device`."""

    def __init__(self, semiring: Semiring, threads: int | None, dtype: DType, device: str | None) -> None:
        super().__init__(semiring, threads)
        self.dtype, self.device = dtype, device

    def permuted(self, X: Matrix, axes: Sequence[int]) -> Matrix:
        if not isinstance(X, Operand):
            return super().permuted(X, axes)
        return X if tuple(axes) == (0, 1) else Operand(transpose(X.matrix), self)

    def diagonal(self, X: Matrix, i: int, j: int) -> Matrix:
        """Diagonal of a dense array; ShapeError for a sparse one."""
        if isinstance(X, Operand):
            raise _refuse("a diagonal")
        return super().diagonal(X, i, j)

    def product(self, X: Matrix, Y: Matrix) -> Matrix:
        if X.ndim != 2 or Y.ndim != 2:
            if isinstance(X, Operand) or isinstance(Y, Operand):
                raise _refuse("a batch of products")
            return super().product(X, Y)
        a, b = (Z.matrix if isinstance(Z, Operand) else Z for Z in (X, Y))
        if a is X and b is Y:
            return super().product(X, Y)
        options: Fields = {"dtype": self.dtype, "device": self.device, "threads": self.threads}
        found = multiplied(a, b, self.semiring, **options, where="einsum")
        return Operand(found, self) if is_sparse(found) else found

    def times(self, X: Matrix, Y: Matrix) -> Matrix:
        """x ⊗ y of dense arrays, elementwise; ShapeError for sparse ones."""
        if isinstance(X, Operand) or isinstance(Y, Operand):
            raise _refuse("entries multiplied one by one")
        return super().times(X, Y)

    def total(self, X: Matrix, axes: Sequence[int]) -> Matrix:
        if not isinstance(X, Operand):
            return super().total(X, axes)
        first = reduce(X.matrix, max(axes), self.semiring, dtype=self.dtype, threads=self.threads)
        return first if len(axes) == 1 else super().total(first, (0,))


def evaluated(
    subscripts: str, operands: Sequence[Matrix], s: Semiring, *, order: Any, out: Matrix, dtype: DType,
    device: str | None, threads: int | None,
) -> Matrix:  # fmt: skip
    """`einsum` with sparse operands; sparse where the result is a product of two sparse matrices.

    Raises ShapeError for anything but products, transpositions and sums of sparse matrices, or if `out` is passed.
    """
    if out is not None:
        raise ShapeError("einsum: out must be left out where operands are sparse, got one. Use matmul with out=.")
    taken = [X if is_sparse(X) else take_in(X, where="einsum").array for X in operands]
    dtype = common_dtype(s, dtype, *taken, where="einsum")
    entries = [_stored(X, s, dtype) if is_sparse(X) else conform(X, s, dtype, where="einsum") for X in taken]
    for X, data in zip(taken, entries, strict=True):
        survey(data, s, where="einsum: the stored entries of a sparse matrix" if is_sparse(X) else "einsum")
    own, wide = entries[0].dtype, holding(entries, s, where="einsum")
    if wide != own:
        exact = [_with(X, s, wide, own) if is_sparse(X) else widened(entries[k], wide, s) for k, X in enumerate(taken)]
        options: Fields = {"dtype": wide, "device": device, "threads": threads}
        found = evaluated(subscripts, exact, s, order=order, out=None, **options)
        if not is_sparse(found):
            return narrowed(found, own)
        found.data = narrowed(found.data, own)
        return found
    library = Mixed(s, threads, dtype, device)
    live = [Operand(X, library) if is_sparse(X) else Y for X, Y in zip(taken, entries, strict=True)]
    plan = planned(subscripts, [X.shape for X in live], s, dtype or bool, order)
    result = contracted(plan, live, library)
    return result.matrix if isinstance(result, Operand) else result


def _stored(X: Matrix, s: Semiring, dtype: DType) -> Matrix:
    """Stored entries in the dtype to compute in."""
    rows = X.format in ("csr", "csc") and len(X.indptr)
    data = X.data[: int(X.indptr[-1])] if rows else as_csr(X, where="einsum").data
    return conform(data, s, dtype, where="einsum: the entries of a sparse matrix")


def _with(X: Matrix, s: Semiring, wide: np.dtype, own: np.dtype) -> Matrix:
    """Copy of a sparse matrix in a wider dtype."""
    X = X.copy()
    X.data = widened(conform(X.data, s, own, where="einsum: the entries of a sparse matrix"), wide, s)
    return X


def _refuse(came: str) -> ShapeError:
    return ShapeError(
        f"einsum: sparse operands must be matrices of products, transpositions or sums, got {came}. Pass an array "
        "instead, with the semiring's zero where nothing is stored."
    )
