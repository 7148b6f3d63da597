"""What commands print: distances, paths, tables of them, and a line that sums up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from semiring.escaping import one_line
from semiring.types import Label

from ..display.terminal import Meter, show_table

if TYPE_CHECKING:
    from pathlib import Path

    from semiring.observed import Callback

    from ..graph import Graph
    from ..result import Result

SHOWN = 10


def quiet() -> bool:
    return bool(click.get_current_context().obj)


def unseen(done: int, total: int) -> None:
    """A callback that shows nothing; where there is one, no warning says that the work will take long."""


def summary(graph: Graph, what: str, seconds: float, rate: float | None = None) -> None:
    speed = "" if rate is None else f" rate={rate:.3g}"
    click.echo(f"n={graph.n} edges={graph.edge_count} {what} seconds={seconds:.3g}{speed}")


def print_path(r: Result, u: Label, v: Label) -> bool:
    """Distance and path; False where there is no path."""
    from semiring.errors import AlgebraError, NoPathError

    from ..display.output import text

    # In the digits of its own dtype: 0.1, not 0.10000000149 for a float32.
    distance = f"distance {text(r.engine.entry(r.sources.position(u), r.targets.position(v)), r.semiring)}"
    try:
        path = one_line(" -> ".join(map(str, r.path(u, v))))
    except NoPathError:
        click.echo(f"{distance}\npath none")
        return False
    except AlgebraError:
        path = "none: a sum over all paths has no single one"
    click.echo(f"{distance}\npath {path}")
    return True


def paths(r: Result, pairs: list[tuple[Any, Any]]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: both ends, the distance, and the path."""
    from ..display.output import text

    distances = [text(r.engine.entry(r.sources.position(u), r.targets.position(v)), r.semiring) for u, v in pairs]
    found = (" -> ".join(map(str, path)) or "none" for path in r.paths(pairs))
    lines = [[str(u), str(v), d, path] for (u, v), d, path in zip(pairs, distances, found, strict=True)]
    return ["from", "to", "distance", "path"], lines


def nearest(r: Result, wanted: list[Any]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: every vertex, which of those wanted is nearest, and how far."""
    found = r.nearest(wanted)
    return ["vertex", "nearest", "distance"], [
        [str(v), "none" if u is None else str(u), _written(x)]
        for v, u, x in zip(found.vertices, found.source, found.distance, strict=True)
    ]


def reduced(r: Result, name: str, callback: Callback | None) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: every vertex and a number."""
    found = r.reduce(name, callback=callback)
    columns = len(found) == r.engine.shape[1] and name in ("closeness", "harmonic")
    names = r.targets if columns else r.sources
    return ["vertex", name], [[str(v), _written(x)] for v, x in zip(names, found, strict=True)]


def _written(x: Any) -> str:
    """A number, a NumPy scalar, with all its digits, and no point where it is known to be whole."""
    whole = x.dtype.kind in "iu" or (
        x.dtype.kind == "f" and abs(x) < 2**53 and x == int(x)
    )  # beyond, floats are rounded
    return str(int(x)) if whole else str(x)


def distances(r: Result, u: Label, v: Label) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: the first ten vertices, or everything from u, or everything to v."""
    from ..display.output import text

    s, engine = r.semiring, r.engine
    if u is not None or v is not None:
        line = engine.column(r.targets.position(v)) if u is None else engine.row(r.sources.position(u))
        names = r.sources if u is None else r.targets
        return ["from" if u is None else "to", "distance"], [
            [str(name), text(x, s)] for name, x in zip(names, line, strict=True)
        ]
    k, m = (min(SHOWN, size) for size in engine.shape)
    return block(r, k, m)


def block(r: Result, k: int, m: int) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the first k rows and m columns."""
    import numpy as np

    from ..display.output import text

    block = r.engine.block(np.arange(k), np.arange(m))
    return ["", *map(str, r.targets[:m])], [
        [str(name), *(text(x, r.semiring) for x in row)] for name, row in zip(r.sources[:k], block, strict=True)
    ]


def require_one(reduction: str | None, nearest: Path | None, pairs: Path | None, ends: tuple[Any, Any]) -> None:
    """Refuse several questions: one of them alone would be answered."""
    asked = {
        "--reduce": reduction,
        "--nearest": nearest,
        "--paths": pairs,
        "--from or --to": None if ends == (None, None) else ends,
    }
    if len(given := [name for name, value in asked.items() if value is not None]) > 1:
        raise click.UsageError(
            f"{click.get_current_context().info_name}: give one of {', '.join(asked)}, got {' and '.join(given)}."
        )


def tell_each(r: Result, wanted: Any, reduction: str | None, output: str | None) -> None:
    """The nearest, or a number a vertex: shown, or written."""
    if wanted is not None:
        headings, lines = nearest(r, wanted)
    else:
        assert reduction is not None
        with Meter(reduction, quiet=quiet()) as meter:
            headings, lines = reduced(r, reduction, meter.callback or unseen)
    if output is None:
        show_table(headings, lines, right=[len(headings) - 1])
        return
    from ..saving.csv import save_lines

    save_lines(headings, lines, output)
    show_table(headings, lines[:SHOWN], right=[len(headings) - 1])
    if len(lines) > SHOWN and not quiet():
        click.echo(f"(the first {SHOWN} of {len(lines)} vertices)")


def tell(r: Result, ends: tuple[Any, Any], walked: Any, listed: bool) -> bool:
    """What was asked for: paths, one path, or a table. False where there is no path."""
    if walked is not None:
        show_table(*paths(r, walked), right=[2])
    elif None not in ends:
        return print_path(r, *ends)
    elif listed and ends == (None, None):
        show_table(*block(r, *r.engine.shape), right=range(1, r.engine.shape[1] + 1))
    else:
        show_table(*distances(r, *ends), right=range(1, SHOWN + 1))
        if max(r.engine.shape) > SHOWN and ends == (None, None) and not quiet():
            click.echo(f"(the first {SHOWN} of {max(r.engine.shape)} vertices)")
    return True
