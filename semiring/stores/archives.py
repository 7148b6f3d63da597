"""NumPy archives and arrays written by this library, read with protection against damaged files."""

from __future__ import annotations

import errno
import math
import os
import zipfile
from collections.abc import Collection
from typing import IO, Any, NoReturn

import numpy as np
from numpy.lib import format as npy

from ..host.errors import FormatError
from ..host.memory import require


def load_arrays(
    path: str | os.PathLike[str] | IO[bytes], what: str, only: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """Arrays of an `.npz` file by name, or only those in `only`; `what` names the content in errors.

    Raises FormatError for damaged or foreign files, arrays that claim more bytes than the file holds, and compressed
    ones, which `save` never writes (a few bytes could expand to many); MemoryNeeded; OSError.
    """
    with open(path, "rb") if isinstance(path, (str, os.PathLike)) else path as file:
        try:
            with zipfile.ZipFile(file) as archive:
                named = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                wanted = {name: info for name, info in named.items() if only is None or name in only}
                for name, info in wanted.items():
                    if info.compress_type != zipfile.ZIP_STORED:  # `save` compresses nothing
                        raise ValueError(f"`{name}` packed to {info.compress_size} bytes")
                    require_size(file, info)
                require(sum(info.file_size for info in wanted.values()), where=what, hint="Free memory.")
                return {name: _member(archive, info) for name, info in wanted.items()}
        except MemoryError:
            raise
        except Exception as error:  # any error that damaged bytes cause
            where = path if isinstance(path, (str, os.PathLike)) else getattr(path, "name", path)
            _refuse(where, f"{what} that `save` wrote", error)


def map_array(path: str | os.PathLike[str], what: str) -> np.ndarray:
    """Memory-map the array of an `.npy` file; FormatError if damaged or foreign, OSError. `what` is for errors."""
    try:
        return npy.open_memmap(path, mode="r")
    except Exception as error:  # any error, also a parser's out of memory on endless brackets
        _refuse(path, what, error)


def _refuse(path: str | os.PathLike[str] | IO[bytes], what: str, error: Exception) -> NoReturn:
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # a wrong offset is invalid
        raise error
    problem = f"{what} is required, got a damaged file or another: {error}."
    raise FormatError(path, None, problem) from error


#: Largest expansion factor of deflate.
_DEFLATED = 1032


def require_size(file: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Raise ValueError if a member claims to be larger than the file's bytes could decompress to."""
    packed = min(info.compress_size, max(0, file.seek(0, os.SEEK_END) - info.header_offset))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"`{info.filename}` packed by method {info.compress_type}; stored or deflated is required")
    if info.file_size > packed * (1 if info.compress_type == zipfile.ZIP_STORED else _DEFLATED):
        raise ValueError(f"`{info.filename}` of {info.file_size} bytes in {packed}")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array; reading a member to its end verifies its checksum."""
    with archive.open(info) as file:
        _check_size(file, info.file_size)
    with archive.open(info) as file:
        array: np.ndarray = npy.read_array(file, allow_pickle=False)
    return array


#: Maximum bytes of a header; typical ones have about a hundred.
_HEADER = 1000


def header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of an `.npy` stream, else ValueError; versions 2 and 3 differ in names of fields, absent here."""
    version = npy.read_magic(file)
    start, digits = file.tell(), 2 if version == (1, 0) else 4
    length = int.from_bytes(file.read(digits), "little")
    if length > _HEADER:  # NumPy would allocate it first
        raise ValueError(f"a header of {length} bytes")
    file.seek(start)
    read: Any = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except MemoryError as error:  # of the parser, on brackets without end
        raise ValueError("a header that is none") from error
    return shape, dtype


def _check_size(file: IO[bytes], size: int) -> None:
    """Check the claimed size: an array is allocated before a byte of it is read."""
    shape, dtype = header(file)
    claimed = math.prod(shape) * dtype.itemsize
    if file.tell() + claimed != size:
        raise ValueError(f"an array of shape {shape} and {dtype} in {size - file.tell()} bytes")
