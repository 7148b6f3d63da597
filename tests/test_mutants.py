"""The table of mutants fits the sources; a campaign tells what is noticed from what is not, in copies alone."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from conftest import COLLECTED
from mutants import ROOT, Mutant, campaign, read, table

AREAS = table()


@pytest.mark.parametrize("area", AREAS)
def test_each_edit_applies_to_the_sources(area):
    """Where one does not, the source has changed: bring the table up to date with it."""
    problems = []
    for m in AREAS[area]:
        try:
            edited = m.applied((ROOT / m.file).read_text(encoding="utf-8"))
            if m.file.endswith(".py"):
                compile(edited, m.file, "exec")
        except (OSError, ValueError, SyntaxError) as error:
            problems.append(f"{m.name}: {error}")
    assert not problems, "\n".join(problems)


def test_the_tests_of_the_table_are_there(request):
    """What this run has collected, as a file, a test or one of its cases; of the others pytest is asked."""
    collected = request.config.stash[COLLECTED]
    here = {name for node in collected for name in (node, node.partition("[")[0], node.partition("::")[0])}
    tests = sorted({m.test for mutants in AREAS.values() for m in mutants} - here)
    if not tests:
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider", *tests]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_there_are_many_of_all_areas():
    every = [m for mutants in AREAS.values() for m in mutants]
    assert [name for name, count in Counter(m.name for m in every).items() if count > 1] == []
    assert sum(not m.equivalent for m in every) >= 80
    assert min(map(len, AREAS.values())) >= 10


def test_edits_are_read_as_they_stand():
    text = "Of halves.\n\n## a.py\nfirst (2): It ends.\n  tests/test_a.py::test_a\n-     x\n-\n+\n+     y\n"
    more = "last-one: It is the same.\n  tests/test_a.py\n  equivalent: No test can.\n- gone\n"
    first = Mutant("first", "a.py", "    x\n", "\n    y", "tests/test_a.py::test_a", "It ends.", nth=2)
    last = Mutant("last-one", "a.py", "gone", "", "tests/test_a.py", "It is the same.", equivalent="No test can.")
    assert read(text + more) == [first, last]
    for damaged in (more.replace("tests/", ""), more.replace("- gone", "+ gone"), more.replace(": It", " It")):
        with pytest.raises(ValueError, match=r"a mutant of a\.py is required, got \['last-one"):
            read(text + damaged)


def test_a_campaign_tells_what_is_noticed(tmp_path):
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["-p", "no:zarr"]\n',
        "semiring/__init__.py": "",
        "semiring/half.py": 'def half(n):\n    """n / 2, at least 1."""\n    return max(1, n // 2)\n',
        "tests/test_half.py": "from semiring.half import half\n\n\ndef test_half():\n    assert half(6) == 3\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def mutant(name, old, new, **more):
        return Mutant(name, "semiring/half.py", old, new, "tests/test_half.py::test_half", "", **more)

    tried = [
        mutant("wrong", "n // 2", "n // 3"),
        mutant("no syntax", "return", "retrun"),
        mutant("missed", "max(1, ", "max(2, "),
        mutant("stale", "n / 3", "n / 4"),
        mutant("twice", "n ", "m "),
        mutant("second", "2", "1", nth=2),
        mutant("none", "2", "1", equivalent="It is left out."),
    ]
    found = {outcome.mutant.name: outcome for outcome in campaign.run(tried, root=tmp_path)}
    assert {name: outcome.verdict for name, outcome in found.items()} == {
        "wrong": "noticed",
        "no syntax": "noticed",
        "missed": "SURVIVED",
        "stale": "DOES NOT APPLY",
        "twice": "DOES NOT APPLY",
        "second": "noticed",
    }
    assert "test_half.py::test_half" in found["wrong"].detail
    for endless in campaign.run([mutant("endless", "return", "while n: pass\n    return")], root=tmp_path, patience=3):
        assert (endless.verdict, endless.detail) == ("noticed", "it never ended")
    for name, text in files.items():
        assert (tmp_path / name).read_text() == text
    (tmp_path / "tests/test_half.py").write_text("def test_half():\n    assert 0\n")
    with pytest.raises(campaign.Red, match="must pass without any mutant"):
        list(campaign.run(tried, root=tmp_path))
