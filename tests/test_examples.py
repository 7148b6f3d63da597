"""The first three examples, run as a reader runs them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse.csgraph
from processes import ROOT


@pytest.fixture
def run(monkeypatch, capsys):
    def run(name, *arguments):
        monkeypatch.syspath_prepend(str(ROOT / "examples"))
        monkeypatch.setattr("sys.argv", [f"{name}.py", *arguments])
        __import__(name).main()
        return capsys.readouterr().out

    return run


def test_tropical(run):
    text = run("tropical")
    A = np.array([[0, 4, np.inf, 9], [np.inf, 0, 1, np.inf], [2, np.inf, 0, 5], [np.inf] * 3 + [0]])
    assert text.startswith(f"{scipy.sparse.csgraph.floyd_warshall(A)}\n")
    assert "B to D: 6, by B → C → D" in text


def test_reachability(run):
    assert run("reachability").splitlines() == [
        "app needs database, models, settings, views",
        "does settings need database? no",
        "why does app need database? app → views → models → database",
        "import one another: models, views",
    ]


def test_package_index(run):
    lines = run("package_index", "3000").splitlines()
    assert re.search(r"3000 packages, \d+ dependencies: .*labels decide 9\d", lines[0])
    a, needed, b, needing = re.fullmatch(r"(\S+) needs (\d+) packages; (\S+) is needed by (\d+)", lines[1]).groups()
    assert int(needed) > 10 < int(needing)
    assert re.fullmatch(rf"why does {a} need {b}\? {a} → .*{b}", lines[2])
    assert lines[3] == f"does {b} need {a}? no"
    assert re.match(r"\d+ packages need one another: package-", lines[4])


@pytest.mark.usefixtures("short_runs")
def test_schedules(run, tmp_path):
    pytest.importorskip("matplotlib")
    text = run("schedules", "300", "400", "500", "--save", str(tmp_path / "t.png"))
    assert {line.split()[0] for line in text.splitlines()[2:8]} >= {"iterative", "recursive"}
    assert "At 500 vertices the recursive schedule is" in text
    assert (tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"
