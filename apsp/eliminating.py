"""A question about a sparse graph → its elimination, with what must hold of it."""

from __future__ import annotations

import numpy as np

from semiring import dtypes
from semiring.cycles import Lengths
from semiring.errors import DivergenceError

from . import divergence
from .choosing import Question
from .cycles import beating_cycle
from .engines.elimination import Eliminated


def eliminated(question: Question) -> Eliminated:
    """The engine that answers by elimination.

    Raises
    ------
    DivergenceError
        If the closure does not exist, naming a cycle where weights are lengths, or a vertex, by their positions.
    MemoryNeeded
        If the panels do not fit, from the counts.
    """
    _, _, weights = question.arcs
    threads = question.request.options.get("threads")
    try:
        return Eliminated(question.analysis, weights, question.semiring, threads, question.asked.order)
    except DivergenceError as error:
        raise named(question, error) from None


def named(question: Question, error: DivergenceError) -> DivergenceError:
    """The error with the cycle that causes it, where one can be found."""
    tails, heads, weights = question.arcs
    s = question.semiring
    lengths = Lengths.of(s)
    if lengths is None:
        return error
    cycle = beating_cycle(tails, heads, weights, question.graph.n, lengths, dtypes.zero(s, weights.dtype))
    if not cycle:
        return error
    return divergence.cycle_error(cycle, _length(question, cycle, lengths), s, where="shortest_paths")


def _length(question: Question, cycle: list[int], lengths: Lengths) -> float:
    """The length of a cycle along the best of parallel arcs."""
    tails, heads, weights = question.arcs
    s = question.semiring
    length = lengths.of_entries(weights, dtypes.zero(s, weights.dtype))
    code = tails.astype(np.int64) * question.graph.n + heads
    return float(
        sum(length[code == u * question.graph.n + v].min() for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    )
