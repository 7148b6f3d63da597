"""GEXF, the XML of Gephi, read by NetworkX. Vertices are named by their ids."""

from __future__ import annotations

from .base import Format
from .through_networkx import reader


def sniff(head: bytes) -> bool:
    """Its root."""
    return b"<gexf" in head


read = reader(lambda networkx, file: networkx.read_gexf(file), "GEXF")
FORMAT = Format("gexf", (".gexf",), "GEXF, as Gephi saves it (read only)", sniff, read, None, ("weight",))
