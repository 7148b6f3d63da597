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
from semiring.tensors.gradients.tracers import along_paths, called, plain, softsums

from ...answers.routes import of_closure
from ...road.problem import require_matrices
from . import closed


@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3))
def _closure(A: Array, s: Semiring, ties: str, options: Values) -> Array:
    return called(lambda a: closed(a, s, *options), A, A)


def _forward(A: Array, s: Semiring, ties: str, options: Values) -> Array:
    routed = kind(s, "closure") == "selecting" and ties == "one"  # refused before work, where there is no gradient
    D, P = _closure(A, s, ties, options), None
    if routed:
        find = partial(of_closure, s=s, threads=options[-1])
        P = called(find, jax.ShapeDtypeStruct(A.shape, np.int32), *map(jax.lax.stop_gradient, (A, D)))
    return D, (A, D, P)


def _backward(s: Semiring, ties: str, options: Values, kept: Any, G: Array) -> Array:
    A, D, P = kept
    if (found := kind(s, "closure")) != "selecting":
        return (sums_by_closure(found, jnp.where, softsums, A, D, G),)
    return (along_paths(partial(paths_by_closure, s, ties, options[-1]), 1, A, D, P, G),)


_closure.defvjp(_forward, _backward)


def closure(A: Array, semiring: str | Semiring, ties: str, *options: Any, **others: Any) -> Array:
    """`apsp.closure` of a traced array, with a gradient."""
    require(ties, others, "closure")
    s = get(semiring)
    require_matrices(A.shape, "closure")
    (A,) = plain(A, semiring=s, where="closure")
    return _closure(A, s, ties, options)
