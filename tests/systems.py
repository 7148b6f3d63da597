"""Another system simulated for the rest of a process: what it lacks is removed, what it forbids is refused.

Call `windows()`, `macos()` or `bare()` before anything of this library is imported, then use it. No simulation shows
what machine code, the C library and the file system of the real one do.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import io
import mmap
import os
import signal
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import click.testing  # noqa: F401 (imports that look at the system come before the simulation)
import numba  # noqa: F401
import scipy.sparse.csgraph  # noqa: F401

#: Of `os`, on POSIX alone.
_POSIX = """
    sched_getaffinity fork getuid geteuid getgid getegid sysconf chown fchown fchmod register_at_fork mkfifo pread
    pwrite preadv pwritev uname sync killpg getpgid setsid getloadavg posix_fallocate copy_file_range
    O_DIRECTORY O_NOFOLLOW O_CLOEXEC O_NOCTTY
""".split()
#: Of those, what macOS lacks.
_OF_LINUX = ("sched_getaffinity", "posix_fallocate", "copy_file_range")
_REAL_LINKS, _REAL_OPEN = os.readlink, builtins.open


def windows() -> None:
    """No POSIX; locks by `msvcrt`; what is open can neither be removed nor renamed, nor a directory in which it is."""
    _remove(os, _POSIX)
    _remove(signal, "SIGHUP SIGPIPE SIGKILL SIGALRM SIGUSR1 setitimer pthread_sigmask pthread_kill".split())
    _remove(mmap, "MAP_PRIVATE MAP_ANONYMOUS MAP_SHARED PROT_READ PROT_WRITE".split())
    for module in ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty"):
        sys.modules[module] = None  # type: ignore[assignment]
    sys.modules["msvcrt"] = _msvcrt()
    os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks = set(), set(), set()
    for name in ("replace", "rename", "remove", "unlink", "rmdir"):
        setattr(os, name, _unless_open(getattr(os, name)))
    ctypes.CDLL = _no_nameless(ctypes.CDLL)  # type: ignore[misc]
    _no_files_of_kernels()
    _encodings_named()
    _named("win32")


def macos() -> None:
    """POSIX, and what a C library says that has no renamex_np, as on disks without it."""
    _remove(os, _OF_LINUX)
    _no_files_of_kernels()
    _named("darwin")


def bare() -> None:
    """A Linux whose kernel and C library are old, without /proc and /sys."""
    _remove(os, _OF_LINUX)
    ctypes.CDLL = lambda *_, **__: types.SimpleNamespace()  # type: ignore[misc,assignment]
    _no_files_of_kernels()


def _named(platform: str) -> None:
    """The system's name, from now on; machine code stays this one's."""
    from semiring.kernels.cpu import compile

    compile._sources()
    sys.platform = platform


def _remove(module: Any, names: Any) -> None:
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def _no_files_of_kernels() -> None:
    """There is no /proc and no /sys; nor CuPy, which wants to know where it is."""
    sys.modules["cupy"] = None  # type: ignore[assignment]

    def refused(path: Any) -> bool:
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        return isinstance(name, str) and ("/" + name.lstrip("/")).startswith(("/proc/", "/sys/"))

    def refusing(function: Any) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            if refused(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
            return function(path, *arguments, **options)

        return call

    for module, name in ((builtins, "open"), (io, "open"), (os, "open"), (os, "stat"), (os, "listdir")):
        setattr(module, name, refusing(getattr(module, name)))


def _encodings_named() -> None:
    """Text is not UTF-8 unless a file is opened so: to leave it open is an error, where Python was asked to notice."""
    if not sys.flags.warn_default_encoding:
        raise RuntimeError("set PYTHONWARNDEFAULTENCODING=1 in the environment")
    warnings.filterwarnings("error", category=EncodingWarning, module=r"(semiring|apsp)\b")


def _no_nameless(load: Any) -> Any:
    """Windows has no name for the process itself."""

    class Library(load):
        def __init__(self, name: Any, *arguments: Any, **options: Any) -> None:
            if name is None:
                raise TypeError("argument of type 'NoneType' is not iterable")
            super().__init__(name, *arguments, **options)

    return Library


def _msvcrt() -> Any:
    """Its locks, from one byte to the next, by those of POSIX."""

    def locking(descriptor: int, mode: int, count: int) -> None:
        try:
            lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    lock = fcntl.flock
    return types.SimpleNamespace(locking=locking, LK_NBLCK=2)


def _opened() -> set[Path]:
    """All files that this process has open, or mapped."""
    found = set()
    for number in _NUMBERS("/proc/self/fd"):
        try:
            found.add(Path(_REAL_LINKS(f"/proc/self/fd/{number}")))
        except OSError:  # that of the listing
            continue
    with _REAL_OPEN("/proc/self/maps", encoding="utf-8") as file:
        found |= {Path(line.split(maxsplit=5)[5].strip()) for line in file if "/" in line}
    return found


_NUMBERS = os.listdir


def _unless_open(function: Any) -> Any:
    def call(path: Any, *arguments: Any, **options: Any) -> Any:
        for place in (path, *arguments[:1]):
            whole = Path(os.path.realpath(place))
            if any(file == whole or whole in file.parents for file in _opened()):
                raise PermissionError(errno.EACCES, "the process cannot access it: it is open", os.fspath(place))
        if function.__name__ == "rename" and os.path.exists(arguments[0]):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(arguments[0]))
        return function(path, *arguments, **{k: v for k, v in options.items() if v is not None})

    return call
