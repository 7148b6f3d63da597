"""Sums over best paths between all vertices where every arc weighs the same both ways: half of the pairs tell them.

A best path from s to t is one from t to s, turned round. So of each pair the source that is eliminated first is swept
from, and its sweep leaves out all columns before its own; what an arc carries both ways, added up, is then what it
carries either way of all pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...sparse.structure import Arcs, Structure


def mutual(sources: np.ndarray, asked: np.ndarray, times: np.ndarray) -> bool:
    """Whether all vertices are sources, and s sends to t as much as t to s: times[k] · asked[t], if sources[k] is s."""
    n = len(asked)
    if not n or len(sources) != n:
        return False
    ascending = bool((sources[1:] > sources[:-1]).all())  # then they are all
    if not ascending and np.bincount(sources, minlength=n).max() > 1:
        return False
    return bool((asked[sources] * times[0] == asked[sources[0]] * times).all())


def unreached(S: Structure, arcs: Arcs) -> np.ndarray:
    """int32 array (n,): how many vertices do not reach each column, if all arcs lead both ways."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    of = np.repeat(np.arange(len(S)), np.diff(arcs.begin))
    wide, ends = np.diff(S.first)[of], []
    for place in (arcs.row, arcs.col):
        column, below = S.first[of] + place, place >= wide  # a front has its own columns, then its rows
        column[below] = S.rows[S.begin[of[below]] + (place - wide)[below]]
        ends.append(column)
    A = coo_array((np.ones(len(of), bool), tuple(ends)), shape=(S.n, S.n))
    _, label = connected_components(A, directed=False)
    return (S.n - np.bincount(label)[label]).astype(np.int32)
