"""What formats share: the record that declares one, and columns of numbers read fast, with the line of an error."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from semiring.errors import FormatError

from ..files import Source
from ..graph import Graph
from ..labels import Labels, number

#: An integer as one writes it; Python turns no more than 640 digits into a number wherever it runs.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,639}")
_SIGNED = re.compile(rb"[+-]?[0-9]+")
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
#: Below this float64 holds every integer, and a float is no rounded one.
_EXACT = 2**53


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
                if found.weights is not None:
                    _check_floats(source, body, found.weights, "a weight")
                return found
    raise _located(source, body, shape, widths)


def values(source: Source, body: bytes) -> np.ndarray:
    """Numbers, however many stand on a line: int64 where all are such, else float64; those of a line each, fast."""
    if not body.strip():
        return np.zeros(0)
    for kind in ("i8", "f8"):
        found = _load(body, kind)
        if found is not None and found.ndim == 1:
            _check_floats(source, body, found, "a value")
            return found
    lines = [(line, token) for line, text in data_lines(body) for token in text.split()]
    array, wrong = numbers([token for _, token in lines])
    if wrong is not None:
        line, token = lines[wrong.index]
        raise source.error(f"a value must be {wrong.need}, got {show(token)}.", line)
    return array


def data_lines(body: bytes) -> list[tuple[int, str]]:
    """The lines that are not blank, each with its number from 1."""
    return [(line, text) for line, text in enumerate(body.decode("latin-1").split("\n"), 1) if text.strip()]


def edge_line(body: bytes, index: int) -> int:
    """The line, from 1, of the data line number `index`, from 0."""
    return data_lines(body)[index][0]


def count(source: Source, token: bytes, line: int) -> int:
    """A number of vertices, edges or entries that a header tells."""
    if len(token.lstrip(b"0")) > 15:
        raise source.error(f"a count must have at most 15 digits, got {show(token)}.", line)
    return int(token)


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


def _check_floats(source: Source, body: bytes, found: np.ndarray, what: str) -> None:
    """Refuse what the last column of the text says and float64 does not hold: few numbers are so large, or infinite."""
    if found.dtype.kind != "f":
        return
    suspects = np.flatnonzero(~(np.abs(found) < _EXACT))
    lines = data_lines(body) if len(suspects) else []
    for index in suspects.tolist():
        line, text = lines[index]
        token = text.split()[-1]
        need = _unmet(token)
        if need is not None:
            raise source.error(f"{what} must be {need}, got {show(token)} in {show(text)}.", line)


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
            if not _SIGNED.fullmatch(token) or not _fits(token):
                return source.error(f"a vertex must be an integer of 64 bits, got {show(token)} in {shown}.", line)
        need = _unmet(tokens[2].decode("latin-1")) if len(tokens) == 3 else None
        if need is not None:
            return source.error(f"a weight must be {need}, got {show(tokens[2])} in {shown}.", line)
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


def _fits(token: bytes) -> bool:
    """Whether an integer is one of int64; one of thousands of digits is not even looked at."""
    return len(token.lstrip(b"+-0")) <= 19 and abs(int(token)) <= np.iinfo(np.int64).max


def _unmet(token: str) -> str | None:
    """What a token must be to be a float64 number that says what was written; None where it is."""
    value = as_number(token)
    if value is None:
        return "a number"
    try:
        rounded = float(value)
    except OverflowError:
        rounded = np.inf
    if np.isinf(rounded) and not _INFINITY.fullmatch(token.strip()):
        return "below 1.8e308 (64 bits hold no more; a missing edge is written inf)"
    if type(value) is int and value != int(rounded):
        return "an integer that 64 bits hold exactly beside the others (with a decimal point it is rounded)"
    return None


@dataclass(frozen=True)
class Wrong:
    """The first token, by its index, that is no number to be held, and what it must be."""

    index: int
    need: str


def numbers(tokens: Sequence[str]) -> tuple[np.ndarray, Wrong | None]:
    """Integers if all are and fit int64, else floats that hold every integer exactly; or what is wrong."""
    values = [as_number(token) for token in tokens]
    for index, value in enumerate(values):
        if value is None:
            return np.zeros(0), Wrong(index, "a number")
    with suppress(OverflowError):
        if all(type(value) is int for value in values):
            return np.array(values, dtype=np.int64), None
    for index, value in enumerate(values):
        need = _unmet(tokens[index]) if value is not None and not -_EXACT < value < _EXACT else None
        if need is not None:
            return np.zeros(0), Wrong(index, need)
    return np.array(values, dtype=np.float64), None


def integral(names: Iterable[str]) -> bool:
    """Whether all names are integers as one writes them."""
    return all(map(_INTEGER.fullmatch, names))


def vertices(sources: Sequence[str], targets: Sequence[str]) -> tuple[Labels, np.ndarray, np.ndarray]:
    """Labels and positions from names; where all are integers as one writes them, so are the labels."""
    if integral({*sources, *targets}):
        return number(zip(map(int, sources), map(int, targets), strict=True))
    return number(zip(sources, targets, strict=True))


def write_lines(file: IO[bytes], lines: Iterable[str]) -> None:
    """Text lines as UTF-8."""
    file.write("".join(f"{line}\n" for line in lines).encode())


def remark(name: str) -> str:
    """A graph's name for a comment: on one line, and text that any reader takes."""
    return " ".join(name.replace("\0", " ").split()).encode(errors="replace").decode()


def names_of(graph: Graph, format: str, *, forbidden: str = "\0") -> list[str]:
    """The labels as text that reads back as the same labels, or FormatError.

    Parameters
    ----------
    format : str
        For the error.
    forbidden : str
        Characters that a name in this format cannot have.
    """
    labels = list(graph.labels)
    kinds = [_kind(label) for label in labels]
    odd = next((at for at, kind in enumerate(kinds) if kind is None or kind is not kinds[0]), None)
    if odd is not None:
        beside = f" beside {labels[0]!r}" if odd else ""
        raise FormatError(
            format, None, f"write: names must all be strings or all integers, got {labels[odd]!r}{beside}. Write npz."
        )
    wrong = next((label for label, kind in zip(labels, kinds, strict=True) if not _written(label, kind, forbidden)), "")
    if wrong != "":
        shown = show(ascii(wrong)) if isinstance(wrong, str) else "an integer of more than 640 digits"
        raise FormatError(
            format, None, f"write: names must be such as {format} files can hold, got {shown}. Rename it."
        )
    return [str(label) for label in labels]


def _kind(label: Any) -> type | None:
    """str or int, or None for what a text cannot tell from these."""
    if isinstance(label, (bool, np.bool_)):
        return None
    return next((kind for kind, also in ((str, str), (int, np.integer)) if isinstance(label, (kind, also))), None)


def _written(label: Any, kind: type | None, forbidden: str) -> bool:
    if kind is int:
        return abs(int(label)) < 10**640
    try:
        label.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return not any(sign in label for sign in forbidden)


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
    met = np.unique(np.array([rows, cols], dtype=np.int64))  # not a mask: n may be far more than there are edges
    if len(met) < graph.n:
        first = int(np.argmax(met != np.arange(len(met)))) if (met != np.arange(len(met))).any() else len(met)
        raise FormatError(
            format,
            None,
            f"write: every vertex must have an edge, as {format} files list edges alone, got {graph.n - len(met)} "
            f"without, {graph.labels[first]!r} first. Write dimacs, plain, matrixmarket or npz.",
        )
