"""The command `apsp`. Each command is a function that reads like its help; `console` does the talking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__, console
from .console import progress, say

if TYPE_CHECKING:
    from .graph import Graph
    from .plans import Plan


@click.group(cls=console.Commands, epilog=console.EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="apsp")
@click.option("-q", "--quiet", is_flag=True, help="Print results alone.")
def main(quiet: bool) -> None:
    """Shortest paths and reachability between all pairs of vertices of a graph."""


def _options(*options: Any) -> Any:
    """Several click options as one decorator, in the order given."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_reading = _options(
    click.option("--format", "form", metavar="NAME", help="The file's format; by default its suffix and content say."),
    click.option("--undirected", is_flag=True, help="Let every edge lead both ways."),
    click.option("--weight", metavar="COLUMN", help="CSV: the column that holds the weight."),
)
_semiring = click.option("--semiring", default="min_plus", show_default=True, help="Name or alias; see `apsp info`.")
_running = _options(
    click.option("--schedule", default="auto", show_default=True, help="auto, iterative, blocked or recursive."),
    click.option("--block", type=int, help="The pivot block."),
    click.option("--threads", type=int, help="CPU threads; all by default."),
)
_dtype = click.option("--dtype", help="float32, float64, int16, int32, int64; by default the weights' own.")
_device = click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Where to compute; cpu by default.")
_between = _options(
    click.option("--from", "start", metavar="LABEL", help="The vertex to start from."),
    click.option("--to", "end", metavar="LABEL", help="The vertex to go to."),
)


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@_reading
@_between
@_semiring
@_dtype
@_running
@_device
@click.option("--output", type=click.Path(dir_okay=False), help="Write all distances: .npy, .npz or .csv.")
@click.option("--checksum", is_flag=True, help="Print a Fletcher-16 and a CRC-32 of the distances.")
def solve(
    file: str,
    form: str | None,
    undirected: bool,
    weight: str | None,
    start: str | None,
    end: str | None,
    semiring: str,
    dtype: str | None,
    schedule: str,
    block: int | None,
    threads: int | None,
    device: str | None,
    output: str | None,
    checksum: bool,
) -> None:
    """Best paths between all pairs of vertices of the graph in FILE.

    With --from and --to, the path between these two; otherwise the distances of the first ten vertices.
    """
    from .checksum import crc32, fletcher16
    from .result import shortest_paths

    if (start is None) != (end is None):
        raise click.UsageError("--from and --to go together.")
    _check_output(output, (".npy", ".npz", ".csv"))
    graph = _read(file, form, undirected, weight)
    ends = [graph.labels.parse(text) for text in (start, end) if text is not None]
    with progress("closure") as callback:
        result = shortest_paths(
            graph,
            semiring,
            dtype=dtype,
            schedule=schedule,
            block=block,
            device=device,
            callback=callback,
            threads=threads,
        )
    say(_summary(graph, result.plan, result.seconds))
    if output:
        result.save(output)
        say(f"distances written to {output}")
    if checksum:
        click.echo(f"fletcher16 {fletcher16(result.distances):04x}")
        click.echo(f"crc32 {crc32(result.distances):08x}")
    if ends:
        path = result.path(*ends)  # raises where there is none
        click.echo(f"distance {result.distance(*ends)}")
        click.echo(f"path {' → '.join(str(label) for label in path)}")
    elif not (checksum or output) or not console.quiet():
        click.echo(result.table())


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@_reading
@_between
@_running
@click.option("--reflexive", is_flag=True, help="Let every vertex reach itself.")
@click.option("--counts", is_flag=True, help="Print how many vertices each vertex reaches.")
@click.option(
    "--output", type=click.Path(dir_okay=False), help="Write .npz (to load again), .npy (bools) or .csv (pairs)."
)
def reach(
    file: str,
    form: str | None,
    undirected: bool,
    weight: str | None,
    start: str | None,
    end: str | None,
    schedule: str,
    block: int | None,
    threads: int | None,
    reflexive: bool,
    counts: bool,
    output: str | None,
) -> None:
    """Which vertices of the graph in FILE reach which.

    With --from and --to, yes or no (exit code 0 or 1); with one of them, the vertices that it reaches or that reach it.
    """
    from .reach import transitive_closure

    _check_output(output, (".npy", ".npz", ".csv"))
    graph = _read(file, form, undirected, weight)
    u, v = (None if text is None else graph.labels.parse(text) for text in (start, end))
    with progress("closure") as callback:
        t = transitive_closure(
            graph, reflexive=reflexive, schedule=schedule, block=block, callback=callback, threads=threads
        )
    say(_summary(graph, t.plan, t.seconds))
    if output:
        _write_reach(t, Path(output))
        say(f"reachability written to {output}")
    if counts:
        for label, count in zip(t.labels, t.counts().tolist(), strict=True):
            click.echo(f"{label}\t{count}")
    if start is not None and end is not None:
        answer = t.reaches(u, v)
        click.echo("yes" if answer else "no")
        sys.exit(0 if answer else console.NO)
    for label in t.descendants(u) if start is not None else t.ancestors(v) if end is not None else ():
        click.echo(label)


