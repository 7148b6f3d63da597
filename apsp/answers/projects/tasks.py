"""Conversion of tasks: names, durations as numbers or with units of time, and dependencies."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from semiring.host.errors import DomainError, DTypeError, VertexError
from semiring.host.spelling import came
from semiring.host.types import Label, Scalar

from ...io.inputs.frames import columns_of, is_table
from ...io.labels import Labels

#: A number, or a duration of datetime, NumPy or pandas.
Duration = Any
#: Accepted column names of a table of tasks.
_COLUMNS = {
    "task": ("task", "tasks", "activity", "name", "task name", "activity name"),
    "duration": ("duration", "durations", "original duration", "time", "seconds", "minutes", "hours", "days", "weeks"),
    "predecessors": ("predecessors", "predecessor", "dependencies", "depends on", "waits for", "after", "needs"),
}
#: Columns of ids, to which predecessors may refer beside a column of names.
_IDS = ("id", "task id", "activity id")
#: A predecessor with relation and lag, as in Microsoft Project: 3FS, "A SS+2", "3FF-1 day".
_RELATION = re.compile(r"(.*[0-9]|.*\S\s)\s*(FS|SS|FF|SF)\s*(?:([+-])\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*|%))?", re.I)
#: A duration as text, "5 days?", and units by their first letters.
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\??")
_UNITS = {"mo": "month", "ms": "ms", "mil": "ms", "w": "W", "d": "D", "h": "h", "m": "m", "s": "s"}
#: Nanoseconds per NumPy unit of time; months and years have none.
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_NANOSECONDS |= {"D": 24 * _NANOSECONDS["h"], "W": 7 * 24 * _NANOSECONDS["h"]}


@dataclass(frozen=True)
class Project:
    """Durations as numbers (ns if they have units; `kind` converts back), and dependencies, tails before heads.

    `lags` has the relation and lag of a dependency unless the head may start as the tail finishes, by index.
    """

    names: Labels
    times: list[Scalar]
    tails: list[int]
    heads: np.ndarray
    lags: dict[int, tuple[str, Scalar]]
    kind: Callable[[Scalar], Duration]


def project_of(durations: Any, dependencies: Any) -> Project:
    """Parse the arguments of `critical_path`; raises DTypeError, DomainError, VertexError."""
    separate = not isinstance(dependencies, tuple) or bool(dependencies)
    names, times, predecessors, ids = _columns(durations, separate)
    numbers, kind, unit = _numbers(names, times)
    found = _Tasks(
        Labels(names, "critical_path"), unit, {name: k for k, id in enumerate(ids or ()) for name in (id, str(id))}
    )
    if predecessors is not None:
        heads, cells = list(range(len(names))), predecessors
    elif isinstance(dependencies, Mapping) and not callable(getattr(dependencies, "data", None)):  # but G.edges
        heads, cells = found.positions(dependencies), list(dependencies.values())
    else:
        pairs = _pairs(dependencies)
        heads, cells = found.positions(v for _, v in pairs), [[u] for u, _ in pairs]
    tails, counts, lags = found.dependencies(cells)
    return Project(found.labels, numbers, tails, np.repeat(np.asarray(heads, np.intp), counts), lags, kind)


def _columns(source: Any, separate: bool) -> tuple[list[Label], list[Duration], list[Any] | None, list[Any] | None]:
    """Tasks, durations, dependencies unless separate, and ids beside names."""
    columns = _table_of(source)
    if columns is not None:
        if separate or len(columns) == 2:
            return *two_columns(columns, "durations", "task, duration"), None, None
        return _named(columns)
    if callable(getattr(source, "items", None)):  # a mapping, or a Series
        rows = list(source.items())
        if tuple not in {type(cell) for _, cell in rows}:
            return [task for task, _ in rows], [cell for _, cell in rows], None, None
        rows = [(task, *(cell if isinstance(cell, tuple) else (cell,))) for task, cell in rows]
    elif isinstance(source, Iterable) and not isinstance(source, (str, bytes, memoryview)):
        rows = list(source)
    else:
        raise DTypeError(_wanted(f"got {type(source).__name__}"))
    widths = (2,) if separate else (2, 3)
    if odd := [row for row in rows if not isinstance(row, (tuple, list)) or len(row) not in widths]:
        raise DTypeError(_wanted(f"got {came(odd[0])}" + (" with dependencies=" if separate else "")))
    dependencies = [row[2] if len(row) == 3 else () for row in rows] if 3 in map(len, rows) else None
    return [row[0] for row in rows], [row[1] for row in rows], dependencies, None


def _table_of(source: Any) -> dict[Any, list[Any]] | None:
    """The columns of a table, or of a list of records; None of anything else."""
    if is_table(source):
        return columns_of(source)
    if isinstance(source, list) and source and all(isinstance(row, Mapping) for row in source):
        return {name: [row.get(name) for row in source] for name in dict.fromkeys(chain(*source))}
    return None


def _wanted(got: str) -> str:
    return (
        'critical_path: durations must be a mapping, such as {"walls": 5}, a table, or tuples (task, duration) or '
        f"(task, duration, predecessors), {got}."
    )


def two_columns(columns: dict[Label, list[Any]], what: str, wanted: str) -> tuple[list[Any], list[Any]]:
    """The columns of a two-column table; DTypeError for another width."""
    if len(columns) != 2:
        raise DTypeError(
            f"critical_path: a table of {what} must have two columns, {wanted}, got "
            f"{', '.join(map(repr, columns)) or 'none'}. Take them: table[[…, …]]."
        )
    first, second = columns.values()
    return first, second


def _named(columns: dict[Label, list[Any]]) -> tuple[list[Any], list[Any], list[Any], list[Any] | None]:
    """The columns of a project table by name; others are ignored. Repeated names give way to ids."""
    plain, found = {name: str(name).strip().casefold().replace("_", " ") for name in columns}, []
    ids = [name for name in columns if plain[name] in _IDS]
    for role, words in _COLUMNS.items():
        named = [name for name in columns if plain[name] in words]
        named = ids if role == "task" and not named else named
        if len(named) != 1:
            columns_found = ", ".join(map(repr, columns)) or "none"
            raise DTypeError(
                f"critical_path: one column of a table of tasks must be the {role}, named {' or '.join(words)}, got "
                f"the columns {columns_found}. Rename them, or pass rows as tuples (task, duration, predecessors)."
            )
        found.append(columns[named[0]])
    known = columns[ids[0]] if len(ids) == 1 else None
    names = found[0] if known is None or len({*map(str, found[0])}) == len(found[0]) else known
    return names, found[1], found[2], known


@dataclass(frozen=True)
class _Tasks:
    """The tasks, the unit of their durations (nanoseconds for those of time), and their positions by id."""

    labels: Labels
    unit: str
    ids: dict[Any, int]

    @cached_property
    def names(self) -> dict[Label, int]:
        """Positions by name; empty beside ids, with which names may collide."""
        return {} if self.ids else {name: index for index, name in enumerate(self.labels)}

    def positions(self, tasks: Iterable[Label]) -> list[int]:
        tasks = list(tasks)
        with suppress(KeyError, TypeError):
            return list(map(self.names.__getitem__, tasks))
        found = [self.related(task) for task in tasks]
        if wrong := [task for task, (_, *lag) in zip(tasks, found, strict=True) if lag != ["FS", 0]]:
            raise VertexError(
                f"critical_path: a relation must follow the task before, as 'A SS+1', got {came(wrong[0])} after it."
            )
        return [task for task, _, _ in found]

    def dependencies(self, cells: list[Any]) -> tuple[list[int], list[int], dict[int, tuple[str, Scalar]]]:
        """Tails and lags as in `Project`, of all cells, and the number in each."""
        if {*map(type, cells)} <= {list}:  # of names alone, mostly
            with suppress(KeyError, TypeError):
                tails = list(map(self.names.__getitem__, chain.from_iterable(cells)))
                return tails, list(map(len, cells)), {}
        found = list(map(self._predecessors, cells))
        flat = list(chain.from_iterable(found))
        lags = {e: (relation, lag) for e, (_, relation, lag) in enumerate(flat) if relation != "FS" or lag}
        return [u for u, _, _ in flat], list(map(len, found)), lags

    def _predecessors(self, cell: Any) -> list[tuple[int, str, Scalar]]:
        """Positions, relations and lags of a cell: a task, several, text with commas or semicolons, or nothing."""
        if cell is None or type(cell).__name__ == "NAType" or (isinstance(cell, (float, np.floating)) and cell != cell):
            return []
        if isinstance(cell, str) and self._find(cell) is None:
            return [self.related(part.strip()) for part in re.split("[,;]", cell) if part.strip()]
        if isinstance(cell, Iterable) and not isinstance(cell, str) and self._find(cell) is None:
            return list(map(self.related, cell))
        return [self.related(cell)]

    def related(self, task: Any) -> tuple[int, str, Scalar]:
        """A task by its position, with the relation and the lag that a text may end in."""
        found = self._find(task)
        if found is not None:
            return found, "FS", 0
        match = _RELATION.fullmatch(task) if isinstance(task, str) else None
        if match is None:
            raise VertexError(
                f"critical_path: every task must have a duration, got a dependency on {came(task)} without one."
            )
        name, relation, sign, lag, unit = match.groups()
        return self.related(name.strip())[0], relation.upper(), self._lag(task, sign, lag, unit) if lag else 0

    def _find(self, task: Any) -> int | None:
        """The task of an id or a name; as text too, for that is what files hold."""
        try:
            return self.names[task]
        except TypeError:  # unhashable
            return None
        except KeyError:
            pass
        by_name = self.labels.position(task) if task in self.labels else None
        if by_name is None and isinstance(task, str):
            by_name = self.labels.find_text(task)
            by_name = None if by_name is not None and by_name < 0 else by_name
        by_id = self.ids.get(task)
        if None not in (by_id, by_name) and by_id != by_name:
            raise VertexError(
                f"critical_path: a predecessor must be an id or a name, got {came(task)}, which fits two."
            )
        return by_name if by_id is None else by_id

    def _lag(self, task: str, sign: str, lag: str, unit: str) -> Scalar:
        length = float(lag) * (-1 if sign == "-" else 1)
        own = _unit(unit) if unit else ""
        if self.unit == "ns" and own in _NANOSECONDS:
            return round(length * _NANOSECONDS[own])
        if own not in ("", self.unit) or self.unit == "ns":
            raise DTypeError(
                f"critical_path: a lag must be in the unit of the durations, got {came(task)}. Write it with "
                "that unit, as SS+2d beside durations of time, and without one beside numbers."
            )
        return int(length) if length.is_integer() else length


def _pairs(dependencies: Any) -> list[tuple[Label, Label]]:
    """Dependencies of any form as pairs (before, after)."""
    if is_table(dependencies):
        return list(zip(*two_columns(columns_of(dependencies), "dependencies", "before, after"), strict=True))
    if not isinstance(dependencies, Iterable):
        raise DTypeError(
            f"critical_path: dependencies must be a mapping, pairs or a table, got {came(dependencies)}. Leave "
            "them out for none."
        )
    pairs = list(dependencies)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DTypeError(f"critical_path: dependencies must be pairs (before, after), got {came(pair)}.")
    return pairs


def _numbers(names: list[Label], times: list[Duration]) -> tuple[list[Scalar], Callable[[Scalar], Duration], str]:
    """Durations as numbers, the conversion back, and their unit."""
    if {*map(type, times)} <= {int, float} and all(0 <= time < math.inf for time in times):
        return times, identity, ""
    unit, given = "", times
    kind: Callable[[Scalar], Duration] = identity
    if any(isinstance(time, (timedelta, np.timedelta64)) for time in times):
        (times, kind), unit = _nanoseconds(names, times), "ns"
    elif any(isinstance(time, str) and _DURATION.fullmatch(time.strip()) for time in times):
        times, unit = _of_texts(names, times)
    for task, time, shown in zip(names, times, given, strict=True):
        numeric = hasattr(time, "__float__") and getattr(time, "dtype", np.dtype(float)).kind in "iuf"
        if isinstance(time, bool) or not numeric:
            raise DTypeError(
                f"critical_path: durations must be numbers, got {came(time)} for {came(task)}. Choose a unit."
            )
        if not 0 <= time < math.inf:
            problem = f"durations must be finite and at least 0, got {came(shown)} for {came(task)}"
            raise DomainError(f"critical_path: {problem}.")
    return times, kind, unit


def _unit(text: str) -> str | None:
    """The unit that a text abbreviates; None for another word."""
    return next((unit for first, unit in _UNITS.items() if text.lower().startswith(first)), None)


def alike(times: list[Scalar]) -> list[Scalar]:
    """Numbers of one type: integers, or those of another type that are among them; of several, floats."""
    found = [time.item() if hasattr(time, "item") else time for time in times]
    kinds = {*map(type, found)} - {int}
    kind = float if len(kinds) > 1 else next(iter(kinds), int)
    return list(map(kind, found))


def _of_texts(names: list[Label], times: list[Duration]) -> tuple[list[Scalar], str]:
    """Durations such as "5 days" as numbers of their unit, which must be one: a week may be five days or seven."""
    parts = []
    for task, time in zip(names, times, strict=True):
        match = _DURATION.fullmatch(time.strip()) if isinstance(time, str) else None
        if match is None:
            raise DTypeError(
                f"critical_path: durations must all be as '5 days' if one is, got {came(time)} for {came(task)}. "
                "Leave rows that are no tasks out."
            )
        parts.append(match.groups())
    found = [float(number) for number, _ in parts]
    units = [_unit(unit) or unit for _, unit in parts]
    several = {unit: time for unit, time, number in zip(units, times, found, strict=True) if number}
    if len(several) > 1:
        shown = " beside ".join(map(came, several.values()))
        raise DTypeError(f"critical_path: durations must all be in one unit, got {shown}. Convert them.")
    return [int(x) if x.is_integer() else x for x in found], next(iter(several), units[0])


def identity(number: Scalar) -> Scalar:
    return number


def _nanoseconds(names: list[Label], times: list[Duration]) -> tuple[list[int], Callable[[Scalar], Duration]]:
    """Durations of one class with units, as integer nanoseconds."""
    kind: Any = type(next(time for time in times if isinstance(time, (timedelta, np.timedelta64))))
    for task, time in zip(names, times, strict=True):
        if type(time) is not kind or time != time:
            raise DTypeError(
                f"critical_path: durations must all be of one kind, {kind.__module__}.{kind.__qualname__}, got "
                f"{came(time)} for {came(task)}."
            )
    if kind is np.timedelta64:
        found = [_of_numpy(task, time) for task, time in zip(names, times, strict=True)]  # refuses months
        unit = np.result_type(*{time.dtype for time in times})
        return found, lambda ns: _to_numpy(ns, unit)
    found = [
        ((time.days * 86_400 + time.seconds) * 10**6 + time.microseconds) * 1000 + getattr(time, "nanoseconds", 0)
        for time in times
    ]
    if kind is timedelta:
        return found, lambda ns: timedelta(microseconds=ns // 1000)
    return found, lambda ns: kind(ns, "ns")  # pandas's


def _of_numpy(task: Label, time: np.timedelta64) -> int:
    unit, count = np.datetime_data(time.dtype)
    if unit not in _NANOSECONDS:
        raise DTypeError(
            f"critical_path: a duration must have a unit from nanoseconds to weeks, got {came(time)} for {came(task)}."
        )
    return int(time.astype(np.int64)) * count * _NANOSECONDS[unit]


def _to_numpy(ns: int, unit: np.dtype) -> np.timedelta64:
    name: Any
    name, count = np.datetime_data(unit)
    whole, rest = divmod(ns, _NANOSECONDS[name] * count)
    if rest:
        raise DomainError(
            f"critical_path: durations must be in a unit that lags are multiples of, too, got {unit} and a time of "
            f"{ns} ns. Convert them: duration.astype('timedelta64[ns]')."
        )
    return np.timedelta64(whole * count, name)
