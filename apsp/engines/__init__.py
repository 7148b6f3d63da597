"""What stands behind a `Result` and is asked for entries, rows, columns, blocks, or all of a table of distances.

| module      | engine                                                                    | what it holds        |
|-------------|---------------------------------------------------------------------------|----------------------|
| base        | `Engine`, the protocol, with default bodies in terms of rows              |                      |
| dense       | `Dense`: a closure that is there                                          | the matrix           |
| elimination | `Eliminated`: panels from which rows are swept when asked for             | the panels           |
| hops        | `Searched`: breadth-first searches from many vertices at a time           | the edges            |
| stored      | `Stored`: tiles on disk, of which windows are read                        | nothing              |
| searches    | `Searches`: SciPy's Dijkstra, Johnson and breadth-first search            | the edges            |
| saved       | `Saved`: a part that was saved, the rest of which is computed anew        | the part             |
| part        | `Part`: some rows and columns of another, and nothing beyond a limit      | what the other holds |
"""

from __future__ import annotations

from .base import Engine
from .dense import Dense

__all__ = ["Dense", "Engine"]
