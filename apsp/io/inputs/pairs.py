"""Weights by pairs: a dict {(u, v): weight}, or a pandas Series with two index levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from semiring.host.errors import FormatError
from semiring.host.spelling import came

from ..graph import Graph
from ..graph.edge_lists import numbers
from ..labels import number_ends
from ..reading.options import Reading
from .base import Kind


def recognises(source: Any, reading: Reading) -> bool:
    if isinstance(source, Mapping):
        pairs = all(isinstance(key, tuple) and len(key) == 2 for key in source)
        return (
            bool(source)
            and pairs
            and not any(
                isinstance(value, Iterable) and not isinstance(value, (str, bytes)) for value in source.values()
            )
        )
    return _is_series(source) and getattr(source.index, "nlevels", 1) == 2


def convert(source: Any, reading: Reading) -> Graph:
    """A pair per edge; vertices are sorted if comparable."""
    if not _is_series(source):
        return Graph.from_edges([(*ends, weight) for ends, weight in source.items()])
    missing = source.isna() | source.index.to_frame(index=False).isna().any(axis=1).to_numpy()
    if missing.any():
        raise FormatError(
            "pandas Series",
            None,
            f"an edge must have two ends and a weight, got {came(source[missing].to_dict())}. Drop it.",
        )
    labels, rows, cols = number_ends(*(source.index.get_level_values(level).tolist() for level in (0, 1)))
    return Graph.from_arrays(rows, cols, numbers(np.asarray(source)), labels=labels)


def _is_series(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and type(source).__name__ == "Series"


KIND = Kind(
    "weights by pairs, as {(u, v): weight} or a pandas Series with two index levels", recognises, convert, lists=True
)
