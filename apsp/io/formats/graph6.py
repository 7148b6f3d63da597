"""graph6: one undirected, unweighted graph in a line of printable characters, read by NetworkX."""

from __future__ import annotations

import re
from types import ModuleType
from typing import IO, Any

from .base import Format
from .through_networkx import reader

#: The optional header; without it, nothing distinguishes a graph from a word.
sniff = re.compile(rb">>graph6<<").match


def parse(networkx: ModuleType, file: IO[bytes]) -> Any:
    lines = file.read().split()
    if len(lines) != 1:
        raise ValueError(f"{len(lines)} lines, where one is a graph")
    return networkx.from_graph6_bytes(lines[0])


read = reader(parse, "graph6 with one graph")
FORMAT = Format(
    "graph6", (".g6",), "graph6: one undirected, unweighted graph (read only)", sniff, read, None, ("weight",), rank=0,
    directions=False, weights=False,
)  # fmt: skip
