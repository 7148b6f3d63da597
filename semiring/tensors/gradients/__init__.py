"""Derivatives of products, sums and closures for PyTorch and JAX (docs/gradients.md).

C = A ⊗ B and D = A* have derivatives over three kinds of semirings. Where ⊕ selects, G flows back along best paths to
their edges. Over (+, ×), Ā = Dᵀ G Dᵀ; over (logaddexp, +) the same with weights exp(…), the shares of paths. Functions
take NumPy or CuPy arrays with any leading axes.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ...algebra import catalog
from ...algebra.dtypes import largest_finite
from ...algebra.records import Semiring
from ...dense.product import multiplied, product_shape
from ...dense.routes import adjoint
from ...host import memory
from ...host.devices import host, module, to_device
from ...host.errors import AlgebraError, DivergenceError, DomainError, DTypeError
from ...host.signals import load
from ...host.spelling import came
from ...host.types import Array, DType, Fields, Matrix, Values
from ...kernels.cpu.processors import default_threads
from ..elementwise import REDUCTIONS, logsumexp

#: Ways to divide a gradient among equally good paths.
TIES = ("one", "shared")
#: Bound on the sum of three exponents such that n² exponentials neither underflow nor overflow in float64.
_REACH = 600.0
#: Relative tolerance between an edge and its distance, as a power of eps.
_SLACK = 0.75


def asked_by(*operands: Matrix) -> str:
    """Library that differentiates or compiles through these operands: "torch", "jax", or "" for none.

    Tensors count if they require gradients, or while PyTorch compiles; JAX arrays if they are tracers.
    """
    for x in operands:
        if hasattr(x, "requires_grad"):
            torch = sys.modules["torch"]
            if x.requires_grad or torch.compiler.is_compiling():
                return "torch"
        elif hasattr(x, "aval") and "jax" in sys.modules and isinstance(x, sys.modules["jax"].core.Tracer):
            return "jax"
    return ""


def ties_error(ties: str, where: str) -> ValueError:
    return ValueError(f"{where}: ties must be 'one' or 'shared', got {ties!r}.")


def require(ties: str, others: Fields, where: str) -> None:
    """Raise ValueError for unknown `ties`, or an option without derivative that is set."""
    if ties not in TIES:
        raise ties_error(ties, where)
    for name, value in others.items():
        if value is not None and value is not False:
            raise ValueError(
                f"{where}: {name} must be left out where a tensor requires gradients or is traced, got "
                f"{name}={came(value)}. Convert the tensor first, or pass A.detach() for no "
                "gradient; in JAX, call this outside of jit and grad."
            )


def common(arrays: list[Matrix], halves: Values, single: Any, cast: Any, where: str) -> list[Matrix]:
    """Arrays in one dtype to compute in, 16-bit floats as float32; DTypeError if dtypes differ."""
    arrays = [cast(X, single) if X.dtype in halves else X for X in arrays]
    if len(dtypes := sorted({str(X.dtype) for X in arrays})) > 1:
        raise DTypeError(
            f"{where}: operands must be arrays of one library and dtype where derivatives are asked for, got "
            f"{' and '.join(dtypes)}. Convert one of them."
        )
    return arrays


def matrices(shapes: Any, broadcast: Any, A: Matrix, B: Matrix) -> tuple[Matrix, Matrix, tuple[int, ...]]:
    """Operands as matrices of one batch, and the product's shape; `shapes` and `broadcast` are the library's."""
    shape = product_shape(A, B)
    left, right = (A[None, :] if A.ndim == 1 else A), (B[:, None] if B.ndim == 1 else B)
    batch = shapes(left.shape[:-2], right.shape[:-2])
    return *(broadcast(X, (*batch, *X.shape[-2:])) for X in (left, right)), shape


def kind(s: Semiring, where: str) -> str:
    """Derivative rule: "selecting", "exponential" or "linear"; AlgebraError if the semiring has none."""
    add, mul = s.add.ufunc, s.mul.ufunc
    if s.add.selects and mul in (np.add, np.multiply):
        return "selecting"
    if mul is np.add and add is np.logaddexp:
        return "exponential"
    if mul is np.multiply and add is np.add:
        return "linear"
    raise AlgebraError(
        f"{where}: derivatives are defined where ⊕ selects or sums and ⊗ adds or multiplies numbers, got {s.name}. "
        "Pass A.detach(), in JAX jax.lax.stop_gradient(A), for no gradient."
    )


class Differentiable(ABC):
    """`elementwise.Arrays` with gradients, for contractions of tensors and tracers."""

    #: The library's namespace, its detach (stop gradient), and its `semiring.matmul`.
    xp: Any
    fixed: Any
    matmul: Any

    def __init__(self, s: Semiring, ties: str, threads: int | None) -> None:
        self.semiring, self.ties, self.threads, self.kind = s, ties, threads, kind(s, "einsum")

    def diagonal(self, X: Matrix, i: int, j: int) -> Matrix:
        """Diagonal of axes i and j, as the last axis."""
        return X.diagonal(0, i, j)

    def product(self, X: Matrix, Y: Matrix) -> Matrix:
        return self.matmul(X, Y, self.semiring, self.ties, self.threads)

    def times(self, X: Matrix, Y: Matrix) -> Matrix:
        if self.semiring.mul.ufunc is not np.multiply:
            return self.masked(X + Y)
        if self.semiring.zero == math.inf:  # 0 · ∞ is NaN in a gradient: ones stand in
            none = X * Y == math.inf
            return self.xp.where(none, math.inf, self.xp.where(none, 1, X) * self.xp.where(none, 1, Y))
        return self.masked(X * Y)

    def total(self, X: Matrix, axes: Sequence[int]) -> Matrix:
        if self.kind == "linear":
            return X.sum(tuple(axes))
        if not math.prod(X.shape):
            return X.sum(tuple(axes)) + self.semiring.zero
        if self.kind == "exponential":
            return logsumexp(self.xp, X, tuple(axes), self.fixed)
        assert self.semiring.add.ufunc is not None
        return self.masked(self.best(X, axes, REDUCTIONS[self.semiring.add.ufunc]))

    @abstractmethod
    def best(self, X: Matrix, axes: Sequence[int], name: str) -> Matrix:
        """Least ("min") or greatest ("max") along axes, its gradient divided as `ties` says."""

    def masked(self, Z: Matrix) -> Matrix:
        """Cut gradients at the semiring's zero, except over (+, ×), where 0 is a number like others."""
        zero = self.semiring.zero
        return Z if self.kind == "linear" else self.xp.where(Z == zero, zero, Z)


