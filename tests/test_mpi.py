"""Ranks as processes under mpiexec; left out, with the reason, where there is no MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from mpi_ranks import matrix
from scipy.sparse.csgraph import floyd_warshall

from apsp import Result
from apsp.doors.cli.checksum import crc32
from semiring.distributed import processes
from semiring.distributed.mpi import wait_for_reader
from semiring.host.errors import DeviceError
from semiring.stores.tiles import TileStore

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")

pytestmark = pytest.mark.busy


@pytest.fixture(scope="module")
def run():
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install '.[mpi]'", exc_type=ImportError)
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec: pip install '.[mpi]'")

    def start(*what: str, ranks: int = 2, silence: int = 8) -> subprocess.CompletedProcess[str]:
        program = [str(Path(__file__).with_name("mpi_ranks.py"))] if len(what) == 1 else ["-m", "apsp"]
        command = [MPIEXEC, "-n", str(ranks), sys.executable, *program, *what]
        quick = os.environ | {"APSP_RANK_SILENCE": str(silence)}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=quick)

    return start


def told(ended: subprocess.CompletedProcess[str], code: int) -> str:
    """The one error of a job that ended with that exit code."""
    lines = [line for line in ended.stderr.splitlines() if line.startswith("apsp:")]
    assert (ended.returncode, len(lines)) == (code, 1), ended.stderr
    return lines[0]


def test_two_processes_close_a_matrix(run):
    A = matrix(150)
    expected = floyd_warshall(A.astype(float) + (A == 32767) * 1e9)
    expected[expected >= 1e9] = 32767
    ended = run("close")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == f"{crc32(expected.astype(A.dtype)):08x}"


@pytest.mark.parametrize("sign", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_launcher_of_another_mpi_is_told_by_its_sign(monkeypatch, sign):
    monkeypatch.setenv(sign, "2")
    with pytest.raises(DeviceError, match=rf"{sign}=2.*MPICH 5.*MPI4PY_LIBMPI"):
        processes._check_launcher("MPICH 5, of today\n")


def test_a_launcher_of_another_mpi_is_refused_before_anything_is_written(run, tmp_path):
    """Each of its processes would believe to be alone, and write the same store."""
    graph, store = tmp_path / "g.csv", tmp_path / "d"
    graph.write_text("from,to,weight\na,b,4\n")
    arguments = ["solve", str(graph), "--distributed", "--output", f"{store}/"]
    # MPICH itself reads this sign when it starts.
    begin = "from mpi4py import MPI; import os, apsp.doors.cli; os.environ['PMI_SIZE'] = '2'"
    command = [sys.executable, "-c", f"{begin}; apsp.doors.cli.main({arguments!r})"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, "PMI_SIZE=2" in ended.stderr) == (4, True), ended.stderr
    assert not store.exists()


def test_an_error_of_one_process_ends_the_job_with_one_message(run):
    wrong = told(run("fail"), 1)
    assert "rank 1 (process" in wrong
    assert wrong.endswith(": one has had enough")


def test_a_process_waits_until_its_last_message_is_read():
    reader, writer = os.pipe()
    os.write(writer, b"apsp: the end\n")
    begun = time.monotonic()
    wait_for_reader(writer, 0.2)
    assert time.monotonic() - begun >= 0.2  # nobody has read it
    begun = time.monotonic()
    threading.Timer(0.1, os.read, (reader, 100)).start()
    wait_for_reader(writer, 60)
    assert 0.1 <= time.monotonic() - begun < 60
    wait_for_reader(-1, 60)  # closed
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("who", ["0", "1"])
def test_an_interrupt_of_one_process_ends_the_job_and_is_told_once(run, who):
    wrong = told(run(f"interrupt {who}"), 1)
    assert wrong == "apsp: interrupted." if who == "0" else wrong.startswith("apsp: rank 1 (process")
    assert wrong.endswith("interrupted.")


def test_what_one_process_refuses_all_refuse(run):
    ended = run("refuse")
    assert ended.returncode == 0
    # The launcher joins what both print, byte by byte.
    assert [ended.stdout.count(f"rank {rank}: no room") for rank in (0, 1)] == [1, 1]


def test_a_hung_process_ends_the_job_and_is_named(run):
    ended = run("stop", ranks=3, silence=5)
    assert ended.returncode == 4
    assert "rank 1 (process" in ended.stderr
    assert "no sign of life" in ended.stderr


def test_the_command_answers_once(run, tmp_path):
    (tmp_path / "g.csv").write_text("from,to,weight\na,b,4\nb,c,7\na,c,12\nc,d,1\n")
    graph, store = str(tmp_path / "g.csv"), str(tmp_path / "d") + "/"
    arguments = ("solve", graph, "--distributed", "--dtype", "int16", "--device", "cpu", "--threads", "1")
    ended = run("-q", *arguments, "--from", "a", "--to", "d", "--output", store)
    assert (ended.returncode, ended.stdout) == (0, "distance 12\npath a -> b -> c -> d\n"), ended.stderr
    assert Result.load(store).distance("a", "d") == 12
    ended = run("-q", *arguments, "--engine", "elimination", "--reduce", "total")
    assert (ended.returncode, ended.stdout.split()[2:]) == (0, ["a", "27", "b", "15", "c", "1", "d", "0"]), ended.stderr
    (tmp_path / "g.csv").write_text("from,to,weight\na,b,4\nb,a,-7\n")
    assert "By label: vertex" in told(run(*arguments), 3)


def test_the_command_takes_a_store_that_no_process_reads_whole(run, tmp_path):
    A = matrix(150)
    TileStore.create(tmp_path / "big", A.shape, A.dtype, block=64).put(A)
    expected = floyd_warshall(np.where(A == 32767, 0, A).astype(float))
    far = np.unravel_index(np.where(np.isfinite(expected), expected, 0).argmax(), expected.shape)
    big, ck, out = (f"{tmp_path}/{name}/" for name in ("big", "ck", "d"))
    arguments = ("solve", big, "--distributed", "--device", "cpu", "--threads", "1")
    arguments += ("--checkpoint", ck, "--output", out)
    ended = run("-q", *arguments, "--from", str(far[0]), "--to", str(far[1]))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"distance {expected[tuple(far)]:g}\npath {far[0]} -> ")
    found = Result.load(out)
    assert found.dtype == A.dtype
    np.testing.assert_array_equal(found.distances, np.where(np.isinf(expected), 32767, expected))
    assert "another place" in told(run("-q", *arguments[:-1], big), 2)
