"""Files that will be executed, such as compiled kernels: read and written only where nobody else could have written.

On POSIX, a file and its directory must belong to this user or to root, and neither a group nor others may write to
them. The private group of their owner, which is called as the user and has no other member, is no group here: a umask
of 002, the default of Debian and Fedora, lets it write. What is checked is what was opened, not a name that may lead
elsewhere a moment later. Windows keeps users' folders apart by itself.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


class OthersCouldWriteError(PermissionError):
    """A file or a directory is not read, nor written to, as others than this user could have written it."""


def read(path: Path) -> bytes:
    """The content of a file that nobody else could have written.

    Raises
    ------
    OthersCouldWriteError
        If another user could: it, or its directory.
    OSError
        If it cannot be read; a symbolic link cannot.
    """
    with own(path.parent) as directory:
        descriptor = _open(path, os.O_RDONLY, directory)
        with open(descriptor, "rb") as file:
            _require_own(os.fstat(descriptor), path)
            return file.read()


def write(path: Path, data: bytes) -> None:
    """Make a file that nobody else may write, in a directory like that, made if missing; complete or not at all.

    Raises
    ------
    OthersCouldWriteError
        If others may write to its directory.
    OSError
        If it cannot be written.
    """
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
    """The descriptor of a directory to which nobody else may write; None on Windows.

    Raises
    ------
    OthersCouldWriteError
    """
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
    """A file's descriptor; a link is not followed, as whoever could have set it may write what it leads to."""
    if directory is None:
        return os.open(path, flags | getattr(os, "O_BINARY", 0))
    return os.open(path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=directory)


def _require_own(found: os.stat_result, path: Path) -> None:
    """Refuse what others than this user and root could have written.

    Raises
    ------
    OthersCouldWriteError
    """
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
    """Whether a group is the private one of a user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and gid == user.pw_gid and set(group.gr_mem) <= {user.pw_name}
