"""Exit codes of the command, and expected errors as one line on standard error."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, TextIO

import click

from semiring.host.errors import DeviceError, DivergenceError, NoPathError, SemiringError
from semiring.host.escaping import one_line
from semiring.host.types import Fields

from .reporting import finish

#: Exit codes; 0 is success, 1 also the answer "no" (docs/cli.md). Signals are 128 plus their number.
NO, BAD_INPUT, DIVERGES, MISSING, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141

#: Key in `click.Context.meta` of the function that ends all processes of an MPI job.
ABORT_JOB = "apsp.abort_job"

EPILOG = (
    "Exit codes: 0 done; 1 the answer is no (not reachable, no path, a wrong table); 2 usage, bad input, or output "
    "that cannot be written; 3 the closure does not exist (a negative cycle); 4 memory, a device or an optional "
    "package is missing; 129, 130, 143 hung up, interrupted, terminated."
)


class Commands(click.Group):
    """A group of commands that always ends with one of these exit codes."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; Click alone would end with 1 on Ctrl-C before or after the command."""
        _open_streams()
        standalone = kwargs.pop("standalone_mode", True)
        with _signals_raised(), _logs_escaped(), _warnings_as_lines():
            try:
                with _errors_as_exit_codes():
                    found = super().main(*args, **{**kwargs, "standalone_mode": False})
            except click.exceptions.Exit as error:
                found = error.exit_code
        if standalone:
            sys.exit(found if isinstance(found, int) else 0)
        return found

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _errors_as_exit_codes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> None:
        """Run a command, whose answer False is no."""
        with _errors_as_exit_codes(ctx.meta):
            answer = super().invoke(ctx)
            finish(ctx.meta)
            if answer is False:
                raise click.exceptions.Exit(NO)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP as an exception like Ctrl-C, for the same cleanup."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__("terminated." if number == signal.SIGTERM else "hung up.")


@dataclass(frozen=True)
class Ending:
    """The last line on stderr, and the exit code."""

    message: str
    code: int


def ending(error: BaseException) -> Ending | None:
    """The ending for an expected error; None for others, which keep their tracebacks."""
    error = _interrupt_behind(error) or error
    if isinstance(error, Terminated):
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
        if error.errno == errno.EPIPE:
            return Ending("", BROKEN_PIPE)
        return Ending(f"{error.filename}: {str(error.strerror).rstrip('.')}.", code)
    default = {INTERRUPTED: "interrupted.", MISSING: "out of memory."}.get(code, repr(error))
    return Ending(" ".join(str(error).split()) or default, code)


#: What a message says in Python, and how in a shell; names of functions at its beginning say nothing there.
_SPELLINGS = tuple(
    (re.compile(python), shell)
    for python, shell in (
        (r"^(?:save|load|read|write|as_graph|shortest_paths|transitive_closure|random_graph|Graph(?:\.\w+)?): ", ""),
        (r": (?:write|save|Graph): ", ": "),
        (r"a Re\w+ that `save` wrote is", "a result that apsp solve or apsp reach wrote by --output is"),
        (r"(?<=semiring must be )a Semiring or ", ""),
        (r"see examples/own_semiring\.py; semiring\.load finds", "--semiring FILE.py:NAME finds"),
        (r"(?<=\.zarr, got '-')\.", "; or say --output-format."),
        (r"; or give format=", "; or give --format (--to-format of convert)"),
        (r"apsp\.read\([^()]*, format='([\w…]+)'\)", r"--format \1"),
        (r"apsp\.read\('([^()']*)'\)", r"\1"),
        (r"Pass open\(.*?, encoding='([\w-]+)'\)", r"Run iconv -f \1 -t utf-8 on it"),
        (r"(?<=columns=)\(([^()]*)\)", lambda match: shlex.quote(re.sub(r"'|(?<=,) ", "", match[1]))),
        (r"\bweight=None", "--unweighted"),
        (r"\bdirected=(?:True|(False))", lambda match: "--undirected" if match[1] else "--directed"),
        (r"\bunreachable='drop'", "--drop-unreachable"),
        (r"\binteger=False", "--real"),
        (r"^((?:edge_)?betweenness): sources must", r"\1: --sample must"),
        (r"\b(columns|weight|device|engine|format|limit|threads)=(?:'(\w+)')?", r"--\1 \2"),
        (r"\b(ways|memory|checkpoint|output)=(?: to shortest_paths)?", r"--\1 "),
        (r"\bnull_value=", "--null-value "),
        (r"\bu_turns\b", "--u-turns"),
        (r"\br\.paths\(pairs\)", "--paths FILE"),
        (r"\br\.save\(path\)", "--output FILE"),
    )
)


