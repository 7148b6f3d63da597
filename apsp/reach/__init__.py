"""`transitive_closure`: who reaches whom in a graph; the answer is a `Reachability`."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semiring import dtypes
from semiring.backend import device_of
from semiring.catalog import get, lor_land
from semiring.compiling import clock
from semiring.devices import on_device
from semiring.observed import Callback
from semiring.survey import survey
from semiring.tiles import StoredBits, TileStore

from ..engines.packed import Packed
from ..graph import Graph
from ..graph.nulls import refuse_ambiguous
from ..graph.ondisk import refuse_overwriting
from ..inputs import as_graph
from ..large.limits import Limits
from ..question import Question
from ..reading.options import BY_RULE, Columns, NullValue, Weight
from ..road import answer
from ..saving import check_output
from ..wants import Wants
from .reachability import Reachability, save_into

if TYPE_CHECKING:
    from semiring.algebra import Semiring

    from ..distributed.solving import WorldLike


def transitive_closure(
    source: Any,
    *,
    reflexive: bool = False,
    schedule: str = "auto",
    block: int | None = None,
    callback: Callback | None = None,
    device: str | None = None,
    threads: int | None = None,
    gpus: WorldLike | None = None,
    semiring: str | Semiring | None = None,
    memory: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    weight: Weight = BY_RULE,
    columns: Columns | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    format: str | None = None,
    name: str = "",
) -> Reachability:
    """A⁺ = A ⊕ A² ⊕ … over the Boolean semiring: which vertices a walk of at least one edge connects.

    A sparse graph is first shrunk to its strongly connected components; the closure of what is left is expanded only
    where a question needs it. `plan` of the result says what was done.

    Parameters
    ----------
    source : graph
        As `shortest_paths` takes; weights play no part, only which edges are there.
    reflexive : bool
        Let every vertex reach itself: A* = I ⊕ A⁺.
    schedule : str
        "auto", or one of the schedules, which then runs on all vertices, nothing shrunk.
    block, callback, device, threads
        As in `closure`. Components are found on the CPU in any case, and the answer is there.
    gpus : int, sequence of int or World, optional
        Close what is left over several GPUs, each with its part of the packed bits, as in `closure`.
    semiring : str or Semiring, optional
        What the weights mean: an edge whose weight is this semiring's zero, its value of no path, is none, as a
        probability of 0 is over "reliability". By default every edge of a list is one.
    memory : int or str, optional
        Bytes, or such as "16GiB", to which the closure of the components is held. What is larger goes to `output`, so
        many columns at a time: where arcs are few, none of them needs another.
    output : path, optional
        A directory for the answer, as a store of tiles, from which `Reachability.load` answers too.
    weight, columns, directed, unweighted, null_value, format, name
        How the graph is read: as in `as_graph`.

    Returns
    -------
    Reachability

    Raises
    ------
    MemoryNeeded
        If the bits do not fit, before any work.
    DomainError
        If, over `semiring`, zeros of a matrix may be edges or none: see `null_value` of `as_graph`.
    ValueError
        If `output` is the path of the graph's matrix.
    OSError
        If `output` cannot be written, or does not fit on its disk.

    See Also
    --------
    closure : Over the Boolean semiring too, of a matrix, as a matrix.
    shortest_paths : How far, not only whether.
    semiring.BitMatrix : The packed bits.

    Notes
    -----
    Components take O(n + m) for n vertices and m edges (Purdom 1970; Nuutila 1995, "Efficient transitive closure
    computation in large digraphs"). The closure of c of them takes c² / 8 bytes: by products c³ pairs, 64 at a time
    (Warshall 1962; Arlazarov, Dinic, Kronrod and Faradžev 1970); or by uniting rows, c / 64 words for an arc at most
    (Goralčíková and Koubek 1979), where arcs are few.

    Examples
    --------
    >>> from apsp import transitive_closure
    >>> t = transitive_closure([("a", "b"), ("b", "c")])
    >>> t.reaches("a", "c"), t.reaches("c", "a"), t.descendants("a")
    (True, False, ['b', 'c'])
    """
    graph = as_graph(
        source,
        weight=weight,
        columns=columns,
        directed=directed,
        unweighted=unweighted,
        null_value=null_value,
        format=format,
        name=name,
    )
    start, where = clock(), device_of(graph.dense, device)
    if semiring is not None:
        with on_device(graph.dense):
            graph = _joining(graph, get(semiring))
    place = None if output is None else os.path.join(output, "")
    limits = Limits.of(memory, None, place, where="transitive_closure") or Limits()
    if gpus is not None and limits.memory is not None:
        raise ValueError(
            "transitive_closure: memory= holds one process to so much, got gpus= as well. Say one of them."
        )
    if place is not None:
        check_output(place, (".tiles",))
        refuse_overwriting(graph.dense, place, where="transitive_closure")
    first = 0 in getattr(gpus, "local_ranks", (0,))
    with limits.writing() if first else nullcontext(limits) as in_effect:
        wants = Wants.of(
            where="transitive_closure",
            schedule=schedule,
            block=block,
            callback=callback,
            threads=threads,
            device=where,
            gpus=gpus,
            limits=in_effect,
            packed=True,
        )
        found = answer(Question(graph, lor_land, wants))
        engine, seconds = found.engine, clock() - start
        assert isinstance(engine, Packed)
        c, closed = engine.condensation, engine.closed
        reached = Reachability(graph.labels, c, closed, reflexive, found.plan, seconds, graph)
        if in_effect.target is not None:
            save_into(Path(in_effect.target), reached)
    if place is not None and isinstance(closed, StoredBits):
        return replace(reached, closed=StoredBits(TileStore(place)))
    return reached


def _joining(graph: Graph, s: Semiring) -> Graph:
    """The same vertices, and the edges whose weights are not the semiring's zero."""
    if graph.dense is not None:
        A = graph.matrix(s)
        seen = survey(A, s, where="transitive_closure", null_undeclared=graph.null_undeclared)
        refuse_ambiguous(seen, s, where="transitive_closure")
        return replace(graph, dense=A != dtypes.zero(s, A.dtype), unit=False, nulls=None)
    rows, cols, weights = graph.edges(s)
    edges = weights != dtypes.zero(s, weights.dtype)
    return replace(graph, rows=rows[edges], cols=cols[edges], weights=None, directed=True)
