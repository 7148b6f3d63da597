"""Answers on disk, as `.npy`, `.npz` or `.csv`; what could not be written is refused before the work."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from semiring.errors import FormatError
from semiring.files import check_writable, writing

from .encoding import encode

#: What distances and reachability are written as.
SUFFIXES = (".npy", ".npz", ".csv")


def check_output(path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES) -> None:
    """Refuse a path that cannot be written to.

    Raises
    ------
    ValueError
        If its suffix is none of `suffixes`.
    OSError
        As `semiring.files.check_writable` does.
    """
    path = Path(path)
    if path.suffix not in suffixes:
        raise ValueError(f"save: the suffix must be one of {', '.join(suffixes)}, got {path.name!r}.")
    check_writable(path)


def check_labels(labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Refuse labels that a file of that suffix would not give back.

    Raises
    ------
    FormatError
        In `.npz`, as `encode` does; in `.csv`, if two labels are the same text.
    """
    suffix = Path(path).suffix
    if suffix == ".npz":
        encode(labels, path)
    elif suffix == ".csv":
        _texts(labels, path)


def save_matrix(matrix: Any, labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write a matrix with its labels: `.npy`, `.npz` (see `encode`) or `.csv`, whole or not at all.

    Raises
    ------
    ValueError, FormatError, OSError
        As `check_output` and `check_labels` do.
    """
    check_output(path)
    host = matrix if isinstance(matrix, np.ndarray) else matrix.get()
    suffix = Path(path).suffix
    if suffix == ".npy":
        with writing(path) as file:
            np.save(file, host, allow_pickle=False)
    elif suffix == ".npz":
        named = encode(labels, path)
        with writing(path) as file:
            np.savez(file, distances=host, **named)  # type: ignore[arg-type]
    else:
        names = _texts(labels, path)
        with _table(path) as table:
            table.writerow(["", *names])
            table.writerows([name, *row.tolist()] for name, row in zip(names, host, strict=True))


def save_pairs(pairs: Iterable[tuple[int, list[int]]], labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write (source, its targets), given by position, as a `.csv` of labels, a pair a line."""
    names = _texts(labels, path)
    with _table(path) as table:
        table.writerow(("source", "target"))
        for source, targets in pairs:
            table.writerows((names[source], names[target]) for target in targets)


@contextmanager
def _table(path: str | os.PathLike[str]) -> Iterator[Any]:
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        yield csv.writer(text)


def _texts(labels: Sequence[Any], path: object) -> list[str]:
    """The labels as text, which must tell them apart."""
    names = [str(label) for label in labels]
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise FormatError(path, None, f"save: labels must be UTF-8 text, got {error}. Save an .npz instead.") from None
    first: dict[str, Any] = {}
    for name, label in zip(names, labels, strict=True):
        if name in first:
            raise FormatError(
                path,
                None,
                f"save: labels must differ as text, got {first[name]!r} and {label!r}. Save an .npz instead.",
            )
        first[name] = label
    return names
