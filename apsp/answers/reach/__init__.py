"""`transitive_closure`: reachability in a graph; the answer is a `Reachability`."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from semiring.algebra import dtypes
from semiring.algebra.catalog import get, lor_land
from semiring.algebra.records import Semiring
from semiring.algebra.survey import survey
from semiring.host.compiling import clock
from semiring.host.devices import on_device
from semiring.host.spelling import refuse_texts
from semiring.host.types import Algebra
from semiring.kernels.backend import device_of
from semiring.kernels.observed import Callback
from semiring.stores.tiles import StoredBits, TileStore

from ...big.distributed.solving import WorldLike
from ...big.large.limits import Limits
from ...io.graph import Graph
from ...io.graph.nulls import refuse_ambiguous
from ...io.graph.ondisk import refuse_overwriting
from ...io.inputs import as_graph
from ...io.reading.options import BY_RULE, Columns, NullValue, Weight
from ...io.saving import check_output
from ...road.engines.packed import Packed
from ...road.question import Question
from ...road.road import answer
from ...road.types import EngineName, ScheduleName, Source
from ...road.wants import Wants
from .archives import save_into
from .reachability import Reachability


def transitive_closure(
    source: Source,
    *,
    reflexive: bool = False,
    engine: EngineName = "auto",
    schedule: ScheduleName = "auto",
    block: int | None = None,
    callback: Callback | None = None,
    device: str | None = None,
    threads: int | None = None,
    gpus: WorldLike | None = None,
    semiring: Algebra | None = None,
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
    """A⁺ = A ⊕ A² ⊕ … over the Boolean semiring: reachability by walks of at least one edge.

    A sparse graph is condensed to its strongly connected components. Their closure is kept in bits, or, where those are
    many or slow, as an index: labels, and a search for the few pairs that they leave open. The result's `plan`
    describes the method, and of an index how often labels decide.

    Parameters
    ----------
    source : graph
        As in `shortest_paths`; weights are ignored.
    reflexive : bool
        Include walks of no edge: A* = I ⊕ A⁺.
    engine : str
        "auto"; "united" for bits of components, "indexed" for the index, "dense" for bits of all vertices.
    schedule : str
        "auto", or a schedule, run on all vertices without condensation.
    block, callback, device, threads
        As in `closure`. Components and the answer are on the CPU.
    gpus : int, sequence of int or World, optional
        Close the condensation over several GPUs, as packed bits, as in `closure`.
    semiring : str or Semiring, optional
        Interprets weights: edges of this semiring's zero, such as probability 0 over "reliability", are dropped. By
        default every listed edge counts.
    memory : int or str, optional
        Bytes, or "16GiB", for the closure of the components. A larger one goes to `output` by columns, which are
        independent where arcs are few.
    output : path, optional
        A directory for the answer, as a store of tiles, for `Reachability.load`.
    weight, columns, directed, unweighted, null_value, format, name
        Reading options, as in `as_graph`.

    Raises
    ------
    MemoryNeeded, DomainError
        If no engine fits; if, with `semiring`, zeros of a matrix are ambiguous (`null_value` of `as_graph`).
    ValueError, OSError
        If `output` is the path of the graph's matrix; if it cannot be written.

    See Also
    --------
    closure, shortest_paths : As a matrix, over the Boolean semiring; distances.
    semiring.BitMatrix : The packed bits.

    Notes
    -----
    Components: O(n + m) (Purdom 1970; Nuutila 1995, "Efficient transitive closure computation in large digraphs").
    Closure of c components: c² / 8 bytes; by products c³ bit pairs, 64 at a time (Warshall 1962; Arlazarov, Dinic,
    Kronrod and Faradžev 1970); or, where arcs are few, by uniting rows, c / 64 words an arc (Goralčíková and Koubek
    1979). Index: O(c + arcs) to build, about 100 bytes a vertex of two arcs; sources in
    semiring/kernels/cpu/sparse/reach.py.

    Examples
    --------
    >>> from apsp import transitive_closure
    >>> t = transitive_closure([("a", "b"), ("b", "c")])
    >>> t.reaches("a", "c"), t.reaches("c", "a"), t.descendants("a")
    (True, False, ['b', 'c'])
    """
    graph = as_graph(
        source, weight=weight, columns=columns, directed=directed, unweighted=unweighted, null_value=null_value,
        format=format, name=name,
    )  # fmt: skip
    start, where = clock(), device_of(graph.dense, device)
    if semiring is not None:
        with on_device(graph.dense):
            graph = _joining(graph, get(semiring))
    refuse_texts("transitive_closure", reflexive=reflexive)
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
            where="transitive_closure", engine=engine, schedule=schedule, block=block, callback=callback,
            threads=threads, device=where, gpus=gpus, limits=in_effect, packed=True,
        )  # fmt: skip
        question = Question(graph, lor_land, wants)
        found = answer(question)
        packed, seconds = found.engine, clock() - start
        assert isinstance(packed, Packed)
        c, closed = packed.condensation, packed.closed
        reached = Reachability(graph.labels, c, closed, reflexive, found.plan, seconds, graph)
        if in_effect.target is not None:
            save_into(Path(in_effect.target), reached, output or "")
    if place is not None and isinstance(closed, StoredBits):
        return replace(reached, closed=StoredBits(TileStore(place)))
    return reached


def _joining(graph: Graph, s: Semiring) -> Graph:
    """The graph without edges of the semiring's zero, unweighted."""
    if graph.dense is not None:
        A = graph.matrix(s)
        seen = survey(A, s, where="transitive_closure", null_undeclared=graph.null_undeclared)
        refuse_ambiguous(seen, s, where="transitive_closure")
        return replace(graph, dense=A != dtypes.zero(s, A.dtype), unit=False, nulls=None)
    rows, cols, weights = graph.edges(s)
    edges = weights != dtypes.zero(s, weights.dtype)
    return replace(graph, rows=rows[edges], cols=cols[edges], weights=None, directed=True)
