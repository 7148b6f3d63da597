"""How the command line speaks: rich tables and a progress bar on a terminal, plain text elsewhere; errors in a line."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

#: Exit codes beside 0; click itself uses 2 for a command it cannot read.
NO, BAD_INPUT, DIVERGED, NO_ROOM, INTERRUPTED = 1, 2, 3, 4, 130

EXIT_CODES = """Exit codes: 0 done; 1 the answer is no (not reachable, no path); 2 bad usage or bad input; 3 the closure
does not exist (a negative cycle, say); 4 too little memory, or no such device; 130 interrupted."""


class Commands(click.Group):
    """A group whose commands turn expected errors into one line and an exit code."""

    def invoke(self, context: click.Context) -> Any:
        from semiring.errors import DeviceError, DivergenceError, MemoryNeeded, NoPathError, SemiringError

        try:
            return super().invoke(context)
        except (KeyboardInterrupt, click.Abort):
            _fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            # Whoever read our output has gone: nothing is left to say, not even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except NoPathError as error:
            _fail(_text(error), NO)
        except DivergenceError as error:
            _fail(_text(error), DIVERGED)
        except (MemoryNeeded, MemoryError, DeviceError) as error:
            _fail(_text(error), NO_ROOM)
        except (SemiringError, ValueError, OSError, ImportError) as error:
            _fail(_text(error), BAD_INPUT)


def _fail(message: str, code: int) -> None:
    click.echo(f"apsp: {message}", err=True)
    sys.exit(code)


def _text(error: BaseException) -> str:
    # A KeyError shows its argument in quotes; the argument itself is the message.
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error) or type(error).__name__


def quiet() -> bool:
    """Whether --quiet was given."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get("quiet"))


def say(text: str) -> None:
    """A line about the work, left out with --quiet."""
    if not quiet():
        click.echo(text)


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", numbers: Sequence[int] = ()
) -> None:
    """A table: drawn by rich on a terminal, else columns of plain text."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        drawn = Table(title=title or None)
        for k, heading in enumerate(headings):
            drawn.add_column(heading, justify="right" if k in numbers else "left")
        for row in rows:
            drawn.add_row(*row)
        Console().print(drawn)
        return
    lines = [list(headings), *(list(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(headings))]
    if title:
        click.echo(title)
    for line in lines:
        cells = [c.rjust(w) if k in numbers else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))]
        click.echo("  ".join(cells).rstrip())


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A `callback(done, total)` that draws a bar with the time left, once a second has gone by on a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task, begun, drawn = bar.add_task(what, total=None), time.perf_counter(), False

    def report(done: int, total: int) -> None:
        nonlocal drawn
        if not drawn and time.perf_counter() - begun > 1:
            bar.start()
            drawn = True
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if drawn:
            bar.stop()
