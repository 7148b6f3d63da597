"""What the command line shows: tables, and a progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import click


class Meter:
    """A progress bar with the time left, on stderr; it shows itself after a second, and on a terminal alone.

    `callback` is what a closure's `callback=` takes: None where nothing is to be shown.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._start = self._drawn = time.monotonic()
        self._bar: Any = None
        self.callback = self._report if sys.stderr.isatty() and not quiet else None

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._start < 1 or now - self._drawn < 0.05:
            return
        self._drawn = now
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._what, total=total, start=True)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """A table: drawn on a terminal; elsewhere aligned text, columns two blanks apart."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for k, heading in enumerate(headings):
            table.add_column(Text(heading), justify="right" if k in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        Console().print(table)
        return
    for line in aligned([list(headings), *map(list, rows)], right):
        click.echo(line)


def aligned(lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Lines of cells as text, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            c.rjust(w) if k in right else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
