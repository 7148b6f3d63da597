"""CuPy, imported on first use: the modules beside this one are read without it, as to compile or to ship kernels."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class _Library(ModuleType):
    """A module imported on the first use of a name; names are kept."""

    def __getattr__(self, name: str) -> object:
        found = vars(self)[name] = getattr(import_module(self.__name__), name)
        return found


cupy: ModuleType = _Library("cupy")
cuda: ModuleType = _Library("cupy.cuda")
