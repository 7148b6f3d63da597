"""Results as JSON, a dtype and a list for each array: a store in one file, to show that this is all it takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from semiring.host.errors import FormatError
from semiring.stores.files import writing

from .base import Arrays, Store, StrPath, Table
from .encoding import encode


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a table and what comes with it, or its labels."""
    named = {"distances": np.concatenate([*table.streamed()]), **(more or encode(table.rows, path))}
    with writing(path) as file:
        file.write(json.dumps({name: [a.dtype.str, a.tolist()] for name, a in named.items()}).encode())


def load(path: StrPath) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The distances and all arrays."""
    try:
        found = json.loads(Path(path).read_bytes())
        parts = {name: np.array(values, dtype) for name, (dtype, values) in found.items()}
        return parts["distances"], parts
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise FormatError(path, None, f"a Result that `save` wrote is required, got {error!r}.") from error


STORE = Store((".json",), save, load, check_labels=encode)
