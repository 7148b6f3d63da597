"""From a semiring, a dtype and what is known of the data to the verbs of the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..algebra import Semiring
from ..contract import Backend
from ..errors import DeviceError, DTypeError
from ..signals import load
from ..spelling import came
from .processors import default_threads, describe

__all__ = ["bind", "describe"]


def bind(
    semiring: Semiring, dtype: Any, *, nonnegative: bool = False, threads: int | None = None, access: str = "rows"
) -> Backend:
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
    access : {"rows", "columns"}
        Whether `step` goes along rows, or down columns, to compare as it is taught.

    Raises
    ------
    ValueError
        If there is no such access, or ⊗ does not commute and columns were to be gone down.
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
    if access not in ("rows", "columns") or (access == "columns" and not semiring.mul.commutes):
        raise ValueError(
            f"bind: access must be rows, or columns where ⊗ commutes, got {came(access)} over {semiring.name}."
        )
    return _bind(semiring, np.dtype(dtype).newbyteorder("="), bool(nonnegative), int(threads), access)


@lru_cache(256)
def _bind(semiring: Semiring, dtype: np.dtype, nonnegative: bool, threads: int, access: str) -> Backend:
    """A backend holds nothing of its caller's: equal calls get the same one."""
    if dtype.name not in semiring.dtypes:
        raise DTypeError(
            f"bind: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {dtype}. Convert the array first."
        )
    if semiring.boolean and access == "rows":
        return load("semiring.cpu.bits.backend").BitBackend(threads=threads)
    kind = load("semiring.cpu.kinds").choose(semiring, dtype, nonnegative)
    if kind.add == "logaddexp" and access == "rows":
        return load("semiring.cpu.dense.logarithmic").LogarithmicBackend(kind, threads)
    return load("semiring.cpu.dense.backend").CpuBackend(kind, threads, access)
