"""Files that appear whole or not at all: the one way in which anything here writes a file.

A writer is handed an open file, never a name. One that makes the name its own, as NumPy does when it appends a suffix,
would write elsewhere than it was asked to.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
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
    beside: Path | None = None
    try:
        target = _look(path)
        if target.regular:
            beside = _beside(target)
            with open(_create(beside, target), "wb") as file:
                yield _sink(file, seekable=True)
                file.flush()
                if durable:
                    os.fsync(file.fileno())  # or a crash of the machine may leave the name with an empty file
            _take_over(beside, target)
            os.replace(beside, target.place)
        else:
            with open(target.place if target.descriptor is None else os.dup(target.descriptor), "wb") as file:
                yield _sink(file, seekable=False)
    except BaseException as error:
        if beside is not None:
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new directory that becomes `path` when the block ends well; where it does not, `path` is as it was.

    A directory that stood at `path` is replaced, in two renamings: for an instant neither is there. Of several
    processes that write to the same `path`, the last to end leaves its directory there, whole.

    Raises
    ------
    OSError
        Naming `path`: `NotADirectoryError` if a file stands there, `FileNotFoundError` if its directory is missing.
    """
    place, found = Path(os.path.realpath(path)), None
    with suppress(FileNotFoundError):
        found = place.stat()
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it must be a directory or nothing yet, and is a file", os.fspath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its directory must exist", os.fspath(path))
    beside, before = (place.with_name(f".semiring-{secrets.token_hex(8)}.tmp") for _ in range(2))
    try:
        beside.mkdir()
        yield beside
        while True:
            with suppress(FileNotFoundError):
                os.replace(place, before)
            try:
                os.replace(beside, place)
                break
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another process was in between
                    raise
            shutil.rmtree(before, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)
    except BaseException as error:
        if before.exists() and not place.exists():
            os.replace(before, place)
        shutil.rmtree(before, ignore_errors=True)
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove what `writing` left in a directory where its process was killed; nobody may be writing there."""
    for left in Path(folder).glob(".semiring-*.tmp"):
        left.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise before the work what `writing(path)` would raise after it.

    Only making a file tells whether a directory takes one, so one is made beside `path`, and removed. Pipes and
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
            beside = _beside(target)
            try:
                os.close(_create(beside, target))
            finally:
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Whether what is written to this path goes to standard output."""
    return _descriptor(os.fspath(path)) == 1


@dataclass(frozen=True)
class _Target:
    """Where a path leads, the open descriptor that it names, if it does, and what stands there."""

    place: str
    descriptor: int | None
    found: os.stat_result | None

    @property
    def regular(self) -> bool:
        """Whether a regular file is made, or replaced; anything else is written through."""
        return self.descriptor is None and (self.found is None or stat.S_ISREG(self.found.st_mode))


def _look(path: str | os.PathLike[str]) -> _Target:
    """Where the path leads; what could not be written there is refused."""
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


def _beside(target: _Target) -> Path:
    """A new name in the same directory: only within one file system is renaming a single step."""
    return Path(target.place).with_name(f".semiring-{secrets.token_hex(8)}.tmp")


def _create(beside: Path, target: _Target) -> int:
    """A new file for writing, readable by nobody who cannot read what it will replace."""
    mode = 0o666 if target.found is None else stat.S_IMODE(target.found.st_mode) & 0o777
    return os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)


def _take_over(beside: Path, target: _Target) -> None:
    """Owner and permissions of what is to be replaced."""
    if target.found is None:
        return
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may give files away
            os.chown(beside, target.found.st_uid, target.found.st_gid)
    os.chmod(beside, stat.S_IMODE(target.found.st_mode))


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
