"""Cache on disk between runs of the suite: machine code of the tests' own semirings and kernels, answers of oracles.

The library compiles users' semirings anew in every process, as what their functions call may change unseen. Here a
semiring is known by its whole content: code, constants, and the globals and closures that its functions read. One that
refers to anything else, or is named `…_anew`, is compiled as ever; so are all that tests declare in processes of their
own.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from semiring import Semiring
from semiring.algebra import declarations, records
from semiring.host.types import Function
from semiring.kernels import emulated
from semiring.kernels.cpu import kinds
from semiring.kernels.cpu.compile import folders
from semiring.kernels.cuda import cache as cubins

if TYPE_CHECKING:
    import cases


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


def of(thing: Any) -> str:
    """The digest of a thing; empty where an object in it has no text but its address."""
    text = told(thing)
    return "" if " at 0x" in text else sha256(text.encode()).hexdigest()[:16]


#: Of semirings.
digest = cache(of)


class ByContent(dict[Semiring, str]):
    """Labels of semirings: a digest of the content where the library counts users' semirings."""

    def setdefault(self, semiring: Semiring, label: str) -> str:
        if "#" in label and not semiring.name.endswith("_anew") and (known := digest(semiring)):
            label = f"{semiring.name}#{known}"
        return super().setdefault(semiring, label)


def require_compilable(function: Function, operands: int, dtypes: tuple[str, ...], what: str) -> None:
    """The library's check of a declaration, whose success is kept too."""
    known = of([function, operands, dtypes, Path(declarations.__file__).read_text(encoding="utf-8"), numba.__version__])
    kept = folders()[0] / f"compilable-{known}"
    if not known or not kept.exists():
        declarations.require_compilable(function, operands, dtypes, what)
        with suppress(OSError):  # where nothing can be written
            if known:
                kept.touch()


@cache
def version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def answers(oracle: Callable[..., np.ndarray], folder: Path) -> Callable[..., np.ndarray]:
    """An oracle of `cases` whose answers on more than a few entries are found again: by all that they are made of."""
    text = Path(__file__).with_name("cases.py").read_text(encoding="utf-8")

    def asked(case: cases.Case, *given: np.ndarray | None) -> np.ndarray:
        seen = [None if X is None else (X.shape, X.dtype.str, sha256(X.tobytes()).hexdigest()) for X in given]
        known = digest(case.semiring) and of(
            [text, np.__version__, digest(case.semiring), str(case.zero), str(case.one), seen]
        )
        file = folder / f"{oracle.__name__}-{known}.npy"
        if not known or max(X.size for X in given if X is not None) < 600:
            return oracle(case, *given)
        if not file.exists():
            own = file.with_suffix(f".{os.getpid()}.npy")
            np.save(own, oracle(case, *given))
            own.replace(file)
        return np.load(file)

    return asked


class Compilers:
    """`subprocess` as the emulator of one's own kernels calls it: what g++ made of the same text is found on disk."""

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, command: list[Any], **options: Any) -> Any:
        if (known := self.key(command, options.get("input"))) is None:
            return subprocess.run(command, **options)
        if (made := cubins.load(known)) is None:
            done = subprocess.run(command, **options)
            if not done.returncode:
                cubins.store(known, cubins.Binary("host", command[-1].read_bytes(), {}))
            return done
        command[-1].write_bytes(made.cubin)
        command[-1].chmod(0o700)
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    def key(self, command: list[Any], text: str | None) -> str | None:
        """A name of what is made of object files, or of a text of no headers but the compiler's; else None."""
        objects = [part for part in command[1:-2] if isinstance(part, Path) and part.suffix == ".o"]
        if objects:
            said = [part.read_bytes().hex() for part in objects]
        elif text is not None and not re.search(r"#\s*include\s*[^<\s]", text):
            folder = next((str(part)[2:] for part in command[::-1] if str(part)[:2] == "-I"), "")
            said = [part.replace(folder, "") for part in (text, *map(str, command[:-1]))]
            said += [path.read_text(encoding="utf-8") for path in sorted(emulated.FOLDER.glob("*.h"))]
        else:
            return None
        return f"program-{sha256(repr([*said, version(command[0])]).encode()).hexdigest()[:40]}"


def keep(folder: Path | None) -> None:
    """From here on, in this process; answers of oracles in a folder."""
    emulated.subprocess, records.require_compilable = Compilers(), require_compilable
    import cases  # which declares semirings: their checks are found on disk from here on

    if folder:
        cases.closure, cases.product = (answers(oracle, folder) for oracle in (cases.closure, cases.product))
    kinds._keys, own = ByContent(kinds._keys), kinds.shipped
    kinds.shipped = lambda s: own(s) or kinds._keys.get(s, "").partition("#")[2] == digest(s) != ""
