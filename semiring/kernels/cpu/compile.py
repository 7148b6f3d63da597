"""Compilation of kernels: uninterrupted by Ctrl-C, and once per machine if the code can be kept on disk.

Wheels bring the machine code of the commonest kernels, for a few processor levels (`features.LEVELS`). Other kernels
are compiled for this processor and kept in $NUMBA_CACHE_DIR, else in $SEMIRING_CACHE_DIR, else beside the sources, else
in the user's cache folder. If none is writable, each process compiles for itself, and logs so once (logger "semiring").
Files that anyone but the user and root could have written are not read (semiring/stores/trust.py).
"""

from __future__ import annotations

import errno
import gc
import hashlib
import logging
import os
import pickle
import sys
import threading
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

from ...host import compiling
from ...host.compiling import announce, uncounted
from ...host.errors import DeviceError
from ...host.signals import undisturbed
from ...stores import trust
from ...stores.files import locked, unlock
from .features import level

if config.DISABLE_JIT:
    raise DeviceError(
        "cpu: kernels must be compiled by numba, got NUMBA_DISABLE_JIT=1 in the environment. Unset it, or set it to 0."
    )

_log = logging.getLogger("semiring")

#: Machine code of an installed wheel, a folder per level.
SHIPPED = Path(__file__).parent / "shipped"
#: Longest wait in seconds for a kernel that another process compiles.
PATIENCE = 120.0


class _Uncollected:
    """Context without garbage collection, in any thread: a tenth faster, as nearly all objects live until the end."""

    def __init__(self) -> None:
        self._lock, self._inside, self._enabled = threading.Lock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._enabled:
                gc.enable()


_uncollected = _Uncollected()


class Kernel(CPUDispatcher):  # type: ignore[misc] # numba has no types
    """A function compiled by numba on its first call; Ctrl-C is deferred until compilation ends."""

    def compile(self, sig: Any) -> Any:
        try:
            with uncounted, _uncollected:
                return undisturbed(partial(super().compile, sig))
        finally:
            self._cache.done(sig)


def kernel(
    function: Callable[..., Any],
    *,
    on_disk: bool = True,
    called: bool = True,
    released: bool = True,
    counted: bool = True,
) -> Kernel:
    """Compile `function` as a kernel: without the interpreter lock, dividing by zero as NumPy does.

    Without `called` there is no Python wrapper: calls go by address alone. With `released=False` it keeps the
    interpreter lock: for calls of a microsecond, since reacquiring the lock may take as long as another thread's turn.
    With `counted=False` references are not counted, by atomic steps: for arrays in tuples; it must allocate nothing.
    """
    options = {"nopython": True, "nogil": released, "error_model": "numpy", "no_cfunc_wrapper": True}
    options |= {"no_cpython_wrapper": not called, "_nrt": counted}
    compiled = Kernel(function, targetoptions=options)
    compiled._cache = (OnDisk if on_disk else Nowhere)(function, called)
    return compiled


#: A kernel that only other kernels call.
inner = partial(kernel, called=False)


#: Names of kernels in this process or seen on disk; see `Nowhere.named`.
_here: set[str] = set()


