"""A* of a sparse matrix without its n² entries: eliminate once, then one sweep a batch of rows.

Vertices are eliminated by supernodes C, with rows R above them, into closed panels D = A_CC*, U = D A_CR, L = A_RC D;
the update A_RR ← A_RR ⊕ A_RC D A_CR goes on to the parent. Any row y = x A* is then a climb, z_R ← z_R ⊕ z_C U, and a
sweep, y_C = z_C D ⊕ y_R L. Each walk is counted once, so this holds in every closed semiring, idempotent or not.

Graphs with much fill are searched instead: `Hops` breadth-first, `Searches` by weights.

Modules: `order` → `structure` → `fronts` → `sweep`; users call `analysis`, `elimination`, its `queries` and `hubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host.lazy import lazy

if TYPE_CHECKING:
    from .analysis import Analysis, analyse
    from .elimination import Elimination, eliminate
    from .hops import Hops
    from .hubs import HubCost, HubLabels
    from .searches import Searches
    from .structure import Cost

__getattr__ = lazy(
    __name__,
    {
        ".analysis": "Analysis analyse",
        ".elimination": "Elimination eliminate",
        ".hops": "Hops",
        ".hubs": "HubCost HubLabels",
        ".searches": "Searches",
        ".structure": "Cost",
    },
)

__all__ = ["Analysis", "Cost", "Elimination", "Hops", "HubCost", "HubLabels", "Searches", "analyse", "eliminate"]


def __dir__() -> list[str]:
    return __all__
