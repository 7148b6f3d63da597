"""A comparison as a table of text, and as a plot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semiring.host.spelling import came

from ..answers.result.drawing import canvas
from ..io.display.terminal import aligned

if TYPE_CHECKING:
    from .records import Comparison, Row

#: Numeric columns: n, seconds, rate and speed-up.
_NUMBERS = (3, 4, 5, 6)
#: Quantities to draw, and axis labels.
QUANTITIES = {"seconds": "seconds", "rate": "pairs a second", "pairs_per_joule": "pairs per joule"}


def table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    headings = ["schedule", "device", "with", "n", "seconds", "G pairs/s", "speed-up", "same"]
    cells = [_cells(row) for row in comparison.rows]
    for heading, cell in _MORE.items():
        column = [cell(row) for row in comparison.rows]
        if any(column):
            headings.append(heading)
            cells = [[*line, text or "-"] for line, text in zip(cells, column, strict=True)]
    return [*headings, "phases"], [[*line, _phases(row)] for line, row in zip(cells, comparison.rows, strict=True)]


def text(comparison: Comparison) -> str:
    """The aligned table with title and notes."""
    headings, cells = table(comparison)
    lines = aligned([headings, *cells], (*_NUMBERS, *range(8, len(headings) - 1)))
    title = f"closure over {comparison.semiring} in {comparison.dtype}"
    return "\n".join([title, *lines, *comparison.notes()])


def plot(comparison: Comparison, ax: Any, quantity: str, *, save: str | Path | None, dpi: int) -> Any:
    if quantity not in QUANTITIES:
        raise ValueError(f"plot: quantity must be one of {', '.join(QUANTITIES)}, got {came(quantity)}.")
    with canvas(ax, save, size=(8, 5.5), dpi=dpi) as axes:
        for contender in dict.fromkeys(row.contender for row in comparison.rows):
            points = [
                (r.n, getattr(r, quantity))
                for r in comparison.rows
                if r.contender == contender and getattr(r, quantity)
            ]
            if points:
                style = "-" if contender.device == "cuda" else "--"
                color = f"C{sum(line.get_linestyle() == style for line in axes.lines)}"
                axes.loglog(*zip(*points, strict=True), style, color=color, marker="o", label=contender.name)
        axes.set_xlabel("vertices n")
        axes.set_ylabel(QUANTITIES[quantity])
        axes.set_title(f"closure over {comparison.semiring} in {comparison.dtype}")
        axes.grid(True, which="both", alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small")
    return axes


#: Columns shown only if some row has them.
_MORE: dict[str, Callable[[Row], str]] = {
    "E = S/p": lambda row: f"{row.efficiency:.2f}" if row.efficiency else "",
    "with copies": lambda row: f"{row.seconds + row.transfer:.3g}" if row.seconds and row.transfer else "",
    "over steps": lambda row: f"{row.gain:.1f}" if row.gain else "",
    "of ceiling": lambda row: f"{row.fraction:.1%}" if row.fraction else "",
    "GB moved": lambda row: f"{row.moved / 1e9:.3g}" if row.moved else "",
    "kernel": lambda row: row.resources,
    "joules": lambda row: f"{row.joules:.3g}" if row.joules else "",
    "G pairs/J": lambda row: f"{row.pairs_per_joule / 1e9:.3g}" if row.pairs_per_joule else "",
}


def _cells(row: Row) -> list[str]:
    c = row.contender
    if row.seconds is None:
        return [c.schedule, c.device, c.label, str(row.n), "-", "-", "-", "-"]
    same = "yes" if row.same and not row.difference else f"{'to' if row.same else 'NO,'} {row.difference:.0e}"
    rate = f"{(row.rate or 0) / 1e9:.3g}"
    return [
        *(c.schedule, c.device, c.label, str(row.n), f"{row.seconds:.3g}", rate),
        *(f"{row.speedup:.1f}" if row.speedup else "-", same),
    ]


def _phases(row: Row) -> str:
    if row.seconds is None:
        return f"skipped: {row.skipped}"
    return " ".join(f"{name} {share:.0%}" for name, share in sorted(row.shares.items(), key=lambda x: -x[1]))
