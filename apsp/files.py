"""Files that appear whole or not at all, and gzip where the name or the content says so."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO

from semiring.errors import FormatError

_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the name of `path` when the block ends well, else it is removed.

    All suffixes are kept, so that writers which look at them (or add their own) see the right ones. Whatever stood at
    `path` stays until the new file is complete, through errors and Ctrl-C alike. Something that is no regular file
    (a device, a pipe) is written to as it is.

    Examples
    --------
    >>> with atomic_path("/dev/null") as beside:
    ...     _ = beside.write_text("done")
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise IsADirectoryError(f"write: the path must name a file, got the directory {str(path)!r}.")
        yield target
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"write: the directory must exist, got {str(target.parent)!r}.")
    beside = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
    try:
        yield beside
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def open_for_writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that becomes `path` when the block ends well, gzipped if the name ends in .gz."""
    with atomic_path(path) as beside, open(beside, "wb") as raw:
        if Path(path).suffix.lower() == ".gz":
            # Neither time nor name: the same graph gives the same bytes.
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
                yield file  # type: ignore[misc]
        else:
            yield raw


class Source:
    """A file to read: its bytes, unpacked; its text; and the errors that name it.

    Parameters
    ----------
    path : path
        Gzipped if its name ends in .gz or its first bytes say so.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with open(self.path, "rb") as file:
            self.gzipped = self.path.suffix.lower() == ".gz" or file.read(2) == _GZIP_MAGIC

    @property
    def name(self) -> str:
        """The file's name without its suffixes."""
        return self.path.name.removesuffix(".gz").split(".")[0]

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, unpacked."""
        if self.gzipped:
            return self.data[:size]
        with open(self.path, "rb") as file:
            return file.read(size)

    def open(self) -> IO[bytes]:
        """The file, unpacked, from its beginning."""
        return io.BytesIO(self.data) if self.gzipped else open(self.path, "rb")

    @cached_property
    def data(self) -> bytes:
        """All bytes, unpacked."""
        if not self.gzipped:
            return self.path.read_bytes()
        try:
            with gzip.open(self.path) as file:
                return file.read()
        except (OSError, EOFError, zlib.error) as error:
            raise self.error(f"must be gzip data, as its name or first bytes say, got {error}.") from error

    @cached_property
    def lines(self) -> bytes:
        """All bytes of a text file, each line ended by a line feed alone."""
        data = self.data.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in data:
            at = data.index(b"\0")
            raise self.error("must be text, got a zero byte.", data.count(b"\n", 0, at) + 1)
        if not data.strip():
            raise self.error("must hold a graph, got an empty file.")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data

    @cached_property
    def text(self) -> str:
        """All text, which must be UTF-8."""
        try:
            return self.lines.decode()
        except UnicodeDecodeError as error:
            line = self.lines.count(b"\n", 0, error.start) + 1
            raise self.error(f"must be UTF-8 text, got the byte 0x{self.lines[error.start]:02x}.", line) from error

    def error(self, problem: str, line: int | None = None) -> FormatError:
        """The error to raise, which names this file."""
        return FormatError(self.path, line, problem)
