"""Bind a semiring, a dtype and facts about the data to the CPU backend."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...algebra.records import Semiring
from ...host.errors import DeviceError, DTypeError
from ...host.signals import load
from ...host.spelling import came
from ..contract import Backend
from .processors import default_threads, describe

__all__ = ["bind", "describe"]


def bind(
    semiring: Semiring, dtype: Any, *, nonnegative: bool = False, threads: int | None = None, access: str = "rows"
) -> Backend:
    """The backend of a semiring on NumPy arrays of `dtype`.

    Parameters
    ----------
    semiring : Semiring
    dtype : dtype
        One of the semiring's dtypes.
    nonnegative : bool
        Promise that no entry but the semiring's zero is ever below 0: permits faster instructions.
    threads : int, optional
        Default: `processors.default_threads()`.
    access : {"rows", "columns"}
        Whether `step` traverses rows or columns; columns are for comparison in teaching.

    Raises
    ------
    ValueError
        If `access` is unknown, or is "columns" although ⊗ does not commute.
    DTypeError
        If the semiring is not defined on the dtype.
    DeviceError
        If `threads` is not a positive integer, or numba must not compile (NUMBA_DISABLE_JIT).

    Examples
    --------
    >>> import numpy as np, semiring
    >>> from semiring.kernels.backend import bind
    >>> D = np.array([[0, 3], [1, 0]], np.int32)
    >>> bind(semiring.get("min_plus"), "int32").closure(D)
    """
    threads = default_threads() if threads is None else threads
    if not isinstance(threads, (int, np.integer)) or threads < 1:
        raise DeviceError(f"bind: threads must be a positive integer, got {threads!r}. Leave it out for the default.")
    if access not in ("rows", "columns") or (access == "columns" and not semiring.mul.commutes):
        raise ValueError(
            f"bind: access must be rows, or columns where ⊗ commutes, got {came(access)} over {semiring.name}."
        )
    return _bind(semiring, np.dtype(dtype).newbyteorder("="), bool(nonnegative), int(threads), access)


@lru_cache(256)
def _bind(semiring: Semiring, dtype: np.dtype, nonnegative: bool, threads: int, access: str) -> Backend:
    """Cache: a backend holds no data of its caller, so that equal calls share one."""
    if dtype.name not in semiring.dtypes:
        raise DTypeError(
            f"bind: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {dtype}. Convert the array first."
        )
    if semiring.boolean and access == "rows":
        return load("semiring.kernels.cpu.bits.backend").BitBackend(threads=threads)
    kind = load("semiring.kernels.cpu.kinds").choose(semiring, dtype, nonnegative)
    if kind.add == "logaddexp" and access == "rows":
        return load("semiring.kernels.cpu.dense.logarithmic").LogarithmicBackend(kind, threads)
    return load("semiring.kernels.cpu.dense.backend").CpuBackend(kind, threads, access)
