"""What is said before a computation: a plan to the log, and one warning where nobody would see how long it takes."""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import apsp
from apsp import closure, plan
from apsp.io.display import terminal
from apsp.road.log import Parts, Watch, report_plan
from semiring import Op, Semiring
from semiring.host import compiling
from semiring.kernels.backend import bind


def test_a_plan_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="apsp"), warnings.catch_warnings():
        warnings.simplefilter("error")
        report_plan(plan(100))
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("apsp", "INFO")
    assert "closure of 100 vertices over min_plus" in record.getMessage()


def test_what_takes_minutes_is_one_warning_with_the_ways_out():
    long = replace(plan(100), seconds=600.0)
    with pytest.warns(UserWarning, match=r"10 minutes.*callback=.*device='cuda'") as caught:
        report_plan(long)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_plan(long, lambda done, total: None)
        report_plan(replace(long, seconds=60.0))


def test_times_are_said_in_units_that_suit_them():
    shown = {0.5e-3: "500 µs", 90: "90 s", 600: "10 minutes", 10 * 3600: "10 hours"}
    for seconds, text in shown.items():
        assert text in repr(replace(plan(3), seconds=seconds))


def widest(name: str) -> Semiring:
    """A semiring that nobody has compiled, and whose code is not kept (`keeping.py`)."""
    larger = Op("larger", python=lambda a, b: a if a > b else b, cuda="max(a, b)", selects="greatest")
    lesser = Op("lesser", python=lambda a, b: a if a < b else b, cuda="min(a, b)")
    return Semiring(
        name=f"{name}_anew",
        add=larger,
        mul=lesser,
        zero=-np.inf,
        one=np.inf,
        dtypes=("float64",),
        samples=(1.0, 2.0, 5.0),
    )


def test_the_first_compilation_of_a_semiring_is_logged_once(caplog):
    s, A = widest("told"), np.array([[1.0, 5.0], [3.0, 1.0]])
    with caplog.at_level(logging.INFO, logger="apsp"):
        closure(A, s)
        closure(np.ones((70, 70)), s)
    messages = [r.getMessage() for r in caplog.records if "compiling" in r.getMessage() and "told" in r.getMessage()]
    assert messages == ["compiling kernels of told_anew in float64, once"]
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="apsp"):
        closure(A, s)
    assert not [r for r in caplog.records if "compiling" in r.getMessage()]


def test_the_first_compilation_of_a_semiring_is_shown_in_the_progress_bar(monkeypatch):
    monkeypatch.setattr(terminal.sys.stderr, "isatty", lambda: True, raising=False)
    shown, A = [], np.array([[1.0, 5.0], [3.0, 1.0]])
    show = terminal.Meter._show
    monkeypatch.setattr(terminal.Meter, "_show", lambda self, *what: (shown.append(what), show(self, *what))[1])
    with terminal.Meter("closure") as meter:
        closure(A, widest("shown"), callback=meter.callback)
        assert ("closure: compiling kernels of shown_anew in float64, once", 0, None) in shown
        meter._start = meter._drawn = 0.0  # long ago
        meter.callback(3, 8)
        (task,) = meter._bar.tasks
        assert (task.description, task.completed, task.total) == ("closure", 3, 8)
    shown.clear()
    bind(widest("later"), "float64").step(A.copy(), 0)  # which compiles less than a closure does
    with terminal.Meter("closure", quiet=True):
        bind(widest("unseen"), "float64").step(A.copy(), 0)
    assert not shown


def test_a_terminal_is_told_once_how_much_is_compiled(monkeypatch, capsys):
    """Unless something shows it already."""
    monkeypatch.setattr(compiling, "_announced", set())
    work = compiling.expected.set(lambda: ("min_plus in int32", compiling.Missing(12, 6.2)))
    expected = "compiling 12 kernels of min_plus in int32, about 6 s, once\n"
    try:
        compiling.announce()
        assert capsys.readouterr().err == ""  # a file, or a pipe
        monkeypatch.setattr(compiling.sys.stderr, "isatty", lambda: True, raising=False)
        shown: list[compiling.Notice] = []
        with compiling.listening(shown.append):
            compiling.announce()
        assert [str(notice) + "\n" for notice in shown] == [expected]
        monkeypatch.setattr(compiling, "_announced", set())
        compiling.announce()
        compiling.announce()
    finally:
        compiling.expected.reset(work)
    compiling.announce()  # a kernel of the same work, later
    assert capsys.readouterr().err == expected
    with compiling.about("max_min in int32"):
        compiling.announce()
    assert capsys.readouterr().err == "compiling kernels of max_min in int32, once\n"


def test_work_of_several_parts_is_predicted_and_told_as_it_goes(monkeypatch, capsys):
    now, progress = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(compiling.sys.stderr, "isatty", lambda: True, raising=False)
    seen = Parts("compare", [50, 50], lambda *far: progress.append(far))
    slow = Parts("compare", [10, 0, 20, 10], None)
    for seconds in (20.0, 0.0, 1.0, 30.0):
        now[0] += seconds
        slow()
    quick = Parts("compare", [0.5, 0.5], None)
    for part in (quick, seen):
        part()
        part()
    assert capsys.readouterr().err.splitlines() == ["compare: 25% done, 60 s left. `apsp.progress()` shows a bar."]
    assert progress == [(1, 2), (2, 2)]
    with pytest.warns(UserWarning, match=r"compare is predicted to take 2 minutes\. Pass callback="):
        Parts("compare", [60, 60], None)


