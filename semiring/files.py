"""Files and directories that appear complete or not at all: the one way in which anything here writes either.

A writer is handed an open file, never a name. One that makes the name its own, as NumPy does when it appends a suffix,
would write elsewhere than requested.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def writing(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A binary file that becomes `path` when the block ends well; where it does not, `path` is as it was.

    What stood at `path` stays until the new file is complete and on the disk, through errors and Ctrl-C alike. The new
    file takes over its permissions and, as far as the system lets us, its owner. A symbolic link stays a link: what it
    leads to is replaced. A device, a pipe, or an open descriptor such as /dev/stdout is written through.

    Parameters
    ----------
    path : path
        "-" is standard output; a file of that name is "./-".
    durable : bool
        Whether it is on the disk before it is renamed, so that a crash of the machine leaves the old file or the new
        one. Without, only a crash of the process does; for files whose readers find out what is torn.

    Raises
    ------
    OSError
        Naming `path`, whichever step failed: `IsADirectoryError` if it is a directory, `PermissionError` if it is
        read-only or in a directory that is, `FileNotFoundError` if the directory is missing; a full disk.

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
                yield _sink(file, seekable=True)
                file.flush()
                if durable:
                    os.fsync(file.fileno())  # or a crash of the machine may leave the name with an empty file
            _take_over(temporary, target)
            os.replace(temporary, target.place)
        else:
            with open(target.place if target.descriptor is None else os.dup(target.descriptor), "wb") as file:
                yield _sink(file, seekable=False)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new directory that becomes `path` when the block ends well; where it does not, `path` is as it was.

    It is made in the same directory. What stood at `path` can be read until the new one is complete and on the disk;
    then both change places in one step (Linux, macOS). Elsewhere, and on file systems without that step, these are two
    renamings: a crash between them leaves the old directory next to `path`, and the next writer puts it back.
    The process has claimed `path` meanwhile (`claimed`). What an earlier process left unfinished is removed.

    Raises
    ------
    OSError
        Naming `path`: `NotADirectoryError` if it is a file, `FileNotFoundError` if its directory is missing; as
        `claimed` does, if another process writes to it.
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
    """Refuse a directory that cannot change its name for one that is made next to it, before that is made.

    Raises
    ------
    OSError
        Naming `path`: `FileNotFoundError` if the directory that it is to be in is missing, `PermissionError` if that
        cannot be written, EBUSY if `path` is where a disk is mounted.
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


#: What this thread has claimed, and whether by a lock: its own writes to them are no other writer's.
_CLAIMED: ContextVar[Mapping[str, bool]] = ContextVar("_CLAIMED", default=MappingProxyType({}))


@contextmanager
def claimed(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Within the block no other process, and no other thread, writes a directory to `path`.

    A lock of the system's on a hidden file next to it, which ends with its process however that ends. On disks without
    locks nothing is claimed, and the block gets False: each writer then still leaves its directory complete, and
    the last one's stays.

    Raises
    ------
    OSError
        EBUSY, naming `path` and the process that has claimed it.
    """
    place = os.path.realpath(path)
    if place in _CLAIMED.get():
        yield _CLAIMED.get()[place]
        return
    lock = locked(_hidden(Path(place), ".lock"), os.fspath(path))
    before = _CLAIMED.set({**_CLAIMED.get(), place: lock is not None})
    try:
        yield lock is not None
    finally:
        _CLAIMED.reset(before)
        if lock is not None:
            unlock(_hidden(Path(place), ".lock"), lock)


def locked(file: Path, name: str) -> int | None:
    """The descriptor of a locked file that says whose it is; None where the disk has no locks. `unlock` ends the lock.

    Raises
    ------
    OSError
        EBUSY, naming `name`, if another process or thread has it.
    """
    while True:
        try:
            lock = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except PermissionError as error:
            problem = f"it is claimed by another user, or its directory is read-only; that user can remove {file}"
            raise PermissionError(error.errno, problem, name) from error
        try:
            if not _taken(lock):
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


def _taken(descriptor: int) -> bool:
    """Whether the lock of an open file could be had; it ends when the file is closed, by whatever."""
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
    """Remove the file while nobody else can have it, and end the lock; Windows removes no open file."""
    if sys.platform != "win32":
        file.unlink(missing_ok=True)
    os.close(lock)
    with suppress(OSError):
        if sys.platform == "win32":
            file.unlink()


def _hidden(place: Path, suffix: str) -> Path:
    """A name next to a directory's, which belongs to it alone and is short enough whatever that is called."""
    return place.with_name(f".semiring-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}{suffix}")


def _exchange(one: Path, other: Path) -> bool:
    """Have two directories change places in one step; False where the system or the disk has no such step.

    Raises
    ------
    OSError
    """
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
    """Have all that is in a directory on the disk, or a crash of the machine may leave its name with less."""
    for where, _, files in os.walk(folder):
        for name in files:
            descriptor = os.open(os.path.join(where, name), os.O_RDWR if os.name == "nt" else os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_names(where)


def sync_names(folder: str | os.PathLike[str]) -> None:
    """Have the names in a directory on the disk."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_within(name: Any, folder: Path) -> bool:
    """Whether an error's file is that directory, or in it, or none."""
    return name is None or (isinstance(name, str) and Path(name).is_relative_to(folder))


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove what `writing` left in a directory where its process was killed; nobody may be writing to it."""
    for left in Path(folder).glob(".semiring-*.tmp"):
        left.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise before the work what `writing(path)` would raise after it.

    Only making a file shows whether a directory takes one, so one is made next to `path`, and removed. Pipes and
    devices are not opened.

    Raises
    ------
    OSError
        As `writing` does.

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
    """Whether what is written to this path goes to standard output."""
    return _descriptor(os.fspath(path)) == 1


@dataclass(frozen=True)
class _Target:
    """Where a path leads, the open descriptor that it names, if it does, and what that is now."""

    place: str
    descriptor: int | None
    found: os.stat_result | None

    @property
    def regular(self) -> bool:
        """Whether a regular file is made, or replaced; anything else is written through."""
        return self.descriptor is None and (self.found is None or stat.S_ISREG(self.found.st_mode))


def _look(path: str | os.PathLike[str]) -> _Target:
    """Where the path leads; what could not be written is refused."""
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
    """The open descriptor that a path such as /dev/stdout or /dev/fd/3 names, directly or by links; else None.

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
    """A new name in the same directory: only within one file system is renaming a single step."""
    return Path(target.place).with_name(f".semiring-{secrets.token_hex(8)}.tmp")


def _create(temporary: Path, target: _Target) -> int:
    """A new file for writing, readable by nobody who cannot read what it will replace."""
    mode = 0o666 if target.found is None else stat.S_IMODE(target.found.st_mode) & 0o777
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)


def _take_over(temporary: Path, target: _Target) -> None:
    """Owner and permissions of what is to be replaced."""
    if target.found is None:
        return
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may give files away
            os.chown(temporary, target.found.st_uid, target.found.st_gid)
    os.chmod(temporary, stat.S_IMODE(target.found.st_mode))


def _sink(file: IO[bytes], *, seekable: bool) -> IO[bytes]:
    return cast(IO[bytes], _Sink(file, seekable))


class _Sink(io.BufferedIOBase):
    """An open file to write to, which hides its descriptor from NumPy.

    NumPy writes to descriptors behind a file's back, where a full disk has no error number and a pipe no position.
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
