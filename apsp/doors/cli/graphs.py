"""Reading and writing of graphs and labels by options, with early checks of outputs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semiring.host.escaping import one_line
from semiring.host.types import Fields, Label
from semiring.stores.files import claimed, is_standard_output

from .options import READING
from .reporting import quiet, report

if TYPE_CHECKING:
    from semiring.distributed import World

    from ...io.graph import Graph
    from ...io.saving.base import StrPath

#: Parameters that name what a command writes.
_WRITTEN = ("output", "target", "predecessors", "next_hops", "plot", "json_file")


def _refuse_writing_over_input() -> None:
    context = click.get_current_context()
    paths = [param for param in context.command.params if isinstance(param.type, click.Path)]
    places = {param.name: context.params.get(param.name or "") for param in paths}
    files = {name: os.path.realpath(place) for name, place in places.items() if place and os.path.isfile(place)}
    written = {place for name, place in files.items() if name in _WRITTEN}
    for name, place in files.items():
        if name not in _WRITTEN and place in written:
            raise click.UsageError(
                f"{context.command.name}: what is written must be another file than what is read, got {places[name]} "
                "for both. Name another one."
            )


def read(file: str, options: Fields) -> Graph:
    """The graph in a file or on standard input; removes reading options from `options`."""
    from ...io import formats
    from ...io.quantities import quantities, rereadable

    format, undirected, columns, weight, unweighted, null_value = (options.pop(name, None) for name in READING)
    arguments: Fields = {"format": format, "directed": None if undirected is None else not undirected}
    listed = [] if columns is None else [column.strip() for column in columns.split(",")]
    by_position = all(column.isdecimal() for column in listed)
    if columns is not None:
        arguments["columns"] = [int(column) for column in listed] if by_position else listed
    if unweighted and weight is not None:
        raise ValueError("give --weight or --unweighted, and not both.")
    if unweighted or weight is not None:
        arguments["weight"] = int(weight) if weight is not None and by_position and weight.isdecimal() else weight
    if null_value is not None:
        arguments["null_value"] = None if null_value == "none" else null_value
    graph = formats.read(file, **arguments)
    for option, kind in (("along", dict), ("ways", list)):
        if (told := options.pop(option, None)) is not None:
            named = {x: int(x) if by_position and x.isdecimal() else x for x in map(str.strip, told.split(","))}
            reading = {name: arguments.get(name) for name in ("format", "directed", "columns")}
            found = quantities(rereadable(file), graph, named, **reading)
            options[option] = found if kind is dict else next(iter(found.values())).tolist()
    return graph


def write(make: Callable[[], Graph], output: str, format: str | None) -> None:
    """Make a graph and write it, after checking the output."""
    from ...io import formats

    _refuse_writing_over_input()
    formats.check_output(output, format=format)
    graph = make()
    formats.write(graph, output, format=format)
    text = f"{one_line(output)}: n={graph.n} edges={graph.edge_count}"
    if is_standard_output(output):
        click.echo("" if quiet() else f"{text}\n", err=True, nl=False)
    else:
        report(None if quiet() else text, output=output, n=graph.n, edges=graph.edge_count)


def parse(graph: Graph, text: str | None) -> Label:
    return None if text is None else graph.labels.parse(text)


def labels(path: Path | None, graph: Graph) -> list[Label] | None:
    from ...io.reading.positions import read_labels

    return None if path is None else read_labels(path, graph.labels)


def pairs(path: Path | None, graph: Graph) -> list[tuple[Label, Label]] | None:
    from ...io.reading.positions import read_pairs

    return None if path is None else read_pairs(path, graph.labels)


def positions(path: Path | None, graph: Graph) -> dict[Label, tuple[float, float]] | None:
    """The coordinates in a file, by label."""
    if path is None:
        return None
    from ...io.reading.positions import read_positions

    coordinates = read_positions(path, graph.labels)[0].tolist()
    return {label: (x, y) for label, (x, y) in zip(graph.labels, coordinates, strict=True) if x == x}


def read_vertices(graph: Graph, table: Path | None, options: Fields, ends: tuple[Label, ...] = ()) -> bool:
    """Replace files of sources and targets in `options` by their labels; returns whether there are any.

    Otherwise, for a large graph, the `ends` become the only source and target.
    """
    from ...road.engines.base import FEW

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
        options["targets"] = options["sources"]  # read once, as it may be a pipe
    if not listed and graph.dense is None and graph.n > FEW and options["schedule"] == "auto" and ends:
        for side, end in zip(("sources", "targets"), ends, strict=True):
            if end is not None:
                options[side] = [end]
    return listed


def check(path: StrPath | None, suffixes: tuple[str, ...] | None = None) -> None:
    """Refuse early an output that cannot be written, or would replace what is read."""
    if path is not None:
        from ...io.saving import check_output

        _refuse_writing_over_input()
        check_output(path, suffixes)


def claim(path: StrPath | None, ranks: World | None) -> None:
    """Lock an output directory until the command ends (by rank 0 of several processes)."""
    from ...io.saving import store_of

    store = None if path is None else store_of(path)
    if path is not None and store is not None and store.folder and 0 in getattr(ranks, "local_ranks", (0,)):
        click.get_current_context().with_resource(claimed(path))


def check_names(graph: Graph, path: StrPath | None) -> None:
    """Refuse early labels that the file cannot hold, and overwriting the input."""
    if path is not None:
        from ...io.graph.ondisk import refuse_overwriting
        from ...io.saving import check_labels

        refuse_overwriting(graph.dense, path, where="solve")
        check_labels(graph.labels, path)
