"""Pictures of distances and paths, by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from semiring.host.lazy import optional
from semiring.host.types import Axes, Label
from semiring.stores.files import writing

from ...io.saving import check_output

#: File types of pictures.
PICTURES = (".png", ".svg", ".pdf")
#: Maximum number of vertices named on an axis or map.
_NAMED = 30
#: Maximum number of edges drawn.
_EDGES = 1_000_000
#: Colours that stay apart in grey print and for the colour-blind (Okabe and Ito 2008): what matters, what does not.
VERMILION, SKY, LIGHT = "#d55e00", "#56b4e9", "0.8"


@contextmanager
def canvas(
    ax: Axes, save: str | Path | None, *, size: tuple[float, float] = (6.5, 5.5), dpi: int = 150,
    panels: tuple[int, int] = (1, 1),
) -> Iterator[Any]:  # fmt: skip
    """Axes, saved to the file `save` at the end; an unwritable file is refused before drawing.

    By default new ones, the first of `panels` (rows, columns) of a figure.
    """
    if save is not None:
        check_output(save, PICTURES)
    pyplot, drawn = (optional(f"matplotlib.{x}", "plot: matplotlib is required") for x in ("pyplot", "figure"))
    if ax is None:
        shape: Any = {"figsize": size, "layout": "constrained"}
        # A figure only saved avoids pyplot, which would keep and show it.
        ax = (drawn.Figure(**shape) if save is not None else pyplot.figure(**shape)).add_subplot(*panels, 1)
    yield ax
    if save is not None:
        with writing(save) as file:
            ax.figure.savefig(file, dpi=dpi, format=Path(save).suffix.removeprefix(".").lower())


def palette(*, reverse: bool = False) -> Any:
    """Matplotlib's viridis without its lightest end, which is lost on paper: darker is less, or more."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    colours = colormaps["viridis"](np.linspace(0, 0.93, 256))
    return ListedColormap(colours[::-1] if reverse else colours)


def image(ax: Axes, values: np.ndarray, labels: Sequence[Label], steps: Sequence[int], title: str, label: str) -> None:
    """Draw a matrix, no path blank; for `steps` (vertices of a path) the entries i → j are marked."""
    shown = np.where(np.isfinite(values), values, np.nan)
    drawn = ax.imshow(shown, interpolation="nearest" if len(labels) <= 1000 else "antialiased", cmap=palette())
    ax.figure.colorbar(drawn, ax=ax, label=label)
    if len(labels) <= _NAMED:
        names = [str(label) for label in labels]
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
    if len(steps) > 1:
        tails, heads = zip(*pairwise(steps), strict=True)
        ax.scatter(heads, tails, marker="o", facecolors="none", edgecolors=VERMILION, label="path")
    ax.set_xlabel("to")
    ax.set_ylabel("from")
    ax.set_title(title)


def network(
    ax: Axes, xy: np.ndarray, edges: tuple[np.ndarray, np.ndarray], labels: Mapping[int, Label], steps: Sequence[int],
    title: str, values: tuple[str, np.ndarray] | None = None, carried: tuple[str, np.ndarray] | None = None,
) -> None:  # fmt: skip
    """Draw vertices at `xy` (n, 2) unless NaN, edges, and a path over them.

    `values` are the label of the colour bar and a number per vertex, grey if not finite; `carried` the same per edge,
    for colour and width. Degrees, and the millionths of DIMACS's files, have the aspect of their latitude.
    """
    from matplotlib.collections import LineCollection

    tails, heads = edges
    placed = np.isfinite(xy).all(axis=1)
    drawn = placed[tails] & placed[heads]
    tails, heads = tails[drawn][:_EDGES], heads[drawn][:_EDGES]
    grey = LIGHT if carried is None else None  # an explicit colour would override those of `carried`
    lines = LineCollection(list(np.stack([xy[tails], xy[heads]], axis=1)), colors=grey, linewidths=0.8, zorder=1)
    ax.add_collection(lines)
    if carried is not None:
        amount = np.nan_to_num(carried[1][drawn][:_EDGES])
        wide = 0.4 + 4 * np.abs(amount) / (np.abs(amount).max(initial=0) or 1)
        lines.set(array=amount, cmap=palette(reverse=True), linewidths=wide)
        ax.figure.colorbar(lines, ax=ax, label=carried[0])
    if values is not None:
        label, numbers = values
        size, seen = 12 if len(xy) <= 1000 else 3, placed & np.isfinite(numbers)
        ax.scatter(*xy[placed & ~seen].T, s=size, color="0.7", zorder=2)
        coloured = ax.scatter(*xy[seen].T, s=size, c=numbers[seen], cmap=palette(), zorder=2)
        ax.figure.colorbar(coloured, ax=ax, label=label)
    elif len(xy) <= 1000:
        ax.scatter(xy[:, 0], xy[:, 1], s=12, color="0.5", zorder=2)
    if len(steps):
        ends = [0, len(steps) - 1]
        ax.plot(*xy[list(steps)].T, color=VERMILION, lw=2.5, marker="o", markevery=ends, zorder=3, label="path")
    for vertex, name in list(labels.items())[:_NAMED]:
        if placed[vertex]:
            ax.annotate(str(name), xy[vertex], xytext=(3, 3), textcoords="offset points")
    ax.autoscale()
    ax.set(xticks=[], yticks=[], frame_on=False)
    ax.set_aspect(_aspect(xy[placed]), adjustable="datalim")
    ax.set_title(title)


def _aspect(xy: np.ndarray) -> float:
    """Aspect ratio 1 / cos φ at the middle latitude, of degrees or millionths of them; 1 for metres."""
    x, y = np.abs(xy).max(axis=0, initial=0)
    unit = 1 if x <= 180 and y <= 90 else 1e6
    if not len(xy) or x > 180 * unit or y > 90 * unit:
        return 1.0
    return float(1 / max(np.cos(np.radians((xy[:, 1].min() + xy[:, 1].max()) / 2 / unit)), 0.01))


def gantt(ax: Axes, tasks: Sequence[Any], start: np.ndarray, last: np.ndarray, long: np.ndarray, unit: str) -> int:
    """A bar per task from its start, critical ones orange, with slack in grey; the number of critical tasks."""
    row, lasts = np.arange(len(tasks)), long > 0
    critical = last <= start
    late = lasts & ~critical
    bars = (
        (late, start + long, last - start, 0.25, LIGHT, "slack"),
        (late, start, long, 0.6, SKY, "task"),
        (lasts & critical, start, long, 0.6, VERMILION, "critical"),
    )
    for which, left, width, height, colour, label in bars:
        if which.any():
            ax.barh(row[which], width[which], left=left[which], height=height, color=colour, label=label)
    ax.scatter(start[~lasts], row[~lasts], marker="D", color=np.where(critical, VERMILION, SKY)[~lasts], zorder=3)
    if len(tasks) <= 2 * _NAMED:
        ax.set_yticks(row, [str(task) for task in tasks])
    ax.invert_yaxis()
    ax.set_xlabel(unit or "time")
    ax.spines[["top", "right"]].set_visible(False)
    if lasts.any():
        ax.legend(loc="lower left")
    return int(critical.sum())
