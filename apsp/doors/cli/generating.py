"""`apsp generate` and `apsp convert`: graphs into files."""

from __future__ import annotations

import math
from typing import Any

import click

from semiring.host.types import Fields

from . import graphs
from .choices import FORMAT, OUTPUT_FORMAT
from .options import OUTPUT, SOURCE, columns, combined


@click.group()
def generate() -> None:
    """Make a graph and write it to a file."""


_output_options = combined(
    click.option(
        "--output", type=OUTPUT, required=True, help="The file, - for standard output; its suffix says the format."
    ),
    click.option("--format", type=OUTPUT_FORMAT, help="The format, where the suffix does not say."),
)


@generate.command("cycle")
@click.argument("n", type=click.IntRange(min=0))
@click.option("--undirected", is_flag=True, help="Edges lead both ways.")
@click.option("--weight", type=float, default=1.0, show_default=True, help="Of every edge.")
@_output_options
def generate_cycle(n: int, undirected: bool, weight: float, **output: Any) -> None:
    """The cycle through N vertices."""
    from ...generate import cycle

    graphs.write(lambda: cycle(n, directed=not undirected, weight=_as_integer(weight)), **output)


@generate.command("random")
@click.argument("n", type=click.IntRange(min=0))
@click.option("--density", type=float, default=10.0, show_default=True, help="Percent of the possible edges.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same graph.")
@click.option("--weights", type=(float, float), default=(1, 100), show_default=True, help="Least and greatest weight.")
@click.option("--real", is_flag=True, help="Real weights instead of integers.")
@click.option("--undirected", is_flag=True, help="Edges lead both ways.")
@_output_options
def generate_random(
    n: int,
    density: float,
    seed: int,
    weights: tuple[float, float],
    real: bool,
    undirected: bool,
    **output: Any,
) -> None:
    """N vertices with random edges."""
    from ...generate import random_graph

    options: Fields = {"integer": not real, "directed": not undirected}
    graphs.write(lambda: random_graph(n, density, seed=seed, weights=weights, **options), **output)


@generate.command("grid")
@click.argument("rows", type=click.IntRange(min=0))
@click.argument("cols", type=click.IntRange(min=0))
@click.option("--weight", type=float, default=1.0, show_default=True, help="Of every edge.")
@_output_options
def generate_grid(rows: int, cols: int, weight: float, **output: Any) -> None:
    """ROWS by COLS vertices, neighbours joined both ways."""
    from ...generate import grid

    graphs.write(lambda: grid(rows, cols, weight=_as_integer(weight)), **output)


@generate.command("roads")
@click.argument("n", type=click.IntRange(min=0))
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same graph.")
@_output_options
def generate_roads(n: int, seed: int, **output: Any) -> None:
    """N crossings of a map, joined as roads are; weights are metres."""
    from ...generate import road_like

    graphs.write(lambda: road_like(n, seed=seed), **output)


@click.command()
@click.argument("source", metavar="IN", type=SOURCE)
@click.argument("target", metavar="OUT", type=OUTPUT)
@click.option("--from-format", "--format", "from_format", type=FORMAT, metavar="NAME", help="The format of IN.")
@click.option("--to-format", type=OUTPUT_FORMAT, help="The format of OUT, where its suffix does not say.")
@combined(*columns)
def convert(source: str, target: str, from_format: str | None, to_format: str | None, **options: Any) -> None:
    """Read the graph in the file IN and write it to the file OUT."""
    graphs.write(lambda: graphs.read(source, {"format": from_format, **options}), target, to_format)


def _as_integer(weight: float) -> float:
    """The weight as int if integral; ValueError if not finite."""
    if not math.isfinite(weight):
        raise ValueError(f"generate: --weight must be a finite number, got {weight}. An edge of weight inf is none.")
    return int(weight) if weight.is_integer() and abs(weight) < 2**63 else weight
