"""`closure`, the public function: it finds out which way A goes, and gives the result back in kind.

A matrix takes the road of apsp/solve.py; a graph with a list of edges is eliminated where that takes less; several GPUs
are apsp/distributed's, and limits of memory apsp/large's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.memory import require
from semiring.observed import Callback
from semiring.tiles import TileStore

from .choosing import Asked, Question
from .eliminating import eliminated
from .engines.base import host
from .graph import Graph
from .graph.nulls import Nulls, warn_of_ambiguous
from .inputs import as_graph
from .large.closing import Large
from .large.limits import Limits
from .large.sources import has_windows, matrix_or_graph
from .log import tell
from .problem import Request, at, is_sparse, pose
from .reading.options import BY_RULE, NullValue, nulls_of
from .solve import solve

if TYPE_CHECKING:
    from .distributed.solving import Places


def closure(
    A: Any,
    semiring: str | Semiring = "min_plus",
    *,
    schedule: str = "auto",
    block: int | None = None,
    dtype: Any = None,
    device: str | None = None,
    overwrite: bool = False,
    callback: Callback | None = None,
    threads: int | None = None,
    per_thread: int | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    gpus: Places | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Any:
    """A* = I ⊕ A ⊕ A² ⊕ …: all-pairs shortest paths in min-plus, reachability in the Boolean semiring.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n), or a graph
        Entry (i, j) is the edge from i to j; a missing edge is the semiring's zero (inf in min-plus). NumPy, CuPy,
        PyTorch and JAX arrays, anything with DLPack or `__cuda_array_interface__`; also whatever `as_graph` takes.
        Over the Boolean semiring, a `BitMatrix` on either device: the closure of 2²⁰ vertices fits on one GPU so.
    semiring : str or Semiring
        A name or alias from the catalog ("tropical", "boolean", "bottleneck", …), or your own.
    schedule : str
        "auto", "recursive" (R-Kleene), "blocked", or "iterative". A graph with a list of edges is eliminated instead
        where that is predicted to take less (see `shortest_paths`).
    block : int, optional
        The pivot block, at least 1; the backend's own by default.
    dtype : dtype, optional
        The dtype to compute in; A's own where the semiring allows it.
    device : {"cpu", "cuda"}, optional
        Where to compute; by default where A lies.
    overwrite : bool
        Compute in A's own memory and return that very object. A must then be writeable (JAX arrays never are) and
        already of the computing dtype.
    callback : callable, optional
        `callback(done, total)`, called as work proceeds, in pairs (n³ in total).
    threads : int, optional
        CPU threads; all available by default.
    per_thread : int, optional
        Elements a GPU thread updates in one step of the iterative schedule: 1 or 4.
    unweighted : bool
        Every edge weighs 1, and a matrix of bool is a graph: see `as_graph`.
    null_value : number or None, optional
        An entry that is no edge, beside the semiring's zero: 0 for adjacency matrices as NetworkX and SciPy write them;
        None where all others are edges, zeros too. Without it they are, and a matrix in which nothing else tells of
        missing edges gets a warning: numbers of which none is negative or infinite, with zeros off the diagonal.
    gpus : int, sequence of int or World, optional
        Spread one matrix on the host over so many GPUs of this machine, over those of these numbers, or over the ranks
        of an `apsp.distributed.world`; each fetches its own part. `schedule` and `device` play no part then.
    memory : int or str, optional
        Bytes, or such as "16GiB", to which the computation is held: on a GPU those of the device, through which the
        matrix then streams from memory of the host; else those of this process, through which it streams from a
        `semiring.tiles.TileStore`. Of a `np.memmap`, a `TileStore`, or anything with `shape`, `dtype` and A[a:b, c:d]
        (an array of Zarr or HDF5, or an object that makes entries up), windows alone are read.
    checkpoint : path, optional
        A directory for the state of the closure. After an interruption the same call continues from there, with any
        block, memory and device (docs/stores.md).
    every : float, optional
        Seconds between two checkpoints of a matrix in memory; 60 by default. A matrix on disk is its own.
    output : path, optional
        A directory for the result, as a store of tiles.

    Returns
    -------
    TileStore
        With `output`, or where only the checkpoint holds the result. Otherwise:
    array, shape of A
        Of the library that A is from, on its device and in the order of its stream: NumPy, CuPy, PyTorch, JAX or any
        with the array API. Numbers of 16 bits, float16 and bfloat16, are computed and returned in float32. The
        diagonal is `one` or better: a closure is reflexive.

    Raises
    ------
    DivergenceError
        If the closure does not exist; in min-plus `NegativeCycleError`, which names a cycle.
    ShapeError, DTypeError, DomainError
        If A is not square, is not defined on this semiring, or holds NaN or values outside it.
    ValueError
        If arguments do not go together.
    MemoryNeeded
        If it does not fit, before any work.

    Warns
    -----
    AmbiguityWarning
        If zeros may be edges of weight 0 or no edges; see `null_value`.

    Notes
    -----
    Integers saturate at the dtype's maximum, which stands for ∞. A cycle of m edges that only rounding makes negative,
    by no more than 2√m · eps times the largest sum along a part of it, is none; where its sums are exact, the sign
    decides. In (+, ×) there is no limit where rounding cannot tell the spectral radius from 1. The recursion is
    D'Alberto and Nicolau 2007, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure
    >>> closure([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    array([[0., 4., 5.],
           [3., 0., 1.],
           [2., 6., 0.]])
    """
    s, nulls = get(semiring), nulls_of(null_value)
    request = Request.of(schedule=schedule, block=block, callback=callback, threads=threads, per_thread=per_thread)
    limits = Limits.of(memory, checkpoint, output, every)
    if overwrite and limits is not None:
        raise ValueError(
            "closure: overwrite=True computes in A's own memory, got memory=, checkpoint= or output= beside it, which "
            "compute elsewhere. Leave one of them out."
        )
    if gpus is not None:
        from .distributed import solving

        asked: dict[str, Any] = {"dtype": dtype, "overwrite": overwrite, "unweighted": unweighted, "nulls": nulls}
        return solving.closure(A, s, request, gpus, limits, **asked)
    if limits is not None:
        return _within(A, s, request, limits, nulls, dtype=dtype, device=device, unweighted=unweighted)
    with at(A):
        if not overwrite and is_sparse(A):
            graph = as_graph(A, unweighted=unweighted, null_value=null_value)
            question = Question(graph, s, request, Asked(dtype=dtype, device=device, table=True))
            if not question.matrix_alone and question.plan.engine == "elimination":
                hint = "Use a smaller dtype, or shortest_paths, whose Result answers without a matrix."
                require(question.plan.beside_bytes, question.device, where="closure", hint=hint)
                tell(question.plan, callback, stacklevel=3)
                return host(eliminated(question).table())
            A = graph
            del question
        asked = {"dtype": dtype, "overwrite": overwrite, "unweighted": unweighted, "nulls": nulls}
        posed = pose(A, s, request, device=device, **asked)
        warn_of_ambiguous(posed.problem.seen, s, where="closure")
        return posed.in_kind(solve(posed.problem, request).matrix)


def _within(
    A: Any, s: Semiring, request: Request, limits: Limits, nulls: Nulls, *, unweighted: bool, **asked: Any
) -> Any:
    """The closure within limits of memory, kept and written as they say."""
    source = matrix_or_graph(A, unweighted=unweighted, nulls=nulls)
    with limits.writing() as kept:
        large = Large.asked(source, s, kept, request, nulls=nulls, **asked)
        warn_of_ambiguous(large.source.looked_at[0], s, where="closure")
        if large.ordinary:
            large.check()
            options = {**request.options, "schedule": request.schedule, "block": request.block}
            A = large.source.whole() if has_windows(source) or nulls else source
            if isinstance(A, Graph):
                A = A.having(nulls=()) if A.null_unsaid else A
            else:
                options["null_value"] = None  # they are edges, which has been told of
            found = large.given(np.asarray(closure(A, s, callback=request.callback, **options, **asked)))
        else:
            found = large.close(request.callback, stacklevel=5)
    return found if limits.output is None else TileStore(limits.output)
