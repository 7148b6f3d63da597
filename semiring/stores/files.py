"""Atomic writes of files and directories: complete or not at all; the only way anything here writes.

Writers receive an open file, never a name: one that alters the name, as NumPy appends a suffix, would write elsewhere.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import os
import platform
import secrets
import shutil
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def writing(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[IO[bytes]]:
    """Binary file that atomically replaces `path` on success; on failure `path` is unchanged.

    The old file stays until the new one is complete and on disk, through errors and Ctrl-C. The new file inherits
    permissions and, where allowed, owner. Symbolic links are followed. Devices, pipes and open descriptors such as
    /dev/stdout are written through; "-" is standard output, and a file of that name "./-".

    `durable`: flush to disk before renaming, so that a crash of the machine leaves the old or the new file; otherwise
    only a crash of the process does, for files whose readers detect torn ones. OSError names `path`, whichever step
    failed: `IsADirectoryError`, `PermissionError` for a read-only file or directory, `FileNotFoundError` for a missing
    directory; a full disk.

    Examples
    --------
    >>> with writing("/dev/null") as file:
    ...     file.write(b"done")
    4
    """
    temporary: Path | None = None
    try:
        target = _look(path)
        if target.regular:
            temporary = _temporary_path(target)
            with open(_create(temporary, target), "wb") as file:
                yield cast(IO[bytes], _Sink(file, seekable=True))
                file.flush()
                if durable:
                    os.fsync(file.fileno())  # or a crash of the machine may leave the name with an empty file
            _take_over(temporary, target)
            os.replace(temporary, target.place)
        else:
            with open(target.place if target.descriptor is None else os.dup(target.descriptor), "wb") as file:
                yield cast(IO[bytes], _Sink(file, seekable=False))
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """New directory that atomically replaces `path` on success; on failure `path` is unchanged.

    It is made next to `path`, which stays readable until the new one is complete and on disk; then both are exchanged
    in one step (Linux, macOS). Elsewhere two renamings: a crash in between leaves the old directory next to `path`, and
    the next writer restores it. `path` is `claimed` meanwhile; leftovers of earlier processes are removed. Raises
    OSError naming `path`, `NotADirectoryError` for a file, `FileNotFoundError` for a missing parent, or as `claimed`.
    """
    place, found = Path(os.path.realpath(path)), None
    with suppress(FileNotFoundError):
        found = place.stat()
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it must be a directory or nothing yet, and is a file", os.fspath(path))
    check_replaceable(path)
    old, new = _hidden(place, ".old"), _hidden(place, f"-{secrets.token_hex(8)}.tmp")
    with claimed(path) as alone:
        try:
            if alone and old.exists() and not place.exists():
                os.rename(old, place)
            for left in (old, *place.parent.glob(_hidden(place, "-*.tmp").name)) if alone else ():
                shutil.rmtree(left, ignore_errors=True)
            new.mkdir()
            yield new
            _sync(new)
            _take_over(new, _Target(str(place), None, found))
            if not place.exists():
                os.rename(new, place)
            elif not _exchange(new, place):
                os.rename(place, old)
                os.rename(new, place)
            sync_names(place.parent)
        except BaseException as error:
            if old.exists() and not place.exists():
                os.rename(old, place)
            if isinstance(error, OSError) and error.errno is not None and _is_within(error.filename, new):
                raise OSError(error.errno, error.strerror, os.fspath(path)) from error
            raise
        finally:
            for left in (new, old) if place.exists() else (new,):
                shutil.rmtree(left, ignore_errors=True)


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise OSError, before any work, if `path` cannot be atomically replaced by a directory.

    `FileNotFoundError` for a missing parent, `PermissionError` for an unwritable one, EBUSY for a mount point.
    """
    name, place = os.fspath(path), Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its directory must exist", name)
    inside = f"name a new directory in it, such as {os.path.join(name, 'result', '')}"
    if os.path.ismount(place):
        raise OSError(errno.EBUSY, f"it must not be where a disk is mounted, which cannot be renamed; {inside}", name)
    try:
        check_writable(_hidden(place, "-check"))
    except OSError as error:
        problem = f"a new directory is made next to it, which fails: {error.strerror}; {inside}"
        raise OSError(error.errno, problem if place.is_dir() else error.strerror, name) from error


