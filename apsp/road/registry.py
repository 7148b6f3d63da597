"""Discovery of records: one per module of a package, without a central list."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module

from semiring.host.compiling import uncounted
from semiring.host.types import Fields


def records(package: str, record: str) -> Fields:
    """The records of this name in a package's modules, by module name, alphabetical."""
    names = sorted(module.name for module in pkgutil.iter_modules(sys.modules[package].__path__))
    with uncounted:
        found = {name: getattr(import_module(f"{package}.{name}"), record, None) for name in names}
    return {name: declared for name, declared in found.items() if declared is not None}
