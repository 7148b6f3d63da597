"""Files: what is written is read back equal; what is damaged gives the Graph that the file says, or our errors.

The oracle reads text formats by an uncompiled loop over lines, with Python's own numbers.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import math
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from apsp import write
from apsp.io.formats import formats, read, written
from apsp.io.graph import Graph
from semiring.host.errors import FormatError, SemiringError

from . import inputs
from .draw import Draw
from .limits import MIB, within

#: Formats that are written as well as read.
NAMES = written()
#: Formats that keep the vertices' names; the others number them.
NAMED = ("csv", "named", "edgelist", "snap", "npz")
TEXT = ("plain", "dimacs", "snap", "csv", "named", "edgelist", "matrixmarket")

#: What a damaged file may suddenly hold.
FRAGMENTS = tuple(
    text.encode()
    for text in (
        *(
            *("0", "1", "-1", " ", "\n", "\r", "\t", ",", ";", "#", "%", "\ufeff", "\0", '"', "é", "٣"),
            *("\x1f\x8b", "1_0", "0x10"),
        ),
        *(
            *("nan", "inf", "-inf", "1e999", "-1e999", "1e308", "5e-324", "1.5", "+3"),
            *("9007199254740993", "9" * 20, "1" * 400),
        ),
        *(
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775809",
            "7" * 5000,
            "x" * 70000,
            "%" + "y" * 140000,
        ),
        *("--END--", "--END--\n", "a b 3\n", "1\t2\n", "5 0", "5 0\n", "1000000000 0\n", "1000000 1000000 1\n"),
        *("p sp 3 2\n", "a 1 2 3\n", "c remark\n", f"p sp {'9' * 20} 1\n", "p sp 1000000000 0\n"),
        *("source,target,weight\n", "u,v\n", "# Undirected graph\n", "# Nodes: 3 Edges: 2\n"),
        "%%MatrixMarket matrix coordinate real general\n",
        "%%MatrixMarket matrix array real general\n15000 15000\n1\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n",
    )
)


def prepare() -> None:
    """Import what reading imports, so that no case is charged for it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            path = Path(folder) / f"g{formats()[name].suffixes[0]}"
            write([(0, 1, 2), (1, 0, 2)], path)  # which formats without directions hold too
            read(path)


def case(draw: Draw) -> None:
    """One file, whole or damaged."""
    with tempfile.TemporaryDirectory() as folder:
        draw.pick((_round_trip, _damaged))(draw, Path(folder))


def _round_trip(draw: Draw, folder: Path) -> None:
    """What is written is read back equal, or refused and nothing left behind."""
    format, packed = draw.pick(NAMES), draw.chance(25)
    graph = _graph(draw, format)
    path = folder / f"g{formats()[format].suffixes[0]}{'.gz' if packed else ''}"
    draw.note(path=path.name, arcs=_arcs(graph, True), labels=list(graph.labels), directed=graph.directed)
    try:
        write(graph, path)
    except SemiringError as refusal:
        draw.note(refusal=str(refusal))
        assert not list(folder.iterdir()), "a refused graph left a file"
        return
    draw.note(data=path.read_bytes())
    assert [p.name for p in folder.iterdir()] == [path.name]
    again = read(path)
    _same(graph, again, format)
    if format in ("npz", "matrixmarket") and graph.dense is None:
        assert again.directed == graph.directed
    if draw.chance(20):
        _same(again, _through_a_pipe(path.read_bytes(), format), "npz")


def _damaged(draw: Draw, folder: Path) -> None:
    """A file that something happened to, under its own name, another's or none."""
    format = draw.pick(NAMES)
    data = _written(draw, folder, format)
    for _ in range(draw.between(1, 4)):
        data = _damage(draw, data, folder)
    draw.note(data=data)
    how = draw.pick(("suffix", "format", "content", "pipe"))
    suffix = formats()[format].suffixes[0] if how == "suffix" else ".txt"
    packed = draw.chance(15)
    path = folder / f"x{suffix}{'.gz' if packed else ''}"
    if packed:
        data = gzip.compress(data)
        if draw.chance(50):
            data = _damage(draw, data, folder)
    path.write_bytes(data)
    named = format if how in ("format", "pipe") else None
    try:
        with within(seconds=20, memory=64 * MIB + 64 * len(data)):
            graph = _through_a_pipe(data, format) if how == "pipe" else read(path, format=named)
            sizes = graph.n, graph.edge_count
    except SemiringError as refusal:
        draw.note(refusal=str(refusal))
        assert len(str(refusal)) < 3000, "an error as long as a file"
        if isinstance(refusal, FormatError) and how != "pipe":
            assert str(path) == refusal.path, "the error names another file"
        return
    draw.note(sizes=sizes, labels=list(graph.labels[:20]))
    _consistent(graph)
    seen = named or _format_seen(path)
    if seen in TEXT and not packed and graph.rows is not None:
        _as_listed(graph, list(_lines_of(seen, data)))
    if graph.n <= 300:
        again = folder / f"again{formats()[seen].suffixes[0]}" if seen else folder / "again.npz"
        try:
            write(graph, again)
        except SemiringError:
            return
        _same(graph, read(again), seen or "npz")


