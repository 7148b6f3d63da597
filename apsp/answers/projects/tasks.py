"""Conversion of tasks: names, durations as numbers or with units of time, and dependencies."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
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
    "task": ("task", "tasks", "activity", "name", "id"),
    "duration": ("duration", "durations", "time", "seconds", "minutes", "hours", "days", "weeks"),
    "predecessors": (
        "predecessors",
        "predecessor",
        "dependencies",
        "depends_on",
        "depends on",
        "waits_for",
        "waits for",
    ),
}
#: Nanoseconds per NumPy unit of time; months and years have none.
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_NANOSECONDS |= {"D": 24 * _NANOSECONDS["h"], "W": 7 * 24 * _NANOSECONDS["h"]}


@dataclass(frozen=True)
class Project:
    """Durations as numbers (nanoseconds if they have units; `kind` converts back), and pairs (before, after)."""

    names: Labels
    times: list[Scalar]
    pairs: list[tuple[int, int]]
    kind: Callable[[Scalar], Duration]


def project_of(durations: Any, dependencies: Any) -> Project:
    """Parse the arguments of `critical_path`; raises DTypeError, DomainError, VertexError."""
    separate = not isinstance(dependencies, tuple) or bool(dependencies)
    names, times, predecessors = _columns(durations, separate)
    tasks = Labels(names)
    numbers, kind = _numbers(names, times)
    if predecessors is None:
        listed, at = _pairs(dependencies), {name: index for index, name in enumerate(tasks)}
        try:
            pairs = [(at[u], at[v]) for u, v in listed]
        except (KeyError, TypeError):  # raise its error
            pairs = [(_position(tasks, u), _position(tasks, v)) for u, v in listed]
    else:
        pairs = [(u, v) for v, cell in enumerate(predecessors) for u in _predecessors(tasks, cell)]
    return Project(tasks, numbers, pairs, kind)


def _columns(source: Any, separate: bool) -> tuple[list[Label], list[Duration], list[Any] | None]:
    """Tasks, durations, and dependencies unless separate."""
    if is_table(source):
        columns = columns_of(source)
        if separate or len(columns) == 2:
            return *two_columns(columns, "durations", "task, duration"), None
        return _named(columns)
    if callable(getattr(source, "items", None)):  # a mapping, or a Series
        rows = [(task, *(cell if isinstance(cell, tuple) else (cell,))) for task, cell in source.items()]
    elif isinstance(source, Iterable) and not isinstance(source, (str, bytes, memoryview)):
        rows = list(source)
    else:
        raise DTypeError(_wanted(f"got {type(source).__name__}"))
    widths = {len(row) if isinstance(row, (tuple, list)) else 0 for row in rows}
    if not widths <= ({2} if separate else {2, 3}):
        odd = next(
            row for row in rows if not isinstance(row, (tuple, list)) or len(row) not in ((2,) if separate else (2, 3))
        )
        raise DTypeError(_wanted(f"got {came(odd)}" + (" with dependencies=" if separate else "")))
    dependencies = [row[2] if len(row) == 3 else () for row in rows] if 3 in widths else None
    return [row[0] for row in rows], [row[1] for row in rows], dependencies


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


def _named(columns: dict[Label, list[Any]]) -> tuple[list[Any], list[Any], list[Any]]:
    """The columns of a project table by name; others are ignored."""
    found = []
    for role, words in _COLUMNS.items():
        named = [name for name in columns if str(name).strip().casefold() in words]
        if len(named) != 1:
            columns_found = ", ".join(map(repr, columns)) or "none"
            raise DTypeError(
                f"critical_path: one column of a table of tasks must be the {role}, named {' or '.join(words)}, got "
                f"the columns {columns_found}. Rename them, or pass rows as tuples (task, duration, predecessors)."
            )
        found.append(columns[named[0]])
    return found[0], found[1], found[2]


def _predecessors(tasks: Labels, cell: Any) -> list[int]:
    """The predecessors in a cell: tasks, one task, a text with commas or semicolons, or nothing."""
    if cell is None or (isinstance(cell, (float, np.floating)) and math.isnan(cell)):
        return []
    if isinstance(cell, Hashable) and cell in tasks:
        return [tasks.position(cell)]
    if isinstance(cell, str):
        parts = [part.strip() for part in re.split("[,;]", cell) if part.strip()]
        found = [tasks.find_text(part) for part in parts]
        return [_position(tasks, part) if k is None or k < 0 else k for part, k in zip(parts, found, strict=True)]
    if isinstance(cell, Iterable):
        return [_position(tasks, task) for task in cell]
    return [_position(tasks, cell)]


def _pairs(dependencies: Any) -> list[tuple[Label, Label]]:
    """Dependencies of any form as pairs (before, after)."""
    if is_table(dependencies):
        return list(zip(*two_columns(columns_of(dependencies), "dependencies", "before, after"), strict=True))
    if not isinstance(dependencies, Iterable):
        raise DTypeError(
            f"critical_path: dependencies must be a mapping, pairs or a table, got {came(dependencies)}. Leave "
            "them out for none."
        )
    if not isinstance(dependencies, Mapping):
        pairs = list(dependencies)
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise DTypeError(f"critical_path: dependencies must be pairs (before, after), got {came(pair)}.")
        return pairs
    for task, before in dependencies.items():
        if isinstance(before, str) or not isinstance(before, Iterable):
            raise VertexError(
                f"critical_path: what {came(task)} waits for must be a list of tasks, got {came(before)}. "
                f"Write [{came(before)}]."
            )
    return [(u, v) for v, before in dependencies.items() for u in before]


def _position(tasks: Labels, task: Hashable) -> int:
    if task not in tasks:
        raise VertexError(
            f"critical_path: every task must have a duration, got a dependency on {came(task)} without one."
        )
    return tasks.position(task)


def _numbers(names: list[Label], times: list[Duration]) -> tuple[list[Scalar], Callable[[Scalar], Duration]]:
    """Durations as numbers, and the conversion back."""
    if any(isinstance(time, (timedelta, np.timedelta64)) for time in times):
        times, kind = _nanoseconds(names, times)
    else:
        kind = identity
    for task, time in zip(names, times, strict=True):
        if not hasattr(time, "__float__") or getattr(time, "dtype", np.dtype(float)).kind not in "biuf":
            raise DTypeError(
                f"critical_path: durations must be numbers, got {came(time)} for {came(task)}. Choose a unit."
            )
        if not 0 <= time < math.inf:
            raise DomainError(f"critical_path: durations must be finite and at least 0, got {time} for {came(task)}.")
    return times, kind


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
        unit = np.result_type(*{time.dtype for time in times})
        return [_of_numpy(task, time) for task, time in zip(names, times, strict=True)], lambda ns: _to_numpy(ns, unit)
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
    return np.timedelta64(ns // (_NANOSECONDS[name] * count) * count, name)
