"""`apsp betweenness` and `apsp flows`: what best paths pass, and what a demand sends over each edge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...io.display.terminal import Meter
from . import answers, graphs
from .answers import no_progress, print_lines, summary
from .options import FILE, SOURCE, refuse_given, require_dtype, searching
from .reporting import quiet

if TYPE_CHECKING:
    import numpy as np

    from ...answers.result import Result
    from ...io.graph import Graph

_OUTPUT = click.option("--output", type=click.Path(), help="Write the table there: .csv.")


@click.command()
@click.argument("file", type=SOURCE)
@searching
@click.option("--edges", is_flag=True, help="A number an edge, and not a vertex.")
@click.option("--sample", type=click.IntRange(min=1), metavar="K", help="From K vertices drawn at random, scaled up.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the draw.")
@click.option("--endpoints", is_flag=True, help="Paths pass their ends, too.")
@click.option("--raw", is_flag=True, help="Numbers of pairs, not shares of all pairs.")
@_OUTPUT
def betweenness(
    file: str,
    edges: bool,
    sample: int | None,
    seed: int,
    endpoints: bool,
    raw: bool,
    output: str | None,
    **options: Any,
) -> None:
    """The share of best paths that pass each vertex of the graph in FILE, or each edge: NetworkX's values."""
    if edges:
        refuse_given(("endpoints",), "an edge is between the ends of every path that takes it")
    if sample is None:
        refuse_given(("seed",), "without --sample nothing is drawn")
    r = _solved(_read(file, output, options), options)
    with Meter("betweenness", quiet=quiet()) as meter:
        asked: dict[str, Any] = {"sources": sample, "seed": seed, "normalized": not raw}
        asked["callback"] = meter.callback or no_progress
        values = r.edge_betweenness(**asked) if edges else r.betweenness(**asked, endpoints=endpoints)
    if isinstance(values, dict):
        lines = [[str(v), f"{x:.12g}"] for v, x in values.items()]
        print_lines(["vertex", "betweenness"], lines, output, "vertices")
    else:
        _print_edges(r.graph, values, "betweenness", output)
    summary(r.graph, r.seconds, **answers.how(r))


@click.command()
@click.argument("file", type=SOURCE)
@click.option(
    "--demand", type=FILE, metavar="FILE", required=True, help="A .csv with the columns origin, destination, trips."
)
@searching
@click.option("--drop-unreachable", is_flag=True, help="Leave out trips between vertices without a path.")
@_OUTPUT
def flows(file: str, demand: Path, drop_unreachable: bool, output: str | None, **options: Any) -> None:
    """What each edge of the graph in FILE carries if all trips take best paths, shared alike among ties."""
    from ...io.reading.positions import read_trips

    graph = _read(file, output, options)
    trips = read_trips(demand, graph.labels)
    r = _solved(graph, options)
    with Meter("flows", quiet=quiet()) as meter:
        unreachable = "drop" if drop_unreachable else "raise"
        values = r.flows(trips, unreachable=unreachable, callback=meter.callback or no_progress)
    _print_edges(r.graph, values, "trips", output)
    summary(r.graph, r.seconds, **answers.how(r))


def _read(file: str, output: str | None, options: dict[str, Any]) -> Graph:
    require_dtype(options["semiring"], options["dtype"])
    graphs.check(output, (".csv",))
    graph = graphs.read(file, options)
    graphs.check_names(graph, output)
    return graph


def _solved(graph: Graph, options: dict[str, Any]) -> Result:
    from ...answers.result import shortest_paths

    with Meter("closure", quiet=quiet()) as meter:
        return shortest_paths(graph, callback=meter.callback, **options)


def _print_edges(graph: Graph, values: np.ndarray, what: str, output: str | None) -> None:
    """A line per edge, in graph order; for a matrix those with a flow."""
    tails, heads = (graph.rows, graph.cols) if graph.rows is not None else values.nonzero()
    numbers = values if values.ndim == 1 else values[tails, heads]
    names = graph.labels
    lines = [
        [str(names[u]), str(names[v]), f"{x:.12g}"]
        for u, v, x in zip(tails.tolist(), heads.tolist(), numbers.tolist(), strict=True)  # type: ignore[union-attr]
    ]
    print_lines(["from", "to", what], lines, output, "edges")
