"""Tables as text: labels in the first row and column, inf for no path."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from semiring.host.errors import FormatError
from semiring.host.spelling import came
from semiring.host.types import Label
from semiring.stores.files import writing

from .base import Arrays, Store, StrPath, Table


def save(table: Table, path: StrPath, more: Arrays) -> None:
    rows, columns = _texts(table.rows, path), _texts(table.columns, path)
    with _table(path) as out:
        out.writerow(["", *columns])
        out.writerows([name, *numbers] for name, numbers in zip(rows, table.lines(), strict=True))


def save_pairs(pairs: Iterable[tuple[int, list[int]]], labels: Sequence[Label], path: StrPath) -> None:
    """Write a `.csv` of labels, a pair a line, from (source, its targets) by position."""
    names = _texts(labels, path)
    with _table(path) as table:
        table.writerow(("source", "target"))
        for source, targets in pairs:
            table.writerows((names[source], names[target]) for target in targets)


def save_lines(headings: Sequence[str], lines: Iterable[Sequence[object]], path: StrPath) -> None:
    """Write a `.csv` of headings and lines."""
    with _table(path) as table:
        table.writerow(headings)
        table.writerows(lines)


@contextmanager
def _table(path: StrPath) -> Iterator[Any]:
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        yield csv.writer(text)


def _texts(labels: Sequence[Label], path: StrPath) -> list[str]:
    """The labels as distinct texts, or FormatError."""
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
    return names


STORE = Store((".csv",), save, check_labels=_texts)
