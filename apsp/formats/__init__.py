"""Graphs from files and to files. A format is one module of this package, with a record `FORMAT`, and its name below.

| name         | suffixes        | vertices         | weights            |
|--------------|-----------------|------------------|--------------------|
| named        | .named          | names            | yes                |
| csv          | .csv .tsv       | names            | if there is a column |
| snap         | .snap .el       | integers, gaps   | if there is a third column |
| dimacs       | .gr             | 1 … n            | yes                |
| matrixmarket | .mtx            | 1 … n            | unless `pattern`   |
| npy          | .npy            | 0 … n − 1        | the matrix         |
| npz          | .npz            | stored, if any   | matrix or edges    |
| plain        | .plain          | 0 … n − 1        | yes                |

Any of them may be gzipped (`roads.gr.gz`). A name that says nothing (`.txt`) makes `read` look at the content.

A weight is an integer (exact, or refused), a float, or `inf`, which is a missing edge; `1e999` is an error.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from semiring.errors import FormatError
from semiring.files import check_writable

from ..files import Source, open_for_writing, plain_lines
from ..graph import Graph, as_graph
from . import plain
from .base import Format

__all__ = ["NAMES", "Format", "check_output", "formats", "read", "write"]

#: The modules, in the order in which their `sniff` is asked: the most telling first.
NAMES = ("npy", "npz", "matrixmarket", "dimacs", "csv", "plain", "snap", "named")


@cache
def formats() -> dict[str, Format]:
    """Every format by its name."""
    return {name: import_module(f".{name}", __name__).FORMAT for name in NAMES}


def read(
    path: str | os.PathLike[str], *, format: str | None = None, directed: bool | None = None, **options: Any
) -> Graph:
    """The graph in a file.

    Parameters
    ----------
    path : path
        Plain or gzipped; a pipe or a device as well as a file; "-" is standard input.
    format : str, optional
        One of `NAMES`; by default the suffix decides (that before `.gz`), and then the content. A list of edges whose
        first line may as well count vertices and edges is read as edges, with a warning.
    directed : bool, optional
        Whether edges lead one way only; by default what the file says, and where it cannot, they do.
    **options
        A format's own: `base=1` for plain files that count from 1, `weight="minutes"` for a CSV column.

    Returns
    -------
    Graph
        Its name is that of the file. Edges that occur twice are both kept; ⊕ decides when it becomes a matrix.

    Raises
    ------
    FormatError
        If the file is not what its format says, with file and line.
    OSError
        If there is no such file (FileNotFoundError), or it cannot be read.
    MemoryNeeded
        If what it holds does not fit, before memory is taken.
    """
    source = Source(path)
    chosen = _named(format) if format is not None else _by_suffix(path) or _by_content(source)
    graph = chosen.read(source, **options)
    return as_graph(graph, directed=directed, name=graph.name or source.name)


def write(graph: Any, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph (or whatever `as_graph` takes); the file appears whole or not at all.

    Parameters
    ----------
    graph : Graph or graph-like
        Formats that number their vertices keep the order and not the names. A dense matrix goes to edge lists
        by its entries other than ∞, and undirected edges go both ways where the format knows none.
    path : path
        Gzipped if it ends in .gz.
    format : str, optional
        One of `NAMES`; by default the suffix decides.

    Raises
    ------
    FormatError
        If the format cannot express this graph: vertices without an edge in a list of edges; names that would be read
        back as others (blanks in `named`, anything but integers in `snap`, a mixture of integers and strings).
    """
    chosen = _for_output(path, format)
    graph = as_graph(graph)
    with open_for_writing(path) as file:
        chosen.write(graph, file)


def check_output(path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Raise before the work what `write` would raise after it: no such format, or a path that cannot be written to.

    Raises
    ------
    FormatError, ValueError
        If neither the suffix nor `format` says which format.
    OSError
        As `semiring.files.check_writable` does.
    """
    _for_output(path, format)
    check_writable(path)


def _for_output(path: str | os.PathLike[str], format: str | None) -> Format:
    chosen = _named(format) if format is not None else _by_suffix(path)
    if chosen is None:
        raise FormatError(
            path, None, f"write: the suffix must say which format, one of {_suffixes()}; or give format=."
        )
    return chosen


def _named(name: str) -> Format:
    if name not in NAMES:
        raise ValueError(f"format must be one of {', '.join(NAMES)}, got {name!r}.")
    return formats()[name]


def _by_suffix(path: str | os.PathLike[str]) -> Format | None:
    suffix = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    return next((f for f in formats().values() if suffix and suffix in f.suffixes), None)


def _by_content(source: Source) -> Format:
    head = plain_lines(source.head())
    if not head.strip():
        raise source.error("must hold a graph, got an empty file.")
    for name, candidate in formats().items():
        if candidate.sniff(head):
            if name == "snap" and plain.fits(source.lines):
                _warn(source)
            return candidate
    raise source.error(
        f"must be in one of the formats {', '.join(NAMES)}, and looks like none. Say which with format=."
    )


def _warn(source: Source) -> None:
    edge = " → ".join(source.text.split(maxsplit=2)[:2])
    warnings.warn(
        f"{source.path}: read as a list of edges, the first of them {edge}. If that line counts vertices and edges, "
        "give format='plain'; else format='snap' says so.",
        stacklevel=4,
    )


def _suffixes() -> str:
    return ", ".join(suffix for f in formats().values() for suffix in f.suffixes)
