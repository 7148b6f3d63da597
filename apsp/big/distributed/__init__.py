"""Closures over several GPUs, several processes and several machines.

>>> from apsp.big.distributed import DistributedMatrix, world
>>> A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
>>> DistributedMatrix.from_array(A, world=world(ranks=2)).close().pairs([0], [2])
array([5.])
"""

from __future__ import annotations

from semiring.distributed import Grid, RankError, World, world

from .matrix import DistributedMatrix

__all__ = ["DistributedMatrix", "Grid", "RankError", "World", "world"]
