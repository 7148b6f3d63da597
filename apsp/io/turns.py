"""Turns from tables, mappings, relations of OpenStreetMap and files, as costs of sequences of arcs.

| columns                     | a row                                                                           |
|-----------------------------|---------------------------------------------------------------------------------|
| from, via, to [, cost]      | a turn and its cost, or that it is forbidden; via may list several vertices     |
| from, via, to, restriction  | a restriction of OpenStreetMap: no_left_turn, only_straight_on, …               |
| path [, cost]               | all vertices; with `ways`, the edges of a restriction of pgRouting              |
| members, tags               | a relation, as Overpass returns it                                              |

Names such as from_node, via_way_id and to_edge are found, too. With `ways`, from and to are ways.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from semiring.algebra.ranges import positions
from semiring.host.errors import AmbiguityWarning, DomainError, ShapeError, VertexError
from semiring.host.spelling import came
from semiring.sparse import turning

from ..road.log import warn
from .expansion import Turns, arcs_of
from .graph import Graph
from .inputs.frames import columns_of, is_table
from .labels import Labels
from .reading.files import Source, csv_rows
from .reading.options import WEIGHTS, folded

_ROLES = re.compile(r"(from|via|to|path)[_ ]?(node|vertex|way|edge|link)?[_ ]?(?:id|osmid|ref)?")
_COSTS = (*WEIGHTS, "penalty", "turn_cost", "to_cost", "delay", "time")
_KINDS = ("restriction", "restriction_type")
#: Vehicles whose turns are meant; a restriction of OpenStreetMap with the tag `except` may not hold for them.
_CARS = frozenset(("motorcar", "motor_vehicle", "vehicle"))

Columns = dict[str, Any]
Walk = tuple[int, ...]


def turns_of(given: Any, graph: Graph, *, u_turns: float | None = None, ways: Sequence[Any] | None = None) -> Turns:
    """Turns of a graph, from what `shortest_paths` takes; `ways` has the way of each edge, or a list of its ways.

    ShapeError for other columns or rows; VertexError for a turn along edges that the graph lacks; DomainError for costs
    that are no numbers. Restrictions of OpenStreetMap that do not fit the graph are left out, and an AmbiguityWarning
    says how many.
    """
    if graph.rows is None:
        raise ShapeError(
            "turns: they must come with a list of edges, got a matrix. After A = A.astype(float) and "
            "np.fill_diagonal(A, np.inf), pass Graph.from_arrays(*as_graph(A).edges(), n=len(A))."
        )
    back = 0.0 if u_turns is None else float(_costs([u_turns], "u_turns")[0])
    return _Streets(graph, ways).read({} if given is None else _columns(given, graph.labels, ways), back)


def _columns(given: Any, labels: Labels, ways: object) -> Columns:
    """Columns by folded name; vertices for the texts of a file."""
    if isinstance(given, (str, os.PathLike)):
        source = Source(given, holds="turns")
        if str(given).lower().removesuffix(".gz").endswith(".json"):
            try:
                return _columns(json.loads(source.text), labels, ways)
            except (json.JSONDecodeError, RecursionError) as error:
                raise source.error(f"must be JSON, got {came(error)}.") from None
        first = source.text.lstrip().split("\n", 1)[0]
        (_, header), *rows = csv_rows(source, source.text, max(",;\t", key=first.count))
        for line, row in rows:
            if len(row) != len(header):
                raise source.error(f"a turn must have {len(header)} fields, as the header has, got {came(row)}.", line)
        return _named(
            (name, [_label(row[k].strip(), labels, ways) for _, row in rows]) for k, name in enumerate(header)
        )
    if is_table(given):
        given = columns_of(given)
        if "members" in given:
            given = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    elif isinstance(given, np.ndarray):
        given = given.tolist()
    elif isinstance(given, Mapping) and "elements" in given:
        given = given["elements"]
    elif isinstance(given, Mapping) and not all(isinstance(name, str) for name in given):
        if odd := [x for x in given if not isinstance(x, tuple) or len(x) < 3]:
            raise ShapeError(f"turns: keys must be (from, via, to), or of more vertices, got {came(odd[0])}.")
        given = [(x[0], x[1] if len(x) == 3 else list(x[1:-1]), x[-1], cost) for x, cost in given.items()]
    if isinstance(given, Mapping):
        return _named(given.items())
    listed: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    if listed and all(isinstance(row, Mapping) for row in listed):
        if any("members" in row for row in listed):  # beside nodes and ways, which say nothing of turns
            listed = [row for each in listed if "members" in each for row in _relation(each)]
        return _named((x, [row.get(x) for row in listed]) for x in dict.fromkeys(x for row in listed for x in row))
    if {len(row) if isinstance(row, (tuple, list)) else 0 for row in listed} not in (set(), {3}, {4}):
        raise ShapeError(f"turns: all must be (from, via, to), or (from, via, to, cost), got {came(listed[:3])}.")
    return dict(zip(("from", "via", "to", "cost"), zip(*listed, strict=True), strict=False))


def _named(columns: Iterable[tuple[Any, Any]]) -> Columns:
    """Columns by folded name; ShapeError unless names differ and all are lists of one length."""
    masked = np.ma.MaskedArray
    listed = [(str(name), x.tolist() if isinstance(x, masked) else x) for name, x in columns]
    if (
        any(isinstance(x, (str, bytes)) or not hasattr(x, "__len__") for _, x in listed)
        or len({len(x) for _, x in listed}) > 1
    ):
        raise ShapeError(
            f"turns: columns must be lists of one length, got {came(dict(listed))}. Pass records, in a list."
        )
    found: Columns = {
        folded(name): column if isinstance(column, np.ndarray) else list(column) for name, column in listed
    }
    if len(found) < len(listed):
        raise ShapeError(
            f"turns: columns must have names that differ, got {came([x for x, _ in listed])}. Rename some."
        )
    return found


def _missing(x: Any) -> bool:
    """Whether nothing stands in a field: None, or what data frames have for it."""
    return x is None or (not isinstance(x, str) and str(x) in ("nan", "<NA>", "NaT"))


def _way(x: Any) -> str:
    """A way as text; 7.0, as a column with gaps has it, is 7."""
    return str(int(x) if isinstance(x, float) and x.is_integer() else x)


def _relation(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a relation, of each way from with each way to; none if it is no restriction."""
    tags, listed, members = record.get("tags") or {}, record["members"], defaultdict(list)
    listed = list(listed) if isinstance(listed, Iterable) else [] if _missing(listed) else [listed]
    if not all(isinstance(x, Mapping) for x in (tags, *listed)):
        raise ShapeError(
            f"turns: a relation must have members and tags as Overpass returns them, got {came(record)}. Leave it out."
        )
    for member in listed:
        members[member.get("role"), member.get("type")].append(member.get("ref"))
    via = {f"via_{kind}": members["via", kind] or None for kind in ("node", "way")}
    kinds = [f"{key}={tags[key]}" for key in tags if key.startswith("restriction")]  # conditional ones, too
    kind = tags.get("restriction", *kinds[:1])
    ends = product(members["from", "way"], members["to", "way"]) if kinds else ()
    return [{"from_way": u, "to_way": v, "restriction": kind, "except": tags.get("except"), **via} for u, v in ends]


