"""Compiling kernels: Ctrl-C never stops it half way, and it is done once a machine where the code can be kept on disk.

Wheels bring the machine code of the commonest kernels, for a few levels of processors (`features.LEVELS`). What is not
there is compiled for this processor and kept in $NUMBA_CACHE_DIR, else in $SEMIRING_CACHE_DIR, else beside the sources,
else in the user's cache folder. Wherever none of that can be written, each process compiles for itself, and says so
once (logger "semiring"). What others than the user and root could have written is not read (semiring/trust.py).
"""

from __future__ import annotations

import errno
import gc
import hashlib
import logging
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from .. import compiling, trust
from ..compiling import announce, uncounted
from ..errors import DeviceError
from ..files import locked, unlock
from ..signals import undisturbed
from .features import level

if config.DISABLE_JIT:
    raise DeviceError(
        "cpu: kernels must be compiled by numba, got NUMBA_DISABLE_JIT=1 in the environment. Unset it, or set it to 0."
    )

_log = logging.getLogger("semiring")

#: What an installed wheel brought: a folder a level.
SHIPPED = Path(__file__).parent / "shipped"
#: Seconds for which another process may keep this one waiting for a kernel that it compiles.
PATIENCE = 120.0


class Kernel(CPUDispatcher):  # type: ignore[misc] # numba has no types
    """A function that numba compiles when it is first called; Ctrl-C waits until it is done."""

    def compile(self, sig: Any) -> Any:
        """The machine code for argument types, as a Python callable."""
        collected = gc.isenabled()
        gc.disable()  # a tenth of the time, for what is needed until the end
        try:
            with uncounted:
                return undisturbed(partial(super().compile, sig))
        finally:
            if collected:
                gc.enable()
            self._cache.done(sig)


def kernel(
    function: Callable[..., Any],
    *,
    on_disk: bool = True,
    called: bool = True,
    released: bool = True,
    counted: bool = True,
) -> Kernel:
    """The function as a kernel that runs without the interpreter lock, and divides by zero as NumPy does.

    Only where it is `called` from Python, and not by its address alone, can it take Python's arguments. Where the lock
    is not `released`, other threads wait: for calls of a microsecond, as to get it back may take one of theirs. Where
    references are not `counted`, by atomic steps, it may use arrays in tuples as often as others; it allocates nothing.
    """
    options = {"nopython": True, "nogil": released, "error_model": "numpy", "no_cfunc_wrapper": True}
    options |= {"no_cpython_wrapper": not called, "_nrt": counted}
    compiled = Kernel(function, targetoptions=options)
    compiled._cache = (OnDisk if on_disk else Nowhere)(function, called)
    return compiled


#: The same for what other kernels call, and Python never.
inner = partial(kernel, called=False)


#: Names of the kernels that this process has, or has seen on disk; see `Nowhere.named`.
_here: set[str] = set()


