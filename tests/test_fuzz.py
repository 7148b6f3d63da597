"""The fuzzer finds what is planted, replays it, makes it smaller; docs/promises.md names tests that exist."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path

import numpy as np
import pytest
from conftest import NEED_A_GPU
from fuzz import ROOT, TARGETS, draw, driver, planted, worker
from processes import python

from apsp import Result, closure


def test_a_case_follows_from_its_seed_and_number_alone():
    first, again, other = (draw.of(7, "files", index) for index in (3, 3, 4))
    values = [[d.below(1000), d.pick("abc"), d.chance(50), d.rng().integers(10**6)] for d in (first, again, other)]
    assert values[0] == values[1] != values[2]
    scripted = draw.Draw(script=first.choices)
    assert [scripted.below(1000), scripted.pick("abc"), scripted.chance(50), scripted.rng().integers(10**6)] == values[
        0
    ]
    assert scripted.choices == first.choices


def test_a_script_that_is_used_up_makes_the_simplest_choices():
    d = draw.Draw(script=[5])
    assert [d.below(10), d.below(10), d.between(3, 9), d.pick("xyz"), d.chance(99)] == [5, 0, 3, "x", False]


def test_failing_choices_become_fewer_and_smaller():
    def fails(choices: list[int]) -> list[int] | None:
        """Where some choice is 17 or more: what stands after it does not matter."""
        at = next((k for k, choice in enumerate(choices) if choice >= 17), None)
        return None if at is None else choices[: at + 1]

    assert draw.smaller([4, 9, 250, 3, 90, 2], fails, 30) == [17]


#: Of planted faults: every kind, the one without end last; and that one first.
SEED, ENDLESS = 15, 11


def watched(seed: int, **limits) -> tuple[dict[str, driver.Finding], driver.Report]:
    *_, report = driver.watch("planted", seed, device="cpu", **limits)
    assert isinstance(report, driver.Report)
    return report.findings, report


def faults(cases: int) -> list[str]:
    return [draw.of(SEED, "planted", index).pick(planted.FAULTS) for index in range(cases)]


@pytest.mark.busy
def test_wrong_values_deaths_and_memory_are_found_and_replayed():
    cases = faults(100).index("no end")
    expected = {name: faults(cases).count(name) for name in ("wrong", "dies", "memory")}
    assert all(expected.values())
    found, report = watched(SEED, cases=cases, patience=600.0)
    assert report.cases == cases
    kinds = {"ValueError": "wrong", "SIGSEGV": "dies", "AssertionError": "memory"}
    came = {kind: f for f in found.values() for word, kind in kinds.items() if word in f.signature}
    assert {kind: f.count for kind, f in came.items()} == expected
    for kind, f in came.items():
        assert draw.of(SEED, "planted", f.index).pick(planted.FAULTS) == kind
        # The smallest case has that fault, and nothing beside it.
        assert list(f.choices) == [planted.FAULTS.index(kind), 0]
    assert "planted, at []" in came["wrong"].problem
    again = worker.attempt(planted.case, draw.Draw(script=came["wrong"].choices))
    assert again is not None
    assert again["signature"] == came["wrong"].signature


@pytest.mark.busy
def test_a_case_that_never_ends_is_found():
    """A machine so busy that all is silent finds silence too."""
    found, _ = watched(ENDLESS, cases=1, patience=3.0)
    assert [*found] == ["no end"]
    assert draw.of(ENDLESS, "planted", found["no end"].index).pick(planted.FAULTS) == "no end"


def test_the_command_prints_seed_counts_and_how_to_replay():
    def fuzz(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "tests.fuzz", *map(str, arguments)]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    run = fuzz("--target", "files", "--cases", 3, "--seed", 1)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.fullmatch(r"seed 1\nfiles +3 cases in +[\d.]+ s: nothing found\n", run.stdout)
    assert fuzz("--target", "files", "--seed", 1, "--case", 2).stdout.endswith("nothing found\n")
    assert fuzz("--case", 2).returncode == 2
    refused = fuzz("--device", "cuda", "--target", "files", "--cases", 1)
    assert (refused.returncode, "leave out --target files" in refused.stderr) == (2, True)


#: Which case is tried, where the first draws a semiring in a dtype that no other test compiles.
TRIED = {"archives": 1, "changes": 6, "products": 11, "saturation": 7, "updates": 3}


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("processes", "kills", "memory")])
def test_a_case_of_every_target_finds_nothing(target, monkeypatch):
    monkeypatch.setattr("fuzz.limits.cap_memory", lambda gib: None)
    case = worker.load(target, "cpu")
    drawn = draw.of(0, target, TRIED.get(target, 0))  # `.ci/run` goes on for a minute
    assert worker.attempt(case, drawn) is None, drawn.notes


def test_a_wrong_closure_would_be_found(monkeypatch):
    """The algebra target is told of an entry that is off by one."""
    from fuzz import algebra

    def off(A, *arguments, **options):
        out = closure(A, *arguments, **options)
        if isinstance(out, np.ndarray) and out.size and out.dtype.kind in "if":
            out.flat[-1] += 1
        return out

    monkeypatch.setattr(algebra, "closure", off)
    monkeypatch.setattr("fuzz.limits.cap_memory", lambda gib: None)
    case = worker.load("algebra", "cpu")
    assert any(worker.attempt(case, draw.of(0, "algebra", index)) for index in range(33, 60))  # the first, as it is


class Wrong:
    """A function's results, with the last number off by one."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments, **options):
        out = self.function(*arguments, **options)
        found = out[0] if isinstance(out, tuple) else out
        if isinstance(found, Result):
            out = replace(found, engine=found.distances + 1)
        elif isinstance(found, np.ndarray) and found.size and found.dtype.kind in "if":
            found.flat[-1] += 1
        return out


