"""Type aliases for signatures where Python has no single type; type checkers accept anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: NumPy or CuPy array, or a scalar of one. Public functions accept array-likes; verbs take their backend's matrix, for
#: packed bits a `BitMatrix`.
Array = Any
#: Blocks of rows or of columns: (positions (k,), entries (k, n)).
Blocks = Iterator[tuple[Array, Array]]
#: One entry: a NumPy scalar, or a Python number.
Scalar = Any
#: Anything NumPy accepts as a dtype; None where the data decide.
DType = Any
#: Vertex label: any hashable.
Label = Any
#: Weights: attribute or column name, a rule, or None for unit weights.
Weight = Any
