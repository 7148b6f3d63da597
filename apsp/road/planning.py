"""`plan`: the method of `closure` for an input, or for a number of vertices alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.algebra.catalog import get
from semiring.host.types import Algebra, DType, Label

from ..big.distributed.solving import WorldLike
from ..big.large.limits import Limits
from ..big.large.sources import matrix_or_graph
from ..io.quantities import Weighed, rereadable
from ..io.reading.options import BY_RULE, NullValue, Weight, nulls_of
from .packing import carrying
from .plans import Plan
from .question import Question
from .road import choose
from .turned import expanded, over_copies
from .types import EngineName, ScheduleName, Source
from .wants import Wants


def plan(
    A: Source | int,
    semiring: Algebra = "min_plus",
    *,
    schedule: ScheduleName = "auto",
    block: int | None = None,
    dtype: DType = None,
    device: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    sources: Iterable[Label] | None = None,
    targets: Iterable[Label] | None = None,
    engine: EngineName = "auto",
    order: Any = "auto",
    paths: bool = False,
    hub_labels: bool = False,
    weight: Weight = BY_RULE,
    along: Any = None,
    turns: Any = None,
    u_turns: float | None = None,
    ways: Any = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    gpus: WorldLike | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Plan:
    """Plan `closure` or `shortest_paths`, with reasons; nothing is computed.

    Parameters
    ----------
    A : array_like, graph, or int
        As in `closure`, or the number of vertices (assuming non-negative weights). For a batch, the plan of one matrix,
        with `beside_bytes` for all.
    semiring, schedule, block, dtype, device, overwrite, threads, unweighted, null_value, memory, checkpoint, output
        As in `closure`.
    sources, targets, engine, order, paths, hub_labels, weight, along, turns, u_turns, ways
        As in `shortest_paths`; with turns, n counts the copies of vertices. Of quantities along paths, the reason says
        which are packed into the lengths, in how many bits, and which are added up along predecessors, and why; dtype,
        memory and time are of these lengths.
    gpus
        As in `closure`: adds the grid, bytes of each rank and machine, and traffic.

    Raises
    ------
    ShapeError, DTypeError, DomainError
        If `closure` does not accept A: not square, no such dtype on the semiring, NaN or values outside it. If a list
        of weights does not fit 62 bits, or has no common unit.
    AlgebraError, VertexError
        If the semiring is unknown; if a label of sources or targets is unknown.
    ValueError
        If arguments are incompatible, or need a graph.

    See Also
    --------
    closure, shortest_paths, compare : The computation; measured times.
    semiring.sparse.analyse : The cost of a sparse elimination.

    Notes
    -----
    A matrix is surveyed, O(n²), as signs decide the variant; quantities are, as bounds decide how many bits they take:
    O(n²), of a list of edges at most two searches. `Plan.beside_bytes` is memory beyond the input.

    Examples
    --------
    >>> from apsp import plan
    >>> plan(4096, dtype="float32").schedule
    'recursive'
    """
    engine = "elimination" if hub_labels and engine == "auto" else engine
    wants = Wants.of(
        where="plan",
        schedule=schedule,
        block=block,
        threads=threads,
        dtype=dtype,
        device=device,
        engine=engine,
        order=order,
        paths=paths,
        hub_labels=hub_labels,
        overwrite=overwrite,
        unweighted=unweighted,
        nulls=nulls_of(null_value),
        gpus=gpus,
        limits=Limits.of(memory, checkpoint, output, where="plan"),
        table=engine == "auto" and sources is None and targets is None and not paths,  # as `closure` returns it
        dry=True,
    )
    of_rows, turning = sources is not None or targets is not None, not turns is u_turns is ways is None
    weighed = turning or weight is not BY_RULE or along is not None
    read, turned, note = None, None, ""
    if isinstance(A, (int, np.integer)):
        if engine not in ("auto", "dense") or of_rows or weighed or unweighted or wants.nulls is not None:
            raise ValueError(
                "plan: engine=, sources=, targets=, weight=, along=, turns=, unweighted= and null_value= must come "
                f"with a graph, got {A} vertices without edges. Pass the graph, or leave them out."
            )
    elif of_rows or weighed or engine != "auto" or wants.ordered:  # arguments of `shortest_paths`, not of `closure`
        source = rereadable(A) if isinstance(ways, (str, int)) else A
        read = Weighed.read(source, weight, along, unweighted=unweighted, null_value=null_value)
        A = read.graph
        i, j = (None if x is None else A.labels.checked_positions(x, where="plan") for x in (sources, targets))
        wants = replace(wants, sources=i, targets=j, table=False)
        if turning:
            turned = expanded(source, A, get(semiring), turns, u_turns, ways, {})
            A, wants, note = turned.graph, over_copies(wants, turned), f"; {turned.note}"
    question = Question(matrix_or_graph(A, wants), get(semiring), wants)
    if read is not None and read.given:
        quantities = {name: x if turned is None else turned.along(x) for name, x in read.given.items()}
        packing = carrying(question, read.weight, quantities, read.ordered)
        question, note = packing.asked, packing.note + note
    with question.on_device:
        found = choose(question)
    return replace(found, reason=found.reason + note)
