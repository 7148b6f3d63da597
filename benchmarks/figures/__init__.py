"""The figures of the ledger: a file a part, found by being there, whose `tasks(device)` yields what can be measured."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from device import cp


@dataclass(frozen=True)
class Figure:
    """A time beside another one of the same run.

    Parameters
    ----------
    name : str
    seconds, against : float
        Of what is measured, and of what it is held to.
    reference : str
        What that is.
    least : float, optional
        The bar of `ratio`.
    beyond : float
        Seconds beyond the reference within which `least` counts as met: of short calls, what a call may take.
    most : float, optional
        The bar of `seconds`.
    work : float, optional
        Pairs computed: figures of one `family` are compared by work a second.
    family : tuple of str
        The groups that it belongs to.
    """

    name: str
    seconds: float
    against: float
    reference: str
    least: float | None = None
    most: float | None = None
    work: float = 0.0
    family: tuple[str, ...] = ()
    beyond: float = 0.0

    @property
    def ratio(self) -> float:
        """Speed-up over the reference."""
        return self.against / self.seconds

    @property
    def rate(self) -> float:
        """Work a second."""
        return self.work / self.seconds

    @property
    def missed(self) -> bool:
        """Whether it misses a bar."""
        near = self.beyond and self.seconds <= self.against + self.beyond
        return (self.ratio < (self.least or 0) and not near) or self.seconds > (self.most or float("inf"))


#: A name, and what measures its figure.
Task = tuple[str, Callable[[], Figure]]


def parts() -> dict[str, Callable[[str], Iterator[Task]]]:
    """Name → the tasks of a device."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return {name: importlib.import_module(f"figures.{name}").tasks for name in names}


def setting(device: str) -> tuple[Callable[[Any], Any], dict[str, Any], Callable[[], float]]:
    """Where arrays go, options of a call, and the clock: of one thread, or of a GPU that has done its work."""
    if device == "cpu":
        return np.asarray, {"threads": 1}, time.thread_time

    def clock() -> float:
        cp.cuda.Device().synchronize()
        return time.perf_counter()

    return cp.asarray, {}, clock


def in_turns(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    seconds: float = 0.3,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """The least time of each, in turns, so that what else the machine does meets both."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + (0 if common.quick() else seconds)
    ours(), theirs()
    while not times[0] or (time.perf_counter() < end and len(times[0]) < 2000):
        for call, into in zip((ours, theirs), times, strict=True):
            start = clock()
            call()
            into.append(clock() - start)
    return min(times[0]), min(times[1])


def beside(
    name: str,
    pair: Callable[[], tuple[Callable[[], object], Callable[[], object]]],
    reference: str,
    *,
    least: float | None = None,
    most: float | None = None,
    beyond: float = 0.0,
) -> Task:
    """Task of a call and of another library's; `pair` makes both and compares their results."""

    def measure() -> Figure:
        return Figure(name, *in_turns(*pair()), reference, least, most, beyond=beyond)

    return name, measure
