"""Machine code of the route kernels for one kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from ..compile import kernel
from ..kinds import Kind, on_disk

#: Argument types by letter: sizes, booleans, entries, and contiguous arrays; capitals are matrices.
_LETTERS: dict[str, Callable[[Any], Any]] = {
    "i": lambda kind: types.intp,
    "t": lambda kind: types.boolean,
    "x": lambda kind: kind.scalar,
    "A": lambda kind: kind.scalar[:, ::1],
    "a": lambda kind: kind.scalar[::1],
    "P": lambda kind: types.int32[:, ::1],
    "p": lambda kind: types.int32[::1],
    "L": lambda kind: types.int64[:, ::1],
    "l": lambda kind: types.int64[::1],
    "U": lambda kind: types.uint32[:, ::1],
    "u": lambda kind: types.uint32[::1],
    "h": lambda kind: types.uint16[::1],
    "w": lambda kind: types.uint64[::1],
    "F": lambda kind: types.float64[:, ::1],
    "f": lambda kind: types.float64[::1],
    "B": lambda kind: types.boolean[:, ::1],
    "b": lambda kind: types.boolean[::1],
}


@cache
def compiled(part: Any, kind: Kind, arguments: str, *records: np.dtype) -> Callable[..., Any]:
    """Machine code of a kernel for a kind (unlabelled for moving entries).

    `arguments` has a letter per argument after the kind; digits are indices of `records`, for arrays of records.
    """
    kind = kind.code
    entry = kernel(part.py_func, on_disk=on_disk(kind))
    arrays = {str(k): from_dtype(record)[::1] for k, record in enumerate(records)}
    return partial(entry.compile((kind, *(arrays.get(a) or _LETTERS[a](kind) for a in arguments))), kind)
