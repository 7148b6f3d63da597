"""Graphs and labels, read and written as options say; what could not be written is refused before the work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semiring.escaping import one_line

from .answers import quiet
from .options import READING

if TYPE_CHECKING:
    from ..graph import Graph


def read(file: str, options: dict[str, Any]) -> Graph:
    """The graph in a file or on standard input; removes the options of reading from `options`."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        graph = _read_as_asked(file, options)
    for warning in said:
        click.echo(f"apsp: {one_line(str(warning.message))}", err=True)
    return graph


def _read_as_asked(file: str, options: dict[str, Any]) -> Graph:
    from .. import formats

    format, undirected, columns, weight, unweighted, null_value = (options.pop(name, None) for name in READING)
    asked: dict[str, Any] = {"format": format, "directed": False if undirected else None}
    named = [] if columns is None else [column.strip() for column in columns.split(",")]
    by_position = all(column.isdecimal() for column in named)
    if columns is not None:
        asked["columns"] = [int(column) for column in named] if by_position else named
    if unweighted and weight is not None:
        raise ValueError("give --weight or --unweighted, and not both.")
    if unweighted or weight is not None:
        asked["weight"] = int(weight) if weight is not None and by_position and weight.isdecimal() else weight
    if null_value is not None:
        asked["null_value"] = None if null_value == "none" else null_value
    return formats.read(file, **asked)


def write(make: Callable[[], Graph], output: str, format: str | None) -> None:
    """Make a graph and write it, unless it could not be written."""
    from semiring.files import is_standard_output

    from .. import formats

    formats.check_output(output, format=format)
    graph = make()
    formats.write(graph, output, format=format)
    if not quiet():
        click.echo(f"{one_line(output)}: n={graph.n} edges={graph.edge_count}", err=is_standard_output(output))


def parse(graph: Graph, text: str | None) -> Any:
    return None if text is None else graph.labels.parse(text)


def labels(path: Path, graph: Graph) -> list[Any]:
    from ..reading.positions import read_labels

    return read_labels(path, graph.labels)


def pairs(path: Path, graph: Graph) -> list[tuple[Any, Any]]:
    from ..reading.positions import read_pairs

    return read_pairs(path, graph.labels)


def positions(path: Path, graph: Graph) -> dict[Any, tuple[float, float]]:
    """The coordinates of the vertices that the file has any of."""
    from ..reading.positions import read_positions

    at = read_positions(path, graph.labels).tolist()
    return {label: (x, y) for label, (x, y) in zip(graph.labels, at, strict=True) if x == x}


def asked(graph: Graph, table: Path | None, options: dict[str, Any], ends: tuple[Any, ...] = ()) -> bool:
    """Replace the files of sources and targets in `options` by the labels in them; whether there are any.

    Where a single pair or line of a large graph is wanted, no more is asked for.
    """
    from ..question import FEW

    if table is not None:
        if options["sources"] is not None or options["targets"] is not None:
            raise click.UsageError("solve: give either --table or --sources and --targets.")
        options["sources"] = table
    listed = False
    for side in ("sources", "targets"):
        path = options.pop(side)
        if path is not None:
            options[side], listed = labels(path, graph), True
    if table is not None:
        options["targets"] = options["sources"]  # read once, as a pipe can be
    if not listed and graph.dense is None and graph.n > FEW and options["schedule"] == "auto" and ends:
        for side, end in zip(("sources", "targets"), ends, strict=True):
            if end is not None:
                options[side] = [end]
    return listed


def check(path: str | Path | None, suffixes: tuple[str, ...] | None = None) -> None:
    """Refuse before the work what could not be written after it."""
    if path is not None:
        from ..saving import check_output

        check_output(path, suffixes)


def claim(path: str | None, places: Any) -> None:
    """Have no other process write a directory there until the command ends; of several processes rank 0 asks."""
    from semiring.files import claimed

    from ..saving import store_of

    store = None if path is None else store_of(path)
    if path is not None and store is not None and store.folder and 0 in getattr(places, "local_ranks", (0,)):
        click.get_current_context().with_resource(claimed(path))


def check_names(graph: Graph, path: str | Path | None) -> None:
    """Refuse before the work vertices that the file would not give back, and a file that the graph is read from."""
    if path is not None:
        from ..graph.ondisk import refuse_overwriting
        from ..saving import check_labels

        refuse_overwriting(graph.dense, path, where="solve")
        check_labels(graph.labels, path)
