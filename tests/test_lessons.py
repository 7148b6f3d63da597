"""The lab's table of lessons: each command prints the documents' numbers; cycles of 10 to 1,000 by closed form."""

from __future__ import annotations

import re
import shutil
import sys

import numpy as np
import pytest
from processes import ROOT
from test_documents import clone, run

import apsp

assert clone is not None  # a fixture

PAGE = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
_, _, TABLE = PAGE.partition("| lesson, exercise | command | expected |\n|---|---|---|\n")
ROWS = [
    (cells[0].strip(), *(re.findall(r"`([^`]+)`", cell) for cell in cells[1:3]))
    for line in TABLE.partition("\n\n")[0].splitlines()
    for cells in [line.strip("|").split(" | ")]
]


def test_every_lesson_is_there():
    assert len(ROWS) >= 20
    assert all(len(commands) == 1 and expected for _, commands, expected in ROWS)
    for lesson in ("Hochberg", "Bertoldi", "Buluç", "Zhao", "CSE 531"):
        assert any(lesson in exercise for exercise, *_ in ROWS)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux")
@pytest.mark.parametrize(("exercise", "commands", "expected"), ROWS, ids=range(len(ROWS)))
def test_a_command_prints_the_lessons_numbers(exercise, commands, expected, clone, monkeypatch):
    monkeypatch.chdir(clone)
    (command,) = commands
    printed = re.sub(r"[ \t]+", " ", run(command))
    for number in expected:
        assert number in printed, f"{exercise}\n{printed}"


@pytest.mark.parametrize("directed", [True, False])
def test_cycles_by_closed_form(directed):
    for n in (10, 20, 100, 500, 1000):
        ahead = (np.arange(n) - np.arange(n)[:, None]) % n
        D = ahead if directed else np.minimum(ahead, n - ahead)
        np.testing.assert_array_equal(apsp.closure(apsp.cycle(n, directed=directed)), D)
