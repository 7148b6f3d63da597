"""Operations and semirings are pickled as functions are: by where they stand, or else by their fields.

Others leave out what is found again when it is needed.
"""

from __future__ import annotations

import copyreg
import importlib
import pickle
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any


def reduce(record: Any, where: tuple[Any, ...], own: tuple[Callable[..., Any] | None, ...] = ()) -> tuple[Any, ...]:
    """What `record.__reduce__` returns.

    Parameters
    ----------
    record : Op, Star or Semiring
    where : tuple of functions
        Whose modules may have the record among their global names; it is found there again, the very same.
    own : tuple of functions
        Those that go with the record where it has no global name, and must then have one themselves.

    Raises
    ------
    pickle.PicklingError
        If one of them has none, as a lambda has none. (cloudpickle, which joblib uses, takes these too.)
    """
    for name in dict.fromkeys(function.__module__ for function in where if function is not None):
        module = sys.modules.get(name)
        # Another process has a main program of its own.
        for variable, value in vars(module).items() if module and name != "__main__" else ():
            if value is record:
                return _standing, (name, variable)
    if "cloudpickle" not in sys.modules:
        for function in own:
            if function is not None and not _has_a_name(function):
                raise pickle.PicklingError(
                    f"{type(record).__name__} {getattr(record, 'name', '')}: to be pickled, its functions must have "
                    f"names in a module, got {function!r} of {function.__module__}. Define it with `def` at the "
                    "top of a module, or make the semiring a global name of a module that can be imported."
                )
    return copyreg.__newobj__, (type(record),), dict(vars(record))  # type: ignore[attr-defined] # typeshed lacks it


def _standing(module: str, variable: str) -> Any:
    """The record that a module has under this name."""
    return getattr(importlib.import_module(module), variable)


def _has_a_name(function: Callable[..., Any]) -> bool:
    return getattr(sys.modules.get(function.__module__), function.__qualname__, None) is function


def uncached(instance: Any) -> dict[str, Any]:
    """What `instance.__getstate__` returns: its attributes but for those that a `cached_property` finds again."""
    kinds = {name: getattr(type(instance), name, None) for name in vars(instance)}
    return {name: value for name, value in vars(instance).items() if not isinstance(kinds[name], cached_property)}
