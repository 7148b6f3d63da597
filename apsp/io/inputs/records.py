"""Edges as records, [{"from": u, "to": v, "weight": w}, …], and structured arrays of NumPy, with fields for columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from semiring.host.errors import FormatError
from semiring.host.types import Input

from ..graph import Graph
from ..reading.lines import from_lines
from ..reading.options import Reading
from .base import Kind

_refuse = partial(FormatError, "records", None)


def recognises(source: Input, reading: Reading) -> bool:
    """Dicts in a list, or an array with names for its fields."""
    listed = isinstance(source, (list, tuple)) and any(isinstance(row, Mapping) for row in source[:3])
    return listed or bool(getattr(getattr(source, "dtype", None), "names", None))


def convert(source: Input, reading: Reading) -> Graph:
    """An edge a record, by the names of its fields; the weight is the one that holds numbers, or is called so."""
    names = getattr(getattr(source, "dtype", None), "names", None)
    rows = source if names is None else [dict(zip(names, row, strict=True)) for row in source.ravel().tolist()]
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise _refuse(f"every record must be a dict, got {type(row).__name__} for record {k}.")
    return from_lines([None] * len(rows), rows, reading, _refuse, "record")


KIND = Kind(
    'records, as [{"from": u, "to": v, "weight": w}]', recognises, convert, columns=True,
    weights="the name of a field", accepts=lambda weight: isinstance(weight, str), lists=True,
)  # fmt: skip
