"""Sums over best paths between all vertices for symmetric weights: half of the pairs suffice.

A best path from s to t is one from t to s reversed. So each pair is swept only from the source eliminated first, whose
sweep leaves out all columns before its own; the sum of both directions of an arc is then its flow either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ....sparse.structure import Arcs, Structure


def mutual(sources: np.ndarray, asked: np.ndarray, times: np.ndarray) -> bool:
    """Whether all vertices are sources with symmetric demand times[k] · asked[t], s = sources[k]."""
    n = len(asked)
    if not n or len(sources) != n:
        return False
    ascending = bool((sources[1:] > sources[:-1]).all())  # then a permutation
    if not ascending and np.bincount(sources, minlength=n).max() > 1:
        return False
    return bool((asked[sources] * times[0] == asked[sources[0]] * times).all())


def unreached(S: Structure, arcs: Arcs) -> np.ndarray:
    """int32 (n,): number of vertices that do not reach each column, if all arcs are bidirectional."""
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
