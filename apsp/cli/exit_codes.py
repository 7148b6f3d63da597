"""How the command ends: its exit codes, and expected errors as one line on standard error."""

from __future__ import annotations

import errno
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, TextIO

import click

from semiring.escaping import one_line

#: Exit codes by kind; 0 is success, and 1 also the answer "no" (docs/cli.md). Signals are 128 and their number.
NO, BAD_INPUT, DIVERGES, MISSING, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141

#: The key in `click.Context.meta` of the function that ends all processes of a job for an error of this one.
EVERY_RANK = "apsp.every_rank"

EPILOG = (
    "Exit codes: 0 done; 1 the answer is no (not reachable, no path); 2 usage, bad input, or output that cannot be "
    "written; 3 the closure does not exist (a negative cycle); 4 memory, a device or an optional package is missing; "
    "129, 130, 143 hung up, interrupted, terminated."
)


class Commands(click.Group):
    """A group of commands that ends with one of these exit codes, however it ends."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line.

        Click would end with 1 where Ctrl-C is heard between reading the options and the command, or after it.
        """
        _open_streams()
        standalone = kwargs.pop("standalone_mode", True)
        with _signals_raised(), _logs_escaped():
            try:
                with _ended_well():
                    found = super().main(*args, **{**kwargs, "standalone_mode": False})
            except click.exceptions.Exit as error:
                found = error.exit_code
        if standalone:
            sys.exit(found if isinstance(found, int) else 0)
        return found

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the options; `--help` and `--version` write their answers here."""
        with _ended_well():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _ended_well(ctx.meta):
            return super().invoke(ctx)


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP, raised like a Ctrl-C, so that the same code cleans up."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__("terminated." if number == signal.SIGTERM else "hung up.")


@dataclass(frozen=True)
class Ending:
    """How an expected error ends the command: one line on stderr, and an exit code."""

    message: str
    code: int


def ending(error: BaseException) -> Ending | None:
    """How an expected error ends the command; None for any other error, which keeps its traceback."""
    from semiring.errors import DeviceError, DivergenceError, NoPathError, SemiringError

    error = _struck(error) or error
    if isinstance(error, Ended):
        return Ending(str(error), error.code)
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


def _struck(error: BaseException | None) -> BaseException | None:
    """The KeyboardInterrupt behind an error: Python may wrap one that is raised during an import in another error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def _ended_well(meta: dict[str, Any] | None = None) -> Iterator[None]:
    """Turn the errors of a command into one line and an exit code; one of several processes ends all of them."""
    try:
        yield
        sys.stdout.flush()
    except click.exceptions.Exit:
        raise
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        _say("\n".join(map(one_line, said.getvalue().splitlines())))
        raise click.exceptions.Exit(error.exit_code) from None
    except (Exception, KeyboardInterrupt) as error:  # also click's Abort, which it makes of a KeyboardInterrupt
        if meta and EVERY_RANK in meta:
            meta[EVERY_RANK](error)
        known = (_unwritten(error) if isinstance(error, OSError) else None) or ending(error)
        if known is None:
            raise
        if known.message:
            _say(f"apsp: {one_line(known.message)}")
        raise click.exceptions.Exit(known.code) from None


def _say(text: str) -> None:
    """Write to standard error; where nobody reads that, the code alone has to do."""
    try:
        click.echo(text, err=True)
    except OSError:
        _drop(sys.stderr)


#: Errors of writing. Those of our own files have a file name; one without was standard output's.
_WRITING = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)


def _unwritten(error: OSError) -> Ending | None:
    """How an error of standard output ends the command, without a word if its reader has left, as in `… | head`."""
    if error.filename is not None or error.errno not in _WRITING:
        return None
    _drop(sys.stdout)
    if error.errno == errno.EPIPE:
        return Ending("", BROKEN_PIPE)
    return Ending(f"standard output: {error.strerror}.", BAD_INPUT)


def _drop(stream: TextIO) -> None:
    """Discard what could not be written: the interpreter would try again on exit, and fail again."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """Standard streams where the caller has closed some: writing to them fails, as it would in any other program.

    A closed descriptor would go to the next file that is opened, and what is meant for the screen into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest that is free, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (open until the process ends)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 (open until the process ends)


class _OneLine(logging.Formatter):
    """A record as a line without control characters, which come from names of files and vertices."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(super().format(record))


@contextmanager
def _logs_escaped() -> Iterator[None]:
    """What is logged, and heard by nobody else, goes to standard error as lines without control characters."""
    last = logging.lastResort
    if last is not None:
        last.setFormatter(_OneLine())
    try:
        yield
    finally:
        if last is not None:
            last.setFormatter(None)


@contextmanager
def _signals_raised() -> Iterator[None]:
    """SIGTERM and SIGHUP as exceptions, unless the caller has them ignored, as nohup does."""

    def end(number: int, _: FrameType | None) -> None:
        raise Ended(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {n: signal.signal(n, end) for n in numbers if signal.getsignal(n) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
