"""Results whose distances stay on disk answer as those in memory do, and never from what is missing or damaged."""

from __future__ import annotations

import asyncio
import errno
import os
import pickle
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import semiring
from apsp import Reachability, Result, shortest_paths, transitive_closure
from apsp.doors.cli import main
from apsp.generate import road_like
from apsp.io.inputs import as_graph
from apsp.io.saving import tiles
from apsp.io.saving.base import gathered
from semiring.host.errors import AlgebraError, FormatError, ShapeError, TileError
from semiring.stores.tiles import TileStore

ROAD = road_like(90, seed=2)


@pytest.mark.parametrize(
    ("name", "algebra", "dtype"),
    [
        ("tiles/", "min_plus", None),
        ("tiles/", "bottleneck", "float64"),
        ("d.zarr", "min_plus", None),
        ("d.zarr/", "min_plus", None),
    ],
)
def test_a_store_answers_what_memory_answers(tmp_path, monkeypatch, name, algebra, dtype):
    if "zarr" in name:
        pytest.importorskip("zarr")
    place = os.path.join(tmp_path, name)
    monkeypatch.setattr(f"apsp.io.saving.{'zarr' if 'zarr' in name else 'tiles'}.TILE", 32)
    r = shortest_paths(ROAD, algebra, dtype=dtype, engine="dense")
    r.save(place)
    again = Result.load(place)
    assert not again.engine.in_memory
    assert os.path.exists(os.path.join(place, "zarr.json" if "zarr" in name else "store.json"))
    n = ROAD.n
    np.testing.assert_array_equal(again.distances, r.distances)
    some = [5, 6, 7, n - 1, 0]
    np.testing.assert_array_equal(again.table(some, [3, 39, 1]), r.table(some, [3, 39, 1]))
    assert again.distance(7, 39) == r.distance(7, 39)
    us, vs = np.arange(n), np.arange(n)[::-1].copy()
    np.testing.assert_array_equal(again.distance(us, vs), r.distance(us, vs))
    assert again.path(7, 39) == r.path(7, 39)
    pairs = [(1, 30), (30, 1), (39, 2)]
    assert list(again.paths(pairs)) == list(r.paths(pairs))
    np.testing.assert_array_equal(again.predecessors, r.predecessors)
    (found,) = (P for _, P in again.predecessor_rows([3]))
    np.testing.assert_array_equal(found[0], r.predecessors[3])
    np.testing.assert_array_equal(again.next_hops, r.next_hops)
    np.testing.assert_array_equal(again.reduce(np.maximum, axis=0), r.reduce(np.maximum, axis=0))
    assert "zarr" in name or algebra != "min_plus" or again.verify("all")


def test_a_path_reads_the_tiles_of_a_row_alone(tmp_path, monkeypatch):
    """The rest may even be gone: nothing else is loaded."""
    monkeypatch.setattr("apsp.io.saving.tiles.TILE", 32)
    r = shortest_paths(ROAD)
    r.save(f"{tmp_path}/t/")
    for i, j in ((1, 0), (2, 2), (1, 1)):
        (tmp_path / "t" / f"{i:05d}-{j:05d}.tile").unlink()
    again = Result.load(tmp_path / "t")
    assert list(again.paths([(3, 80)])) == list(r.paths([(3, 80)]))
    assert again.distance(3, 80) == r.distance(3, 80)
    with pytest.raises(TileError, match=r"tile 1, 0: .*missing"):
        again.distance(40, 3)


def test_a_store_is_a_result_when_it_is_complete(tmp_path):
    r = shortest_paths(ROAD)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        r.save(f"{tmp_path}/t/", callback=stop)
    assert not list(tmp_path.iterdir())
    r.save(f"{tmp_path}/t/")
    assert Result.load(tmp_path / "t").distance(0, 1) == r.distance(0, 1)
    (tmp_path / "t" / "result.npz").unlink()
    with pytest.raises(FormatError, match="cut short"):
        Result.load(tmp_path / "t")


@pytest.mark.parametrize("name", ["r.npz", "tiles/"])
def test_what_is_loaded_knows_what_was_asked(tmp_path, name):
    """That edges weigh 1, the limit, and a semiring of one's own that is called as one of the catalog."""
    place, inf = f"{tmp_path}/{name}", np.inf
    r = shortest_paths(
        np.array([[inf, 5, inf, 9], [inf, inf, 6, inf], [inf, inf, inf, 7], [1, inf, inf, inf]]), weight=None
    )
    r.save(place)
    again = Result.load(place)
    assert (again.path(0, 3), again.distance(0, 2), bool(again.verify("all"))) == ([0, 3], 2, True)
    np.testing.assert_array_equal(again.predecessors, r.predecessors)
    shortest_paths([(0, 1, 5), (1, 2, 6), (2, 3, 7)], limit=11).save(place)
    np.testing.assert_array_equal(Result.load(place).update([6, 6, 4]).table()[0], [0, 6, inf, inf])
    far = shortest_paths([(0, 1, 5)])
    far = replace(far, plan=replace(far.plan, device="cuda"))  # as on a machine with a GPU
    assert far.update([7]).distance(0, 1) == 7
    own = replace(semiring.get("bottleneck"), name="min_plus")
    widest = shortest_paths([(0, 1, 5), (1, 2, 6)], own)
    widest.save(place)
    with pytest.raises(AlgebraError, match="semiring=…"):
        Result.load(place)
    np.testing.assert_array_equal(Result.load(place, semiring=own).table(), widest.table())


