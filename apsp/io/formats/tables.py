"""Text tables: assignment of columns by the rule of `apsp.io.reading.options`; names, weights, errors with lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from semiring.host.spelling import came
from semiring.host.text import Decimals

from ..graph import Graph
from ..labels import Labels, grouped, number_ends
from ..reading.directions import direction_columns, turned
from ..reading.files import Source
from ..reading.options import BY_RULE, Chosen, Reading, choose, is_entry, is_numeral, names_ends, positional
from .base import two_ways
from .tokens import BLANK, as_number, between_blanks, digits, entries, integral, is_vertex, numbers, seconds, show

#: Maximum 8-byte words of a field compared as integers; masks of the low k bytes.
_WORDS, _LOW = 4, np.array([2 ** (8 * k) - 1 for k in range(9)], np.uint64)


#: The header that `csv.write` writes; always a header.
WRITTEN = ("source", "target")
#: Marks the ends of quoted fields, which the csv module does not report; text has no zero bytes.
MARK = "\0"


@dataclass(frozen=True)
class Table:
    """A text cut into columns; `source` is for errors.

    `names` are from the header, in line `header`, or range(width); `cut` has the rows below it.
    """

    source: Source
    names: Sequence[Any]
    header: int | None
    cut: Cut

    def edges(self, reading: Reading) -> Graph:
        """A graph with an edge per row; names are integers if all look so and none is quoted."""
        refuse = partial(self.source.error, line=self.header)
        headed = self.header is not None
        which = direction_columns(self.names, self._plain) if headed and not positional(reading.columns) else []
        chosen = choose(self.names, reading, refuse, header=headed, passed=which, numeric=self._is_numeric)
        guessed = headed and reading.columns is None
        if guessed and not reading.named:
            self._require_no_number(chosen[:2], refuse)
        whole = self.cut.integers(list(chosen[:2]))
        distinct = self.cut.distinct(chosen[:2]) if whole is None else None
        if whole is not None:
            ends = []
        elif distinct is None or "" in distinct[0]:
            ends = [self.cut.column(end) for end in chosen[:2]]
            for fields in ends:
                if "" in fields:
                    raise self._error("a vertex must have a name, got an empty field.", fields.index(""))
        else:
            ends = [distinct[0], []]
        weights = None if chosen.weight is None else self._weights(chosen.weight, reading)
        if whole is not None:
            labels, rows, cols = number_ends(*whole)
        elif all(map(integral, ends)):
            labels, rows, cols = number_ends(*(list(map(int, fields)) for fields in ends))
        else:
            self._require_vertices(chosen[:2], ends)
            labels, rows, cols = number_ends(*map(self.cut.unquoted, ends))
        if guessed and whole is None:  # no name is an integer
            self._require_no_edge(chosen, labels, refuse)
        if distinct is not None and not ends[1]:
            rows, cols = rows[distinct[1]]
        graph = Graph.from_arrays(rows, cols, weights, labels=labels)
        columns = {self.names[index]: self._plain(index) for index in which}
        return turned(graph, columns, reading, self._error)

    def _error(self, problem: str, row: int) -> Exception:
        return self.source.error(problem, int(self.cut.lines[row]))

    def _plain(self, index: int) -> Sequence[str]:
        return [field.strip("\0") for field in self.cut.column(index)]

    def _is_numeric(self, index: int) -> bool:
        first = self.cut.column(index)[:1]
        return all(is_entry(field) or seconds([field]) is not None for field in first)

    def matrix(self) -> Graph | None:
        """The labelled matrix if row and column names agree, else None; FormatError for other order or non-numbers."""
        marked = self.cut.column(0)
        names, rows = [str(name) for name in self.names[1:]], list(self.cut.unquoted(marked))
        if not names or len({*names}) < len(names) or sorted(rows) != sorted(names) or is_entry(str(self.names[0])):
            return None
        if rows != names:
            first = next(index for index, name in enumerate(names) if rows[index] != name)
            raise self._error(
                f"the rows of a matrix must be in the order of its columns, got {show(rows[first])} for "
                f"{show(names[first])}. Say columns= if it lists edges.",
                first,
            )
        n = len(names)
        fields = map(self.cut.column, range(1, n + 1))
        tokens = [token or "inf" for column in fields for token in self.cut.unquoted(column)]
        values, wrong = entries(tokens)
        if wrong is not None:
            column, row = divmod(wrong.index, n)
            got = f"{show(tokens[wrong.index])} in the column {show(names[column])}"
            more = " No edge is a blank cell, or inf." if wrong.need == "a number" else ""
            raise self._error(f"an entry must be {wrong.need}, got {got}.{more}", row)
        labels = Labels(map(int, names)) if integral(marked) else Labels(names)
        return Graph.from_matrix(np.ascontiguousarray(values.reshape(n, n).T), labels=labels)

    def _require_vertices(self, columns: Sequence[int], ends: Sequence[Sequence[str]]) -> None:
        """Refuse inf, nan, and 2 beside 2.0; without a header also fractions, which suggest a matrix."""
        if not all(map(is_numeral, chain.from_iterable(ends))):
            return
        for index in columns:
            for row, field in enumerate(self.cut.column(index)):
                if not is_vertex(field, fractions=self.header is not None):
                    raise self._error(f"a vertex must be a name or an integer, got {show(field)}.", row)
        if alike := two_ways(chain.from_iterable(ends)):
            raise self.source.error(
                f"an integer must be written in one way, got {show(alike[0])} and {show(alike[1])}. Pass "
                "pandas.read_csv(…) if they are one vertex, pandas.read_csv(…, dtype=str) if two."
            )

    def _require_no_number(self, ends: Sequence[int], refuse: Callable[[str], Exception]) -> None:
        """Refuse a first line `u v 3` that may be a header or an edge."""
        others = [index for index in range(len(self.names)) if index not in ends]
        if len(others) == 1 and as_number(self.names[others[0]]) is not None:
            name = self.names[others[0]]
            raise refuse(
                f"the first line may be a header or an edge, got {show(' '.join(self.names))}. Say columns="
                f"{(*ends, *others)} if it is an edge, weight={came(name)} if not."
            )

    def _require_no_edge(self, chosen: Chosen, labels: Labels, refuse: Callable[[str], Exception]) -> None:
        """Refuse a first line `u v` whose names are vertices further down, so that it may be an edge.

        Another column with a word above numbers (weights) proves a header.
        """
        ends = tuple(self.names[end] for end in chosen[:2])
        if ends != WRITTEN and all(name in labels for name in ends) and not self._has_numbers_below_a_word(chosen[:2]):
            raise refuse(
                f"the first line may be a header or an edge, got {show(' '.join(ends))}, both vertices further down. "
                f"Say columns={tuple(x for x in chosen if x is not None)} if it is an edge, columns={ends} if not."
            )

    def _has_numbers_below_a_word(self, ends: Sequence[int]) -> bool:
        words = (k for k, name in enumerate(self.names) if k not in ends and as_number(name) is None)
        return any(all(as_number(field) is not None for field in self.cut.column(k)) for k in words)

    def _weights(self, index: int, reading: Reading) -> np.ndarray:
        plain = self.cut.numbers(index)
        if plain is not None:
            return plain
        distinct = self.cut.distinct([index])
        if distinct is not None:
            values, wrong = numbers(distinct[0])
            if wrong is None:
                return values[distinct[1][0]]
        found = self.cut.unquoted(self.cut.column(index))
        values, wrong = numbers(found)
        if wrong is not None and any("," in token for token in found):
            values, wrong = entries(found)
        if wrong is not None:
            lasting = seconds(found)
            if lasting is not None:
                return lasting
            what = f"a {self.names[index]}" if self.header else "a weight"
            missing = not any(map(str.isdigit, found[wrong.index]))  # "", NA, -
            way = " Say weight=None for unweighted edges." if reading.weight is BY_RULE else ""
            way = f" Leave the row out where there is no edge.{way}" if missing else way
            if ":" in found[wrong.index]:
                way = " A duration is written hh:mm:ss, and then every row has one." + way
            raise self._error(f"{what} must be {wrong.need}, got {show(found[wrong.index])}.{way}", wrong.index)
        return values


class Cut(ABC):
    """Rows of fields, by column, and their `lines`, from 1; what is read of them without strings, else None."""

    lines: Sequence[int] | np.ndarray

    @abstractmethod
    def column(self, index: int) -> Sequence[str]:
        """Stripped fields, quoted ones between marks."""

    def unquoted(self, fields: Sequence[str]) -> Sequence[str]:
        return fields

    def integers(self, indices: list[int]) -> np.ndarray | None:
        """Columns as int64, shape (indices, rows), if all are integers ≥ 0."""
        return None

    def numbers(self, index: int) -> np.ndarray | None:
        found = self.integers([index])
        return None if found is None else found[0]

    def distinct(self, indices: Sequence[int]) -> tuple[list[str], np.ndarray] | None:
        """Distinct fields of columns, and their indices (columns, rows)."""
        return None


@dataclass(frozen=True)
class Rows(Cut):
    """Rows of strings."""

    lines: Sequence[int]
    rows: Sequence[Sequence[str]]

    def column(self, index: int) -> Sequence[str]:
        return [row[index].strip() for row in self.rows]

    def unquoted(self, fields: Sequence[str]) -> Sequence[str]:
        return [field.replace(MARK, "") for field in fields]


@dataclass(frozen=True)
class Numerals(Cut):
    """Plain decimals of a long text."""

    found: Decimals
    lines: Sequence[int]

    def column(self, index: int) -> Sequence[str]:
        return self.found.texts(index)

    def integers(self, indices: list[int]) -> np.ndarray | None:
        return self.found.integers(indices)

    def numbers(self, index: int) -> np.ndarray | None:
        return self.found.column(index)


@dataclass(frozen=True)
class Placed(Cut):
    """Fields by position in the UTF-8 bytes `data` of a text; strings are made only on request.

    begins, stops : (rows, width)
    strip : whether fields may have outer blanks, or the text other characters than ASCII's
    """

    text: str
    data: np.ndarray
    begins: np.ndarray
    stops: np.ndarray
    lines: Sequence[int] | np.ndarray
    strip: bool = False
    separator: str | None = None

    @cached_property
    def columns(self) -> list[Sequence[str]]:
        width, between = self.stops.shape[1], self.separator
        text = self.text if between is None else self.text.removesuffix("\n").replace("\n", between)
        cells = text.split(between)
        cells = list(map(str.strip, cells)) if self.strip else cells
        return [cells[index::width] for index in range(width)]

    def column(self, index: int) -> Sequence[str]:
        return self.columns[index]

    def integers(self, indices: list[int]) -> np.ndarray | None:
        """None also where `digits` is."""
        if self.strip:
            return None
        found = digits(self.data, *(x[:, indices].T.ravel() for x in (self.begins, self.stops)))
        return None if found is None else found.reshape(len(indices), -1)

    def distinct(self, indices: Sequence[int]) -> tuple[list[str], np.ndarray] | None:
        """None if not worthwhile.

        Fields are compared as 8-byte words. None for long fields, or blanks around them.
        """
        begins, stops = (x[:, indices].T.ravel() for x in (self.begins, self.stops))
        lengths = stops - begins
        longest = int(lengths.max(initial=0))
        if self.strip or longest > 8 * _WORDS or not len(lengths):
            return None
        padded = np.concatenate((self.data, np.zeros(8 * _WORDS, np.uint8)))
        words = np.ndarray(len(padded) - 7, "<u8", padded, strides=(1,))  # one at every byte

        keys = [words[begins + k] & _LOW[np.clip(lengths - k, 0, 8)] for k in range(0, longest, 8)]
        if (groups := grouped([lengths, *keys])) is None:
            return None
        unique, which = groups
        fields = [self.text[a:b] for a, b in zip(begins[unique].tolist(), stops[unique].tolist(), strict=True)]
        return fields, which.reshape(len(indices), -1)


def separated(text: str, separator: str, width: int, longest: int, line: int) -> Placed | None:
    """The cells of an unquoted text from a line on; None if one has not `width` fields, or at least `longest` bytes."""
    data = np.frombuffer((text if text.endswith("\n") else text + "\n").encode(), np.uint8)
    new = data == ord("\n")
    between = new | (data == ord(separator))
    stops = np.flatnonzero(between)
    ends = data[stops]
    if len(ends) % width or (ends.reshape(-1, width) != [*[ord(separator)] * (width - 1), ord("\n")]).any():
        return None
    if len(data) >= longest and np.diff(np.flatnonzero(new), prepend=-1).max() >= longest:
        return None
    strip = not text.isascii() or bool((BLANK[data] & ~between).any())
    begins = np.concatenate(([0], stops[:-1] + 1))
    lines = range(line, line + len(stops) // width)
    return Placed(text, data, begins.reshape(-1, width), stops.reshape(-1, width), lines, strip, separator)


def of_fields(source: Source, text: str, reading: Reading, shape: str = "") -> Graph:
    """The edges of a text of blank-separated fields, one a line.

    The first line is a header if it names both ends; `shape`, if given, is what a line must be.
    """
    below = text.lstrip()
    if not below:
        return Graph.from_arrays([], [])
    line = text.count("\n", 0, len(text) - len(below)) + 1
    top, _, below = below.partition("\n")
    first = top.split()
    if shape and len(first) != len(shape.split()):
        raise source.error(f"a line must be `{shape}`, got {show(' '.join(first))}.", line)
    headed = names_ends(first) if reading.columns is None else not positional(reading.columns)
    names: Sequence[Any] = first if headed else range(len(first))
    cut = _blank_separated(source, "\n" * line + below if headed else text, len(first), shape)
    return Table(source, names, line if headed else None, cut).edges(reading)


def _blank_separated(source: Source, text: str, width: int, shape: str) -> Cut:
    """The fields of a text; FormatError for the first line that has not `width` of them."""
    if text.isascii():
        data = np.frombuffer((text if text.endswith("\n") else text + "\n").encode(), np.uint8)
        found = between_blanks(data)
        if found is not None and found[0].shape[1] == width:
            return Placed(text, data, *found)
    rows = [(number, row) for number, row in enumerate(map(str.split, text.split("\n")), 1) if row]
    for number, row in rows:
        if len(row) != width:
            need = f"be `{shape}`" if shape else f"have the {width} fields of the first"
            got = "" if shape else f"{len(row)}: "
            raise source.error(f"a line must {need}, got {got}{show(' '.join(row))}.", number)
    return Rows([number for number, _ in rows], [row for _, row in rows])
