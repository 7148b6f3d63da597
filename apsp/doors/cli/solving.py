"""`apsp solve` and `apsp plan`: best walks, and how they would be computed."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semiring.host.escaping import one_line
from semiring.host.types import Fields
from semiring.stores.files import is_standard_output

from ...io.display.terminal import Meter
from . import answers, graphs
from .answers import no_progress, summary
from .choices import REDUCTION, StoreType
from .options import FILE, READING, SOURCE, combined, ends, limits, refuse_given, require_dtype, solving, spread
from .ranks import prints_answers, ranks_of
from .reporting import quiet, report

if TYPE_CHECKING:
    from ...answers.result import Result
    from ...io.saving.base import StrPath


def _written(options: Fields) -> tuple[StrPath | None, dict[str, Path]]:
    """Take the files to be written out of the options: distances, in a format of their own if given, and tables.

    UsageError if they contradict one another.
    """
    from ...io.saving import InFormat

    output, format = options.pop("output"), options.pop("output_format")
    if format is not None:
        if output is None:
            raise click.UsageError("solve: --output-format is how --output is written. Give both.")
        output = InFormat(output, f".{format}")
    tables = {name: options.pop(name) for name in ("predecessors", "next_hops")}
    tables = {name: path for name, path in tables.items() if path is not None}
    every = [*tables.values(), *([] if output is None else [output])]
    if len({*map(os.path.realpath, every)}) < len(every):
        raise click.UsageError(
            "solve: --output, --predecessors and --next-hops must be different files, got one twice."
        )
    return output, tables


along = click.option(
    "--along", metavar="COLUMN[,…]", help="Columns to be added up along the paths; or edges, their number."
)
turning = combined(
    click.option(
        "--turns", type=FILE, metavar="FILE", help="Costs of turns, or forbidden ones: from, via, to[, cost]."
    ),
    click.option("--u-turns", type=float, metavar="COST", help="The cost of turning back; inf forbids it."),
    click.option("--ways", metavar="COLUMN", help="The column of edge names that --turns uses."),
)


@click.command()
@click.argument("file", type=SOURCE)
@ends
@solving
@click.option("--table", type=FILE, metavar="FILE", help="Only between the vertices in FILE, one label a line.")
@along
@turning
@click.option("--limit", type=float, help="Distances beyond it are no path.")
@click.option("--reduce", "reduction", type=REDUCTION, metavar="NAME", help="A number a vertex: eccentricity, …")
@click.option("--nearest", type=FILE, metavar="FILE", help="For every vertex the nearest of those in FILE.")
@click.option("--paths", "pairs", type=FILE, metavar="FILE", help="The paths between the pairs in FILE, two a line.")
@click.option(
    "--output",
    type=StoreType(),
    help="Write the distances; to tiles/ as .tiles. With --reduce or --nearest their table, .csv.",
)
@click.option(
    "--output-format", type=click.Choice(("csv", "npy", "npz", "txt")), help="The format of an --output of any name."
)
@limits
@spread
@click.option(
    "--predecessors", type=StoreType(folders=False, path_type=Path), help="Write the predecessors on best paths."
)
@click.option(
    "--next-hops", type=StoreType(folders=False, path_type=Path), help="Write the next vertices on best paths."
)
@click.option("--steps", is_flag=True, help="Print every matrix on the way, of at most 32 vertices; --plot draws them.")
@click.option("--plain", is_flag=True, help="The first of --steps is A, not I ⊕ A.")
@click.option("--plot", type=FILE, help="Draw the network and the path: .png, .svg or .pdf; with --positions.")
@click.option("--positions", type=FILE, metavar="FILE", help="Coordinates to draw at: .co, .geojson or .csv.")
@click.option("--checksum", is_flag=True, help="Print Fletcher-16 and CRC-32 of the distances.")
@click.option("--verify", is_flag=True, help="Check what was computed by its definition; a table of yours: apsp check.")
def solve(
    file: str,
    source: str | None,
    target: str | None,
    checksum: bool,
    table: Path | None,
    reduction: str | None,
    nearest: Path | None,
    plot: Path | None,
    positions: Path | None,
    pairs: Path | None,
    verify: bool,
    steps: bool,
    **options: Any,
) -> bool:
    """Best walks between all vertices of the graph in FILE, or between some.

    With --from and --to, the distance and a path; else a table of the first ten vertices (with one of them, of all
    distances from or to it; with --table, --sources or --targets, of those vertices).
    """
    from ...answers.result import shortest_paths
    from ...io.saving import save_matrix, store_of, suffix_of, suffixes

    answers.require_one(reduction, nearest, pairs, (source, target))
    require_dtype(options["semiring"], options["dtype"])
    if steps:
        _print_steps(file, options, plot)
        return True
    refuse_given(("plain",), "--plain is how --steps begin, and goes with them")
    del options["plain"]
    if (positions is None) != (plot is None):
        raise click.UsageError("solve: --positions are where --plot FILE draws vertices. Give both.")
    output, tables = _written(options)
    kept = output is not None and getattr(store_of(output), "load", None) is not None
    if options["along"] is not None and pairs is None and None in (source, target) and not kept:
        raise click.UsageError(
            "solve: --along is told with --from and --to, or with --paths, and kept by an --output that apsp query "
            "reads, such as .npz. Give one of them too."
        )
    if verify or tables:
        which = "--verify" if verify else "--predecessors" if "predecessors" in tables else "--next-hops"
        refuse_given(("table", "sources", "targets", "limit"), f"{which} goes with the distances between all vertices")
    options["gpus"] = ranks = ranks_of(options)
    each = reduction is not None or nearest is not None  # a line a vertex
    graphs.check(output, (".csv",) if each else suffixes())
    graphs.claim(output, ranks)
    for path in tables.values():
        graphs.check(path)
    graphs.check(plot, (".png", ".svg", ".pdf"))
    graph = graphs.read(file, options)
    for place in (output, *tables.values()):
        graphs.check_names(graph, place)
    coordinates = graphs.positions(positions, graph)
    path_ends = graphs.pairs(pairs, graph)
    ends = graphs.parse(graph, source), graphs.parse(graph, target)
    wanted = graphs.labels(nearest, graph)
    everything = checksum or verify or any(x is not None for x in (reduction, wanted, path_ends, output, *tables))
    limited = any(options[name] is not None for name in ("memory", "checkpoint"))  # with which all pairs are stored
    listed = graphs.read_vertices(graph, table, options, () if everything or limited else ends)
    # A store is written tile by tile during the computation, where the table is not in the memory of one device.
    streams = (limited or ranks is not None) and output is not None and suffix_of(output) == ".tiles"
    streamed, saved = (output, None) if streams else (None, None if each else output)
    with Meter("closure", quiet=quiet()) as meter:
        r = shortest_paths(graph, callback=meter.callback, output=streamed, **options)
    if not prints_answers(r, ranks, reduction):
        return True
    if output is not None and is_standard_output(output):  # which is then the output's alone
        click.get_current_context().with_resource(redirect_stdout(sys.stderr))
    if saved is not None:
        with Meter("save", quiet=quiet()) as meter:
            r.save(saved, callback=meter.callback or no_progress)
    for name, path in tables.items():
        save_matrix(getattr(r, name), graph.labels, path)
    if each:
        answers.print_by_vertex(r, wanted, reduction, output)
    no = not (each or answers.print_answer(r, ends, path_ends, all_listed=listed and saved is None))
    if plot is not None:
        r.plot(path=None if no or None in ends else r.path(*ends), positions=coordinates, save=plot)
    if checksum:
        _print_checksums(r)
    if verify:
        found = r.verify("all", paths=r.semiring.add.selects is not None)
        text = one_line(f"verified: {found}" if found else f"not verified: {found}")
        report(text, verified=bool(found), verification=str(found))
        no |= not found
    summary(graph, r.seconds, r.rate, **answers.how(r))
    return not no


def _print_steps(file: str, options: Fields, plot: Path | None) -> None:
    """Print, and draw, the matrices of a schedule."""
    from ...closures import closure

    taken = (*READING, "file", "semiring", "schedule", "block", "dtype", "plot", "steps", "plain", "json", "quiet")
    others = {option.name or "" for option in click.get_current_context().command.params} - {*taken}
    refuse_given(others, "--steps prints matrices and nothing else")
    graphs.check(plot, (".png", ".svg", ".pdf"))
    graph = graphs.read(file, options)
    _, recorded = closure(
        graph,
        steps="plain" if options["plain"] else True,
        **{name: options[name] for name in ("semiring", "schedule", "block", "dtype")},
    )
    report(str(recorded), steps=str(recorded).splitlines())
    if plot is not None:
        recorded.plot(save=plot)


def _print_checksums(r: Result) -> None:
    from .checksum import crc32, fletcher16

    found = {"fletcher16": f"0x{fletcher16(r.distances):04x}", "crc32": f"0x{crc32(r.distances):08x}"}
    report("\n".join(map(" ".join, found.items())), **found)


@click.command()
@click.argument("what", metavar="FILE|N")
@combined(solving, spread)
@along
@turning
@click.option("--memory", metavar="SIZE", help="What if the dense closure is held to so much memory, such as 16GiB?")
def plan(what: str, **options: Any) -> None:
    """What `solve` would do with the graph in FILE, or with N vertices, and why; nothing is computed."""
    from ...io.saving.encoding import plan_to_array
    from ...road.planning import plan as make

    require_dtype(options["semiring"], options["dtype"])
    options["gpus"] = ranks_of(options)
    if what.isdecimal() and not Path(what).exists():
        of_files = (*READING, "along", "turns", "u_turns", "ways", "sources", "targets")
        refuse_given(of_files, f"{what} vertices are not read and have no names, so FILE must be given")
        made = make(int(what), **{name: x for name, x in options.items() if name not in of_files})
    else:
        graph = graphs.read(what, options)
        graphs.read_vertices(graph, None, options)
        made = make(graph, **options)
    report(str(made), plan=json.loads(plan_to_array(made).item()))
