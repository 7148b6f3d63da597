"""The command `apsp`: solve, reach, compare, generate, convert, plan, info. What a command needs, it imports itself."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..display.terminal import Meter, show_table
from .choices import ENGINE, FORMAT, OUTPUT_FORMAT, REDUCTION, SCHEDULE, SCHEDULE_OR_AUTO, SEMIRING
from .exit_codes import EPILOG, EVERY_RANK, NO, Commands, ending

if TYPE_CHECKING:
    from ..graph import Graph
    from ..reach import Reachability
    from ..result import Result

DTYPES = ("float32", "float64", "int16", "int32", "int64", "bool")
_FILE = click.Path(path_type=Path)
_SOURCE = click.Path(allow_dash=True)  # text: "-" is standard input, and "./-" a file of that name
_SHOWN = 10
#: The options that concern reading a graph.
_READING = ("format", "undirected", "columns", "weight", "unweighted")


def _options(*several: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorators applied in the order in which `--help` shows them."""

    def decorate(command: Any) -> Any:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


_columns = (
    click.option("--undirected", is_flag=True, help="Edges lead both ways."),
    click.option(
        "--columns",
        metavar="FROM,TO[,WEIGHT]",
        help="The columns, by name; or by position from 0, where there is no header.",
    ),
    click.option("--weight", metavar="COLUMN", help="The column, or the edges' attribute, that holds the weight."),
    click.option("--unweighted", is_flag=True, help="Every edge weighs 1."),
)
_reading = _options(
    click.option(
        "--format", type=FORMAT, metavar="NAME", help="The file's format; by default its suffix or content says."
    ),
    *_columns,
)
_computing = _options(
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
_semiring = click.option(
    "--semiring",
    type=SEMIRING,
    default="min_plus",
    show_default=True,
    metavar="NAME",
    help="One of `apsp info`, or one of your own: FILE.py:NAME.",
)
_dtype = click.option("--dtype", type=click.Choice(DTYPES), help="What to compute in.")
_device = click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Where to compute.")
_threads = click.option("--threads", type=click.IntRange(min=1), help="CPU threads; all by default.")
_ends = _options(
    click.option("--from", "source", metavar="LABEL", help="The vertex to start from."),
    click.option("--to", "target", metavar="LABEL", help="The vertex to arrive at."),
)


_engine = click.option(
    "--engine",
    type=ENGINE,
    default="auto",
    show_default=True,
    metavar="NAME",
    help="dense, elimination, scipy or hops; see `apsp plan`.",
)
_spread = _options(
    click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="Spread the closure over N GPUs."),
    click.option("--distributed", is_flag=True, help="Spread it over the processes that mpiexec or srun has started."),
    click.option("--grid", metavar="RxC", help="How these stand, such as 2x4; as squarely as they can by default."),
)
_limits = _options(
    click.option("--memory", metavar="SIZE", help="Hold the dense closure to so much memory, such as 16GiB."),
    click.option("--checkpoint", type=click.Path(), metavar="DIR", help="Keep what it has come to; go on from there."),
    click.option("--every", type=float, metavar="SECONDS", help="Between checkpoints in memory; 60 by default."),
)
_parts = _options(
    click.option("--sources", type=_FILE, metavar="FILE", help="Only from the vertices in FILE, one label a line."),
    click.option("--targets", type=_FILE, metavar="FILE", help="Only to the vertices in FILE."),
)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="apsp")
@click.option("-q", "--quiet", is_flag=True, help="Answers alone: no summary, no progress.")
@click.pass_context
def main(ctx: click.Context, quiet: bool) -> None:
    """All-pairs shortest paths, reachability, and other closures of graphs over semirings."""
    ctx.obj = quiet
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a label that the terminal cannot show is no error


