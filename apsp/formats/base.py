"""What formats share: the record that declares one, and columns of numbers read fast, with the line of an error."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from semiring.errors import FormatError

from ..files import Source
from ..graph import Graph
from ..labels import Labels, number

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_SIGNED = re.compile(rb"[+-]?[0-9]+")


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        What `read(path, format=…)` calls it; the module's name.
    suffixes : tuple of str
        In small letters, with the dot, without `.gz`.
    description : str
        One line for people.
    sniff : callable
        `sniff(head)`: whether a file that begins with these bytes is in this format.
    read : callable
        `read(source, **options)` returns a Graph or raises FormatError.
    write : callable
        `write(graph, file)` to a binary file.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    sniff: Callable[[bytes], bool]
    read: Callable[..., Graph]
    write: Callable[[Graph, IO[bytes]], None]


@dataclass(frozen=True)
class Columns:
    """Edges read from a text: two columns of vertices, and weights where there is a third."""

    rows: np.ndarray
    cols: np.ndarray
    weights: np.ndarray | None


def columns(source: Source, body: bytes, *, shape: str, widths: Sequence[int] = (3,)) -> Columns:
    """Whitespace-separated columns `u v [weight]`, in one pass; a second finds the line where the first stumbled.

    Parameters
    ----------
    source : Source
        For errors.
    body : bytes
        The lines; those that are not data must be blank, so that counting them gives the file's own numbers.
    shape : str
        How a line should look, for errors.
    widths : sequence of int
        The numbers of columns allowed; all lines have as many as the first.
    """
    first = body.split(maxsplit=1)
    if not first:
        none = np.zeros(0, dtype=np.int64)
        return Columns(none, none, None if widths == (2,) else none)
    line = body[body.index(first[0]) :].split(b"\n", 1)[0]
    width = len(line.split())
    if width in widths:
        for weight in ("i8", "f8"):  # integers stay exact where all are
            table = _load(body, f"i8,i8,{weight}" if width == 3 else "i8,i8")
            if table is not None:
                found = Columns(table["f0"], table["f1"], table["f2"] if width == 3 else None)
                if found.weights is None or not np.isnan(found.weights).any():
                    return found
    raise _located(source, body, shape, widths)


def edge_line(body: bytes, index: int) -> int:
    """The line, from 1, of the data line number `index`, from 0."""
    data = [line for line, text in enumerate(body.split(b"\n"), 1) if text.strip()]
    return data[index]


def check_range(source: Source, body: bytes, found: Columns, low: int, high: int, hint: str = "") -> None:
    """Every vertex in low … high, or FormatError with the line."""
    outside = (found.rows < low) | (found.rows > high) | (found.cols < low) | (found.cols > high)
    if outside.any():
        at = int(np.argmax(outside))
        vertex = next(int(v) for v in (found.rows[at], found.cols[at]) if not low <= v <= high)
        extent = f"in {low} … {high}" if high >= low else "absent, as there are none"
        raise source.error(f"vertices must be {extent}, got {vertex}.{hint}", edge_line(body, at))


def check_count(source: Source, found: Columns, promised: int, what: str = "edges") -> None:
    """As many edges as the header promised."""
    if len(found.rows) != promised:
        short = " The file may be cut off." if len(found.rows) < promised else ""
        raise source.error(f"must hold the {promised} {what} that its header promises, got {len(found.rows)}.{short}")


def _load(body: bytes, kinds: str) -> np.ndarray | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # integers parsed as floats are a warning, and no integers
        try:
            return np.loadtxt(io.BytesIO(body), dtype=kinds, comments=None, ndmin=1)
        except (ValueError, OverflowError, DeprecationWarning, UserWarning):
            return None


def _located(source: Source, body: bytes, shape: str, widths: Sequence[int]) -> FormatError:
    """The error of the first line that is not `u v [weight]`."""
    width = 0
    for line, text in enumerate(body.split(b"\n"), 1):
        tokens = text.split()
        if not tokens:
            continue
        shown = show(text)
        if len(tokens) not in widths or (width and len(tokens) != width):
            return source.error(f"a line must be `{shape}`, got {shown}.", line)
        width = len(tokens)
        for token in tokens[:2]:
            if not _SIGNED.fullmatch(token) or abs(int(token)) > np.iinfo(np.int64).max:
                return source.error(f"a vertex must be an integer of 64 bits, got {show(token)} in {shown}.", line)
        if len(tokens) == 3 and as_number(tokens[2].decode("latin-1")) is None:
            return source.error(f"a weight must be a number, got {show(tokens[2])} in {shown}.", line)
    return source.error(f"lines must be `{shape}`, and some are not.")


def show(text: bytes | str, limit: int = 60) -> str:
    """A piece of a file for a message: on one line, not too long."""
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    plain = " ".join(plain.split())
    return repr(plain if len(plain) <= limit else plain[: limit - 1] + "…")


def as_number(token: str) -> int | float | None:
    """An integer or float; None for anything else, NaN included."""
    if "_" in token or not token.isascii():
        return None
    try:
        return int(token)
    except ValueError:
        pass
    try:
        value = float(token)
    except ValueError:
        return None
    return value if value == value else None


def numbers(tokens: Sequence[str]) -> tuple[np.ndarray, int | None]:
    """Integers if all are, else floats; and the index of the first token that is no number."""
    values = [as_number(token) for token in tokens]
    if None in values:
        return np.zeros(0), values.index(None)
    try:
        if all(type(value) is int for value in values):
            return np.array(values, dtype=np.int64), None
    except OverflowError:
        pass
    return np.array(values, dtype=np.float64), None


def vertices(sources: Sequence[str], targets: Sequence[str]) -> tuple[Labels, np.ndarray, np.ndarray]:
    """Labels and positions from names; where all are integers as one writes them, so are the labels."""
    if all(map(_INTEGER.fullmatch, {*sources, *targets})):
        return number(zip(map(int, sources), map(int, targets), strict=True))
    return number(zip(sources, targets, strict=True))


def write_lines(file: IO[bytes], lines: Iterable[str]) -> None:
    """Text lines as UTF-8."""
    file.write("".join(f"{line}\n" for line in lines).encode())


def listed(graph: Graph) -> tuple[list[int], list[int], list[Any]]:
    """The arcs as Python numbers; an unweighted edge weighs 1."""
    rows, cols, weights = graph.edges("min_plus") if _numeric(graph) else graph.edges("lor_land")
    return rows.tolist(), cols.tolist(), [int(w) if w is True else w for w in weights.tolist()]


def _numeric(graph: Graph) -> bool:
    return graph.dense is None or graph.dense.dtype.kind != "b"


def weighted(graph: Graph) -> bool:
    """Whether edges have weights of their own."""
    return graph.weights is not None if graph.dense is None else _numeric(graph)


def require_edges(graph: Graph, rows: list[int], cols: list[int], format: str) -> None:
    """A list of edges without a count of vertices loses those that have none: refuse."""
    lone = np.ones(graph.n, dtype=bool)
    lone[rows] = lone[cols] = False
    if lone.any():
        raise FormatError(
            format,
            None,
            f"write: every vertex must have an edge, as {format} files list edges alone, got {lone.sum()} without, "
            f"{graph.labels[int(np.argmax(lone))]!r} first. Write dimacs, plain, matrixmarket or npz.",
        )
