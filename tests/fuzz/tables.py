"""Bare tables: a matrix where they can be nothing else, a question whose answers work where they can be both.

What a table may be is told a second time here, by its fields as lists of text.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

import apsp
from apsp import Graph, as_graph, shortest_paths
from apsp.doors import cli
from semiring.host.errors import FormatError

from .draw import Draw

_Grid = list[list[str]]


def prepare() -> None:
    """Import what reading imports, so that no case is charged for it."""
    apsp.read(io.StringIO("0 1.5\n2.5 0\n"))


def case(draw: Draw) -> None:
    """One table, written by NumPy, pandas or us."""
    with tempfile.TemporaryDirectory() as folder:
        draw.pick((_numbers, _numbers, _numbers, _frame, _frame, _ours))(draw, Path(folder))


def _table(draw: Draw) -> np.ndarray:
    """A table of numbers, square as a rule; its entries may count, mirror one another, be infinite or missing."""
    rows = draw.pick((2, 3, 4, 1, 5, 7, 40))
    columns = rows if draw.chance(70) else draw.pick((3, 2, 4, 1, 5, 40))
    kind, rng = draw.pick(("integers", "fractions", "whole floats", "signed", "large")), draw.rng()
    A: np.ndarray = rng.integers(-9 if kind == "signed" else 0, 10**12 if kind == "large" else 10, (rows, columns))
    if kind == "fractions":
        A = rng.uniform(0, 9, (rows, columns)).round(draw.pick((2, 15)))
    elif kind == "whole floats":
        A = A.astype(float)
    if rows == columns and draw.chance(40):
        A = np.triu(A, 1) + np.triu(A, 1).T
    if draw.chance(15):
        first = draw.pick((0, 1, 5))
        A[0, :], A[:, 0] = (first + np.arange(n) for n in (columns, rows))
        A[0, 0] = draw.pick((0, first, 3))
    if draw.chance(40):
        A = A.astype(float)
        odd = rng.random(A.shape) < draw.pick((0.1, 0.6))
        A[odd] = rng.choice(draw.pick(([math.inf], [math.inf], [math.nan], [math.nan, math.inf, -math.inf])), A.shape)[
            odd
        ]
    draw.note(A=A, kind=kind)
    return A


def _path(draw: Draw, folder: Path) -> Path:
    return folder / draw.pick(("t.csv", "t.txt", "t", "t.tsv", "t.dat.gz"))


def _numbers(draw: Draw, folder: Path) -> None:
    """As `numpy.savetxt` writes it."""
    A, path = _table(draw), _path(draw, folder)
    whole = not (A != np.floor(A)).any() and np.isfinite(A).all()
    options: dict[str, Any] = {
        "delimiter": draw.pick((",", " ", ";", "\t", ", ")),
        "fmt": draw.pick(("%d" if whole else "%r", "%.18e", "%.17g")),
        "newline": draw.pick(("\n", "\n", "\r\n")),
        "header": draw.pick(("", "", "distances in km", "a\nb")),
    }
    draw.note(path=path.name, options=options)
    np.savetxt(path, A if options["fmt"] != "%r" else A.astype(object), **options)
    fields = [[options["fmt"] % x for x in row] for row in A.tolist()]
    _read(draw, path, fields, options["delimiter"])


def _frame(draw: Draw, folder: Path) -> None:
    """As pandas writes it: with a header or an index, both, or none."""
    A, path = _table(draw), _path(draw, folder)
    start, letters = draw.pick((0, 1, 7)), draw.chance(30)
    names: list[Any] = [(f"x{k}" if letters else k) for k in range(start, start + max(A.shape))]
    header, index = draw.pick(((False, False), (True, False), (True, True), (False, True)))
    between = draw.pick((",", ";", "\t", *([" "] if not index else [])))
    missing = "nan" if between == " " else draw.pick(("", "nan"))
    draw.note(path=path.name, header=header, index=index, between=between, missing=missing, names=names)
    pd.DataFrame(A, index=names[: len(A)], columns=names[: A.shape[1]]).to_csv(
        path, sep=between, header=header, index=index, na_rep=missing
    )
    shown = [[missing if x != x else str(x) for x in row] for row in A.tolist()]
    fields = [[*([str(names[k])] if index else []), *row] for k, row in enumerate(shown)]
    if header:
        fields.insert(0, [*([""] if index else []), *map(str, names[: A.shape[1]])])
    _read(draw, path, fields, between)


def _ours(draw: Draw, folder: Path) -> None:
    """What we write is read back, whatever it looks like."""
    n, rng = draw.between(1, 5), draw.rng()
    A = np.where(
        rng.random((n, n)) < draw.pick((0.5, 1.0)), rng.integers(1, 9, (n, n)) * draw.pick((1, 0.25)), math.inf
    )
    r = shortest_paths(Graph.from_matrix(A), dtype=draw.pick((None, "float32")))
    path = folder / draw.pick(("t.txt", "t.csv"))
    if draw.chance(30):
        np.save(folder / "a.npy", A)
        words = ["-q", "solve", str(folder / "a.npy"), "--null-value", "none", "--output", str(path)]
        run = CliRunner().invoke(cli.main, words, prog_name="apsp")
        assert run.exit_code == 0, run.output
    else:
        r.save(path)
    draw.note(A=A, path=path.name, text=path.read_text())
    graph = apsp.read(path)
    assert graph.dense is not None, "our matrix is read as edges"
    np.testing.assert_array_equal(np.asarray(graph.dense, float), np.asarray(r.distances, float))
    assert [str(label) for label in graph.labels] == [str(k) for k in range(n)]


def _read(draw: Draw, path: Path, fields: _Grid, between: str) -> None:
    """A file of these fields, read without a word: the matrix, edges that it must be, a question, or a refusal."""
    if between == "\t" and len(fields) == 1:  # one field, and blanks
        fields = [[field for field in fields[0] if field]]
    draw.note(fields=fields)
    reader: Callable[..., Graph] = draw.pick((apsp.read, lambda path: as_graph(str(path))))
    square = all(len(row) == len(fields) for row in fields)
    numeric = all(map(_is_number, chain.from_iterable(fields)))
    edges = len(fields[0]) in (2, 3) and all(map(_is_integer, (x for row in fields for x in row[:2])))
    names = fields[0][1:]
    alike = square and bool(names) and names == [row[0] for row in fields[1:]]
    counting = alike and between != " " and all(map(_is_integer, names)) and np.all(np.diff(list(map(int, names))) == 1)
    try:
        graph = reader(path)
    except FormatError as refusal:
        message = str(refusal)
        draw.note(refusal=message)
        assert str(path) in message, "the file is not named"
        if "may be a matrix" in message:
            assert square, "a question about what is no matrix"
            assert edges or counting, "a question about what can be nothing else"
            _follow(path, message, fields, edges=" or edges " in message)
            return
        able = square and len(fields) > 1 and all(_is_number(x) and "nan" not in x for row in fields for x in row)
        assert not able, "a matrix was refused"
        assert not (
            (alike and len({*names}) == len(names))
            and fields[0][0] == ""
            and all(_is_number(x) and "nan" not in x for r in fields[1:] for x in r[1:])
        ), "a matrix with names was refused"
        return
    if graph.dense is not None:
        draw.note(dense=graph.dense)
        labelled = alike and fields[0][0] == ""
        if fields[0] == [str(len(fields) - 1)] and len(fields[-1]) == len(fields) - 1:
            fields, square, numeric = fields[1:], True, True  # a first line with the number of rows
        assert labelled or (square and numeric and not counting and not edges), "a guess"
        _is_matrix(graph, [row[1:] for row in fields[1:]] if labelled else fields)
        assert [str(label) for label in graph.labels] == (names if labelled else list(map(str, range(len(fields)))))
        return
    draw.note(edges=graph.rows)
    blank = between == "\t" and (path.suffix not in (".csv", ".tsv") or "header" in draw.notes.get("options", {}))
    assert between == " " or blank, "edges without a header"  # below a comment a tab is a blank
    assert not (square and numeric), "a matrix was read as edges"
    _is_edges(graph, [[field for field in row if field] for row in fields if any(row)])  # tabs are blanks there


def _follow(path: Path, message: str, fields: _Grid, *, edges: bool) -> None:
    """The ways out that a question names, as Python and, where the command asks, as options."""
    asked = CliRunner().invoke(cli.main, ["solve", str(path)], prog_name="apsp").output
    missing = "nan" in chain.from_iterable(fields)
    call = re.search(r"Say (apsp\.read\(.*?, format='matrix'\))", message)
    assert call is not None
    assert "--format matrix" in asked
    try:
        _is_matrix(eval(call[1], {"apsp": apsp}), fields)
    except FormatError:
        assert missing, "the way out is none"
    if not edges:
        assert "leave the file's first field empty" in message
        return
    columns, option = (
        re.search(r"columns=(\(.*?\)) for edges", message),
        re.search(r"--columns ([\d,]+) for edges", asked),
    )
    assert columns is not None
    assert option is not None
    assert columns[1].replace(" ", "") == f"({option[1]})"
    try:
        _is_edges(apsp.read(path, columns=eval(columns[1])), fields)
    except FormatError:
        assert missing, "the other way out is none"


def _is_matrix(graph: Graph, fields: _Grid) -> None:
    assert graph.dense is not None
    expected = np.array([[float(x or "inf") for x in row] for row in fields])  # a blank cell is no edge
    np.testing.assert_array_equal(np.asarray(graph.dense, float), expected)
    assert (graph.dense.dtype.kind == "i") == all(map(_is_integer, chain.from_iterable(fields)))


def _is_edges(graph: Graph, fields: _Grid) -> None:
    """A row an edge, none lost to a header."""
    assert graph.rows is not None
    assert graph.cols is not None
    assert [[str(graph.labels[k]) for k in pair] for pair in zip(graph.rows, graph.cols, strict=True)] == [
        row[:2] for row in fields
    ]
    weights = [1.0] * len(fields) if graph.weights is None else graph.weights.astype(float).tolist()
    assert weights == [float(row[2]) if len(row) > 2 else 1.0 for row in fields]
    if all(_is_number(x) for row in fields for x in row[:2]):
        assert all(math.isfinite(float(label)) for label in graph.labels), "no vertex"


def _is_number(field: str) -> bool:
    try:
        return float(field) is not None
    except ValueError:
        return False


def _is_integer(field: str) -> bool:
    return re.fullmatch("-?[0-9]+", field) is not None