class _Claims(threading.local):
    """Paths claimed by this thread, and whether by a lock: its own nested writes are allowed.

    Not a context variable, which threads may inherit: those of `asyncio.to_thread` do, and all of a Python without GIL.
    """

    def __init__(self) -> None:
        self.of: dict[str, bool] = {}


_claims = _Claims()


@contextmanager
def claimed(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Exclude other processes and threads from writing a directory to `path`; yields whether it could be locked.

    By a system lock on a hidden file next to `path`, which ends with its process. On disks without locks yields False:
    each writer still leaves its directory complete, and the last one wins. Raises OSError EBUSY naming `path` and the
    process that holds it.
    """
    place = os.path.realpath(path)
    if place in _claims.of:
        yield _claims.of[place]
        return
    lock = locked(_hidden(Path(place), ".lock"), os.fspath(path))
    _claims.of[place] = lock is not None
    try:
        yield lock is not None
    finally:
        del _claims.of[place]
        if lock is not None:
            unlock(_hidden(Path(place), ".lock"), lock)


def locked(file: Path, name: str) -> int | None:
    """Descriptor of a locked file that records its owner, for `unlock`; None on disks without locks.

    Raises OSError EBUSY, naming `name`, if another process or thread holds it.
    """
    while True:
        try:
            lock = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, "its directory must exist", name) from error
        except PermissionError as error:
            problem = f"it is claimed by another user, or its directory is read-only; that user can remove {file}"
            raise PermissionError(error.errno, problem, name) from error
        try:
            if not _try_lock(lock):
                owner = os.read(lock, 200).decode(errors="replace").strip() or "whose number is not known"
                problem = f"another process is writing it, {owner}: wait until it has ended, or name another place"
                raise OSError(errno.EBUSY, problem, name)
            with suppress(OSError):
                if os.path.samestat(os.fstat(lock), os.stat(file)):  # else its last owner has just removed it
                    with suppress(OSError):  # a full disk
                        os.ftruncate(lock, 0)
                        os.write(lock, f"process {os.getpid()} on {platform.node()}\n".encode())
                    return lock
        except BaseException as error:
            os.close(lock)
            if isinstance(error, OSError) and error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                file.unlink(missing_ok=True)
                return None
            raise
        os.close(lock)


def _try_lock(descriptor: int) -> bool:
    """Try to lock an open file; the lock ends when the file is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # behind what others read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            os.lseek(descriptor, 0, os.SEEK_SET)
            return False
        raise
    return True


def unlock(file: Path, lock: int) -> None:
    """Remove the lock file while still holding it, then unlock; Windows removes no open file."""
    if sys.platform != "win32":
        file.unlink(missing_ok=True)
    os.close(lock)
    with suppress(OSError):
        if sys.platform == "win32":
            file.unlink()


def _hidden(place: Path, suffix: str) -> Path:
    """Hidden sibling name unique to a directory, short whatever the directory's name."""
    return place.with_name(f".semiring-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}{suffix}")


def _exchange(one: Path, other: Path) -> bool:
    """Atomically exchange two directories; False if unsupported, OSError on failure."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = libc.renamex_np(*names, 2)  # RENAME_SWAP
        else:
            failed = libc.renameat2(-100, names[0], -100, names[1], 2)  # AT_FDCWD, RENAME_EXCHANGE
    except (OSError, TypeError, AttributeError):  # Windows; a C library without the function
        return False
    number = ctypes.get_errno()
    if failed and number not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        raise OSError(number, os.strerror(number), str(other))
    return not failed


def _sync(folder: Path) -> None:
    """Flush a directory tree to disk: after a crash of the machine its name might exist with less content."""
    for where, _, files in os.walk(folder):
        for name in files:
            _flush(os.path.join(where, name), os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        sync_names(where)


def sync_names(folder: str | os.PathLike[str]) -> None:
    """Flush a directory's names to disk."""
    if hasattr(os, "O_DIRECTORY"):
        _flush(folder, os.O_RDONLY | os.O_DIRECTORY)


def _flush(path: str | os.PathLike[str], flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_within(name: Any, folder: Path) -> bool:
    """Whether an error's file is that directory, inside it, or unknown."""
    return name is None or (isinstance(name, str) and Path(name).is_relative_to(folder))


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove leftovers of killed `writing` processes; no one may be writing."""
    for left in Path(folder).glob(".semiring-*.tmp"):
        left.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise in advance the OSError that `writing(path)` would raise.

    Only creating a file proves that a directory is writable: one is created next to `path` and removed. Pipes and
    devices are not opened.

    Examples
    --------
    >>> check_writable("/no/such/directory/out.npy")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] its directory must exist: '/no/such/directory/out.npy'
    """
    try:
        target = _look(path)
        if target.regular:
            temporary = _temporary_path(target)
            try:
                os.close(_create(temporary, target))
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    return _descriptor(os.fspath(path)) == 1


@dataclass(frozen=True)
class _Target:
    """Resolved path, the open descriptor it names, and its current stat."""

    place: str
    descriptor: int | None
    found: os.stat_result | None

    @property
    def regular(self) -> bool:
        """Whether a regular file is created or replaced; others are written through."""
        return self.descriptor is None and (self.found is None or stat.S_ISREG(self.found.st_mode))


def _look(path: str | os.PathLike[str]) -> _Target:
    """Resolve a path; OSError if it cannot be written."""
    name = os.fspath(path)
    descriptor = _descriptor(name)
    if descriptor is not None:
        return _Target(name, descriptor, os.fstat(descriptor))
    place = os.path.realpath(name)
    try:
        found = os.stat(name)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(place)):
            raise FileNotFoundError(errno.ENOENT, "its directory must exist", name) from None
        return _Target(place, None, None)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it must name a file, and is a directory", name)
    if not os.access(name, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, "it must be writable, and is read-only", name)
    return _Target(place if stat.S_ISREG(found.st_mode) else name, None, found)  # a pipe may have no other name


def _descriptor(name: str) -> int | None:
    """Descriptor named by a path such as /dev/stdout or /dev/fd/3, directly or by links; else None.

    Opened by name, a redirected /dev/stdout would be truncated, or replaced while another process writes to it.
    """
    if name == "-":
        return 1
    for _ in range(40):
        name = os.path.abspath(name)
        if name in _STANDARD:
            return _STANDARD[name]
        head, tail = os.path.split(name)
        if tail.isdecimal() and head in ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd"):
            return int(tail)
        if not os.path.islink(name):
            return None
        name = os.path.join(head, os.readlink(name))
    return None


def _temporary_path(target: _Target) -> Path:
    """New name in the same directory: renaming is atomic only within a file system."""
    return Path(target.place).with_name(f".semiring-{secrets.token_hex(8)}.tmp")


def _create(temporary: Path, target: _Target) -> int:
    """Create a file with no wider permissions than the one it replaces."""
    mode = 0o666 if target.found is None else stat.S_IMODE(target.found.st_mode) & 0o777
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)


def _take_over(temporary: Path, target: _Target) -> None:
    """Copy owner and permissions of the file to be replaced."""
    if target.found is None:
        return
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may give files away
            os.chown(temporary, target.found.st_uid, target.found.st_gid)
    os.chmod(temporary, stat.S_IMODE(target.found.st_mode))


class _Sink(io.BufferedIOBase):
    """Writable file that hides its descriptor from NumPy.

    NumPy writes to descriptors directly, where a full disk has no error number and a pipe no position.
    """

    def __init__(self, file: IO[bytes], seekable: bool) -> None:
        self._file, self._seekable = file, seekable

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._seekable

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._require_positions()
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        self._require_positions()
        return self._file.tell()

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()

    def _require_positions(self) -> None:
        if not self._seekable:
            raise io.UnsupportedOperation("a device or a pipe has no positions")
