"""Matrices over a grid of processes: layout, local matrices and communication."""

from __future__ import annotations

from .choosing import world
from .comm import Comm, LocalMatrix, RankError, SingleProcess
from .grid import Grid, Layout
from .world import World

__all__ = ["Comm", "Grid", "Layout", "LocalMatrix", "RankError", "SingleProcess", "World", "world"]
