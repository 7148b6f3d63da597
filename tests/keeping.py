"""Machine code of the tests' own semirings and kernels, kept on disk from run to run as the library's is.

The library compiles users' semirings anew in every process, as what their functions call may change unseen. Here a
semiring is known by its whole content: code, constants, and the globals and closures that its functions read. One that
refers to anything else is compiled as ever; so are all that tests declare in processes of their own.
"""

from __future__ import annotations

import subprocess
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from semiring import Semiring
from semiring.kernels import emulated
from semiring.kernels.cpu import kinds
from semiring.kernels.cuda import cache as cubins


def told(thing: Any) -> str:
    """A text that differs where the machine code may."""
    if isinstance(thing, FunctionType):
        code, cells = thing.__code__, [cell.cell_contents for cell in thing.__closure__ or ()]
        read = {name: thing.__globals__[name] for name in code.co_names if name in thing.__globals__}
        own = (code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_freevars)
        return told((own, thing.__defaults__, cells, read))
    if is_dataclass(thing):
        return told({f.name: getattr(thing, f.name) for f in fields(thing)})
    if isinstance(thing, dict):
        return told([*thing.items()])
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(told, thing))})"
    return thing.__name__ if isinstance(thing, (ModuleType, np.ufunc)) else repr(thing)


@cache
def digest(semiring: Semiring) -> str:
    """Empty where an object has no text but its address."""
    text = told(semiring)
    return "" if " at 0x" in text else sha256(text.encode()).hexdigest()[:16]


class ByContent(dict[Semiring, str]):
    """Labels of semirings, of which the library numbers those that are not its own."""

    def setdefault(self, semiring: Semiring, label: str) -> str:
        if "#" in label and (known := digest(semiring)):
            label = f"{semiring.name}#{known}"
        return super().setdefault(semiring, label)


class Compilers:
    """`subprocess` as the emulator of one's own kernels calls it: what g++ made of the same text is found on disk."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, command: list[Any], **options: Any) -> Any:
        text, folder = options.get("input"), next((str(c)[2:] for c in command[::-1] if str(c)[:2] == "-I"), "")
        if text is None or "#include" in text or not folder:
            return subprocess.run(command, **options)
        own = [path.read_text(encoding="utf-8") for path in sorted(emulated.FOLDER.glob("*.h"))]
        version = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout
        said = [text, *map(str, command[:-1]), version]
        name = (
            f"program-{sha256(chr(10).join([*(x.replace(folder, '') for x in said), *own]).encode()).hexdigest()[:40]}"
        )
        if (known := cubins.load(name)) is None:
            done = subprocess.run(command, **options)
            if not done.returncode:
                cubins.store(name, cubins.Binary("host", command[-1].read_bytes(), {}))
            return done
        command[-1].write_bytes(known.cubin)
        return SimpleNamespace(returncode=0, stdout="", stderr="")


def keep() -> None:
    """From here on, in this process."""
    emulated.subprocess = Compilers()
    kinds._keys, own = ByContent(kinds._keys), kinds.shipped
    kinds.shipped = lambda s: own(s) or kinds._keys.get(s, "").partition("#")[2] == digest(s) != ""
