"""Tile stores: whatever is written comes back, and whatever is damaged is found and named."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from apsp.io.graph.ondisk import OnDisk
from semiring.dense.bits import BitMatrix
from semiring.host.errors import DomainError, DTypeError, FormatError, ShapeError, TileError
from semiring.stores.files import claimed
from semiring.stores.tiles import StoredBits, TileStore


@pytest.fixture
def store(tmp_path):
    made = TileStore.create(tmp_path / "tiles", (7, 5), "int32", block=(3, 2), attributes={"semiring": "min_plus"})
    made.put(np.arange(35, dtype=np.int32).reshape(7, 5), round=3)
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "bool", "uint64"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (4, 4), (9, 13), (70, 530)])
def test_what_is_written_comes_back(tmp_path, shape, dtype):
    A = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    made = TileStore.create(tmp_path / "t", shape, dtype, block=(4, 512))
    made.put(A)
    opened = TileStore(tmp_path / "t")
    np.testing.assert_array_equal(opened[:], A)
    assert opened[:].dtype == A.dtype
    if A.size:
        np.testing.assert_array_equal(opened[-1], A[-1])
        np.testing.assert_array_equal(opened[:, 0], A[:, 0])
        np.testing.assert_array_equal(opened[shape[0] // 3 :, : shape[1] // 2], A[shape[0] // 3 :, : shape[1] // 2])


def test_bands_within_a_tile_are_read_and_checked_by_themselves(tmp_path):
    A = np.random.default_rng(0).random((300, 1000)).astype("float32")  # 65 rows a band
    made = TileStore.create(tmp_path / "t", A.shape, A.dtype, block=(300, 1000))
    made.put(A)
    np.testing.assert_array_equal(made[64:131, 3:999], A[64:131, 3:999])
    path = made.tile_path(0, 0)
    data = bytearray(path.read_bytes())
    data[128 + 200 * 4000] ^= 4  # row 200
    path.write_bytes(data)
    np.testing.assert_array_equal(made[:195], A[:195])
    for read in (lambda: made[259], lambda: made.read(0, 0)):
        with pytest.raises(TileError, match=r"tile 0, 0: .* rows 195 … 259"):
            read()


def test_what_is_no_store_is_told(tmp_path):
    for path, found in ((tmp_path, "a directory without store.json"), (tmp_path / "none", "no directory")):
        with pytest.raises(FormatError, match=f"a tile store is required, got {found}"):
            TileStore(path)


def test_the_round_is_kept(store):
    assert store.round(1, 2) == 3
    store.write(1, 2, store.read(1, 2), round=5)
    inspection = TileStore(store.path).inspect()
    assert inspection.rounds.tolist() == [[3, 3, 3], [3, 3, 5], [3, 3, 3]]
    assert inspection.oldest == 3
    assert not inspection.errors


def damaged(path, how, other):
    data = bytearray(path.read_bytes())
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "foreign":
        path.write_bytes(other.tile_path(1, 1).read_bytes())
    elif how == "misplaced":
        path.write_bytes((path.parent / "00000-00000.tile").read_bytes())
    elif how == "zeros":
        path.write_bytes(bytes(len(data)))
    elif how == "another file":
        path.write_bytes(b"source,target\n" * 20)
    elif how == "longer":
        path.write_bytes(data + b"\0")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("missing", "missing"),
        ("empty", "truncated"),
        ("foreign", "of another"),
        ("misplaced", "the tile 0, 0"),
        ("zeros", "another file"),
        ("another file", "another file"),
        ("longer", "bytes"),
    ],
)
def test_a_tile_that_is_wrong_is_named(store, tmp_path, how, said):
    other = TileStore.create(tmp_path / "other", store.shape, store.dtype, block=store.block)
    other.put(store[:])
    damaged(store.tile_path(1, 1), how, other)
    with pytest.raises(TileError, match=f"tile 1, 1: .*{said}") as caught:
        store[4, 3]
    assert caught.value.tile == (1, 1)
    assert caught.value.path == str(store.tile_path(1, 1))
    assert store[0, 0] == 0
    assert set(store.inspect().errors) == {(1, 1)}


def test_every_byte_and_every_length_counts(store):
    """No flipped bit and no truncation anywhere in a tile goes unseen."""
    path = store.tile_path(0, 1)
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
        with pytest.raises(TileError, match="tile 0, 1"):
            store.read(0, 1)
        path.write_bytes(data[:at])
        with pytest.raises(TileError, match="tile 0, 1"):
            store.read(0, 1)
    path.write_bytes(data)
    store.read(0, 1)


def test_a_description_that_is_damaged_is_refused(store):
    path = store.path / "store.json"
    whole = path.read_bytes()
    for wrong in (b"", whole[:-1], whole.replace(b"int32", b"int64"), b"{}\n00000000\n"):
        path.write_bytes(wrong)
        with pytest.raises(FormatError, match=r"store\.json"):
            TileStore(store.path)
    path.unlink()
    with pytest.raises(FormatError, match="tile store is required"):
        TileStore(store.path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"block": [0, 0]},
        {"block": [2, 0]},
        {"block": [-1, 2]},
        {"block": [2]},
        {"block": 2},
        {"block": [1.5, 2]},
        {"block": [True, 2]},
        {"block": [10**40, 2]},
        {"shape": [-5, 5]},
        {"shape": [5, None]},
        {"shape": {"5": 5}},
        {"shape": "55"},
        {"dtype": "O"},
        {"dtype": "U9"},
        {"dtype": None},
        {"dtype": [["a", "<i4"]]},
        {"identity": "00"},
        {"identity": 5},
        {
            "shape": [10**9, 10**9],
            "block": [1, 1],
            "attributes": {"closure of": 1},
        },  # 10¹⁸ tiles: no list of them fits into memory
        {"attributes": None},
        {"attributes": []},
        {"version": "1"},
        None,
        [],
    ],
    ids=str,
)
def test_a_description_of_what_no_store_is_is_refused(store, wrong):
    """Though its checksum is that of what it says."""
    path = store.path / "store.json"
    told = json.loads(path.read_text().rsplit("\n", 2)[0])
    text = json.dumps({**told, **wrong} if isinstance(wrong, dict) else wrong)
    path.write_text(f"{text}\n{zlib.crc32(text.encode()):08x}\n")
    with pytest.raises(FormatError, match=r"store\.json: the description of a tile store is required"):
        TileStore(store.path)


def test_a_store_takes_the_place_of_nothing_but_a_store(store, tmp_path):
    assert TileStore.create(store.path, (2, 2), "bool").grid == (1, 1)
    assert not list(store.path.glob("*.tile"))
    (store.path / "store.json").unlink()  # as where its making was cut short
    TileStore.create(store.path, (2, 2), "bool").put(np.zeros((2, 2), bool))
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.tex").write_text("all of it")
    with pytest.raises(FileExistsError, match="empty directory"):
        TileStore.create(full, (2, 2), "bool")
    with pytest.raises(NotADirectoryError):
        TileStore.create(full / "thesis.tex", (2, 2), "bool")
    with pytest.raises(FileNotFoundError):
        TileStore.create(tmp_path / "no" / "such", (2, 2), "bool")
    assert (full / "thesis.tex").exists()


def test_what_does_not_fit_on_the_disk_is_refused_at_once(tmp_path):
    with pytest.raises(OSError, match="must fit on its disk"):
        TileStore.create(tmp_path / "t", (1 << 24, 1 << 24), "float64", block=1 << 20)
    assert not (tmp_path / "t").exists()


def test_a_store_in_the_same_place_makes_room_on_the_disk(tmp_path, monkeypatch):
    """128 kB and the tiles that are written beside others; 128 kB of that go first."""
    for free, fits in ((400_000, True), (60_000, True), (20_000, False)):
        monkeypatch.setattr(shutil, "disk_usage", lambda place, free=free: SimpleNamespace(free=free))
        if fits:
            TileStore.create(tmp_path / "t", (128, 128), "float64", block=16).put(np.zeros((128, 128)))
        else:
            (tmp_path / "t" / "00000-00000.tile").unlink()  # 2 kB less
            with pytest.raises(OSError, match="must fit on its disk"):
                TileStore.create(tmp_path / "t", (256, 128), "float64", block=16)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "t").mkdir(mode=0o500)
    with pytest.raises(PermissionError):
        TileStore.create(tmp_path / "t", (2, 2), "bool")


def test_a_store_where_a_closure_is_at_work_is_not_replaced(store, tmp_path):
    other = TileStore.create(tmp_path / "other", (2, 2), "int32")
    with claimed(store.path):
        for replace in (lambda: TileStore.create(store.path, (2, 2), "int32"), lambda: other.linked(store.path)):
            with pytest.raises(OSError, match="another process is writing it"):
                ThreadPoolExecutor(1).submit(replace).result()
        assert TileStore(store.path)[6, 4] == 34
        TileStore.create(store.path, (2, 2), "int32")  # by the closure itself


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_place_of_a_tile_does_not_block(store):
    store.tile_path(1, 1).unlink()
    os.mkfifo(store.tile_path(1, 1))
    for reach in (
        lambda: store[4, 3],
        store.inspect,
        lambda: store.put(np.zeros((7, 5))),
        lambda: OnDisk.from_path(store.path),
    ):
        with pytest.raises(FormatError, match=r"00001-00001.tile: a tile must be a file"):
            reach()


def test_a_store_is_not_copied_over_itself(store, tmp_path):
    (tmp_path / "link").symlink_to(store.path)
    for place in (store.path, tmp_path / "link", tmp_path / "link" / ".." / "tiles"):
        with pytest.raises(ValueError, match="another place"):
            store.linked(place)
    np.testing.assert_array_equal(store[:], np.arange(35).reshape(7, 5))


def test_no_entry_is_put_that_its_dtype_cannot_hold(store):
    for entry in (np.inf, np.nan, 1.5, 2.0**31, -(2**40)):
        A = np.ones((7, 5))
        A[6, 4] = entry
        with pytest.raises(DomainError, match="must be integers of int32, got"):
            store.put(A)
    store.put(np.full((7, 5), 3.0))
    store.put([[1, 2], [3, 4], [5, 6]])
    assert store[:3].tolist() == [[1, 2, 3, 3, 3], [3, 4, 3, 3, 3], [5, 6, 3, 3, 3]]
    for window in (np.zeros(5), np.zeros((3, 2, 1))):
        with pytest.raises(ShapeError, match="two dimensions"):
            store.put(window)
    with pytest.raises(ShapeError, match="complete tiles"):
        store.put(np.zeros((3, 2)), -3)


@pytest.mark.parametrize(
    ("dtype", "entry", "error", "words"),
    [
        ("float32", 1e300, DomainError, "must be numbers of float32, got 1e\\+300"),
        ("float64", 2**53 + 1, DomainError, "must be numbers of float64, got 9007199254740993"),
        ("float64", -(2**53) - 1, DomainError, "must be numbers of float64, got -9007199254740993"),
        ("float64", 2**63 - 1, DomainError, "must be numbers of float64, got 9223372036854775807"),
        ("float64", np.uint64(2**64 - 1), DomainError, "must be numbers of float64, got 18446744073709551615"),
        ("bool", 2.0, DomainError, "must be truth values of bool, got 2.0"),
        ("bool", np.nan, DomainError, "must be truth values of bool, got nan"),
        ("float64", 1j, DTypeError, "numbers that float64 holds, got complex128"),
        ("float64", "3", DTypeError, "numbers that float64 holds, got <U1"),
        ("float64", np.datetime64("2026-01-01"), DTypeError, "numbers that float64 holds, got datetime64"),
        ("float64", None, DTypeError, "numbers that float64 holds, got object"),
        ("float64", np.ma.masked, DTypeError, "plain array is required, got a masked one"),
    ],
)
def test_what_would_become_another_number_is_refused(tmp_path, dtype, entry, error, words):
    store = TileStore.create(tmp_path / "tiles", (1, 2), dtype)
    entries = np.ma.array([[1.0, 1.0]], mask=[[True, False]]) if entry is np.ma.masked else np.array([[entry, entry]])
    with pytest.raises(error, match=words):
        store.put(entries)
    if entry is np.ma.masked:
        with pytest.raises(error, match=words):
            store.write(0, 0, entries)
    store.put(np.array([[1, 0]]))
    assert store[:].tolist() == [[1, 0]]


def test_integers_that_floats_hold_are_put(tmp_path):
    for entry in (2**53, 2**53 + 2, -(2**63), np.uint64(2**63)):
        store = TileStore.create(tmp_path / "tiles", (1, 2), "float64")
        store.put(np.array([[entry, entry]]))
        assert int(store[0, 1]) == int(entry)


def test_what_is_read_into_must_be_of_its_shape_and_dtype(store):
    for shape, dtype, words in (((2, 2), "int32", "shape"), ((9, 9), "int32", "shape"), ((7, 5), "float64", "dtype")):
        with pytest.raises((ShapeError, DTypeError), match=f"out must have {words}"):
            store.window(slice(0, 7), slice(0, 5), np.zeros(shape, dtype))
    for shape, dtype in (((1, 2), "int32"), ((3, 2), "int64")):
        with pytest.raises((ShapeError, DTypeError), match="out must have"):
            store.read(0, 0, np.zeros(shape, dtype))
    turned = np.zeros((5, 7), np.int32).T[:, ::-1]
    assert store.window(slice(0, 7), slice(0, 5), turned) is turned
    assert turned.tolist() == np.arange(35).reshape(7, 5).tolist()


def test_what_is_no_layout_is_refused_at_once_and_leaves_the_store_that_is_there(store):
    for shape, block in (((2.5, 2), 1), ((2, 2), 1.5), ((2, 2), (1, 1, 7)), (2, 1), ((2, 2, 2), 1), ((2, -1), 1)):
        with pytest.raises(ShapeError, match="tiles of 1 × 1 or more"):
            TileStore.create(store.path, shape, "int32", block=block)
    with pytest.raises(ShapeError, match=r"at most 134,217,728 tiles are required, got .* Take a larger block"):
        TileStore.create(store.path, (10**9, 10**9), "int32", block=1)
    with pytest.raises(TypeError, match="JSON"):
        TileStore.create(store.path, (2, 2), "int32", attributes={"one": {1}})
    assert TileStore(store.path)[6, 4] == 34


@pytest.mark.parametrize("shape", [(0, 3), (5, 4), (6, 4), (7, 1)])
def test_the_bytes_of_a_store_are_those_of_its_files(tmp_path, shape):
    store = TileStore.create(tmp_path / "tiles", shape, "int16", block=(3, 2))
    store.put(np.zeros(shape))
    assert store.layout.nbytes() == sum(path.stat().st_size for path in store.path.glob("*.tile"))


def test_stored_bits_have_the_indices_of_a_bit_matrix(tmp_path):
    stored, bits = StoredBits.create(tmp_path / "bits", (3, 70)), BitMatrix.from_edges([0, 2], [1, 69], (3, 70))
    stored.put(slice(0, 70), bits)
    assert [stored[-1, -1], *stored[[0, 2], [1, 69]]] == [True] * 3
    assert stored.column(-1).tolist() == [False, False, True]
    for matrix in (stored, bits):
        for beyond in (lambda m: m[0, 70], lambda m: m[[0, 3], 1], lambda m: m.column(127)):
            with pytest.raises(IndexError, match="must lie in"):
                beyond(matrix)
        with pytest.raises(DTypeError, match="must be an integer"):
            matrix[1.5, 0]


@pytest.mark.parametrize("beyond", [(0, 8), (-1, 2), (8, 9), (2, 1)])
def test_nothing_is_read_beyond_the_matrix(store, beyond):
    for window in ((slice(*beyond), slice(0, 2)), (slice(0, 2), slice(*beyond))):
        with pytest.raises(IndexError, match="must lie within"):
            store.window(*window)
    with pytest.raises(IndexError, match="by steps of 1"):
        store.window(slice(0, 4, 2), slice(0, 2))
    for tile in ((3, 0), (0, -1)):
        for use in (store.read, store.round, lambda i, j: store.write(i, j, np.zeros((3, 2), "int32"))):
            with pytest.raises(IndexError, match="must lie within"):
                use(*tile)


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]"])
def test_a_dtype_of_no_numbers_leaves_the_store_that_is_there(store, dtype):
    with pytest.raises(DTypeError, match="numbers or truth values"):
        TileStore.create(store.path, (2, 2), dtype)
    assert TileStore(store.path)[6, 4] == 34


def test_windows_must_be_whole_tiles_to_be_written(store):
    with pytest.raises(ShapeError, match="complete tiles"):
        store.put(np.zeros((3, 2), np.int32), 1, 0)
    with pytest.raises(ShapeError, match="complete tiles"):
        store.put(np.zeros((2, 2), np.int32))
    with pytest.raises(ShapeError, match="got"):
        store.write(0, 0, np.zeros((3, 2), np.int64))
    store.put(np.zeros((4, 1), np.int32), 3, 4)
    assert store[3:, 4].tolist() == [0] * 4


@pytest.mark.parametrize("key", [(0, 0, 0), (slice(None, None, 2),), 9, (0, -6), "a", True, (1, False)])
def test_other_indices_are_refused(store, key):
    with pytest.raises(IndexError):
        store[key]
