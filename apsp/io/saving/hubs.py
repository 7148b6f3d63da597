"""Results as hub labels in a directory, which answer pairs without n² entries.

The labels `out.npy` and `into.npy` are mapped, so processes share them; `result.npz` has their index tables and the
other arrays of a `Result`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from semiring.stores.archives import load_arrays, map_array
from semiring.stores.files import writing, writing_folder
from semiring.stores.tiles.folder import require_disk_space

from .base import Arrays, Store, StrPath, Table, require_only
from .encoding import encode

#: Files of the labels, and of all else.
LABELS, ARCHIVE = ("out", "into"), "result.npz"
_FILES = {ARCHIVE, *(f"{name}.npy" for name in LABELS)}


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a result's labels and other arrays, without its table; ValueError without labels, OSError."""
    if not more.keys() >= {f"hub_{name}" for name in LABELS}:
        raise ValueError('save: ".hubs" must be given a result with hub labels, got a table. Name another suffix.')
    require_disk_space(path, sum(array.nbytes for array in more.values()))
    with writing_folder(path) as place:
        for name in LABELS:
            with writing(place / f"{name}.npy") as file:
                np.lib.format.write_array(file, more[f"hub_{name}"], allow_pickle=False)
        with writing(place / ARCHIVE) as file:
            np.savez(file, **{name: array for name, array in more.items() if name.removeprefix("hub_") not in LABELS})


def load(path: StrPath) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """No distances, and all arrays: labels mapped (unchecked), others in memory; raises FormatError."""
    parts = load_arrays(Path(path) / ARCHIVE, "what belongs to hub labels of a Result")
    for name in LABELS:
        parts[f"hub_{name}"] = map_array(Path(path) / f"{name}.npy", "hub labels that `save` wrote")
    return np.empty((0, 0)), parts


_check = partial(require_only, known=_FILES, what="hub labels")
STORE = Store((".hubs",), save, load, folder=True, check=_check, check_labels=encode, labelled=True)