@pytest.mark.parametrize(
    ("target", "function", "first"),  # of the cases before the first, none tells, and all compile
    [
        ("csgraph", "csgraph.dijkstra", 8), ("csgraph", "csgraph.shortest_path", 5),
        ("csgraph", "csgraph.bellman_ford", 1), ("attributes", "shortest_paths", 0),
        ("zeros", "shortest_paths", 0), ("zeros", "closure", 3), ("saturation", "shortest_paths", 7),
        ("saturation", "closure", 0), ("searches", "closure", 0), ("products", "semiring.matmul", 24),
    ],
)  # fmt: skip
def test_wrong_numbers_would_be_found(target, function, first, monkeypatch):
    monkeypatch.setattr("fuzz.limits.cap_memory", lambda gib: None)
    case = worker.load(target, "cpu")
    *owner, name = function.split(".")
    module = reduce(getattr, owner, sys.modules[case.__module__])
    monkeypatch.setattr(module, name, Wrong(getattr(module, name)))
    assert any(worker.attempt(case, draw.of(0, target, index)) for index in range(first, 60))


HOLDS = """
import sys
from tests.fuzz import draw, memory
memory.CALLS = {"products": memory.CALLS["products"]}
memory.prepare()
matmul = memory.semiring.matmul
def hungry(*operands, **options):
    memory.np.ones(30 << 17)
    return matmul(*operands, **options)
memory.semiring.matmul = hungry
try:
    for index in range(60):
        memory.case(draw.of(0, "memory", index))
except AssertionError as error:
    sys.exit("_ArrayMemoryError: Unable to allocate 30.0 MiB" not in str(error))
sys.exit(2)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and /proc of Linux")
def test_memory_that_is_not_asked_for_would_be_found():
    python(HOLDS)


WRITES = """
import sys
from pathlib import Path
from tests.fuzz import draw, kills
def torn(path, number):
    path.write_text("")
    path.write_text(str(number))
kills.WRITERS = {"torn": ("d", torn, lambda path: kills._expected("torn", int(path.read_text())))}
for index in range(40):
    try:
        kills.case(draw.of(0, "kills", index))
    except (AssertionError, ValueError):
        print("found")
        break
"""


@pytest.mark.busy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")
def test_a_writer_that_leaves_half_a_file_would_be_found():
    assert python(WRITES) == "found\n"


PROMISES = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
#: File, name and number of cases of each test that the page names.
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)` \| (\d+) \|", PROMISES)))


def test_every_promise_names_its_test():
    rows = [
        line
        for line in PROMISES.splitlines()
        if line.startswith("| ") and not line.startswith(("| promise", "| target"))
    ]
    assert len(rows) > 50
    assert [row for row in rows if "`tests/" not in row and "`python -m tests.fuzz" not in row] == []
    assert {f"{path}::{name}" for path, name, _ in NAMED} == set(re.findall(r"`(tests/[^`]*::[^`]*)`", PROMISES))


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def counted(session: pytest.Session) -> Counter[str]:
    """How many cases of each test were collected."""
    items = [*session.items, *session.config.stash.get(NEED_A_GPU, [])]
    return Counter(item.nodeid.split("[")[0] for item in items)


def test_every_test_that_promises_name_exists_with_its_cases(request):
    chosen = request.config.getoption("keyword") or any("::" in argument for argument in request.config.args)
    for path, name, cases in NAMED:
        node: ast.Module | ast.ClassDef | ast.FunctionDef = parsed(path)
        for part in name.split("::"):
            inside = {n.name: n for n in node.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
            assert part in inside, f"{Path(path).name} has no {part}"
            node = inside[part]
        collected = counted(request.session)[f"{path}::{name}"]
        if collected and not chosen:  # a run of that file, or of all
            assert collected >= int(cases), f"{path}::{name}"


@pytest.mark.parametrize("processes", [0, 1])
def test_what_needs_a_gpu_is_left_out_in_one_line_where_there_is_none(processes):
    pytest.importorskip("xdist")
    options = ("-q", f"-n{processes}", "-p", "no:cacheprovider", "-m", "gpu", "tests/test_gpu_streamed.py")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=ROOT,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, run.stdout
    assert [line for line in run.stdout.splitlines() if "left out" in line] == [
        "20 tests marked `gpu` left out: no NVIDIA GPU with CuPy on this machine"
    ]
    assert "SKIPPED" not in run.stdout
