"""What texts in columns share: columns by the rule of `apsp.reading`, names, weights, and the line of an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files import Source
from ..graph import Graph
from ..labels import number_ends
from ..reading import BY_RULE, Reading, choose
from .tokens import integral, numbers, show

#: Bytes that `str.split` takes for blanks, as far as they are ASCII.
_BLANK = np.zeros(256, dtype=bool)
_BLANK[[*range(9, 14), *range(28, 33)]] = True


@dataclass(frozen=True)
class Table:
    """A text cut into columns.

    Parameters
    ----------
    source : Source
        For errors.
    names : sequence
        The header's, or range(width) where there is none.
    header : int or None
        The header's line, where there is one.
    column : callable
        `column(index)`: the fields of a column, without blanks around them; not those of the header.
    line : callable
        `line(row)`: where the row of that number stands, from 1.
    unquoted : callable
        `unquoted(fields)`: what fields hold once it is known which were quoted.
    """

    source: Source
    names: Sequence[Any]
    header: int | None
    column: Callable[[int], Sequence[str]]
    line: Callable[[int], int]
    unquoted: Callable[[Sequence[str]], Sequence[str]] = lambda fields: fields

    def edges(self, reading: Reading) -> Graph:
        """A row an edge. Names are integers where all look like integers and none is quoted."""

        def refuse(problem: str) -> Exception:
            return self.source.error(problem, self.header)

        at = choose(self.names, reading, refuse, header=self.header is not None)
        ends = [self.column(end) for end in at[:2]]
        for fields in ends:
            if "" in fields:
                raise self.source.error("a vertex must have a name, got an empty field.", self.line(fields.index("")))
        weights = None
        if at.weight is not None:
            found = self.unquoted(self.column(at.weight))
            weights, wrong = numbers(found)
            if wrong is not None:
                what = f"a {self.names[at.weight]}" if self.header else "a weight"
                way = (
                    " Say weight=None for unweighted edges (in a shell: --unweighted)."
                    if reading.weight is BY_RULE
                    else ""
                )
                shown = show(found[wrong.index])
                raise self.source.error(f"{what} must be {wrong.need}, got {shown}.{way}", self.line(wrong.index))
        if all(map(integral, ends)):
            labels, rows, cols = number_ends(*(list(map(int, fields)) for fields in ends))
        else:
            labels, rows, cols = number_ends(*map(self.unquoted, ends))
        return Graph.from_arrays(rows, cols, weights, labels=labels)


def of_rows(rows: Sequence[Sequence[str]]) -> Callable[[int], Sequence[str]]:
    """The columns of rows that are equally long."""
    columns = list(zip(*rows, strict=True))

    def column(index: int) -> Sequence[str]:
        return [field.strip() for field in columns[index]] if columns else []

    return column


def separated(text: str, separator: str, width: int, longest: int) -> list[Sequence[str]] | None:
    """All columns of a text, cut at once: no row is a list of its own, which would take most of the time.

    None where a line does not have just so many fields, or is `longest` or longer. There are no quotes.
    """
    data = np.frombuffer((text if text.endswith("\n") else text + "\n").encode(), np.uint8)
    new = data == ord("\n")
    between = new | (data == ord(separator))
    ends = data[between]
    if len(ends) % width or (ends.reshape(-1, width) != [*[ord(separator)] * (width - 1), ord("\n")]).any():
        return None
    if len(data) >= longest and np.diff(np.flatnonzero(new), prepend=-1).max() >= longest:
        return None
    cells = text.removesuffix("\n").replace("\n", separator).split(separator)
    if not text.isascii() or bool((_BLANK[data] & ~between).any()):
        cells = list(map(str.strip, cells))
    return [cells[index::width] for index in range(width)]


def blank_separated(text: str) -> tuple[list[Sequence[str]], np.ndarray] | None:
    """All columns of a text whose fields stand between blanks, and the line of each row, cut at once.

    None where lines that are not blank have unequal numbers of fields, or blanks may be other than ASCII.
    """
    if not text.isascii():
        return None
    data = np.frombuffer((text if text.endswith("\n") else text + "\n").encode(), np.uint8)
    blank = _BLANK[data]
    begins = np.flatnonzero(~blank[1:] & blank[:-1]) + 1
    count = np.searchsorted(begins, np.flatnonzero(data == ord("\n")))
    fields = np.diff(count, prepend=0)
    if not blank[0]:
        fields[0] += 1
    lines = np.flatnonzero(fields)
    width = int(fields[lines[0]]) if len(lines) else 0
    if (fields[lines] != width).any():
        return None
    cells = text.split()
    return [cells[index::width] for index in range(width)], lines + 1
