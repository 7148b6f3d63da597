"""NumPy archives that we saved and that may have been damaged since: all arrays of one, or an error that says so."""

from __future__ import annotations

import errno
import math
import os
import zipfile
from collections.abc import Collection
from typing import IO, Any, NoReturn

import numpy as np
from numpy.lib import format as npy

from .errors import FormatError
from .memory import require


def load_arrays(
    path: str | os.PathLike[str] | IO[bytes], what: str, only: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file by name.

    Parameters
    ----------
    path : path, or open file, whose `name` errors report
    what : str
        What the file is to be, for the error: "a BitMatrix".
    only : collection of str, optional
        The names of those that are wanted; all by default.

    Raises
    ------
    FormatError
        If it is no archive, or a damaged one, or one whose arrays claim more than it holds, or are packed, which ours
        are not: a few bytes would become many.
    MemoryNeeded
        If they do not fit.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") if isinstance(path, (str, os.PathLike)) else path as file:
        try:
            with zipfile.ZipFile(file) as archive:
                named = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                wanted = {name: info for name, info in named.items() if only is None or name in only}
                for name, info in wanted.items():
                    if info.compress_type != zipfile.ZIP_STORED:  # `save` packs none: it is not what it wrote
                        raise ValueError(f"`{name}` packed to {info.compress_size} bytes")
                    require_size(file, info)
                require(sum(info.file_size for info in wanted.values()), where=what, hint="Free memory.")
                return {name: _member(archive, info) for name, info in wanted.items()}
        except MemoryError:
            raise
        except Exception as error:  # whatever the damaged bytes lead to
            where = path if isinstance(path, (str, os.PathLike)) else getattr(path, "name", path)
            _refuse(where, f"{what} that `save` wrote", error)


def map_array(path: str | os.PathLike[str], what: str) -> np.ndarray:
    """The array of an `.npy` file, mapped: nothing of it is read.

    Parameters
    ----------
    path : path
    what : str
        What the file is to be, for the error: "the matrix of a graph".

    Raises
    ------
    FormatError
        If it is none, or one that claims more than the file holds.
    OSError
        If it cannot be read.
    """
    try:
        return npy.open_memmap(path, mode="r")
    except Exception as error:  # as above, and of a parser that has no memory for brackets without end
        _refuse(path, what, error)


def _refuse(path: str | os.PathLike[str] | IO[bytes], what: str, error: Exception) -> NoReturn:
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # a wrong offset is invalid
        raise error
    problem = f"{what} is required, got a damaged file or another: {error}."
    raise FormatError(path, None, problem) from error


#: Deflating makes a byte of 1032 at most.
_DEFLATED = 1032


def require_size(file: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Refuse a member of an archive that claims to be larger than the bytes in the file can unpack to.

    Raises
    ------
    ValueError
    """
    packed = min(info.compress_size, max(0, file.seek(0, os.SEEK_END) - info.header_offset))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"`{info.filename}` packed by method {info.compress_type}; stored or deflated is required")
    if info.file_size > packed * (1 if info.compress_type == zipfile.ZIP_STORED else _DEFLATED):
        raise ValueError(f"`{info.filename}` of {info.file_size} bytes in {packed}")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array, whose checksum was compared, as it is when a member is read to its end."""
    with archive.open(info) as file:
        _check_size(file, info.file_size)
    with archive.open(info) as file:
        array: np.ndarray = npy.read_array(file, allow_pickle=False)
    return array


def _check_size(file: IO[bytes], size: int) -> None:
    """A header may claim any size, and its array is allocated before a byte of it is read."""
    version = npy.read_magic(file)
    read: Any = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except MemoryError as error:  # of the parser, on brackets without end
        raise ValueError("a header that is none") from error
    claimed = math.prod(shape) * dtype.itemsize
    if file.tell() + claimed != size:
        raise ValueError(f"an array of shape {shape} and {dtype} in {size - file.tell()} bytes")
