"""A question about a sparse graph → its elimination, with what must hold of it: a limit, and integers that hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semiring import dtypes
from semiring.catalog import get
from semiring.cycles import Lengths
from semiring.errors import DivergenceError
from semiring.sparse.cycles import Weighted

from . import saturation
from .choosing import Question
from .engines.base import host
from .engines.elimination import Eliminated

if TYPE_CHECKING:
    from semiring.sparse import Elimination


def eliminated(question: Question) -> Eliminated:
    """The engine that answers by elimination.

    Raises
    ------
    DivergenceError
        If the closure does not exist, naming a cycle where weights are lengths, or a vertex, by their positions.
    DomainError
        If a distance is beyond what the integers hold.
    MemoryNeeded
        If the panels do not fit, from the counts.
    """
    s, dtype = question.semiring, question.dtype
    careful = Lengths.of(s) is not None and dtype.kind == "f"
    try:
        engine = _engine(question, check=not careful)
    except DivergenceError as error:
        raise named(question, error) from None
    if not careful or engine.elimination.divergence is None:
        far = dtype.kind == "i" and s.mul.saturating and question.longest >= np.iinfo(dtype).max
        if far and (Lengths.of(s) is None or not _held(question, engine.elimination)):
            rows = engine.rows(np.arange(question.graph.n))
            saturation.refuse(rows, dtype, question.graph.labels, lambda: _reached(question))
        return engine
    # A closed walk beats `one`: by its weights, or by rounding alone, which Johnson's weights keep from growing.
    del engine
    return _engine(question, potential=potentials(question))


def named(question: Question, error: DivergenceError) -> DivergenceError:
    """The error with the cycle that causes it, where one can be found."""
    if Lengths.of(question.semiring) is None:
        return error
    try:
        potentials(question)
    except DivergenceError as found:
        return found
    return error


def potentials(question: Question) -> np.ndarray:
    """What makes the arcs' lengths non-negative.

    Raises
    ------
    DivergenceError
        Naming a cycle that is negative, not by rounding alone.
    """
    arcs = Weighted(*question.arcs, question.graph.n, question.semiring)
    return arcs.potentials(where="shortest_paths")


def _engine(question: Question, *, check: bool = True, potential: np.ndarray | None = None) -> Eliminated:
    return Eliminated(
        question.analysis,
        question.arcs[2],
        question.semiring,
        question.request.options.get("threads"),
        question.asked.order,
        check=check,
        potential=potential,
        device=question.device,
    )


def _held(question: Question, E: Elimination) -> bool:
    """Whether two lines of distances tell that integers hold all of them.

    With ℓ the lengths of which ⊕ keeps the least, and v a vertex that all reach and that reaches all, ℓ(·, v) and
    ℓ(v, ·) are lengths of walks. So they bound every distance from above by max ℓ(·, v) + max ℓ(v, ·); and where no
    arc u → w undercuts ℓ(u, v) − ℓ(w, v), they are potentials (Johnson 1977), no cycle is negative, and distances are
    at least min ℓ(·, v) − max ℓ(·, v). Sums of extremes are Python's integers.
    """
    v, zero, sign = int(E.order[-1]), dtypes.zero(E.semiring, E.dtype), int(Lengths.required(E.semiring).sign)
    into, out = host(E.column(v)), host(E.row(v))
    if (into == zero).any() or (out == zero).any():
        return False
    into, out = sign * into.astype(np.int64), sign * out.astype(np.int64)
    least, most = int(into.min()), int(into.max())
    if max(most + int(out.max()), most - least) >= np.iinfo(E.dtype).max:
        return False
    tails, heads, weights = question.arcs
    walked = weights != zero
    tails, heads, weights = tails[walked], heads[walked], weights[walked]
    return bool((into[tails] - into[heads] <= sign * weights.astype(np.int64)).all())


def _reached(question: Question) -> saturation.Reach:
    """Which vertices walks reach: the same arcs, eliminated over the Boolean semiring."""
    weights = question.arcs[2]
    walked = weights != dtypes.zero(question.semiring, weights.dtype)
    E = Eliminated(question.analysis, walked, get("boolean"), question.request.options.get("threads"))
    return lambda sources: np.concatenate([D for _, D in E.rows(sources)])
