"""Paths, "-" for standard input, open files and `io` buffers in formats of `apsp.io.formats`; tile stores."""

from __future__ import annotations

import os

from semiring.host.types import Input
from semiring.stores.tiles import TileStore

from ..formats import read_as
from ..graph import Graph
from ..reading.options import Reading
from .base import Kind, named_or_placed


def recognises(source: Input, reading: Reading) -> bool:
    return isinstance(source, (str, os.PathLike)) or callable(getattr(source, "read", None))


def convert(source: Input, reading: Reading) -> Graph:
    source = source.path if isinstance(source, TileStore) else source
    return read_as(source, reading)


KINDS = {
    "files": Kind(
        "a path or open file",
        recognises,
        convert,
        columns=True,
        weights="the name or position of a column, or the name of an attribute",
        accepts=named_or_placed,
        lists=True,
    )
}
