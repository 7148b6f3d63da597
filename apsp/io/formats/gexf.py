"""GEXF, the XML of Gephi, read by NetworkX. Vertices are named by their ids."""

from __future__ import annotations

import re

from .base import Format
from .through_networkx import reader

sniff = re.compile(rb"<gexf").search
read = reader(lambda networkx, file: networkx.read_gexf(file), "GEXF")
FORMAT = Format("gexf", (".gexf",), "GEXF, as Gephi saves it (read only)", sniff, read, None, ("weight",))
