"""Labels come back from a file as what they were, or are refused before it is written."""

from __future__ import annotations

import datetime
import enum

import numpy as np
import pytest

from apsp import Graph, Reachability, Result, shortest_paths, transitive_closure
from apsp.io import formats
from apsp.io.inputs import write
from apsp.io.saving.encoding import decode, encode
from semiring import FormatError

SAVED = {
    "mixed": ["a", 1],
    "numbers in text": ["1", 1, "None", None, "false", False],
    "tuples": [(0, 1), (1, 0), (0,), ()],
    "nested tuples": [("a", (1, (2.5, None))), ((((),),),), True],
    "pairs of equal length": [("a", "b"), ("c", "d")],
    "huge integers": [2**70, -(2**70), 2**63, -(2**63) - 1],
    "integers of 64 bits": [2**63 - 1, -(2**63)],
    "an integer longer than Python will print": [1 << 20_000, 0],
    "floats": [0.1, -0.0, 1e300, float("inf"), float("-inf"), 5e-324],
    "floats with others": [0.1, "x", float("inf"), float("-inf"), -0.0, 1e22],
    "booleans": [True, False],
    "booleans with integers": [True, 2],
    "integers with floats": [1, 2.5],
    "None": [None],
    "text": ["", "ä", "中文", "a\nb", 'quote " and \\', "blank ", "\ufeff"],
    "zeros at the end": ["a\0", "a", "\0"],
    "surrogates": ["\ud800", "\ud83d\ude00", "😀"],
    "surrogates with others": ["\ud800", "\ud83d\ude00", "😀", 1],
    "one long text": ["x" * 100_000, *map(str, range(1000))],
    "numbers in a row": range(7, 12),
    "a row beyond 64 bits": range(2**64, 2**64 + 3),
    "nothing": [],
}


def same(a, b) -> bool:
    """Equal, and of the same types throughout; −0.0 is not 0.0."""
    if isinstance(a, tuple):
        return type(b) is tuple and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b and (not isinstance(a, float) or a.hex() == b.hex())


@pytest.mark.parametrize("name", SAVED)
def test_labels_are_what_they_were(name, tmp_path):
    labels = list(SAVED[name])
    arrays = encode(labels, "x.npz")
    np.savez(tmp_path / "x.npz", **arrays)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as data:
        again = decode(data)
    assert again is not None
    assert all(map(same, labels, again))
    assert len(again) == len(labels)
    assert sum(array.nbytes for array in arrays.values()) < 2_000_000


def test_numpy_scalars_are_what_they_hold():
    again = decode(encode([np.int64(5), np.str_("a"), np.float32(0.5), np.bool_(True), (np.int16(3),)], "x.npz"))
    assert all(map(same, [5, "a", 0.5, True, (3,)], again))


class _Colour(enum.IntEnum):
    RED = 1


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "label",
    [b"bytes", frozenset({1}), datetime.date(2026, 1, 1), 1j, _Colour.RED, _Text("a"), ("a", b"b"), object()],
    ids=lambda label: type(label).__name__,
)
def test_everything_else_is_refused_and_named(label, tmp_path):
    message = r"x\.npz: save: labels must be text.*Relabel"
    with pytest.raises(FormatError, match=message):
        encode(["a", label], "x.npz")
    edges = [(label, "end")]
    for save in (shortest_paths(edges).save, transitive_closure(edges).save):
        with pytest.raises(FormatError, match=message):
            save(tmp_path / "x.npz")
    with pytest.raises(FormatError, match="labels must be text"):
        write(edges, tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


def test_too_deep_a_label_is_refused():
    label: tuple = ()
    for _ in range(100_000):
        label = (label,)
    with pytest.raises(FormatError, match="deep"):
        encode([0, label], "x.npz")
    while label:  # taken apart by hand: Python itself would go too deep
        (label,) = label


@pytest.mark.parametrize(
    "text", ["", "{}", "[", "[{}]", '[{"int": 1}]', '[{"float": "nan"}]', '[{"a": "1"}]', "[" * 9999]
)
def test_damaged_labels_are_an_error(text):
    with pytest.raises(ValueError, match="labels_json"):
        decode({"labels_json": np.frombuffer(text.encode(), np.uint8)})


@pytest.mark.parametrize("labels", [["a", 1], [(0, 1), (1, 0)], [2**70, (None,)], ["x", "y"], [3, 5]])
def test_every_file_with_labels_gives_them_back(labels, tmp_path):
    u, v = labels
    path = tmp_path / "x.npz"
    t = transitive_closure([(u, v)])
    t.save(path)
    again = Reachability.load(path)
    assert again.reaches(u, v)
    assert not again.reaches(v, u)
    assert all(map(same, again.labels, t.labels))
    r = shortest_paths([(u, v, 7)])
    r.save(path)
    assert all(map(same, formats.read(path).labels, r.labels))
    assert shortest_paths(formats.read(path)).distance(u, v) == 7
    write([(u, v, 7)], path)
    assert shortest_paths(formats.read(path)).distance(u, v) == 7


@pytest.mark.parametrize("labels", [(0, True), (0.0, 1.0), (False, 1), (0, 1)])
def test_what_equals_the_numbers_of_the_vertices_is_not_taken_for_them(labels, tmp_path):
    write(Graph.from_edges([(*labels, 7)], labels=labels), tmp_path / "g.npz")
    assert [(type(x), x) for x in formats.read(tmp_path / "g.npz").labels] == [(type(x), x) for x in labels]


def test_labels_that_are_one_text_are_refused_in_a_table(tmp_path):
    r = shortest_paths([(1, "1", 5)])
    with pytest.raises(FormatError, match=r"x\.csv: save: labels must differ as text, got 1 and '1'"):
        r.save(tmp_path / "x.csv")
    with pytest.raises(FormatError, match="UTF-8"):
        shortest_paths([("\ud800", "b", 5)]).save(tmp_path / "x.csv")
    with pytest.raises(FormatError, match=r"on one line, got 'a\\nb'. Save an .npz instead"):
        shortest_paths([("a\nb", "b", 5)]).save(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["x.zarr", "x.tiles", "x.npz"])
def test_half_a_surrogate_pair_is_kept_where_there_is_no_text(place, tmp_path):
    if place == "x.zarr":
        pytest.importorskip("zarr")
    shortest_paths([("\ud800", "b", 5)]).save(tmp_path / place)
    assert Result.load(tmp_path / place).distance("\ud800", "b") == 5
