"""Matrices over a grid of processes: layout, local matrices and communication."""

from __future__ import annotations

from .choosing import world
from .comm import Comm, RankError, SingleProcess
from .grid import Grid, Layout
from .matrix import LocalMatrix
from .world import World

__all__ = ["Comm", "Grid", "Layout", "LocalMatrix", "RankError", "SingleProcess", "World", "world"]
