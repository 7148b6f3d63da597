"""What answers a question, and is asked for entries, rows, columns, blocks, or all of a table of distances.

| module      | engine                                                                    | what it holds        |
|-------------|---------------------------------------------------------------------------|----------------------|
| dense       | `Dense`: a closure that is there                                          | the matrix           |
| elimination | `Eliminated`: panels from which rows are swept when asked for             | the panels           |
| hops        | `Searched`: breadth-first searches from many vertices at a time           | the edges            |
| scipy       | `Searches`: SciPy's Dijkstra, Johnson and breadth-first search            | the edges            |
| searches    | `Relaxed`: searches by weight from 32 vertices at a time                  | the edges            |
| essential   | `Dense`: the best arcs of each vertex searched, all others compared       | the matrix           |
| levels      | `Dense`: few distances, by products of bits                               | the matrix           |
| united      | `Packed`: reachability by strongly connected components, in bits          | a bit a pair of them |
| streamed    | the dense closure within limits of memory, in checkpoints or on disk      | the matrix, or none  |
| ranks       | the dense closure over several ranks                                      | a part each          |
| shared      | `SharedOut`: an elimination on each of several ranks                      | the panels, on each  |
| sharded     | `SharedSearches`: searches by weight on each of several ranks             | the edges, on each   |

An engine is a module here with a record `ENGINE`, a `Kind`. Putting a file here is all it takes: the planner,
`engine="its_name"`, the command line and the tests find it by its file name.

Next to them: `base` has `Engine`, the protocol with default bodies in terms of rows; `packed` the closure of bits, of
all vertices or of components, which `condensation` finds; `stored` tiles on disk, of which
windows are read; `saved` a part that was saved, the rest of which is computed again; `labelled` hub labels that were
saved; `part` rows and columns of another, and nothing beyond a limit; `saturation` tells distances that integers do not
hold, `bounds` that they hold all; `structures` remembers the structures of eliminations.
"""

from __future__ import annotations

from functools import cache

from ..registry import records
from .base import MANY, Engine, Kind

__all__ = ["MANY", "Engine", "Kind", "get", "kinds", "names"]


@cache
def names() -> tuple[str, ...]:
    """What `engine=` may be other than "auto", alphabetical."""
    return tuple(records(__name__, "ENGINE"))


@cache
def get(name: str) -> Kind:
    """The engine of that name."""
    kind: Kind = records(__name__, "ENGINE")[name]
    return kind


@cache
def kinds(*, gpus: bool = False, limits: bool = False, listed: bool = True, large: bool = True) -> tuple[Kind, ...]:
    """Those for one place or for several ranks, without limits or within them, for a list of edges or a matrix.

    Parameters
    ----------
    gpus, limits, listed : bool
    large : bool
        Whether those are among them that are for many vertices.
    """
    every = (get(name) for name in names() if large or not get(name).large)
    return tuple(k for k in every if k.gpus == gpus and k.limits in (None, limits) and (listed or k.matrices))
