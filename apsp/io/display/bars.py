"""Bars of long work in Python, by rich or tqdm: `apsp.progress`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from semiring.host.escaping import one_line
from semiring.host.lazy import optional
from semiring.host.spelling import came

if TYPE_CHECKING:
    from semiring.kernels.observed import Callback

#: A work's name → its callback; None for a line, False for nothing.
chosen: Callable[[str], Callback] | Literal[False] | None = None


class progress:
    """Bars of long work, on stderr: from now on, or within `with apsp.progress():`.

    Without, work of more than three seconds prints one line, in a terminal or a notebook alone. A `callback=` of a
    call goes first.

    Parameters
    ----------
    bar : {"rich", "tqdm"}, callable or False, optional
        The library that draws; a function from a work's name to its `callback(done, total)`; False for nothing, not
        even the line. By default tqdm where the program has imported it, else rich.

    Raises
    ------
    ValueError
        For another word.
    ImportError
        If the library is not installed.

    See Also
    --------
    closure, shortest_paths, Result.reduce, Result.betweenness

    Notes
    -----
    A bar appears with the first report after a second, and is drawn at most ten times a second.

    Examples
    --------
    >>> import apsp
    >>> with apsp.progress(lambda what: lambda done, total: print(f"{what}: {done} of {total}")):
    ...     r = apsp.shortest_paths([(0, 1, 5), (1, 0, 2)])
    shortest_paths: 2 vertices: 8 of 8
    """

    def __init__(self, bar: Literal["rich", "tqdm", False] | Callable[[str], Callback] | None = None) -> None:
        global chosen
        self._before = chosen
        if bar is None:
            bar = "tqdm" if "tqdm" in sys.modules else "rich"
        if bar == "tqdm":
            optional("tqdm", "progress: tqdm is required")  # it is missing now, or never
        if isinstance(bar, str) and bar in _LIBRARIES:
            chosen = partial(_Drawn, _LIBRARIES[bar])
        elif bar is False or callable(bar):
            chosen = bar
        else:
            raise ValueError(f"progress: bar must be 'rich', 'tqdm', a function or False, got {came(bar)}.")

    def __enter__(self) -> progress:
        return self

    def __exit__(self, *error: object) -> None:
        global chosen
        chosen = self._before


class _Drawn:
    """A bar that appears after a second and ends with the work; an error leaves it as it stands."""

    def __init__(self, begin: Callable[[str, int], Any], what: str) -> None:
        self._begin, self._what, self._next = begin, one_line(what), time.monotonic() + 1
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if done >= total and self._bar:
            self._bar[1]()
            self._bar = None
        elif done < total and time.monotonic() >= self._next:
            self._bar = self._bar or self._begin(self._what, total)
            self._bar[0](done)
            self._next = time.monotonic() + 0.1


def _rich(what: str, total: int) -> Any:
    bar = rich_bar(auto_refresh=False, redirect_stdout=False, redirect_stderr=False)  # no thread to be stopped
    task = bar.add_task(what, total=total)
    bar.start()
    bar.console.show_cursor(True)
    return lambda done: bar.update(task, completed=done, refresh=True), bar.stop


def _tqdm(what: str, total: int) -> Any:
    from tqdm.auto import tqdm

    bar = tqdm(desc=what, total=total, unit="", unit_scale=True, leave=False)
    return lambda done: bar.update(done - bar.n), bar.close


_LIBRARIES = {"rich": _rich, "tqdm": _tqdm}


def rich_bar(**options: Any) -> Any:
    """A bar of rich on stderr, with a share and the time left, that goes when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, **options)
