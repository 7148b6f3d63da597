"""The definition of a semiring: operations, the catalog, dtypes, conversion, and surveys of entries."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import Op, Semiring, Star, Variant, check_axioms

__all__ = ["Op", "Semiring", "Star", "Variant", "check_axioms"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(".records", __name__), name)
    return found
