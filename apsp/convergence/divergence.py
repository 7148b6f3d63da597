"""Does the closure of an idempotent semiring exist? Seen on its diagonal, and explained by a cycle.

A* exists when no cycle beats `one`: since a* = 1 ⊕ a, a cycle that does leaves its trace on the diagonal. What
rounding alone leaves there is told from a true cycle by the weights of the cycle's own edges, by the rule of
`semiring.cycles.Lengths.rounding`.
Sums that are not idempotent are the matter of `series`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.cycles import Lengths, Tolerance, cycle_error, search
from semiring.errors import DivergenceError, NegativeCycleError
from semiring.sparse.cycles import Weighted
from semiring.spelling import came
from semiring.survey import Survey, survey
from semiring.types import Array

from ..graph.nulls import refuse_ambiguous
from ..inputs import as_graph
from ..reading.options import BY_RULE, Columns, NullValue, Weight


def may_diverge(semiring: Semiring, survey: Survey, n: int) -> bool:
    """Whether entries between these extremes can make a closure that does not exist."""
    if n == 0:
        return False
    if semiring.idempotent and semiring.add.selects:
        # One extreme is the best entry there is: where even it does not beat `one`, no cycle does.
        one, add = semiring.one, semiring.add.python
        return bool(add(add(one, survey.least), survey.greatest) != one)
    return not semiring.boolean


def potentials(A: np.ndarray, semiring: Semiring, *, careful: bool = False) -> np.ndarray | None:
    """Raise if a cycle of A is negative by `Lengths.rounding`; else potentials that make all lengths non-negative.

    A cycle of negative length is judged by its own edges (`Lengths.rounding`). If it is rounding alone, all edges are
    made longer by one rounding, then by twice as much and so on, and cycles are looked for again, until none is
    negative. So a truly negative cycle is overlooked only next to a longer one that is rounding alone and as negative
    per edge.

    Parameters
    ----------
    A : NumPy array, shape (n, n)
        A matrix over a semiring that has `Lengths`.
    careful : bool
        Ask first whether every cycle is so long that no rounding can make it negative in the closure of A itself, or
        no walk is rounded; then there is no need of potentials, and None is returned.

    Raises
    ------
    DivergenceError
        Naming the cycle; in min-plus it is a `NegativeCycleError`.
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


def negative_cycle(
    graph: Any,
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
) -> list[Any] | None:
    """The labels of a cycle of negative weight, in order, the first not repeated; None if there is none.

    Parameters
    ----------
    graph : graph
        What `shortest_paths` takes.
    semiring : str or Semiring
        One with lengths: where ⊕ keeps the greatest, a cycle of positive weight; over products, one that beats 1.
    tolerance : float, optional
        A cycle is negative that weighs less than −tolerance, over products in logarithms: 0 for all of them. By default
        what m edges are off by where weights are rounded too, 2√m · eps · P, with P the largest |sum| along a part of
        the cycle, and 2√m · eps if that is less than 1; of integers 0, of products that of `closure`.
    weight, columns, directed, unweighted, null_value, format, name
        How the graph is read: as in `as_graph`.

    Returns
    -------
    list of labels, or None
        Each vertex once; the last edge leads from the last to the first.

    Raises
    ------
    AlgebraError
        If the semiring has no lengths.
    DomainError
        If zeros of a matrix may be edges or none: see `null_value` of `as_graph`.
    ValueError
        If the tolerance is no number of at least 0.

    See Also
    --------
    closure, shortest_paths : What raises `NegativeCycleError`, with the same cycle, at times of one within tolerance:
        where a cycle's sums are exact, the sign decides there.

    Notes
    -----
    Bellman–Ford (Cherkassky and Goldberg 1999, "Negative-cycle detection algorithms") on the graph's edges, or on its
    matrix where it came as one. Where a cycle is within tolerance, all edges are made longer by a little, and then by
    twice as much, until none is negative: a negative cycle may be overlooked beside a longer one within tolerance that
    weighs as much per edge.

    O(n m) relaxations at worst for n vertices and m edges, n² of a matrix, and far fewer as a rule; O(n + m) memory.

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
    judge = Tolerance(Lengths.required(s), tolerance)
    parsed = as_graph(
        graph,
        weight=weight,
        columns=columns,
        directed=directed,
        unweighted=unweighted,
        null_value=null_value,
        format=format,
        name=name,
    )
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


def beyond_rounding(D: Array, A: Array, vertex: int, semiring: Semiring) -> bool:
    """Whether rounding cannot explain D[v, v]: it is not within m · eps · max|A| of `one`.

    For semirings whose ⊗ says too little of itself for `potentials`. The m vertices that share a cycle with v are those
    that v reaches and that reach v, which D tells; only entries between them count.
    """
    if D.dtype.kind != "f":
        return True
    zero, one = dtypes.zero(semiring, D.dtype), float(dtypes.one(semiring, D.dtype))
    members = ((D[vertex] != zero) & (D[:, vertex] != zero)).nonzero()[0]
    largest = max(abs(one) if math.isfinite(one) else 0.0, dtypes.largest_finite(A[members][:, members]))
    gap = abs(float(D[vertex, vertex]) - one)
    return not gap <= len(members) * float(np.finfo(D.dtype).eps) * largest


def vertex_error(vertex: int, value: Any, semiring: Semiring, *, where: str, apart: Any = None) -> DivergenceError:
    """The error when only a vertex is known; `apart` is the dtype of a matrix that does not lie in one memory.

    Whether rounding alone made a cycle of floats negative is told by its edges, which are not looked for there.
    """
    rounds = apart is not None and np.dtype(apart).kind == "f"
    rounding = " If rounding alone made it so, a closure in one memory finds that out." if rounds else ""
    kind = NegativeCycleError if semiring.lengths and semiring.add.selects == "least" else DivergenceError
    return kind(
        f"{where}: the closure over {semiring.name} does not exist: a closed walk at vertex {vertex} weighs {value}, "
        f"which beats one = {semiring.one}. Remove the cycle, or check the sign and scale of the weights.{rounding}",
        vertex,
    )
