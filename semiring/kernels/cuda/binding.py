"""Bind a semiring, a dtype and options to the GPU backend."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...algebra import dtypes
from ...algebra.records import Semiring
from ...host.errors import DTypeError
from ...host.spelling import came
from ...host.types import DType
from ..contract import Backend
from .gpu import describe

__all__ = ["bind", "describe"]


def bind(
    semiring: Semiring, dtype: DType, *, nonnegative: bool = False, per_thread: int = 1, tile: str = "tuned",
    access: str = "rows", instructions: str | None = None, **options: Any,
) -> Backend:  # fmt: skip
    """The backend of a semiring on CuPy matrices; as `semiring.kernels.backend.bind`.

    per_thread {1, 4} : rows per thread of `step`; 4 reuse a loaded element of row k
    tile {"tuned", "plain"} : products by the tuned tile table, or by one small tile, for comparison
    access {"rows", "shared", "columns", "pitched"} : of `step`, for teaching: a warp along a row; row and column k
        through shared memory; a warp down a column; rows at multiples of 512 bytes (in new matrices)
    instructions {"wgmma", "mma", "logic"} : of packed bit products, over `lor_land` only; by default the fastest

    Over `lor_land` matrices are packed, `BitMatrix` with CuPy words, unless `per_thread` or `tile` request the general
    kernels, which work on bytes.
    """
    from .algebra import counts_stars, spelled
    from .dense.backend import CudaBackend
    from .dense.sources import ACCESS

    dtype = np.dtype(dtype)
    if dtype not in dtypes.of(semiring):
        raise DTypeError(f"bind: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {dtype}.")
    spelled(dtype)
    if options:
        raise TypeError(
            "bind: the cuda backend takes the options nonnegative, per_thread, tile, access and instructions, "
            f"got {', '.join(options)}."
        )
    if per_thread not in (1, 4):
        raise ValueError(f"bind: per_thread must be 1 or 4, got {per_thread}.")
    if tile not in ("tuned", "plain"):
        raise ValueError(f'bind: tile must be "tuned" or "plain", got {came(tile)}.')
    if access not in ACCESS:
        raise ValueError(f"bind: access must be one of {', '.join(ACCESS)}, got {came(access)}.")
    if access == "columns" and per_thread != 1:
        raise ValueError(f"bind: access='columns' goes with one element a thread, got per_thread={per_thread}.")
    if instructions is not None and not semiring.boolean:
        raise DTypeError(
            f"bind: instructions={instructions!r} is for packed bits, over lor_land, got {semiring.name}. Leave it out."
        )
    if semiring.boolean and per_thread == 1 and tile == "tuned" and access == "rows":
        from .bits.backend import CudaBitBackend

        return CudaBitBackend(instructions)
    if counts_stars(semiring, dtype):  # the star counter is per computation, so no sharing
        return CudaBackend(semiring, dtype, nonnegative, per_thread, tile, access)
    return _bind(semiring, dtype, bool(nonnegative), per_thread, tile, access)


@lru_cache(256)
def _bind(semiring: Semiring, dtype: np.dtype, nonnegative: bool, per_thread: int, tile: str, access: str) -> Backend:
    """Cache: backends hold no state of their callers."""
    from .dense.backend import CudaBackend

    backend = CudaBackend(semiring, dtype, nonnegative, per_thread, tile, access)
    if tile == "plain":  # small pivot blocks, a launch per phase
        backend.pivot, backend.cutover = 64, 1024
    return backend
