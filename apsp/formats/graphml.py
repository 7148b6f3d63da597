"""GraphML, the XML of many graph editors, read by NetworkX. Vertices are named by their ids."""

from __future__ import annotations

from .base import Format
from .through_networkx import reader


def sniff(head: bytes) -> bool:
    """Its root."""
    return b"<graphml" in head


read = reader(lambda networkx, file: networkx.read_graphml(file), "GraphML")
FORMAT = Format("graphml", (".graphml",), "GraphML (read only)", sniff, read, None, ("weight",))