@main.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@_reading
@click.option("--sizes", default="256,512,1024", show_default=True, help="Random graphs of these sizes, without FILE.")
@click.option("--density", type=float, default=50.0, show_default=True, help="Percent of all edges in them.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random graphs.")
@_semiring
@_dtype
@click.option("--schedules", help="Only these, separated by commas.")
@click.option("--threads", type=int, help="How many threads to hold against one; all by default.")
@click.option("--block", type=int, help="The pivot block.")
@click.option("--device", type=click.Choice(["cpu", "cuda", "all"]), default="all", show_default=True)
@click.option("--limit", type=float, default=30.0, show_default=True, help="Skip runs expected to take more seconds.")
@click.option("--json", "as_json", type=click.Path(dir_okay=False), help="Write everything as JSON.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw time over n: .png, .svg or .pdf.")
def compare(
    file: str | None,
    form: str | None,
    undirected: bool,
    weight: str | None,
    sizes: str,
    density: float,
    seed: int,
    semiring: str,
    dtype: str | None,
    schedules: str | None,
    threads: int | None,
    block: int | None,
    device: str,
    limit: float,
    as_json: str | None,
    plot: str | None,
) -> None:
    """Every schedule, with one thread and with all, and on the GPU: on FILE, or on random graphs of several sizes."""
    from semiring.backend import device_of

    from .comparison import compare as compare_one
    from .comparison import compare_sizes
    from .files import atomic_path

    if device == "cuda":
        device_of(None, "cuda")  # says what is missing
    common: dict[str, Any] = {
        "schedules": schedules.split(",") if schedules else None,
        "devices": None if device == "all" else [device],
        "threads": threads,
        "block": block,
        "limit": limit,
    }
    with progress("comparing") as callback:
        if file:
            graph = _read(file, form, undirected, weight)
            found = compare_one(graph, semiring, dtype=dtype, callback=callback, **common)
        else:
            found = compare_sizes(
                _sizes(sizes),
                density=density,
                seed=seed,
                semiring=semiring,
                dtype=dtype or "float32",
                callback=callback,
                **common,
            )
    headings, rows = found.table()
    console.table(headings, rows, title=f"closure over {found.semiring} in {found.dtype}", numbers=(3, 4, 5, 6))
    for line in found.notes():
        click.echo(line)
    if as_json:
        with atomic_path(as_json) as beside:
            beside.write_text(found.to_json() + "\n", encoding="utf-8")
        say(f"JSON written to {as_json}")
    if plot:
        found.plot(plot)
        say(f"picture written to {plot}")
    if not all(row.same in (True, None) for row in found.rows):
        raise click.ClickException("schedules disagree: please report this.")


@main.group()
def generate() -> None:
    """Write a graph made to measure."""


_writing = _options(
    click.option("--output", required=True, type=click.Path(dir_okay=False), help="The file; its suffix says how."),
    click.option("--format", "form", metavar="NAME", help="The file's format, where the suffix does not say it."),
    click.option("--undirected", is_flag=True, help="Let every edge lead both ways."),
)


@generate.command()
@click.argument("n", type=int)
@click.option("--weight", type=int, default=1, show_default=True)
@_writing
def cycle(n: int, weight: int, output: str, form: str | None, undirected: bool) -> None:
    """A cycle of N vertices."""
    from .generate import cycle as make

    _write(make(n, directed=not undirected, weight=weight), output, form)


@generate.command()
@click.argument("n", type=int)
@click.option("--density", type=float, default=10.0, show_default=True, help="Percent of all possible edges.")
@click.option("--seed", type=int, default=0, show_default=True)
@_writing
def random(n: int, density: float, seed: int, output: str, form: str | None, undirected: bool) -> None:
    """N vertices with random edges of weights 1 to 100."""
    from .generate import random_graph

    _write(random_graph(n, density, seed=seed, directed=not undirected), output, form)


