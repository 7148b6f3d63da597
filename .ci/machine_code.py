"""Machine code that wheels bring: the kernels of first_calls.txt, compiled for levels of processors by all processors.

`python .ci/machine_code.py FOLDER LEVEL …` makes FOLDER/LEVEL/….kernel for each of them, and prints the levels; `host`
is this processor's, with the commonest kernels alone, as an installation waits for them: lines without a +. `all` are
all of its architecture. What is there already is not compiled again. A processor need not have the instructions that it
compiles for.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import pkgutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import llvmlite.binding
import numpy as np
from numba import from_dtype
from numba.core import config, types
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

import semiring.kernels.cpu
from semiring.algebra import catalog
from semiring.kernels.cpu.code import compiled_kind
from semiring.kernels.cpu.compile import Kernel, OnDisk, kernel, sealed
from semiring.kernels.cpu.features import LEVELS, level, levels, processor
from semiring.kernels.cpu.kinds import Kind, choose
from semiring.kernels.cpu.processors import default_threads
from semiring.kernels.cpu.routes.tight_arcs import vertex_of
from semiring.kernels.cpu.sparse.relaxation import Lanes
from semiring.kernels.cpu.sparse.search import Width
from semiring.stores import trust

#: AMD's Zen takes other instructions of a level for floats, and others again where none is below 0.
ZEN = "znver"
Choices = tuple[tuple[str, bool], ...]


def build(folder: Path, target: str, *, here: bool) -> None:
    """The machine code of all kernels for a level, chosen as `here`, or as on all processors of the level."""
    zen: Choices = ((ZEN, False), (ZEN, True))
    choices: Choices = ((_processor(target), False),)
    if here and processor().startswith(ZEN):
        choices = zen
    elif not here and "avx2" in LEVELS[target]:
        choices += zen
    began, made, kept = time.monotonic(), 0, set()
    listed = (ROOT / ".ci" / "first_calls.txt").read_text().splitlines()
    lines = [line.removeprefix("+") for line in listed if not (here and line.startswith("+"))]
    _say(f"{target}: compiling the {len(lines)} kernels of common calls, by {default_threads()} processes")
    with tempfile.TemporaryDirectory() as parts:  # what several kernels are compiled from
        os.environ |= settings(target) | {"NUMBA_CACHE_DIR": parts}
        with ProcessPoolExecutor(default_threads(), multiprocessing.get_context("spawn")) as pool:
            for done, entries in enumerate(pool.map(compiled, lines, *map(repeat, (target, folder, choices))), 1):
                made += sum(entries.values())
                kept |= entries.keys()
                if done % 10 == 0 or done == len(lines):
                    _say(f"{target}: {done} of {len(lines)} kernels, {time.monotonic() - began:.0f} s")
    for file in (folder / target).iterdir():
        if file not in kept:  # of other sources
            file.unlink()
    _say(f"{target}: {made} compiled, {len(kept)} in all, {sum(file.stat().st_size for file in kept) / 1e6:.1f} MB")


def settings(target: str) -> dict[str, str]:
    """The environment in which numba compiles for a level."""
    features = ",".join(f"+{feature}" for feature in sorted(LEVELS[target]))
    return {"NUMBA_CPU_NAME": _processor(target), "NUMBA_CPU_FEATURES": features}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _processor(target: str) -> str:
    """LLVM's name of a level."""
    return "generic" if target == "aarch64" else target.removesuffix("-vbmi")


def compiled(line: str, target: str, folder: Path, choices: Choices) -> dict[Path, bool]:
    """The files of a line of the list, and whether they were made, by a process whose environment names the level."""
    files: dict[Path, bool] = {}
    for config.CPU_NAME, _nonnegative.value in choices:
        entry, wanted = named(line)
        entry._cache = Shipped(entry.py_func, not line.startswith("&"), folder, target)
        if (file := entry._cache.place(wanted)) not in files:
            entry.compile(wanted)
            files[file] = entry._cache.made
    return files


