"""`apsp compare`: every schedule on the same matrices."""

from __future__ import annotations

import json
import shlex
import sys
from datetime import UTC, datetime
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import click

from semiring.host.types import Fields
from semiring.stores.files import writing

from ...io.display.terminal import Meter
from . import graphs
from .answers import no_progress
from .choices import SCHEDULE_OR_ALL, Numbers
from .options import FILE, READING, SOURCE, combined, dtype, reading, refuse_given, require_dtype, semiring
from .reporting import quiet, report, report_table


@click.command()
@click.argument("file", type=SOURCE, required=False)
@click.option(
    "--sizes",
    type=Numbers(),
    metavar="N,N,…",
    help="Vertices of the random graphs; 10:1800:10 is 10, 20, … 1800.  [default: 256,512,1024]",
)
@click.option("--from-n", type=click.IntRange(min=1), help="The smallest size; it doubles up to --to-n.")
@click.option("--to-n", type=click.IntRange(min=1), help="The largest size.")
@click.option("--density", type=float, default=50.0, show_default=True, help="Percent of the possible edges.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random graphs.")
@click.option("--graph", type=click.Choice(["random", "cycle"]), default="random", show_default=True, help="Which.")
@combined(reading, semiring, dtype)
@click.option("--threads", type=Numbers(), metavar="N,N,…", help="CPU threads, next to one; all by default.")
@click.option("--device", type=click.Choice(["cpu", "cuda", "all"]), default="all", show_default=True)
@click.option(
    "--schedule",
    "schedules",
    type=SCHEDULE_OR_ALL,
    multiple=True,
    metavar="NAME",
    help="Only these; may be repeated, or all.  [default: iterative, blocked, recursive]",
)
@click.option("--kernels", is_flag=True, help="Compare kernels as they are taught: by rows, by columns, blocked, …")
@click.option(
    "--block", type=Numbers(), metavar="N,N,…", help="Pivot blocks; the usual one by default, at most a quarter of N."
)
@click.option("--limit", type=float, default=30.0, show_default=True, help="Skip what would take more seconds a run.")
@click.option(
    "--repeats", type=click.IntRange(min=1), help="Runs of each; the column spread says how far they are apart."
)
@click.option("--json", "json_file", type=FILE, help="Write everything as JSON.")
@click.option("--plot", type=FILE, help="Draw time over n: .png, .svg or .pdf.")
def compare(
    file: str | None,
    sizes: tuple[int, ...] | None,
    from_n: int | None,
    to_n: int | None,
    dtype: str | None,
    device: str,
    json_file: Path | None,
    plot: Path | None,
    **options: Any,
) -> bool:
    """Schedules on the graph in FILE, or on random graphs or cycles of several sizes: time, rate, speed-up."""
    from ... import comparison
    from .machine import describe

    if file is None:
        refuse_given(READING, "random graphs are not read, so FILE must be given")
    else:
        refuse_given(
            ("sizes", "from_n", "to_n", "density", "seed", "graph"),
            "give either FILE or what random graphs are made of",
        )
    if options["graph"] == "cycle":
        refuse_given(("density", "seed"), "a cycle is the same for all of them")
    if sizes:
        refuse_given(("from_n", "to_n"), "--sizes lists them all, and stands on its own")
    require_dtype(options["semiring"], dtype)
    graphs.check(plot, (".png", ".svg", ".pdf"))
    graphs.check(json_file, (".json",))
    options["devices"] = None if device == "all" else [device]
    random = {name: options.pop(name) for name in ("density", "seed", "graph")}
    reading = {name: options.pop(name) for name in READING}
    with Meter("compare", quiet=quiet()) as meter:
        options["callback"] = meter.callback or no_progress
        if file is not None:
            table = comparison.compare(graphs.read(file, reading).matrix(options["semiring"], dtype), **options)
        else:
            table = comparison.compare_sizes(sizes or _doubled(from_n, to_n), dtype=dtype, **random, **options)
    if json_file is not None:
        made: Fields = {"machine": dict(describe()), "date": datetime.now(UTC).isoformat(timespec="seconds")}
        made |= {"command": shlex.join(["apsp", *sys.argv[1:]]), "seed": None if file else random["seed"]}
        with writing(json_file) as output:
            output.write(f"{json.dumps(made | json.loads(table.to_json()), indent=1)}\n".encode())
    if plot is not None:
        table.plot(save=plot)
    headings, cells = table.table()
    report_table(headings, cells, right=(3, 4, 5, 6))
    if not quiet():
        report("\n".join([f"closure over {table.semiring} in {table.dtype}", *table.notes()]), notes=table.notes())
    if disagree := any(row.same is False for row in table.rows):
        click.echo("apsp: the schedules disagree; please report this.", err=True)
    return not disagree


def _doubled(from_n: int | None, to_n: int | None) -> list[int]:
    """Sizes doubled from one end to the other."""
    low, high = from_n or min(256, to_n or 256), to_n or max(1024, from_n or 1024)
    if low > high:
        raise click.UsageError(f"compare: --from-n must not exceed --to-n, got {low} and {high}.")
    return [*takewhile(high.__gt__, (low << k for k in count())), high]
