"""Directories that appear whole or not at all: through errors, kills, and two writers of one place."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pytest

from apsp import Reachability, Result, closure, shortest_paths, transitive_closure
from semiring.stores import files
from semiring.stores.files import claimed, writing_folder
from semiring.stores.tiles import TileStore

ROOT = Path(__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
#: A result whose every number tells which it is.
N = 40
CHILD = f"""
import sys
import numpy as np
from apsp import Result, as_graph, shortest_paths
results = [shortest_paths(np.full(({N}, {N}), float(weight)), engine="scipy") for weight in (2, 1)]
print("begin", flush=True)
for turn in range(10_000):
    results[turn % 2].save(sys.argv[1])
"""


def which(path: Path) -> float:
    """The weight that all of a result says."""
    D = Result.load(path).distances
    off = D[~np.eye(N, dtype=bool)]
    assert (off == off[0]).all()
    return off[0]


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that has said `begin`."""
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, cwd=ROOT)
    assert process.stdout is not None
    if process.stdout.readline() != "begin\n":
        pytest.fail(process.communicate()[1])
    return process


def names(*folders: Path) -> list[list[str]]:
    return [sorted(path.name for path in folder.iterdir()) for folder in folders]


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="two renamings elsewhere")
@pytest.mark.parametrize("name", ["r.tiles", "r.zarr"])
def test_killed_at_any_moment_the_old_result_stands_or_the_new(tmp_path, name):
    if name == "r.zarr":
        pytest.importorskip("zarr")
    path, rng = tmp_path / name, random.Random(3)
    shortest_paths(np.full((N, N), 1.0)).save(path)
    seen = set()
    for _ in range(3):  # `python -m tests.fuzz --target kills` kills more
        writer = child(CHILD, str(path))
        until = time.monotonic() + rng.uniform(0, 0.3)
        try:
            while time.monotonic() < until:
                assert path.is_dir()  # without an instant in which nothing stands there
        finally:
            end(writer)
        seen.add(which(path))
    assert seen <= {1.0, 2.0}
    shortest_paths(np.full((N, N), 2.0)).save(path)  # the lock died with its process; what it left goes
    assert which(path) == 2
    assert [left.name for left in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: shortest_paths([(0, 1, 5)], output=path),
        lambda path: shortest_paths([(0, 1, 5)]).save(f"{path}/"),
        lambda path: closure(np.ones((3, 3)), output=path),
        lambda path: closure(np.ones((3, 3)), checkpoint=path),
        lambda path: transitive_closure([(0, 1)], output=path),
        lambda path: transitive_closure([(0, 1)]).save(f"{path}/"),
    ],
)
def test_the_second_of_two_writers_is_told_at_its_start_who_the_first_is(tmp_path, write):
    code = "import sys, time\nfrom semiring.stores.files import claimed\n"
    code += "with claimed(sys.argv[1]):\n    print('begin', flush=True)\n    time.sleep(60)"
    path = tmp_path / "out"
    first = child(code, str(path))
    try:
        with pytest.raises(
            OSError, match=f"process {first.pid} on .*: wait until it has ended, or name another"
        ) as told:
            write(path)
        assert (told.value.errno, told.value.filename) == (
            errno.EBUSY,
            str(path).removesuffix("/"),
        ) or told.value.filename
        write(tmp_path / "other")
    finally:
        end(first)
    write(path)  # killed, it holds nothing any more


