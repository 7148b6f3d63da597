"""`closure`, the public function: the table of the engine that answers, in kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.gradients import TIES, ties_error
from semiring.observed import Callback
from semiring.spelling import came
from semiring.tiles import TileStore
from semiring.types import Array, DType

from .engines.streamed import written
from .gradients.dispatch import differentiable, is_differentiated
from .large.limits import Limits
from .large.sources import matrix_or_graph
from .padding import closed_together, is_list_of_matrices
from .question import Question
from .reading.options import BY_RULE, NullValue, nulls_of
from .repeated import ENTRIES, WANTS, on_current_device, remember, repeat
from .road import answer
from .wants import Wants

if TYPE_CHECKING:
    from .distributed.solving import WorldLike


#: The options that decide how the work is done, and those of memory and disks, as they are by default.
PLAIN = dict.fromkeys(("block", "dtype", "device", "callback", "gpus", "threads", "per_thread"))
PLAIN |= {"schedule": "auto", "overwrite": False, "unweighted": False}
UNLIMITED = dict.fromkeys(("memory", "checkpoint", "output", "every"))


class Kind(NamedTuple):
    """A kind of input that is not closed as one matrix or graph."""

    includes: Callable[[Any], bool]
    #: `close(A, semiring, …)`, with all options of `closure`.
    close: Callable[..., Any]


def closure(
    A: Array,
    semiring: str | Semiring = "min_plus",
    *,
    schedule: str = "auto",
    block: int | None = None,
    dtype: DType = None,
    device: str | None = None,
    overwrite: bool = False,
    callback: Callback | None = None,
    threads: int | None = None,
    per_thread: int | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    gpus: WorldLike | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float | None = None,
    output: str | os.PathLike[str] | None = None,
    ties: str = "one",
    steps: bool = False,
    on_negative_cycle: str = "raise",
) -> Any:
    """A* = I ⊕ A ⊕ A² ⊕ …: all-pairs shortest paths in min-plus, reachability in the Boolean semiring.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n), a graph, or a list of arrays of shapes (n₁, n₁), (n₂, n₂), …
        Entry (i, j) is the edge from i to j; a missing edge is the semiring's zero (inf in min-plus). NumPy, CuPy,
        PyTorch and JAX arrays, anything with DLPack or `__cuda_array_interface__`; also whatever `as_graph` takes.
        Over the Boolean semiring, a `BitMatrix` on either device: the closure of 2²⁰ vertices fits on one GPU so.
        Matrices of a list are padded to one batch, and closed together.
    semiring : str or Semiring
        A name or alias from the catalog ("tropical", "boolean", "bottleneck", …), or your own.
    schedule : str
        "auto", "recursive" (R-Kleene), "blocked", "iterative", "bordering" (left-looking), "squaring" (O(n³ log n), of
        an idempotent ⊕), or "distributed" (one product a round); README.md compares them. A graph with a list of edges
        is eliminated instead where that is predicted to take less (see `shortest_paths`).
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
        CPU threads, with `gpus` those of each rank; all available by default.
    per_thread : int, optional
        Elements a GPU thread updates in one step of the iterative schedule: 1 or 4.
    unweighted : bool
        Every edge weighs 1, and a matrix of bool is a graph: see `as_graph`.
    null_value : number or None, optional
        An entry that is no edge, other than the semiring's zero: 0 for adjacency matrices as NetworkX and SciPy write
        them; None where all others are edges, zeros too. Without it they are, and a dense matrix of numbers with zeros
        off the diagonal, where no entry is infinite, gets a warning.
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
    ties : {"one", "shared"}
        Where a tensor of PyTorch requires gradients, or JAX traces: whether the gradient goes to the edges of the one
        best path that `predecessors` finds, or is shared among all best paths by their number (docs/gradients.md).
    steps : bool
        Also return the matrices M₀, M₁, … that the schedule goes through, of at most 32 vertices, to print and to draw:
        one a vertex by default, one a product or pivot block with another `schedule`, and `block`.
    on_negative_cycle : {"raise", "-inf"}
        With "-inf", an entry (i, j) is −∞ where walks from i to j pass a cycle of negative weight, and all others are
        those of the rest; +∞ where ⊕ keeps the greatest, 0 over min_times. Of floats, in memory and without gradient.

    Returns
    -------
    TileStore
        With `output`, or where only the checkpoint holds the result. Otherwise:
    (array, apsp.comparison.Steps)
        With `steps`. Otherwise:
    array, shape of A
        Of the library that A is from, on its device and in the order of its stream: NumPy, CuPy, PyTorch, JAX or any
        with the array API. Numbers of 16 bits, float16 and bfloat16, are computed and returned in float32. The
        diagonal is `one` or better: a closure is reflexive. With a gradient where A requires one (docs/gradients.md).
        Of a list of arrays, a list.

    Raises
    ------
    DivergenceError
        If the closure does not exist; in min-plus `NegativeCycleError`, which names a cycle. See `on_negative_cycle`.
    ShapeError, DTypeError, DomainError
        If A is not square, is not defined on this semiring, or holds NaN or values outside it; or if integers of both
        signs do not hold a walk, see Notes.
    ValueError
        If arguments do not go together.
    MemoryNeeded
        If it does not fit, before any work.

    Warns
    -----
    AmbiguityWarning
        If zeros may be edges of weight 0 or no edges; see `null_value`.

    See Also
    --------
    shortest_paths : The same of a graph whose vertices have names; answers distances and paths.
    transitive_closure : Reachability, packed, of graphs that may be sparse.
    plan : What this would do, and how long it would take.
    predecessors, next_hops : The paths of a closure.
    semiring.matmul : One product.

    Notes
    -----
    Integers saturate at the dtype's maximum, which stands for ∞; a distance that fits is exact. With edges of both
    signs it might be lost to a part of its walk that does not fit: the closure is then computed again in int32 or
    int64, for which memory is asked anew; of int64, in place, over several ranks and within limits it is refused. A
    cycle of m edges that only rounding makes negative, by no more than 2√m · eps times the largest sum along a part of
    it, is none; where its sums are exact, the sign decides. In (+, ×) there is no limit where rounding cannot tell the
    spectral radius from 1.

    O(n³): a dense matrix takes n³ pairs, each one ⊕ with one ⊗, and next to its n² entries a workspace that `plan`
    counts in bytes; squaring takes log₂ n times as many. The recursion is D'Alberto and Nicolau 2007, section 3, and
    Buluç, Gilbert and Budak 2010, section 3.1; the blocks Venkataraman, Sahni and Mukhopadhyaya 2003, section 3; the
    iterative schedule Floyd 1962 and Warshall 1962; the algebra Lehmann 1977, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure
    >>> closure([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    array([[0., 4., 5.],
           [3., 0., 1.],
           [2., 6., 0.]])
    """
    work: dict[str, Any] = {
        "schedule": schedule,
        "block": block,
        "dtype": dtype,
        "device": device,
        "overwrite": overwrite,
        "callback": callback,
        "gpus": gpus,
        "threads": threads,
        "per_thread": per_thread,
        "unweighted": unweighted,
    }
    if on_negative_cycle != "raise":
        work["on_negative_cycle"] = on_negative_cycle
    storage: dict[str, Any] = {"memory": memory, "checkpoint": checkpoint, "output": output, "every": every}
    for kind in () if type(A) is np.ndarray else KINDS:
        if kind.includes(A):
            return kind.close(A, semiring, ties=ties, steps=steps, null_value=null_value, **work, **storage)
    if ties not in TIES:
        raise ties_error(ties, "closure")
    if steps and "on_negative_cycle" in work:
        raise ValueError(
            "closure: steps=True must be without on_negative_cycle=, as a schedule goes through the matrix with its "
            f"cycles, got on_negative_cycle={came(on_negative_cycle)}. Leave one of them out."
        )
    large = {"memory": memory, "checkpoint": checkpoint, "output": output, "gpus": gpus}
    if steps and large != dict.fromkeys(large):
        got = ", ".join(f"{name}={came(value)}" for name, value in large.items() if value is not None)
        raise ValueError(
            "closure: steps=True must be without memory=, checkpoint=, output= and gpus=, which are for large "
            f"matrices, got {got}. Leave steps out, or those."
        )
    algebra = get(semiring)
    small = A.size <= ENTRIES if type(A) is np.ndarray else on_current_device(A)
    plain = small and not steps and null_value is BY_RULE
    plain = plain and work == PLAIN and storage == UNLIMITED
    if plain:
        question = Question(A, algebra, WANTS)
        if (repeated := repeat(question)) is not None:
            return repeated
    limits = Limits.of(**storage, where="closure")
    with Limits.output_context(limits, gpus) as in_effect:
        wants = Wants.of(where="closure", nulls=nulls_of(null_value), limits=in_effect, table=True, **work)
        question = Question(matrix_or_graph(A, wants), algebra, wants)
        if steps:
            from .comparison.steps import closure_and_steps

            return closure_and_steps(question)
        answered = answer(question)
        if in_effect is not None:
            answered = written(answered, in_effect, algebra, callback)
    if plain:
        remember(question, answered.plan)
    engine = answered.engine
    return question.in_kind(engine.storage) if output is None else TileStore(output)


#: All others are one matrix, a batch of one shape, or a graph.
KINDS = (Kind(is_list_of_matrices, partial(closed_together, closure)), Kind(is_differentiated, differentiable))
