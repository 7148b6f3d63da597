"""What the command line shows and how it ends: tables, a progress bar, errors in one line with an exit code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import click

#: Exit codes by kind; 0 is success, and 1 also the answer "no" (docs/cli.md).
NO, BAD_INPUT, DIVERGES, MISSING, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141

EPILOG = (
    "Exit codes: 0 done; 1 the answer is no (not reachable, no path); 2 usage or bad input; 3 the closure does not "
    "exist (a negative cycle); 4 memory, a device or an optional package is missing; 130 interrupted."
)


@dataclass(frozen=True)
class Ending:
    """How an expected error ends the command: one line on stderr, and an exit code."""

    message: str
    code: int


def ending(error: BaseException) -> Ending | None:
    """That of an expected error; None for one that nobody expected, which keeps its traceback."""
    from semiring.errors import DeviceError, DivergenceError, NoPathError, SemiringError

    kinds: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], int], ...] = (
        (KeyboardInterrupt, INTERRUPTED),
        (NoPathError, NO),
        (DivergenceError, DIVERGES),
        ((DeviceError, MemoryError, ImportError), MISSING),
        ((SemiringError, ValueError, OSError), BAD_INPUT),
    )
    code = next((code for kind, code in kinds if isinstance(error, kind)), None)
    if code is None:
        return None
    if isinstance(error, OSError) and error.filename is not None:
        return Ending(f"{error.filename}: {error.strerror}.", code)
    unsaid = {INTERRUPTED: "interrupted.", MISSING: "out of memory."}
    return Ending(" ".join(str(error).split()) or unsaid.get(code, repr(error)), code)


class Commands(click.Group):
    """A group whose expected errors become a line and an exit code, and whose closed pipes are quiet."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except BrokenPipeError:
            # Nobody reads on, as in `apsp solve … | head`; the interpreter's last flush must not complain either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(BROKEN_PIPE)
        except (Exception, KeyboardInterrupt) as error:
            known = ending(error)
            if known is None:
                raise
            click.echo(f"apsp: {known.message}", err=True)
            ctx.exit(known.code)


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
