"""Orders in which a closure's work is done, one file each.

A schedule is a module with `closure(A, ops, *, block)`: A ← A* in place, written against the verbs of
`semiring.backend.Backend` alone. Putting a file here is all it takes: `apsp.closure(A, schedule="its_name")`,
`compare`, the command line and the tests find it by its name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

#: `closure(A, ops, *, block)`
Schedule = Callable[..., None]


def names() -> list[str]:
    """The names of all schedules, alphabetical."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def get(name: str) -> Schedule:
    """The schedule of that name.

    Raises
    ------
    ValueError
        If there is no file of that name here.
    """
    if name not in names():
        raise ValueError(f'schedule must be "auto" or one of {", ".join(names())}, got {name!r}.')
    schedule: Schedule = importlib.import_module(f"{__name__}.{name}").closure
    return schedule
