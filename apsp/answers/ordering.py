"""`order`: vertices so that every edge leads forwards."""

from __future__ import annotations

from collections.abc import Iterable

from semiring.host.errors import DivergenceError
from semiring.host.types import Input, Label

from ..io.display import output
from ..io.inputs import as_graph
from ..io.labels import Labels
from ..io.reading.options import BY_RULE, NullValue


def order(graph: Input, *, null_value: NullValue = BY_RULE) -> list[Label]:
    """A topological order: vertices so that every edge leads to a later one.

    Parameters
    ----------
    graph : graph
        As in `shortest_paths`. Of a matrix the diagonal is ignored; of a list an edge from a vertex to itself is a
        cycle.
    null_value : number or None, optional
        As in `as_graph`.

    Returns
    -------
    list of labels
        Among vertices that no edge orders, those that wait for nothing come first, in the order of the graph.

    Raises
    ------
    DivergenceError
        If there is a cycle; `cycle` names it, in order, the first vertex not repeated.

    See Also
    --------
    critical_path : Earliest and latest starts in that order.
    transitive_closure : Components, where there are cycles.

    Notes
    -----
    O(n + m) (Kahn 1962).

    Examples
    --------
    >>> from apsp import order
    >>> order([("walls", "roof"), ("ground", "walls"), ("ground", "garden")])
    ['ground', 'walls', 'garden', 'roof']
    """
    posed = as_graph(graph, null_value=null_value)
    tails, heads, _ = posed.edges("lor_land")
    if posed.dense is not None:
        apart = tails != heads
        tails, heads = tails[apart], heads[apart]
    arcs = zip(tails.tolist(), heads.tolist(), strict=True)
    need = "there must be no cycle, got {}. Leave one of these edges out."
    found = topological(posed.n, arcs, posed.labels, where="order", need=need)
    return [posed.labels[v] for v in found]


def topological(n: int, arcs: Iterable[tuple[int, int]], names: Labels, *, where: str, need: str) -> list[int]:
    """A topological order of n vertices (Kahn 1962); raises DivergenceError naming a cycle."""
    before: list[list[int]] = [[] for _ in range(n)]
    after: list[list[int]] = [[] for _ in range(n)]
    for u, v in arcs:
        before[v].append(u)
        after[u].append(v)
    waits = list(map(len, before))
    found = [v for v, count in enumerate(waits) if not count]
    for v in found:
        for w in after[v]:
            waits[w] -= 1
            if not waits[w]:
                found.append(w)
    if len(found) < n:  # each remaining vertex waits for another one
        v, seen = next(v for v, count in enumerate(waits) if count), dict[int, int]()
        while v not in seen:
            seen[v] = len(seen)
            v = next(u for u in before[v] if waits[u])
        cycle = [names[u] for u in reversed(list(seen)[seen[v] :])]
        shown = output.walk([*cycle, cycle[0]])
        raise DivergenceError(f"{where}: {need.format(shown)}", cycle[0], cycle)
    return found
