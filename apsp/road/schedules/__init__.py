"""Schedules: orders of the work of a dense closure, one file each.

A schedule is a module with a record `SCHEDULE`; `apsp.closure(A, schedule="its_name")`, `plan`, `compare`, the command
line and the tests find it by its file name.
"""

from __future__ import annotations

from functools import cache

from semiring.host.spelling import came, did_you_mean

from ..registry import records
from .base import Schedule

__all__ = ["Schedule", "get", "names"]


@cache
def names() -> tuple[str, ...]:
    return tuple(records(__name__, "SCHEDULE"))


@cache
def known(name: str) -> Schedule:
    """The schedule of a plan."""
    schedule: Schedule = records(__name__, "SCHEDULE")[name]
    return schedule


@cache
def get(name: str) -> Schedule:
    """The schedule of that name, or ValueError."""
    if name not in names():
        hint = did_you_mean(name, ("auto", *names()))
        raise ValueError(f'schedule must be "auto" or one of {", ".join(names())}, got {came(name)}.{hint}')
    return known(name)
