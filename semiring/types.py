"""Names of what flows through signatures, where Python has no one type for it; type checkers let anything pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: A NumPy array; a CuPy array where the work is done on a GPU, or a scalar of one where an entry is asked for. Public
#: functions take whatever converts to one; verbs take their backend's matrix, of packed bits a `BitMatrix`.
Array = Any
#: Blocks of rows or of columns: (positions (k,), entries (k, n)).
Blocks = Iterator[tuple[Array, Array]]
#: One entry: a NumPy scalar, or a Python number.
Scalar = Any
#: What NumPy takes for a dtype; None where the data decide.
DType = Any
#: A vertex as the graph's author calls it: anything hashable.
Label = Any
#: The name of the attribute or the column with the weights, or a rule, or None for edges that all count alike.
Weight = Any