class Nowhere(NullCache):  # type: ignore[misc] # numba has no types
    """A cache that keeps nothing: each miss is compiled, and announced."""

    def __init__(self, function: Callable[..., Any], called: bool) -> None:
        self._called = called
        self._name = f"{function.__module__.removeprefix(__package__ + '.')}.{function.__qualname__}"

    def named(self, sig: Any) -> str:
        """Kernel name plus the tag of its first argument: "dense.gemm.panel.min_plus.int32"."""
        return self._name + getattr(sig[0] if isinstance(sig, tuple) and sig else None, "tag", "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        announce()

    def save_overload(self, sig: Any, compiled: Any) -> None:
        _here.add(self.named(sig))

    def done(self, sig: Any) -> None:
        """Release locks after compilation, successful or not; none here."""


class OnDisk(Nowhere):
    """Machine code on disk behind numba's cache interface: one file per signature and processor or level.

    A file holds a digest of the sources (`_sources`), a digest of the content, and the content. Damage is thus found
    before any of it runs; a damaged or stale file is replaced.
    """

    def __init__(self, function: Callable[..., Any], called: bool) -> None:
        super().__init__(function, called)
        self._locks: dict[Any, tuple[Path, int]] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for argument types, waiting for another process that compiles it; None: compile it here."""
        rtsys.initialize(target_context)  # called by machine code; the other registries serve compilation
        patience, wait = time.monotonic() + PATIENCE, True
        while not (found := self._found(sig, target_context)) and wait and sig not in self._locks:
            try:
                wait = self._lock(sig, target_context.codegen())
            except OSError:  # another process compiles it
                wait = time.monotonic() < patience
                time.sleep(0.02)
        return found or super().load_overload(sig, target_context)

    def _lock(self, sig: Any, codegen: Any) -> bool:
        """Lock a kernel against other processes; False if it cannot be kept, or the disk has no locks.

        Raises OSError (EBUSY) if another process holds the lock.
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
        if sig in self._locks:
            unlock(*self._locks.pop(sig))

    def _found(self, sig: Any, target_context: Any) -> Any:
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
        super().save_overload(sig, compiled)
        if compiled.library.has_dynamic_globals:  # holds addresses of this process
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
        yield from (folder / self.file(sig, folder.name) for folder in shipped())
        name = self.file(sig, codegen.magic_tuple())
        yield from (folder / name for folder in folders())

    def file(self, sig: Any, target: Any) -> str:
        """File name for argument types and a target: a level, or numba's description of the processor."""
        key = hashlib.sha256(repr((sig, self._called, target)).encode()).hexdigest()[:24]
        return f"{self.named(sig)}-{key}{_SUFFIX}"


#: File suffix of this interpreter's machine code.
_SUFFIX = f".{sys.implementation.cache_tag}.kernel"


def missing(names: Iterable[str]) -> set[str]:
    """The kernels neither in this process nor on disk for these sources, as of the first look at the disk.

    For estimates: any signature or processor of a name counts.
    """
    wanted = set(names) - _here
    there = _listed((*shipped(), *folders())) if wanted else {}
    _here.update(name for name in wanted if any(map(_fits, there.pop(name, ()))))
    return wanted - _here


@cache
def _listed(folders: tuple[Path, ...]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for folder in folders:
        with suppress(OSError):
            for file in os.listdir(folder):
                found.setdefault(file.partition("-")[0], []).append(folder / file)
    return found


def _fits(file: Path) -> bool:
    """Whether a file's header matches this interpreter and these sources."""
    if not file.name.endswith(_SUFFIX):
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(32) == _sources()
    except OSError:
        return False


def shipped() -> tuple[Path, ...]:
    """Folders of machine code for this processor's level: this wheel's, and that of one which these sources hide."""
    fitting = level()
    return (
        tuple(place / fitting for place in (SHIPPED, *trust.hidden("kernels", "cpu", SHIPPED.name))) if fitting else ()
    )


def described() -> str:
    """The processor's level, the kernels shipped for it, and where others are kept."""
    there = [f"{sum(map(_fits, place.iterdir()))} kernels in {place}" for place in shipped() if place.is_dir()]
    return "; ".join(
        (level() or "no level", *(there or ["none shipped"]), f"others in {', '.join(map(str, folders()))}")
    )


@cache
def folders() -> tuple[Path, ...]:
    """Cache folders in search order; code is kept in the first writable one."""
    package = Path(__file__).resolve().parent
    if not any(package.glob("*.py")):  # no sources: stale code would go unnoticed
        return ()
    own = f"semiring-cpu-{hashlib.sha256(os.fsencode(package)).hexdigest()[:12]}"  # one folder per installation
    for chosen in (config.CACHE_DIR, os.environ.get("SEMIRING_CACHE_DIR")):
        if chosen:
            return (Path(chosen) / own,)
    users = Path(AppDirs("semiring", appauthor=False).user_cache_dir)
    # Without a home "~" is not expanded, and would become a folder of that name.
    return (package / "__pycache__", *([users / own] if users.is_absolute() else []))


@cache
def _sources() -> bytes:
    """Digest of all sources of machine code, so that a changed kernel never meets stale code."""
    package = Path(__file__).parent
    files = (*sorted(package.rglob("*.py")), package.parents[1] / "algebra" / "catalog.py")
    versions = f"{sys.platform} {numba.__version__} {llvmlite.__version__}".encode()
    return hashlib.sha256(b"".join((versions, *(f.read_bytes() for f in files)))).digest()


def sealed(content: bytes) -> bytes:
    """Content prefixed with digests of the sources and of itself."""
    return _sources() + hashlib.sha256(content).digest() + content


def _opened(data: bytes) -> bytes:
    content = data[64:]
    if hashlib.sha256(content).digest() != data[32:64]:
        raise ValueError("it is damaged")
    return content


_said: set[str] = set()


def _say_once(message: str, *arguments: Any) -> None:
    if message not in _said:
        _said.add(message)
        _log.warning(f"semiring: {message}", *arguments)
