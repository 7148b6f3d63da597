"""Engines: answer entries, rows, columns, blocks or the whole of a table of distances.

| module      | engine                                                                    | holds                |
|-------------|---------------------------------------------------------------------------|----------------------|
| dense       | `Dense`: a finished closure                                               | the matrix           |
| elimination | `Eliminated`: panels, swept into rows on demand; caches structures        | the panels           |
| hops        | `Searched`: breadth-first searches from many vertices at a time           | the edges            |
| scipy       | `Searches`: Dijkstra, Johnson, SciPy's breadth-first search               | the edges            |
| searches    | `Relaxed`: searches by weight from 32 vertices at a time                  | the edges            |
| essential   | `Dense`: the best arcs of each vertex searched, the others compared       | the matrix           |
| levels      | `Dense`: few distances, by Boolean products                               | the matrix           |
| united      | `Packed`: reachability by strongly connected components, in bits          | a bit a pair of them |
| indexed     | `Packed`: reachability by labels of those components, and searches        | 100 bytes a vertex   |
| streamed    | the dense closure with limited memory, checkpoints or output              | the matrix, or none  |
| ranks       | the dense closure over several ranks                                      | a part each          |
| shared      | `SharedOut`: an elimination on each of several ranks                      | the panels, on each  |
| sharded     | `SharedSearches`: searches by weight on each of several ranks             | the edges, on each   |

An engine is a module with a record `ENGINE` of kind `Kind`; the planner, `engine="its_name"`, the command line and the
tests find it by its file name.

Beside them: `base` has the protocol `Engine`, with default bodies by rows; `factored` the closure by elimination;
`packed` that of bits, whole or of the components that `condensation` finds; `stored` tiles on disk, read by windows,
and saved parts and hub labels, with the rest recomputed; `part` rows and columns within a limit; `saturation` and
`bounds` detect and exclude integer overflow.
"""

from __future__ import annotations

from functools import cache

from ..question import Question
from ..registry import records
from .base import MANY, Engine, Kind

__all__ = ["MANY", "Engine", "Kind", "candidates", "get", "kinds", "names"]


@cache
def names() -> tuple[str, ...]:
    """The names for `engine=` besides "auto", alphabetical."""
    return tuple(records(__name__, "ENGINE"))


@cache
def get(name: str) -> Kind:
    kind: Kind = records(__name__, "ENGINE")[name]
    return kind


@cache
def kinds(*, gpus: bool = False, limits: bool = False, listed: bool = True) -> tuple[Kind, ...]:
    """Engines for one place or ranks, with limits or without, for edges (`listed`) or a matrix."""
    every = map(get, names())
    return tuple(k for k in every if k.gpus == gpus and k.limits in (None, limits) and (listed or k.matrices))


def candidates(question: Question) -> tuple[Kind, ...]:
    """Engines to choose from; all of one place if one is requested, by name or by an order."""
    wants, source = question.wants, question.source
    alone = wants.packed  # all its engines take both
    gpus, limits = not alone and wants.gpus is not None, not alone and wants.limits is not None
    if wants.engine != "auto" or wants.ordered:
        return kinds(gpus=gpus, limits=limits, listed=question.is_graph)
    shape = getattr(getattr(source, "dense", source), "shape", ()) or (0,)  # of a matrix
    return _suitable(
        gpus=gpus, limits=limits, listed=question.listed or question.picks or wants.packed, large=shape[-1] >= MANY,
        numbers=not (question.semiring.boolean or wants.packed), scheduled=wants.scheduled,
        saved=wants.limits is not None and wants.limits.checkpoint is not None,
        device=question.device if question.is_graph else "",
    )  # fmt: skip


@cache
def _suitable(
    *, gpus: bool, limits: bool, listed: bool, large: bool, numbers: bool, scheduled: bool, saved: bool, device: str
) -> tuple[Kind, ...]:
    """Engines for matrices with many vertices (`large`), numbers, schedules, checkpoints, a device."""
    return tuple(
        kind
        for kind in kinds(gpus=gpus, limits=limits, listed=listed)
        if (large or not kind.large) and (kind.numbers or not numbers) and (kind.schedules or not scheduled)
        if not (kind.on_request_only or (saved and kind.writes_rows)) and (not device or device in kind.devices)
    )