@pytest.mark.parametrize("name", ["r.npz", "tiles/"])
@pytest.mark.parametrize(
    "part",
    [{"sources": [7, 3]}, {"targets": [5, 80, 2]}, {"sources": range(89, -1, -1)}, {"limit": 900}],
    ids=["rows", "columns", "all in another order", "within a limit"],
)
def test_a_part_that_was_saved_has_its_routes_still(tmp_path, name, part):
    """They may lead through what was not saved; and what is made of all distances is refused, not made of some."""
    place = f"{tmp_path}/{name}"
    r = shortest_paths(ROAD, **part)
    r.save(place)
    for again in (Result.load(place), pickle.loads(pickle.dumps(Result.load(place)))):
        np.testing.assert_array_equal(again.table(), r.table())
        pairs = [(u, v) for u in list(r.sources)[:2] for v in list(r.targets)[:3]]
        for u, v in pairs:
            if np.isfinite(r.distance(u, v)):
                assert again.path(u, v) == r.path(u, v)
        assert list(again.paths(pairs)) == list(r.paths(pairs))
        for table in ("predecessors", "next_hops", "hops"):
            np.testing.assert_array_equal(getattr(again, table), getattr(r, table))
        with pytest.raises(ShapeError, match="all pairs"):
            again.verify()
        if len(r.sources) < ROAD.n:
            with pytest.raises(ShapeError, match="all 90"):
                again.reduce("closeness")
        np.testing.assert_array_equal(again.update({}).table(), r.table())


def test_a_store_is_not_written_over_while_it_is_read(tmp_path):
    """Neither distances that come from it, nor a graph's matrix; whatever it is called."""
    place, link = tmp_path / "t", tmp_path / "link"
    r = shortest_paths(ROAD)
    r.save(f"{place}/")
    link.symlink_to(place)
    for of in (Result.load(place), shortest_paths(place, sources=[3])):
        with pytest.raises(ValueError, match="another place"):
            of.save(f"{link}/")
    with pytest.raises(ValueError, match="another place"):
        transitive_closure(place, output=link)
    np.testing.assert_array_equal(Result.load(place).distances, r.distances)
    t = transitive_closure(ROAD, output=tmp_path / "r")
    Reachability.load(tmp_path / "r").save(f"{tmp_path}/s/")
    with pytest.raises(ValueError, match="another place"):
        Reachability.load(tmp_path / "r").save(f"{tmp_path}/r/")
    for copy in ("r", "s"):
        np.testing.assert_array_equal(Reachability.load(tmp_path / copy).to_bool(), t.to_bool())


def test_reachability_that_is_cut_short_leaves_what_was_there(tmp_path, monkeypatch):
    """A store of as many components, written over as a whole, or strip by strip."""
    n = 300
    transitive_closure([(i, i + 1) for i in range(n)], output=tmp_path / "r")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("semiring.stores.tiles.StoredBits.put", stop)
    for within in ({}, {"memory": "12kB"}):
        with pytest.raises(KeyboardInterrupt):
            transitive_closure([(i + 1, i) for i in range(n)], output=tmp_path / "r", **within)
        again = Reachability.load(tmp_path / "r")
        assert (again.reaches(0, n), again.reaches(n, 0)) == (True, False)
        assert [path.name for path in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_a_full_disk_leaves_nothing_of_zarr(tmp_path, monkeypatch, there):
    """Zarr writes tiles side by side, and goes on with others after one has failed."""
    stores = pytest.importorskip("zarr.storage")
    monkeypatch.setattr("apsp.io.saving.zarr.TILE", 16)
    r, place, whole = shortest_paths(ROAD), tmp_path / "d.zarr", stores.LocalStore.set
    if there:
        r.save(place)
    before, tiles = sorted(x.name for x in tmp_path.iterdir()), []

    async def full(store, key, value, *more):
        if "/c/" in key:
            tiles.append(key)
            if len(tiles) == 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), key)
            await asyncio.sleep(0.1)
        await whole(store, key, value, *more)

    monkeypatch.setattr(stores.LocalStore, "set", full)
    with pytest.raises(OSError, match="No space left"):
        r.save(place)
    time.sleep(0.5)
    assert len(tiles) > 3
    assert sorted(x.name for x in tmp_path.iterdir()) == before
    if there:
        assert Result.load(place).distance(0, 1) == r.distance(0, 1)