def test_the_command_claims_its_output_before_it_reads_the_graph(tmp_path):
    os.mkfifo(tmp_path / "graph.txt")
    command = [sys.executable, "-m", "apsp", "solve", str(tmp_path / "graph.txt"), "--output", f"{tmp_path}/out/"]
    first = subprocess.Popen(command, env=ENV, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.glob(".semiring-*.lock")) and time.monotonic() < until:
            time.sleep(0.01)
        (tmp_path / "g.txt").write_text("a b 3\n")
        command[4] = str(tmp_path / "g.txt")
        second = subprocess.run(command, env=ENV, cwd=ROOT, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert f"process {first.pid} on" in second.stderr
        with open(tmp_path / "graph.txt", "w") as pipe:
            pipe.write("a b 4\n")
        assert first.wait(60) == 0, first.communicate()
    finally:
        end(first)
    assert Result.load(tmp_path / "out").distance("a", "b") == 4


def test_two_threads_are_two_writers_and_one_within_its_own_is_none(tmp_path):
    with claimed(tmp_path / "out"), claimed(tmp_path / "out"):
        said: list[BaseException] = []

        def other() -> None:
            try:
                with claimed(tmp_path / "out"):
                    pass
            except OSError as error:
                said.append(error)

        thread = threading.Thread(target=copy_context().run, args=(other,))  # as `asyncio.to_thread` starts it
        thread.start()
        thread.join()
        assert said
        assert said[0].errno == errno.EBUSY
    assert not list(tmp_path.iterdir())


def test_a_full_disk_that_takes_no_name_of_an_owner_is_claimed_all_the_same(tmp_path):
    code = """
import resource, sys
from semiring.stores.files import claimed
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # every write fails, as on a full disk
with claimed(sys.argv[1]) as by_lock:
    print(by_lock)
"""
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True\n"
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("swaps", [True, False], ids=["in one step", "in two renamings"])
def test_an_error_leaves_what_was_there_and_success_replaces_it(tmp_path, monkeypatch, swaps):
    if not swaps:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    place = tmp_path / "out"

    def write(error: BaseException | None) -> None:
        with writing_folder(place) as new:
            (new / "new").write_text("new")
            if error:
                raise error

    for error in (ValueError(), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write(error)
        assert not list(tmp_path.iterdir())
    place.mkdir(mode=0o700)
    (place / "old").write_text("old")
    for error in (ValueError(), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write(error)
        assert names(tmp_path, place) == [["out"], ["old"]]
    write(None)
    assert names(tmp_path, place) == [["out"], ["new"]]
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_crash_between_two_renamings_is_mended_by_the_next_writer(tmp_path):
    place = tmp_path / "out"
    place.mkdir()
    (place / "old").write_text("old")
    os.rename(place, files._hidden(place, ".old"))
    with suppress(InterruptedError), writing_folder(place):
        assert names(place) == [["old"]]
        raise InterruptedError
    assert names(tmp_path, place) == [["out"], ["old"]]


def test_what_else_is_in_the_directory_of_a_store_stays(tmp_path):
    path = tmp_path / "out"
    shortest_paths([(0, 1, 5)], output=path)
    (path / "notes.txt").write_text("mine")
    (path / "plots").mkdir()
    (path / "plots" / "a.svg").write_text("mine too")
    closure(np.ones((3, 3)), output=path)
    assert (path / "notes.txt").read_text() == "mine"
    assert (path / "plots" / "a.svg").read_text() == "mine too"
    assert not (path / "result.npz").exists()  # which belonged to the store that was there
    assert TileStore(path)[0, 1] == 1


def test_a_result_that_answers_from_its_store_finds_it_after_it_was_moved_to_its_place(tmp_path):
    r = shortest_paths(np.full((N, N), 3.0), output=tmp_path / "r")
    t = transitive_closure([(i, i + 1) for i in range(300)], memory="12kB", output=tmp_path / "t")
    assert (r.distance(0, 1), t.reaches(0, 300), t.reaches(300, 0)) == (3, True, False)
    assert Reachability.load(tmp_path / "t").reaches(0, 300)
    assert closure(np.ones((3, 3)), output=tmp_path / "c").path == tmp_path / "c"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "r", "t"]


def test_where_no_directory_can_be_made_beside_it_the_way_out_works(tmp_path, monkeypatch):
    place = tmp_path / "disk"
    place.mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) == str(place))
    with pytest.raises(
        OSError, match=r"where a disk is mounted.*name a new directory in it, such as .*result/"
    ) as told:
        shortest_paths([(0, 1, 5)], output=place)
    assert told.value.errno == errno.EBUSY
    shortest_paths([(0, 1, 5)], output=place / "result")
