"""The command `apsp`: every command, option and exit code, as a script and a person meet them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import cases
import numpy as np
import pytest
from click.testing import CliRunner, Result

from apsp import Reachability, console
from apsp.cli import main

SIX = "".join(f"{u} {v} {w}\n" for u, v, w in cases.SIX_EDGES) + "--END--\n"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "six.named").write_text(SIX)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def process(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "apsp", *arguments]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run(command, capture_output=True, text=True, env=env, **options)


def test_solve_prints_the_first_ten_vertices(here):
    lines = run("solve", "six.named").output.splitlines()
    assert lines[0].startswith("6 vertices, 14 edges; min_plus in int32 on cpu; recursive schedule")
    assert lines[1].split() == list("ABCDEF")
    assert lines[4].split() == ["C", "7", "11", "0", "6", "5", "4"]


def test_solve_finds_a_path(here):
    output = run("--quiet", "solve", "six.named", "--from", "C", "--to", "B").output
    assert output == "distance 11\npath C → F → E → A → B\n"


def test_solve_with_every_option(here):
    common = ["solve", "six.named", "--format", "named", "--dtype", "float32", "--device", "cpu", "--threads", "1"]
    plain = run("-q", *common, "--checksum").output
    for schedule in ("iterative", "blocked", "recursive"):
        assert run("-q", *common, "--schedule", schedule, "--block", "2", "--checksum").output == plain
    assert re.fullmatch(r"fletcher16 [0-9a-f]{4}\ncrc32 [0-9a-f]{8}\n", plain)
    widest = run("-q", "solve", "six.named", "--semiring", "bottleneck", "--from", "C", "--to", "A").output
    assert "distance 2\n" in widest
    both = run("-q", "solve", "six.named", "--undirected", "--from", "A", "--to", "F").output
    assert "distance 3\npath A → E → F\n" in both


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_solve_writes_distances(here, suffix):
    run("solve", "six.named", "--output", f"d{suffix}")
    if suffix == ".npy":
        assert np.load("d.npy")[2].tolist() == [7, 11, 0, 6, 5, 4]
    elif suffix == ".npz":
        with np.load("d.npz") as data:
            assert data["labels"].tolist() == list("ABCDEF")
    else:
        assert Path("d.csv").read_text().splitlines()[3] == "C,7,11,0,6,5,4"


def test_a_weight_column(here):
    Path("t.csv").write_text("from,to,length,minutes\na,b,5,60\nb,c,5,30\n")
    assert "distance 90" in run("solve", "t.csv", "--weight", "minutes", "--from", "a", "--to", "c").output


def test_reach_answers_yes_and_no(here):
    Path("e.csv").write_text("source,target\na,b\nb,c\n")
    assert run("-q", "reach", "e.csv", "--from", "a", "--to", "c").output == "yes\n"
    assert run("-q", "reach", "e.csv", "--from", "c", "--to", "a", code=1).output == "no\n"
    assert run("-q", "reach", "e.csv", "--from", "a", "--to", "a", code=1).output == "no\n"
    assert run("-q", "reach", "e.csv", "--from", "a", "--to", "a", "--reflexive").output == "yes\n"
    assert run("-q", "reach", "e.csv", "--from", "a").output == "b\nc\n"
    assert run("-q", "reach", "e.csv", "--to", "c").output == "a\nb\n"
    assert run("-q", "reach", "e.csv", "--counts").output == "a\t2\nb\t1\nc\t0\n"
    assert (
        run("-q", "reach", "e.csv", "--counts", "--undirected", "--schedule", "blocked").output == "a\t3\nb\t3\nc\t3\n"
    )
    assert "3 vertices, 2 edges" in run("reach", "e.csv").output


def test_reach_writes(here):
    Path("e.csv").write_text("source,target\na,b\nb,c\n")
    for name in ("t.npz", "t.npy", "t.csv"):
        run("reach", "e.csv", "--output", name)
    assert Reachability.load("t.npz").descendants("a") == ["b", "c"]
    assert np.load("t.npy").tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert Path("t.csv").read_text().splitlines() == ["source,target", "a,b", "a,c", "b,c"]


def test_compare_on_random_graphs(here):
    output = run(
        "compare", "--sizes", "30,60", "--device", "cpu", "--threads", "2", "--json", "c.json", "--plot", "c.png"
    ).output
    lines = output.splitlines()
    assert lines[0] == "closure over min_plus in float32"
    assert (
        sum(line.split()[0] in ("iterative", "blocked", "recursive") and "t =" not in line for line in lines[2:14])
        == 12
    )
    assert "n^" in output
    assert "Fastest" in output
    assert len(json.loads(Path("c.json").read_text())["rows"]) == 12
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_compare_on_a_file(here):
    output = run("compare", "six.named", "--schedules", "blocked,recursive", "--device", "cpu", "--threads", "1").output
    assert output.count("yes") == 2
    assert "iterative" not in output


def test_generate_and_convert(here):
    run("generate", "cycle", "5", "--output", "c.gr", "--weight", "3")
    assert run("-q", "solve", "c.gr", "--from", "1", "--to", "5").output.startswith("distance 12\n")
    run("generate", "cycle", "5", "--undirected", "--output", "u.gr")
    assert run("-q", "solve", "u.gr", "--from", "1", "--to", "5").output.startswith("distance 1\n")
    run("generate", "random", "20", "--density", "30", "--seed", "7", "--output", "r.csv.gz")
    run("generate", "random", "20", "--density", "30", "--seed", "7", "--output", "again.csv.gz")
    assert Path("r.csv.gz").read_bytes() == Path("again.csv.gz").read_bytes()
    run("generate", "grid", "3", "4", "--output", "g.mtx")
    assert "12 vertices" in run("solve", "g.mtx").output
    for target in ("x.csv", "x.mtx", "x.gr", "x.npz", "x.npy", "x.named", "x.plain"):
        run("convert", "c.gr", target)
        assert "5 vertices" in run("solve", target).output
    run("convert", "c.gr", "x.txt", "--to-format", "snap")
    assert "5 vertices" in run("solve", "x.txt", "--format", "snap").output


def test_plan_and_info(here):
    assert "3000 vertices" in run("plan", "3000", "--dtype", "float32").output
    assert "6 vertices" in run("plan", "six.named", "--schedule", "blocked").output
    output = run("info").output
    for word in ("cpu", "cuda", "numpy", "min_plus", "tropical", "float32", "dimacs", "recursive"):
        assert word in output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["solve", "missing.gr"], 2, "missing.gr"),
        (["solve", "bad.gr"], 2, "bad.gr:2"),
        (["solve", "six.named", "--from", "A"], 2, "go together"),
        (["solve", "six.named", "--from", "A", "--to", "Z"], 2, "'Z'"),
        (["solve", "six.named", "--schedule", "magic"], 2, "magic"),
        (["solve", "six.named", "--semiring", "magic"], 2, "magic"),
        (["solve", "six.named", "--dtype", "int31"], 2, "int31"),
        (["solve", "six.named", "--block", "0"], 2, "at least 1"),
        (["solve", "six.named", "--threads", "0"], 4, "threads"),
        (["solve", "six.named", "--output", "d.xyz"], 2, ".npy"),
        (["solve", "six.named", "--output", "no/such/d.npy"], 2, "directory"),
        (["solve", "six.named", "--nonsense"], 2, "nonsense"),
        (["solve", "negative.csv"], 3, "b"),
        (["solve", "apart.csv", "--from", "a", "--to", "d"], 1, "reachable"),
        (["compare", "--sizes", "10,x"], 2, "sizes"),
        (["generate", "cycle", "5", "--output", "c.nope"], 2, "c.nope"),
        (["generate", "random", "5", "--density", "200", "--output", "c.gr"], 2, "200"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_errors_are_one_line_with_a_code(here, arguments, code, message):
    Path("bad.gr").write_text("p sp 2 1\na 1 two 3\n")
    Path("negative.csv").write_text("source,target,weight\na,b,1\nb,a,-2\n")
    Path("apart.csv").write_text("source,target,weight\na,b,1\nc,d,2\n")
    before = sorted(here.iterdir())
    result = run(*arguments, code=code)
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert sorted(here.iterdir()) == before


def test_a_device_that_is_not_there(here):
    from semiring.backend import cuda_available

    if not cuda_available():
        assert "GPU" in run("solve", "six.named", "--device", "cuda", code=4).stderr
        assert "GPU" in run("compare", "--device", "cuda", code=4).stderr


def test_as_a_process_it_is_plain_and_quick(here):
    start = time.perf_counter()
    out = process("--help").stdout
    assert "Exit codes" in out
    assert time.perf_counter() - start < 10  # seconds on any machine; no compilation, no heavy import
    done = process("solve", "six.named")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert process("--version").stdout.startswith("apsp, version ")
    assert process("solve", "missing.gr").stderr.startswith("apsp: ")


def test_a_closed_pipe_is_quiet(here):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    Path("big.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(20000)))
    command = f'"{sys.executable}" -m apsp -q reach big.csv --from 0 | head -1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env)
    assert done.stdout == "1\n"
    assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_ends_it_within_seconds_and_leaves_no_file(here):
    run("generate", "random", "60", "--density", "40", "--output", "warm.npz")
    run("solve", "warm.npz", "--schedule", "iterative", "--dtype", "float64")
    run("generate", "random", "5000", "--density", "5", "--output", "large.npz")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "apsp", "solve", "large.npz", "--schedule", "iterative", "--dtype", "float64"]
    child = subprocess.Popen([*command, "--output", "d.npy"], stderr=subprocess.PIPE, text=True, env=env)
    time.sleep(6)  # past imports, on a busy machine too
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=20)
    assert child.returncode == console.INTERRUPTED
    assert stderr.strip() == "apsp: interrupted"
    assert not list(here.glob("*d.npy"))
