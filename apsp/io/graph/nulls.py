"""Matrix entries that are no edges besides the semiring's zero, and ambiguous zeros.

`Nulls` are (0,) if zeros are no edges; () if all entries but the semiring's zero are edges; None if undeclared.
"""

from __future__ import annotations

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.host import memory
from semiring.host.devices import module
from semiring.host.errors import AmbiguityWarning, DomainError
from semiring.host.types import Array

from ...road.log import warn

Nulls = tuple[float, ...] | None


def refuse_ambiguous(seen: Survey, s: Semiring, *, where: str) -> None:
    """DomainError if a matrix's zeros may be edges of weight 0 or no edges."""
    if seen.ambiguous:
        raise DomainError(_problem(s, where))


def warn_of_ambiguous(seen: Survey, s: Semiring, *, where: str) -> None:
    """Warn of ambiguous zeros, at the line of user code."""
    if seen.ambiguous:
        warn(f"{_problem(s, where)} Without a word they are edges.", AmbiguityWarning)


def _problem(s: Semiring, where: str) -> str:
    return (
        f"{where}: a matrix must say which entries are no edges, got zeros off the diagonal, where no entry is "
        f"{s.zero}, the zero of {s.name}. Say null_value=0 where zeros are no edges, as NetworkX and SciPy write them, "
        "or null_value=None where they are edges of weight 0."
    )


def without_nulls(A: Array, source: Array, nulls: Nulls, s: Semiring, *, where: str) -> Array:
    """A with the semiring's zero at the nulls of `source`, A's origin; copied if A is `source`."""
    if not nulls or source.dtype.kind == "b":
        return A
    if A is source:
        device = "cpu" if isinstance(A, np.ndarray) else "cuda"
        memory.require(A.nbytes, device, where=where, hint="Use a smaller dtype.")
        A = module(A).array(A)
    for part in dtypes.chunks(A):  # avoids a mask as large as the array
        A[part][source[part] == nulls[0]] = dtypes.zero(s, A.dtype)
    return A
