"""Loading on first use: names of a package (PEP 562), and libraries that may be missing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
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


def optional(module: str, need: str) -> ModuleType:
    """A library that may be missing; ImportError with what needs it, and the way to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"{need}. Install it: `pip install {module.partition('.')[0]}`.") from None
