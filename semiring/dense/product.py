"""C ← A ⊗ B and C ← C ⊕ A ⊗ B on NumPy or CuPy arrays: shapes, dtypes, device and choice of kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import min_plus
from ..algebra.conversion import conform
from ..algebra.records import INTEGERS, Semiring
from ..algebra.saturation import compares, compressed, expanded
from ..algebra.shifting import shift_of
from ..algebra.survey import Survey, fast, surveys
from ..host import memory
from ..host.arrays import check_out
from ..host.devices import module, to_device
from ..host.errors import DTypeError, ShapeError
from ..host.types import Array, DType
from ..kernels.backend import Backend, bind, device_of

#: Products of more pairs (m n k) multiply negative or wide integers as lengths ≥ 0 (`by_lengths`); on a GPU, others
#: start before the survey of their operands is over.
LENGTHS = {"cpu": 1 << 21, "cuda": 1 << 30}
#: Last survey's answer (operands non-negative?) by semiring and dtype.
_last: dict[tuple[Semiring, np.dtype], bool] = {}


class Factors(NamedTuple):
    """Operands of a product: in one dtype of the semiring, on the device that multiplies, with the product's shape."""

    A: Array
    B: Array
    semiring: Semiring
    shape: tuple[int, ...]
    device: str
    threads: int | None

    def bind(self, *, nonnegative: bool) -> Backend:
        return bind(self.semiring, self.A.dtype, device=self.device, nonnegative=nonnegative, threads=self.threads)

    def as_matrices(self, *results: np.dtype) -> tuple[Array, Array, list[Array]]:
        """Operands, vectors as matrices, and memory for a product in each of some dtypes (MemoryNeeded)."""
        A, B, shape = self.A, self.B, self.shape
        left, right = (A[None, :] if A.ndim == 1 else A), (B[:, None] if B.ndim == 1 else B)
        full = *shape[: len(shape) - (A.ndim > 1) - (B.ndim > 1)], left.shape[-2], right.shape[-1]
        needed = math.prod(full) * sum(dtype.itemsize for dtype in results)
        memory.require(needed, self.device, where="matmul", hint="Use a smaller dtype, or multiply in parts.")
        return left, right, [module(A).empty(full, dtype) for dtype in results]


def multiplied(
    A: Array, B: Array, s: Semiring, out: Array = None, *, accumulate: bool = False, dtype: DType = None,
    device: str | None = None, threads: int | None = None,
) -> Array:  # fmt: skip
    """`matmul` of NumPy or CuPy arrays, into `out` or new memory on A's device."""
    shape = product_shape(A, B)
    A, B = common((A, B), s, dtype, where="matmul")
    if accumulate and out is None:
        raise ShapeError("matmul: accumulate=True must have an array to add to, got out=None. Pass out=C.")
    if out is not None:
        check_result(out, A, shape, A.dtype)
    home, there = device_of(A), device_of(A, device)
    factors = Factors(to_device(A, there), to_device(B, there), s, shape, there, threads)
    C = to_device(_product(factors, to_device(out, there) if accumulate else None), home)
    if out is None:
        return C
    out[...] = C
    return out


def _product(factors: Factors, added: Array) -> Array:
    """A ⊗ B, or added ⊕ A ⊗ B, in new memory: the caller's `out` may alias an operand."""
    s, dtype, shape = factors.semiring, factors.A.dtype, factors.shape
    looks = surveys(factors[:2] if added is None else (*factors[:2], added), s, where="matmul")
    left, right, (product,) = factors.as_matrices(dtype)

    def multiply(nonnegative: bool) -> None:
        if added is not None:
            product[...] = added.reshape(product.shape)
        _multiply_each(factors.bind(nonnegative=nonnegative), product, left, right, added is not None)

    many = product.size * left.shape[-1] > LENGTHS[factors.device]
    if factors.device == "cuda" and not many:
        while_looking(multiply, looks, s, dtype)
    else:
        seen = looks()
        nonnegative = all([fast(x, s, dtype, 2) for x in seen])
        narrow = many and (not nonnegative or dtype.itemsize == 8)
        if narrow and _by_lengths(factors, product, left, right, seen):
            if added is not None:
                better = np.minimum if s.add.selects == "least" else np.maximum
                better(product, added.reshape(product.shape), out=product)
        elif not (narrow and added is None and _in_int32(factors, product, left, right, nonnegative)):
            multiply(nonnegative)
    return product if product.shape == shape else product.reshape(shape)


def check_result(out: Array, A: Array, shape: tuple[int, ...], dtype: DType) -> None:
    """Check `out` for a product with operand A: DTypeError on another device, else as `check_out`."""
    if isinstance(out, np.ndarray) != isinstance(A, np.ndarray):
        raise DTypeError("matmul: out must be where the operands are, got one on the CPU and others on a GPU.")
    check_out(out, shape, dtype, where="matmul")


