"""Matrices larger than memory: stores of tiles on disk, one file a tile, and what streams them (docs/stores.md)."""

from __future__ import annotations

from .bits import StoredBits
from .store import TileStore

__all__ = ["StoredBits", "TileStore"]