def _fitting(draw: Draw, format: str, **options: Any) -> Graph:
    """A list of edges; of a format that knows no directions or fractions, mostly one that it can hold."""
    known = formats()[format]
    if (known.directions and known.fractions) or draw.chance(20):
        return inputs.listed(draw, **options).graph(draw.pick(("", "name", "two\nlines")))
    graph = inputs.listed(draw, kinds=("row", "plain"), of=("small", None, "wide")).graph("name")
    once = np.unique(np.sort([graph.rows, graph.cols], axis=0), axis=1, return_index=True)[1]
    once = once[graph.rows[once] != graph.cols[once]]
    weights = None if graph.weights is None else graph.weights[once] + 1
    return replace(graph, rows=graph.rows[once], cols=graph.cols[once], weights=weights, directed=known.directions)


def _graph(draw: Draw, format: str) -> Graph:
    """A list of edges, or a dense matrix."""
    if draw.chance(75):
        return _fitting(draw, format)
    n, dtype = (
        draw.between(0, 6),
        np.dtype(draw.pick(("float64", "float32", "int64", "int32", "int16", "bool", "uint8"))),
    )
    rng = draw.rng()
    A = rng.integers(0, 2 if dtype.kind == "b" else 9, (n, n)).astype(dtype)
    if dtype.kind in "fi":
        A[rng.random((n, n)) < 0.4] = math.inf if dtype.kind == "f" else np.iinfo(dtype).max
    return Graph.from_matrix(A)


def _written(draw: Draw, folder: Path, format: str) -> bytes:
    """The bytes of a file in that format, of a graph that it can express."""
    path = folder / "seed"
    graph = _fitting(draw, format, kinds=("row", "plain"), of=("small", None, "signed", "fractions"))
    try:
        write(graph, path, format=format)
    except SemiringError:
        write([(0, 1, 4), (1, 0, 4), (1, 2, 7), (2, 1, 7)], path, format=format)
    data = path.read_bytes()
    path.unlink()
    return data


def _damage(draw: Draw, data: bytes, folder: Path) -> bytes:
    """One thing that happens to files."""
    kind = draw.pick(("fragment", "truncate", "bits", "delete", "repeat", "splice", "line", "newlines", "header"))
    at = draw.below(len(data) + 1)
    if kind == "fragment":
        keep = draw.pick((0, 1, 3))  # bytes that it replaces
        return data[:at] + draw.pick(FRAGMENTS) + data[at + keep :]
    if kind == "truncate":
        return data[:at]
    if kind == "bits" and data:
        flipped = bytearray(data)
        for _ in range(draw.between(1, 8)):
            flipped[draw.below(len(data))] ^= 1 << draw.below(8)
        return bytes(flipped)
    if kind == "delete":
        return data[:at] + data[at + draw.between(1, 20) :]
    if kind == "repeat":
        return data[:at] + data[at : at + draw.between(1, 40)] * draw.between(2, 50) + data[at:]
    if kind == "splice":
        return data[:at] + _written(draw, folder, draw.pick(NAMES))
    lines = data.split(b"\n")
    if kind == "line":
        chosen = draw.below(len(lines))
        return b"\n".join([*lines[:chosen], draw.pick(FRAGMENTS), *lines[chosen:]])
    if kind == "newlines":
        return data.replace(b"\n", draw.pick((b"\r\n", b"\r", b"\n\n", b" \n", b"\x0b")))
    return b"\n".join([draw.pick(FRAGMENTS), *lines[1:]])


def _through_a_pipe(data: bytes, format: str) -> Graph:
    """What a pipe that holds these bytes reads as."""
    out, into = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), open(into, "wb") as file:
            file.write(data)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        return read(f"/dev/fd/{out}", format=format)
    finally:
        os.close(out)
        feeder.join()


def _format_seen(path: Path) -> str | None:
    from apsp.io import formats as package
    from apsp.io.reading.files import Source
    from apsp.io.reading.options import ANYHOW

    with contextlib.suppress(AttributeError, TypeError):
        return package._seen(Source(path), ANYHOW).name
    return None


def _consistent(graph: Graph) -> None:
    """Positions within the graph, as many labels as vertices, no NaN."""
    assert len(graph.labels) == graph.n
    if graph.rows is None:
        assert graph.dense.shape == (graph.n, graph.n)
        assert not (graph.dense != graph.dense).any()
        return
    assert len(graph.rows) == len(graph.cols)
    for ends in (graph.rows, graph.cols):
        assert ends.dtype == np.int64
        assert not len(ends) or 0 <= ends.min() <= ends.max() < graph.n
    if graph.weights is not None:
        assert len(graph.weights) == len(graph.rows)
        assert not (graph.weights != graph.weights).any()


