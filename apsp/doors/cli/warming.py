"""`apsp warm`: compile kernels ahead of time."""

from __future__ import annotations

import time

import click

from ...io.display.terminal import Meter
from .choices import OneOf, names_in
from .options import DTYPES
from .reporting import quiet, report


class Several(OneOf):
    """Several names, separated by commas."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else ()
        return tuple(super(Several, self).convert(part, param, ctx) for part in parts)


@click.command()
@click.option(
    "--for",
    "sorts",
    type=Several("--for", names_in("apsp.road.warming", "SORTS")),
    metavar="NAME,…",
    help="closure, roads, routes, networks, reach, csgraph.  [default: all]",
)
@click.option(
    "--semiring",
    "semirings",
    type=OneOf("semiring", names_in("semiring.algebra.catalog", "names")),
    metavar="NAME",
    multiple=True,
    help="May be repeated.  [default: min_plus]",
)
@click.option(
    "--dtype",
    "dtypes",
    type=click.Choice(DTYPES),
    multiple=True,
    help="May be repeated.  [default: floats and integers of 32 and 64 bits]",
)
@click.option("--processes", type=click.IntRange(min=1), help="How many compile at a time.  [default: a thread each]")
def warm(
    sorts: tuple[str, ...] | None, semirings: tuple[str, ...], dtypes: tuple[str, ...], processes: int | None
) -> None:
    """Compile kernels ahead, for images of containers: the first question then takes no longer than the next."""
    from semiring.algebra.catalog import get
    from semiring.host.errors import DTypeError
    from semiring.kernels.backend import bind

    from ...road import warming

    names = [get(name).name for name in semirings] or ["min_plus"]
    work = warming.tasks(sorts or warming.SORTS, names, dtypes or warming.DTYPES)
    if not work:
        known = ", ".join(sorted({dtype for name in names for dtype in get(name).dtypes}))
        raise DTypeError(f"warm: --dtype must be one of {known}, got {', '.join(dtypes)}.")
    start = time.perf_counter()
    with Meter("warm", quiet=quiet()) as meter:
        threads = bind(get("min_plus"), "float32").threads
        count = warming.warm(work, min(processes or threads, len(work)), meter.callback)
    if not quiet():
        seconds = f"{time.perf_counter() - start:.3g}"
        report(f"kernels={count} seconds={seconds}", kernels=count, seconds=float(seconds))
