"""NumPy's `.npz`: `distances` with all arrays of a result; other tables with their labels."""

from __future__ import annotations

import zipfile

import numpy as np

from semiring.stores.archives import load_arrays
from semiring.stores.files import writing

from . import npy
from .base import Arrays, Store, StrPath, Table
from .encoding import encode


def save(table: Table, path: StrPath, more: Arrays) -> None:
    npy.require_disk_space(table.nbytes, path)
    named = more or encode(table.rows, path)
    with writing(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        with archive.open("distances.npy", "w", force_zip64=True) as member:
            npy.write(member, table)
        for name, array in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def load(path: StrPath) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    parts = load_arrays(path, "a Result")
    return parts.get("distances", np.empty(0)), parts


STORE = Store((".npz",), save, load, check_labels=encode)