# Formulas in operations that PyTorch and JAX share; `where` and `softsum` are the library's.


def sums_by_closure(found: str, where: Any, softsum: Any, A: Matrix, D: Matrix, G: Matrix) -> Matrix:
    """Backward step of D = A* where ⊕ sums: the gradient of A, from G of D."""
    if found == "linear":
        return D.mT @ G @ D.mT
    G, minus = where(D == -np.inf, 0, G), where(D == -np.inf, D, -D)
    return softsum(None, softsum(G, None, minus, D.mT, D), D.mT, minus, A)


def sums_by_product(
    found: str, where: Any, softsum: Any, A: Matrix, B: Matrix, C: Matrix, G: Matrix
) -> tuple[Matrix, Matrix]:
    """Backward step of C = A ⊗ B where ⊕ sums: the gradients of A and B, from G of C."""
    if found == "linear":
        return G @ B.mT, A.mT @ G
    G, minus = where(C == -np.inf, 0, G), where(C == -np.inf, C, -C)
    return softsum(G, None, minus, B.mT, A), softsum(None, G, A.mT, minus, B)


def by_softsum(
    softsum: Any, W: Matrix, U: Matrix, V: Matrix, L: Matrix, N: Matrix, M: Matrix, out: Matrix
) -> tuple[Matrix, ...]:
    """Backward step of out = softsum(U, V, L, N, M): the gradients of all five, from W of `out`."""
    left = softsum(W, None if V is None else V.mT, M, N.mT, L)
    right = softsum(None if U is None else U.mT, W, L.mT, M, N)
    by_U, by_L = (None, left) if U is None else (left, U * left)
    by_V, by_N = (None, right) if V is None else (right, V * right)
    return by_U, by_V, by_L, by_N, W * out


