"""Matrices larger than memory: tile stores on disk, one file a tile, and streaming through them (docs/stores.md)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bits import StoredBits
    from .store import TileStore

__all__ = ["StoredBits", "TileStore"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{'bits' if name == 'StoredBits' else 'store'}", __name__), name)


def __dir__() -> list[str]:
    return __all__
