"""A* of a sparse matrix without its n² entries: eliminate once, then one sweep a batch of rows.

Vertices are eliminated by supernodes C, with rows R above them, into closed panels D = A_CC*, U = D A_CR, L = A_RC D;
the update A_RR ← A_RR ⊕ A_RC D A_CR goes on to the parent. Any row y = x A* is then a climb, z_R ← z_R ⊕ z_C U, and a
sweep, y_C = z_C D ⊕ y_R L. Each walk is counted once, so this holds in every closed semiring, idempotent or not.

Graphs with much fill are searched instead: `Hops` breadth-first, `Searches` by weights.

Modules: `order` → `structure` → `fronts` → `sweep`; users call `analysis`, `elimination`, its `queries` and `hubs`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis import Analysis, analyse
    from .elimination import Elimination, eliminate
    from .hops import Hops
    from .hubs import HubCost, HubLabels
    from .searches import Searches
    from .structure import Cost

_HOME = {"Analysis": "analysis", "analyse": "analysis", "Elimination": "elimination", "eliminate": "elimination"}
_HOME |= {"Cost": "structure", "Hops": "hops", "Searches": "searches", "HubCost": "hubs", "HubLabels": "hubs"}

__all__ = ["Analysis", "Cost", "Elimination", "Hops", "HubCost", "HubLabels", "Searches", "analyse", "eliminate"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
