"""Sparse matrices eliminated in any order, held to closures of the dense matrix that are known for certain."""

from __future__ import annotations

from typing import Any

import cases
import numpy as np
import scipy.sparse as sp

from semiring import Elimination, eliminate
from semiring.host.errors import DivergenceError

from . import problems
from .algebra import holds
from .draw import Draw
from .layouts import host

#: Each kind of ⊕ and ⊗, in some dtype: those of which the tests compile kernels too.
KINDS = [case for case in cases.CASES if str(case) in cases.FEW]


_device = "cpu"  # else as `worker.load` says


def case(draw: Draw) -> None:
    """One matrix, and every question that its elimination answers."""
    case = draw.pick(KINDS)
    problem = problems.certain_problem(draw, case)
    A = problem.A
    n, rng = len(A), draw.rng()
    stored = (A != case.zero) | (rng.random(A.shape) < draw.pick((0.0, 0.1)))  # a stored zero is no arc
    rows, cols = np.nonzero(stored)
    again = rng.random(len(rows)) < draw.pick((0.0, 0.3)) * case.semiring.idempotent  # x ⊕ x = x
    at = rng.permutation(np.concatenate((np.arange(len(rows)), np.flatnonzero(again))))
    rows, cols = rows[at], cols[at]
    weights = A[rows, cols]
    options: dict[str, Any] = {
        "order": draw.pick(("auto", "degree", "levels", "natural", rng.permutation(n))),
        "threads": draw.pick((1, 2, 3)),
        "device": _device,
    }
    made = draw.pick(("arrays", "coo", "csr", "csc"))
    draw.note(semiring=str(case), A=A, exists=problem.exists, made=made, options=options)
    try:
        if made == "arrays":
            E = Elimination.from_arrays(rows, cols, weights, n, case.semiring, dtype=case.dtype, **options)
        else:
            first = np.unique(rows * max(n, 1) + cols, return_index=True)[1] if made != "coo" else slice(None)
            S = sp.coo_array((weights[first], (rows[first], cols[first])), shape=(n, n)).asformat(made)
            E = eliminate(S, case.semiring, dtype=case.dtype, **options)
    except DivergenceError as error:
        draw.note(error=str(error))
        assert problem.exists is not True, "the closure exists, and was refused"
        assert 0 <= error.vertex < n
        return
    assert problem.exists is not False, "the closure does not exist, and was given"
    D = host(E.to_dense())
    draw.note(got=D)
    assert (D.dtype, D.shape) == (case.dtype, (n, n))
    holds(problem, D)
    if problem.exists is None and case.semiring.mul.saturating and case.dtype.kind == "i":
        return  # walks of both signs may saturate on their way, as docs/promises.md says: which do depends on the order
    if case.semiring.idempotent or np.isfinite(D).all():  # what overflows may meet a stored zero, and is no number
        _answers(draw, case, E, D)


def _answers(draw: Draw, case: cases.Case, E: Elimination, D: np.ndarray) -> None:
    """Rows, columns, entries, panels and products are those of the whole matrix."""
    n, rng = len(D), draw.rng()

    def same(got: Any, expected: np.ndarray) -> None:
        got = host(got) if hasattr(got, "get") else np.asarray(got)
        if case.semiring.idempotent:
            np.testing.assert_array_equal(got, expected)
        else:
            rtol = 100 * (n + 1) * float(np.finfo(case.dtype).eps)
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * float(np.abs(D).max(initial=1.0)))

    for v in rng.permutation(n)[:3].tolist():
        same(E.row(v), D[v])
        same(E.column(v), D[:, v])
        same(E.entry(v, n - 1 - v), D[v, n - 1 - v])
    i, j = rng.integers(0, max(n, 1), (2, 5 if n else 0))
    same(E.entries(i, j), D[i, j])
    for block, size in ((E.rows(i), D[i]), (E.rows(block=draw.pick((None, 1, 7))), D)):
        parts = list(block)
        if parts:
            same(np.concatenate([host(part) for _, part in parts]), size)
    for labels, panel in E.panels():
        same(host(panel).T, D[labels])
    x = problems.entries(draw, case, (n,))
    if case.semiring.idempotent and not (case.semiring.mul.saturating and case.dtype.kind == "i"):
        same(E.matvec(x), cases.product(case, D, x[:, None])[:, 0])
        same(E.rmatvec(x), cases.product(case, x[None, :], D)[0])
