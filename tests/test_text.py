"""Long tables of numbers, read by a compiled loop."""

from __future__ import annotations

import numpy as np
import pytest

import apsp
from semiring.host import text
from semiring.host.text import decimals

RNG = np.random.default_rng(5)


def _lines(width: int, separator: str, before: str = "", points: bool = False) -> list[str]:
    fields = RNG.integers(0, 10 ** RNG.integers(1, 18, (60_000, width))).astype(str)
    if points:
        fields[:, -1] = [
            f"{x:.{k}f}" for x, k in zip(RNG.random(60_000) * 1000, RNG.integers(1, 11, 60_000), strict=True)
        ]
    return [before + separator.join(row) for row in fields]


@pytest.mark.parametrize(
    ("separator", "before", "points", "end"),
    [(",", "", False, ""), (",", "", True, "\n"), (" ", "a ", True, ""), ("\t", "", False, "\n")],
)
def test_numbers_are_those_that_python_reads(separator, before, points, end):
    lines = _lines(3, separator, before, points)
    head = "from,to,weight\n"
    found = decimals((head + "\n".join(lines) + end).encode(), separator, 3, begin=len(head), before=before.encode())
    rows = [line.removeprefix(before).split(separator) for line in lines]
    np.testing.assert_array_equal(found.integers([0, 1]), np.array([row[:2] for row in rows], np.int64).T)
    expected = [float(row[2]) if points else int(row[2]) for row in rows]
    assert found.column(2).dtype == (np.float64 if points else np.int64)
    assert found.column(2).tolist() == expected
    assert (found.integers([2]) is None) == points


OTHERS = [
    *"1,2 1,2,3,4 01,2,3 +1,2,3 -1,2,3 1,,3 1,2,1e5 1,2,.5 1,2,5. 1,2,1.2.3 x,2,3 1;2;3 1,2,inf 1,2,00.5 1,2,٣".split(),
    *("", "1,2,3 ", " 1,2,3", "1,2,3\r", "1,2,1234567890123456789", "1,2,1234567.123456789"),
]


@pytest.mark.parametrize("place", [0, 30_000, 59_999])
def test_a_line_of_anything_else_is_left_to_others(place):
    lines = _lines(3, ",")
    above, below = "\n".join(lines[:place]), "\n".join([*lines[place + 1 :], "1,2,3"])
    for other in OTHERS:
        assert decimals(f"{above}\n{other}\n{below}".encode(), ",", 3, begin=not above) is None, other


FILES = {
    "csv": ("from,to,weight\n", ","),
    "txt": ("", " "),
    "snap": ("# Nodes and edges\n# of a test\n", "\t"),
    "gr": ("c a remark\np sp 500 60000\n", " "),
}


@pytest.mark.parametrize(
    ("kind", "weights"),
    [("csv", "integers"), ("csv", "points"), ("txt", "points"), ("snap", "integers"), ("gr", "points")],
)
def test_long_files_of_edges(tmp_path, kind, weights):
    head, separator = FILES[kind]
    ends = RNG.integers(1, 501, (60_000, 2))
    ends[:500, 0] = np.arange(1, 501)
    W = RNG.integers(10**8, 10**12, 60_000)
    W = W if weights == "integers" else W / 1000
    path = tmp_path / f"g.{kind}"
    before = "a " if kind == "gr" else ""
    body = [
        before + separator.join((str(u), str(v), str(w))) for (u, v), w in zip(ends.tolist(), W.tolist(), strict=True)
    ]
    path.write_text(head + "\n".join(body) + "\n")
    assert path.stat().st_size > text.LONG
    g = apsp.read(path)
    assert list(g.labels) == list(range(1, 501))
    np.testing.assert_array_equal(np.column_stack((g.rows, g.cols)), ends - 1)
    np.testing.assert_array_equal(g.weights, W)
    assert g.weights.dtype == W.dtype


@pytest.mark.parametrize(("kind", "line", "message"), [
    ("csv", "5,x y,7", None), ("csv", "5,6", ":30002:"), ("csv", "5,6,1e400", ":30002:"),
    ("txt", "5 6 7 8", ":30001:"), ("txt", "05 6 7", ":30001:"), ("gr", "a 5 501 3", "501"),
    ("gr", "e 5 6 3", ":30003:"),
])  # fmt: skip
def test_a_wrong_line_of_a_long_file_is_found(tmp_path, kind, line, message):
    head, separator = FILES[kind]
    before = "a " if kind == "gr" else ""
    body = [f"{before}{1 + k % 500}{separator}{1 + k % 499}{separator}{10**10 + k}" for k in range(60_000)]
    body[30_000] = line
    path = tmp_path / f"g.{kind}"
    path.write_text(head + "\n".join(body) + "\n")
    if message is None:
        assert "x y" in list(apsp.read(path).labels)
        return
    with pytest.raises(apsp.FormatError, match=message):
        apsp.read(path)