def _label(text: str, labels: Labels, ways: object) -> Any:
    """The vertex of a text, or the text; None if it is empty; VertexError for two, unless it may be a way."""
    k = labels.find_text(text)
    return (text or None) if k is None or (k < 0 and ways is not None) else labels.parse(text)


def _costs(values: Sequence[Any], what: str) -> np.ndarray:
    """Costs as float64; DomainError unless they are numbers, or inf."""
    plain, no_cost = isinstance(values, np.ndarray) and values.dtype.kind in "iuf", (bool, np.bool_, type(None))
    try:
        found = np.array(values if plain else [math.nan if isinstance(x, no_cost) else float(x) for x in values], float)
    except (TypeError, ValueError, OverflowError):
        found = np.array([math.nan])
    if not (found > -math.inf).all():
        raise DomainError(f"turns: {what} must be numbers, inf to forbid, got {came(list(values))}.")
    return found


class _Streets:
    """Arcs by their ends and ways, and what is left out of restrictions, by reason."""

    def __init__(self, graph: Graph, ways: Sequence[Any] | None) -> None:
        self.n, self.labels, self.ways = graph.n, graph.labels, ways
        self.least = 3 if ways is None else 2
        self.tails, self.heads, edges = arcs_of(graph)
        self.order = np.argsort(self.tails * self.n + self.heads, kind="stable")
        self.starts = np.append(0, np.bincount(self.tails, minlength=self.n).cumsum())  # CSR by tail, of heads in order
        self.ahead, self.left = self.heads[self.order], Counter[str]()
        self.of_way: dict[str, list[int]] = defaultdict(list)
        self.only: dict[Walk, set[int]] = defaultdict(set)  # arcs that alone may follow
        listed = [] if ways is None else list(ways)  # of a Series, whatever its index
        if ways is not None and (isinstance(ways, Mapping) or len(listed) != graph.edge_count):
            raise ShapeError(f"turns: ways must list one for each of {graph.edge_count} edges, got {came(ways)}.")
        for arc, edge in enumerate(edges.tolist() if listed else ()):
            names = listed[edge]
            for name in names if isinstance(names, (list, tuple, set, np.ndarray)) else [names]:
                if not _missing(name):
                    self.of_way[_way(name)].append(arc)

    def read(self, columns: Columns, u_turns: float) -> Turns:
        """The turns in a table."""
        roles: dict[str, list[str]] = defaultdict(list)
        matches = {name: match for name in columns if (match := _ROLES.fullmatch(name))}
        for name, match in matches.items():
            roles[match[1]].append(name)
        costs, kinds = ([name for name in columns if name in known] for known in (_COSTS, _KINDS))
        sides = ["path"] if roles["path"] else ["from", "via", "to"]
        counts = [len(roles[x]) for x in ("from", "via", "to", "path")]
        if columns and (len(costs + kinds) > 1 or counts not in ([1, max(1, counts[1]), 1, 0], [0, 0, 0, 1])):
            raise ShapeError(
                f"turns: columns must be from, via, to, or path, and one cost or restriction, got {came([*columns])}. "
                "Rename or drop some."
            )
        for name, match in matches.items():
            if self.ways is None and match[2] in ("way", "edge", "link"):
                raise ShapeError(f"turns: {came(name)} names edges by their ways. Pass ways= to shortest_paths.")
            if self.ways is not None and match[2] in ("node", "vertex") and match[1] != "via":
                raise ShapeError(f"turns: {came(name)} names vertices, but ways= names edges. Leave one of them out.")
        if not costs + kinds and (odd := [x for x in columns if x not in matches and not x.endswith("id")]):
            warn(
                f"turns: all are forbidden, as none of their columns is a cost or restriction, got {came(odd)} too. "
                "Rename one, or drop them.",
                AmbiguityWarning,
            )
        size = len(columns[roles[sides[0]][0]]) if columns else 0
        cost = _costs(columns[costs[0]], "costs") if costs else np.full(size, np.inf)
        if counts[:3] == [1, 1, 1] and not kinds and self.ways is None:
            try:
                at = [self.labels.positions(columns[roles[x][0]]) for x in sides]
            except (VertexError, TypeError):
                pass  # lists; an unknown one is named below
            else:
                row, arcs = self._chains(at)
                if turning.once(arcs.ravel()):
                    return Turns(arcs.ravel(), 2 * np.arange(len(arcs) + 1), cost[row], u_turns)
        walks: dict[Walk, float] = {}
        spared = columns.get("except", [""] * size)
        for k in range(size):
            via = next((x for x in roles["via"] if not _missing(columns[x][k])), "")
            listed = roles["path"] or [x for x in (roles["from"][0], via, roles["to"][0]) if x]
            names = [self._several(columns[x][k]) for x in listed]
            inner = [] if "way" in via or not via else [1 + i for i, x in enumerate(names[1]) if x in self.labels]
            kind = str(columns[kinds[0]][k]) if kinds else None
            if kind and not _CARS.isdisjoint(re.split(r"[;,\s]+", str(spared[k]))):
                kind = "except=motorcar"
            for walk in self._row([x for some in names for x in some], inner, kind):
                known = walks.setdefault(walk, cost[k])
                walks[walk] = max(known, cost[k])  # what is forbidden stays so
                if known != cost[k] and walks[walk] < np.inf:
                    shown = " → ".join(came(self.labels[x]) for x in (self.tails[walk[0]], *self.heads[list(walk)]))
                    raise DomainError(f"turns: a turn must have one cost, got two for {shown}. Leave one out.")
        for way, taken in self.only.items():
            v = self.heads[way[-1]]
            others = self.order[self.starts[v] : self.starts[v + 1]].tolist()
            walks |= {(*way, arc): np.inf for arc in others if arc not in taken}
        if self.left:
            why = ", ".join(f"{count:,} that {reason}" for reason, count in self.left.items())
            warn(f"turns: restrictions are left out: {why}.", AmbiguityWarning)
        arcs = np.array([arc for walk in walks for arc in walk], np.int64)
        return Turns(arcs, np.cumsum([0, *map(len, walks)]), np.array(list(walks.values()), float), u_turns)

    def _several(self, x: Any) -> list[Any]:
        """One name or several; of a text that is none, between blanks, commas or the like, as {1,2} of a database."""
        if isinstance(x, str) and x not in self.labels and x not in self.of_way:
            return [_label(part, self.labels, self.ways) for part in re.split(r"[\s,;|]+", x.strip("{}[]()"))]
        return list(x) if isinstance(x, (list, tuple, np.ndarray)) and x not in self.labels else [x]

    def _chains(self, at: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Arcs along vertices, a row each, at[0][k], at[1][k], …, of parallel ones each: k, and the arcs."""
        row, arcs = np.arange(len(at[0])), np.empty((len(at[0]), 0), np.int64)
        for u, v in pairwise(at):
            first, count, lost = turning.find(self.starts, self.ahead, u[row], v[row])
            if lost < len(row):
                raise self._missing([self.labels[int(x[row[lost]])] for x in at])
            if len(several := np.flatnonzero(count > 1)):
                more = count[several] - 1
                again, others = np.repeat(several, more), positions(first[several] + 1, more)
                row, arcs, first = (
                    np.concatenate(x) for x in ((row, row[again]), (arcs, arcs[again]), (first, others))
                )
            arcs = np.column_stack((arcs, self.order[first]))
        return row, arcs

    def _row(self, names: Sequence[Any], inner: Sequence[int], kind: Any) -> list[Walk]:
        """The walks that a row lists; none if they alone may follow, which is noted; names at `inner` are vertices."""
        if kind is not None and not re.fullmatch("(no|only)_[a-z_]+", kind):
            conditional = "=" in kind or "@" in kind
            self.left["hold at some times or for some vehicles" if conditional else "are neither no_… nor only_…"] += 1
            return []
        try:
            if len(names) < self.least:
                raise self._missing(names)
            found = self._by_ways(names, inner) if self.ways is not None else []
            if self.ways is None:
                at = [self.labels.positions([name]) for name in names]
                found = list(map(tuple, self._chains(at)[1].tolist()))
        except VertexError:
            if kind is None:
                raise
            self.left["are of edges that the graph lacks"] += 1
            return []
        if kind is not None and self.ways is not None and len(found) > 1:
            self.left["fit several ways through their vertex"] += 1
            return []
        if not str(kind).startswith("only_"):
            return found
        for walk in found:
            self.only[walk[:-1]].add(walk[-1])
        return []

    def _by_ways(self, names: Sequence[Any], inner: Sequence[int]) -> list[Walk]:
        """Walks from an arc of the first way, along the ways and vertices between, to an arc of the last."""
        tails, heads = self.tails, self.heads
        walks: list[Walk] = [(arc,) for arc in self.of_way.get(_way(names[0]), ())]
        for k, name in enumerate(names[1:], 1):
            if k in inner:
                walks = [walk for walk in walks if heads[walk[-1]] == self.labels.position(name)]
                continue
            arcs, back, ahead, walks = self.of_way.get(_way(name), ()), name == names[0], walks, []
            while ahead and not (walks and k == len(names) - 1):  # a way between may have several arcs
                ahead = [
                    (*walk, arc) for walk in ahead for arc in arcs
                    if tails[arc] == heads[walk[-1]] and arc not in walk
                    and (back or heads[arc] != tails[walk[-1]] or walk[-1] not in arcs)
                ]  # fmt: skip
                walks += ahead
        if not walks:
            raise self._missing(names)
        return walks

    def _missing(self, names: Sequence[Any]) -> VertexError:
        shown = " → ".join(map(came, names))
        if len(names) < self.least:
            of = "three vertices" if self.least > 2 else "two ways"
            return VertexError(f"turns: a turn must have {of} or more, got {shown or 'none'}.")
        of = "edges" if self.ways is None else "ways"
        return VertexError(f"turns: a turn must follow {of} of the graph, got {shown}, and no such. Leave it out.")
