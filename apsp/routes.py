"""Predecessors and next hops of all pairs, from a matrix and its closure (docs/routes.md)."""

from __future__ import annotations

from typing import Any

from semiring.algebra import Semiring
from semiring.arrays import Taken, module, take_in
from semiring.backend import bind, device_of
from semiring.catalog import get
from semiring.errors import ShapeError
from semiring.memory import require
from semiring.routes import require_selection
from semiring.survey import survey


def predecessors(A: Any, D: Any, semiring: str | Semiring = "min_plus", *, threads: int | None = None) -> Any:
    """P[i, j]: the vertex before j on a best path from i to j, for all pairs; −9999 on the diagonal and for no path.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n)
        The matrix of edges; a missing edge is the semiring's zero. Its diagonal does not matter.
    D : array_like, the same shape
        Its closure, as `apsp.closure` gives it. A is taken in D's dtype.
    semiring : str or Semiring
        One whose ⊕ selects, as min and max do: catalog names but plus_times and log_plus, or your own.
    threads : int, optional
        CPU threads; all available by default.

    Returns
    -------
    int32 array, the same shape
        Of the library that D is from, and on its device. SciPy's convention: `scipy.sparse.csgraph` takes it as it is.

    Raises
    ------
    AlgebraError
        If the semiring's ⊕ does not select one of two walks.
    ShapeError
        If the shapes differ, or are not square.
    DTypeError, DomainError
        If A does not fit D's dtype, an entry lies outside of the semiring, or D is not the closure of A.

    Notes
    -----
    Among predecessors that are equally good, the choice depends on weights alone: the source itself if its own edge is
    best, else the least vertex from which a best edge leads on and whose distance is better, else (edges of weight 0)
    the least that is reached earlier, breadth first. Every path is simple, whatever zeros and ties there are. No
    closure carries them: they are found afterwards among the edges with A[k, j] = D[k, j] (McGeoch 1995, "All-pairs
    shortest paths and the essential subgraph"). Arrays on a GPU are fetched, and the host finds them.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure, predecessors
    >>> A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    >>> predecessors(A, closure(A))
    array([[-9999,     0,     1],
           [    2, -9999,     1],
           [    2,     0, -9999]], dtype=int32)
    """
    s = get(semiring)
    weights, closed = _taken(A, D, s, "predecessors")
    return closed.give_back(_batched(weights, closed.array, s, threads), where="predecessors")


def _taken(A: Any, D: Any, s: Semiring, where: str) -> tuple[Any, Taken]:
    """The matrix and its closure, of one dtype and on D's device; looked at."""
    require_selection(s, where=where)
    closed = take_in(D, where=where).conformed(s, where=where)
    weights = take_in(A, where=where).conformed(s, closed.array.dtype, where=where).array
    shape = closed.array.shape
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or weights.shape != shape:
        raise ShapeError(
            f"{where}: A and D must be square, of one shape, (n, n) or (batch, n, n), got {weights.shape}, {shape}."
        )
    xp = module(closed.array)
    if device_of(weights) != device_of(closed.array):
        weights = xp.asarray(weights) if device_of(weights) == "cpu" else weights.get()
    for array in (weights, closed.array):
        survey(array, s, where=where)
    return weights, closed


def _batched(A: Any, D: Any, s: Semiring, threads: int | None) -> Any:
    """The predecessors of one matrix, or of each of a batch."""
    device = device_of(D)
    require(D.size * (4 + D.itemsize), device, where="predecessors", hint="Use a smaller dtype, or fewer vertices.")
    options: dict[str, Any] = {"threads": threads} if threads and device == "cpu" else {}
    ops = bind(s, D.dtype, device=device, **options)
    P = module(D).empty(D.shape, "int32")
    for p, a, d in zip(P, A, D, strict=True) if D.ndim == 3 else [(P, A, D)]:
        ops.predecessors(p, a, d)
    return P
