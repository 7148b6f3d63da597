"""PyTorch: products with gradients as custom operators, so that `torch.compile` takes them."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.library import custom_op
from torch.utils.checkpoint import checkpoint as again

from ...algebra import catalog
from ...algebra.records import Semiring
from ...dense.product import multiplied
from ...host import memory
from ...host.arrays import refuse_transformed, take_in
from ...host.devices import on_device
from ...host.types import Matrix, Values
from ..chains import chain as chain_of
from ..chains import trace, unchain
from ..contraction import HINT, Contraction, contracted, evaluated, finished, performed, planned
from . import Differentiable, by_softsum, common, kind, matrices, paths_by_product, require, softsum, sums_by_product

#: Users' semirings by `key`.
_own: dict[str, Semiring] = {}


@torch.compiler.assume_constant_result
def key(semiring: str | Semiring) -> str:
    """String that stands for a semiring in an operator's schema; inverse of `named`."""
    if isinstance(semiring, str) or semiring in catalog.CATALOG:
        return str(semiring)
    _own[name := f"{semiring.name}, {id(semiring)}"] = semiring
    return name


def named(name: str) -> Semiring:
    return _own.get(name) or catalog.get(name)


def operation(name: str, schema: str, compute: Any, empty: Any) -> Any:
    """Custom operator from its function and its fake (empty results of the right shape, for compilers)."""
    made = custom_op(name, compute, mutates_args=(), schema=schema)
    made.register_fake(empty)
    return made


def computed(compute: Any, *tensors: Tensor | None) -> Matrix:
    """Apply a function of NumPy or CuPy arrays to detached tensors; a tensor, or a tuple as it returns."""
    taken = [None if X is None else take_in(X.detach(), where="gradient") for X in tensors]
    first = next(X for X in taken if X is not None)
    with on_device(first.array):
        found = compute(*(None if X is None else X.array for X in taken))
        several = found if isinstance(found, tuple) else (found,)
        back = tuple(first.give_back(X, where="gradient").contiguous() for X in several)
    return back if isinstance(found, tuple) else back[0]


def plain(*operands: Matrix, where: str) -> list[Tensor]:
    """Tensors in one dtype to compute in; lists become tensors."""
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


def _matmul_context(ctx: Any, inputs: Values, output: Tensor) -> None:
    A, B, *ctx.options = inputs
    ctx.kind = kind(named(ctx.options[0]), "matmul")
    ctx.save_for_backward(A, B, output)


def _matmul_backward(ctx: Any, G: Tensor) -> Matrix:
    if ctx.kind == "selecting":
        return *_matmul_paths(*ctx.saved_tensors, G, *ctx.options), None, None, None
    A, B, C = ctx.saved_tensors
    return *sums_by_product(ctx.kind, torch.where, softsums, A, B, C, G), None, None, None


def _softsum_context(ctx: Any, inputs: Values, output: Tensor) -> None:
    ctx.present = [X is not None for X in inputs]
    ctx.save_for_backward(*(X for X in inputs if X is not None), output)


def _softsum_backward(ctx: Any, W: Tensor) -> Matrix:
    saved = iter(ctx.saved_tensors)
    return by_softsum(softsums, W, *(next(saved) if present else None for present in (*ctx.present, True)))


_matmul.register_autograd(_matmul_backward, setup_context=_matmul_context)
softsums.register_autograd(_softsum_backward, setup_context=_softsum_context)


def matmul(A: Matrix, B: Matrix, semiring: str | Semiring, ties: str, threads: int | None, **others: Any) -> Tensor:
    require(ties, others, "matmul")
    if not torch.compiler.is_compiling():
        for X in (A, B):
            refuse_transformed(X, where="matmul")
    left, right, shape = matrices(torch.broadcast_shapes, torch.broadcast_to, *plain(A, B, where="matmul"))
    C: Tensor = _matmul(left, right, key(semiring), ties, threads)
    return C.reshape(shape)


class Tensors(Differentiable):
    """`Differentiable` for PyTorch tensors."""

    xp, fixed, matmul = torch, staticmethod(Tensor.detach), staticmethod(matmul)

    def permuted(self, X: Tensor, axes: Sequence[int]) -> Tensor:
        return X.permute(axes)

    def best(self, X: Tensor, axes: Sequence[int], name: str) -> Matrix:
        if self.ties == "shared":
            return getattr(X, f"a{name}")(axes)
        left = [axis for axis in range(X.ndim) if axis not in axes]
        return getattr(X.permute(*left, *axes).flatten(len(left)), name)(-1).values


@torch.compiler.assume_constant_result
def _plan(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], semiring: str, dtype: str, device: str, order: Any
) -> Matrix:
    plan = planned(subscripts, shapes, named(semiring), dtype, order)
    memory.require(plan.bytes, device, where="einsum", hint=HINT)
    return plan


def _empty_einsum(operands: Sequence[Tensor], subscripts: str, semiring: str, order: str, *_: Any) -> Tensor:
    shapes = [tuple(X.shape) for X in operands]
    return operands[0].new_empty(
        planned(subscripts, shapes, named(semiring), np.float64, ast.literal_eval(order)).shape
    )


def _einsum_of(operands: Sequence[Tensor], subscripts: str, semiring: str, order: str, threads: int | None) -> Tensor:
    options = {"order": ast.literal_eval(order), "threads": threads}
    return computed(lambda *arrays: evaluated(subscripts, arrays, named(semiring), **options), *operands)