@generate.command()
@click.argument("rows", type=int)
@click.argument("columns", type=int)
@click.option("--output", required=True, type=click.Path(dir_okay=False), help="The file; its suffix says how.")
@click.option("--format", "form", metavar="NAME", help="The file's format, where the suffix does not say it.")
def grid(rows: int, columns: int, output: str, form: str | None) -> None:
    """A grid of ROWS × COLUMNS vertices."""
    from .generate import grid as make

    _write(make(rows, columns), output, form)


@main.command()
@click.argument("source", type=click.Path(dir_okay=False))
@click.argument("target", type=click.Path(dir_okay=False))
@click.option("--from-format", metavar="NAME", help="Of SOURCE, where its suffix and content do not say.")
@click.option("--to-format", metavar="NAME", help="Of TARGET, where its suffix does not say.")
@click.option("--undirected", is_flag=True, help="Let every edge lead both ways.")
def convert(source: str, target: str, from_format: str | None, to_format: str | None, undirected: bool) -> None:
    """Write the graph in SOURCE to TARGET, in another format."""
    _write(_read(source, from_format, undirected, None), target, to_format)


@main.command()
@click.argument("graph", metavar="FILE|N")
@_semiring
@_dtype
@_running
@_device
def plan(
    graph: str,
    semiring: str,
    dtype: str | None,
    schedule: str,
    block: int | None,
    threads: int | None,
    device: str | None,
) -> None:
    """What `solve` would do with the graph in FILE, or with N vertices, and why."""
    from .solve import plan as make_plan

    source: Any = int(graph) if graph.isdecimal() else graph
    click.echo(make_plan(source, semiring, schedule=schedule, block=block, dtype=dtype, device=device, threads=threads))


@main.command()
def info() -> None:
    """This machine, and what can be computed on it: devices, semirings, dtypes, schedules, formats, versions."""
    from semiring.catalog import CATALOG

    from . import schedules
    from .formats import formats
    from .machine import devices, versions

    for name, value in (*devices(), *versions()):
        click.echo(f"{name:10} {value}")
    click.echo(f"{'schedules':10} {', '.join(schedules.names())}")
    click.echo(f"{'formats':10} {', '.join(formats())}")
    click.echo()
    rows = [[s.name, ", ".join(s.aliases) or "-", f"{s.add.name}, {s.mul.name}", ", ".join(s.dtypes)] for s in CATALOG]
    console.table(["semiring", "aliases", "add, mul", "dtypes"], rows)


def _read(file: str, form: str | None, undirected: bool, weight: str | None) -> Graph:
    from .formats import read

    options = {} if weight is None else {"weight": weight}
    return read(file, format=form, directed=False if undirected else None, **options)


def _write(graph: Graph, path: str, form: str | None) -> None:
    from .formats import write

    write(graph, path, format=form)
    say(f"{graph.n} vertices and {graph.edge_count} edges written to {path}")


def _write_reach(t: Any, path: Path) -> None:
    import csv

    from .files import atomic_path

    if path.suffix == ".npz":
        t.save(path)
    elif path.suffix == ".npy":
        import numpy as np

        with atomic_path(path) as beside:
            np.save(beside, t.to_bool())
    else:
        with atomic_path(path) as beside, open(beside, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["source", "target"])
            writer.writerows(t.to_edges())


def _check_output(output: str | None, suffixes: tuple[str, ...]) -> None:
    """Refuse before any work what could not be written after it."""
    if output is None:
        return
    if Path(output).suffix not in suffixes:
        raise click.UsageError(f"--output must end in {' or '.join(suffixes)}, got {output}.")
    if not Path(output).resolve().parent.is_dir():
        raise click.UsageError(f"--output must lie in a directory that exists, got {output}.")


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise click.UsageError(f"--sizes must be numbers of vertices separated by commas, got {text!r}.")
    return sizes


def _summary(graph: Graph, plan: Plan, seconds: float) -> str:
    rate = plan.pairs / seconds / 1e9 if seconds else 0.0
    return (
        f"{graph.n} vertices, {graph.edge_count} edges; {plan.semiring} in {plan.dtype} on {plan.device}; "
        f"{plan.schedule} schedule, block {plan.block}; {seconds:.3g} s, {rate:.3g} G pairs/s"
    )