def _arcs(graph: Graph, by_name: bool) -> list[tuple[Any, Any, Any]]:
    """All arcs, both ways where undirected, sorted; ends by name as text, or by position."""
    if graph.dense is not None:
        arcs = [(u, v, graph.dense[u, v].item()) for u, v in np.argwhere(_there(graph.dense)).tolist()]
    else:
        given = [1] * len(graph.rows) if graph.weights is None else graph.weights.tolist()
        arcs = list(zip(graph.rows.tolist(), graph.cols.tolist(), given, strict=True))
        if not graph.directed:
            arcs += [(v, u, w) for u, v, w in arcs if u != v]
    name = (lambda k: str(graph.labels[k])) if by_name else (lambda k: k)
    return sorted((name(u), name(v), int(w) if w is True else w) for u, v, w in arcs)


def _there(A: np.ndarray) -> np.ndarray:
    """Which entries of a matrix are edges: those that stand for no infinity; the True ones."""
    if A.dtype.kind == "b":
        return A
    if A.dtype.kind == "f":
        return ~np.isinf(A)
    info = np.iinfo(A.dtype)
    return (A != info.max) & (A != info.min) if A.dtype.kind == "i" else np.ones(A.shape, bool)


def _same(graph: Graph, again: Graph, format: str) -> None:
    """The same arcs between the same vertices, as far as the format tells them apart."""
    if format in ("npy",) and graph.dense is None:
        graph = Graph.from_matrix(graph.matrix("min_plus"))
    assert _arcs(again, format in NAMED) == _arcs(graph, format in NAMED)
    assert again.n == graph.n
    if format == "npz":
        assert [(type(x), x) for x in again.labels] == [(type(x), x) for x in graph.labels]


def _lines_of(format: str, data: bytes) -> Iterator[tuple[str, str, str]]:
    """The edges of a text file as its tokens `u v weight`, by the plainest reading of its format."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if format == "csv":
        yield from _csv_lines(text)
        return
    whole = text
    if format in ("named", "edgelist"):
        text = re.split(r"^[ \t]*--END--[ \t]*$", text, maxsplit=1, flags=re.MULTILINE)[0]
    ended = format == "edgelist" and re.search(r"^[ \t]*--END--[ \t]*$", whole, flags=re.MULTILINE)
    if format in ("snap", "edgelist") and not ended:  # in a file with an end, names may begin with #
        text = re.sub(r"#[^\n]*", "", text)
    if format == "matrixmarket":
        text = re.sub(r"^[ \t]*%[^\n]*", "", text, flags=re.MULTILINE)
    lines = [line.split() for line in text.split("\n") if line.split()]
    if format == "edgelist" and lines:
        from apsp.io.reading.options import SOURCES, TARGETS

        head = {name.lower() for name in lines[0]}
        if head & set(SOURCES) and head & set(TARGETS):
            yield from _by_header(lines)
            return
    if format in ("plain", "matrixmarket"):
        lines = lines[1:]
    if format == "dimacs":
        lines = [line[1:] for line in lines if line[0] == "a"]
    for line in lines:
        yield line[0], line[1], line[2] if len(line) > 2 else "1"


def _csv_lines(text: str) -> Iterator[tuple[str, str, str]]:
    text = text.lstrip("\n")
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    yield from _by_header([row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row])


def _by_header(rows: list[list[str]]) -> Iterator[tuple[str, str, str]]:
    from apsp.io.reading.options import SOURCES, TARGETS, WEIGHTS

    names = [name.strip().lower() for name in rows[0]]
    ends = [[at for at, name in enumerate(names) if name in known] for known in (SOURCES, TARGETS)]
    assert [len(found) for found in ends] == [1, 1], "an end was guessed"
    u, v = ends[0][0], ends[1][0]
    others = [at for at in range(len(names)) if at not in (u, v)]
    others = others if len(others) == 1 else [at for at in others if names[at] in WEIGHTS]
    assert len(others) == 1 or len(names) == 2, "a weight was guessed"
    for row in rows[1:]:
        yield row[u], row[v], row[others[0]] if others else "1"


def _as_listed(graph: Graph, lines: list[tuple[str, str, str]]) -> None:
    """Each edge of the graph is what its line says, to the last digit."""
    given = [1] * len(graph.rows) if graph.weights is None else graph.weights.tolist()
    edges = list(zip(graph.rows.tolist(), graph.cols.tolist(), given, strict=True))
    if len(edges) != len(lines):  # a skew-symmetric file lists half of its edges
        assert len(edges) > len(lines), "edges were lost"
    for (u, v, w), (tail, head, weight) in zip(edges, lines, strict=False):
        for position, token in ((u, tail), (v, head)):
            label = graph.labels[position]
            assert label == int(token) if isinstance(label, int) else label.strip() == token.strip(), (label, token)
        assert _says(weight.strip(), w), f"the weight {weight} was read as {w!r}"


def _says(token: str, weight: Any) -> bool:
    if re.fullmatch(r"[+-]?[0-9]+", token):
        return math.isfinite(weight) and Fraction(weight) == int(token)
    return float(token) == weight and (math.isfinite(weight) or "inf" in token.lower())
