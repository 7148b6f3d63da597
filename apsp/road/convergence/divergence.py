"""Existence of an idempotent closure: seen on the diagonal, explained by a cycle.

A* exists iff no cycle beats `one`: a* = 1 ⊕ a, so such a cycle shows on the diagonal. Rounding and a true
cycle are told apart by the cycle's own edges, see `semiring.dense.cycles.Lengths.rounding`. Other sums: see `series`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, survey
from semiring.dense.cycles import Johnson, Lengths, Tolerance, cycle_error, search
from semiring.host.devices import host
from semiring.host.errors import DivergenceError, NegativeCycleError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Input, Label
from semiring.sparse.cycles import Weighted

from ...io.graph.nulls import refuse_ambiguous
from ...io.inputs import as_graph
from ...io.reading.options import BY_RULE, Columns, NullValue, Weight


def may_diverge(semiring: Semiring, survey: Survey, n: int) -> bool:
    """Whether entries between these extremes allow divergence."""
    if n == 0:
        return False
    if semiring.idempotent and semiring.add.selects:
        # No cycle beats `one` unless the best possible entry does.
        one = semiring.one
        return survey.least < one if semiring.add.selects == "least" else survey.greatest > one
    return not semiring.boolean


def potentials(A: np.ndarray, semiring: Semiring, *, careful: bool = False) -> np.ndarray | None:
    """Potentials making all lengths non-negative, or DivergenceError naming a cycle negative by `Lengths.rounding`.

    While a negative cycle is due to rounding, all edges are lengthened, by one rounding, then two, four, …, and the
    search repeated. A truly negative cycle can be missed only beside a longer one, negative by rounding, of the same
    weight per edge. With `careful`, None is returned if no potentials are needed: no walk is rounded, or every cycle is
    too long for rounding to make it negative.
    """
    lengths = Lengths.required(semiring)
    exact = careful and lengths.exact(A)
    allowed = -float(len(A)) if careful and not exact else 0.0
    while True:
        cycle, potential = search(A, semiring, allowed)
        if not cycle:
            return None if allowed < 0 or exact else potential
        length, rounding = lengths.rounding(A[cycle, [*cycle[1:], cycle[0]]])
        if not rounding or allowed > 2 * len(A):
            raise cycle_error(cycle, length, semiring, where="closure")
        allowed = 0.0 if allowed < 0 else max(1.0, 2 * allowed)


def precaution(A: Array, semiring: Semiring) -> Johnson | None:
    """`Existence.precaution` of a matrix that is overwritten."""
    potential = potentials(_host(A), semiring, careful=True) if Lengths.of(semiring) else None
    return None if potential is None else Johnson(semiring, potential)


def settle(D: Array, A: Array, semiring: Semiring) -> Johnson | None:
    """`Existence.settle`: whether the diagonal is `one`, or is but for rounding."""
    diagonal = host(D.diagonal())
    vertex = beaten(diagonal, semiring)
    if vertex is None:
        return None
    if A is not None and Lengths.of(semiring):
        potential = potentials(_host(A), semiring)
        if potential is None or not dtypes.SCALARS[A.dtype].floating:
            raise vertex_error(vertex, diagonal[vertex], semiring, where="closure")
        return Johnson(semiring, potential)
    one = dtypes.one(semiring, D.dtype)
    if A is not None:  # a loop is not rounded
        loops = [semiring.add.python(one.item(), a) for a in host(A.diagonal()).tolist()]
        loop = beaten(np.array(loops, A.dtype), semiring)
        if loop is not None:
            raise vertex_error(loop, A[loop, loop].item(), semiring, where="closure")
    if beyond_rounding(D, D if A is None else A, vertex, semiring):
        raise vertex_error(vertex, diagonal[vertex], semiring, where="closure")
    D[range(len(D)), range(len(D))] = one
    return None


def _host(A: Array) -> np.ndarray:
    if isinstance(A, np.ndarray):
        return A
    require(A.nbytes, where="closure", hint="Its cycles are looked at on the CPU. Use a smaller dtype.")
    return host(A)


def negative_cycle(
    graph: Input,
    semiring: str | Semiring = "min_plus",
    *,
    tolerance: float | None = None,
    weight: Weight = BY_RULE,
    columns: Columns | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    format: str | None = None,
    name: str = "",
) -> list[Label] | None:
    """The labels of a negative cycle in order, without repeating the first; None if there is none.

    Parameters
    ----------
    graph : graph
        As in `shortest_paths`.
    semiring : str or Semiring
        With lengths: where ⊕ keeps the greatest, a cycle of positive weight; over products, one better than 1.
    tolerance : float, optional
        Report cycles of weight below −tolerance (over products in logarithms); 0 for all. By default the rounding error
        of m edges, weights included: 2√m · eps · P with P the largest absolute partial sum, and 2√m · eps if that is
        less than 1; 0 for integers; as `closure` for products.
    weight, columns, directed, unweighted, null_value, format, name
        Reading options, as in `as_graph`.

    Returns
    -------
    list of labels, or None
        The last edge leads from the last to the first.

    Raises
    ------
    AlgebraError, DomainError, ValueError
        If the semiring has no lengths; if zeros of a matrix are ambiguous (`null_value`); if the tolerance is negative
        or no number.

    See Also
    --------
    closure, shortest_paths : Raise `NegativeCycleError` with this cycle; where its sums are exact, by sign alone.

    Notes
    -----
    Bellman–Ford (Cherkassky and Goldberg 1999, "Negative-cycle detection algorithms") on the edges, or on the matrix.
    If a cycle is within tolerance, all edges are lengthened, by doubling amounts, until none is negative: a negative
    cycle may be missed beside a longer one within tolerance of the same weight per edge.

    O(n m) relaxations at worst (n² for m, of a matrix), usually far fewer; O(n + m) memory.

    Examples
    --------
    >>> negative_cycle([("A", "B", 2), ("B", "C", -4), ("C", "A", 1), ("C", "D", 7)])
    ['A', 'B', 'C']
    >>> negative_cycle([("A", "B", 2), ("B", "A", -2)]) is None
    True
    >>> negative_cycle([("A", "B", 0.5), ("B", "A", -0.51)], tolerance=0.02) is None
    True
    """
    s = get(semiring)
    if tolerance is not None and not (isinstance(tolerance, (int, float, np.number)) and 0 <= tolerance < math.inf):
        raise ValueError(
            f"negative_cycle: tolerance must be a number of at least 0, got {came(tolerance)}. Leave it out."
        )
    judge = Tolerance(Lengths.required(s, "negative_cycle"), tolerance)
    parsed = as_graph(
        graph, weight=weight, columns=columns, directed=directed, unweighted=unweighted, null_value=null_value,
        format=format, name=name,
    )  # fmt: skip
    try:
        if parsed.dense is None:
            arcs = parsed.edges(s)
            survey(arcs[2], s, where="negative_cycle")
            Weighted(*arcs, parsed.n, s).potentials(where="negative_cycle", tolerance=judge)
        else:
            A = parsed.matrix(s)
            seen = survey(A, s, where="negative_cycle", null_undeclared=parsed.null_undeclared)
            refuse_ambiguous(seen, s, where="negative_cycle")
            A = A if isinstance(A, np.ndarray) else A.get()
            cycle, _ = search(A, s)
            if cycle and judge.rounding(A[cycle, [*cycle[1:], cycle[0]]])[1]:
                Weighted(*parsed.edges(s), parsed.n, s).potentials(where="negative_cycle", tolerance=judge)
            elif cycle:
                return [parsed.labels[v] for v in cycle]
    except DivergenceError as error:
        return [parsed.labels[v] for v in error.cycle]
    return None


def beaten(diagonal: np.ndarray, semiring: Semiring) -> int | None:
    """The vertex whose diagonal entry is furthest from `one`; None if all are `one`."""
    one = dtypes.one(semiring, diagonal.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where(diagonal == one, 0.0, np.abs(diagonal.astype(np.float64) - float(one)))
    gap = np.where(np.isnan(gap), math.inf, gap)
    vertex = int(gap.argmax())
    return vertex if gap[vertex] > 0 else None


def refuse_beaten(diagonal: np.ndarray, semiring: Semiring, *, where: str, apart: Any = None) -> None:
    """Raise DivergenceError if a diagonal shows that there is no closure; `apart` as in `vertex_error`."""
    vertex = beaten(diagonal, semiring)
    if vertex is not None:
        raise vertex_error(vertex, diagonal[vertex].item(), semiring, where=where, apart=apart)


def beyond_rounding(D: Array, A: Array, vertex: int, semiring: Semiring) -> bool:
    """Whether |D[v, v] − one| > m · eps · max|A|, m vertices on v's cycles; for semirings unfit for `potentials`."""
    if not dtypes.SCALARS[D.dtype].floating:
        return True
    zero, one = dtypes.zero(semiring, D.dtype), float(dtypes.one(semiring, D.dtype))
    members = ((D[vertex] != zero) & (D[:, vertex] != zero)).nonzero()[0]
    largest = max(abs(one) if math.isfinite(one) else 0.0, dtypes.largest_finite(A[members][:, members]))
    gap = abs(float(D[vertex, vertex]) - one)
    return not gap <= len(members) * dtypes.SCALARS[D.dtype].eps * largest


def vertex_error(vertex: int, value: Any, semiring: Semiring, *, where: str, apart: Any = None) -> DivergenceError:
    """DivergenceError for a known vertex, unknown cycle; `apart`: dtype of a matrix where rounding may be the cause."""
    rounds = apart is not None and dtypes.SCALARS[np.dtype(apart)].floating
    rounding = " If rounding alone made it so, a closure in one memory finds that out." if rounds else ""
    kind = NegativeCycleError if semiring.lengths and semiring.add.selects == "least" else DivergenceError
    return kind(
        f"{where}: the closure over {semiring.name} does not exist: a closed walk at vertex {vertex} weighs {value}, "
        f"which beats one = {semiring.one}. Remove the cycle, or check the sign and scale of the weights.{rounding}",
        vertex,
    )
