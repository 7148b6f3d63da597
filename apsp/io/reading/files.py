"""Files of graphs: bytes and text, gzipped by name or content."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from semiring.host.errors import FormatError, MemoryNeeded
from semiring.host.memory import available
from semiring.stores.files import writing

_GZIP_MAGIC = b"\x1f\x8b"
#: Bytes requested from a stream at a time.
_PART = 1 << 20


@contextmanager
def open_for_writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file, gzipped if named .gz, that atomically becomes `path` on success."""
    with writing(path) as raw:
        if Path(path).suffix.lower() == ".gz":
            # Reproducible bytes: no time or file name in the header.
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
                yield file  # type: ignore[misc] # no IO[bytes] in typeshed
        else:
            yield raw


class Source:
    """A file to read: unpacked bytes, text, and errors naming it.

    Gzip is recognised by name or first bytes. "-" is standard input (a file of that name is "./-"). An open file is
    read from its position to its end, and left open. Streams (pipe, terminal, device) are read once and kept. `holds`
    is the expected content, for errors. Raises OSError naming the file; MemoryNeeded if a stream or gzip would fill
    more than half of the free memory.
    """

    def __init__(self, path: str | os.PathLike[str] | IO[Any], holds: str = "a graph") -> None:
        self._holds = holds
        if not isinstance(path, (str, os.PathLike)):
            if not callable(getattr(path, "read", None)):
                raise TypeError(f"read: a path or an open file is required, got {type(path).__name__}.")
            self._open(path)
            return
        standard = os.fspath(path) == "-"
        if "://" in os.fspath(path):
            way = f"must be a file, got an address. Say apsp.as_graph(pandas.read_csv({path!r}))"
            raise FileNotFoundError(errno.ENOENT, way, path)
        self.path = Path("standard input" if standard else path)
        #: The file name without suffixes.
        self.name = "stdin" if standard else self.path.name.removesuffix(".gz").split(".")[0]
        with self._named_errors(), nullcontext(_standard_input()) if standard else open(path, "rb") as file:
            again = not standard and stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            self._read_once = None if again else self._drain(file)
            magic = file.read(2) if self._read_once is None else self._read_once[:2]
        self.gzipped = self.path.suffix.lower() == ".gz" or magic == _GZIP_MAGIC

    def _open(self, file: IO[Any]) -> None:
        name = getattr(file, "name", None)
        self.path = Path(name if isinstance(name, str) and name else "open file")
        self.name = self.path.name.removesuffix(".gz").split(".")[0]
        with self._named_errors():
            try:
                self._read_once = self._drain(file)
            except (ValueError, TypeError) as error:  # closed, or write-only
                raise OSError(errno.EBADF, f"it must be open for reading ({error})", str(self.path)) from error
        # A `GzipFile` decompresses itself.
        self.gzipped = self._read_once[:2] == _GZIP_MAGIC

    @property
    def stays(self) -> bool:
        """Whether it is a plain file, whose parts can be read again."""
        return self._read_once is None and not self.gzipped

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, unpacked."""
        if self.gzipped:
            return self.data[:size]
        with self._named_errors(), self._raw() as file:
            return file.read(size)

    def open(self) -> IO[bytes]:
        return io.BytesIO(self.data) if self.gzipped else self._raw()

    @cached_property
    def data(self) -> bytes:
        if self._read_once is not None and not self.gzipped:
            return self._read_once
        with self._named_errors(), self._raw() as file:
            if not self.gzipped:
                return self._drain(file)
            try:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    return self._drain(unpacked)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise self.error(f"must be gzip data, as its name or first bytes say, got {error}.") from error

    @cached_property
    def lines(self) -> bytes:
        """All bytes of a text file, with lines ended by line feeds alone."""
        data = plain_lines(self.data)
        if b"\0" in data:
            offset = data.index(b"\0")
            way = self._encoded("utf-16") if self.data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
            raise self.error(f"must be text, got a zero byte.{way}", data.count(b"\n", 0, offset) + 1)
        if not data.strip():
            raise self.error(f"must hold {self._holds}, got an empty file.")
        return data

    @cached_property
    def text(self) -> str:
        try:
            return self.lines.decode()
        except UnicodeDecodeError as error:
            line = self.lines.count(b"\n", 0, error.start) + 1
            got = f"got the byte 0x{self.lines[error.start]:02x}.{self._encoded('cp1252')}"
            raise self.error(f"must be UTF-8 text, {got}", line) from error

    def _encoded(self, encoding: str) -> str:
        return (
            f" Pass open({str(self.path)!r}, encoding={encoding!r}), if that is how it was saved, or save it as UTF-8."
        )

    def error(self, problem: str, line: int | None = None) -> FormatError:
        return FormatError(self.path, line, problem)

    def _raw(self) -> IO[bytes]:
        return open(self.path, "rb") if self._read_once is None else io.BytesIO(self._read_once)

    def _drain(self, file: IO[Any] | gzip.GzipFile) -> bytes:
        """The rest of a stream of unknown, perhaps infinite length."""
        free = available("cpu")
        parts, size = [], 0
        while part := file.read(_PART):
            parts.append(part.encode() if isinstance(part, str) else part)
            size += len(part)
            if free is not None and 2 * size > free:
                raise MemoryNeeded(
                    f"{self.path}: its content must fit into half of the free memory, {free / 2**21:.0f} MiB, and is "
                    "longer. Free memory, or read a part of it."
                )
        return b"".join(parts)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Add the file name to system errors while reading."""
        try:
            yield
        except OSError as error:
            if error.filename is not None or error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, str(self.path)) from error


def plain_lines(data: bytes) -> bytes:
    """Text bytes without byte order mark, with lines ended by line feeds alone."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def csv_rows(source: Source, text: str, delimiter: str = ",", before: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The non-blank rows of a CSV, each with its last line number, offset by `before`."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield before + reader.line_num, row
    except csv.Error as error:
        raise source.error(f"must be well-formed CSV, got {error}.", before + reader.line_num) from error


def _standard_input() -> IO[bytes]:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise FileNotFoundError(errno.ENOENT, "it is closed, or holds no bytes", "standard input")
    return stream
