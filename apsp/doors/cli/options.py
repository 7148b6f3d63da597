"""Options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .choices import ENGINE, FORMAT, NULL_VALUE, SCHEDULE_OR_AUTO, SEMIRING

if TYPE_CHECKING:
    from semiring.algebra.records import Semiring

DTYPES = ("float32", "float64", "int16", "int32", "int64", "bool")
FILE = click.Path(path_type=Path)
SOURCE = click.Path(allow_dash=True)  # text: "-" is standard input, "./-" a file
OUTPUT = click.Path(allow_dash=True)  # text likewise, for standard output
#: Options of reading a graph.
READING = ("format", "undirected", "columns", "weight", "unweighted", "null_value")


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse given options that would have no effect."""
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in set(names) and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{context.info_name}: {why}, got {' and '.join(given)}.")


def require_dtype(semiring: Semiring, dtype: str | None) -> None:
    """Refuse a dtype that the semiring lacks, which would otherwise be replaced."""
    if dtype not in (None, *semiring.dtypes):
        known = ", ".join(semiring.dtypes)
        raise ValueError(f"--dtype must be one of those of {semiring.name}, {known}, got {dtype}.")


def combined(*several: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorators applied in the order in which `--help` shows them."""

    def decorate(command: Any) -> Any:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def _columns_of(ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """The columns of the file that stands before, for completion; of --columns, behind the last comma."""
    from ...io.reading.files import Source

    before, comma, begun = begun.rpartition(",")
    with suppress(OSError, ValueError, IndexError):  # no such file, or none yet
        if not Path(ctx.args[0]).is_file():  # a pipe, or standard input, would keep the shell waiting
            return []
        header = Source(ctx.args[0]).head(4096).decode("utf-8-sig").split("\n")[0]
        names = (name.strip("\"' \r") for name in re.split("[,;\t]", header))
        return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]
    return []


columns = (
    click.option(
        "--undirected/--directed", default=None, help="Edges lead both ways, or one way, whatever a file says."
    ),
    click.option(
        "--columns",
        metavar="FROM,TO[,WEIGHT]",
        shell_complete=_columns_of,
        help="The columns, by name; or by position from 0, where there is no header.",
    ),
    click.option(
        "--weight",
        metavar="COLUMN",
        shell_complete=_columns_of,
        help="The column, or the edges' attribute, that holds the weight.",
    ),
    click.option("--unweighted", is_flag=True, help="Every edge weighs 1."),
    click.option(
        "--null-value",
        type=NULL_VALUE,
        metavar="NUMBER|none",
        help="The entry that is no edge, such as 0; none if zeros are edges.",
    ),
)
reading = combined(
    click.option(
        "--format", type=FORMAT, metavar="NAME", help="The file's format; by default its suffix or content says."
    ),
    *columns,
)
computing = combined(
    click.option(
        "--schedule",
        type=SCHEDULE_OR_AUTO,
        default="auto",
        show_default=True,
        metavar="NAME",
        help="Order of work; see `apsp info`.",
    ),
    click.option("--block", type=click.IntRange(min=1), help="The pivot block."),
)
semiring = click.option(
    "--semiring",
    type=SEMIRING,
    default="min_plus",
    show_default=True,
    metavar="NAME",
    help="One of `apsp info`, or one of your own: FILE.py:NAME.",
)
dtype = click.option("--dtype", type=click.Choice(DTYPES), help="What to compute in.")
device = click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Where to compute.")
threads = click.option("--threads", type=click.IntRange(min=1), help="CPU threads; all by default.")
ends = combined(
    click.option("--from", "source", metavar="LABEL", help="The vertex to start from."),
    click.option("--to", "target", metavar="LABEL", help="The vertex to arrive at."),
)
engine = click.option(
    "--engine",
    type=ENGINE,
    default="auto",
    show_default=True,
    metavar="NAME",
    help="dense, elimination, searches, scipy, hops, essential, levels, spanning, united or indexed; see `apsp plan`.",
)
#: Options of a computation by an engine; `solving` adds schedules, sources and targets.
searching = combined(reading, semiring, engine, dtype, device, threads)
spread = combined(
    click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="Spread the closure over N GPUs."),
    click.option("--distributed", is_flag=True, help="Spread it over the processes that mpiexec or srun has started."),
    click.option("--grid", metavar="RxC", help="How these stand, such as 2x4; as squarely as they can by default."),
)
limits = combined(
    click.option("--memory", metavar="SIZE", help="Hold the dense closure to so much memory, such as 16GiB."),
    click.option(
        "--checkpoint",
        type=click.Path(),
        metavar="DIR",
        help="Keep the state of the closure there, and continue from it.",
    ),
    click.option("--every", type=float, metavar="SECONDS", help="Between checkpoints in memory; 60 by default."),
)
parts = combined(
    click.option("--sources", type=FILE, metavar="FILE", help="Only from the vertices in FILE, one label a line."),
    click.option("--targets", type=FILE, metavar="FILE", help="Only to the vertices in FILE."),
)
solving = combined(reading, semiring, engine, computing, dtype, device, threads, parts)