@main.command()
@click.argument("file", type=_SOURCE)
@_ends
@_options(_reading, _semiring, _engine, _computing, _dtype, _device, _threads, _parts)
@click.option("--table", type=_FILE, metavar="FILE", help="Only between the vertices in FILE, one label a line.")
@click.option("--limit", type=float, help="Distances beyond it are no path.")
@click.option("--reduce", "reduction", type=REDUCTION, metavar="NAME", help="A number a vertex: eccentricity, …")
@click.option("--nearest", type=_FILE, metavar="FILE", help="For every vertex the nearest of those in FILE.")
@click.option("--paths", "pairs", type=_FILE, metavar="FILE", help="The paths between the pairs in FILE, two a line.")
@click.option("--output", type=click.Path(), help="Write the distances: .npy, .npz, .csv, .zarr, or tiles/.")
@_limits
@_spread
@click.option("--predecessors", type=_FILE, help="Write who comes before whom on best paths: .npy, .npz or .csv.")
@click.option("--plot", type=_FILE, help="Draw the network and the path: .png, .svg or .pdf; with --positions.")
@click.option("--positions", type=_FILE, metavar="FILE", help="Coordinates to draw at: .co, .geojson or .csv.")
@click.option("--checksum", is_flag=True, help="Print Fletcher-16 and CRC-32 of the distances.")
@click.option("--verify", is_flag=True, help="Check the distances and every path by their definition.")
def solve(
    file: str,
    source: str | None,
    target: str | None,
    output: str | None,
    checksum: bool,
    table: Path | None,
    reduction: str | None,
    nearest: Path | None,
    plot: Path | None,
    positions: Path | None,
    pairs: Path | None,
    predecessors: Path | None,
    verify: bool,
    **options: Any,
) -> None:
    """Best walks between all vertices of the graph in FILE, or between some.

    With --from and --to, the distance and a path; else a table of the first ten vertices (with one of them, of all
    distances from or to it; with --table, --sources or --targets, of those vertices).
    """
    from ..result import shortest_paths
    from ..saving.results import RESULTS
    from ..saving.stores import suffix_of

    options["gpus"] = places = _places(options)
    _check(output, RESULTS)
    _check(predecessors)
    _check(plot, (".png", ".svg", ".pdf"))
    graph = _read(file, options)
    _check_names(graph, output)
    _check_names(graph, predecessors)
    walked = None if pairs is None else _pairs(pairs, graph)
    ends = _parse(graph, source), _parse(graph, target)
    wanted = None if nearest is None else _labels(nearest, graph)
    everything = output is not None or checksum or reduction is not None or wanted is not None or walked is not None
    everything = everything or verify or predecessors is not None
    listed = _asked(graph, table, options, () if everything else ends)
    limited = places is not None or any(options[name] is not None for name in ("memory", "checkpoint"))
    streamed = output if limited and output is not None and suffix_of(output) == ".tiles" else None
    with Meter("closure", quiet=_quiet()) as meter:
        r = shortest_paths(graph, callback=meter.callback, output=streamed, **options)
    if not _answers(r, places):
        return
    if output is not None and streamed is None:
        with Meter("save", quiet=_quiet()) as meter:
            r.save(output, callback=meter.callback or _unseen)
    if predecessors is not None:
        r.save_predecessors(predecessors)
    no = False
    if walked is not None:
        show_table(*_paths(r, walked), right=[2])
    elif wanted is not None:
        show_table(*_nearest(r, wanted), right=[2])
    elif reduction is not None:
        with Meter(reduction, quiet=_quiet()) as meter:
            found = r.reduce(reduction, callback=meter.callback or _unseen)
        columns = len(found) == r.engine.shape[1] and reduction in ("closeness", "harmonic")
        names = r.targets if columns else r.sources
        show_table(
            ["vertex", reduction], [[str(v), f"{x:g}"] for v, x in zip(names, found.tolist(), strict=True)], right=[1]
        )
    elif source is not None and target is not None:
        no = not _print_path(r, *ends)
    elif listed:
        show_table(*_block(r, *r.engine.shape), right=range(1, r.engine.shape[1] + 1))
    else:
        show_table(*_distances(r, source is not None, target is not None, *ends), right=range(1, _SHOWN + 1))
        if r.graph.n > _SHOWN and source is None and target is None and not _quiet():
            click.echo(f"(the first {_SHOWN} of {r.graph.n} vertices)")
    if plot is not None:
        _plot(r, ends, no, plot, positions)
    if checksum:
        from .checksum import crc32, fletcher16

        click.echo(f"fletcher16 0x{fletcher16(r.distances):04x}\ncrc32 0x{crc32(r.distances):08x}")
    if verify:
        told = r.verify("all", paths=r.semiring.add.selects is not None)
        click.echo(f"verified: {told}" if told else f"not verified: {told}")
        no = no or not told
    if not _quiet():
        dtype, schedule = r.dtype.name, f"{r.plan.schedule} device={r.plan.device}"
        _summary(graph, f"semiring={r.semiring.name} dtype={dtype} schedule={schedule}", r.seconds, r.rate)
    if no:
        click.get_current_context().exit(NO)


