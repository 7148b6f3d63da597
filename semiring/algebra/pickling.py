"""Pickling of operations and semirings by global name, as functions, or else by fields; and state without caches."""

from __future__ import annotations

import copyreg
import importlib
import pickle
import sys
from functools import cached_property
from typing import Any

from ..host.types import Fields, Function, Values


def reduce(record: Any, where: Values, own: tuple[Function | None, ...] = ()) -> Values:
    """Implement `record.__reduce__`: by global name, else by fields.

    where: functions whose modules may hold the record as a global; it is then found there again. own: functions pickled
    with a record that is no global; they need global names themselves, else PicklingError (cloudpickle, which joblib
    uses, also takes lambdas).
    """
    for name in dict.fromkeys(function.__module__ for function in where if function is not None):
        module = sys.modules.get(name)
        # The main program differs in another process.
        for variable, value in vars(module).items() if module and name != "__main__" else ():
            if value is record:
                return _standing, (name, variable)
    if "cloudpickle" not in sys.modules:
        for function in (function for function in own if function is not None):
            if getattr(sys.modules.get(function.__module__), function.__qualname__, None) is not function:
                raise pickle.PicklingError(
                    f"{type(record).__name__} {getattr(record, 'name', '')}: to be pickled, its functions must have "
                    f"names in a module, got {function!r} of {function.__module__}. Define it with `def` at the "
                    "top of a module, or make the semiring a global name of a module that can be imported."
                )
    return copyreg.__newobj__, (type(record),), dict(vars(record))  # type: ignore[attr-defined] # typeshed lacks it


def _standing(module: str, variable: str) -> Any:
    return getattr(importlib.import_module(module), variable)


def uncached(instance: Any) -> Fields:
    """State without cached properties."""
    kinds = {name: getattr(type(instance), name, None) for name in vars(instance)}
    return {name: value for name, value in vars(instance).items() if not isinstance(kinds[name], cached_property)}
