"""Draw the pictures of `how-it-works.md`, after figures of the papers that it names: `python docs/pictures/how.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

PICTURES = Path(__file__).parent
PIVOT, PANEL, REST = "#b2182b", "#f4a582", "#d1e5f0"


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A ⊗ B over (min, +)."""
    return (A[:, :, None] + B[None]).min(axis=1)


def star(A: np.ndarray, seen: Callable[[str, tuple[slice, slice]], None], depth: int = 0) -> None:
    """A ← A* by R-Kleene, with a call of `seen` after each step of the outermost level."""
    n = len(A)
    if n == 1:
        A[0, 0] = min(A[0, 0], 0)
        return
    h = n // 2
    low, high = slice(0, h), slice(h, n)

    def done(text: str, rows: slice, cols: slice) -> None:
        if depth == 0:
            seen(text, (rows, cols))

    for a, b in ((low, high), (high, low)):
        one, two = (1, 2) if a == low else (2, 1)
        star(A[a, a], seen, depth=depth + 1)
        done(f"A{one}{one} ← A{one}{one}*", a, a)
        A[a, b] = product(A[a, a], A[a, b])
        done(f"A{one}{two} ← A{one}{one} A{one}{two}", a, b)
        A[b, b] = np.minimum(A[b, b], product(A[b, a], A[a, b]))
        done(f"A{two}{two} ← A{two}{two} ⊕ A{two}{one} A{one}{two}", b, b)
        A[b, a] = product(A[b, a], A[a, a])
        done(f"A{two}{one} ← A{two}{one} A{one}{one}", b, a)


def kleene() -> Figure:
    """The matrix of a small graph after each step of R-Kleene's outermost level."""
    n, rng = 16, np.random.default_rng(3)
    A = np.where(rng.random((n, n)) < 0.16, rng.integers(1, 10, (n, n)).astype(float), np.inf)
    A[np.arange(n), np.roll(np.arange(n), -1)] = 9  # a ring, so that all is reached
    strip = [("A", None, A.copy())]
    star(A, lambda text, where: strip.append((text, where, A.copy())))
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    axes = figure.subplots(2, 5).ravel()
    for ax, (text, where, state) in zip(axes, strip, strict=False):
        ax.imshow(np.where(np.isfinite(state), state, np.nan), cmap="viridis_r", vmin=0, vmax=40)
        if where is not None:
            rows, cols = where
            corner, size = (cols.start - 0.5, rows.start - 0.5), (cols.stop - cols.start, rows.stop - rows.start)
            ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor=PIVOT, linewidth=2.5))
        ax.axhline(7.5, color="white", linewidth=1)
        ax.axvline(7.5, color="white", linewidth=1)
        ax.set(title=text, xticks=[], yticks=[])
    axes[-1].axis("off")
    return figure


def blocked() -> Figure:
    """The three phases of the blocked schedule, for the third of six pivot blocks."""
    figure = Figure(figsize=(8, 3.1), layout="constrained")
    titles = ("1. the pivot block closes", "2. its row and column", "3. all other blocks")
    for phase, ax in enumerate(figure.subplots(1, 3)):
        for i in range(6):
            for j in range(6):
                kind = (i != 2) + (j != 2)
                colour = (PIVOT, PANEL, REST)[kind] if kind <= phase else "white"
                edge = {"facecolor": colour, "edgecolor": "0.6"}
                ax.add_patch(Rectangle((j, i), 1, 1, **edge))
        ax.set(xlim=(-0.05, 6.05), ylim=(6.05, -0.05), aspect="equal", xticks=[], yticks=[], title=titles[phase])
    return figure


def dissected(rows: range, cols: range, level: int = 0) -> Iterator[tuple[int, tuple[int, int]]]:
    """(level, vertex) of a grid in an order of elimination: both halves before the line between them."""
    if len(rows) <= 1 and len(cols) <= 1:
        yield from ((level, (i, j)) for i in rows for j in cols)
        return
    if len(rows) >= len(cols):
        middle = rows[len(rows) // 2]
        halves = (range(rows.start, middle), cols), (range(middle + 1, rows.stop), cols)
        line = [(middle, j) for j in cols]
    else:
        middle = cols[len(cols) // 2]
        halves = (rows, range(cols.start, middle)), (rows, range(middle + 1, cols.stop))
        line = [(i, middle) for i in rows]
    for part in halves:
        if len(part[0]) and len(part[1]):
            yield from dissected(*part, level + 1)
    yield from ((level, vertex) for vertex in line)


def eliminated() -> Figure:
    """A grid in the order of nested dissection; its matrix with what elimination fills in; its elimination tree."""
    size = 15
    order = list(dissected(range(size), range(size)))
    place = {vertex: k for k, (_, vertex) in enumerate(order)}
    n = len(order)
    near: list[set[int]] = [set() for _ in range(n)]
    for (i, j), k in place.items():
        for other in ((i + 1, j), (i, j + 1)):
            if other in place:
                near[k].add(place[other])
                near[place[other]].add(k)
    arcs = {(k, other) for k in range(n) for other in near[k]}
    parent = [n] * n
    for k in range(n):
        later = {other for other in near[k] if other > k}
        for other in later:
            near[other] |= later - {other}
        parent[k] = min(later, default=n)
    filled = {(k, other) for k in range(n) for other in near[k]} - arcs
    depth = [0] * n
    for k in reversed(range(n)):
        depth[k] = 0 if parent[k] == n else depth[parent[k]] + 1
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    levels = np.zeros((size, size))
    for level, vertex in order:
        levels[vertex] = level
    left.imshow(levels, cmap="viridis")
    left.set(title="eliminated last: the lines between parts (dark)", xticks=[], yticks=[])
    for entries, colour, name in ((filled, PANEL, "filled in"), (arcs, "black", "edges")):
        across, down = zip(*entries, strict=True)
        middle.plot(down, across, "s", color=colour, markersize=1.3, label=name)
    middle.set(title="the matrix in that order", xticks=[], yticks=[], aspect="equal")
    middle.invert_yaxis()
    middle.legend(loc="upper right", markerscale=4)
    x = positions(parent)
    lines = [((x[k], -depth[k]), (x[parent[k]], -depth[parent[k]])) for k in range(n) if parent[k] < n]
    right.add_collection(LineCollection(lines, colors="0.7"))
    right.scatter(x, [-d for d in depth], s=5, color="black", zorder=2)
    for start in (0, 3 * n // 4):
        k, climbed = start, []
        while k < n:
            climbed.append(k)
            k = parent[k]
        right.plot([x[k] for k in climbed], [-depth[k] for k in climbed], color=PIVOT, linewidth=2)
    right.set(title="the tree: a pair is two climbs that meet", xticks=[], yticks=[])
    return figure


def positions(parent: list[int]) -> list[float]:
    """x of each vertex of a forest: leaves side by side, the others above the middle of their children."""
    n = len(parent)
    below: list[list[float]] = [[] for _ in range(n + 1)]
    x, leaves = [0.0] * n, 0
    for k in range(n):  # children come before their parents
        if below[k]:
            x[k] = (min(below[k]) + max(below[k])) / 2
        else:
            x[k], leaves = float(leaves), leaves + 1
        below[parent[k]].append(x[k])
    return x


FIGURES = {"kleene": kleene, "blocked": blocked, "eliminated": eliminated}

if __name__ == "__main__":
    for name, draw in FIGURES.items():
        draw().savefig(PICTURES / f"{name}.png", dpi=110)
