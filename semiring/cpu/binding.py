"""From a semiring, a dtype and what is known of the data to the verbs of the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..algebra import Semiring
from ..contract import Backend
from ..errors import DeviceError, DTypeError
from ..signals import load
from .processors import default_threads, describe

__all__ = ["bind", "describe"]


def bind(semiring: Semiring, dtype: Any, *, nonnegative: bool = False, threads: int | None = None) -> Backend:
    """The verbs over `semiring` on NumPy arrays of `dtype`.

    Parameters
    ----------
    semiring : Semiring
    dtype : dtype
        One of the semiring's own.
    nonnegative : bool
        That no entry is below 0 other than the semiring's zero, now or ever: permits faster instructions.
    threads : int, optional
        As many as `processors.default_threads` says, by default.

    Raises
    ------
    DTypeError
        If the semiring does not allow the dtype.
    DeviceError
        If `threads` is not a positive integer, or numba must not compile (NUMBA_DISABLE_JIT).

    Examples
    --------
    >>> import numpy as np, semiring
    >>> from semiring.backend import bind
    >>> D = np.array([[0, 3], [1, 0]], np.int32)
    >>> bind(semiring.get("min_plus"), "int32").closure(D)
    """
    threads = default_threads() if threads is None else threads
    if not isinstance(threads, (int, np.integer)) or threads < 1:
        raise DeviceError(f"bind: threads must be a positive integer, got {threads!r}. Leave it out for the default.")
    return _bind(semiring, np.dtype(dtype).newbyteorder("="), bool(nonnegative), int(threads))


@lru_cache(256)
def _bind(semiring: Semiring, dtype: np.dtype, nonnegative: bool, threads: int) -> Backend:
    """A backend holds nothing of its caller's: equal calls get the same one."""
    if dtype.name not in semiring.dtypes:
        raise DTypeError(
            f"bind: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {dtype}. Convert the array first."
        )
    if semiring.boolean:
        return load("semiring.cpu.bits.backend").BitBackend(threads=threads)
    kind = load("semiring.cpu.kinds").choose(semiring, dtype, nonnegative)
    return load("semiring.cpu.dense.backend").CpuBackend(kind, threads)