def test_a_tile_that_zarr_would_read_as_its_fill_value_is_missed(tmp_path, monkeypatch):
    pytest.importorskip("zarr")
    monkeypatch.setattr("apsp.io.saving.zarr.TILE", 32)
    shortest_paths(ROAD).save(tmp_path / "d.zarr")
    (tmp_path / "d.zarr" / "distances" / "c" / "1" / "2").unlink()
    with pytest.raises(FormatError, match="all 9 tiles"):
        Result.load(tmp_path / "d.zarr")


@pytest.mark.parametrize("part", ["distances/c/0/0", "result_npz/c/0"])
def test_a_damaged_tile_of_zarr_names_its_group(tmp_path, part):
    pytest.importorskip("zarr")
    shortest_paths(ROAD).save(tmp_path / "d.zarr")
    tile = tmp_path / "d.zarr" / part
    whole = tile.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:20] + bytes([whole[20] ^ 4]) + whole[21:]):
        tile.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"d\.zarr"):
            list(Result.load(tmp_path / "d.zarr").rows())


def test_a_damaged_archive_in_a_whole_tile_of_zarr_names_its_group(tmp_path):
    zarr = pytest.importorskip("zarr")
    shortest_paths(ROAD).save(tmp_path / "d.zarr")
    zarr.open_group(str(tmp_path / "d.zarr"))["result_npz"][-30:] = 0
    with pytest.raises(FormatError, match=r"d\.zarr: the `result_npz`"):
        Result.load(tmp_path / "d.zarr")


def test_tiles_of_one_graph_are_no_result_of_another(tmp_path):
    """Two processes write to one place: the archive of either must not lie beside the tiles of the other."""
    here, there = tmp_path / "r", tmp_path / "s"
    for place, weight in ((here, 3), (there, 4)):
        shortest_paths([("a", "b", weight), ("b", "a", 1)], output=place)
    (here / "result.npz").write_bytes((there / "result.npz").read_bytes())
    for load in (Result.load, as_graph, Reachability.load):
        with pytest.raises(FormatError, match=r"result\.npz must belong to this store"):
            load(here)
    store = TileStore(there)
    TileStore.create(there, (2, 2), "int32")
    with pytest.raises(FormatError, match="another store has been written to this path"):
        tiles.save_archive(store, {})


def test_a_directory_of_something_else_is_not_replaced_by_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    r, place = shortest_paths(ROAD), tmp_path / "d.zarr"
    for _ in range(2):
        r.save(place)  # its own, again
    zarr.open_group(str(place))["years"] = np.arange(3)
    with pytest.raises(FileExistsError, match="that `save` wrote"):
        r.save(place)
    assert Result.load(place).distance(3, 80) == r.distance(3, 80)


def test_zarr_says_what_its_axes_are_and_has_checksums(tmp_path):
    zarr = pytest.importorskip("zarr")
    shortest_paths([("a", "b", 0)]).save(tmp_path / "d.zarr")  # with an entry of nothing but the fill value
    group = zarr.open_group(str(tmp_path / "d.zarr"), mode="r")
    assert all(len(array.metadata.dimension_names) == array.ndim for array in group.array_values())  # xarray needs them
    array = group["distances"]
    assert array.metadata.zarr_format == 3
    assert array.metadata.dimension_names == ("sources", "targets")
    assert "crc32c" in str(array.metadata.codecs).lower()
    assert array.nchunks_initialized == array.nchunks


def test_the_command_writes_a_store(tmp_path):
    text = "a b 4\nb c 7\n"
    (tmp_path / "g.txt").write_text(text)
    done = CliRunner().invoke(main, ["solve", str(tmp_path / "g.txt"), "--output", f"{tmp_path}/t/"])
    assert done.exit_code == 0, done.output
    assert Result.load(tmp_path / "t").path("a", "c") == ["a", "b", "c"]


def test_gathered_rows_are_those_that_came():
    """In blocks of any size, each in memory that is used again."""
    rng = np.random.default_rng(0)
    for size in (1, 3, 4, 16):
        rows, room = np.arange(80).reshape(40, 2), np.empty((40, 2), int)

        def blocks(rows=rows, room=room):
            at = 0
            while at < len(rows):
                part = rows[at : at + int(rng.integers(1, 12))]
                room[: len(part)] = part
                yield room[: len(part)]
                at += len(part)

        found = [part.copy() for part in gathered(blocks(), size)]
        assert all(len(part) == size for part in found[:-1])
        np.testing.assert_array_equal(np.concatenate(found), rows)


@pytest.mark.parametrize("name", ["D.NPZ", "D.Tiles"])
def test_a_suffix_in_capitals_is_one(tmp_path, name):
    shortest_paths([("A", "B", 4)]).save(tmp_path / name)
    assert Result.load(tmp_path / name).distance("A", "B") == 4
