"""Former names of modules: `semiring.errors` is `semiring.host.errors`, as imports and pickles of before have it."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType


class Former:
    """Finder and loader of modules that stood in a package itself and now stand in one of its rooms.

    `rooms`: by room its modules that stood in the package, separated by blanks; `joined`: modules that others took in.
    """

    def __init__(self, package: str, rooms: dict[str, str], joined: dict[str, str]) -> None:
        homes = {x: f"{room}.{x}" for room, names in rooms.items() for x in names.split()} | joined
        self._homes = {f"{package}.{x}": f"{package}.{home}" for x, home in homes.items()}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        module, _, inner = rest.partition(".")
        home = self._homes.get(f"{package}.{module}")
        origin = self._homes.get(name, home and f"{home}.{inner}".rstrip("."))
        return None if origin is None else ModuleSpec(name, self, origin=origin)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Python's own empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Register the module of today under its former name."""
        spec = module.__spec__
        assert spec is not None
        assert spec.origin is not None
        sys.modules[spec.name] = import_module(spec.origin)


def install(package: str, rooms: dict[str, str], joined: dict[str, str]) -> None:
    """Let the former modules of a package be found."""
    sys.meta_path.insert(0, Former(package, rooms, joined))
