"""`apsp reach`: which vertices reach which others."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semiring.host.escaping import one_line
from semiring.host.types import Label

from ...io.display.terminal import Meter
from . import graphs
from .answers import summary
from .choices import SEMIRING
from .options import SOURCE, combined, computing, device, ends, engine, reading, spread, threads
from .ranks import ranks_of
from .reporting import quiet, report, report_table

if TYPE_CHECKING:
    from ...answers.reach.reachability import Reachability


@click.command()
@click.argument("file", type=SOURCE)
@ends
@combined(reading, engine, computing, device, threads, spread)
@click.option(
    "--semiring",
    type=SEMIRING,
    metavar="NAME",
    help="What weights mean: an edge of this semiring's zero is none. One of `apsp info`, or FILE.py:NAME.",
)
@click.option("--reflexive", is_flag=True, help="Every vertex reaches itself.")
@click.option("--counts", is_flag=True, help="How many vertices each vertex reaches.")
@click.option("--memory", metavar="SIZE", help="Hold it to so much memory, such as 16GiB; the rest goes to tiles/.")
@click.option(
    "--output", type=click.Path(), help="Write all answers (.npz, tiles/), all pairs (.csv), a matrix (.npy, …)."
)
def reach(file: str, source: str | None, target: str | None, counts: bool, output: str | None, **options: Any) -> bool:
    """Which vertices of the graph in FILE reach which others, by one edge or more.

    With --from and --to: yes or no, and exit code 0 or 1. With --from alone, all that it reaches; with --to alone,
    all that reach it; one label a line.
    """
    from ...answers.reach import transitive_closure
    from ...io.saving import suffix_of, suffixes

    options["gpus"] = ranks = ranks_of(options)
    graphs.check(output, (*suffixes(folders=False), ".tiles"))
    graphs.claim(output, ranks)
    graph = graphs.read(file, options)
    graphs.check_names(graph, output)
    streamed = output if output is not None and suffix_of(output) == ".tiles" else None
    u, v = graphs.parse(graph, source), graphs.parse(graph, target)
    with Meter("reachability", quiet=quiet()) as meter:
        t = transitive_closure(graph, callback=meter.callback, output=streamed, **options)
    if output is not None and streamed is None and 0 in getattr(ranks, "local_ranks", (0,)):
        _save_reach(t, Path(output))
    if counts:
        rows = [[str(label), str(count)] for label, count in zip(t.labels, t.counts().tolist(), strict=True)]
        report_table(["vertex", "reaches"], rows, right=[1])
    reached = print_reached(t, (u, v), (source, target))
    if not quiet():
        summary(graph, t.seconds, **counted(t), schedule=t.plan.schedule)
    return reached


def counted(t: Reachability) -> dict[str, int]:
    """The numbers of pairs, unless they take too long to count, and of components."""
    with suppress(ValueError):
        return {"pairs": len(t), "components": t.component_count}
    return {"components": t.component_count}


def print_reached(t: Reachability, ends: tuple[Label, Label], texts: tuple[str | None, str | None]) -> bool:
    """Print yes or no, or all labels reached from or reaching one end; False for no."""
    (u, v), (source, target) = ends, texts
    if source is not None and target is not None:
        reached = bool(t.reaches(u, v))
        report("yes" if reached else "no", reaches=reached)
        return reached
    if source is not None or target is not None:
        found = list(map(str, t.descendants(u) if source is not None else t.ancestors(v)))
        report("\n".join(map(one_line, found)) if found else None, reached=found)
    return True


def _save_reach(t: Reachability, output: Path) -> None:
    """Write all answers, the matrix, or all pairs."""
    from ...io.saving import save_matrix
    from ...io.saving.csv import save_pairs

    if output.suffix == ".npz":
        t.save(output)
    elif output.suffix == ".csv":
        save_pairs(((i, t.matrix.indices(i).tolist()) for i in range(t.n)), t.labels, output)
    else:
        save_matrix(t.to_bool(), t.labels, output)
