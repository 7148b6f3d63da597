"""Verbs of schedules, one line each, with the pairs that a call computes and the entries that it touches.

A new verb is a line here and a method of `Backend`, with a default body or one a backend. Progress,
clocks and traffic (semiring/kernels/observed.py) use only this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from ..host.types import Array


@dataclass(frozen=True)
class Verb:
    """Verb on tiles.

    name: method of `Backend`; phase: "pivot", "panels", "products", "steps", "copies" or "routes", for sums of times;
    pairs(*operands): number of ⊕ with ⊗; entries(*operands): entries read and written if each operand is touched once.
    """

    name: str
    phase: str
    pairs: Callable[..., int]
    entries: Callable[..., int]


def _area(X: Array) -> int:
    return int(X.shape[0]) * int(X.shape[1])


def _gemm_pairs(C: Array, A: Array, B: Array) -> int:
    return _area(A) * int(B.shape[1])


def _gemm_entries(C: Array, A: Array, B: Array) -> int:
    return 2 * _area(C) + _area(A) + _area(B)


def _eliminate_pairs(D: Array, R: Array, C: Array, rest: Any) -> int:
    return len(D) ** 2 * (R.shape[1] + len(C)) + len(D) * _area(rest)


def _eliminate_entries(D: Array, R: Array, C: Array, rest: Any) -> int:
    return 2 * _area(D) + 3 * (_area(R) + _area(C)) + 2 * _area(rest)


VERBS = {
    verb.name: verb
    for verb in (
        # C ← C ⊕ A ⊗ B
        Verb("gemm", "products", _gemm_pairs, _gemm_entries),
        # C ← C ⊕ A ⊗ B, several
        Verb("gemms", "products", lambda X: sum(starmap(_gemm_pairs, X)), lambda X: sum(starmap(_gemm_entries, X))),
        # C ← A ⊗ B
        Verb("matmul", "products", _gemm_pairs, lambda C, A, B: _area(C) + _area(A) + _area(B)),
        # R ← D ⊗ R
        Verb("left_mul", "panels", lambda D, R: len(D) * _area(R), lambda D, R: _area(D) + 2 * _area(R)),
        # C ← C ⊗ D
        Verb("right_mul", "panels", lambda C, D: len(D) * _area(C), lambda C, D: _area(D) + 2 * _area(C)),
        # R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← C ⊗ D
        Verb("eliminate", "products", _eliminate_pairs, _eliminate_entries),
        # `eliminate` of symmetric matrices, R = Cᵀ; mirrored pairs are counted, too
        Verb("eliminate_mirrored", "products", _eliminate_pairs, _eliminate_entries),
        # D ← D*
        Verb("closure", "pivot", lambda D: len(D) ** 3, lambda D: 2 * _area(D)),
        # A ← A ⊕ A[:,k] ⊗ A[k,k]* ⊗ A[k,:]
        Verb("step", "steps", lambda A, k: _area(A), lambda A, k: 2 * _area(A) + 2 * len(A)),
        # C ← 0
        Verb("clear", "copies", lambda C: 0, lambda C: _area(C)),
        # B ← A
        Verb("copy", "copies", lambda B, A: 0, lambda B, A: 2 * _area(A)),
        # A ← I ⊕ A
        Verb("add_one", "copies", lambda A: 0, lambda A: 2 * len(A)),
        # P[i,j] ← the vertex before j on a best path from i, D = A*
        Verb("predecessors", "routes", lambda P, A, D, *_: 0, lambda P, A, D, *_: 3 * int(D.size)),
    )
}
