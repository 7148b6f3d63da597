"""Pajek's `.net`: `*Vertices n`, then `*Arcs` or `*Edges`, read by NetworkX."""

from __future__ import annotations

import io
import re
from typing import IO, Any

from .base import Format
from .through_networkx import reader


def sniff(head: bytes) -> bool:
    """`*Vertices n`."""
    return re.search(rb"^\s*\*vertices\s+\d", head, re.MULTILINE | re.IGNORECASE) is not None


def parse(networkx: Any, file: IO[bytes]) -> Any:
    """Without the line that counts vertices, NetworkX would read an empty graph from any text."""
    data = file.read()
    if not sniff(data):
        raise ValueError("no line `*Vertices n`")
    return networkx.read_pajek(io.BytesIO(data))


read = reader(parse, "Pajek's .net")
FORMAT = Format("pajek", (".net",), "Pajek (read only)", sniff, read, None, ("weight",))