# Where ⊕ selects, and softsum itself, on NumPy or CuPy arrays.


def paths_by_closure(s: Semiring, ties: str, threads: int | None, A: Array, D: Array, P: Array, G: Array) -> Matrix:
    """Backward step of D = A* where ⊕ selects. P: predecessors of D if ties="one"."""
    times = s.mul.ufunc is np.multiply
    with np.errstate(invalid="ignore"):
        demand = G * D if times else G  # pairs without a path have no predecessor, and their demand no edge
    F = _shared(A, D, demand, s, threads) if ties == "shared" else _flows(P, demand, threads)
    return _by_weight(F, A, times, G.dtype)


def paths_by_product(
    s: Semiring, ties: str, threads: int | None, A: Array, B: Array, C: Array, G: Array
) -> tuple[Matrix, Matrix]:
    """Backward step of C = A ⊗ B where ⊕ selects, on matrices of one batch."""
    times = s.mul.ufunc is np.multiply
    with np.errstate(invalid="ignore"):
        demand = G * C if times else G
    if ties == "shared":
        FA, FB = _shared_product(A, B, C, demand, s, times)
    else:
        rule = {"greatest": s.add.selects == "greatest", "times": times, "zero": float(s.zero)}
        K = _kernels(A).chosen(A, B, **rule, threads=threads or default_threads())
        FB = _collected(K, demand, A.shape[-1], threads)
        FA = _collected(K.swapaxes(-1, -2), demand.swapaxes(-1, -2), A.shape[-1], threads).swapaxes(-1, -2)
    return _by_weight(FA, A, times, G.dtype), _by_weight(FB, B, times, G.dtype)


def softsum(U: Array | None, V: Array | None, L: Array, N: Array, M: Array, threads: int | None = None) -> Matrix:
    """out[x,y] = Σ_z U[x,z] V[z,y] exp(L[x,z] + N[z,y] + M[x,y]); None stands for ones, −inf for weight 0.

    One real product where no exponential overflows; else log-sum-exp products, one per pair of signs.
    """
    xp, dtype = module(M), M.dtype
    if not all(X is None or bool(xp.isfinite(X).all()) for X in (U, V)):  # as of a scaled loss that overflowed
        return xp.full(M.shape, np.nan, dtype)
    memory.require(32 * M.size, "cpu" if xp is np else "cuda", where="gradient", hint="Use fewer vertices.")
    if sum(_largest(X) for X in (L, N, M)) < _REACH:
        left, right = (_weighted(X, E) for X, E in ((U, L), (V, N)))
        total = multiplied(left, right, catalog.plus_times, threads=threads)
        return (total * xp.exp(M, dtype=np.float64)).astype(dtype)
    total = xp.zeros(M.shape, dtype)
    for a, left in _logarithms(U, L):
        for b, right in _logarithms(V, N):
            total += a * b * xp.exp(multiplied(left, right, catalog.log_plus, threads=threads) + M)
    return total


def _largest(X: Array) -> float:
    if isinstance(X, np.ndarray) or not X.size:
        return largest_finite(X)
    return float(abs(module(X).nan_to_num(X, neginf=0.0)).max())


def _weighted(X: Array | None, E: Array) -> Matrix:
    found = module(E).exp(E, dtype=np.float64)
    return found if X is None else found * X


def _logarithms(X: Array | None, E: Array) -> list[tuple[int, Matrix]]:
    """(sign, log |X| + E) for each sign that occurs."""
    if X is None:
        return [(1, E)]
    xp, found = module(X), []
    for sign in (1, -1):
        part = xp.maximum(sign * X, 0)
        if bool(part.any()):
            with np.errstate(divide="ignore"):
                found.append((sign, xp.log(part) + E))
    return found


