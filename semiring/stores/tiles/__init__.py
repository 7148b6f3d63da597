"""Matrices larger than memory: tile stores on disk, one file a tile, and streaming through them (docs/stores.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...host.lazy import lazy

if TYPE_CHECKING:
    from .bits import StoredBits
    from .store import TileStore

__getattr__ = lazy(__name__, {".bits": "StoredBits", ".store": "TileStore"})

__all__ = ["StoredBits", "TileStore"]


def __dir__() -> list[str]:
    return __all__
