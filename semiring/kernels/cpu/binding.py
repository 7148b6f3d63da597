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
    """The backend of a semiring on NumPy arrays; as `semiring.kernels.backend.bind`.

    threads: by default `processors.default_threads()`; DeviceError unless positive, or if numba must not compile
    (NUMBA_DISABLE_JIT). access: whether `step` traverses "rows" or "columns", for comparison in teaching; ValueError
    for columns if ⊗ does not commute.
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
