"""Names of what flows from module to module, for signatures."""

from __future__ import annotations

from collections.abc import Iterator

from semiring.types import Array, DType, Label, Weight

__all__ = ["Array", "Blocks", "DType", "Label", "Weight"]

#: Blocks of rows or of columns: (positions (k,), entries (k, n)).
Blocks = Iterator[tuple[Array, Array]]
