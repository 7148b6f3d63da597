"""Every benchmark is on the page with its question, and says what it can do, on a machine without a GPU too."""

from __future__ import annotations

import re
import subprocess
import sys

from processes import ROOT

#: In one process, which imports what they share once.
HELP = """
import contextlib, io, runpy, sys
for name in sys.argv[1:]:
    sys.argv = [name, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        runpy.run_path(f"benchmarks/{name}.py", run_name="__main__")
    print(shown.getvalue().count("usage: "), "benchmarks/" + name + ".py" in shown.getvalue(), name)
"""


def benchmarks(*words: str) -> str:
    """What the runner prints."""
    run = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def listed() -> dict[str, str]:
    """Name → question, as the list shows them."""
    return dict(re.findall(r"^(\w+) {2,}(.*\?)$", benchmarks(), re.MULTILINE))


def test_the_page_has_every_question_of_the_list():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert {name: q for q, name in re.findall(r"^\| (.*\?) \| `(\w+)", page, re.MULTILINE)} == listed()


def test_every_benchmark_shows_its_help_and_its_own_command():
    names = list(listed())
    assert len(names) > 15
    run = [sys.executable, "-c", "import sys; sys.path.insert(0, 'benchmarks')\n" + HELP, *names]
    shown = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [f"1 True {name}" for name in names]


def test_an_unknown_name_is_refused_with_those_that_there_are():
    run = [sys.executable, "-m", "benchmarks", "speed"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "must be one of betweenness, bits" in done.stderr
    assert "got 'speed'" in done.stderr