@main.command()
@click.argument("file", type=_SOURCE)
@_ends
@_options(_reading, _computing, _device, _threads, _spread)
@click.option(
    "--semiring",
    type=SEMIRING,
    metavar="NAME",
    help="What weights mean: an edge of this semiring's zero is none. One of `apsp info`, or FILE.py:NAME.",
)
@click.option("--reflexive", is_flag=True, help="Every vertex reaches itself.")
@click.option("--counts", is_flag=True, help="How many vertices each vertex reaches.")
@click.option("--output", type=_FILE, help="Write all answers (.npz), all pairs (.csv) or the matrix (.npy).")
def reach(file: str, source: str | None, target: str | None, counts: bool, output: Path | None, **options: Any) -> None:
    """Which vertices of the graph in FILE reach which others, by one edge or more.

    With --from and --to: yes or no, and exit code 0 or 1. With --from alone, all that it reaches; with --to alone,
    all that reach it; one label a line.
    """
    from ..reach import transitive_closure

    options["gpus"] = places = _places(options)
    _check(output)
    graph = _read(file, options)
    _check_names(graph, output)
    u, v = _parse(graph, source), _parse(graph, target)
    with Meter("reachability", quiet=_quiet()) as meter:
        t = transitive_closure(graph, callback=meter.callback, **options)
    if output is not None and 0 in getattr(places, "mine", (0,)):
        _save_reach(t, output)
    if counts:
        rows = [[str(label), str(count)] for label, count in zip(t.labels, t.counts().tolist(), strict=True)]
        show_table(["vertex", "reaches"], rows, right=[1])
    reached = True
    if source is not None and target is not None:
        reached = t.reaches(u, v)
        click.echo("yes" if reached else "no")
    elif source is not None or target is not None:
        for label in t.descendants(u) if source is not None else t.ancestors(v):
            click.echo(str(label))
    if not _quiet():
        found = f"pairs={int(t.counts().sum())} components={len(t.components())} schedule={t.plan.schedule}"
        _summary(graph, found, t.seconds)
    if not reached:
        click.get_current_context().exit(NO)


