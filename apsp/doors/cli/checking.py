"""`apsp check`: a table that another program computed."""

from __future__ import annotations

from typing import Any

import click

from semiring.host.errors import FormatError, SemiringError, ShapeError
from semiring.host.escaping import one_line

from ...io.display.terminal import Meter
from . import graphs
from .choices import FORMAT
from .exit_codes import NO, shell
from .options import SOURCE, combined, dtype, reading, refuse_given, require_dtype, semiring, threads
from .reporting import quiet, report


@click.command()
@click.argument("file", metavar="GRAPH", type=SOURCE)
@click.argument("table", type=SOURCE)
@combined(reading, semiring, dtype, threads)
@click.option("--table-format", type=FORMAT, metavar="NAME", help="Of TABLE; by default its suffix or content says.")
@click.option("--sample", type=click.IntRange(min=1), metavar="ROWS", help="Check a random sample of this many rows.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option("--within", type=float, default=0.0, help="How far numbers may be off besides rounding, such as 1e-4.")
def check(file: str, table: str, sample: int | None, table_format: str | None, **options: Any) -> None:
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
    if not found:
        click.get_current_context().exit(NO)
