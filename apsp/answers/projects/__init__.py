"""`order` of what depends on one another; `critical_path`: earliest and latest starts, slack, the critical path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from operator import add, sub
from pathlib import Path
from typing import Any

import numpy as np

from semiring.host.errors import DivergenceError, DomainError
from semiring.host.types import Axes, Drawn, Fields, Frame, Input, Label, Scalar, Values

from ...io.display import frames, notebook, output
from ...io.inputs import as_graph
from ...io.labels import Labels
from ...io.reading.options import BY_RULE, NullValue
from ..result import drawing
from .tasks import Duration, Project, alike, identity, project_of

#: Maximum number of tasks printed.
_SHOWN = 60
#: Units of the time axis, in seconds.
_UNITS = {"days": 86_400, "hours": 3600, "minutes": 60}
_HEADINGS = ("task", "earliest", "latest", "slack")
#: The rule that a cycle breaks.
_NEED = "no task may wait for itself, got the cycle {}. Leave one of these dependencies out."


@dataclass(frozen=True, repr=False)
class CriticalPath:
    """The schedule of a project, by task, in the type of the durations; prints as a table.

    Attributes
    ----------
    length : number or duration
        Total duration.
    path : list
        Critical tasks, each dependent on the previous one; a last milestone is among them.
    earliest, latest : dict
        Earliest start, and latest start that does not delay the project, from its start.
    slack : dict
        latest − earliest.
    durations : dict
    frames : {"pandas", "polars"}, optional
        Library of `to_frame`; by default the installed one.

    See Also
    --------
    critical_path : Computes it.
    to_frame, plot : A table; a Gantt chart.

    Notes
    -----
    `to_frame` and `plot` are O(n) for n tasks; the first picture loads matplotlib.

    Examples
    --------
    >>> from apsp import critical_path
    >>> c = critical_path({"walls": 5, "roof": 2, "garden": 3}, {"roof": ["walls"]})
    >>> c.length, c.path, c.slack["garden"]
    (7, ['walls', 'roof'], 4)
    """

    length: Duration
    path: list[Label]
    earliest: dict[Label, Duration]
    latest: dict[Label, Duration]
    slack: dict[Label, Duration]
    durations: dict[Label, Duration]
    frames: str | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        path = f": {output.walk(self.path)}" if self.path else ""
        return f"<CriticalPath: {len(self.earliest)} tasks, {self.length} in all{path}>"

    def __str__(self) -> str:
        lines = [list(map(str, line)) for line in (_HEADINGS, *self._rows(_SHOWN))]
        shown = notebook.aligned(lines, range(1, len(_HEADINGS)))
        left = len(self.earliest) - _SHOWN
        more = [f"(and {left} tasks more: to_frame has all)"] if left > 0 else []
        return "\n".join([*shown, *more, self._summary()])

    def _repr_html_(self) -> str:
        rows = self._rows(_SHOWN)
        note = f"The first {len(rows)} of {len(self.earliest)} tasks." if len(rows) < len(self.earliest) else ""
        return notebook.table(self._summary(), _HEADINGS, rows, note)

    def _summary(self) -> str:
        return f"{self.length} in all: {output.walk(self.path)}"

    def _rows(self, count: int) -> list[Values]:
        first = list(self.earliest)[:count]
        return [(task, self.earliest[task], self.latest[task], self.slack[task]) for task in first]

    def to_frame(self) -> Frame:
        """The plan as a pandas or Polars table: `task`, `duration`, `earliest`, `latest` and `slack`.

        Of the library of the durations, else of the installed one.

        Raises
        ------
        ImportError
            If neither library is installed.

        Examples
        --------
        >>> from apsp import critical_path
        >>> critical_path([("walls", 5, []), ("roof", 2, ["walls"])]).to_frame()  # doctest: +SKIP
            task  duration  earliest  latest  slack
        0  walls         5         0       0      0
        1   roof         2         5       5      0
        """
        named = {"duration": self.durations, "earliest": self.earliest, "latest": self.latest, "slack": self.slack}
        values: Fields = {name: [by_task[task] for task in self.earliest] for name, by_task in named.items()}
        if isinstance(self.length, np.timedelta64):
            values = {name: np.array(column, "m8[ns]") for name, column in values.items()}
        return frames.columns({"task": list(self.earliest), **values}, self.frames)

    def plot(self, *, ax: Axes = None, save: str | Path | None = None) -> Drawn:
        """Draw a Gantt chart: bars from the earliest starts, critical ones orange, slack grey, milestones as diamonds.

        The axis is in the unit of the durations; for time types in days, hours, minutes or seconds, by length.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        save : path, optional
            A `.png`, `.svg` or `.pdf` file to write.

        Raises
        ------
        ValueError, OSError
            If the file's suffix is unknown; if the file cannot be written.
        ImportError
            If matplotlib is missing.

        Examples
        --------
        >>> from apsp import critical_path
        >>> critical_path([("walls", 5, []), ("roof", 2, ["walls"])]).plot(save="plan.png")  # doctest: +SKIP
        """
        tasks = sorted(self.earliest, key=self.earliest.__getitem__)
        unit, in_unit = _unit(self.length)
        start, last, long = (
            [in_unit(by_task[task]) for task in tasks] for by_task in (self.earliest, self.latest, self.durations)
        )
        size = (7.5, min(1.2 + 0.3 * len(tasks), 30.0))
        with drawing.canvas(ax, save, size=size) as axes:
            critical = drawing.gantt(axes, tasks, np.array(start), np.array(last), np.array(long), unit)
            took = f"{in_unit(self.length):.4g} {unit}".strip()
            axes.set_title(f"{took} from start to end, {critical} of {len(tasks)} tasks critical")
        return axes


def critical_path(durations: Any, dependencies: Any = ()) -> CriticalPath:
    """The critical path of a project: longest paths to and from each task, in topological order.

    Start s(v) = max over u before v of s(u) + d(u); remaining time r(v) = d(v) + max over w after v of r(w) (Kelley and
    Walker 1959, "Critical-path planning and scheduling"); with relations and lags, of s(u) plus the wait.

    Parameters
    ----------
    durations : mapping, pandas Series, table, or list of tuples
        Durations ≥ 0 by task: numbers, `pandas.Timedelta`, `numpy.timedelta64` or `datetime.timedelta` (one type, that
        of the answer). `{"walls": 5}`; a Series indexed by task; or a two-column table (pandas, Polars, PyArrow).

        Or with dependencies: tuples (task, duration, predecessors), a mapping {task: (duration, predecessors)}, or a
        table or records with columns task, duration and predecessors, or similar (an error lists the names).
        Predecessors are a list of tasks, one task, none (None, NaN or ""), or a text, "walls, roof". As in Microsoft
        Project, a column ID beside Name is what they refer to, and durations may be texts in one unit, "5 days".

        Predecessors finish before the task starts (FS), or by a relation behind the name: "walls SS+2" is 2 or more
        after walls starts; also FF and SF, with a lag or lead in the unit of the durations (SS+2d beside timedeltas).
    dependencies : mapping, iterable of pairs, or table of two columns, optional
        Predecessors by task, `{"roof": ["walls"]}`; or pairs (before, after), `[("walls", "roof")]`, or their table.

    Raises
    ------
    DivergenceError, VertexError
        If dependencies have a cycle (naming it); if a dependency is no task, or a task has two durations.
    DomainError, DTypeError
        If a duration is negative, infinite or no number, or the total exceeds int64 or float64 (2⁶³ nanoseconds, 292
        years); if arguments have another form.

    See Also
    --------
    CriticalPath.to_frame, CriticalPath.plot : Table and chart.
    shortest_paths : Over "critical_path" (max-plus), for any graph.

    Notes
    -----
    O(n + m) for n tasks and m dependencies.

    Examples
    --------
    >>> from apsp import critical_path
    >>> plan = critical_path({"walls": 5, "roof": 2, "garden": 3}, {"roof": ["walls"]})
    >>> plan.length, plan.path, plan.slack
    (7, ['walls', 'roof'], {'walls': 0, 'roof': 0, 'garden': 4})
    >>> from datetime import timedelta
    >>> day = timedelta(days=1)
    >>> print(critical_path([("walls", 5 * day, None), ("roof", 2 * day, "walls")]))
    task          earliest           latest    slack
    walls          0:00:00          0:00:00  0:00:00
    roof   5 days, 0:00:00  5 days, 0:00:00  0:00:00
    7 days, 0:00:00 in all: walls → roof
    """
    project = project_of(durations, dependencies)
    tasks = project.names
    time = alike(project.times)
    tails, waits, first = _by_head(project, time)
    order: Sequence[int] = range(len(time))
    if not (project.heads > project.tails).all():  # tasks are not listed in order
        arcs = zip(project.tails, project.heads.tolist(), strict=True)
        order = topological(len(time), arcs, tasks, where="critical_path", need=_NEED)
    earliest, rest = [0 * d for d in time], list(time)
    for v in order:
        for e in range(first[v], first[v + 1]):
            start = earliest[tails[e]] + waits[e]
            if start > earliest[v]:
                earliest[v] = start
    for v in reversed(order):
        for e in range(first[v], first[v + 1]):
            left = rest[v] + waits[e]
            if left > rest[tails[e]]:
                rest[tails[e]] = left
    length = max(rest, default=0)
    _require_fit(length)
    path: list[int] = []
    finish = list(map(add, earliest, time))
    last = max(finish, default=0)
    ends = [v for v in reversed(order) if finish[v] == last]
    ends = [max(ends, key=earliest.__getitem__)] if ends else []  # a milestone, if there is one
    while ends:
        path.append(ends[0])
        v = ends[0]
        ends = [tails[e] for e in range(first[v], first[v + 1]) if earliest[tails[e]] + waits[e] == earliest[v]]
    rounding = len(time) * np.finfo(float).eps * float(length)  # of sums from the start, and from the end
    late = zip(earliest, (length - r for r in rest), strict=True)
    latest = [x if isinstance(y, float) and abs(y - x) <= rounding else y for x, y in late]

    def by_task(times: Iterable[Scalar]) -> dict[Label, Duration]:
        return dict(zip(tasks, times if project.kind is identity else map(project.kind, times), strict=True))

    return CriticalPath(
        length=project.kind(length), path=[tasks[v] for v in reversed(path)], earliest=by_task(earliest),
        latest=by_task(latest), slack=by_task(map(sub, latest, earliest)), durations=by_task(time),
        frames=frames.library_of(durations),
    )  # fmt: skip


def _by_head(project: Project, time: list[Scalar]) -> tuple[list[int], list[Scalar], list[int]]:
    """Dependencies in the order of their heads: tails, least times between both starts, and the first of each head."""
    waits = [time[u] for u in project.tails]
    for e, (relation, lag) in project.lags.items():
        u, v = project.tails[e], project.heads[e]
        more = lag if isinstance(time[u], (int, float)) else type(time[u])(str(lag))  # a Decimal, a Fraction
        waits[e] = (relation[0] == "F") * time[u] - (relation[1] == "F") * time[v] + more
    order = np.argsort(project.heads, kind="stable")
    first = np.searchsorted(project.heads[order], np.arange(len(time) + 1))
    order = order.tolist()
    return [project.tails[e] for e in order], [waits[e] for e in order], first.tolist()


def _require_fit(length: Scalar) -> None:
    """Raise DomainError if the total exceeds the numeric type."""
    integral = isinstance(length, int)
    most = np.iinfo(np.int64).max if integral else np.finfo(np.float64).max
    if length > most:
        raise DomainError(
            f"critical_path: the whole project must fit {'int64' if integral else 'float64'}, got one that lasts "
            f"beyond {most}. Choose a larger unit{', or pass durations as float, which rounds' if integral else ''}."
        )


def _unit(length: Duration) -> tuple[str, Callable[[Duration], float]]:
    """The unit of the time axis, and the conversion to it."""
    if isinstance(length, np.timedelta64):
        one: Any = np.timedelta64(1, "s")
        seconds: Callable[[Duration], float] = lambda time: float(time / one)  # noqa: E731
    elif isinstance(length, timedelta):
        seconds = timedelta.total_seconds
    else:
        return "", float
    long = seconds(length)
    name, size = next(((name, size) for name, size in _UNITS.items() if long >= 2 * size), ("seconds", 1))
    return name, lambda time: seconds(time) / size


def order(graph: Input, *, null_value: NullValue = BY_RULE) -> list[Label]:
    """A topological order: vertices so that every edge leads to a later one.

    Parameters
    ----------
    graph : graph
        As in `shortest_paths`. Of a matrix the diagonal is ignored; of a list an edge from a vertex to itself is a
        cycle.
    null_value : number or None, optional
        As in `as_graph`.

    Returns
    -------
    list of labels
        Among vertices that no edge orders, those that wait for nothing come first, in the order of the graph.

    Raises
    ------
    DivergenceError
        If there is a cycle; `cycle` names it, in order, the first vertex not repeated.

    See Also
    --------
    critical_path : Earliest and latest starts in that order.
    transitive_closure : Components, where there are cycles.

    Notes
    -----
    O(n + m) (Kahn 1962).

    Examples
    --------
    >>> from apsp import order
    >>> order([("walls", "roof"), ("ground", "walls"), ("ground", "garden")])
    ['ground', 'walls', 'garden', 'roof']
    """
    posed = as_graph(graph, null_value=null_value)
    tails, heads, _ = posed.edges("lor_land")
    if posed.dense is not None:
        apart = tails != heads
        tails, heads = tails[apart], heads[apart]
    arcs, need = zip(tails.tolist(), heads.tolist(), strict=True), "there must be no cycle, got {}"
    found = topological(posed.n, arcs, posed.labels, where="order", need=f"{need}. Leave one of these edges out.")
    return [posed.labels[v] for v in found]


def topological(n: int, arcs: Iterable[tuple[int, int]], names: Labels, *, where: str, need: str) -> list[int]:
    """A topological order of n vertices (Kahn 1962); raises DivergenceError naming a cycle."""
    before: list[list[int]] = [[] for _ in range(n)]
    after: list[list[int]] = [[] for _ in range(n)]
    for u, v in arcs:
        before[v].append(u)
        after[u].append(v)
    waits = list(map(len, before))
    found = [v for v, count in enumerate(waits) if not count]
    for v in found:
        for w in after[v]:
            waits[w] -= 1
            if not waits[w]:
                found.append(w)
    if len(found) < n:  # each remaining vertex waits for another one
        v, seen = next(v for v, count in enumerate(waits) if count), dict[int, int]()
        while v not in seen:
            seen[v] = len(seen)
            v = next(u for u in before[v] if waits[u])
        cycle = [names[u] for u in reversed(list(seen)[seen[v] :])]
        shown = output.walk([*cycle, cycle[0]])
        raise DivergenceError(f"{where}: {need.format(shown)}", cycle[0], cycle)
    return found
