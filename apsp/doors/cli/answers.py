"""Output of commands: distances, paths, tables, and a summary line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semiring.host.errors import AlgebraError, NoPathError
from semiring.host.escaping import one_line
from semiring.host.types import Fields, Label

from ...io.display.terminal import Meter
from .reporting import number, quiet, report, report_table

if TYPE_CHECKING:
    import numpy as np

    from ...answers.result import Result
    from ...io.graph import Graph
    from ...io.saving.base import StrPath

SHOWN = 10


def no_progress(done: int, total: int) -> None:
    """A callback without output, which suppresses warnings of long work."""


def summary(graph: Graph, seconds: float, rate: float | None = None, **how: Any) -> None:
    """Print how an answer was found, unless answers alone are wanted."""
    if quiet():
        return
    facts: Fields = {"n": graph.n, "edges": graph.edge_count, **how, "seconds": float(f"{seconds:.3g}")}
    facts |= {} if rate is None else {"rate": float(f"{rate:.3g}")}
    shown = (f"{name}={x:.3g}" if isinstance(x, float) else f"{name}={x}" for name, x in facts.items())
    report(" ".join(shown), **facts)


def how(r: Result) -> Fields:
    """How a result was computed, for the summary."""
    plan = r.plan
    return {"semiring": r.semiring.name, "dtype": r.dtype.name, "schedule": plan.schedule, "device": plan.device}


def print_path(r: Result, u: Label, v: Label) -> bool:
    """Print distance and path; returns whether there is a path."""
    ((distance, *quantities),) = _told(r, [(u, v)])
    found, shown = None, "none"
    try:
        found = list(map(str, r.path(u, v)))
        shown = one_line(" -> ".join(found))
    except NoPathError:
        pass
    except AlgebraError:
        shown = "none: a sum over all paths has no single one"
    told = dict(zip(_along(r), quantities, strict=True))
    lines = [f"{name} {value}" for name, value in {"distance": distance, **told, "path": shown}.items()]
    report(
        "\n".join(map(one_line, lines)),
        distance=number(distance),
        **{x: number(y) for x, y in told.items()},
        path=found,
    )
    return shown != "none"


def _along(r: Result) -> list[str]:
    return [] if r.along is None else list(map(str, r.along.quantities))


def _told(r: Result, pairs: list[tuple[Label, Label]]) -> list[tuple[str, ...]]:
    """The distance of each pair and the quantities along its path, with all digits: 0.1 of a float32."""
    from ...io.display.output import text

    i, j = (names.positions([pair[k] for pair in pairs]) for k, names in enumerate((r.sources, r.targets)))
    every = [r, *map(r._of, r.along.quantities if r.along else ())]
    columns = ([text(x, one.semiring) for x in one.engine.entries(i, j)] for one in every)
    return list(zip(*columns, strict=True))


def _digits(x: np.integer | np.floating) -> str:
    """All digits of a NumPy scalar, without a point if integral (floats below 2⁵³)."""
    integral = x.dtype.kind in "iu" or (x.dtype.kind == "f" and abs(x) < 2**53 and x == int(x))
    return str(int(x)) if integral else str(x)


def distances(r: Result, u: Label, v: Label) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: between the first ten vertices, or from u to all, or from all to v."""
    from ...io.display.output import text

    s, engine = r.semiring, r.engine
    if u is not None or v is not None:
        line = engine.column(r.targets.position(v)) if u is None else engine.row(r.sources.position(u))
        names = r.sources if u is None else r.targets
        return ["from" if u is None else "to", "distance"], [
            [str(name), text(x, s)] for name, x in zip(names, line, strict=True)
        ]
    return block(r, SHOWN)


def block(r: Result, count: int) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the first rows and columns."""
    return ["", *map(str, r.targets[:count])], r._texts(count)


def require_one(reduction: str | None, nearest: Path | None, pairs: Path | None, ends: tuple[Label, Label]) -> None:
    """Refuse several of these exclusive options."""
    options = {
        "--reduce": reduction,
        "--nearest": nearest,
        "--paths": pairs,
        "--from or --to": None if ends == (None, None) else ends,
    }
    if len(given := [name for name, value in options.items() if value is not None]) > 1:
        command = click.get_current_context().info_name
        raise click.UsageError(f"{command}: give one of {', '.join(options)}, got {' and '.join(given)}.")


def print_by_vertex(r: Result, wanted: list[Label] | None, reduction: str | None, output: StrPath | None) -> None:
    """Print by vertex the nearest vertex or a number, or write all to a file and print the first."""
    if wanted is not None:
        found = r.nearest(wanted)
        told = zip(found.vertices, found.source, found.distance, strict=True)
        lines = [[str(v), "none" if u is None else str(u), _digits(x)] for v, u, x in told]
        print_lines(["vertex", "nearest", "distance"], lines, output, "vertices")
        return
    assert reduction is not None
    with Meter(reduction, quiet=quiet()) as meter:
        values = r.reduce(reduction, callback=meter.callback or no_progress)
    columns = len(values) == r.engine.shape[1] and reduction in ("closeness", "harmonic")
    lines = [[str(v), _digits(x)] for v, x in zip(r.targets if columns else r.sources, values, strict=True)]
    print_lines(["vertex", reduction], lines, output, "vertices")


def print_lines(headings: list[str], lines: list[list[str]], output: StrPath | None, what: str) -> None:
    """Print a table with a numeric last column, or write it to a file and print the first lines."""
    if output is None:
        report_table(headings, lines, right=[len(headings) - 1])
        return
    from ...io.saving.csv import save_lines

    save_lines(headings, lines, output)
    report_table(headings, lines[:SHOWN], right=[len(headings) - 1])
    if len(lines) > SHOWN and not quiet():
        report(f"(the first {SHOWN} of {len(lines)} {what})", of=len(lines))


def print_answer(
    r: Result, ends: tuple[Label, Label], pairs: list[tuple[Label, Label]] | None, *, all_listed: bool
) -> bool:
    """Print paths of pairs, one path, or a table; returns whether there is a path."""
    if pairs is not None:
        told = zip(pairs, _told(r, pairs), r.paths(pairs), strict=True)
        lines = [[str(u), str(v), *cells, list(map(str, path))] for (u, v), cells, path in told]
        report_table(["from", "to", "distance", *_along(r), "path"], lines, right=range(2, 3 + len(_along(r))))
    elif None not in ends:
        return print_path(r, *ends)
    elif all_listed and ends == (None, None):
        report_table(*block(r, max(r.engine.shape)), right=range(1, r.engine.shape[1] + 1))
    else:
        report_table(*distances(r, *ends), right=range(1, SHOWN + 1))
        if max(r.engine.shape) > SHOWN and ends == (None, None) and not quiet():
            report(f"(the first {SHOWN} of {max(r.engine.shape)} vertices)", of=max(r.engine.shape))
    return True
