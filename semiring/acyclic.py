"""The closure of an acyclic graph by uniting rows, where arcs are too few for products to pay."""

from __future__ import annotations

import importlib

import numpy as np

from .bits import BitMatrix
from .errors import ShapeError


def close_acyclic(count: int, tails: np.ndarray, heads: np.ndarray) -> BitMatrix:
    """A* of an acyclic graph whose every arc leads from a higher number to a lower one.

    Row v is {v} united with the rows of its heads, which are complete by then; a head that an earlier one reaches
    adds nothing and is passed over (Goralčíková and Koubek 1979). At most m · n / 64 words are read for m arcs.

    Parameters
    ----------
    count : int
        Vertices.
    tails, heads : int arrays, shape (m,)
        tails[e] > heads[e] for every arc, in any order.

    Returns
    -------
    BitMatrix, shape (count, count)

    Raises
    ------
    ShapeError
        If an arc does not lead down.

    Examples
    --------
    >>> close_acyclic(3, np.array([2, 1]), np.array([1, 0]))[2, 0]
    True
    """
    if (tails <= heads).any():
        at = int((tails <= heads).argmax())
        raise ShapeError(f"close_acyclic: arcs must lead to lower numbers, got {tails[at]} → {heads[at]}.")
    closed = BitMatrix.eye(count)
    # Higher heads first: they reach the lower ones, which then are passed over.
    order = np.lexsort((-heads, tails))
    start = np.searchsorted(tails[order], np.arange(count + 1)).astype(np.int64)
    importlib.import_module("semiring.cpu").load("dag").unite_rows(closed, start, heads[order].astype(np.int64))
    return closed
