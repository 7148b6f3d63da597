"""Exercises of the lab: red as they are, green with the solutions in `solutions`, red for what is nearly right."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from processes import ROOT, finish, start, wait_for

from apsp import closure, read

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


#: Forks a process for each run of pytest: all share what is imported here, and their own semirings' machine code.
FORKS = """
import contextlib, json, os, sys
import keeping, numpy as np, pytest
from apsp import as_graph, check, emulate
keeping.keep(None)
assert check(as_graph(np.ones((2, 2))), 1 - np.eye(2))
with contextlib.redirect_stdout(sys.stderr):
    pytest.main(["--version", "-p", "no:zarr"])  # loads its plugins
for line in sys.stdin:
    folder, *arguments = json.loads(line)
    if not (child := os.fork()):
        os.chdir(folder)
        with open("shown", "w") as shown:
            os.dup2(shown.fileno(), 1), os.dup2(shown.fileno(), 2)
        code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:zarr", *arguments])
        sys.stdout.flush()
        os._exit(code)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


@pytest.fixture(scope="module")
def shown() -> Iterator[Callable[..., str]]:
    """Output of pytest, run in a folder with arguments, in a fork of one child process."""
    child = start(FORKS, stdin=subprocess.PIPE)

    def run(folder: Path, *arguments: object) -> str:
        print(json.dumps([str(folder), *map(str, arguments)]), file=child.stdin, flush=True)
        wait_for(child, "ended")
        return (folder / "shown").read_text()

    yield run
    finish(child)  # which has no more to read


@pytest.fixture
def graded(shown, tmp_path):
    """How many tests of each part fail and pass, with these solutions."""
    shutil.copytree(LAB, tmp_path / "lab")

    def run(solved=(), edits=(), parts=PARTS):
        for part in solved:
            shutil.copytree(SOLUTIONS / part, tmp_path / "lab" / part, dirs_exist_ok=True)
        for part, (before, after) in dict(edits).items():
            (path,) = [p for p in (tmp_path / "lab" / part).iterdir() if p.is_file() and p.name[:5] != "test_"]
            text = path.read_text()
            assert text.count(before) == 1, part
            path.write_text(text.replace(before, after))
        told = shown(tmp_path, "-rA", *(tmp_path / "lab" / part for part in parts))
        found = re.findall(r"^(PASSED|FAILED) lab/(part\d)/", told, re.MULTILINE)
        assert {part for _, part in found} == set(parts), told
        return {part: [found.count((how, part)) for how in ("FAILED", "PASSED")] for part in parts}, told

    return run


@pytest.fixture
def limited(shown, tmp_path):
    """Output of pytest on a part with an edited solution, under limits of seconds on the first test and the next."""

    def run(part, edit, seconds, more, *arguments):
        for folder in (LAB / part, SOLUTIONS / part):
            shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        text = (LAB / "conftest.py").read_text()
        for before, after in (("SECONDS = 30", f"SECONDS = {seconds}"), ("seconds = 1 if", f"seconds = {more} if")):
            assert text.count(before) == 1
            text = text.replace(before, after)
        (tmp_path / "conftest.py").write_text(text)
        (path,) = (tmp_path / p.name for p in (SOLUTIONS / part).iterdir() if p.is_file())
        path.write_text(path.read_text().replace(*edit))
        told = shown(tmp_path, *arguments, tmp_path)
        return re.findall(rf"^It is not done after (\S+) s, at line \d+ of {path.name}$", told, re.MULTILINE), told

    return run


def test_each_part_is_red_until_it_is_solved(graded):
    results, told = graded()
    assert {part: passed for part, (_, passed) in results.items()} == dict.fromkeys(PARTS, 0), told


def test_the_solutions_are_green(graded):
    results, told = graded(solved=PARTS)
    assert {part: failed for part, (failed, _) in results.items()} == dict.fromkeys(PARTS, 0), told


@pytest.mark.release
def test_what_is_nearly_right_is_red(graded):
    results, told = graded(solved=PARTS, edits=NEARLY)
    assert all(failed for failed, _ in results.values()), (results, told)


#: Solutions that a test of the table alone would take for right.
OTHERWISE = {
    "part2": ("through(D, pivot, pivot, pivot)", "through(D, slice(0, n), slice(0, n), pivot); continue"),
    "part4": ("    np.fill_diagonal(H, np.arange(n))\n", "    np.fill_diagonal(H, 99)\n"),
    "part6": ('cuda="max(a, b)"', 'cuda="min(b, a)"'),
}


def test_a_right_table_on_another_way_is_red(graded):
    results, told = graded(solved=PARTS, edits=OTHERWISE, parts=[*OTHERWISE])
    assert all(failed for failed, _ in results.values()), told


@pytest.mark.parametrize("edit", [("int(H[walk[-1], j])", "int(H[i, j])"), ("through < D", "through <= D")])
def test_a_walk_in_circles_is_red(limited, edit):
    """After a moment here, in place of half a minute."""
    ended, told = limited("part4", edit, 0.3, 0.1, "-x")
    assert ended == ["0.3"], told


def test_only_the_first_test_that_does_not_end_is_waited_for(limited):
    """Wherever it is, and if it takes every exception: each iteration has an instruction of no line."""
    line = "np.minimum(D, D[:, k, None] + D[None, k, :], out=D)"
    # A loop that no exception but the limit's ends.
    endless = "while True:\n        try:\n            D[0, 0] += 1\n        except Exception:\n            pass\n"
    ended, told = limited("part1", (line, endless), 0.3, 0.1)
    assert ended == ["0.3", "0.1", "0.1"], told
    assert "3 failed" in told