@main.command()
@click.argument("file", type=_SOURCE, required=False)
@click.option("--sizes", metavar="N,N,…", help="Vertices of the random graphs.  [default: 128,256,512]")
@click.option("--from-n", type=click.IntRange(min=1), help="The smallest size; it doubles up to --to-n.")
@click.option("--to-n", type=click.IntRange(min=1), help="The largest size.")
@click.option("--density", type=float, default=50.0, show_default=True, help="Percent of the possible edges.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random graphs.")
@_options(_reading, _semiring, _dtype, _threads)
@click.option("--device", type=click.Choice(["cpu", "cuda", "all"]), default="all", show_default=True)
@click.option(
    "--schedule", "schedules", type=SCHEDULE, multiple=True, metavar="NAME", help="Only these; may be repeated."
)
@click.option("--block", type=click.IntRange(min=1), help="The pivot block.")
@click.option("--limit", type=float, default=30.0, show_default=True, help="Skip what would take more seconds a run.")
@click.option("--json", "json_file", type=_FILE, help="Write everything as JSON.")
@click.option("--plot", type=_FILE, help="Draw time over n: .png, .svg or .pdf.")
def compare(
    file: str | None,
    sizes: str | None,
    from_n: int | None,
    to_n: int | None,
    dtype: str | None,
    device: str,
    json_file: Path | None,
    plot: Path | None,
    **options: Any,
) -> None:
    """Every schedule on the graph in FILE, or on random graphs of several sizes: time, rate, speed-up, same result."""
    from .. import comparison

    _check(plot, (".png", ".svg", ".pdf"))
    _check(json_file, (".json",))
    options["schedules"] = options["schedules"] or None
    if device != "all":
        from semiring.backend import device_of

        options["devices"] = [device_of(None, device)]  # says what is missing, before any work
    random = {name: options.pop(name) for name in ("density", "seed")}
    reading = {name: options.pop(name) for name in _READING}
    with Meter("compare", quiet=_quiet()) as meter:
        if file is not None:
            if sizes is not None or from_n is not None or to_n is not None:
                raise click.UsageError("compare: give either FILE or sizes.")
            A = _read(file, reading).matrix(options["semiring"], dtype)
            table = comparison.compare(A, callback=meter.callback, **options)
        else:
            options |= random | {"dtype": dtype}
            table = comparison.compare_sizes(_sizes(sizes, from_n, to_n), callback=meter.callback, **options)
    if json_file is not None:
        from semiring.files import writing

        with writing(json_file) as output:
            output.write(f"{table.to_json()}\n".encode())
    if plot is not None:
        table.plot(save=plot)
    headings, cells = table.table()
    show_table(headings, cells, right=(3, 4, 5, 6))
    if not _quiet():
        click.echo("\n".join([f"closure over {table.semiring} in {table.dtype}", *table.notes()]))
    if any(row.same is False for row in table.rows):
        click.echo("apsp: the schedules disagree; please report this.", err=True)
        click.get_current_context().exit(NO)


@main.group()
def generate() -> None:
    """Make a graph and write it to a file."""


_written = _options(
    click.option("--output", type=_FILE, required=True, help="The file; its suffix says the format."),
    click.option("--format", type=OUTPUT_FORMAT, help="The format, where the suffix does not say."),
)


@generate.command("cycle")
@click.argument("n", type=click.IntRange(min=0))
@click.option("--undirected", is_flag=True, help="Edges lead both ways.")
@click.option("--weight", type=float, default=1.0, show_default=True, help="Of every edge.")
@_written
def generate_cycle(n: int, undirected: bool, weight: float, **written: Any) -> None:
    """The cycle through N vertices."""
    from ..generate import cycle

    _write(lambda: cycle(n, directed=not undirected, weight=_whole(weight)), **written)


@generate.command("random")
@click.argument("n", type=click.IntRange(min=0))
@click.option("--density", type=float, default=10.0, show_default=True, help="Percent of the possible edges.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same graph.")
@click.option("--weights", type=(float, float), default=(1, 100), show_default=True, help="Least and greatest weight.")
@click.option("--real", is_flag=True, help="Real weights instead of integers.")
@click.option("--undirected", is_flag=True, help="Edges lead both ways.")
@_written
def generate_random(
    n: int,
    density: float,
    seed: int,
    weights: tuple[float, float],
    real: bool,
    undirected: bool,
    **written: Any,
) -> None:
    """N vertices with random edges."""
    from ..generate import random_graph

    options: dict[str, Any] = {"integer": not real, "directed": not undirected}
    _write(lambda: random_graph(n, density, seed=seed, weights=weights, **options), **written)


@generate.command("grid")
@click.argument("rows", type=click.IntRange(min=0))
@click.argument("cols", type=click.IntRange(min=0))
@click.option("--weight", type=float, default=1.0, show_default=True, help="Of every edge.")
@_written
def generate_grid(rows: int, cols: int, weight: float, **written: Any) -> None:
    """ROWS by COLS vertices, neighbours joined both ways."""
    from ..generate import grid

    _write(lambda: grid(rows, cols, weight=_whole(weight)), **written)


