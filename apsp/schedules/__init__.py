"""Orders in which a closure's work is done, one file each.

A schedule is a module with a record `SCHEDULE`. Putting a file here is all it takes: `apsp.closure(A,
schedule="its_name")`, `plan`, `compare`, the command line and the tests find it by its file name.
"""

from __future__ import annotations

from functools import cache

from semiring.spelling import came, did_you_mean

from ..registry import records
from .base import Schedule

__all__ = ["Schedule", "get", "names"]


@cache
def names() -> tuple[str, ...]:
    """The names of all schedules, alphabetical."""
    return tuple(records(__name__, "SCHEDULE"))


@cache
def get(name: str) -> Schedule:
    """The schedule of that name.

    Raises
    ------
    ValueError
        If there is no file of that name here.
    """
    if name not in names():
        hint = did_you_mean(name, ("auto", *names()))
        raise ValueError(f'schedule must be "auto" or one of {", ".join(names())}, got {came(name)}.{hint}')
    schedule: Schedule = records(__name__, "SCHEDULE")[name]
    return schedule
