"""Tables as text: labels in the first row and column, inf for no path."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from semiring.host.errors import FormatError
from semiring.host.spelling import came
from semiring.host.types import Label
from semiring.stores.files import writing

from .base import Arrays, Store, StrPath, Table


def save(table: Table, path: StrPath, more: Arrays) -> None:
    rows, columns = _on_lines(table.rows, path), _on_lines(table.columns, path)
    with _text(path) as out:
        out.write(",".join(["", *columns]) + "\r\n")
        out.writelines(f"{','.join(map(str, (a, *x)))}\r\n" for a, x in zip(rows, table.lines(), strict=True))


def save_pairs(pairs: Iterable[tuple[int, list[int]]], labels: Sequence[Label], path: StrPath) -> None:
    """Write a `.csv` of labels, a pair a line, from (source, its targets) by position."""
    names = _texts(labels, path)
    with _text(path) as out:
        out.write("source,target\r\n")
        for source, targets in pairs:
            out.writelines(f"{names[source]},{names[target]}\r\n" for target in targets)


def save_lines(headings: Sequence[str], lines: Iterable[Sequence[object]], path: StrPath) -> None:
    """Write a `.csv` of headings and lines."""
    with _text(path) as out:
        csv.writer(out).writerows((headings, *lines))


@contextmanager
def _text(path: StrPath) -> Iterator[IO[str]]:
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        yield text


def quoted(label: Label) -> str:
    """A label as a field, in quotes if it would be misread: separators, outer blanks, empty, text of an integer."""
    name = str(label)
    misread = not name or name != name.strip() or any(sign in name for sign in '",;\t\r\n')
    misread |= isinstance(label, str) and name.lstrip("-").isdecimal()
    return '"' + name.replace('"', '""') + '"' if misread else name


def _texts(labels: Sequence[Label], path: StrPath) -> list[str]:
    """The labels as fields of distinct texts, or FormatError."""
    names = [str(label) for label in labels]
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise FormatError(path, None, f"save: labels must be UTF-8 text, got {error}. Save an .npz instead.") from None
    first: dict[str, Label] = {}
    for name, label in zip(names, labels, strict=True):
        if name in first:
            raise FormatError(
                path,
                None,
                f"save: labels must differ as text, got {came(first[name])} and {came(label)}. Save an .npz instead.",
            )
        first[name] = label
    return list(map(quoted, labels))


def _on_lines(labels: Sequence[Label], path: StrPath) -> list[str]:
    """`_texts` of labels without line ends, which the header of a table cannot have; else FormatError."""
    if broken := [label for label in labels if "\n" in str(label) or "\r" in str(label)]:
        raise FormatError(path, None, f"save: labels must be on one line, got {came(broken[0])}. Save an .npz instead.")
    return _texts(labels, path)


STORE = Store((".csv",), save, check_labels=_texts)
