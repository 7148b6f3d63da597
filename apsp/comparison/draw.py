"""A comparison's columns as text, and its plot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semiring.host.spelling import came
from semiring.host.types import Axes, Values

from ..answers.result.drawing import canvas

if TYPE_CHECKING:
    from .records import Comparison, Contender, Row

#: The least distance of two names at the ends of lines, in heights of the picture.
_APART = 0.035
#: Quantities to draw, and axis labels.
QUANTITIES = {"seconds": "seconds", "rate": "pairs a second", "pairs_per_joule": "pairs per joule"}


def plot(comparison: Comparison, ax: Axes, quantity: str, *, save: str | Path | None, dpi: int) -> Axes:
    if quantity not in QUANTITIES:
        raise ValueError(f"plot: quantity must be one of {', '.join(QUANTITIES)}, got {came(quantity)}.")
    ratio = ax is None and any(row.speedup for row in comparison.rows)
    with canvas(ax, save, size=(12 if ratio else 8, 5.5), dpi=dpi, panels=(1, 1 + ratio)) as axes:
        panels = [axes]
        _lines(axes, comparison, quantity)
        axes.set(ylabel=QUANTITIES[quantity], title=f"closure over {comparison.semiring} in {comparison.dtype}")
        if ratio:
            panels.append(axes.figure.add_subplot(1, 2, 2))
            _lines(panels[1], comparison, "speedup")
            panels[1].set(ylim=(0, None), ylabel="times as fast as iterative, one thread")
        sizes = sorted({row.n for row in comparison.rows})
        ticks, apart = sizes[:1], (max(sizes, default=1) / max([1, *sizes[:1]])) ** (1 / 14)
        for n in sizes[1:]:  # those that can be read
            ticks += [n] if n >= ticks[-1] * apart else []
        for panel in panels:
            panel.set_xticks(ticks, map(str, ticks))
            panel.set_xticks([], minor=True)
            panel.set_xlabel("vertices n")
            panel.grid(True, alpha=0.3)
        _name_lines(panels[-1])
    return axes


def _lines(axes: Axes, comparison: Comparison, quantity: str) -> None:
    """A line a contender: colour by schedule, dashes by threads, markers by block and options."""
    contenders = list(dict.fromkeys(row.contender for row in comparison.rows))
    schedules = list(dict.fromkeys(contender.schedule for contender in contenders))
    axes.set_xscale("log")
    axes.set_yscale("linear" if quantity == "speedup" else "log")
    for contender in contenders:
        points = [
            (r.n, getattr(r, quantity)) for r in comparison.rows if r.contender == contender and getattr(r, quantity)
        ]
        if points:
            options = dict(contender.options)
            style = ":" if contender.device == "cuda" else "--" if options.pop("threads", 1) > 1 else "-"
            kinds = list(dict.fromkeys(_kind(c) for c in contenders if c.schedule == contender.schedule))
            marker = "os^Dv<>P"[kinds.index(_kind(contender)) % 8]
            color = f"C{schedules.index(contender.schedule)}"
            axes.plot(*zip(*points, strict=True), style, color=color, marker=marker, label=contender.name)


def _kind(contender: Contender) -> Values:
    return contender.block, *(pair for pair in contender.options if pair[0] != "threads")


def _name_lines(axes: Axes) -> None:
    """Names at the ends of the lines, moved apart where they would meet."""
    axes.get_ylim()  # up to date
    place = axes.transData + axes.transAxes.inverted()
    ends = sorted(((float(place.transform(line.get_xydata()[-1])[1]), line) for line in axes.lines), key=lambda x: x[0])
    steps = _APART * np.arange(len(ends))
    heights = np.minimum(np.maximum.accumulate([end for end, _ in ends] - steps) + steps, 1 - steps[::-1])
    for height, (_, line) in zip(heights, ends, strict=True):
        axes.annotate(
            *(line.get_label(), (1, height)), xycoords="axes fraction", xytext=(6, 0), textcoords="offset points",
            color=line.get_color(), fontsize="small", va="center",
        )  # fmt: skip


def _ratio(times: float | None) -> str:
    return "" if times is None else f"{times:.1f}" if times >= 0.95 else f"{times:.2g}"


def _same(row: Row) -> str:
    how = "to" if row.same else "NO,"
    return "" if row.same is None else f"{how} {row.difference:.0e}" if row.difference or not row.same else "yes"


def _phases(row: Row) -> str:
    if row.seconds is None:
        return f"skipped: {row.skipped}"
    return " ".join(f"{name} {share:.0%}" for name, share in sorted(row.shares.items(), key=lambda x: -x[1]))


#: Columns, the text of a row in each.
COLUMNS: dict[str, Callable[[Row], str]] = {
    "schedule": lambda row: row.contender.schedule,
    "device": lambda row: row.contender.device,
    "with": lambda row: row.contender.label,
    "n": lambda row: str(row.n),
    "seconds": lambda row: f"{row.seconds:.3g}" if row.seconds is not None else "",
    "G pairs/s": lambda row: f"{(row.rate or 0) / 1e9:.3g}" if row.seconds is not None else "",
    "speed-up": lambda row: _ratio(row.speedup),
    "same": _same,
    "E = S/p": lambda row: f"{row.efficiency:.2f}" if row.efficiency else "",
    "with copies": lambda row: f"{row.seconds + row.transfer:.3g}" if row.seconds and row.transfer else "",
    "spread": lambda row: f"{max(row.times) / min(row.times) - 1:.0%}" if row.times else "",
    "block": lambda row: str(row.block) if row.block else "",
    "over steps": lambda row: _ratio(row.gain) if row.contender.device != "cpu" else "",
    "of ceiling": lambda row: f"{row.fraction:.1%}" if row.fraction else "",
    "calls": lambda row: str(row.calls) if row.calls else "",
    "GB moved": lambda row: f"{row.moved / 1e9:.3g}" if row.moved else "",
    "kernel": lambda row: row.resources,
    "joules": lambda row: f"{row.joules:.3g}" if row.joules else "",
    "G pairs/J": lambda row: f"{row.pairs_per_joule / 1e9:.3g}" if row.pairs_per_joule else "",
    "phases": _phases,
}
#: Columns shown even if no row has them.
ALWAYS = {"schedule", "device", "with", "n", "seconds", "G pairs/s", "speed-up", "same", "phases"}