def test_seconds_are_those_of_the_work_and_not_of_compiling(monkeypatch):
    now = [0.0]
    for module in ("semiring.host.compiling", "apsp.road.road"):
        monkeypatch.setattr(f"{module}.perf_counter", lambda: now[0])

    def compiled(work):
        now[0] += 100.0
        return work()

    monkeypatch.setattr("semiring.kernels.cpu.compile.undisturbed", compiled)
    r = apsp.shortest_paths(np.array([[1.0, 5.0], [3.0, 1.0]]), semiring=widest("timed"), engine="dense")
    assert now[0] >= 100.0
    assert r.seconds == 0.0


def test_what_is_found_on_disk_is_not_announced():
    closure(np.ones((3, 3)))
    notices = []
    with compiling.listening(notices.append):
        closure(np.ones((3, 3)))
    assert not notices


def spoken(monkeypatch, capsys, *seconds):
    """The lines on a terminal's stderr about work of 1,000 parts, of which 100 are done at each of these times."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    watch = Watch("betweenness", 1000, None)
    for k, now[0] in enumerate(seconds, 1):
        watch(100 * k)
    return capsys.readouterr().err.splitlines()


def test_one_line_says_how_far_long_work_is(monkeypatch, capsys):
    monkeypatch.setattr(compiling.sys.stderr, "isatty", lambda: True, raising=False)
    assert spoken(monkeypatch, capsys, 0.5, 1.0, 2.9) == []
    line = "betweenness: 40% done, 6 s left. `apsp.progress()` shows a bar."
    assert spoken(monkeypatch, capsys, 1, 2, 2.5, 4, 5, 60, 61) == [line]
    with apsp.progress(False):
        assert spoken(monkeypatch, capsys, 1, 2, 2.5, 4, 5) == []
    monkeypatch.setattr(compiling.sys.stderr, "isatty", lambda: False, raising=False)
    assert spoken(monkeypatch, capsys, 1, 2, 2.5, 4, 5) == []  # a file or another program reads


def test_bars_of_a_program_s_own_are_called_for_all_work():
    g, seen = apsp.road_like(300, seed=1), []
    with apsp.progress(lambda what: lambda done, total: seen.append((what, done, total))):
        r = apsp.shortest_paths(g, engine="dense")
        r.betweenness()
        r.eccentricity()
        r.radius()  # of the same pass
        r.closeness()
        apsp.shortest_paths(g, engine="elimination").diameter()
        r.reduce("total")
        closure(np.ones((3, 3)), callback=lambda done, total: None)  # a callback goes first
        assert [what for what, done, total in seen if done == total] == [
            "shortest_paths: 300 vertices",
            "betweenness: best paths from 300 vertices",
            "eccentricity: 300 × 300 distances",
            "closeness: 300 × 300 distances",
            "diameter: 300 × 300 distances",
            "reduce: 300 × 300 distances",
        ]
    count = len(seen)
    r.betweenness()
    assert len(seen) == count


@pytest.mark.parametrize("library", ["rich", "tqdm"])
def test_a_library_s_bar_comes_after_a_second_and_goes(monkeypatch, capsys, library):
    now, drawn = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    if library == "tqdm":

        class Bar:
            def __init__(self, desc, total, **options):
                self.n, self.update, self.close = 0, lambda more: drawn.append((desc, more, total)), drawn.clear

        for name in ("tqdm", "tqdm.auto"):
            monkeypatch.setitem(sys.modules, name, SimpleNamespace(tqdm=Bar))
    else:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with apsp.progress():  # tqdm where the program has imported it
        watch = Watch("flows", 100, None)
        for now[0], done in ((0.9, 10), (1.1, 20), (1.15, 30), (1.3, 40)):
            watch(done)
        assert drawn == ([("flows", 20, 100), ("flows", 40, 100)] if library == "tqdm" else [])
        if library == "rich":
            assert "flows" in capsys.readouterr().err
        watch(100)
        assert drawn == []
    with pytest.raises(ValueError, match="'rich', 'tqdm'"):
        apsp.progress("loud")


def test_a_bar_that_is_not_installed_says_how_it_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        apsp.progress("tqdm")


def test_long_work_is_told_as_it_goes_or_warned_of_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress: list[tuple[int, int]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch = Watch("save: 3 GiB", 1000, lambda done, total: progress.append((done, total)))
        quick, silent = Watch("save: 3 GiB", 1000, None), Watch("save: 3 GiB", 1000, None)
        now[0] = 300.0  # until the first part, code was compiled
        watch(10)
        quick(10)
        silent(10)
        now[0] = 303.0
        quick(500)  # three more seconds
    assert progress == [(10, 1000)]
    with pytest.warns(UserWarning, match=r"save: 3 GiB will take 4\.9 minutes more\. Pass callback="):
        silent(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent(21)
