"""PyTorch: products with gradients, as custom operations, so that `torch.compile` takes them as they are."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from .. import catalog
from ..algebra import Semiring
from ..arrays import take_in
from ..devices import on_device
from ..product import multiplied
from . import by_softsum, common, kind, matrices, paths_by_product, require, softsum, sums_by_product

#: Semirings of users, by the names under which operations take them.
_own: dict[str, Semiring] = {}


@torch.compiler.assume_constant_result
def key(semiring: str | Semiring) -> str:
    """The name under which an operation finds a semiring."""
    if isinstance(semiring, str) or semiring in catalog.CATALOG:
        return str(semiring)
    _own[name := f"{semiring.name}, {id(semiring)}"] = semiring
    return name


def named(name: str) -> Semiring:
    """The semiring of a key."""
    return _own.get(name) or catalog.get(name)


def operation(name: str, schema: str, compute: Any, empty: Any) -> Any:
    """An operation of PyTorch's: what it computes; and for compilers, empty tensors like its results."""
    made = custom_op(name, compute, mutates_args=(), schema=schema)
    made.register_fake(empty)
    return made


def computed(compute: Any, *tensors: Tensor | None) -> Any:
    """The tensors that a function of NumPy's or CuPy's arrays makes: one, or as many as it returns."""
    taken = [None if X is None else take_in(X.detach(), where="gradient") for X in tensors]
    first = next(X for X in taken if X is not None)
    with on_device(first.array):
        found = compute(*(None if X is None else X.array for X in taken))
        several = found if isinstance(found, tuple) else (found,)
        back = tuple(first.give_back(X, where="gradient").contiguous() for X in several)
    return back if isinstance(found, tuple) else back[0]


def plain(*operands: Any, where: str) -> list[Tensor]:
    """Tensors of one dtype, that to compute in; lists become tensors."""
    like = next(X for X in operands if isinstance(X, Tensor))
    made = [torch.as_tensor(X).to(like) if isinstance(X, (list, tuple)) else X for X in operands]
    return common(made, (torch.float16, torch.bfloat16), torch.float32, lambda X, dtype: X.to(dtype), where)


_matmul = operation(
    "semiring::matmul",
    "(Tensor A, Tensor B, str semiring, str ties, int? threads) -> Tensor",
    lambda A, B, semiring, ties, threads: computed(partial(multiplied, s=named(semiring), threads=threads), A, B),
    lambda A, B, *_: A.new_empty((*A.shape[:-1], B.shape[-1])),
)
_matmul_paths = operation(
    "semiring::matmul_backward",
    "(Tensor A, Tensor B, Tensor C, Tensor G, str semiring, str ties, int? threads) -> (Tensor, Tensor)",
    lambda A, B, C, G, semiring, *options: computed(partial(paths_by_product, named(semiring), *options), A, B, C, G),
    lambda A, B, *_: (A.new_empty(A.shape), B.new_empty(B.shape)),
)
softsums = operation(
    "semiring::softsum",
    "(Tensor? U, Tensor? V, Tensor L, Tensor N, Tensor M) -> Tensor",
    partial(computed, softsum),
    lambda U, V, L, N, M: M.new_empty(M.shape),
)


def _matmul_context(ctx: Any, inputs: Any, output: Tensor) -> None:
    A, B, *ctx.options = inputs
    ctx.kind = kind(named(ctx.options[0]), "matmul")
    ctx.save_for_backward(A, B, output)


def _matmul_backward(ctx: Any, G: Tensor) -> Any:
    if ctx.kind == "selecting":
        return *_matmul_paths(*ctx.saved_tensors, G, *ctx.options), None, None, None
    A, B, C = ctx.saved_tensors
    return *sums_by_product(ctx.kind, torch.where, softsums, A, B, C, G), None, None, None


def _softsum_context(ctx: Any, inputs: Any, output: Tensor) -> None:
    ctx.present = [X is not None for X in inputs]
    ctx.save_for_backward(*(X for X in inputs if X is not None), output)


def _softsum_backward(ctx: Any, W: Tensor) -> Any:
    saved = iter(ctx.saved_tensors)
    return by_softsum(softsums, W, *(next(saved) if present else None for present in (*ctx.present, True)))


_matmul.register_autograd(_matmul_backward, setup_context=_matmul_context)
softsums.register_autograd(_softsum_backward, setup_context=_softsum_context)


def matmul(A: Any, B: Any, semiring: str | Semiring, ties: str, threads: int | None, **others: Any) -> Tensor:
    """`semiring.matmul` of tensors, with gradients."""
    require(ties, others, "matmul")
    left, right, shape = matrices(torch.broadcast_shapes, torch.broadcast_to, *plain(A, B, where="matmul"))
    C: Tensor = _matmul(left, right, key(semiring), ties, threads)
    return C.reshape(shape)
