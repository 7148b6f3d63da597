"""NumPy's `.npy`: a table as `np.save` writes it, block by block."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from semiring.files import writing
from semiring.memory import shown

from .base import Arrays, Store, StrPath, Table


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a table, and nothing of what it is called."""
    require_disk_space(table.nbytes, path)
    with writing(path) as file:
        write(file, table)


def write(file: Any, table: Table) -> None:
    """The table into an open file."""
    header = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": tuple(table.shape)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in table.streamed():
        for row in part:
            file.write(np.ascontiguousarray(row).data)


def require_disk_space(size: int, path: StrPath) -> None:
    """Refuse before the work what does not fit on the disk.

    Raises
    ------
    OSError
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # a pipe, a device
        return
    try:
        free = shutil.disk_usage(place.parent).free
    except OSError:
        return
    if size > free:
        raise OSError(errno.ENOSPC, f"{shown(size)} must fit on its disk, and {shown(free)} are free", os.fspath(path))


STORE = Store((".npy",), save)
