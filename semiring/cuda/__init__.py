"""The GPU backend: CUDA C++ compiled by NVRTC for the semiring at hand, launched through CuPy.

>>> from semiring.backend import bind
>>> ops = bind(semiring.get("tropical"), "float32", device="cuda")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra import Semiring
from ..backend import Backend
from ..errors import DTypeError


def bind(
    semiring: Semiring,
    dtype: Any,
    *,
    nonnegative: bool = False,
    per_thread: int = 1,
    tile: str = "tuned",
    **options: Any,
) -> Backend:
    """The verbs of `semiring` on CuPy matrices of `dtype`.

    Parameters
    ----------
    semiring : Semiring
    dtype : dtype
        One of the semiring's own.
    nonnegative : bool
        That no entry is below 0 other than the semiring's zero: permits its variants.
    per_thread : {1, 4}
        Rows that a thread of `step` computes; with 4 it reads its element of row k once for all of them.
    tile : {"tuned", "plain"}
        Products by the tuned tile table, or by one small tile as simple kernels have; for comparisons.

    Raises
    ------
    DTypeError
        If the semiring does not allow the dtype.
    """
    from .launch import CudaBackend

    dtype = np.dtype(dtype)
    if dtype.name not in semiring.dtypes:
        raise DTypeError(f"bind: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {dtype}.")
    if options:
        raise TypeError(
            f"bind: the cuda backend takes the options nonnegative, per_thread and tile, got {', '.join(options)}."
        )
    if per_thread not in (1, 4):
        raise ValueError(f"bind: per_thread must be 1 or 4, got {per_thread}.")
    if tile not in ("tuned", "plain"):
        raise ValueError(f'bind: tile must be "tuned" or "plain", got {tile!r}.')
    backend = CudaBackend(semiring, dtype, nonnegative, per_thread, tile)
    if tile == "plain":  # as simple implementations do: small pivot blocks, a launch for each phase
        backend.pivot, backend.cutover = 64, 1024
    return backend
