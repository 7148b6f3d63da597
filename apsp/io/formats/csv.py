"""Edge lists with a header: `source,target,weight`, separated by commas, semicolons or tabs.

Columns are named in any case and order; `apsp.io.reading.options` assigns ends and weight. Outer blanks go unless
quoted. Names are integers if all look so and none is quoted; quotes make text, even empty. A first line that may be an
edge, `u,v,3`, is refused. A table with equal row and column names, as `save("d.csv")` writes, is a matrix; a missing
edge is inf.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import IO, Any

from semiring.host.text import decimals

from ..graph import Graph
from ..reading.files import Source, csv_rows
from ..reading.options import ANYHOW, Reading, is_numeral, names_ends, positional
from ..saving.csv import quoted
from . import matrix
from .base import Format, edge_lines, named_edges, unwritten, write_lines
from .tables import MARK, Cut, Numerals, Rows, Table, separated
from .tokens import separator, show

_DELIMITERS = ",;\t"
#: Comments above a table, as in `numpy.savetxt`.
_COMMENTS = re.compile(r"\A(?:\s*#[^\n]*\n)+")
#: Characters at the top of a text among whose lines a header is looked for.
TOP = 1 << 12


def sniff(head: bytes) -> bool:
    """A header naming both ends, or with an empty field above row names."""
    text = head.decode("utf-8", "replace")
    if re.match(f"\\n*([{_DELIMITERS}])(?!#)[^\\n]*\\n[^{_DELIMITERS}\\n]+\\1", text):
        return True
    try:
        return names_ends(_split(text.lstrip().split("\n", 1)[0]))
    except csv.Error:
        return False


def has_separator(head: bytes) -> bool:
    """Whether the first line that is no comment has a separator (below comments, a tab is a blank)."""
    text = head.decode("latin-1")
    bare = _COMMENTS.sub("", text) or text
    first = bare.lstrip().split("\n", 1)[0]
    return any(sign in first for sign in _DELIMITERS if sign != "\t" or len(bare) == len(text))


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """Edges by header or chosen columns; a square table of numbers is a matrix."""
    if matrix.is_bare(source, reading):
        return matrix.read(source)
    text, by_position = source.text, positional(reading.columns)
    above = _COMMENTS.match(text) if by_position else None
    if above and is_numeral(re.split(f"[{_DELIMITERS}\n]", text[above.end() :], maxsplit=1)[0]):
        text = "\n" * above[0].count("\n") + text[above.end() :]
    start = len(text) - len(text.lstrip("\n"))
    first = text[start:].split("\n", 1)[0]
    try:
        names: Sequence[Any] = _split(first)
    except csv.Error as error:
        raise source.error(f"the header must be well-formed CSV, got {error}.", start + 1) from error
    if reading.columns is None and not names_ends(names):
        for number, row in enumerate(text[:TOP].split("\n")[:12], 1):
            if names_ends(re.split("[,;\t]", row)):
                way = "Leave out what stands above it."
                raise source.error(f"the header must come first, got {show(row)}. {way}", number)
    if by_position:
        cut = _cut(source, text, start, start + 1, _delimiter(first), len(names), "the first row's")
        return _graph(Table(source, range(len(names)), None, cut), reading)
    cut = _cut(source, text, start + len(first) + 1, start + 2, _delimiter(first), len(names), "the header's")
    return _graph(Table(source, names, start + 1, cut), reading)


def _cut(source: Source, text: str, begin: int, line: int, delimiter: str, width: int, whose: str) -> Cut:
    """The rows of text[begin:], from a line on, cut as fast as they allow; FormatError unless of `width` fields."""
    if text is source.text:
        found = decimals(source.lines, delimiter, width, begin=len(text[:begin].encode()))
        if found is not None:
            return Numerals(found, range(line, line + len(found.digits)))
    text = text[begin:]
    if '"' not in text:
        cells = separated(text, delimiter, width, csv.field_size_limit(), line)
        if cells is not None:
            return cells
    rows = list(csv_rows(source, _marked(text, delimiter), delimiter, line - 1))
    for number, row in rows:
        if len(row) != width:
            shown = show(",".join(field.replace(MARK, "") for field in row))
            raise source.error(f"a row must have {whose} {width} fields, got {len(row)}: {shown}.", number)
    return Rows([number for number, _ in rows], [row for _, row in rows])


def _graph(table: Table, reading: Reading) -> Graph:
    """Edges if columns are named or chosen for their ends; else a matrix if row and column names agree.

    The first header field of a matrix names no column; if empty, as `save` writes it, nothing names ends.
    """
    declared = reading.columns is not None or reading.named
    ends = list(table.names[:1]) != [""] and names_ends(table.names)
    labelled = None if declared or ends else table.matrix()
    return table.edges(reading) if labelled is None else labelled


def write(graph: Graph, file: IO[bytes]) -> None:
    """Write `source,target,weight`, or the first two if unweighted."""
    arcs, names = named_edges(graph, "csv", forbidden="\0\r", quotes=True)
    longest, most = max(map(len, names), default=0), csv.field_size_limit() - 2 * len(MARK)
    if longest > most:
        raise unwritten("csv", f"names must have at most {most} characters, got {longest}. Write npz.")
    header = "source,target" if arcs[2] is None else "source,target,weight"
    write_lines(file, [header, *edge_lines(arcs, list(map(quoted, graph.labels)), between=",")])


def _marked(text: str, delimiter: str) -> str:
    if '"' not in text:
        return text
    quoted = rf'(?:^|(?<=[{delimiter}\n])) *"([^"]*(?:""[^"]*)*)"'  # elsewhere a quotation mark is literal
    return re.sub(quoted, rf'"{MARK}\1{MARK}"', text)


def _delimiter(header: str) -> str:
    return separator(re.sub('"[^"]*"', "", header))


def _split(header: str) -> list[str]:
    sign = _delimiter(header)
    row = next(csv.reader([_marked(header, sign)], delimiter=sign, skipinitialspace=True), [])
    return [name.strip().replace(MARK, "") for name in row]


FORMAT = Format(
    "csv", (".csv", ".tsv"), "edge list with a header: source,target[,weight]", sniff, read, write,
    takes=("weight", "columns"), rank=2,
)  # fmt: skip