@generate.command("roads")
@click.argument("n", type=click.IntRange(min=0))
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same graph.")
@_written
def generate_roads(n: int, seed: int, **written: Any) -> None:
    """N crossings of a map, joined as roads are; weights are metres."""
    from ..generate import road_like

    _write(lambda: road_like(n, seed=seed), **written)


@main.command()
@click.argument("source", metavar="IN", type=_SOURCE)
@click.argument("target", metavar="OUT", type=_FILE)
@click.option("--from-format", "--format", "from_format", type=FORMAT, metavar="NAME", help="The format of IN.")
@click.option("--to-format", type=OUTPUT_FORMAT, help="The format of OUT, where its suffix does not say.")
@_options(*_columns)
def convert(source: str, target: Path, from_format: str | None, to_format: str | None, **options: Any) -> None:
    """Read the graph in the file IN and write it to the file OUT."""
    _write(lambda: _read(source, {"format": from_format, **options}), target, to_format)


@main.command()
@click.argument("what", metavar="FILE|N")
@_options(_reading, _semiring, _engine, _computing, _dtype, _device, _threads, _parts, _spread)
@click.option("--memory", metavar="SIZE", help="What if the dense closure is held to so much memory, such as 16GiB?")
def plan(what: str, **options: Any) -> None:
    """What `solve` would do with the graph in FILE, or with N vertices, and why; nothing is computed."""
    from ..solve import plan as make

    options["gpus"] = _places(options)
    reading = {name: options.pop(name) for name in _READING}
    if what.isdecimal() and not Path(what).exists():
        click.echo(str(make(int(what), **options)))
        return
    graph = _read(what, reading)
    _asked(graph, None, options)
    click.echo(str(make(graph, **options)))


@main.command()
def info() -> None:
    """This machine, the versions at work, and what there is to choose from."""
    from semiring.catalog import CATALOG

    from .. import formats, schedules
    from .machine import describe

    show_table(["machine", ""], describe())
    click.echo()
    rows = [[s.name, " ".join(s.aliases) or "-", " ".join(s.dtypes)] for s in CATALOG]
    show_table(["semiring", "aliases", "dtypes"], rows)
    click.echo()
    known = [[f.name, " ".join(f.suffixes), f.description] for f in formats.formats().values()]
    show_table(["format", "suffixes", "holds"], known)
    click.echo()
    doc = {name: schedules.get(name).description for name in schedules.names()}
    show_table(["schedule", ""], [["auto", "The one that the plan finds best."], *([k, v] for k, v in doc.items())])


def _places(options: dict[str, Any]) -> Any:
    """The ranks over which the closure is spread; None for one place.

    Of processes under MPI, errors end all of them, and only rank 0 is heard.
    """
    gpus, distributed, grid = (options.pop(name) for name in ("gpus", "distributed", "grid"))
    if gpus is not None and distributed:
        raise click.UsageError("give either --gpus or --distributed.")
    if gpus is None and not distributed:
        if grid is not None:
            raise click.UsageError("--grid goes with --gpus or --distributed.")
        return None
    from semiring.distributed import Grid, world

    if gpus is not None:
        return world(gpus=gpus, grid=grid)
    from semiring.backend import cuda_available
    from semiring.distributed.processes import Processes

    device = options["device"] or ("cuda" if cuda_available() else "cpu")
    shape = None if grid is None else Grid.parse(grid)
    ranks = Processes(shape, device, options["threads"], failed=lambda error: getattr(ending(error), "code", NO))
    click.get_current_context().meta[EVERY_RANK] = ranks.end
    if ranks.rank:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    elif not _quiet():
        click.echo("\n".join(f"rank {k}: {at}" for k, at in enumerate(ranks.addresses)), err=True)
    return ranks


def _answers(r: Result, places: Any) -> bool:
    """Whether this process is the one that answers; the others hand over what it reads, until it has answered."""
    if places is None or len(places.mine) == places.grid.size:
        return True
    from ..distributed.serving import Served, serve

    engine: Any = r.engine.whole
    if places.rank:
        serve(engine.matrix)
        return False
    engine.matrix = Served(engine.matrix)
    click.get_current_context().call_on_close(engine.matrix.close)
    return True


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at, as where the output is no terminal."""


def _quiet() -> bool:
    return bool(click.get_current_context().obj)


def _read(file: str, options: dict[str, Any]) -> Graph:
    """The graph in a file, or in standard input; takes what concerns reading out of the command's options."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        graph = _read_as_asked(file, options)
    for warning in said:
        click.echo(f"apsp: {warning.message}", err=True)
    return graph


