"""Closures after any sequence of changed entries: held to plain loops over the changed matrix.

By array and by label, in new memory and in place, whatever share of the entries a change touches.
"""

from __future__ import annotations

import math
from typing import Any

import cases
import numpy as np

from apsp import closure, shortest_paths, update
from semiring.dense import changes
from semiring.host.errors import DivergenceError

from .draw import Draw


def case(draw: Draw) -> None:
    """A matrix, and after each change of some of its entries the closure of what it is then."""
    rng, n = draw.rng(), draw.pick((6, 1, 2, 3, 4, 12, 20))
    one = draw.pick(tuple(c for c in cases.CASES if c.semiring.add.selects or draw.chance(20)) or cases.CASES)
    changes.SHARE = changes.OF_BITS = draw.pick((1e9, 1e9, 0.05))
    signed = draw.chance(30) and one.semiring.lengths and one.dtype.kind == "i"
    h = rng.integers(0, 99, n) * bool(signed)  # integers of both signs, without cycles that beat `one`
    density, cycles = draw.pick((0.3, 0.1, 0.8)), draw.chance(10)

    def drawn(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        weights = cases.random_matrix(one, (1, len(i)), int(rng.integers(1 << 30)), density=density)[0]
        tilted = weights + (h[i] - h[j]).astype(one.dtype) if signed else weights
        if cycles and one.semiring.lengths:
            tilted[:1] = -3 if one.semiring.add.selects == "least" else 3
        return np.where(weights == one.zero, one.zero, tilted).astype(one.dtype)

    A = drawn(*np.divmod(np.arange(n * n), n)).reshape(n, n)
    draw.note(case=str(one), A=A)
    try:
        D = closure(A, one.semiring, null_value=None)
    except DivergenceError:
        return
    r = shortest_paths(A.copy(), one.semiring, engine="dense", null_value=None) if draw.chance(40) else None
    for step in range(1 + draw.below(8)):
        i, j = _ends(draw, rng, n)
        new = drawn(i, j)
        draw.note(**{f"change {step}": (i, j, new)})
        given = dict(zip(zip(i.tolist(), j.tolist(), strict=True), new.tolist(), strict=True))
        B = A.copy()
        B[i, j] = new
        before = D.copy()
        try:
            D, A = update(D, A, given, one.semiring, overwrite=draw.chance(50), threads=draw.pick((1, 2)))
        except DivergenceError:
            np.testing.assert_array_equal(D, before)
            assert _diverges(one, B)
            return
        np.testing.assert_array_equal(A, B)
        cases.same(one, D, cases.closure(one, B))
        if r is not None:
            r = r.update({ends: _told(w, one) for ends, w in given.items()})
            cases.same(one, r.distances, D)


def _ends(draw: Draw, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Some entries, or a row and a column."""
    flat = rng.integers(0, n * n, draw.pick((1, 2, 3, n)))
    if draw.chance(20):
        x = draw.below(n)
        flat = np.concatenate((x * n + np.arange(n), x + n * np.arange(n)))
    return np.divmod(np.unique(flat), n)


def _told(w: Any, one: cases.Case) -> Any:
    """An entry as a number: the ends of integers stand for infinities."""
    told = {one.zero.item(): one.semiring.zero, one.one.item(): one.semiring.one}.get(w, w)
    return told if one.dtype.kind == "i" and isinstance(told, float) and math.isinf(told) else w


def _diverges(one: cases.Case, A: np.ndarray) -> bool:
    return bool((cases.closure(one, A).diagonal() != one.one).any())
