"""Checks of scores, lengths and labels of sequences, in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ...host.errors import DTypeError, ShapeError
from ...host.types import Array


def checked(
    unary: Tensor, transitions: Tensor, final: Tensor | None, lengths: Array, where: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores in one dtype, and the last step of each sequence; ShapeError, DTypeError."""
    for X in (unary, transitions, unary if final is None else final):
        if not isinstance(X, Tensor):
            raise DTypeError(f"{where}: tensors are required, got {type(X).__name__}. Say torch.as_tensor(X).")
    halves = (torch.float16, torch.bfloat16)
    unary, transitions = (X.float() if X.dtype in halves else X for X in (unary, transitions))
    count, steps, states = unary.shape if unary.ndim == 3 else (0, 0, 0)
    fits = ((states,) * 2, (count, states, states), (count, steps - 1, states, states))
    if not (steps and states and tuple(transitions.shape) in fits):
        raise ShapeError(
            f"{where}: unary (B, T, S), T and S at least 1, and transitions (S, S), (B, S, S) or (B, T − 1, S, S) are "
            f"required, got {tuple(unary.shape)} and {tuple(transitions.shape)}."
        )
    if unary.dtype != transitions.dtype or not unary.is_floating_point():
        raise DTypeError(f"{where}: scores must be floats of one dtype, got {unary.dtype} and {transitions.dtype}.")
    if final is not None and tuple(final.shape) not in ((states,), (1, states), (count, states)):
        raise ShapeError(f"{where}: final must be (S,) or (B, S), {(count, states)}, got {tuple(final.shape)}.")
    if lengths is None:
        return unary, transitions, torch.full((count,), steps - 1, device=unary.device)
    lengths = torch.as_tensor(lengths)
    if tuple(lengths.shape) != (count,) or outside(lengths, 1, steps):
        raise ShapeError(f"{where}: lengths must be {count} integers from 1 to {steps}, got {lengths!r}.")
    return unary, transitions, lengths.to(unary.device, torch.int64) - 1


def ends_of(lengths: tuple[Tensor, Tensor] | None, costs: Tensor, least: int, where: str) -> Sequence[Tensor]:
    """Lengths of both sequences, by default all of `costs` (B, m, n); ShapeError."""
    count, *sizes = costs.shape
    if lengths is None:
        return [torch.full((count,), k, device=costs.device) for k in sizes]
    ends = [torch.as_tensor(x, device=costs.device) for x in lengths]
    fits = len(ends) == 2 and all(x.shape == (count,) for x in ends)
    if not fits or any(outside(x, least, k) for x, k in zip(ends, sizes, strict=True)):
        raise ShapeError(f"{where}: lengths must be two of {count} integers from {least} to {sizes}, got {lengths!r}.")
    return [x.long() for x in ends]  # narrow sums would wrap, and uint8 is no index


def outside(numbers: Tensor, least: int, most: int) -> bool:
    """Whether some are no integers from `least` to `most`, whose values are unknown while PyTorch compiles."""
    if numbers.is_floating_point() or numbers.dtype == torch.bool:
        return True
    numbers = numbers.long()  # as uint8, `most` would wrap
    return not torch.compiler.is_compiling() and bool(((numbers < least) | (numbers > most)).any())
