"""JAX: products with gradients by `jax.custom_vjp` and host callbacks, so that `jax.jit` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...algebra import catalog
from ...algebra.records import Semiring
from ...dense.product import multiplied
from ...host.errors import DTypeError
from ...host.types import Matrix
from ..contraction import contracted, planned
from . import Differentiable, by_softsum, common, kind, matrices, paths_by_product, require, softsum, sums_by_product


def called(compute: Any, like: Matrix, *arrays: Matrix) -> Matrix:
    """Host callback of a function of NumPy arrays; results have the shapes and dtypes of `like`."""

    def call(*arrays: Matrix) -> Matrix:
        return compute(*(None if X is None else np.asarray(X) for X in arrays))

    return jax.pure_callback(call, jax.tree.map(lambda X: jax.ShapeDtypeStruct(X.shape, X.dtype), like), *arrays)


def plain(*arrays: Matrix, where: str) -> list[Matrix]:
    made = [jnp.asarray(X) for X in arrays]
    return common(made, (jnp.float16, jnp.bfloat16), jnp.float32, lambda X, dtype: X.astype(dtype), where)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def _matmul(A: Matrix, B: Matrix, s: Semiring, ties: str, threads: int | None) -> Matrix:
    like = jax.ShapeDtypeStruct((*A.shape[:-1], B.shape[-1]), A.dtype)
    return called(partial(multiplied, s=s, threads=threads), like, A, B)


def _matmul_forward(A: Matrix, B: Matrix, s: Semiring, ties: str, threads: int | None) -> Matrix:
    kind(s, "matmul")  # at once, where there is no gradient
    C = _matmul(A, B, s, ties, threads)
    return C, (A, B, C)


def _matmul_backward(s: Semiring, ties: str, threads: int | None, kept: Any, G: Matrix) -> Matrix:
    if (found := kind(s, "matmul")) != "selecting":
        A, B, C = kept
        return sums_by_product(found, jnp.where, softsums, A, B, C, G)
    return called(partial(paths_by_product, s, ties, threads), kept[:2], *kept, G)


_matmul.defvjp(_matmul_forward, _matmul_backward)


@jax.custom_vjp
def softsums(U: Matrix, V: Matrix, L: Matrix, N: Matrix, M: Matrix) -> Matrix:
    """`softsum` of tracers, with all derivatives."""
    return called(softsum, M, U, V, L, N, M)


def _softsum_forward(*operands: Matrix) -> Matrix:
    out = softsums(*operands)
    return out, (*operands, out)


softsums.defvjp(_softsum_forward, lambda kept, W: by_softsum(softsums, W, *kept))


def matmul(A: Matrix, B: Matrix, semiring: str | Semiring, ties: str, threads: int | None, **others: Any) -> Matrix:
    require(ties, others, "matmul")
    left, right, shape = matrices(jnp.broadcast_shapes, jnp.broadcast_to, *plain(A, B, where="matmul"))
    return _matmul(left, right, catalog.get(semiring), ties, threads).reshape(shape)


class Traced(Differentiable):
    """`Differentiable` for JAX arrays."""

    xp, fixed, matmul = jnp, staticmethod(jax.lax.stop_gradient), staticmethod(matmul)

    def permuted(self, X: Matrix, axes: Sequence[int]) -> Matrix:
        return X.transpose(axes)

    def best(self, X: Matrix, axes: Sequence[int], name: str) -> Matrix:
        if self.ties == "shared":
            return getattr(X, name)(tuple(axes))
        left = [axis for axis in range(X.ndim) if axis not in axes]
        rows = X.transpose((*left, *axes)).reshape((*(X.shape[axis] for axis in left), -1))
        return jnp.take_along_axis(rows, getattr(rows, f"arg{name}")(-1)[..., None], -1)[..., 0]


def einsum(
    subscripts: str, operands: Sequence[Matrix], semiring: str | Semiring, order: Any, ties: str, threads: int | None,
    checkpoint: bool, **others: Any,
) -> Matrix:  # fmt: skip
    require(ties, others | {"checkpoint": checkpoint}, "einsum")
    s, arrays = catalog.get(semiring), plain(*operands, where="einsum")
    if not all(jnp.issubdtype(X.dtype, jnp.floating) for X in arrays):
        raise DTypeError(
            f"einsum: traced arrays must be of floats, got {arrays[0].dtype}. Convert them, or call it outside of jit."
        )
    return contracted(
        planned(subscripts, [X.shape for X in arrays], s, arrays[0].dtype, order), arrays, Traced(s, ties, threads)
    )