def _read_as_asked(file: str, options: dict[str, Any]) -> Graph:
    from .. import formats

    format, undirected, columns, weight, unweighted = (options.pop(name, None) for name in _READING)
    asked: dict[str, Any] = {"format": format, "directed": False if undirected else None}
    named = [] if columns is None else [column.strip() for column in columns.split(",")]
    by_position = all(column.isdecimal() for column in named)
    if columns is not None:
        asked["columns"] = [int(column) for column in named] if by_position else named
    if unweighted and weight is not None:
        raise ValueError("give --weight or --unweighted, and not both.")
    if unweighted or weight is not None:
        asked["weight"] = int(weight) if weight is not None and by_position and weight.isdecimal() else weight
    return formats.read(file, **asked)


def _write(make: Callable[[], Graph], output: Path, format: str | None) -> None:
    """Make a graph and write it, unless it could not be written."""
    from .. import formats

    formats.check_output(output, format=format)
    graph = make()
    formats.write(graph, output, format=format)
    if not _quiet():
        click.echo(f"{output}: n={graph.n} edges={graph.edge_count}")


def _parse(graph: Graph, text: str | None) -> Any:
    return None if text is None else graph.labels.parse(text)


def _pairs(path: Path, graph: Graph) -> list[tuple[Any, Any]]:
    from ..reading.positions import read_pairs

    return read_pairs(path, graph.labels)


