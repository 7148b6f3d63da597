"""Tables and progress bars of the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import click

from semiring.host.compiling import Notice, listening
from semiring.host.escaping import one_line

from .bars import rich_bar
from .notebook import aligned

#: Seconds between lines of progress in a log.
EVERY = 60.0


class Meter:
    """A progress bar with the time left, on stderr, shown after a second.

    During compilation it appears at once. If stderr is no terminal, there is a line a minute. `callback` is for
    `callback=` of a closure, None if nothing is shown.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._start = self._drawn = time.monotonic()
        self._bar: Any = None
        self._listening = ExitStack()
        self._drawing = sys.stderr.isatty()
        self.callback = None if quiet else self._report if self._drawing else self._log

    def __enter__(self) -> Meter:
        if self._drawing:
            self._listening.enter_context(listening(self._show_compiling))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._listening.close()
        if self._bar is not None:
            self._bar.stop()

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._start < 1 or now - self._drawn < 0.05:
            return
        self._drawn = now
        self._show(self._what, done, total)

    def _log(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._drawn < EVERY or not 0 < done < total:
            return
        from ...road.estimates import in_units

        self._drawn = now
        left = in_units((now - self._start) * (total - done) / done)
        click.echo(f"apsp: {self._what}: {done / total:.0%} done, {left} left", err=True)

    def _show_compiling(self, notice: Notice) -> None:
        """Show an indeterminate bar, as the time is known roughly at best."""
        if self.callback is not None:
            self._show(f"{self._what}: {notice}", 0, None)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = rich_bar()
            self._bar.add_task(what, total=total, start=True)
            self._bar.start()
        # For rich, total=None means no change.
        task = self._bar.tasks[0]
        task.total = total
        self._bar.update(task.id, description=what, completed=done)


def show_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print a table: by rich on a terminal, else as aligned text."""
    headings, *rows = ([one_line(cell) for cell in line] for line in (headings, *rows))
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
