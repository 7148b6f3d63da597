"""Data frames of pandas or Polars."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from semiring.host.types import Frame, Label

#: In order of preference.
LIBRARIES = ("pandas", "polars")


def library_of(source: object) -> str | None:
    name = type(source).__module__.split(".")[0]
    return name if name in LIBRARIES else None


def wide(values: np.ndarray, rows: Sequence[Label], cols: Sequence[Label], library: str | None) -> Frame:
    """A row per source, a column per target; Polars has row names as its first column, "from"."""
    frames = _load(library)
    if frames.__name__ == "pandas":
        index, columns = (  # a tuple is one name, not several levels
            frames.Index(list(names), name=title, tupleize_cols=False)
            for names, title in ((rows, "from"), (cols, "to"))
        )
        return frames.DataFrame(values, index=index, columns=columns)
    names = [str(name) for name in cols]
    return frames.DataFrame({"from": list(rows), **dict(zip(names, values.T, strict=True))})


def long(tables: Mapping[Any, np.ndarray], rows: Sequence[Label], cols: Sequence[Label], library: str | None) -> Frame:
    """A line per pair: from, to, and a column a table."""
    tails, told = [name for name in rows for _ in cols], {str(name): values.ravel() for name, values in tables.items()}
    return columns({"from": tails, "to": list(cols) * len(rows), **told}, library)


def columns(named: Mapping[str, Any], library: str | None) -> Frame:
    """A data frame of equal-length columns; ints stay ints beside None."""
    frames = _load(library)
    if frames.__name__ == "pandas":
        named = {
            name: frames.array(values) if isinstance(values, list) and None in values else values
            for name, values in named.items()
        }
    return frames.DataFrame(dict(named))


def _load(library: str | None) -> ModuleType:
    for name in (library,) if library else LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ImportError("to_frame: pandas or Polars is required. Install one: `pip install pandas`.")
