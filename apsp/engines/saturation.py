"""Distances beyond what an integer dtype holds: told before they could be taken for no path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.bits import BitMatrix
from semiring.catalog import lor_land
from semiring.devices import host
from semiring.errors import DomainError
from semiring.memory import available
from semiring.survey import Survey

from ..graph import Graph
from ..log import logger
from ..problem import Memory, Problem
from ..solve import solve
from ..wants import Request
from .base import Engine


def may_saturate(matrix: Any, s: Semiring, n: int) -> bool:
    """Whether a walk of n − 1 edges can weigh more than the matrix's integers hold; it would seem to be no walk."""
    if matrix.dtype.kind != "i" or not s.mul.saturating:
        return False
    return n * dtypes.largest_finite(matrix) >= np.iinfo(matrix.dtype).max


def refuse_where_far(D: Engine, graph: Graph, s: Semiring, memory: int | None = None) -> None:
    """`refuse_saturated` where a walk can be so long; the matrix of the graph need not be at hand."""
    if D.dtype.kind != "i" or not s.mul.saturating:
        return
    weights: Any = graph.windows(s, D.dtype)
    if weights is None:
        weights = graph.matrix(s, D.dtype) if graph.dense is not None else graph.edges(s, D.dtype)[2]
    if may_saturate(weights, s, graph.n):
        refuse_saturated(D, graph, s, memory)


def refuse_saturated(D: Engine, graph: Graph, s: Semiring, memory: int | None = None) -> None:
    """Refuse distances in which a best walk has saturated: the zero where there is a walk, or the other end.

    None is missed. Parts of a best walk are best walks, so that where no best walk saturates, none of its parts does.
    Where a matrix on disk is so large that not even its edges' bits fit, the log tells what may have saturated.

    Parameters
    ----------
    memory : int, optional
        Bytes that may be taken; what there is where it is not said.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    info, reached = np.iinfo(D.dtype), None
    for sources, found in D.rows(np.arange(graph.n)):
        rows = host(found)
        ends = (rows == info.min) | (rows == info.max)
        for k in np.flatnonzero(ends.any(axis=1)):
            i = int(sources[k])
            if reached is None and (reached := _reached(graph, s, D.dtype, memory)) is None:
                u, v = graph.labels[i], graph.labels[int(ends[k].argmax())]
                text = "shortest_paths: no walk from %r to %r, or one beyond %d, which %s does not hold"
                logger.warning(f"{text}. Say a wider dtype.", u, v, info.max, D.dtype)
                return
            wrong = ends[k] & reached(i)
            if wrong.any():
                u, v = graph.labels[i], graph.labels[int(wrong.argmax())]
                raise DomainError(
                    f"shortest_paths: every distance must fit {D.dtype}, got a walk from {u!r} to {v!r} beyond "
                    f"{info.max}. Say dtype='float64', which rounds, or a wider integer."
                )


def _reached(graph: Graph, s: Semiring, dtype: np.dtype, memory: int | None) -> Callable[[int], np.ndarray] | None:
    """Which vertices walks from a vertex reach; None where a matrix on disk is too large to tell."""
    from ..reach import transitive_closure

    windows, zero, n = graph.windows(s, dtype), dtypes.zero(s, dtype), graph.n
    if windows is not None:
        most = available() if memory is None else memory
        if most is not None and n * n // 8 > most // 2:
            return None
        return _closed(windows.packed()).rows
    if graph.dense is not None:  # whose edges may be too many to be listed
        return _closed(BitMatrix.from_bool(host(graph.matrix(s, dtype) != zero))).rows
    tails, heads, weights = graph.edges(s, dtype)
    walked = weights != zero
    t = transitive_closure(Graph.from_arrays(tails[walked], heads[walked], n=n), reflexive=True)
    component = t.condensation.component
    return lambda i: t.closed.rows(int(component[i]))[component]


def _closed(bits: BitMatrix) -> BitMatrix:
    """The closure of packed bits, in their own memory."""
    closed: BitMatrix = solve(Problem(bits, lor_land, "cpu", Memory.OURS, Survey(0, 1, True)), Request()).matrix
    return closed
