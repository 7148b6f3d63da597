"""Results as hub labels in a directory, from which pairs are answered without any table: no n² entries are written.

`out.npy` and `into.npy` are the labels, which are mapped, so that processes share them; `result.npz` has the tables
that find labels, and the other arrays of a `Result`.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np

from semiring.archives import load_arrays, map_array
from semiring.files import writing, writing_folder
from semiring.tiles import folder

from .base import Arrays, Store, StrPath, Table
from .encoding import encode

#: The arrays of labels, by the names of their files; and the file of all others.
LABELS, ARCHIVE = ("out", "into"), "result.npz"
_FILES = {ARCHIVE, *(f"{name}.npy" for name in LABELS)}


def check(path: StrPath) -> None:
    """Refuse to overwrite a directory that is no such result, with all that is in it.

    Raises
    ------
    FileExistsError
    """
    place = Path(path)
    if place.is_dir() and not {entry.name for entry in place.iterdir()} <= _FILES:
        problem = "it must be hub labels that `save` wrote, or nothing yet"
        raise FileExistsError(errno.EEXIST, problem, os.fspath(path))


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write the labels of a result, and its other arrays; the table itself is not computed.

    Raises
    ------
    ValueError
        If there are no labels among its arrays.
    OSError
        If they cannot be written, or do not fit on their disk.
    """
    if not more.keys() >= {f"hub_{name}" for name in LABELS}:
        raise ValueError('save: ".hubs" must be given a result with hub labels, got a table. Name another suffix.')
    folder.require_disk_space(Path(path), sum(array.nbytes for array in more.values()))
    with writing_folder(path) as place:
        for name in LABELS:
            with writing(place / f"{name}.npy") as file:
                np.lib.format.write_array(file, more[f"hub_{name}"], allow_pickle=False)
        with writing(place / ARCHIVE) as file:
            np.savez(file, **{name: array for name, array in more.items() if name.removeprefix("hub_") not in LABELS})


def load(path: StrPath) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """No distances, and all arrays: the labels mapped, the others in memory.

    Raises
    ------
    FormatError
        If it is something else, or damaged. What labels hold is not looked at.
    """
    parts = load_arrays(Path(path) / ARCHIVE, "what belongs to hub labels of a Result")
    for name in LABELS:
        parts[f"hub_{name}"] = map_array(Path(path) / f"{name}.npy", "hub labels that `save` wrote")
    return np.empty((0, 0)), parts


STORE = Store((".hubs",), save, load, folder=True, check=check, check_labels=encode, labelled=True)
