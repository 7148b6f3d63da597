"""A question about a sparse graph → its elimination, with what must hold of it: a limit, and integers that hold it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semiring import dtypes
from semiring.cycles import Lengths
from semiring.errors import DivergenceError, DomainError
from semiring.sparse.cycles import Weighted

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
    weights, s = question.arcs[2], question.semiring
    dtype = weights.dtype
    if dtype.kind == "i" and s.mul.saturating and question.longest >= np.iinfo(dtype).max:
        _refuse_saturated(question, dtype)
    careful = Lengths.of(s) is not None and dtype.kind == "f"
    try:
        engine = _engine(question, check=not careful)
    except DivergenceError as error:
        raise named(question, error) from None
    if not careful or engine.elimination.divergence is None:
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


def _refuse_saturated(question: Question, dtype: np.dtype) -> None:
    """Refuse distances that are beyond the integers: they are computed in wider numbers, and looked at.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    s, graph = question.semiring, question.graph
    exact = dtype.itemsize < 8 and "int64" in s.dtypes and question.longest < 2.0**62
    wide = np.dtype(np.int64 if exact else np.float64)
    if wide.name not in s.dtypes:
        raise DomainError(
            f"shortest_paths: every distance must fit {dtype}, got walks that may weigh {question.longest:.3g}. "
            "Say engine='dense'."
        )
    try:
        E = _engine(_widened(question, wide)).elimination
    except DivergenceError as error:
        raise named(question, error) from None
    info, zero = np.iinfo(dtype), dtypes.zero(s, wide)
    # Beyond 2⁵³ floats are rounded, an arc at a time.
    room = 1.0 if exact else 1 - graph.n * 2.0**-52
    low, high = info.min * room, info.max * room
    if _bounded(E, low, high):
        return
    for sources, panel in E.panels():
        wrong = (panel != zero) & ((panel >= high) | (panel <= low))
        if wrong.any():
            j, k = np.argwhere(host(wrong))[0]
            u, v = graph.labels[int(sources[k])], graph.labels[int(j)]
            raise DomainError(
                f"shortest_paths: every distance must fit {dtype}, got a walk from {u!r} to {v!r} beyond {info.max}. "
                "Say dtype='float64', which rounds, or a wider integer."
            )


def _widened(question: Question, wide: np.dtype) -> Question:
    """The same question in another dtype; its arcs and their structure are not looked for again."""
    s = question.semiring
    tails, heads, weights = question.arcs
    widened = np.where(weights == dtypes.zero(s, weights.dtype), dtypes.zero(s, wide), weights.astype(wide))
    other = replace(question, asked=replace(question.asked, dtype=wide, engine="elimination", like=None))
    other.__dict__.update(analysis=question.analysis, arcs=(tails, heads, widened))
    return other


def _bounded(E: Elimination, low: float, high: float) -> bool:
    """Whether two lines of distances tell that all of them lie between these ends.

    From one vertex v that all reach and that reaches all, max d(·, v) + max d(v, ·) bounds every distance from above,
    and min d(·, v) − max d(·, v) from below.
    """
    if not E.n:
        return False
    v, zero = int(E.order[-1]), dtypes.zero(E.semiring, E.dtype)
    into, out = host(E.column(v)), host(E.row(v))
    if not ((into != zero).all() and (out != zero).all()):
        return False
    return float(into.max()) + float(out.max()) < high and float(into.min()) - float(into.max()) > low
