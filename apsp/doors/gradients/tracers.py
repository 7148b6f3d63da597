"""JAX closures with gradients, by `jax.custom_vjp` over host callbacks, for `jax.jit`."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.host.types import Array, Values
from semiring.tensors.gradients import kind, paths_by_closure, require, sums_by_closure
from semiring.tensors.gradients.tracers import called, plain, softsums

from ...answers.routes import of_closure
from . import closed


@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3))
def _closure(A: Array, s: Semiring, ties: str, options: Values) -> Array:
    return called(lambda a: closed(a, s, *options), A, A)


def _forward(A: Array, s: Semiring, ties: str, options: Values) -> Array:
    if kind(s, "closure") != "selecting" or ties == "shared":
        D = _closure(A, s, ties, options)
        return D, (A, D, None)

    def compute(a: Any) -> Array:
        d = closed(a, s, *options)
        return d, of_closure(a, d, s, options[-1])

    D, P = called(compute, (A, jax.ShapeDtypeStruct(A.shape, np.int32)), A)
    return D, (A, D, P)


def _backward(s: Semiring, ties: str, options: Values, kept: Any, G: Array) -> Array:
    A, D, P = kept
    if (found := kind(s, "closure")) != "selecting":
        return (sums_by_closure(found, jnp.where, softsums, A, D, G),)
    return (called(partial(paths_by_closure, s, ties, options[-1]), A, A, D, P, G),)


_closure.defvjp(_forward, _backward)


def closure(A: Array, semiring: str | Semiring, ties: str, *options: Any, **others: Any) -> Array:
    """`apsp.closure` of a traced array, with a gradient."""
    require(ties, others, "closure")
    (A,) = plain(A, where="closure")
    return _closure(A, get(semiring), ties, options)
