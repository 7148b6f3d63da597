"""TNTP, the link files of the Transportation Networks repository: metadata in <>, then columns named behind `~`.

Zones below FIRST THRU NODE begin and end trips, and are not passed: where a path could pass one, links into zone z lead
to a vertex of its own, "to z", so that `distance(1, "to 2")` is that of the trip from zone 1 to zone 2.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ...road.log import warn
from ..graph import Graph
from ..labels import Labels
from ..reading.files import Source
from ..reading.options import ANYHOW, Reading
from .base import Format
from .tables import of_fields

#: A tag of metadata in the first line.
sniff = re.compile(rb"\s*<(NUMBER OF|FIRST THRU|ORIGINAL HEADER)").match


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """The links from `init_node` to `term_node` (Init node); of length and others, the weight must be named."""
    named = re.sub("~.*\t.*", lambda header: re.sub("(?<=[^\\s~]) +(?=[^\\s;])", "_", header[0]), source.text)
    graph = of_fields(source, re.sub("(?m)^[ \t]*<.*$|[~;]", "", named), reading)
    told = {name: int(value) for name, value in re.findall(r"<(.*?)>\s*(\d+)", source.text)}
    (rows, cols), first = graph.ends, told.get("FIRST THRU NODE", 1)
    if told.get("NUMBER OF LINKS", len(rows)) != len(rows):
        warn(f"{source.path}: {told['NUMBER OF LINKS']} links are promised, and {len(rows)} found: it may be cut off.")
    zone = np.array([isinstance(label, int) and label < first for label in graph.labels], bool)
    if not any(len({*cols[rows == k].tolist(), *rows[cols == k].tolist()}) > 1 for k in np.flatnonzero(zone)):
        return graph  # no path could pass a zone
    warn(
        f"{source.path}: zones below {first} are not passed, as FIRST THRU NODE says; links into zone 1 lead to 'to 1'."
    )
    labels = Labels(
        [*graph.labels, *(f"to {label}" for label, is_zone in zip(graph.labels, zone, strict=True) if is_zone)]
    )
    return replace(
        graph, n=len(labels), labels=labels, cols=np.where(zone[cols], graph.n - 1 + np.cumsum(zone)[cols], cols)
    )


FORMAT = Format("tntp", (".tntp",), "Transportation Networks' links (read only)", sniff, read, None, ("weight",))
