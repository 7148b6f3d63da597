"""GML, `graph [ node [ id 1 ] … ]`, read by NetworkX; vertices are named by label, or by id."""

from __future__ import annotations

import re
from types import ModuleType
from typing import IO, Any

from .base import Format
from .through_networkx import reader

#: Maximum nesting of lists; graphs have three levels, drawings six.
_DEEPEST = 100
#: Brackets of lists, skipping texts and comments.
_BRACKETS = re.compile(rb'"[^"]*"|^[ \t]*#[^\n]*|[][]', re.MULTILINE)
sniff = re.compile(rb"^[ \t]*graph\s*\[", re.MULTILINE).search


def parse(networkx: ModuleType, file: IO[bytes]) -> Any:
    """Parse with nodes named by label if possible, else by id."""
    data = file.read()
    _require_shallow(data)
    labelled = re.search(rb"\blabel\s", data) is not None
    lines = data.decode("utf-8-sig").split("\n")  # in UTF-8, as Gephi and igraph write: read_gml takes ASCII alone
    try:
        return networkx.parse_gml(lines, label="label" if labelled else "id")
    except networkx.NetworkXError:
        if not labelled:
            raise
        return networkx.parse_gml(lines, label="id")  # labels of other objects, or not of every node


def _require_shallow(data: bytes) -> None:
    """ValueError for deeply nested lists, which would overflow NetworkX's stack."""
    depth = 0
    for sign in _BRACKETS.finditer(data):
        depth += {b"[": 1, b"]": -1}.get(sign[0], 0)
        if depth > _DEEPEST:
            raise ValueError(f"lists that nest more than {_DEEPEST} deep")


read = reader(parse, "GML")
FORMAT = Format("gml", (".gml",), "GML (read only)", sniff, read, None, ("weight",))
