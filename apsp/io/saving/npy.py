"""Files of NumPy's: `.npy` and `.npz`, written by blocks, and `.txt`, rows of numbers below a comment."""

from __future__ import annotations

import io
import zipfile
from typing import IO

import numpy as np

from semiring.stores.archives import load_arrays
from semiring.stores.files import writing
from semiring.stores.tiles.folder import require_disk_space

from .base import Arrays, Store, StrPath, Table
from .encoding import encode


def save(table: Table, path: StrPath, more: Arrays) -> None:
    require_disk_space(path, table.nbytes)
    with writing(path) as file:
        write(file, table)


def write(file: IO[bytes], table: Table) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": tuple(table.shape)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in table.streamed():
        for row in part:
            file.write(np.ascontiguousarray(row).data)


def save_archive(table: Table, path: StrPath, more: Arrays) -> None:
    """`distances` with all arrays of a result; other tables with their labels."""
    require_disk_space(path, table.nbytes)
    named = more or encode(table.rows, path)
    with writing(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        with archive.open("distances.npy", "w", force_zip64=True) as member:
            write(member, table)
        for name, array in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def load_archive(path: StrPath) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    parts = load_arrays(path, "a Result")
    return parts.get("distances", np.empty(0)), parts


def save_text(table: Table, path: StrPath, more: Arrays) -> None:
    """The comment of `apsp.io.formats.matrix` and the entries, inf for no path, for `diff`, `loadtxt`, `apsp.read`."""
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="\n") as text:
        text.write("# matrix of {} rows and {} columns\n".format(*table.shape))
        text.writelines(" ".join(map(str, numbers)) + "\n" for numbers in table.lines())


STORES = (
    Store((".npy",), save),
    Store((".npz",), save_archive, load_archive, check_labels=encode),
    Store((".txt",), save_text),
)
