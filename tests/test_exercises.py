"""Exercises of the lab: red as they are, green with the solutions in `solutions`, red for what is nearly right."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from processes import ROOT

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


def graded(folder, solved=(), edits=(), parts=PARTS):
    """How many tests of each part fail and pass, with these solutions."""
    shutil.copytree(LAB, folder / "lab")
    for part in solved:
        shutil.copytree(SOLUTIONS / part, folder / "lab" / part, dirs_exist_ok=True)
    for part, (before, after) in dict(edits).items():
        (path,) = [p for p in (folder / "lab" / part).iterdir() if p.is_file() and not p.name.startswith("test_")]
        text = path.read_text()
        assert text.count(before) == 1, part
        path.write_text(text.replace(before, after))
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:zarr"]
    command += [folder / "lab" / part for part in parts]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    found = re.findall(r"^(PASSED|FAILED) lab/(part\d)/", done.stdout, re.MULTILINE)
    assert {part for _, part in found} == set(parts), done.stdout
    return {part: [sum(x == (how, part) for x in found) for how in ("FAILED", "PASSED")] for part in parts}, done.stdout


def test_each_part_is_red_until_it_is_solved(tmp_path):
    results, shown = graded(tmp_path)
    assert {part: passed for part, (_, passed) in results.items()} == dict.fromkeys(PARTS, 0), shown


def test_the_solutions_are_green(tmp_path):
    results, shown = graded(tmp_path, solved=PARTS)
    assert {part: failed for part, (failed, _) in results.items()} == dict.fromkeys(PARTS, 0), shown


@pytest.mark.release
def test_what_is_nearly_right_is_red(tmp_path):
    results, shown = graded(tmp_path, solved=PARTS, edits=NEARLY)
    assert all(failed for failed, _ in results.values()), (results, shown)


#: Solutions that a test of the table alone would take for right.
OTHERWISE = {
    "part2": ("through(D, pivot, pivot, pivot)", "through(D, slice(0, n), slice(0, n), pivot); continue"),
    "part4": ("    np.fill_diagonal(H, np.arange(n))\n", "    np.fill_diagonal(H, 99)\n"),
    "part6": ('cuda="max(a, b)"', 'cuda="min(b, a)"'),
}


def test_a_right_table_on_another_way_is_red(tmp_path):
    results, shown = graded(tmp_path, solved=PARTS, edits=OTHERWISE, parts=[*OTHERWISE])
    assert all(failed for failed, _ in results.values()), shown


@pytest.mark.parametrize("edit", [("int(H[walk[-1], j])", "int(H[i, j])"), ("through < D", "through <= D")])
def test_a_walk_in_circles_is_red(tmp_path, edit):
    """After a second here, in place of half a minute."""
    for folder in (LAB / "part4", SOLUTIONS / "part4"):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "hops.py").write_text((tmp_path / "hops.py").read_text().replace(*edit))
    limited = (LAB / "conftest.py").read_text().replace("SECONDS = 30", "SECONDS = 1")
    (tmp_path / "conftest.py").write_text(limited)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:zarr", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path)
    assert re.search(r"^It is not done after 1 s, at line \d+ of hops\.py$", done.stdout, re.MULTILINE), done.stdout


def test_only_the_first_test_that_does_not_end_is_waited_for(tmp_path):
    """Wherever it is, and if it takes every exception: each iteration has an instruction of no line."""
    shutil.copytree(LAB / "part1", tmp_path, dirs_exist_ok=True)
    # A loop that no exception but the limit's ends.
    endless = "while True:\n        try:\n            D[0, 0] += 1\n        except Exception:\n            pass\n"
    (tmp_path / "step.py").write_text(f"def step(D, k):\n    {endless}")
    limited = (LAB / "conftest.py").read_text().replace("SECONDS = 30", "SECONDS = 2")
    (tmp_path / "conftest.py").write_text(limited)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:zarr", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path)
    assert re.findall(r"^It is not done after (\d) s, at line \d of step\.py$", done.stdout, re.MULTILINE) == [
        "2",
        "1",
        "1",
    ]
    assert "3 failed" in done.stdout


def test_a_notebook_a_part_is_complete_in_itself(tmp_path):
    """Cells are run as Jupyter does: files are written, a line is given to the shell. A card's cell needs none."""
    subprocess.run([sys.executable, LAB / "notebooks.py", tmp_path], check=True, capture_output=True)
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
            done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
            assert "NotImplementedError: part 1" in done.stdout


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


def test_run_times_of_ones_own_are_divided_and_fitted_from_three_sizes_on(tmp_path):
    (tmp_path / "t.csv").write_text("lesson,program,n,ms\nmine,a,10,8\nmine,b,10,1\nmine,b,20,8\nmine,b,40,64\n")
    command = [sys.executable, LAB / "published.py", "mine", "--file", tmp_path / "t.csv"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "a: no fit below three sizes; over a 1 at 10,\nb: n^3.00; over a 8 at 10,\n"
    for wrong, told in (([*command, "--than", "c"], "has no program c"), ([*command[:2], "other"], "no lesson other")):
        refused = subprocess.run(wrong, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert told in refused.stderr


def test_the_slider_has_every_step(tmp_path):
    """What the page draws is what the steps print."""
    (tmp_path / "g.csv").write_text("from,to,weight\na b,c</script>,4\nc</script>,d,-1\nd,a b,2\n")
    command = [sys.executable, LAB / "slider.py", "g.csv", "--block", "2"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = (tmp_path / "steps.html").read_text(encoding="utf-8")
    (data,) = re.findall(r"^const runs = (.*), at = ", page, re.MULTILINE)
    assert page.count("</script>") == 1
    for wrong, told in ((["none.csv"], "none.csv"), ([ROOT / "examples" / "roads.gr"], "at most 32 vertices")):
        refused = subprocess.run([*command[:2], *wrong], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert told in refused.stderr.splitlines()[-1]
    for run, schedule in zip(json.loads(data), ("iterative", "blocked", "recursive"), strict=True):
        D, steps = closure(read(tmp_path / "g.csv"), steps=True, schedule=schedule, block=2)
        assert run["labels"] == ["a b", "c</script>", "d"]
        assert [step["title"] for step in run["steps"]] == [step.title for step in steps]
        assert run["steps"][0]["cells"][0] == ["0", "4", "inf"]
        assert np.array(run["steps"][-1]["cells"], int).tolist() == np.asarray(D).tolist()
        assert [step["changed"] for step in run["steps"]] == [step.changed.tolist() for step in steps]
