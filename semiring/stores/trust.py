"""Executable files, such as compiled kernels: read and written only where no other user could have written.

On POSIX, a file and its directory must belong to this user or to root, and not be writable by group or others. The
owner's private group (same name, no other member) is exempt: umask 002, the default of Debian and Fedora, makes it
writable. The opened descriptor is checked, not a name that may be redirected. Windows separates users' folders itself.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4


class OthersCouldWriteError(PermissionError):
    """Refusal of a file or directory that other users could have written."""


@cache
def hidden(*inner: str) -> tuple[Path, ...]:
    """Folders `inner` of installed copies of this package that the imported one hides, in the order of `sys.path`.

    Only absolute entries count: a relative one follows the working directory.
    """
    package = Path(__file__).resolve().parents[1]
    copies = [Path(entry, package.name) for entry in sys.path if os.path.isabs(entry)]
    return tuple(copy.joinpath(*inner) for copy in copies if copy.is_dir() and copy.resolve() != package)


def read(path: Path) -> bytes:
    """Content of a file that no other user could have written, nor its directory; else OthersCouldWriteError."""
    with own(path.parent) as directory:
        descriptor = _open(path, os.O_RDONLY, directory)
        with open(descriptor, "rb") as file:
            _require_own(os.fstat(descriptor), path)
            return file.read()


def write(path: Path, data: bytes) -> None:
    """Atomically write a private file in a private directory, made if missing; OthersCouldWriteError, OSError."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{uuid4().hex}")
    with own(path.parent) as directory:
        names = (new, path) if directory is None else (new.name, path.name)
        descriptor = _open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, directory)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(*names, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(names[0], dir_fd=directory)
            raise


@contextmanager
def own(path: Path) -> Iterator[int | None]:
    """Descriptor of a directory that no one else may write to, else OthersCouldWriteError; None on Windows."""
    if sys.platform == "win32":
        yield None
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _require_own(os.fstat(descriptor), path)
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path, flags: int, directory: int | None) -> int:
    """Open without following links: whoever set a link may be able to write its target."""
    if directory is None:
        return os.open(path, flags | getattr(os, "O_BINARY", 0))
    return os.open(path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=directory)


def _require_own(found: os.stat_result, path: Path) -> None:
    """OthersCouldWriteError if users other than this one and root could have written it."""
    if sys.platform == "win32":
        return
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in (os.geteuid(), 0):
        problem = f"it belongs to user {found.st_uid}"
    elif mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _private(found.st_gid, found.st_uid)):
        problem = f"others may write to it (mode {mode:04o})"
    else:
        return
    raise OthersCouldWriteError(None, f"must be this user's or root's alone, and {problem}", str(path))


def _private(gid: int, uid: int) -> bool:
    """Whether a group is a user's private one."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and gid == user.pw_gid and set(group.gr_mem) <= {user.pw_name}