def _by_weight(F: Array, A: Array, times: bool, dtype: DType) -> Matrix:
    """Gradient by edge: flow, over the weight where ⊗ multiplies."""
    if times:
        with np.errstate(invalid="ignore", divide="ignore"):
            F = module(F).where(F == 0, 0, F / A)
    return F.astype(dtype, copy=False)


def _flows(P: Array, Q: Array, threads: int | None) -> Matrix:
    """F[k,j]: total demand of the paths in P that take edge (k, j)."""
    memory.require(16 * P.size, "cpu" if module(P) is np else "cuda", where="gradient", hint="Use fewer vertices.")
    return _collected(P, _kernels(P).subtrees(P, Q, threads or default_threads()), P.shape[-1], threads)


def _collected(K: Array, values: Array, rows: int, threads: int | None) -> Matrix:
    return _kernels(K).collected(K, values, rows, threads or default_threads())


def _kernels(array: Array) -> ModuleType:
    if module(array) is np:
        return load("semiring.kernels.cpu.routes.gradients")
    return load("semiring.kernels.cuda.routes.gradients")


def _shared(A: Array, D: Array, Q: Array, s: Semiring, threads: int | None) -> Matrix:
    """F[k,j]: demand through edge (k, j), all best paths having equal shares; computed on the host."""
    home, shape = "cpu" if module(D) is np else "cuda", A.shape
    flat = [np.ascontiguousarray(host(X)).reshape(math.prod(shape[:-2]), *shape[-2:]) for X in (A, D, Q)]
    F = np.zeros(flat[0].shape)
    for f, a, d, q in zip(F, *flat, strict=True):
        _share(f, a, d, q, s, threads)
    return to_device(F.reshape(shape), home)


def _share(F: np.ndarray, A: np.ndarray, D: np.ndarray, Q: np.ndarray, s: Semiring, threads: int | None) -> None:
    """F ← the flow of one matrix; DomainError if best paths go round a cycle, as there are infinitely many."""
    slack = float(np.finfo(A.dtype).eps) ** _SLACK
    improving = bool((A < s.one).any() if s.add.selects == "least" else (A > s.one).any())
    floor = largest_finite(D) if s.lengths and improving else 0.0  # lengths of both signs cancel
    with np.errstate(invalid="ignore"):
        best = (A != s.zero) & (abs(A - D) <= slack * np.maximum(abs(A), floor))  # others are on no best path
    np.fill_diagonal(best, False)
    tails, heads = np.nonzero(best)
    edges = np.searchsorted(tails, np.arange(len(A) + 1)), heads, A[best]
    sums = adjoint(s, A.dtype, edges, where="closure", threads=threads)
    sums.of_vertices = False
    try:
        sums.add(D, np.arange(len(D)), Q.astype(np.float64))
    except DivergenceError as error:
        raise DomainError(
            "closure: ties='shared' must have finitely many best paths, got a cycle among those that costs nothing, "
            f"through vertex {error.vertex}. Say ties='one'."
        ) from None
    sums.finish()
    F[best] = sums.along


def _shared_product(A: Array, B: Array, C: Array, Q: Array, s: Semiring, times: bool) -> tuple[Matrix, Matrix]:
    """Gradient flow into A and B, divided equally among the best products of each entry."""
    xp = module(C)
    FA, FB, zero = xp.zeros(A.shape), xp.zeros(B.shape), C.dtype.type(s.zero)

    def hits(k: int) -> Matrix:
        a, b = A[..., :, k, None], B[..., k, None, :]
        return ((a * b if times else a + b) == C) & (C != zero)

    count = xp.zeros(C.shape, np.int32)
    for k in range(A.shape[-1]):
        count += hits(k)
    share = Q / xp.maximum(count, 1).astype(np.float64)
    for k in range(A.shape[-1]):
        part = xp.where(hits(k), share, 0)
        FA[..., :, k], FB[..., k, :] = part.sum(axis=-1), part.sum(axis=-2)
    return FA, FB
