"""`plan`: what `closure` would do, with the same input or with a number of vertices alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.types import Array, DType, Label

from .inputs import as_graph
from .large.limits import Limits
from .large.sources import matrix_or_graph
from .plans import Plan
from .problem import on_device_of
from .question import Question
from .reading.options import BY_RULE, NullValue, nulls_of
from .road import choose
from .wants import Wants

if TYPE_CHECKING:
    from .distributed.solving import WorldLike


def plan(
    A: Array,
    semiring: str | Semiring = "min_plus",
    *,
    schedule: str = "auto",
    block: int | None = None,
    dtype: DType = None,
    device: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    sources: Iterable[Label] | None = None,
    targets: Iterable[Label] | None = None,
    engine: str = "auto",
    order: Any = "auto",
    paths: bool = False,
    hub_labels: bool = False,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    gpus: WorldLike | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Plan:
    """What `closure` would do with these arguments, and why; nothing is computed.

    Parameters
    ----------
    A : array_like, graph, or int
        What `closure` takes, or the number of vertices alone (weights are then taken to be non-negative). Of a batch,
        the plan is that of one matrix after the other, and `beside_bytes` is what all of them take.
    semiring, schedule, block, dtype, device, overwrite, threads, unweighted, null_value, memory, checkpoint, output
        As in `closure`.
    sources, targets, engine, order, paths, hub_labels
        As in `shortest_paths`.
    gpus
        As in `closure`: the plan then has the grid, the bytes of each rank and of a machine, and those that are sent.

    Returns
    -------
    Plan

    Raises
    ------
    ShapeError, DTypeError, DomainError
        If A is not what `closure` takes: not square, not defined on the semiring, with NaN or values outside it.
    AlgebraError
        If there is no such semiring.
    VertexError
        If a label of sources or targets is not in the graph.
    ValueError
        If arguments do not go together, or come without the graph that they need.

    See Also
    --------
    closure, shortest_paths : The functions that compute.
    compare : Times that are measured, not predicted.
    semiring.sparse.analyse : The cost of eliminating a sparse matrix.

    Notes
    -----
    The entries of a matrix are surveyed, O(n²), as their signs decide which variant is permitted; of a number of
    vertices, nothing is. `Plan.beside_bytes` is memory in addition to the input.

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
    of_rows = sources is not None or targets is not None
    if isinstance(A, (int, np.integer)):
        if engine not in ("auto", "dense") or of_rows or unweighted or wants.nulls is not None:
            raise ValueError(
                "plan: engine=, sources=, targets=, unweighted= and null_value= must come with a graph, got "
                f"{A} vertices without edges. Pass the graph, or leave them out."
            )
    elif of_rows or engine != "auto" or wants.ordered:  # arguments of `shortest_paths`, not of `closure`
        A = as_graph(A, unweighted=unweighted, null_value=null_value)
        i, j = (None if x is None else A.labels.checked_positions(x, where="plan") for x in (sources, targets))
        wants = replace(wants, sources=i, targets=j, table=False)
    question = Question(matrix_or_graph(A, wants), get(semiring), wants)
    with on_device_of(question.source):
        return choose(question)
