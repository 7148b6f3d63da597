"""int32 for distances whose sums of simple paths might need int64, proven by searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semiring.algebra import dtypes
from semiring.dense.cycles import Lengths
from semiring.sparse.cycles import Weighted

if TYPE_CHECKING:
    from .question import Question


def narrowed(question: Question) -> bool:
    """Whether int32 holds all distances, though not all sums of simple paths.

    Proven by one search each way, or by the engine of previous weights.
    """
    wants, source, s = question.wants, question.source, question.semiring
    if wants.dtype is not None or wants.table or wants.partial or wants.packed or not question.listed:
        return False
    weights = source.weights
    if weights is None or weights.dtype.kind != "i" or not len(weights):
        return False
    lengths = Lengths.of(s)
    if lengths is None or lengths.logarithmic:
        return False
    most = np.iinfo(np.int32).max
    if "int32" not in s.dtypes or dtypes.largest_finite(weights) >= most:
        return False
    if getattr(wants.like, "narrowed", False):
        return True
    if question.n > 4 * len(weights) or source.target(s) != np.int64:
        return False
    return question.once(farthest)[0] < most


def farthest(question: Question) -> tuple[float, int]:
    """An upper bound on distances, by searches from and to a vertex, and that vertex."""
    s = question.semiring
    return Weighted(*question.graph.edges(s, np.int64), question.n, s).farthest()