@pytest.fixture
def script(monkeypatch, capsys):
    """A script of the lab, run in this process: its exit code, output and errors."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [str(LAB / name), *map(str, arguments)])
        code = None
        try:
            runpy.run_path(str(LAB / name), run_name="__main__")
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


def test_a_notebook_a_part_is_complete_in_itself(tmp_path, script, shown):
    """Cells are run as Jupyter does: files are written, a line is given to the shell. A card's cell needs none."""
    assert script("notebooks.py", tmp_path)[0] is None
    assert sorted(path.stem for path in tmp_path.glob("*.ipynb")) == PARTS
    for part in PARTS:
        first, told, *written, last = json.loads((tmp_path / f"{part}.ipynb").read_text(encoding="utf-8"))["cells"]
        if part == "part8":
            shutil.copy(SOLUTIONS / part / "mine.cu", tmp_path)
            (tmp_path / "nvcc").write_text("#!/bin/sh\nexit 1\n")  # as on a machine without a card
            (tmp_path / "nvcc").chmod(0o755)
            command = [sys.executable, "-c", "".join(last["source"])]
            for folders in ("", tmp_path, f"{tmp_path}:/usr/bin:/bin"):
                bare = {"PATH": f"{folders}", "PYTHONPATH": str(ROOT)}
                done = subprocess.run(command, env=bare, cwd=tmp_path, capture_output=True, text=True, check=True)
                assert done.stdout.startswith("Skipped: emulate: "), done
            *written, last = written
        assert "".join(first["source"]) == f'%pip install -q pytest "{ROOT}"'
        assert told["source"][0].startswith(f"## Part {part[-1]}: ")
        assert "examples/lab" not in "".join(told["source"])
        for cell in written:
            name = cell["source"][0].split()[1]
            original = LAB / name if name == "conftest.py" else LAB / part / name
            assert "".join(cell["source"][1:]) == original.read_text(encoding="utf-8")
            (tmp_path / name).write_text("".join(cell["source"][1:]))
        command = "".join(last["source"]).removeprefix("!python ").split()
        if part == "part1":
            assert command[:2] == ["-m", "pytest"]
            # An exercise begins as a stub that names its part: the notebook's last cell runs it unsolved.
            assert "NotImplementedError: part 1" in shown(tmp_path, *command[2:])


def test_a_job_for_slurm_says_what_each_rank_receives(tmp_path):
    """With an srun that prints what it is given. Of n² numbers, 1/2 + 1/4 come to each of 2 × 4."""
    n = 12500
    (tmp_path / "srun").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    receives = {8: ("2 x 4", n * n * 3 // 4), 7: ("1 x 7", n * n), 2: ("2 x 1", n * n), 1: ("1 x 1", 0)}
    for ranks, (grid, numbers) in receives.items():
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_NTASKS": f"{ranks}", "SLURM_SUBMIT_DIR": "/home/me"}
        told = f"; each receives {4 * numbers // 10**6} MB of {n} x {n} numbers of 4 bytes"
        for given, more in (([f"{n}"], told), ([], "")):
            command = ["sh", LAB / "job.sh", "graph.npz", *given]
            printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            assert printed.splitlines() == [
                f"{ranks} ranks as {grid}{more}",
                f"apsp solve graph.npz --distributed --grid {grid.replace(' ', '')} "
                "--checkpoint /home/me/ck --checksum",
            ]


def test_run_times_of_ones_own_are_divided_and_fitted_from_three_sizes_on(tmp_path, script):
    (tmp_path / "t.csv").write_text("lesson,program,n,ms\nmine,a,10,8\nmine,b,10,1\nmine,b,20,8\nmine,b,40,64\n")
    command = ("published.py", "mine", "--file", tmp_path / "t.csv")
    fitted = "a: no fit below three sizes; over a 1 at 10,\nb: n^3.00; over a 8 at 10,\n"
    assert script(*command) == (None, fitted, "")
    for wrong, told in (((*command, "--than", "c"), "has no program c"), ((command[0], "other"), "no lesson other")):
        code, _, refused = script(*wrong)
        assert code == 2
        assert told in refused


def test_the_slider_has_every_step(tmp_path, script, monkeypatch):
    """What the page draws is what the steps print."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.csv").write_text("from,to,weight\na b,c</script>,4\nc</script>,d,-1\nd,a b,2\n")
    assert script("slider.py", "g.csv", "--block", "2")[0] is None
    page = (tmp_path / "steps.html").read_text(encoding="utf-8")
    (data,) = re.findall(r"^const runs = (.*), at = ", page, re.MULTILINE)
    assert page.count("</script>") == 1
    for wrong, told in (("none.csv", "none.csv"), (ROOT / "examples" / "roads.gr", "at most 32 vertices")):
        code, _, refused = script("slider.py", wrong)
        assert code == 2
        assert told in refused.splitlines()[-1]
    for run, schedule in zip(json.loads(data), ("iterative", "blocked", "recursive"), strict=True):
        D, steps = closure(read(tmp_path / "g.csv"), steps=True, schedule=schedule, block=2)
        assert run["labels"] == ["a b", "c</script>", "d"]
        assert [step["title"] for step in run["steps"]] == [step.title for step in steps]
        assert run["steps"][0]["cells"][0] == ["0", "4", "inf"]
        assert np.array(run["steps"][-1]["cells"], int).tolist() == np.asarray(D).tolist()
        assert [step["changed"] for step in run["steps"]] == [step.changed.tolist() for step in steps]
