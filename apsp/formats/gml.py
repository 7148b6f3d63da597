"""GML, `graph [ node [ id 1 ] … ]`, read by NetworkX. Vertices are named by their labels, or by their ids."""

from __future__ import annotations

import io
import re
from typing import IO, Any

from .base import Format
from .through_networkx import reader


def sniff(head: bytes) -> bool:
    """`graph [` at the beginning of a line."""
    return re.search(rb"^[ \t]*graph\s*\[", head, re.MULTILINE) is not None


def parse(networkx: Any, file: IO[bytes]) -> Any:
    """NetworkX asks beforehand which of them name the nodes."""
    data = file.read()
    labelled = re.search(rb"\blabel\s", data) is not None
    try:
        return networkx.read_gml(io.BytesIO(data), label="label" if labelled else "id")
    except networkx.NetworkXError:
        if not labelled:
            raise
        return networkx.read_gml(io.BytesIO(data), label="id")  # labels of something else, or not of every node


read = reader(parse, "GML")
FORMAT = Format("gml", (".gml",), "GML (read only)", sniff, read, None, ("weight",))
