"""Edge lines between numbered vertices with blank-separated fields: read fast, with line numbers in errors."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semiring.host.errors import FormatError
from semiring.host.text import decimals

from ..graph import Graph
from ..reading.files import Source
from .tokens import fits, numbers, show, suspects, unmet

_SIGNED = re.compile(rb"[+-]?[0-9]+")


#: Bytes of no number; NumPy takes some, such as a no-break space, for blanks.
_FOREIGN = re.compile(rb"[^\t\n\r\x20-\x7e]")


@dataclass(frozen=True)
class Columns:
    """Edges of a text: two columns of vertices, and weights if there is a third.

    `plain`: vertices are known to be written as integers ≥ 0 are.
    """

    rows: np.ndarray
    cols: np.ndarray
    weights: np.ndarray | None
    plain: bool = False


def columns(source: Source, body: bytes, *, shape: str, widths: Sequence[int] = (3,)) -> Columns:
    """Blank-separated columns `u v [weight]` in one pass; a second locates an error.

    Lines of `body` that are no data must be blank, to keep line numbers. `shape` is the form of a line, for errors;
    `widths` are the numbers of columns allowed, equal on all lines.
    """
    plain = _plain(body, widths)
    if plain is not None:
        return plain
    foreign = _FOREIGN.search(body)
    if foreign:
        index = body.count(b"\n", 0, foreign.start()) + 1
        raise source.error(f"numbers must be written in ASCII, got the byte 0x{foreign.group()[0]:02x}.", index)
    first = body.split(maxsplit=1)
    if not first:
        none = np.zeros(0, dtype=np.int64)
        return Columns(none, none, None if widths == (2,) else none)
    line = body[body.index(first[0]) :].split(b"\n", 1)[0]
    width = len(line.split())
    if width in widths:
        for weight in ("i8", "f8"):  # integers stay exact if all are
            table = _load(body, f"i8,i8,{weight}" if width == 3 else "i8,i8")
            if table is not None:
                found = Columns(table["f0"], table["f1"], table["f2"] if width == 3 else None)
                if found.weights is not None:
                    _check_numbers(source, body, found.weights, "a weight")
                return found
    raise _located(source, body, shape, widths)


def _plain(body: bytes, widths: Sequence[int]) -> Columns | None:
    """`columns` of a long text of plain decimals with one blank between them."""
    start = re.match(rb"\n*", body)
    begin = start.end() if start else 0
    line = body[begin : begin + 100].split(b"\n", 1)[0]
    width, separator = len(line.split()), "\t" if b"\t" in line else " "
    found = decimals(body, separator, width, begin=begin) if width in widths else None
    ends = None if found is None else found.integers(slice(2))
    if found is None or ends is None:
        return None
    return Columns(ends[0], ends[1], found.column(2) if width == 3 else None, plain=True)


def values(source: Source, body: bytes) -> np.ndarray:
    """Numbers, any number a line: int64 if all are, else float64; fast for one a line."""
    if not body.strip():
        return np.zeros(0)
    for kind in ("i8", "f8"):
        found = _load(body, kind)
        if found is not None and found.ndim == 1:
            _check_numbers(source, body, found, "a value")
            return found
    lines = [(line, token) for line, text in data_lines(body) for token in text.split()]
    array, wrong = numbers([token for _, token in lines])
    if wrong is not None:
        line, token = lines[wrong.index]
        raise source.error(f"a value must be {wrong.need}, got {show(token)}.", line)
    return array


def data_lines(body: bytes) -> list[tuple[int, str]]:
    return [(line, text) for line, text in enumerate(body.decode("utf-8", "replace").split("\n"), 1) if text.strip()]


def first_line(text: bytes) -> tuple[bytes, int, bytes]:
    """The first non-blank line, its number from 1, and the text with it blanked."""
    start = len(text) - len(text.lstrip())
    header, _, rest = text[start:].partition(b"\n")
    line = text.count(b"\n", 0, start) + 1
    return header, line, b"\n" * line + rest


def numbered(
    source: Source, body: bytes, n: int, promised: int, *, shape: str, widths: Sequence[int] = (3,), base: int = 1,
    what: str = "edges", hint: str = "",
) -> Graph:  # fmt: skip
    """`promised` edges between vertices base … base + n − 1, by `columns`; `what` and `hint` are for errors."""
    found, last = columns(source, body, shape=shape, widths=widths), base + n - 1
    outside = (found.rows < base) | (found.rows > last) | (found.cols < base) | (found.cols > last)
    if outside.any():
        edge = int(np.argmax(outside))
        vertex = next(int(v) for v in (found.rows[edge], found.cols[edge]) if not base <= v <= last)
        extent = f"in {base} … {last}" if n else "absent, as there are none"
        way_out = hint if vertex == last + 1 else ""
        raise source.error(f"vertices must be {extent}, got {vertex}.{way_out}", data_lines(body)[edge][0])
    if len(found.rows) != promised:
        short = " The file may be cut off." if len(found.rows) < promised else ""
        raise source.error(f"must hold the {promised} {what} that its header promises, got {len(found.rows)}.{short}")
    labels = range(base, base + n)
    return Graph.from_arrays(found.rows - base, found.cols - base, found.weights, n=n, labels=labels)


def _load(body: bytes, kinds: str) -> np.ndarray | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns of integers parsed as floats
        try:
            return np.loadtxt(io.BytesIO(body), dtype=kinds, comments=None, ndmin=1)
        except (ValueError, OverflowError, DeprecationWarning, UserWarning):
            return None


def _check_numbers(source: Source, body: bytes, found: np.ndarray, what: str) -> None:
    """Refuse numbers of the last column that 64 bits do not hold; only suspects are checked."""
    suspicious = suspects(found, body).tolist()
    lines = data_lines(body) if suspicious else []
    for index in suspicious:
        line, text = lines[index]
        token = text.split()[-1]
        need = unmet(token)
        if need is not None:
            raise source.error(f"{what} must be {need}, got {show(token)} in {show(text)}.", line)


def _located(source: Source, body: bytes, shape: str, widths: Sequence[int]) -> FormatError:
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
            if not _SIGNED.fullmatch(token) or not fits(token):
                return source.error(f"a vertex must be an integer of 64 bits, got {show(token)} in {shown}.", line)
        need = unmet(tokens[2].decode("latin-1")) if len(tokens) == 3 else None
        if need is not None:
            return source.error(f"a weight must be {need}, got {show(tokens[2])} in {shown}.", line)
    return source.error(f"lines must be `{shape}`, and some are not.")
