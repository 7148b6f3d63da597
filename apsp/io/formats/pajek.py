"""Pajek's `.net`: `*Vertices n`, then `*Arcs`, `*Edges`, `*Arcslist`, `*Edgeslist` or `*Matrix`, with `%` comments.

An arc is one-way, an edge two-way; a network of edges only is undirected. A line `u v w` has weight w, by default 1;
names and values of attributes follow. In a matrix, 0 is no arc. Vertices are named by labels (by number 1 … n if
missing), all by number if labels repeat.

Format: Mrvar and Batagelj, "Pajek and PajekXXL: Reference Manual" (2018), section 5.3. NetworkX's reader silently skips
unknown parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from semiring.host.spelling import came

from ..graph import Graph
from ..labels import Labels
from ..reading.files import Source
from ..reading.options import ANYHOW, Reading
from .base import Format
from .tokens import integral, numbers, show

sniff = re.compile(rb"^\s*\*vertices\s+\d", re.MULTILINE | re.IGNORECASE).search
_FIELD = re.compile(r'"([^"]*)"|(\S+)')


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """The single network in a file; unknown sections and lines are errors."""
    network = _Network(source, reading.weight if reading.named else None)
    take: Callable[[list[str], int], None] = network.outside
    for line, text in enumerate(source.text.split("\n"), 1):
        fields = [quoted or plain for quoted, plain in _FIELD.findall(text)]
        if text.lstrip().startswith("*"):
            take = network.section(fields, line)
        elif fields and not text.lstrip().startswith("%"):
            take(fields, line)
    return network.graph()


class _Link(NamedTuple):
    tail: int
    head: int
    weight: str | None
    both: bool
    line: int


@dataclass
class _Network:
    """State of the reader: `section` takes a heading and returns a handler for the lines below it."""

    source: Source
    attribute: str | None
    n: int | None = None
    relation: str | None = None
    labels: dict[int, str] = field(default_factory=dict)
    links: list[_Link] = field(default_factory=list)
    rows: int = 0

    def section(self, fields: list[str], line: int) -> Callable[[list[str], int], None]:
        name, heading = fields[0].casefold(), show(" ".join(fields))
        known: dict[str, Callable[[list[str], int], None]] = {
            "*arcs": partial(self.link, both=False),
            "*edges": partial(self.link, both=True),
            "*arcslist": partial(self.several, both=False),
            "*edgeslist": partial(self.several, both=True),
            "*matrix": self.row,
        }
        if name == "*network":
            return self.outside
        if name == "*vertices":
            if self.n is not None or len(fields) != 2 or not re.fullmatch("[0-9]{1,15}", fields[1]):
                problem = "there must be one `*Vertices n`, of vertices of one kind"
                raise self.source.error(f"{problem}, got {heading}.", line)
            self.n = int(fields[1])
            return self.vertex
        if name not in known or self.n is None:
            problem = f"`*Vertices n` must come first, then a section {', '.join(known)}"
            raise self.source.error(f"{problem}, got {heading}.", line)
        relation = fields[1] if len(fields) > 1 else ":1"
        if self.relation not in (None, relation):
            raise self.source.error(f"there must be one relation, got {self.relation} and {relation}.", line)
        self.relation = relation
        return known[name]

    def outside(self, fields: list[str], line: int) -> None:
        raise self.source.error(f"a line must stand below `*Vertices n`, got {show(' '.join(fields))}.", line)

    def vertex(self, fields: list[str], line: int) -> None:
        """`k "label"`, followed by place and style."""
        k = self.position(fields[0], line)
        if k in self.labels:
            raise self.source.error(f"a vertex must come once, got {fields[0]} again.", line)
        self.labels[k] = fields[1] if len(fields) > 1 else fields[0]

    def link(self, fields: list[str], line: int, *, both: bool) -> None:
        if len(fields) < 2:
            raise self.source.error(f"a line must be `u v [weight]`, got {show(' '.join(fields))}.", line)
        weight = fields[2] if len(fields) > 2 else None
        if self.attribute not in (None, "weight"):
            weight = dict(zip(fields[3::2], fields[4::2], strict=False)).get(str(self.attribute))
            if weight is None:
                raise self.source.error(f"an edge must have the attribute {came(self.attribute)}, got none.", line)
        u, v = (self.position(end, line) for end in fields[:2])
        self.links.append(_Link(u, v, weight, both, line))

    def several(self, fields: list[str], line: int, *, both: bool) -> None:
        """`u v w …`: from u to each of the others."""
        u, *others = (self.position(end, line) for end in fields)
        self.links += (_Link(u, v, None, both, line) for v in others)

    def row(self, fields: list[str], line: int) -> None:
        """The weights of the arcs from the next vertex to all."""
        if len(fields) != self.n or self.rows == self.n:
            raise self.source.error(f"a matrix must have {self.n} rows of {self.n} numbers.", line)
        self.links += (_Link(self.rows, v, w, False, line) for v, w in enumerate(fields) if w != "0")
        self.rows += 1

    def position(self, number: str, line: int) -> int:
        if not re.fullmatch("[0-9]{1,15}", number) or not 1 <= int(number) <= (self.n or 0):
            raise self.source.error(f"a vertex must be an integer in 1 … {self.n}, got {show(number)}.", line)
        return int(number) - 1

    def graph(self) -> Graph:
        if self.n is None or self.rows not in (0, self.n):
            what = "a line `*Vertices n`" if self.n is None else f"all {self.n} rows of its matrix"
            raise self.source.error(f"must have {what}, and has not. The file may be cut off.")
        weights = None
        if any(link.weight is not None for link in self.links):
            tokens = [link.weight or "1" for link in self.links]
            weights, wrong = numbers(tokens)
            if wrong is not None:
                problem = f"a weight must be {wrong.need}, got {show(tokens[wrong.index])}"
                raise self.source.error(f"{problem}.", self.links[wrong.index].line)
        tails, heads = np.array([link[:2] for link in self.links], np.int64).reshape(-1, 2).T
        both = np.array([link.both for link in self.links], bool)
        directed = not (len(both) and both.all())
        if directed:  # an edge beside arcs counts twice; a loop once
            back = both & (tails != heads)
            tails, heads = np.concatenate((tails, heads[back])), np.concatenate((heads, tails[back]))
            weights = None if weights is None else np.concatenate((weights, weights[back]))
        return Graph.from_arrays(tails, heads, weights, n=self.n, labels=self.names(self.n), directed=directed)

    def names(self, n: int) -> Labels:
        if not self.labels:
            return Labels(range(1, n + 1))
        names = [self.labels.get(k, str(k + 1)) for k in range(n)]
        if len(set(names)) < n:
            return Labels(range(1, n + 1))
        return Labels(map(int, names) if integral(names) else names)


FORMAT = Format("pajek", (".net",), "Pajek (read only)", sniff, read, None, ("weight",))
