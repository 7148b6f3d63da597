"""Weights by pairs: a dict {(u, v): weight}, or a pandas Series with two index levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from semiring.host.types import Input

from ..graph import Graph
from ..reading.options import Reading
from . import frames
from .base import Kind


def recognises(source: Input, reading: Reading) -> bool:
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


def convert(source: Input, reading: Reading) -> Graph:
    """A pair per edge; vertices are sorted if comparable."""
    if _is_series(source):
        return frames.convert(source.rename_axis(["from", "to"]).reset_index(name="weight"), reading)
    return Graph.from_edges([(*ends, weight) for ends, weight in source.items()])


def _is_series(source: Input) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and type(source).__name__ == "Series"


KIND = Kind(
    "weights by pairs, as {(u, v): weight} or a pandas Series with two index levels", recognises, convert, lists=True
)