_einsum = operation(
    "semiring::einsum",
    "(Tensor[] operands, str subscripts, str semiring, str order, int? threads) -> Tensor",
    _einsum_of,
    _empty_einsum,
)


def einsum(
    subscripts: str, operands: Sequence[Matrix], semiring: str | Semiring, order: Any, ties: str, threads: int | None,
    checkpoint: bool, **others: Any,
) -> Tensor:  # fmt: skip
    require(ties, others, "einsum")
    tensors, name = plain(*operands, where="einsum"), key(semiring)
    if not (torch.is_grad_enabled() and any(X.requires_grad for X in tensors)):
        return _einsum(tensors, subscripts, name, repr(order), threads)
    shapes, like = tuple(tuple(X.shape) for X in tensors), tensors[0]
    dtype = str(like.dtype).rpartition(".")[2]
    plan: Contraction = _plan(subscripts, shapes, name, dtype, "cuda" if like.is_cuda else "cpu", order)
    library = Tensors(named(name), ties, threads)
    found = _kept_in_part(plan, tensors, library) if checkpoint else contracted(plan, tensors, library)
    return found if len(tensors) > 1 else library.masked(found)  # a view passes gradients on by itself


def _kept_in_part(plan: Contraction, tensors: Sequence[Tensor], library: Tensors) -> Tensor:
    """Checkpointed contraction: about √k parts of its k steps, keeping only the operands of each for backward."""
    size = max(1, math.isqrt(len(plan.steps)))
    live = dict(enumerate(tensors))
    for first in range(0, len(plan.steps), size):
        steps = dict(enumerate(plan.steps[first : first + size], len(tensors) + first))
        used = [k for step in steps.values() for k in step.operands]
        operands = [k for k in used if k not in steps]
        results = [k for k in steps if k not in used]

        def part(*given: Tensor, steps: Any = steps, operands: Any = operands, results: Any = results) -> Any:
            inside = dict(zip(operands, given, strict=True))
            for number, step in steps.items():
                inside[number] = performed(step, [inside.pop(k) for k in step.operands], library)
            return tuple(inside[k] for k in results)

        made = again(part, *(live.pop(k) for k in operands), use_reentrant=False)
        live |= zip(results, made, strict=True)
    (X,) = live.values()
    return finished(plan, X, library)


_chain = operation(
    "semiring::chain",
    "(Tensor E, Tensor M, str semiring, int? threads) -> (Tensor, Tensor)",
    lambda E, M, semiring, threads: computed(partial(chain_of, s=named(semiring), threads=threads), E, M),
    lambda E, M, *_: (E.new_empty(E.shape), E.new_empty(E.shape[:2], dtype=torch.float64)),
)
_unchain = operation(
    "semiring::chain_backward",
    "(Tensor E, Tensor M, Tensor x, Tensor shift, Tensor G, int? threads) -> (Tensor, Tensor)",
    lambda *tensors: computed(partial(unchain, threads=tensors[-1]), *tensors[:-1]),
    lambda E, M, *_: (E.new_empty(E.shape), M.new_empty(M.shape)),
)

traced = operation(
    "semiring::trace",
    "(Tensor M, Tensor x, Tensor last, Tensor state, str semiring) -> Tensor",
    lambda *operands: computed(partial(trace, s=named(operands[-1])), *operands[:-1]),
    lambda M, x, *_: x.new_empty(x.shape[:2], dtype=torch.int64),
)


def _chain_context(ctx: Any, inputs: Values, output: Any) -> None:
    E, M, ctx.semiring, ctx.threads = inputs
    ctx.save_for_backward(E, M, *output)


def _chain_backward(ctx: Any, G: Tensor, _: Tensor) -> Matrix:
    E, M, x, shift = ctx.saved_tensors
    if not torch.is_grad_enabled() and kind(named(ctx.semiring), "chain") == "exponential":
        return *_unchain(E, M, x, shift, G, ctx.threads), None, None
    with torch.enable_grad():  # for derivatives of this one, and where ⊕ selects: step by step
        again = step_by_step(E, M, ctx.semiring, ctx.threads)
    graph = torch.is_grad_enabled()
    wanted = [X for X in (E, M) if X.requires_grad]
    found = iter(torch.autograd.grad(again, wanted, G.to(again.dtype), create_graph=graph))
    return *(next(found) if X.requires_grad else None for X in (E, M)), None, None


_chain.register_autograd(_chain_backward, setup_context=_chain_context)


def step_by_step(E: Tensor, M: Tensor, semiring: str | Semiring, threads: int | None = None) -> Tensor:
    """States x of a chain (see `semiring.tensors.chains`), an einsum a step."""
    library, text = Tensors(named(key(semiring)), "one", threads), "bi,ij->bj" if M.ndim == 2 else "bi,bij->bj"
    rows = list(E[:, :1].unbind(1))
    for t in range(1, E.shape[1]):
        operands = rows[-1], M[:, t - 1] if M.ndim == 4 else M
        rows.append(library.times(einsum(text, operands, semiring, "auto", "one", threads, False), E[:, t]))
    return torch.stack(rows, 1) if rows else E


def chain(E: Tensor, M: Tensor, semiring: str | Semiring, threads: int | None = None) -> tuple[Tensor, Tensor]:
    """`semiring.tensors.chains.chain` of tensors; the gradient by x is that of x + shift, and shift has none."""
    E, M = plain(E, M, where="chain")
    x, shift = _chain(E, M, key(semiring), threads)
    return x, shift.detach()