def _paths(r: Result, pairs: list[tuple[Any, Any]]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: both ends, the distance, and the path."""
    from ..display.output import text

    distances = [text(r.engine.entry(r.sources.position(u), r.targets.position(v)), r.semiring) for u, v in pairs]
    found = (" -> ".join(map(str, path)) or "none" for path in r.paths(pairs))
    lines = [[str(u), str(v), d, path] for (u, v), d, path in zip(pairs, distances, found, strict=True)]
    return ["from", "to", "distance", "path"], lines


def _labels(path: Path, graph: Graph) -> list[Any]:
    from ..reading.positions import read_labels

    return read_labels(path, graph.labels)


def _asked(graph: Graph, table: Path | None, options: dict[str, Any], ends: tuple[Any, ...] = ()) -> bool:
    """Puts the labels of sources and targets in place of their files; whether there are any.

    Where a single pair or line of a large graph is wanted, no more is asked for.
    """
    from ..choosing import FEW

    if table is not None:
        if options["sources"] is not None or options["targets"] is not None:
            raise click.UsageError("solve: give either --table or --sources and --targets.")
        options["sources"] = options["targets"] = table
    listed = False
    for side in ("sources", "targets"):
        path = options.pop(side)
        if path is not None:
            options[side], listed = _labels(path, graph), True
    if not listed and graph.dense is None and graph.n > FEW and options["schedule"] == "auto" and ends:
        for side, end in zip(("sources", "targets"), ends, strict=True):
            if end is not None:
                options[side] = [end]
    return listed


def _nearest(r: Result, wanted: list[Any]) -> tuple[list[str], list[list[str]]]:
    found = r.nearest(wanted)
    return ["vertex", "nearest", "distance"], [
        [str(v), "none" if u is None else str(u), f"{x:.10g}" if isinstance(x, float) else str(x)]
        for v, u, x in zip(r.targets, found.source, found.distance.tolist(), strict=True)
    ]


def _plot(r: Result, ends: tuple[Any, Any], no: bool, plot: Path, positions: Path | None) -> None:
    if positions is None:
        raise click.UsageError("solve: --plot needs the coordinates of vertices, --positions FILE.")
    r.plot(path=None if no or None in ends else r.path(*ends), positions=positions, save=plot)


def _check(path: str | Path | None, suffixes: tuple[str, ...] | None = None) -> None:
    """Refuse before the work what could not be written after it."""
    if path is not None:
        from ..saving.results import SUFFIXES, check_output

        check_output(path, suffixes or SUFFIXES)


def _check_names(graph: Graph, path: str | Path | None) -> None:
    """Refuse before the work vertices that the file would not give back."""
    if path is not None:
        from ..saving.results import check_labels

        check_labels(graph.labels, path)


def _summary(graph: Graph, what: str, seconds: float, rate: float | None = None) -> None:
    speed = "" if rate is None else f" rate={rate:.3g}"
    click.echo(f"n={graph.n} edges={graph.edge_count} {what} seconds={seconds:.3g}{speed}")


def _print_path(r: Result, u: Any, v: Any) -> bool:
    """Distance and path; False where there is no path."""
    from semiring.errors import AlgebraError, NoPathError

    from ..display.output import text

    # As its dtype writes it, 0.1 and not 0.10000000149.
    distance = f"distance {text(r.engine.entry(r.sources.position(u), r.targets.position(v)), r.semiring)}"
    try:
        path = " -> ".join(map(str, r.path(u, v)))
    except NoPathError:
        click.echo(f"{distance}\npath none")
        return False
    except AlgebraError:
        path = "none: a sum over all paths has no single one"
    click.echo(f"{distance}\npath {path}")
    return True


def _distances(r: Result, only_row: bool, only_column: bool, u: Any, v: Any) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: the first ten vertices, or everything from u, or everything to v."""
    from ..display.output import text

    s, engine = r.semiring, r.engine
    if only_row or only_column:
        line = engine.row(r.sources.position(u)) if only_row else engine.column(r.targets.position(v))
        names = r.targets if only_row else r.sources
        return ["to" if only_row else "from", "distance"], [
            [str(name), text(x, s)] for name, x in zip(names, line, strict=True)
        ]
    k, m = (min(_SHOWN, size) for size in engine.shape)
    return _block(r, k, m)


def _block(r: Result, k: int, m: int) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the first k rows and m columns."""
    import numpy as np

    from ..display.output import text

    block = r.engine.block(np.arange(k), np.arange(m))
    return ["", *map(str, r.targets[:m])], [
        [str(name), *(text(x, r.semiring) for x in row)] for name, row in zip(r.sources[:k], block, strict=True)
    ]


def _save_reach(t: Reachability, output: Path) -> None:
    """All that answers queries, the matrix, or all pairs."""
    from ..saving.results import save_matrix, save_pairs

    if output.suffix == ".npz":
        t.save(output)
    elif output.suffix == ".npy":
        save_matrix(t.to_bool(), t.labels, output)
    else:
        save_pairs(((i, t.matrix.indices(i).tolist()) for i in range(t.n)), t.labels, output)


def _sizes(sizes: str | None, from_n: int | None, to_n: int | None) -> list[int]:
    """The sizes listed, or those that double from one end to the other."""
    if sizes is not None:
        try:
            found = [int(part) for part in sizes.split(",")]
        except ValueError:
            found = []
        if not found or min(found) < 1 or from_n is not None or to_n is not None:
            raise click.UsageError(
                f"compare: --sizes must be numbers such as 128,256,512, on their own, got {sizes!r}."
            )
        return found
    if from_n is None and to_n is None:
        return [128, 256, 512]
    low, high = from_n or min(128, to_n or 128), to_n or max(512, from_n or 512)
    if low > high:
        raise click.UsageError(f"compare: --from-n must not exceed --to-n, got {low} and {high}.")
    found = [low]
    while found[-1] * 2 < high:
        found.append(found[-1] * 2)
    return [*found, high] if found[-1] < high else found


def _whole(weight: float) -> float:
    """An integer where it is one, so that integer weights stay integers."""
    import math

    if not math.isfinite(weight):
        raise ValueError(f"generate: --weight must be a finite number, got {weight}. An edge of weight inf is none.")
    return int(weight) if weight.is_integer() and abs(weight) < 2**63 else weight
