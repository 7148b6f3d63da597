"""Pictures of distances and paths, by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from semiring.files import writing

from ..saving import check_output

#: File types of pictures.
PICTURES = (".png", ".svg", ".pdf")
#: Maximum number of vertices named on an axis or map.
_NAMED = 30
#: Maximum number of edges drawn.
_EDGES = 1_000_000


@contextmanager
def canvas(
    ax: Any, save: str | Path | None, *, size: tuple[float, float] = (6.5, 5.5), dpi: int = 150
) -> Iterator[Any]:
    """Axes (new by default), saved to the file `save` at the end; an unwritable file is refused before drawing."""
    if save is not None:
        check_output(save, PICTURES)
    try:
        import matplotlib.pyplot
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot: matplotlib is required. Install it: `pip install matplotlib`.") from None
    if ax is None:
        shape: Any = {"figsize": size, "layout": "constrained"}
        # A figure only saved avoids pyplot, which would keep and show it.
        ax = Figure(**shape).add_subplot() if save is not None else matplotlib.pyplot.figure(**shape).add_subplot()
    yield ax
    if save is not None:
        with writing(save) as file:
            ax.figure.savefig(file, dpi=dpi, format=Path(save).suffix.removeprefix(".").lower())


def image(ax: Any, values: np.ndarray, labels: Sequence[Any], steps: Sequence[int], title: str) -> None:
    """Draw a matrix, no path blank; for `steps` (vertices of a path) the entries i → j are marked."""
    shown = np.where(np.isfinite(values), values, np.nan)
    drawn = ax.imshow(shown, interpolation="nearest" if len(labels) <= 1000 else "antialiased")
    ax.figure.colorbar(drawn, ax=ax, label="distance")
    if len(labels) <= _NAMED:
        names = [str(label) for label in labels]
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
    if len(steps) > 1:
        tails, heads = zip(*pairwise(steps), strict=True)
        ax.scatter(heads, tails, marker="o", facecolors="none", edgecolors="C3", label="path")
    ax.set_xlabel("to")
    ax.set_ylabel("from")
    ax.set_title(title)


def network(
    ax: Any,
    xy: np.ndarray,
    edges: tuple[np.ndarray, np.ndarray],
    labels: Mapping[int, Any],
    steps: Sequence[int],
    title: str,
    values: tuple[str, np.ndarray] | None = None,
    carried: np.ndarray | None = None,
) -> None:
    """Draw vertices at `xy` (n, 2) unless NaN, edges, and a path over them.

    `values` are the label of the colour bar and a number per vertex, grey if not finite. `carried` is a number per
    edge, for colour and width.
    """
    from matplotlib.collections import LineCollection

    tails, heads = edges
    placed = np.isfinite(xy).all(axis=1)
    drawn = placed[tails] & placed[heads]
    tails, heads = tails[drawn][:_EDGES], heads[drawn][:_EDGES]
    grey = "0.8" if carried is None else None  # an explicit colour would override those of `carried`
    lines = LineCollection(list(np.stack([xy[tails], xy[heads]], axis=1)), colors=grey, linewidths=0.8, zorder=1)
    ax.add_collection(lines)
    if carried is not None:
        amount = np.nan_to_num(carried[drawn][:_EDGES])
        lines.set(
            array=amount, cmap="inferno_r", linewidths=0.4 + 4 * np.abs(amount) / (np.abs(amount).max(initial=0) or 1)
        )
        ax.figure.colorbar(lines, ax=ax, label="carried by an edge")
    if values is not None:
        label, numbers = values
        size, seen = 12 if len(xy) <= 1000 else 3, placed & np.isfinite(numbers)
        ax.scatter(*xy[placed & ~seen].T, s=size, color="0.7", zorder=2)
        coloured = ax.scatter(*xy[seen].T, s=size, c=numbers[seen], cmap="viridis", zorder=2)
        ax.figure.colorbar(coloured, ax=ax, label=label)
    elif len(xy) <= 1000:
        ax.scatter(xy[:, 0], xy[:, 1], s=12, color="0.5", zorder=2)
    if len(steps):
        ax.plot(*xy[list(steps)].T, color="C3", marker="o", markersize=4, zorder=3, label="path")
    for vertex, name in list(labels.items())[:_NAMED]:
        if placed[vertex]:
            ax.annotate(str(name), xy[vertex], xytext=(3, 3), textcoords="offset points")
    ax.autoscale()
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(title)


def gantt(ax: Any, tasks: Sequence[Any], start: np.ndarray, last: np.ndarray, long: np.ndarray, unit: str) -> None:
    """A bar per task from its start, critical ones red, with slack in grey."""
    row, lasts = np.arange(len(tasks)), long > 0
    critical = last - start <= 1e-9 * last.max(initial=0)  # float slack within rounding
    late = lasts & ~critical
    bars = (
        (late, start + long, last - start, 0.25, "0.8", "slack"),
        (late, start, long, 0.6, "C0", "task"),
        (lasts & critical, start, long, 0.6, "C3", "critical"),
    )
    for which, left, width, height, colour, label in bars:
        if which.any():
            ax.barh(row[which], width[which], left=left[which], height=height, color=colour, label=label)
    ax.scatter(start[~lasts], row[~lasts], marker="D", color=np.where(critical, "C3", "C0")[~lasts], zorder=3)
    if len(tasks) <= 2 * _NAMED:
        ax.set_yticks(row, [str(task) for task in tasks])
    ax.invert_yaxis()
    ax.set_xlabel(unit or "time")
    if lasts.any():
        ax.legend(loc="lower left")
