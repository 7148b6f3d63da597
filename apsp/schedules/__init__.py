"""Orders in which a closure's work is done, one file each.

A schedule is a module with `closure(A, ops, *, block)`: A ← A* in place, written against the verbs of
`semiring.backend.Backend` alone. Putting a file here is all it takes: `apsp.closure(A, schedule="its_name")`,
`compare`, the command line and the tests find it by its name. It may also have `workspace(n, ops, *, block)`: the
bytes that its verbs hold beside an n × n matrix, by what each of them holds (`ops.room`); without it, plans take the
backend's own figure for closures.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

#: `closure(A, ops, *, block)`
Schedule = Callable[..., None]


def names() -> list[str]:
    """The names of all schedules, alphabetical."""
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    """The folder is listed once."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


@cache
def _named(name: str) -> Schedule:
    schedule: Schedule = importlib.import_module(f"{__name__}.{name}").closure
    return schedule


def get(name: str) -> Schedule:
    """The schedule of that name.

    Raises
    ------
    ValueError
        If there is no file of that name here.
    """
    if name not in _names():
        raise ValueError(f'schedule must be "auto" or one of {", ".join(names())}, got {name!r}.')
    return _named(name)


def workspace(name: str, n: int, ops: Any, *, block: int) -> int:
    """The bytes that the verbs of a schedule hold beside an n × n matrix."""
    module = importlib.import_module(f"{__name__}.{name}")
    if hasattr(module, "workspace") and hasattr(ops, "room"):
        return int(module.workspace(n, ops, block=block))
    return int(ops.workspace(n))
