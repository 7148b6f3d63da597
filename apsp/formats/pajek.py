"""Pajek's `.net`: `*Vertices n`, then `*Arcs` or `*Edges`, read by NetworkX."""

from __future__ import annotations

import re

from .base import Format
from .through_networkx import reader


def sniff(head: bytes) -> bool:
    """`*Vertices n`."""
    return re.search(rb"^\s*\*vertices\s+\d", head, re.MULTILINE | re.IGNORECASE) is not None


read = reader(lambda networkx, file: networkx.read_pajek(file), "Pajek's .net")
FORMAT = Format("pajek", (".net",), "Pajek (read only)", sniff, read, None, ("weight",))
