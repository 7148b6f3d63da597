"""JAX: products with gradients by `jax.custom_vjp` and host callbacks, so that `jax.jit` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...algebra import catalog
from ...algebra.dtypes import resolve
from ...algebra.records import Semiring
from ...dense.product import multiplied
from ...host.errors import AlgebraError, DTypeError
from ...host.types import Matrix
from ..contraction import contracted, planned
from . import Differentiable, by_softsum, common, kind, matrices, paths_by_product, require, softsum, sums_by_product


def called(compute: Any, like: Matrix, *arrays: Matrix) -> Matrix:
    """Host callback of a function of NumPy arrays; results have the shapes and dtypes of `like`."""

    def call(*arrays: Matrix) -> Matrix:
        return compute(*(None if X is None else np.asarray(X) for X in arrays))

    shapes = jax.tree.map(lambda X: jax.ShapeDtypeStruct(X.shape, X.dtype), like)
    return jax.pure_callback(call, shapes, *arrays, vmap_method="sequential")


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def along_paths(compute: partial[Matrix], count: int, *arrays: Matrix) -> Matrix:
    """`called`, for the gradients of the first `count` arrays where ⊕ selects; AlgebraError if differentiated."""
    return called(compute, arrays[0] if count == 1 else arrays[:count], *arrays)


def _no_second_derivative(compute: partial[Matrix], count: int, *arrays: Matrix) -> Matrix:
    raise AlgebraError(
        f"gradient: second derivatives are defined over log_plus and plus_times, got {compute.args[0].name}. "
        "Differentiate once, or take one of these."
    )


along_paths.defvjp(_no_second_derivative, _no_second_derivative)


def plain(*arrays: Matrix, semiring: Semiring, where: str) -> list[Matrix]:
    """Arrays of JAX in the dtype to compute in, known before there are numbers."""
    made = [jnp.asarray(X) for X in arrays]
    made = common(made, (jnp.float16, jnp.bfloat16), jnp.float32, lambda X, dtype: X.astype(dtype), where)
    dtype = resolve(semiring, None, made[0].dtype, where=where)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise DTypeError(
            f"{where}: JAX must hold a result of {dtype}, which has 64 bits. Convert the array first, or allow them: "
            "jax.config.update('jax_enable_x64', True)."
        )
    return [X.astype(dtype) for X in made]


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
    return along_paths(partial(paths_by_product, s, ties, threads), 2, *kept, G)


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
    s = catalog.get(semiring)
    left, right, shape = matrices(jnp.broadcast_shapes, jnp.broadcast_to, *plain(A, B, semiring=s, where="matmul"))
    return _matmul(left, right, s, ties, threads).reshape(shape)


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
    s = catalog.get(semiring)
    arrays = plain(*operands, semiring=s, where="einsum")
    if not all(jnp.issubdtype(X.dtype, jnp.floating) for X in arrays):
        raise DTypeError(
            f"einsum: traced arrays must be of floats, got {arrays[0].dtype}. Convert them, or call it outside of jit."
        )
    library = Traced(s, ties, threads)
    found = contracted(planned(subscripts, [X.shape for X in arrays], s, arrays[0].dtype, order), arrays, library)
    return found if len(arrays) > 1 else library.masked(found)
