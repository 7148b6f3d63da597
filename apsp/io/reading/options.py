"""Options for reading graphs, and the one rule that assigns columns of files and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any, Final, NamedTuple

import numpy as np

from semiring.host.spelling import came
from semiring.host.types import Label

from ..graph.nulls import Nulls


class _Undeclared(Enum):
    BY_RULE = "by rule"

    def __repr__(self) -> str:
        return "BY_RULE"


#: Default of `weight` and `null_value`: the rule decides, or refuses.
BY_RULE: Final = _Undeclared.BY_RULE

#: Column name or position, attribute name, function of an edge, weights, or None for unit weights.
Weight = Any
#: (FROM, TO) or (FROM, TO, WEIGHT), by name or by position from 0.
Columns = Sequence[str | int]
#: A dense matrix entry that is no edge besides the semiring's zero, or None.
NullValue = float | _Undeclared | None

SOURCES = ("source", "from", "src", "start", "tail", "origin", "u", "init_node", "from_stop_id")
TARGETS = ("target", "to", "dst", "dest", "destination", "end", "head", "v", "term_node", "to_stop_id")
WEIGHTS = (
    *("weight", "length", "cost", "distance", "dist", "w", "value", "km", "min_transfer_time"),
    *("minutes", "hours", "seconds", "travel_time", "duration", "miles", "metres", "meters"),
)
#: First or last words of other names that may be weights.
_RIVALS = frozenset(
    (*WEIGHTS, *"time min mins minute hour hrs sec secs second m mi mile kilometres kilometers price toll fare".split())
)


def names_ends(names: Iterable[Label]) -> bool:
    """Whether some column is named like a source, and some like a target."""
    plain = {folded(name) for name in names}
    return not plain.isdisjoint(SOURCES) and not plain.isdisjoint(TARGETS)


def lists_columns(data: Mapping[Any, Any]) -> bool:
    """Whether a dict may be a table by columns: keys name both ends of edges, values are equally long."""
    return names_ends(data) and len({len(x) if isinstance(x, (list, tuple, dict)) else -1 for x in data.values()}) == 1


#: Rows of edges, for square tables that may be matrices or edges.
EDGE = {2: "(u, v)", 3: "(u, v, weight)"}
#: Columns of codes and identifiers, never weights.
CODES = ("transfer_type", "pathway_id", "pathway_mode", "id", "edge_id", "edgeid", "eid", "fid", "osmid", "key")
#: Tables without edges, by identifying columns: the meaning of a row, and advice.
TIMETABLE = {
    ("trip_id", "stop_id", "stop_sequence"): (
        "GTFS stop_times, where a row is a stop of a trip",
        "Make a table of from_stop_id, to_stop_id and the time between, for stops that follow one another in a trip",
    ),
    ("id", "label"): ("a table of nodes, as Gephi exports it, where a row is a vertex", "Read the table of edges"),
    ("stop_id", "stop_name"): ("GTFS stops, where a row is a vertex", "Read transfers.txt, which lists edges"),
}


@dataclass(frozen=True)
class Reading:
    """Reading options: columns or attributes, format, null value, direction; `complete` if every edge has a weight."""

    weight: Weight = BY_RULE
    columns: Columns | None = None
    format: str | None = None
    nulls: Nulls = None
    directed: bool | None = None
    complete: bool = False

    @property
    def named(self) -> bool:
        """Whether the caller named the weights."""
        return self.weight is not None and self.weight is not BY_RULE


#: All defaults.
ANYHOW: Final = Reading()


def nulls_of(null_value: NullValue) -> Nulls:
    """A `null_value` as stored in `Graph.nulls`; ValueError if it is no number."""
    if null_value is BY_RULE:
        return None
    if null_value is None:
        return ()
    if isinstance(null_value, (bool, np.bool_)) or not isinstance(null_value, Real) or null_value != null_value:
        raise ValueError(f"null_value must be a number, such as 0, or None, got {came(null_value)}.")
    return (null_value,)


class Chosen(NamedTuple):
    """Positions of the columns of ends and weight; None for unweighted edges."""

    source: int
    target: int
    weight: int | None


def positional(columns: Columns | None) -> bool:
    """Whether columns are given by position, so there is no header; ValueError unless 2 or 3 names or positions."""
    if columns is None:
        return False
    if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) not in (2, 3):
        raise ValueError(f"columns must be (FROM, TO) or (FROM, TO, WEIGHT), got {came(columns)}.")
    kinds = {type(column) for column in columns}
    if kinds not in ({str}, {int}) or any(isinstance(column, int) and column < 0 for column in columns):
        raise ValueError(f"columns must all be names, or all positions from 0, got {came(columns)}.")
    return kinds == {int}


def choose(
    names: Sequence[Label],
    reading: Reading,
    refuse: Callable[[str], Exception],
    *,
    header: bool = True,
    passed: Sequence[int] = (),
    numeric: Callable[[int], bool] = lambda index: True,
) -> Chosen:
    """Assign columns to ends and weight.

    The ends are the columns requested, or named so. The weight is the column requested; else the only other one; else
    the only one named so. Nothing is guessed: two candidates raise an error, as does a second numeric column whose name
    could be a weight (`time` beside `length`).

    `names` are positions without a header; `refuse(problem)` makes the error, listing columns and remedies; `passed`
    columns are weights only on request; `numeric(index)`: whether a column holds numbers or durations.
    """
    listed = _listed(names, header)
    declared = reading.columns
    if declared is not None and len(declared) == 3 and reading.weight is not BY_RULE:
        raise ValueError(
            f"columns names a weight already, got weight={came(reading.weight)} and {came(tuple(declared))}."
        )
    if declared is not None:
        source, target = (_find(names, column, listed, refuse) for column in declared[:2])
    elif header:
        source, target = (
            _by_name(names, known, end, listed, refuse) for known, end in ((SOURCES, "from"), (TARGETS, "to"))
        )
    elif len(names) < 2:
        raise refuse(f"there must be a column for either end of an edge, got {listed}.")
    else:
        source, target = 0, 1
    if source == target:
        raise refuse(f"an edge must have a column for either end, got {came(names[source])} for both.")
    wanted = declared[2] if declared is not None and len(declared) == 3 else reading.weight
    if wanted is None:
        return Chosen(source, target, None)
    if wanted is not BY_RULE:
        if not isinstance(wanted, (str, int)) or isinstance(wanted, bool):
            raise ValueError(f"weight must be the name or position of a column, or None, got {came(wanted)}.")
        weight = _find(names, wanted, listed, refuse)
        if weight in (source, target):
            raise refuse(f"the weight must be in another column than the ends of the edge, got {came(names[weight])}.")
        return Chosen(source, target, weight)
    others = [index for index in range(len(names)) if index not in (source, target, *passed)]
    return Chosen(source, target, _weight(names, others, listed, refuse, numeric))


def _weight(
    names: Sequence[Label],
    others: Sequence[int],
    listed: str,
    refuse: Callable[[str], Exception],
    numeric: Callable[[int], bool],
) -> int | None:
    if len(others) == 1 and folded(names[others[0]]) in CODES:
        raise refuse(
            f"{came(names[others[0]])} identifies an edge or its kind, and is no weight, got {listed}. "
            "Say weight=None for unweighted edges."
        )
    if len(others) <= 1:
        return others[0] if others else None
    telling = [index for index in others if folded(names[index]) in WEIGHTS]
    if len(telling) == 1:
        telling += [k for k in others if k not in telling and _could_be_weight(names[k]) and numeric(k)]
    if len(telling) != 1:
        found = "none is called " + ", ".join(WEIGHTS) if not telling else "more than one of them could be it"
        likely = (k for k in others if numeric(k) and folded(names[k]) not in CODES)
        example = names[telling[0] if telling else next(likely, others[0])]
        raise refuse(
            f"which column holds the weight must be clear, got {listed}, and {found}. "
            f"Say weight={came(example)}, or weight=None for unweighted edges."
        )
    return telling[0]


def choose_attribute(kinds: Mapping[Any, Set[type]], refuse: Callable[[str], Exception]) -> Any:
    """The edge attribute that is the weight; None if none is numeric (unweighted).

    The only numeric one, unless it is an id (`CODES`); of several, the one named like a weight. Bools, texts and lists
    are no numbers. If only a non-numeric one is named so, it is returned, and fails later. `kinds` maps attributes to
    types of values (an edge may have None); `refuse(problem)` makes the error for several candidates.
    """
    numeric = [name for name, found in kinds.items() if found - _NONE and all(map(_is_numeric, found - _NONE))]
    known = [name for name in numeric if _is_known(name)] or [name for name in kinds if _is_known(name)]
    if len(known) == 1:
        known += [name for name in numeric if name not in known and _could_be_weight(name)]
    candidates = known or numeric
    if len(candidates) > 1:
        found = "more than one of them could be it" if known else f"none is called {', '.join(WEIGHTS)}"
        example = next((name for name in candidates if folded(name) not in CODES), candidates[0])
        raise refuse(
            f"which attribute of the edges holds the weight must be clear, got {', '.join(map(came, numeric[:20]))}, "
            f"and {found}. Say weight={came(example)}, or weight=None for unweighted edges."
        )
    return candidates[0] if candidates and folded(candidates[0]) not in CODES else None


def kinds_of(edges: Iterable[Mapping[Any, Any]]) -> dict[Any, set[type]]:
    kinds: dict[Any, set[type]] = {}
    for name, kind in dict.fromkeys((name, type(value)) for edge in edges for name, value in edge.items()):
        kinds.setdefault(name, set()).add(kind)
    return kinds


_NONE = frozenset((type(None),))


def _is_known(name: Any) -> bool:
    """Whether an attribute is named like a weight: "length", "edge_length"."""
    return folded(name).removeprefix("edge_") in WEIGHTS


def _could_be_weight(name: Any) -> bool:
    """Whether a name begins or ends with a word for a weight: "travelTime", "toll_eur"."""
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", str(name)).casefold())
    return bool(words) and not _RIVALS.isdisjoint((words[0], words[-1]))


def is_number(value: Any) -> bool:
    """Whether the value is a number other than a bool."""
    return _is_numeric(type(value))


def is_numeral(text: str) -> bool:
    """Whether a text is a number, including NaN and infinities."""
    try:
        return "_" not in text and float(text) is not None
    except ValueError:
        return False


def is_entry(text: str) -> bool:
    """`is_numeral`, also with a decimal comma."""
    return is_numeral(text.replace(",", "."))


def _is_numeric(kind: type) -> bool:
    return issubclass(kind, (Real, Decimal)) and not issubclass(kind, bool)


def _by_name(
    names: Sequence[Label], known: Sequence[str], end: str, listed: str, refuse: Callable[[str], Exception]
) -> int:
    plain = [folded(name) for name in names]
    found = [index for index, name in enumerate(plain) if name in known]
    for telling, (table, way) in TIMETABLE.items():
        if not found and set(telling) <= set(plain):
            raise refuse(f"a row must be an edge, got {table}: {listed}. {way}.")
    if not found and len(names) > 1 and all(map(is_numeral, plain)):
        raise refuse(
            f"a table of numbers must be a square matrix, or edges below a header, got {listed} and as many rows as "
            "make neither. Say columns=(0, 1, 2) if it lists edges; read a frame without "
            "its header, as by pandas.read_csv(…, header=None)."
        )
    if len(found) != 1:
        what = "none is" if not found else "more than one is"
        raise refuse(
            f"the header must name one column {' or '.join(known)}, where an edge leads {end}, got {listed}, and "
            f"{what}. Say columns={_example(names)}, by name; or by position from 0 where there is no header."
        )
    return found[0]


def _example(names: Sequence[Label]) -> str:
    """Suggested `columns`: names that contain a word for source or target, as "From stop"; else placeholders."""
    words = {name: {*re.findall("[a-z]+", str(name).casefold())} for name in names}
    ends = [[name for name in names if words[name] & {*known}] for known in (SOURCES, TARGETS)]
    if [len(found) for found in ends] != [1, 1] or ends[0] == ends[1]:
        return "(FROM, TO, WEIGHT)"
    return f"({came(ends[0][0])}, {came(ends[1][0])})"


def _find(names: Sequence[Label], wanted: str | int, listed: str, refuse: Callable[[str], Exception]) -> int:
    """The column of that position or name, case-insensitively if unambiguous."""
    if isinstance(wanted, int):
        if not 0 <= wanted < len(names):
            raise refuse(f"there must be a column at position {wanted}, counted from 0, got {listed}.")
        if wanted in names and names[wanted] != wanted:  # pandas takes any object for a name
            raise refuse(
                f"a column must be a name or a position, got {wanted}, which is either, of {listed}. Rename it."
            )
        return wanted
    exact = [index for index, name in enumerate(names) if name == wanted]
    found = exact or [index for index, name in enumerate(names) if folded(name) == folded(wanted)]
    if len(found) != 1:
        raise refuse(f"there must be one column {came(wanted)}, got {listed}.")
    return found[0]


def _listed(names: Sequence[Label], header: bool) -> str:
    if not header:
        return f"{len(names)} column{'' if len(names) == 1 else 's'}"
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"the columns {', '.join(map(came, names[:20]))}{more}"


def folded(name: Any) -> str:
    """A name in the form for comparison: stripped, in lower case."""
    return str(name).strip().casefold()
