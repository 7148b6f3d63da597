"""NumPy's `.npy`: a table in the format of `np.save`, written by blocks."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import IO

import numpy as np

from semiring.host.memory import shown
from semiring.stores.files import writing

from .base import Arrays, Store, StrPath, Table


def save(table: Table, path: StrPath, more: Arrays) -> None:
    require_disk_space(table.nbytes, path)
    with writing(path) as file:
        write(file, table)


def write(file: IO[bytes], table: Table) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": tuple(table.shape)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in table.streamed():
        for row in part:
            file.write(np.ascontiguousarray(row).data)


def require_disk_space(size: int, path: StrPath) -> None:
    """OSError, early, for a file that does not fit on its disk."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe, a device
        return
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError:
        return
    if size > free:
        raise OSError(errno.ENOSPC, f"{shown(size)} must fit on its disk, and {shown(free)} are free", os.fspath(path))


STORE = Store((".npy",), save)
