"""Names of what flows from module to module, for signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

#: A NumPy array; a CuPy array where the work is done on a GPU, or a scalar of one where an entry is asked for.
Array = Any
#: Blocks of rows or of columns: (positions (k,), entries (k, n)).
Blocks = Iterator[tuple[np.ndarray, Array]]
