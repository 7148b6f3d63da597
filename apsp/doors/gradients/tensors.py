"""PyTorch closures with gradients, as custom operators for `torch.compile`."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from semiring.algebra.records import Semiring
from semiring.host.arrays import refuse_transformed
from semiring.host.types import Array, Values
from semiring.tensors.gradients import kind, paths_by_closure, require, sums_by_closure
from semiring.tensors.gradients.tensors import computed, key, named, operation, plain, softsums

from ...answers.routes import of_closure
from . import closed


def _routed(semiring: str, ties: str, wanted: bool) -> bool:
    """Whether a gradient goes along paths, which needs predecessors."""
    return wanted and kind(named(semiring), "closure") == "selecting" and ties == "one"


def _compute(A: Tensor, semiring: str, ties: str, wanted: bool, *options: Any) -> tuple[Tensor, Tensor]:
    s, A, routed = named(semiring), A.detach(), _routed(semiring, ties, wanted)
    D = closed(A, s, *options).contiguous()
    find = partial(of_closure, s=s, threads=options[-1])
    return D, computed(find, A, D) if routed else A.new_empty(0, dtype=torch.int32)


def _empty(A: Tensor, semiring: str, ties: str, wanted: bool, *_: Any) -> tuple[Tensor, Tensor]:
    shape = A.shape if _routed(semiring, ties, wanted) else (0,)
    return A.new_empty(A.shape), A.new_empty(shape, dtype=torch.int32)


_closure = operation(
    "apsp::closure",
    "(Tensor A, str semiring, str ties, bool wanted, bool zeros, str schedule, int? block, int? threads)"
    " -> (Tensor, Tensor)",
    _compute,
    _empty,
)
_closure_paths = operation(
    "apsp::closure_backward",
    "(Tensor A, Tensor D, Tensor P, Tensor G, str semiring, str ties, int? threads) -> Tensor",
    lambda A, D, P, G, semiring, *options: computed(partial(paths_by_closure, named(semiring), *options), A, D, P, G),
    lambda A, *_: A.new_empty(A.shape),
)


def _context(ctx: Any, inputs: Values, output: Any) -> None:
    A, semiring, ties, *_, threads = inputs
    ctx.options = semiring, ties, threads
    ctx.save_for_backward(A, *output)


def _backward(ctx: Any, G: Tensor, _: Tensor) -> Array:
    (A, D, P), found = ctx.saved_tensors, kind(named(ctx.options[0]), "closure")
    if found == "selecting":
        by_A = _closure_paths(A, D, P, G, *ctx.options)
    else:
        by_A = sums_by_closure(found, torch.where, softsums, A, D, G)
    return by_A, *(None,) * 7


_closure.register_autograd(_backward, setup_context=_context)


def closure(A: Tensor, semiring: str | Semiring, ties: str, *options: Any, **others: Any) -> Tensor:
    require(ties, others, "closure")
    if not torch.compiler.is_compiling():
        refuse_transformed(A, where="closure")
    (A,) = plain(A, where="closure")
    D: Tensor = _closure(A, key(semiring), ties, A.requires_grad and torch.is_grad_enabled(), *options)[0]
    return D
