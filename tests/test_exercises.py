"""Exercises of the lab: red as they are, green with the solutions in `solutions`, red for what is nearly right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from processes import ROOT

LAB, SOLUTIONS = ROOT / "examples" / "lab", ROOT / "tests" / "solutions"
PARTS = sorted(path.name for path in LAB.glob("part*"))
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)

#: Of each solution, an edit after which it is nearly right.
NEARLY = {
    "part1": (
        "np.minimum(D, D[:, k, None] + D[None, k, :], out=D)",
        "D[...] = np.minimum(D, D[:, k, None] + D[None, 0, :])",
    ),
    "part2": ("            through(D, other, pivot, pivot)\n", ""),
    "part3": ("    np.minimum(A, product(B, C), out=A)\n", ""),
    "part4": ("H[:, k, None], H)", "k, H)"),
    "part5": (
        "for k in range(len(rows)):\n        for i in range(len(rows)):",
        "for i in range(len(rows)):\n        for k in range(len(rows)):",
    ),
    "part6": ("one=-math.inf", "one=0"),
    "part7": ("L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]", "L[k + 1 :, k] = U[k + 1 :, k]"),
    "part8": ("        __syncthreads();\n        P[y][x] = max", "        P[y][x] = max"),
}


def graded(folder, solved=(), edits=()):
    """How many tests of each part fail and pass, with these solutions."""
    shutil.copytree(LAB, folder / "lab")
    for part in solved:
        shutil.copytree(SOLUTIONS / part, folder / "lab" / part, dirs_exist_ok=True)
    for part, (before, after) in dict(edits).items():
        (path,) = [p for p in (folder / "lab" / part).iterdir() if p.is_file() and not p.name.startswith("test_")]
        text = path.read_text()
        assert text.count(before) == 1, part
        path.write_text(text.replace(before, after))
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:zarr", folder / "lab"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    found = re.findall(r"^(PASSED|FAILED) lab/(part\d)/", done.stdout, re.MULTILINE)
    assert {part for _, part in found} == set(PARTS), done.stdout
    return {part: [sum(x == (how, part) for x in found) for how in ("FAILED", "PASSED")] for part in PARTS}, done.stdout


def test_each_part_is_red_until_it_is_solved(tmp_path):
    results, shown = graded(tmp_path)
    assert {part: passed for part, (_, passed) in results.items()} == dict.fromkeys(PARTS, 0), shown


def test_the_solutions_are_green(tmp_path):
    results, shown = graded(tmp_path, solved=PARTS)
    assert {part: failed for part, (failed, _) in results.items()} == dict.fromkeys(PARTS, 0), shown


def test_what_is_nearly_right_is_red(tmp_path):
    results, shown = graded(tmp_path, solved=PARTS, edits=NEARLY)
    assert all(failed for failed, _ in results.values()), (results, shown)
