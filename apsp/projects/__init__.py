"""`critical_path`: when each task of a project can start, when it must, and which tasks leave no time to spare."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semiring.errors import DivergenceError, DomainError, DTypeError, VertexError

from .display import notebook
from .graph import Graph
from .inputs.frames import columns_of, is_table
from .labels import Labels
from .result import Result, shortest_paths


@dataclass(frozen=True)
class CriticalPath:
    """When the tasks of a project can and must start; by task, in the unit of the durations. It prints as a table.

    Attributes
    ----------
    length : number
        How long the whole project takes.
    path : list
        Tasks, each of which waits for the one before, that take so long together: no one of them may be late.
    earliest, latest : dict
        The first moment at which each task can start, and the last at which it may, if the project is not to be late.
    slack : dict
        How much a task may be late: latest − earliest.
    """

    length: Any
    path: list[Any]
    earliest: dict[Any, Any] = field(repr=False)
    latest: dict[Any, Any] = field(repr=False)
    slack: dict[Any, Any] = field(repr=False)

    def __str__(self) -> str:
        lines = [list(map(str, line)) for line in (_HEADINGS, *self._rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(x.rjust(w) if k else x.ljust(w) for k, (x, w) in enumerate(zip(x, widths, strict=True)))
            for x in lines
        ]
        return "\n".join([*shown, f"{self.length} in all: {' → '.join(map(str, self.path))}"])

    def _repr_html_(self) -> str:
        path = " → ".join(map(str, self.path))
        return notebook.table(f"{self.length} in all: {path}", _HEADINGS, self._rows())

    def _rows(self) -> list[tuple[Any, ...]]:
        return [(task, self.earliest[task], self.latest[task], self.slack[task]) for task in self.earliest]


_HEADINGS = ("task", "earliest", "latest", "slack")


def critical_path(durations: Any, dependencies: Any = ()) -> CriticalPath:
    """The critical path of a project, from the max-plus closure of its tasks.

    With the arc u → v of weight d(u) where v waits for u, and the closure D: v can start at max over u of D[u, v], and
    after it begins the project goes on for max over u of D[v, u] + d(u) (Kelley and Walker 1959, "Critical-path
    planning and scheduling").

    Parameters
    ----------
    durations : mapping, pandas Series, or table of two columns
        How long each task takes, a number of at least 0: `{"walls": 5}`, a Series whose index names the tasks, or a
        table of pandas, Polars or PyArrow with the tasks and then their durations, `df[["task", "days"]]`.
    dependencies : mapping, iterable of pairs, or table of two columns
        For each task those that must be finished before it, `{"roof": ["walls"]}`; or pairs (before, after),
        `[("walls", "roof")]`, also as the rows of a table. A task that waits for none need not be there.

    Returns
    -------
    CriticalPath

    Raises
    ------
    DivergenceError
        If tasks wait for one another in a cycle; it names them.
    VertexError
        If a dependency names a task that has no duration, or a task has two.
    DomainError, DTypeError
        If a duration is negative, infinite, or no number, or the project lasts longer than int64 or float64 holds; if
        durations or dependencies are none of these.

    Examples
    --------
    >>> from apsp import critical_path
    >>> plan = critical_path({"walls": 5, "roof": 2, "garden": 3}, {"roof": ["walls"]})
    >>> plan.length, plan.path, plan.slack
    (7, ['walls', 'roof'], {'walls': 0, 'roof': 0, 'garden': 4})
    """
    names, times = _durations(durations)
    tasks = Labels(names)
    pairs = [(_position(tasks, u), _position(tasks, v)) for u, v in _pairs(dependencies)]
    # Read as weights are: exact integers, or floats.
    d = Graph.from_arrays(np.zeros(len(tasks), int), np.zeros(len(tasks), int), times, n=len(tasks))
    time = np.zeros(0) if d.weights is None else d.weights
    tails, heads = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    arcs = Graph.from_arrays(tails, heads, time[tails], n=len(tasks), labels=tasks)
    try:
        r = shortest_paths(arcs, "max_plus")
    except DivergenceError as error:
        raise _cycle(list(error.cycle)) from None
    _refuse_waiting_in_a_ring(r, tasks)
    D = np.where(r.reachable, r.distances.astype(time.dtype), 0)
    earliest = D.max(axis=0, initial=0)
    with np.errstate(over="ignore"):
        last = np.where(r.reachable, D + time, 0)  # entry (v, u): from the start of v to the end of u
    if ((last < 0) | np.isinf(last)).any():  # a sum of numbers none of which is negative or infinite
        whole = last.dtype.kind == "i"
        raise DomainError(
            f"critical_path: the whole project must fit {last.dtype}, got one that lasts beyond "
            f"{np.iinfo(last.dtype).max if whole else np.finfo(last.dtype).max}. Choose a larger unit"
            f"{', or pass durations as float, which rounds' if whole else ''}."
        )
    rest = last.max(axis=1, initial=0)
    length = rest.max(initial=0)
    latest = length - rest
    ends = np.unravel_index(last.argmax(), last.shape) if len(tasks) else ()
    return CriticalPath(
        length.item(),
        r.path(*(tasks[int(end)] for end in ends)) if len(tasks) else [],
        *(dict(zip(tasks, x.tolist(), strict=True)) for x in (earliest, latest, latest - earliest)),
    )


def _pairs(dependencies: Any) -> Iterable[tuple[Any, Any]]:
    """(before, after) of any form."""
    if is_table(dependencies):
        return list(zip(*_two_columns(dependencies, "dependencies", "before, after"), strict=True))
    if not isinstance(dependencies, Iterable):
        raise DTypeError(
            f"critical_path: dependencies must be a mapping, pairs or a table, got {dependencies!r}. Leave "
            "them out for none."
        )
    if not isinstance(dependencies, Mapping):
        pairs = list(dependencies)
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise DTypeError(f"critical_path: dependencies must be pairs (before, after), got {pair!r}.")
        return pairs
    for task, before in dependencies.items():
        if isinstance(before, str) or not isinstance(before, Iterable):
            raise VertexError(
                f"critical_path: what {task!r} waits for must be a list of tasks, got {before!r}. Write [{before!r}]."
            )
    return [(u, v) for v, before in dependencies.items() for u in before]


def _position(tasks: Labels, task: Hashable) -> int:
    if task not in tasks:
        raise VertexError(f"critical_path: every task must have a duration, got a dependency on {task!r} without one.")
    return tasks.position(task)


def _durations(durations: Any) -> tuple[list[Any], list[Any]]:
    """Tasks and how long they take."""
    if is_table(durations):
        names, times = _two_columns(durations, "durations", "task, duration")
    elif callable(getattr(durations, "items", None)):  # a mapping, or a Series
        items = list(durations.items())
        names, times = [task for task, _ in items], [time for _, time in items]
    else:
        came = type(durations).__name__
        raise DTypeError(f'critical_path: durations must be a mapping, such as {{"walls": 5}}, got {came}.')
    for task, time in zip(names, times, strict=True):
        if not hasattr(time, "__float__") or getattr(time, "dtype", np.dtype(float)).kind not in "biuf":
            raise DTypeError(f"critical_path: durations must be numbers, got {time!r} for {task!r}. Choose a unit.")
        if not 0 <= time < math.inf:
            raise DomainError(f"critical_path: durations must be finite and at least 0, got {time} for {task!r}.")
    return names, times


def _two_columns(source: Any, what: str, wanted: str) -> tuple[list[Any], list[Any]]:
    """The columns of a table that has two."""
    columns = columns_of(source)
    if len(columns) != 2:
        raise DTypeError(
            f"critical_path: a table of {what} must have two columns, {wanted}, got "
            f"{', '.join(map(repr, columns)) or 'none'}. Take them: table[[…, …]]."
        )
    first, second = columns.values()
    return first, second


def _refuse_waiting_in_a_ring(r: Result, tasks: Labels) -> None:
    """A cycle of tasks that take no time: the closure exists, the project does not."""
    mutual = r.reachable & r.reachable.T
    np.fill_diagonal(mutual, False)
    loops = (
        [] if r.graph.rows is None or r.graph.cols is None else np.flatnonzero(r.graph.rows == r.graph.cols).tolist()
    )
    if mutual.any():
        u, v = (tasks[int(x)] for x in np.unravel_index(mutual.argmax(), mutual.shape))
        raise _cycle([*r.path(u, v), *r.path(v, u)[1:-1]])
    if loops and r.graph.rows is not None:
        raise _cycle([tasks[int(r.graph.rows[loops[0]])]])


def _cycle(names: list[Any]) -> DivergenceError:
    ring = " → ".join(str(name) for name in [*names, *names[:1]])
    return DivergenceError(
        f"critical_path: no task may wait for itself, got the cycle {ring}. Leave one of these dependencies out.",
        names[0] if names else None,
        names,
    )
