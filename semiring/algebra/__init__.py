"""The definition of a semiring: operations, the catalog, dtypes, conversion, and surveys of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host.lazy import lazy

if TYPE_CHECKING:
    from .axioms import check_axioms
    from .records import Op, Semiring, Star, Variant

__getattr__ = lazy(__name__, {".axioms": "check_axioms", ".records": "Op Semiring Star Variant"})

__all__ = ["Op", "Semiring", "Star", "Variant", "check_axioms"]
