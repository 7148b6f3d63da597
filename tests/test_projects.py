"""Critical paths against NetworkX's longest paths, and by hand."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from apsp import critical_path
from semiring import DivergenceError, DomainError, DTypeError, VertexError

HOUSE = {"plans": 3, "walls": 5, "roof": 2, "garden": 4, "move in": 1}
AFTER = {"walls": ["plans"], "roof": ["walls"], "garden": ["plans"], "move in": ["roof", "garden"]}


def test_a_house():
    c = critical_path(HOUSE, AFTER)
    assert c.length == 11
    assert c.path == ["plans", "walls", "roof", "move in"]
    assert c.earliest == {"plans": 0, "walls": 3, "roof": 8, "garden": 3, "move in": 10}
    assert c.latest == {"plans": 0, "walls": 3, "roof": 8, "garden": 6, "move in": 10}
    assert c.slack == {"plans": 0, "walls": 0, "roof": 0, "garden": 3, "move in": 0}
    assert type(c.length) is int
    pairs = [(before, task) for task, befores in AFTER.items() for before in befores]
    assert critical_path(HOUSE, pairs) == c
    assert "garden" in str(c)
    assert "11 in all: plans → walls → roof → move in" in str(c)
    assert "<table>" in c._repr_html_()


@pytest.mark.parametrize("seed", range(20))
def test_against_longest_paths(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    order = rng.permutation(n).tolist()
    durations = {v: int(rng.integers(0, 9)) for v in range(n)}
    pairs = [(order[i], order[j]) for j in range(n) for i in range(j) if rng.random() < 0.15]
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(durations)
    earliest: dict[int, int] = {}
    for v in nx.topological_sort(graph):
        earliest[v] = max((earliest[u] + durations[u] for u in graph.predecessors(v)), default=0)
    length = max(earliest[v] + durations[v] for v in graph)
    latest: dict[int, int] = {}
    for v in reversed(list(nx.topological_sort(graph))):
        latest[v] = min((latest[w] for w in graph.successors(v)), default=length) - durations[v]
    c = critical_path(durations, pairs)
    assert c.length == length
    assert c.earliest == earliest
    assert c.latest == latest
    assert c.slack == {v: latest[v] - earliest[v] for v in durations}
    assert sum(durations[v] for v in c.path) == length
    assert all(c.slack[v] == 0 for v in c.path)
    assert all(graph.has_edge(u, v) for u, v in zip(c.path, c.path[1:], strict=False))


def test_the_last_task_s_duration_counts():
    assert critical_path({"only": 7}).length == 7
    assert critical_path({"only": 7}).path == ["only"]
    assert critical_path({"a": 2.5, "b": 0.25}, [("a", "b")]).length == 2.75


def test_edges_of_networkx_are_pairs():
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    for edges in (graph.edges, list(graph.edges)):
        assert critical_path({"a": 1, "b": 2, "c": 4}, edges).path == ["a", "b", "c"]


def test_no_tasks_take_no_time():
    c = critical_path({})
    assert (c.length, c.path, c.earliest) == (0, [], {})


def test_many_tasks_and_milestones():
    # Two passes over the dependencies, no table of all pairs; tasks without a duration at both ends are on the path.
    n = 100_000
    c = critical_path({"begin": 0, **dict.fromkeys(range(n), 2), "end": 0}, [
        ("begin", 0), *((v, v + 1) for v in range(n - 1)), *((v, v + 7) for v in range(n - 7)), (n - 1, "end"),
    ])  # fmt: skip
    assert c.length == c.earliest["end"] == 2 * n
    assert c.path == ["begin", *range(n), "end"]
    assert not any(c.slack.values())


@pytest.mark.parametrize(
    ("durations", "dependencies", "ring"),
    [
        ({"a": 1, "b": 2, "c": 3}, [("a", "b"), ("b", "c"), ("c", "a")], {"a", "b", "c"}),
        ({"a": 0, "b": 0, "c": 3}, [("a", "b"), ("b", "a"), ("b", "c")], {"a", "b"}),
        ({"a": 1, "b": 2, "c": 3}, [("a", "b"), ("c", "b"), ("b", "c")], {"b", "c"}),
        ({"a": 1}, [("a", "a")], {"a"}),
        ({"a": 0, "b": 1}, [("a", "a")], {"a"}),
    ],
)
def test_a_cycle_is_named_by_its_tasks(durations, dependencies, ring):
    with pytest.raises(DivergenceError, match="→") as caught:
        critical_path(durations, dependencies)
    assert set(caught.value.cycle) == ring
    assert len(caught.value.cycle) == len(ring)


def test_wrong_tasks_are_refused_in_words():
    with pytest.raises(VertexError, match=r"'roof'.*without"):
        critical_path({"walls": 1}, [("walls", "roof")])
    with pytest.raises(DomainError, match="-1 for 'b'"):
        critical_path({"a": 1, "b": -1})
    with pytest.raises(DomainError, match="'a'"):
        critical_path({"a": float("inf")})
    with pytest.raises(DomainError):
        critical_path({"a": float("nan")})
    for odd, shown in (("two", "'two'"), (True, "True"), (np.bool_(True), "True")):
        with pytest.raises(DTypeError, match=f"must be numbers, got .*{shown}.* for 'a'"):
            critical_path({"a": odd})
    assert critical_path({"walls": 1, "plans": 2}, {"walls": "plans"}).path == ["plans", "walls"]


def test_records_as_json_has_them():
    rows = [
        {"name": task, "days": days} | ({"after": AFTER[task]} if task in AFTER else {}) for task, days in HOUSE.items()
    ]
    assert critical_path(rows) == critical_path(HOUSE, AFTER)
    assert critical_path([{"task": "a", "hours": 3}, {"task": "b", "hours": 4}], {"b": "a"}).length == 7
    with pytest.raises(DTypeError, match="one column of a table of tasks must be the duration"):
        critical_path([{"task": "a", "cost": 1, "after": ""}])
    with pytest.raises(DTypeError, match="must be a mapping"):
        critical_path([{"task": "a", "hours": 3}, ("b", 3)])


def test_tables_as_planners_have_them():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    expected = critical_path(HOUSE, AFTER)
    rows = [(before, task) for task, befores in AFTER.items() for before in befores]
    before, after = map(list, zip(*rows, strict=True))
    series = pandas.Series(HOUSE, name="days")
    assert critical_path(series, AFTER) == expected
    assert type(critical_path(series, AFTER).length) is int
    for frames in (pandas, polars):
        tasks = frames.DataFrame({"task": list(HOUSE), "days": list(HOUSE.values())})
        order = frames.DataFrame({"before": before, "after": after})
        assert critical_path(tasks, order) == expected
        assert critical_path(tasks, rows) == expected
        with pytest.raises(DTypeError, match=r"two columns, before, after, got 'task'\. Take"):
            critical_path(tasks, tasks[["task"]])
        for pairs in ({"b": "a"}, [("a", "b")]):
            with pytest.raises(DTypeError, match="two columns, task, duration, got 'task', 'days', 'behind'"):
                critical_path(frames.DataFrame({"task": ["a"], "days": [1], "behind": ["b"]}), pairs)
        with pytest.raises(DTypeError, match=r"the predecessors, named predecessors or .*Rename"):
            critical_path(frames.DataFrame({"task": ["a"], "days": [1], "behind": ["b"]}))
    with pytest.raises(VertexError, match="walls"):
        critical_path(pandas.Series([1, 2], index=["walls", "walls"]))
    with pytest.raises(VertexError, match="dependency on None"):
        critical_path(tasks, polars.DataFrame({"before": [None], "after": ["walls"]}))


@pytest.mark.parametrize(
    ("durations", "dependencies", "words"),
    [
        ([("walls", 5, "plans", 3)], (), "durations must be a mapping"),
        ([("walls", 5, "plans")], [("plans", "walls")], "with dependencies"),
        (["walls"], (), "durations must be a mapping.*got 'walls'"),
        (5, (), "durations must be a mapping"),
        (HOUSE, [("plans", "walls", 2)], "pairs"),
        (HOUSE, ["plans"], "pairs"),
        (HOUSE, "ab", "pairs"),
    ],
)
def test_what_is_neither(durations, dependencies, words):
    with pytest.raises(DTypeError, match=words):
        critical_path(durations, dependencies)


def test_a_project_that_lasts_longer_than_its_numbers_hold_is_refused():
    """In all it takes 2⁶³, which int64 would wrap to a negative number; each task starts before."""
    with pytest.raises(DomainError, match=r"whole project must fit int64.*float"):
        critical_path({"a": 2**62, "b": 2**62}, [("a", "b")])
    assert critical_path({"a": 2**62, "b": 2**62 - 1}, [("a", "b")]).length == 2**63 - 1
    with pytest.raises(DomainError, match="must fit"):
        critical_path({"a": 2**62, "b": 2**62, "c": 2**62}, [("a", "b"), ("b", "c")])
    with pytest.raises(DomainError, match=r"whole project must fit float64, .* Choose a larger unit\.$"):
        critical_path({"a": 1e308, "b": 1e308}, {"b": ["a"]})
    with pytest.raises(DTypeError, match="dependencies must be a mapping, pairs or a table, got None"):
        critical_path({"a": 1}, None)


def test_a_duration_that_is_no_length_of_time():
    for time in (np.timedelta64(5), np.timedelta64(5, "M"), np.timedelta64("NaT", "D")):
        with pytest.raises(DTypeError, match=r"got (np|numpy)\.timedelta64"):
            critical_path({"walls": time, "roof": np.timedelta64(1, "D")})
        with pytest.raises(DTypeError, match=r"durations? must"):
            critical_path({"a": time})
    with pytest.raises(DTypeError, match=r"one kind, datetime\.timedelta, got 5 for 'b'"):
        critical_path({"a": timedelta(1), "b": 5})
    with pytest.raises(DomainError, match=r"at least 0, got datetime\.timedelta\(days=-1\) for 'a'"):
        critical_path({"a": -timedelta(1)})


def kinds_of_days():
    yield lambda days: timedelta(days=days)
    yield lambda days: np.timedelta64(days, "D")
    yield lambda days: np.timedelta64(days * 24, "h")
    pandas = pytest.importorskip("pandas")
    yield lambda days: pandas.Timedelta(days, "D")
    yield lambda days: pandas.Timedelta(days * 86_400 * 10**9, "ns")


def test_durations_with_a_unit_come_back_in_kind():
    for of in kinds_of_days():
        c = critical_path({task: of(days) for task, days in HOUSE.items()}, AFTER)
        plain = critical_path(HOUSE, AFTER)
        assert type(c.length) is type(of(1))
        assert (c.length, c.path) == (of(11), plain.path)
        for name in ("earliest", "latest", "slack", "durations"):
            assert getattr(c, name) == {task: of(days) for task, days in getattr(plain, name).items()}
        assert isinstance(c.length, timedelta) or c.length.dtype == of(1).dtype
        assert len(str(c).splitlines()) == 7


ROWS = [(task, days, AFTER.get(task)) for task, days in HOUSE.items()]


def test_a_project_in_one_piece():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = critical_path(HOUSE, AFTER)
    assert critical_path(ROWS) == expected
    assert critical_path({task: (days, before) for task, days, before in ROWS}) == expected
    texts = [None if before is None else ", ".join(before) for _, _, before in ROWS]
    for frames in (pandas, polars):
        table = {"Predecessors": texts, "Task": list(HOUSE), "Days": list(HOUSE.values()), "owner": "me"}
        c = critical_path(frames.DataFrame(table))
        assert c == expected
        shown = c.to_frame()
        assert isinstance(shown, frames.DataFrame)
        assert list(shown.columns) == ["task", "duration", "earliest", "latest", "slack"]
        assert shown["slack"].to_list() == [0, 0, 0, 3, 0]
    numbered = pandas.DataFrame({"id": [1, 2, 3], "hours": [2, 3, 4], "predecessors": [None, 1, 1]})  # 1.0 there
    assert critical_path(numbered).path == [1, 3]
    assert critical_path([(1, 2, ""), (2, 3, "1"), (3, 4, "1; 2")]).path == [1, 2, 3]
    assert critical_path([("a, b", 2, ""), ("c", 3, "a, b")]).path == ["a, b", "c"]
    with pytest.raises(VertexError, match="dependency on 'cellar' without"):
        critical_path([("a", 1, None), ("b", 1, "a; cellar")])


def test_a_table_of_timedeltas_gives_one_back():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = pandas.to_timedelta([3, 5], unit="D")
    c = critical_path(pandas.DataFrame({"task": ["a", "b"], "duration": days, "predecessors": [None, "a"]}))
    assert c.to_frame()["earliest"].tolist() == [pandas.Timedelta(0), pandas.Timedelta(3, "D")]
    assert str(c.to_frame()["slack"].dtype).startswith("timedelta64")
    halves = polars.DataFrame({"task": ["a"], "duration": [timedelta(hours=12)], "predecessors": [""]})
    assert critical_path(halves).to_frame()["duration"].to_list() == [timedelta(hours=12)]
    assert critical_path({"a": np.timedelta64(3, "D")}).to_frame()["latest"].to_list() == [timedelta(0)]


def test_a_gantt_chart(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.colors import to_rgba

    for of, unit in ((lambda days: days, "time"), (lambda days: timedelta(days=days), "days")):
        c = critical_path([*((task, of(days), before) for task, days, before in ROWS), ("done", of(0), "move in")])
        ax = c.plot()
        bars = {
            (patch.get_facecolor(), round(patch.get_y() + patch.get_height() / 2)): (patch.get_x(), patch.get_width())
            for patch in ax.patches
        }
        tasks = [text.get_text() for text in ax.get_yticklabels()]
        assert tasks == ["plans", "walls", "garden", "roof", "move in", "done"]
        red, blue, grey = map(to_rgba, ("#d55e00", "#56b4e9", "0.8"))
        assert bars[red, 1] == (3, 5)
        assert bars[blue, 2] == (3, 4)
        assert bars[grey, 2] == (7, 3)
        assert len(bars) == 6
        assert ax.collections[0].get_offsets().tolist() == [[11, 5]]
        assert ax.get_xlabel() == unit
        assert ax.yaxis_inverted()
    c.plot(save=tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text().startswith("<?xml")
    assert len(critical_path({}).plot().patches) == 0
    rounded = critical_path([(k, 0.1, k - 1 if k else None) for k in range(12)])
    assert {patch.get_facecolor() for patch in rounded.plot().patches} == {red}
    assert critical_path({"done": 0}).plot().collections[0].get_offsets().tolist() == [[0, 0]]


def waiting(durations, relations, relation, lag):
    """From the start of one task to that of another, at least."""
    u, v = relations
    return (durations[u] if relation[0] == "F" else 0) + lag - (durations[v] if relation[1] == "F" else 0)


def test_relations_and_lags_against_relaxation():
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(1, 9))
        durations = rng.integers(0, 7, n).tolist()
        arcs = [
            (u, v, str(rng.choice(["FS", "SS", "FF", "SF"])), int(rng.integers(-3, 4)))
            for v in range(n)
            for u in range(v)
            if rng.random() < 0.4
        ]
        texts = [[f"t{u} {r}{lag:+d}" if lag else f"t{u} {r}" for u, w, r, lag in arcs if w == v] for v in range(n)]
        plan = critical_path([(f"t{v}", durations[v], texts[v]) for v in range(n)])
        start = [0] * n
        for _ in range(n):
            for u, v, *rest in arcs:
                start[v] = max(start[v], start[u] + waiting(durations, (u, v), *rest))
        length = max(s + d for s, d in zip(start, durations, strict=True))
        late = [length - d for d in durations]
        for _ in range(n):
            for u, v, *rest in arcs:
                late[u] = min(late[u], late[v] - waiting(durations, (u, v), *rest))
        assert plan.length == length
        assert list(plan.earliest.values()) == start
        assert list(plan.latest.values()) == late
        assert all(plan.slack[task] == 0 for task in plan.path)


def test_a_table_of_microsoft_project():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "ID": [1, 2, 3, 4],
            "Name": ["Dig", "Pour", "Build", "Done"],
            "Duration": ["5 days", "3 days?", "10 days", "0 days"],
            "Predecessors": [None, "1FS+2 days", "2SS+1 day;1", "3"],
        }
    )
    plan = critical_path(table)
    assert (plan.length, plan.path) == (18, ["Dig", "Pour", "Build", "Done"])
    assert plan.earliest == {"Dig": 0, "Pour": 7, "Build": 8, "Done": 18}
    single = table.assign(Predecessors=[None, 1, 2, 3])  # which pandas keeps as floats
    assert critical_path(single).length == 18
    assert critical_path(table.assign(Name=["a", "a", "b", "c"])).path == [1, 2, 3, 4]  # two tasks of one name
    with pytest.raises(VertexError, match=r"got 3.*, which fits two"):
        critical_path(table.assign(Name=["a", "b", "c", 3], Predecessors=[None, 1, 3, 2]))


def test_lags_of_durations_of_time():
    day = timedelta(days=1)
    plan = critical_path([("A", 5 * day, None), ("B", 3 * day, "A SS+2d"), ("C", day, ["B FS+12h"])])
    assert plan.earliest["C"] == 5.5 * day
    with pytest.raises(DTypeError, match="lag must be in the unit"):
        critical_path([("A", 5 * day, None), ("B", day, "A SS+2")])


def test_milliseconds_are_no_minutes():
    day = timedelta(days=1)
    for lag in ("SS+2ms", "SS+2 milliseconds"):
        assert critical_path([("A", day, None), ("B", day, f"A {lag}")]).earliest["B"] == timedelta(milliseconds=2)
    with pytest.raises(DTypeError, match="all be in one unit"):
        critical_path([("A", "5 ms", None), ("B", "3 m", "A")])


def test_relations_in_lower_case_where_no_task_has_that_name():
    durations = {"A": 3, "B": 2, "3": 4, "A ss": 7}
    for text, start in (("A ss+1", 1), ("A Ff", 1), ("3fs-1", 3), ("3ss", 0), ("A ss", 7), ("A ss, 3 sS+2", 7)):
        assert critical_path(durations, {"B": text}).earliest["B"] == start, text
    with pytest.raises(VertexError, match=r"got 'B ss' after it"):
        critical_path({"A": 3, "B": 2}, [("A", "B ss")])
    with pytest.raises(VertexError, match="got a dependency on 'Glass'"):
        critical_path({"A": 3}, {"A": "Glass"})


def test_a_relation_behind_the_task_that_waits_is_refused():
    for dependencies in ({"B SS+1": ["A"]}, [("A", "B SS")]):
        with pytest.raises(VertexError, match=r"must follow the task before, as 'A SS\+1', got 'B SS.*' after it"):
            critical_path({"A": 3, "B": 2}, dependencies)
    assert critical_path({1: 3, 2: 2}, [("1SS", "2")]).earliest == {1: 0, 2: 0}


def test_missing_predecessors_of_pandas():
    pd = pytest.importorskip("pandas")
    for cells in (pd.array([pd.NA, "A"], "string"), pd.array([pd.NA, 1], "Int64")):
        table = pd.DataFrame({"id": [1, 2], "task": ["A", "B"], "duration": [3, 2], "predecessors": cells})
        assert critical_path(table).path == ["A", "B"]


def test_what_is_critical_has_no_slack_but_for_rounding():
    plan = critical_path([("A", 0.1, []), ("B", 0.2, ["A"]), ("C", 0.3, ["B"]), ("D", 0.1, ["A"])])
    assert [task for task, slack in plan.slack.items() if slack == 0] == plan.path == ["A", "B", "C"]
    rng = np.random.default_rng(3)
    for _ in range(50):
        durations = rng.random(12).tolist()
        plan = critical_path([(v, d, [u for u in range(v) if rng.random() < 0.3]) for v, d in enumerate(durations)])
        assert min(plan.slack.values()) == 0
        assert not any(plan.slack[task] for task in plan.path)


def test_a_lag_of_hours_is_not_lost_among_days():
    days = [np.timedelta64(k, "D") for k in (5, 1)]
    with pytest.raises(DomainError, match=r"multiples of.*Convert them: duration.astype\('timedelta64\[ns\]'\)"):
        critical_path([("a", days[0], None), ("b", days[1], "a FS+12h")])
    a, b = (duration.astype("timedelta64[ns]") for duration in days)
    assert critical_path([("a", a, None), ("b", b, "a FS+12h")]).earliest["b"] == np.timedelta64(132, "h")


def test_a_last_milestone_is_on_the_path():
    tasks = [("x", 1, None), ("y", 1, "x"), ("z", 3, "y"), ("a", 5, None), ("done", 0, "a")]
    assert critical_path(tasks).path == ["a", "done"]
    assert critical_path([*tasks, ("GRASS", 1, None), ("end", 0, "GRASS, done")]).path == ["a", "done", "end"]


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ({"a": Decimal("1.1"), "b": Decimal("2.2")}, Decimal("3.3")),
        ({"a": Decimal("1.1"), "b": 2}, Decimal("3.1")),
        ({"a": Decimal("1.5"), "b": 2.25}, 3.75),
        ({"a": Fraction(1, 3), "b": Fraction(2, 3)}, Fraction(1)),
        ({"a": np.uint64(2**60 + 1), "b": np.int64(1)}, 2**60 + 2),
        ({"a": np.int8(100), "b": np.int8(100)}, 200),
    ],
)
def test_numbers_become_alike_and_stay_exact(durations, expected):
    c = critical_path(durations, [("a", "b")])
    assert c.length == expected
    assert {type(expected)} == {*map(type, [c.length, *c.earliest.values(), *c.durations.values()])}


@pytest.mark.parametrize("number", [Decimal, Fraction])
def test_a_lag_is_exact_beside_exact_durations(number):
    c = critical_path([("a", number("1.5"), None), ("b", number(2), "a SS+0.1")])
    assert (c.length, c.earliest["b"]) == (number("2.1"), number("0.1"))


def test_the_odd_one_out_is_named():
    rows = [("a", "1 day", None), ("", None, None), ("b", "2 days", "a")]
    with pytest.raises(DTypeError, match=r"got None for ''\. Leave rows that are no tasks out"):
        critical_path(rows)
    with pytest.raises(DTypeError, match=r"a lag must be in the unit of the durations, got 'a FS\+50%'"):
        critical_path([("a", "1 day", None), ("b", "2 days", "a FS+50%")])
    with pytest.raises(VertexError, match="critical_path: labels must be distinct, got 'a' twice"):
        critical_path([("a", 1, None), ("a", 2, None)])