def _by_lengths(factors: Factors, C: Array, A: Array, B: Array, looks: list[Survey]) -> bool:
    """C ← A ⊗ B of integers as lengths ≥ 0 in the narrowest dtype that holds all sums; False where none does."""
    shift = shift_of(A, B, looks[:2], factors.semiring) if A.size and B.size else None
    if shift is None or shift.longest >= dtypes.SCALARS[C.dtype].high:
        return False
    dtype = next(d for d in map(np.dtype, INTEGERS) if shift.longest < dtypes.SCALARS[d].high)
    size = (A.size + B.size + C.size) * dtype.itemsize
    memory.require(size, factors.device, where="matmul", hint="Use a smaller dtype, or multiply in parts.")
    infinity = dtypes.SCALARS[dtype].high
    left, right = (shift.lengths(X, by, dtype, infinity) for X, by in ((A, shift.left), (B, shift.right)))
    sums = C if dtype == C.dtype else np.empty_like(C, dtype)
    lengths = factors._replace(semiring=min_plus, A=left)
    _multiply_each(lengths.bind(nonnegative=True), sums, left, right, False)
    shift.restore(C, sums, infinity)
    return True


def _in_int32(factors: Factors, C: Array, A: Array, B: Array, nonnegative: bool) -> bool:
    """C ← A ⊗ B of int64 on a GPU in int32, where entries are only compared and fit; else False."""
    if factors.device != "cuda" or C.dtype != np.int64 or not compares(factors.semiring):
        return False
    x, y = (compressed(X, np.dtype(np.int32)) for X in (A, B))
    if x is None or y is None:
        return False
    half = module(C).empty(C.shape, np.int32)
    _multiply_each(factors._replace(A=x).bind(nonnegative=nonnegative), half, x, y, False)
    expanded(half, C.dtype, C)
    return True


def while_looking(
    multiply: Callable[[bool], None], looks: Callable[[], list[Survey]], s: Semiring, dtype: np.dtype
) -> None:
    """Multiply on a GPU by the kernel that the operands' signs permit, surveyed meanwhile.

    A survey takes as long as a small product, so the product starts early with the last answer and is computed again if
    that proves wrong. Equal operands thus always take the same kernel: results are bit-identical.
    """
    guess = _last.get((s, dtype))
    if guess is not None:
        multiply(guess)
    found = all([fast(x, s, dtype, 2) for x in looks()])
    if guess != found:
        multiply(found)
    _last[s, dtype] = found


def each(results: tuple[Array, ...], left: Array, right: Array, axes: int = 2) -> Iterator[tuple[Array, ...]]:
    """(*results, A, B) for each index of the leading axes, A and B broadcast; the last `axes` axes stay."""
    if results[0].ndim == 2:
        yield *results, left, right
        return
    batch = results[0].shape[:-2]
    left, right = (module(X).broadcast_to(X, (*batch, *X.shape[-2:])) for X in (left, right))
    for index in np.ndindex(*results[0].shape[:-axes]):
        yield *(X[index] for X in results), left[index], right[index]


def _multiply_each(ops: Backend, product: Array, left: Array, right: Array, accumulate: bool) -> None:
    """Multiply a batch in one call where results are new, else one by one."""
    together = not accumulate and ops.grain == 1 and product.ndim > 2
    for C, X, Y in each((product,), left, right, 3 if together else 2):
        if together:
            ops.matmul_batch(C, X, Y)
        else:
            _multiply(ops, C, X, Y, accumulate)


def _multiply(ops: Backend, C: Array, A: Array, B: Array, accumulate: bool) -> None:
    verb = ops.gemm if accumulate else ops.matmul
    matrix = ops.upload(C, copy=False)
    verb(matrix, ops.upload(A, copy=False), ops.upload(B, copy=False))
    if matrix is not C:  # a backend may work in a form of its own, such as packed bits
        ops.download(matrix, out=C)


def product_shape(A: Array, B: Array) -> tuple[int, ...]:
    """Shape of A ⊗ B by NumPy's rules; ShapeError naming both shapes if they do not fit."""
    batch: tuple[int, ...] = ()
    wrong = ""
    if A.ndim == 0 or B.ndim == 0:
        wrong = "operands must be vectors or matrices, not scalars"
    elif A.shape[-1] != B.shape[-2 if B.ndim > 1 else 0]:
        wrong = "inner sizes must match"
    elif A.ndim > 2 or B.ndim > 2:
        try:
            batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        except ValueError:
            wrong = "leading axes must broadcast"
    if wrong:
        raise ShapeError(f"matmul: {wrong}, got A {A.shape} and B {B.shape}.")
    return (*batch, *A.shape[-2:-1], *(B.shape[-1:] if B.ndim > 1 else ()))


def common(operands: Sequence[Array], s: Semiring, dtype: DType, *, where: str) -> list[Array]:
    """Operands in one dtype of the semiring; DTypeError if they lie on CPU and GPU, or no dtype holds them."""
    if len({isinstance(X, np.ndarray) for X in operands}) > 1:
        raise DTypeError(f"{where}: operands must be all NumPy or all CuPy arrays, got some of each.")
    found = {X.dtype for X in operands}
    natural = found.pop() if len(found) == 1 else np.result_type(*found)
    if dtype is None and not found and natural in dtypes.of(s):
        return list(operands)
    if s.dtypes != ("bool",):
        dtype = dtypes.resolve(s, dtype, natural, where=where)
    return [conform(X, s, dtype, where=where) for X in operands]
