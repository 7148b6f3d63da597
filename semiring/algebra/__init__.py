"""The definition of a semiring: operations, the catalog, dtypes, conversion, and surveys of entries."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .axioms import check_axioms
    from .records import Op, Semiring, Star, Variant

__all__ = ["Op", "Semiring", "Star", "Variant", "check_axioms"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = ".axioms" if name == "check_axioms" else ".records"
    found = globals()[name] = getattr(importlib.import_module(module, __name__), name)
    return found
