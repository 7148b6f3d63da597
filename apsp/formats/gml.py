"""GML, `graph [ node [ id 1 ] … ]`, read by NetworkX. Vertices are named by their labels, or by their ids."""

from __future__ import annotations

import io
import re
from typing import IO, Any

from .base import Format
from .through_networkx import reader

#: Lists in lists, at most; graphs have three, and those of drawing programs six.
_DEEPEST = 100
#: What opens and closes a list; not within a text or a comment.
_BRACKETS = re.compile(rb'"[^"]*"|^[ \t]*#[^\n]*|[][]', re.MULTILINE)


def sniff(head: bytes) -> bool:
    """`graph [` at the beginning of a line."""
    return re.search(rb"^[ \t]*graph\s*\[", head, re.MULTILINE) is not None


def parse(networkx: Any, file: IO[bytes]) -> Any:
    """NetworkX asks beforehand which of them name the nodes."""
    data = file.read()
    _require_shallow(data)
    labelled = re.search(rb"\blabel\s", data) is not None
    try:
        return networkx.read_gml(io.BytesIO(data), label="label" if labelled else "id")
    except networkx.NetworkXError:
        if not labelled:
            raise
        return networkx.read_gml(io.BytesIO(data), label="id")  # labels of something else, or not of every node


def _require_shallow(data: bytes) -> None:
    """Refuse lists in lists without end, which NetworkX would follow down its stack.

    Raises
    ------
    ValueError
    """
    depth = 0
    for sign in _BRACKETS.finditer(data):
        depth += {b"[": 1, b"]": -1}.get(sign[0], 0)
        if depth > _DEEPEST:
            raise ValueError(f"lists that nest more than {_DEEPEST} deep")


read = reader(parse, "GML")
FORMAT = Format("gml", (".gml",), "GML (read only)", sniff, read, None, ("weight",))
