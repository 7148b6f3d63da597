"""One tile in one file: header, entries, and a footer that is written last; damage is detected and named.

    header   128 bytes   magic, version, dtype, identity of the store, shape, block, index, CRC-32 of all that
    entries              the tile's rows in order, little-endian
    footer               CRC-32 of each band of rows, then 16 bytes: round, CRC-32 of the footer, magic

A band of rows (about 256 KiB) is the unit of reads and checks: a matrix row costs one band of each of its tiles. The
round follows the entries, so a tile that claims a round has completed it.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...algebra.conversion import rounded
from ...host.arrays import refuse_masked
from ...host.errors import DomainError, DTypeError, FormatError, TileError
from ..files import writing

MAGIC, END, VERSION = b"\x93TILE\r\n\n", b"\nEND", 1
#: magic, version, dtype, identity, rows and columns of the matrix, of a block, index; followed by the CRC.
_HEADER = struct.Struct("<8sI12s16sQQQQQQ")
_CRC = struct.Struct("<I")
_FOOTER = struct.Struct("<qI4s")  # round, CRC-32 of CRCs and round, magic
HEADER_SIZE = 128
#: NumPy's kinds of dtypes that a store holds.
KINDS = "biufc"
#: Bytes of a band, about.
BAND = 1 << 18


@dataclass(frozen=True)
class Layout:
    """Common properties of a store's tiles.

    shape: of the matrix; block: of a tile, the last row and column of tiles may be smaller; identity: 16 random bytes
    drawn at creation, by which a tile of another store is recognised.
    """

    shape: tuple[int, int]
    block: tuple[int, int]
    dtype: np.dtype
    identity: bytes

    @property
    def grid(self) -> tuple[int, int]:
        return -(-self.shape[0] // self.block[0]), -(-self.shape[1] // self.block[1])

    def window(self, i: int, j: int) -> tuple[slice, slice]:
        """Rows and columns of the matrix in tile (i, j)."""
        (m, n), (a, b) = self.shape, self.block
        return slice(i * a, min(i * a + a, m)), slice(j * b, min(j * b + b, n))

    def size(self, i: int, j: int) -> tuple[int, int]:
        if not (0 <= i < self.grid[0] and 0 <= j < self.grid[1]):
            raise IndexError(f"TileStore: a tile must lie within {self.grid}, got {i}, {j}.")
        rows, columns = self.window(i, j)
        return rows.stop - rows.start, columns.stop - columns.start

    def band(self, columns: int) -> int:
        """Rows of a band in a tile of that many columns."""
        return max(1, BAND // max(1, columns * self.dtype.itemsize))

    def nbytes(self) -> int:
        """Bytes of all files: those of entire tiles, and of the smaller last ones."""
        rows, columns = (((n // b, b), (int(n % b > 0), n % b)) for n, b in zip(self.shape, self.block, strict=True))
        return sum(p * q * self.file_size(m, n) for p, m in rows for q, n in columns if p and q)

    def file_size(self, m: int, n: int) -> int:
        """Bytes of an m × n tile's file."""
        bands = -(-m // self.band(n))
        return HEADER_SIZE + m * n * self.dtype.itemsize + bands * _CRC.size + _FOOTER.size

    def header(self, i: int, j: int) -> bytes:
        """Expected header of a tile: reading compares with it."""
        fixed = _HEADER.pack(MAGIC, VERSION, self.dtype.name.encode(), self.identity, *self.shape, *self.block, i, j)
        fixed = fixed.ljust(HEADER_SIZE - _CRC.size, b"\0")
        return fixed + _CRC.pack(zlib.crc32(fixed))


def converted(part: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Entries in the dtype of a store; DTypeError for masked arrays and no numbers, DomainError for unlike values."""
    refuse_masked(part, where="TileStore")
    part = np.asarray(part)
    if part.dtype.kind not in KINDS or (part.dtype.kind == "c" != dtype.kind):
        raise DTypeError(f"TileStore: entries must be numbers that {dtype} holds, got {part.dtype}. Convert them.")
    with np.errstate(all="ignore"):
        tile = part.astype(dtype, copy=False)
    if part.dtype == dtype:
        return tile
    exact = dtype.kind in "iub"
    wrong = tile != part if exact else np.isinf(tile) & np.isfinite(part)
    if dtype == np.float64 and part.dtype.kind in "iu" and part.itemsize == 8:
        wrong = rounded(part, tile, True)
    if wrong.any():
        named = "integers" if dtype.kind in "iu" else "truth values" if exact else "numbers"
        raise DomainError(
            f"TileStore: entries must be {named} of {dtype}, got {part[wrong][0]}. Give the store their dtype; among "
            "integers no path is the greatest or the least."
        )
    return tile


def write(path: Path, layout: Layout, i: int, j: int, entries: np.ndarray, round: int, *, durable: bool) -> None:
    """Write a tile to a temporary file and rename it: the file is either old or new."""
    require_file(path)
    m, n = entries.shape
    rows = np.ascontiguousarray(entries, _little(layout.dtype))
    step = layout.band(n)
    crcs = b"".join(_CRC.pack(zlib.crc32(_raw(rows[k : k + step]))) for k in range(0, m, step))
    with writing(path, durable=durable) as file:
        file.write(layout.header(i, j))
        if rows.size:
            file.write(_raw(rows))
        ended = crcs + struct.pack("<q", round)
        file.write(ended + _CRC.pack(zlib.crc32(ended)) + END)


def require_file(path: Path) -> None:
    """Refuse a pipe or device in place of a tile, which could block for ever; FormatError."""
    if path.exists() and not path.is_file():
        raise FormatError(path, None, "a tile must be a file, got something else. Remove it.")


def ending(path: Path) -> bytes:
    """The checksum and the magic that end a tile; nothing of one that is missing or empty."""
    require_file(path)
    with suppress(OSError), open(path, "rb") as file:
        file.seek(-8, os.SEEK_END)
        return file.read()
    return b""


class Reader:
    """Open tile with valid header and footer; `round` is the number of pivots applied to its entries.

    Raises TileError if the file is missing, no tile, of another place or store, incomplete, or damaged.
    """

    def __init__(self, path: Path, layout: Layout, i: int, j: int) -> None:
        self._path, self._layout, self._index = path, layout, (i, j)
        self._shape = layout.size(i, j)
        require_file(path)
        try:
            self._file: IO[bytes] = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by `close`)
        except FileNotFoundError:
            raise self._error("it must exist, and is missing") from None
        try:
            self._crcs, self.round = self._ends()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def read(self, rows: slice, columns: slice, out: np.ndarray) -> None:
        """out ← rows and columns of the tile; their bands are read completely and checked (TileError)."""
        m, n = self._shape
        step, dtype = self._layout.band(n), _little(self._layout.dtype)
        first, last = rows.start // step, -(-rows.stop // step)
        complete_bands = columns == slice(0, n) and rows == slice(first * step, min(last * step, m))
        if not out.size:
            return
        if complete_bands and out.flags.c_contiguous and out.dtype == dtype:
            self._bands(first, last, out)
            return
        buffer = np.empty((min(step, m), n), dtype)
        for band in range(first, last):
            start, stop = band * step, min(band * step + step, m)
            self._bands(band, band + 1, buffer[: stop - start])
            low, high = max(start, rows.start), min(stop, rows.stop)
            out[low - rows.start : high - rows.start] = buffer[low - start : high - start, columns]

    def _bands(self, first: int, last: int, out: np.ndarray) -> None:
        m, n = self._shape
        step = self._layout.band(n)
        self._file.seek(HEADER_SIZE + first * step * n * out.itemsize)
        _fill(self._file, _raw(out), self._cut)
        for band in range(first, last):
            part = out[(band - first) * step : (band - first + 1) * step]
            if zlib.crc32(_raw(part)) != self._crcs[band]:
                damaged = f"rows {band * step} … {min(band * step + step, m) - 1} of it"
                raise self._error(f"its checksum must fit its entries, and does not in {damaged}")

    def _ends(self) -> tuple[tuple[int, ...], int]:
        """Check header and footer; returns the band CRCs and the round."""
        layout = self._layout
        expected, (m, n) = layout.header(*self._index), self._shape
        found = self._file.read(HEADER_SIZE)
        if found != expected:
            raise self._error(_difference(found, expected))
        size = os.fstat(self._file.fileno()).st_size
        if size != layout.file_size(m, n):
            raise self._error(f"it must have {layout.file_size(m, n)} bytes, got {size}: truncated, or not its own")
        bands = -(-m // layout.band(n))
        self._file.seek(size - bands * _CRC.size - _FOOTER.size)
        footer = bytearray(bands * _CRC.size + _FOOTER.size)
        _fill(self._file, memoryview(footer), self._cut)
        round, crc, end = _FOOTER.unpack_from(footer, bands * _CRC.size)
        if end != END or crc != zlib.crc32(footer[: bands * _CRC.size + 8]):
            raise self._error("its end must be as it was written, and is damaged or was never reached")
        return struct.unpack_from(f"<{bands}I", footer), round

    def _cut(self) -> TileError:
        return self._error("it must be complete, and ends early")

    def _error(self, problem: str) -> TileError:
        return TileError(self._path, self._index, f"{problem}.")


def _difference(found: bytes, expected: bytes) -> str:
    """Description of what is wrong with a header."""
    if len(found) < HEADER_SIZE:
        return f"it must begin with {HEADER_SIZE} bytes of header, got {len(found)}: truncated"
    if found[:8] != MAGIC:
        return "it must be a tile, and is another file or a damaged one"
    fixed = HEADER_SIZE - _CRC.size
    if _CRC.unpack(found[fixed:])[0] != zlib.crc32(found[:fixed]):
        return "its header must be as it was written, and is damaged"
    own, found_header = _HEADER.unpack_from(expected), _HEADER.unpack_from(found)
    if found_header[1] != VERSION:
        return f"its version must be {VERSION}, got {found_header[1]}; a newer release wrote it"
    if found_header[8:] != own[8:]:
        return f"it must stand in its own place, and is the tile {found_header[8]}, {found_header[9]}"
    if found_header[2:8] != own[2:8]:
        return "it must belong to this store, and is of another"
    return "its header must be as it was written, and is not"


def _fill(file: IO[bytes], buffer: Any, cut: Callable[[], TileError]) -> None:
    """buffer ← the next bytes of a file; raises `cut()` at its end."""
    view = memoryview(buffer).cast("B") if not isinstance(buffer, memoryview) else buffer
    offset = 0
    while offset < len(view):
        got = file.readinto(view[offset:])  # type: ignore[attr-defined] # typeshed's IO lacks it
        if not got:
            raise cut()
        offset += got


def _raw(rows: np.ndarray) -> memoryview:
    return memoryview(rows.reshape(-1).view(np.uint8).data) if rows.size else memoryview(b"")


def _little(dtype: np.dtype) -> np.dtype:
    return dtype.newbyteorder("<")
