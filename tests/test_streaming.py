"""Answers that are never in memory as a whole: saved as they are computed, whole or not at all, and interruptible."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress

import numpy as np
import pytest
from processes import finish, holding_less_than, start, wait_for

from apsp import Result, shortest_paths
from apsp.generate import road_like
from semiring.stores.files import writing_folder

ROAD = road_like(70, seed=1)


@pytest.fixture(params=["dense", "elimination", "scipy"])
def result(request):
    return shortest_paths(ROAD, engine=request.param)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".txt", ".zarr", ".tiles"])
def test_what_is_saved_is_the_distances(tmp_path, result, suffix, part):
    r, path = result, tmp_path / f"d{suffix}"
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    if part:
        r = shortest_paths(ROAD, sources=[5, 3, 60], targets=[1, 2], engine=r.plan.engine)
    expected = r.distances
    seen: list[tuple[int, int]] = []
    r.save(path, callback=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (expected.size, expected.size)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if suffix == ".npy":
        found = np.load(path)
        assert found.dtype == expected.dtype
    elif suffix in (".npz", ".zarr", ".tiles"):
        again = Result.load(path)
        found = again.distances
        assert (list(again.sources), list(again.targets)) == (list(r.sources), list(r.targets))
        assert again.plan == r.plan
        assert again.distance(60, 2) == r.distance(60, 2)
        path = again.path(60, 2)
        assert (path[0], path[-1]) == (60, 2)
    elif suffix == ".txt":
        found = np.loadtxt(path, expected.dtype, ndmin=2)
    elif suffix == ".csv":
        lines = [line.split(",") for line in path.read_text().splitlines()]
        assert lines[0] == ["", *map(str, r.targets)]
        assert [line[0] for line in lines[1:]] == list(map(str, r.sources))
        found = np.array([[int(x) for x in line[1:]] for line in lines[1:]])
    np.testing.assert_array_equal(found, expected)
    if suffix in (".zarr", ".tiles"):
        r.save(tmp_path / f"d{suffix}")  # again, in its place
        assert [p.name for p in tmp_path.iterdir()] == [f"d{suffix}"]


def test_labels_of_tiles_are_json(tmp_path):
    zarr = pytest.importorskip("zarr")
    r = shortest_paths([("a", "b", 1)], engine="elimination")
    r.save(tmp_path / "d.zarr")
    group = zarr.open_group(str(tmp_path / "d.zarr"), mode="r")
    assert json.loads(group["targets_json"][:].tobytes()) == ["a", "b"]
    assert group.attrs["infinity"] == str(r.infinity)


def test_without_zarr_the_error_names_a_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(ImportError, match="pip install zarr"):
        shortest_paths([("a", "b", 1)]).save(tmp_path / "d.zarr")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_refused_before_the_work(tmp_path, result, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 100})())
    with pytest.raises(OSError, match="free"):
        result.save(tmp_path / "d.npy")
    assert not list(tmp_path.iterdir())


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    place = tmp_path / "tiles"
    with writing_folder(place) as folder:
        (folder / "a").write_text("1")
    with suppress(ZeroDivisionError), writing_folder(place) as folder:
        (folder / "b").write_text("2")
        _ = 1 / 0
    assert [p.name for p in place.iterdir()] == ["a"]
    with writing_folder(place) as folder:
        (folder / "c").write_text("3")
    assert [p.name for p in place.iterdir()] == ["c"]
    assert [p.name for p in tmp_path.iterdir()] == ["tiles"]
    (tmp_path / "file").write_text("precious")
    replace, theirs = os.replace, iter([1, 2])

    def interrupted(source, target) -> None:
        """Another process ends with its directory in between, twice."""
        replace(source, target)
        if target != place and next(theirs, None):
            place.mkdir()
            (place / "theirs").write_text("")

    with pytest.MonkeyPatch.context() as patch, writing_folder(place) as folder:
        (folder / "ours").write_text("")
        patch.setattr(os, "replace", interrupted)
    assert [path.name for path in place.iterdir()] == ["ours"]
    assert sorted(os.listdir(tmp_path)) == ["file", "tiles"]
    with pytest.raises(NotADirectoryError, match="file"), writing_folder(tmp_path / "file"):
        pass
    with pytest.raises(FileNotFoundError), writing_folder(tmp_path / "missing" / "tiles"):
        pass


#: Saving that says when it has begun, and then goes on without end.
SLOW = """
import sys, time
from apsp import shortest_paths
from apsp.generate import road_like
r = shortest_paths(road_like(6000, seed=1), engine="elimination")
r.distance(0, 1)
def told(done, total):
    print("saving", flush=True)
    while True:
        time.sleep(0.01)
try:
    r.save(sys.argv[1], callback=told)
except KeyboardInterrupt:
    print("interrupted", r.distance(0, 5999) > 0, flush=True)
"""


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_save_leaves_no_file_under_its_name(tmp_path):
    path = tmp_path / "d.npy"
    path.write_bytes(b"as it was")
    child = start(SLOW, path)
    wait_for(child, "saving")
    child.send_signal(signal.SIGKILL)
    finish(child)
    assert path.read_bytes() == b"as it was"


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_saving_leaves_nothing_and_the_result_usable(tmp_path):
    child = start(SLOW, tmp_path / "d.npy")
    wait_for(child, "saving")
    child.send_signal(signal.SIGINT)
    code, out, err = finish(child)
    assert (code, out.split()) == (0, ["interrupted", "True"]), err
    assert not list(tmp_path.iterdir())


def test_rows_of_many_vertices_never_hold_all():
    """100,000 vertices: their table would take 40 GB; rows are looked at in blocks, within a small peak."""
    r = shortest_paths(road_like(100_000, seed=1), dtype="float32")
    assert r.plan.engine == "elimination"
    with holding_less_than(400e6):
        assert max(float(D.max()) for _, D in r.rows(range(0, 100_000, 500))) < np.inf
