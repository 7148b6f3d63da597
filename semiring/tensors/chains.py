"""Recursion x[t] = (x[t−1] ⊗ M) ⊗ e[t] of linear-chain models over a batch of sequences, and its derivative.

On a GPU one launch, a thread block a sequence; on the host one product of all sequences with M a step.
"""

from __future__ import annotations

import numpy as np

from ..algebra.catalog import log_plus
from ..algebra.records import Semiring
from ..algebra.survey import survey
from ..host.devices import module
from ..host.errors import AlgebraError
from ..host.signals import load
from ..host.types import Array, Matrix
from ..kernels.backend import bind
from .elementwise import Arrays
from .gradients import softsum


def chain(E: Array, M: Array, s: Semiring, threads: int | None = None) -> tuple[Matrix, Matrix]:
    """States x of all steps, and the shift to add to each row of x over (logaddexp, +).

    E (batch, steps, states): scores, those of the first step are the initial values. M: transitions (states, states),
    (batch, states, states) or (batch, steps − 1, states, states). ⊗ must add numbers, and ⊕ select or be logaddexp;
    else AlgebraError. Over (logaddexp, +) x is less each row's maximum, and shift (batch, steps), float64, accumulates
    these.
    """
    if s.mul.ufunc is not np.add or not (s.add.selects or s.add.ufunc is np.logaddexp):
        raise AlgebraError(f"chain: ⊗ must add numbers and ⊕ select or be logaddexp, got {s.name}. Use einsum.")
    for X in (E, M):
        survey(X, s, where="chain")
    if module(E) is not np:
        xp = module(E)
        return load("semiring.kernels.cuda.dense.chain").chain(*map(xp.ascontiguousarray, (E, M)), s)
    library, (count, steps, states) = Arrays(s, threads), E.shape
    x, shift, came = np.empty_like(E), np.zeros(E.shape[:2]), np.empty((count, states), E.dtype)
    ops = bind(s, E.dtype, threads=threads)
    for t in range(steps):
        if t and M.ndim == 2:
            ops.matmul(came, x[:, t - 1], M)
        elif t:
            came = library.total(x[:, t - 1][:, :, None] + (M[:, t - 1] if M.ndim == 4 else M), (1,))
        row = came + E[:, t] if t else E[:, 0]
        if not s.add.selects and states:
            top = row.max(axis=1)
            top[top == s.zero] = 0
            shift[:, t] = (shift[:, t - 1] if t else 0) + top
            row = row - top[:, None]
        x[:, t] = row
    return x, shift


def unchain(E: Array, M: Array, x: Array, shift: Array, G: Array, threads: int | None = None) -> tuple[Matrix, Matrix]:
    """Backward step of `chain` over (logaddexp, +): gradients of E and M from G of x."""
    xp, steps = module(E), E.shape[1]
    if xp is not np:
        arrays = map(xp.ascontiguousarray, (E, M, x, shift, G))
        a, d = load("semiring.kernels.cuda.dense.chain").unchain(*arrays, log_plus)
        return a, d.sum(axis=0) if M.ndim == 2 else d
    a = np.array(G)
    with np.errstate(invalid="ignore"):
        rest = np.where(x == -np.inf, -np.inf, E - x)
        rest[:, 1:] -= np.diff(shift, axis=1)[..., None].astype(E.dtype)
    d = np.zeros((len(E), *M.shape[-3:]) if M.ndim == 4 else M.shape, E.dtype)
    for t in range(steps - 1, 0, -1):
        before, last = x[:, t - 1], rest[:, t]
        if M.ndim == 2:
            a[:, t - 1] += softsum(a[:, t], None, last, M.T, before, threads)
        else:
            matrix = M[:, t - 1] if M.ndim == 4 else M
            part = np.exp(before[:, :, None] + matrix + last[:, None]) * a[:, t][:, None]
            a[:, t - 1] += part.sum(axis=2)
            if M.ndim == 4:
                d[:, t - 1] = part
            else:
                d += part
    if M.ndim == 2 and steps > 1 and len(E):
        states = E.shape[2]
        left, right, weights = (X.reshape(-1, states) for X in (x[:, :-1], rest[:, 1:], a[:, 1:]))
        d[...] = softsum(None, weights, left.T, right, M, threads)
    return a, d


def trace(M: Array, x: Array, last: Array, state: Array, s: Semiring) -> Matrix:
    """Best path by backtracking from state[b] at step last[b], int64 (batch, steps), −1 beyond; lowest states on ties.

    x is from `chain` over a semiring whose ⊕ selects.
    """
    xp, rows = module(x), module(x).arange(len(x))
    paths = xp.full(x.shape[:2], -1, np.int64)
    paths[rows, last] = state
    if xp is not np:
        arrays = map(xp.ascontiguousarray, (M, x, last))
        load("semiring.kernels.cuda.dense.chain").trace(*arrays, paths, s)
        return paths
    find = np.argmax if s.add.selects == "greatest" else np.argmin
    for t in range(x.shape[1] - 2, -1, -1):
        into = M.T[paths[:, t + 1]] if M.ndim == 2 else (M[:, t] if M.ndim == 4 else M)[rows, :, paths[:, t + 1]]
        paths[:, t] = np.where(t < last, find(x[:, t] + into, axis=1), paths[:, t])
    return paths
