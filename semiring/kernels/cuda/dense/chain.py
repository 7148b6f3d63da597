"""Chains of many sequences on the GPU, one thread block each, and their derivatives; see chain.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.records import Semiring
from ....host.types import Array
from .. import algebra, compile
from ..library import cupy

#: Block size; most dynamic shared memory, bytes.
THREADS, SHARED = 256, 200 << 10


def _prepare(found: compile.Functions, semiring: Semiring, dtype: np.dtype) -> None:
    for entry in ("chain", "unchain", "trace"):
        compile.allow_shared(found[entry], SHARED)


@compile.unit("chain.cu", prepare=_prepare)
def text(semiring: Semiring, dtype: np.dtype) -> str:
    selects = {"greatest": 1, "least": -1, None: 0}[semiring.add.selects]
    none = "T(INFINITY)" if semiring.zero > 0 else "-T(INFINITY)"
    types = f"using T = {algebra.spelled(dtype)[0]};\n#define NONE ({none})\n"
    return compile.source("chain.cu", types, algebra.constants(selects=selects))


def _matrices(E: Array, M: Array, vectors: int, matrices: int) -> tuple[tuple[Any, ...], int]:
    """Kernel arguments of the matrices, and bytes of shared memory."""
    _, steps, states = E.shape
    size, square = E.itemsize, states * states
    needed = (vectors * states + 2 * THREADS) * size
    within = needed + matrices * states * (states + 1) * size
    inside = M.ndim < 4 and within <= SHARED
    strides = square * (steps - 1) if M.ndim == 4 else square if M.ndim == 3 else 0, square if M.ndim == 4 else 0
    arguments = np.int32(steps), np.int32(states), M, *map(np.int64, strides), np.int32(inside)
    return arguments, within if inside else needed


def chain(E: Array, M: Array, semiring: Semiring) -> tuple[Any, Any]:
    """x of (batch, steps, states), and over (logaddexp, +) the shift of each row; E and M contiguous."""
    x, shift = cupy.empty(E.shape, E.dtype), cupy.zeros(E.shape[:2], np.float64)
    if x.size:
        arguments, shared = _matrices(E, M, 1, 1)
        function = text.functions(semiring, E.dtype)["chain"]
        function((len(E),), (THREADS,), (E, *arguments, x, shift), shared)
    return x, shift


def unchain(E: Array, M: Array, x: Array, shift: Array, G: Array, semiring: Semiring) -> tuple[Any, Any]:
    """Backward step: derivatives by E and by each sequence's matrices, from G, the derivative by x."""
    (count, steps, states), a = E.shape, cupy.empty(E.shape, E.dtype)
    d = cupy.zeros((count, *((max(steps - 1, 0),) if M.ndim == 4 else ()), states, states), E.dtype)
    if a.size:
        arguments, shared = _matrices(E, M, 2, 2)
        function = text.functions(semiring, E.dtype)["unchain"]
        function((count,), (THREADS,), (E, *arguments, x, shift, G, a, d), shared)
    return a, d


def trace(M: Array, x: Array, last: Array, paths: Array, semiring: Semiring) -> None:
    """paths[b, :last[b]] ← the best path to state paths[b, last[b]]; int64, all contiguous."""
    if x.size:
        (steps, states, m, *strides, _), _ = _matrices(x, M, 0, 0)
        text.functions(semiring, x.dtype)["trace"]((len(x),), (32,), (steps, states, m, *strides, x, last, paths))
