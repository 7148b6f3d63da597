"""Names of a package that are loaded on first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str], *modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: its names, separated by blanks, by module; `modules` are offered themselves."""
    home = {name: module for module, names in homes.items() for name in names.split()}

    def found(name: str) -> Any:
        if name in modules:
            return import_module(f".{name}", package)
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = vars(sys.modules[package])[name] = getattr(import_module(home[name], package), name)
        return value

    return found