class Nowhere(NullCache):  # type: ignore[misc] # numba has no types
    """Where nothing is kept; what is not found is compiled next, and announced."""

    def __init__(self, function: Callable[..., Any], called: bool) -> None:
        self._called = called
        self._name = f"{function.__module__.removeprefix(__package__ + '.')}.{function.__qualname__}"

    def named(self, sig: Any) -> str:
        """The kernel's name, and what it is for where that is its first argument: "dense.gemm.panel.min_plus.int32"."""
        return self._name + getattr(sig[0] if isinstance(sig, tuple) and sig else None, "tag", "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """None."""
        announce()

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Only note that it is there."""
        _here.add(self.named(sig))

    def done(self, sig: Any) -> None:
        """It is compiled, or cannot be."""


class OnDisk(Nowhere):
    """A function's machine code on disk, as numba asks its cache for it: one file a signature and processor or level.

    A file is what it was compiled from (`_sources`), the digest of its content, and the content. Damage is so found
    before anything of it runs; a file that is damaged, or of other sources, is replaced.
    """

    def __init__(self, function: Callable[..., Any], called: bool) -> None:
        super().__init__(function, called)
        self._locks: dict[Any, tuple[Path, int]] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for argument types; None where it is for this process to compile it.

        What another process is compiling is waited for.
        """
        rtsys.initialize(target_context)  # what machine code may call; numba's other registries are for compiling
        patience, wait = time.monotonic() + PATIENCE, True
        while not (found := self._found(sig, target_context)) and wait and sig not in self._locks:
            try:
                wait = self._lock(sig, target_context.codegen())
            except OSError:  # another process compiles it
                wait = time.monotonic() < patience
                time.sleep(0.02)
        return found or super().load_overload(sig, target_context)

    def _lock(self, sig: Any, codegen: Any) -> bool:
        """Have other processes wait for what is compiled here; False where it cannot be kept, or the disk has no locks.

        Raises
        ------
        OSError
            EBUSY if another process has this one wait.
        """
        for folder in folders():
            file = folder / f".{self.file(sig, codegen.magic_tuple())}.lock"
            try:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
                with trust.own(folder):
                    lock = locked(file, str(file))
            except OSError as error:
                if error.errno == errno.EBUSY:
                    raise
                continue
            if lock is not None:
                self._locks[sig] = file, lock
                return True
        return False

    def done(self, sig: Any) -> None:
        """Have nobody wait any more."""
        if sig in self._locks:
            unlock(*self._locks.pop(sig))

    def _found(self, sig: Any, target_context: Any) -> Any:
        """The machine code for argument types; None where there is none to be trusted."""
        for path in self._places(sig, target_context.codegen()):
            try:
                data = trust.read(path)
            except trust.OthersCouldWriteError as error:
                _say_once(f"{error.filename} is not used for compiled kernels: it {error.strerror}.")
                continue
            except OSError:
                continue
            if data.startswith(_sources()):
                try:
                    found = CompileResult._rebuild(target_context, *pickle.loads(_opened(data)))
                    _here.add(self.named(sig))
                    return found
                except Exception as error:  # whatever a damaged file leads to
                    _say_once("%s cannot be read and is compiled again: %s.", path, error)
        return None

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Keep machine code, in the first folder that takes it."""
        super().save_overload(sig, compiled)
        if compiled.library.has_dynamic_globals:  # addresses of this process
            return
        name, content = self.file(sig, compiled.target_context.codegen().magic_tuple()), dumps(compiled._reduce())
        why = None
        for folder in folders():
            try:
                trust.write(folder / name, sealed(content))
                return
            except OSError as error:
                why = error
        compiling.kept = False
        _say_once(
            "compiled kernels cannot be kept on disk (%s), so each process compiles its own. "
            "Set NUMBA_CACHE_DIR to a folder that you alone can write, with room in it.",
            why or "no folder for them is known",
        )

    def _places(self, sig: Any, codegen: Any) -> Iterator[Path]:
        """The files that may hold the machine code, that of a wheel first."""
        yield from (folder / self.file(sig, folder.name) for folder in shipped())
        name = self.file(sig, codegen.magic_tuple())
        yield from (folder / name for folder in folders())

    def file(self, sig: Any, target: Any) -> str:
        """The name of the file for argument types and a target: a level, or the processor as numba describes it."""
        key = hashlib.sha256(repr((sig, self._called, target)).encode()).hexdigest()[:24]
        return f"{self.named(sig)}-{key}{_SUFFIX}"


#: How the files of this interpreter's machine code end.
_SUFFIX = f".{sys.implementation.cache_tag}.kernel"


def missing(names: Iterable[str]) -> set[str]:
    """Those kernels that are neither in this process nor on disk, of these sources, when that was first looked at.

    For estimates: of a name for which there are several signatures or processors, any will do.
    """
    wanted = set(names) - _here
    there = _listed((*shipped(), *folders())) if wanted else {}
    _here.update(name for name in wanted if any(map(_fits, there.pop(name, ()))))
    return wanted - _here


@cache
def _listed(folders: tuple[Path, ...]) -> dict[str, list[Path]]:
    """The files of each kernel's name."""
    found: dict[str, list[Path]] = {}
    for folder in folders:
        with suppress(OSError):
            for file in os.listdir(folder):
                found.setdefault(file.partition("-")[0], []).append(folder / file)
    return found


def _fits(file: Path) -> bool:
    """Whether machine code is of this interpreter and of these sources, by its beginning."""
    if not file.name.endswith(_SUFFIX):
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(32) == _sources()
    except OSError:
        return False


def shipped() -> tuple[Path, ...]:
    """Where machine code is looked for before all: what a wheel brought for this processor's level, if there is one."""
    fitting = level()
    return (SHIPPED / fitting,) if fitting else ()


@cache
def folders() -> tuple[Path, ...]:
    """Where machine code is looked for next, in this order, and kept: in the first of them that can be written."""
    package = Path(__file__).resolve().parent
    if not any(package.glob("*.py")):  # nothing to tell stale code by
        return ()
    own = f"semiring-cpu-{hashlib.sha256(os.fsencode(package)).hexdigest()[:12]}"  # of this installation
    for chosen in (config.CACHE_DIR, os.environ.get("SEMIRING_CACHE_DIR")):
        if chosen:
            return (Path(chosen) / own,)
    users = Path(AppDirs("semiring", appauthor=False).user_cache_dir)
    # Without a home "~" stays as it is, and would become a folder of that name.
    return (package / "__pycache__", *([users / own] if users.is_absolute() else []))


@cache
def _sources() -> bytes:
    """A digest of all that machine code is made from: a changed kernel never meets stale code."""
    package = Path(__file__).parent
    files = (*sorted(package.rglob("*.py")), package.parent / "catalog.py")
    versions = f"{sys.platform} {numba.__version__} {llvmlite.__version__}".encode()
    return hashlib.sha256(b"".join((versions, *(f.read_bytes() for f in files)))).digest()


def sealed(content: bytes) -> bytes:
    """Content with what tells whether it fits these sources, and whether it is whole."""
    return _sources() + hashlib.sha256(content).digest() + content


def _opened(data: bytes) -> bytes:
    """What was sealed.

    Raises
    ------
    ValueError
        If that is not what it was.
    """
    content = data[64:]
    if hashlib.sha256(content).digest() != data[32:64]:
        raise ValueError("it is damaged")
    return content


_said: set[str] = set()


def _say_once(message: str, *arguments: Any) -> None:
    if message not in _said:
        _said.add(message)
        _log.warning(f"semiring: {message}", *arguments)
