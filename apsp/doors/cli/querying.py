"""`apsp check` and `apsp query`: tables of another program, and answers that `solve` and `reach` have written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semiring.host.errors import FormatError, SemiringError, ShapeError
from semiring.host.escaping import one_line

from ...io.display.terminal import Meter
from . import answers, graphs, reaching
from .choices import FORMAT, REDUCTION, SEMIRING
from .exit_codes import shell
from .options import FILE, SOURCE, combined, dtype, ends, reading, refuse_given, require_dtype, semiring, threads
from .reporting import quiet, report

if TYPE_CHECKING:
    from semiring.algebra.records import Semiring

    from ...answers.reach.reachability import Reachability
    from ...answers.result import Result


@click.command()
@click.argument("file", metavar="GRAPH", type=SOURCE)
@click.argument("table", type=SOURCE)
@combined(reading, semiring, dtype, threads)
@click.option("--table-format", type=FORMAT, metavar="NAME", help="Of TABLE; by default its suffix or content says.")
@click.option("--sample", type=click.IntRange(min=1), metavar="ROWS", help="Check a random sample of this many rows.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option("--within", type=float, default=0.0, help="How far numbers may be off besides rounding, such as 1e-4.")
def check(file: str, table: str, sample: int | None, table_format: str | None, **options: Any) -> bool:
    """Is TABLE, which another program wrote, that of the best walks in GRAPH? Names the first wrong entry, and why.

    TABLE: rows of numbers (.txt, .csv, .npy), or what --output of solve writes; inf is no path. Exit code 1 if wrong.
    """
    from ...answers.checks import check as checked

    if sample is None:
        refuse_given(("seed",), "every row is checked unless --sample is given")
    require_dtype(options["semiring"], options["dtype"])
    graph = graphs.read(file, options)
    with Meter("check", quiet=quiet()) as meter:
        try:
            found = checked(graph, table, rows=sample or "all", format=table_format, callback=meter.callback, **options)
        except (FormatError, ShapeError) as error:  # of the table, whose format has an option of its own
            said, of_edges, _ = shell(str(error)).replace("--format", "--table-format").partition(" Say --columns")
            way = " TABLE is rows of numbers, without names or with those of rows and columns." if of_edges else ""
            raise SemiringError(said + way) from None
    text = one_line(f"right: {found}" if found else f"wrong: {found}")
    report(text, right=bool(found), check=str(found), pair=found.pair and list(map(str, found.pair)))
    return bool(found)


@click.command()
@click.argument("saved", type=click.Path())
@ends
@click.option("--paths", "pairs", type=FILE, metavar="FILE", help="The paths between the pairs in FILE, two a line.")
@click.option("--reduce", "reduction", type=REDUCTION, metavar="NAME", help="A number a vertex: eccentricity, …")
@click.option("--nearest", type=FILE, metavar="FILE", help="For every vertex the nearest of those in FILE.")
@click.option("--output", type=click.Path(), help="Write the table of --reduce or --nearest there: .csv.")
@click.option(
    "--semiring", type=SEMIRING, metavar="NAME", help="FILE.py:NAME of what was computed over a semiring of your own."
)
def query(
    saved: str,
    source: str | None,
    target: str | None,
    pairs: Path | None,
    reduction: str | None,
    nearest: Path | None,
    output: str | None,
    semiring: Semiring | None,
) -> bool:
    """Answers from SAVED, which `solve --output` or `reach --output` has written: .npz, tiles/, .zarr, .hubs.

    Of distances: with --from and --to, the distance and a path; with one of them, all distances from or to it; else the
    first ten vertices. Of reachability: as `reach` answers, and without --from and --to how many pairs there are.
    """
    from ...answers.reach.reachability import Reachability

    answers.require_one(reduction, nearest, pairs, (source, target))
    each = reduction is not None or nearest is not None  # a line a vertex
    if output is not None and not each:
        raise click.UsageError("query: --output is where --reduce and --nearest write. Give one of them.")
    graphs.check(output, (".csv",))
    found = _load(saved, semiring)
    labels = found.labels if isinstance(found, Reachability) else found.graph.labels
    u, v = (None if end is None else labels.parse(end) for end in (source, target))
    if isinstance(found, Reachability):
        if each or pairs is not None or semiring is not None:
            raise click.UsageError(f"query: {saved} is reachability, which --from and --to ask.")
        yes = reaching.print_reached(found, (u, v), (source, target))
        if source is None and target is None:
            facts = {"n": found.n, **reaching.counted(found)}
            report(" ".join(f"{name}={x}" for name, x in facts.items()), **facts)
        return yes
    if each:
        answers.print_by_vertex(found, graphs.labels(nearest, found.graph), reduction, output)
        return True
    return answers.print_answer(found, (u, v), graphs.pairs(pairs, found.graph), all_listed=False)


def _load(saved: str, semiring: Semiring | None) -> Result | Reachability:
    """A result or reachability; for other files, the error of a result."""
    from ...answers.reach.reachability import Reachability
    from ...answers.result import Result

    place = Path(saved)
    if (saved == "-" or place.exists()) and not (place.is_file() or place.is_dir()):
        raise click.UsageError(f"query: SAVED must be a file or a folder, which is read in any order, got {saved}.")
    try:
        return Result.load(saved, semiring)
    except FormatError as error:
        try:
            return Reachability.load(saved)
        except FormatError:
            raise error from None