def named(line: str) -> tuple[Kernel, Any]:
    """The kernel of a line of the list, which has not been compiled yet, and the types of its arguments."""
    name, _, signature = line.lstrip("&").partition("(")
    module, _, function = name.rpartition(".")
    part, called = _of(f"{module}.{function}"), not line.startswith("&")
    counted = part.targetoptions.get("_nrt", True)
    types_of = eval(f"[{signature[:-1]}]", _SPELLING)
    wanted = tuple(compiled_kind(part, t) if getattr(t, "label", "") else t for t in types_of)
    return kernel(part.py_func, on_disk=False, called=called, counted=counted), wanted


def _of(name: str) -> Any:
    """Object of `semiring.kernels.cpu` by its name, "module.function"."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(f"{semiring.kernels.cpu.__name__}.{module}"), own)


def _fields(name: str, *parts: Any) -> Any:
    """The type of a named tuple."""
    alike = all(part == parts[0] for part in parts)
    return types.NamedUniTuple(parts[0], len(parts), _of(name)) if alike else types.NamedTuple(parts, _of(name))


class _nonnegative:
    """Whether kinds of floats are chosen for entries ≥ 0, too, where the list does not say so."""

    value = False


def _kind(semiring: str, dtype: str, nonnegative: bool) -> Kind:
    some = nonnegative or (_nonnegative.value and dtype.startswith("float"))
    return choose.__wrapped__(catalog.get(semiring), np.dtype(dtype), some)


def _mover(dtype: str, image: str) -> Kind:
    zen = config.CPU_NAME == ZEN and dtype.startswith("float") and not _nonnegative.value
    return Kind("", dtype, 0, 0, "", "", "", "", "sorted" if zen else image)


#: What the list spells types with.
_SPELLING = {**vars(types), "bool": types.boolean, "kind": _kind, "mover": _mover, "Width": Width, "Lanes": Lanes}
_SPELLING |= {"fields": _fields, "records": lambda name: from_dtype(_of(name))[::1]}
_SPELLING |= {"vertices": lambda dtype: from_dtype(vertex_of(dtype))[::1]}


class Shipped(OnDisk):
    """A function's machine code for a level, in a folder."""

    def __init__(self, function: Any, called: bool, folder: Path, target: str) -> None:
        super().__init__(function, called)
        self._function, self._folder, self._target = function, folder, target
        self.made = False

    def _places(self, sig: Any, codegen: Any) -> Iterator[Path]:
        yield self.place(sig)

    def _lock(self, sig: Any, codegen: Any) -> bool:
        return False  # each process has lines of its own

    def place(self, sig: Any) -> Path:
        """The file for argument types."""
        return self._folder / self._target / self.file(sig, self._target)

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Keep machine code, without what is there for other code to be compiled with, unless that is ours."""
        if compiled.library.has_dynamic_globals:
            raise ValueError(f"{self._name}: addresses of this process must not be in its machine code")
        (name, way, (code, bitcode)), *rest = compiled._reduce()
        if self._function not in _parts():  # numba looks here for what may be looked up in the machine code
            symbols = [f.name for f in compiled.library.get_defined_functions()]
            text = "\n".join(f'@"{symbol}" = global i8 0' for symbol in symbols)
            bitcode = llvmlite.binding.parse_assembly(text).as_bitcode()
        rest[5] = ""  # how types were found
        trust.write(self.place(sig), sealed(dumps(((name, way, (code, bitcode)), *rest))))
        self.made = True


@cache
def _parts() -> set[Any]:
    """The functions that other functions call, and are compiled with."""
    modules = [
        importlib.import_module(m.name)
        for m in pkgutil.walk_packages(semiring.kernels.cpu.__path__, "semiring.kernels.cpu.")
    ]
    functions = {f.py_func for module in modules for f in vars(module).values() if isinstance(f, Dispatcher)}
    called = (f.__globals__.get(name) for f in functions for name in f.__code__.co_names)
    return {f.py_func for f in called if isinstance(f, Kernel)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("levels", nargs="+", choices=["host", "all", *levels()])
    arguments = parser.parse_args()
    for name in levels() if "all" in arguments.levels else arguments.levels:
        chosen = level() if name == "host" else name
        if chosen:
            build(arguments.folder, chosen, here=name == "host")
            print(chosen)
        else:
            _say("no level fits this processor: kernels compile on first use")