def shell(text: str) -> str:
    """A message as it is said in a shell: options for arguments, and no names of functions."""
    for python, spelling in _SPELLINGS:
        text = python.sub(spelling, text)
    return re.sub(r"(--[a-z-]+) (?=[,;.]|$| )", r"\1", text).replace("--null-value None", "--null-value none")


def _interrupt_behind(error: BaseException | None) -> BaseException | None:
    """The KeyboardInterrupt in an error's chain: Python may wrap one raised during an import."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def _errors_as_exit_codes(meta: Fields | None = None) -> Iterator[None]:
    """Convert errors of a command to one line and an exit code; under MPI, abort the job."""
    try:
        yield
        sys.stdout.flush()
    except click.exceptions.Exit:
        raise
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        _print_error("\n".join(map(one_line, message.getvalue().splitlines())))
        raise click.exceptions.Exit(error.exit_code) from None
    except (Exception, KeyboardInterrupt) as error:  # also click's Abort, made from a KeyboardInterrupt
        if meta and ABORT_JOB in meta:
            meta[ABORT_JOB](error)
        known = (_of_standard_output(error) if isinstance(error, OSError) else None) or ending(error)
        if known is None:
            raise
        if known.message:
            _print_error(f"apsp: {one_line(shell(known.message))}")
        raise click.exceptions.Exit(known.code) from None


def _print_error(text: str) -> None:
    """Write to standard error, or nowhere if that is closed."""
    try:
        click.echo(text, err=True)
    except OSError:
        _discard(sys.stderr)


#: Errors of writing; without a file name, to standard output.
_WRITING = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)


def _of_standard_output(error: OSError) -> Ending | None:
    """The ending for an error of standard output; silent if its reader has left, as in `… | head`."""
    if error.filename is not None or error.errno not in _WRITING:
        return None
    _discard(sys.stdout)
    if error.errno == errno.EPIPE:
        return Ending("", BROKEN_PIPE)
    return Ending(f"standard output: {error.strerror}.", BAD_INPUT)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to /dev/null, so that the interpreter does not retry on exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """Reopen closed standard streams, so that writing to them fails instead of hitting the next file opened."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest free descriptor, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (open until the process ends)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 (open until the process ends)


class _OneLine(logging.Formatter):
    """A record as one line, with control characters of file names and labels escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(super().format(record))


@contextmanager
def _logs_escaped() -> Iterator[None]:
    """Escape control characters in log records that go to standard error without a handler."""
    last = logging.lastResort
    if last is not None:
        last.setFormatter(_OneLine())
    try:
        yield
    finally:
        if last is not None:
            last.setFormatter(None)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as errors are, in a line and the words of a shell, each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        others = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], filename: str, lineno: int,
            file: TextIO | None = None, line: str | None = None,
        ) -> None:  # fmt: skip
            if issubclass(category, UserWarning):
                _print_error(f"apsp: {one_line(shell(str(message)))}")
            else:
                others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Raise SIGTERM and SIGHUP as exceptions, unless ignored by the caller (nohup)."""

    def terminate(number: int, _: FrameType | None) -> None:
        raise Terminated(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {n: signal.signal(n, terminate) for n in numbers if signal.getsignal(n) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
