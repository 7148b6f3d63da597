"""`closure`, the public function: the table of the chosen engine, in the kind of array passed in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.algebra.survey import survey
from semiring.dense.bits import BitMatrix
from semiring.dense.product import common
from semiring.host.arrays import in_kind_of, take_in
from semiring.host.devices import is_plain, module, on_device
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Algebra, Array, DType, Function, Tensor
from semiring.kernels.observed import Callback
from semiring.stores.tiles import TileStore
from semiring.tensors.gradients import TIES, asked_by, ties_error

from .big.distributed.solving import WorldLike
from .big.large.limits import Limits
from .big.large.sources import matrix_or_graph
from .doors.gradients.dispatch import differentiable, is_differentiated
from .io.graph.entries import over
from .io.graph.nulls import warn_of_ambiguous
from .io.reading.options import BY_RULE, NullValue, nulls_of
from .road.convergence.divergence import may_diverge
from .road.engines.streamed import written
from .road.question import Question
from .road.road import answer
from .road.wants import WANTS, Wants

if TYPE_CHECKING:
    from .comparison.steps import Steps
    from .road.types import Source, Work


#: Defaults of the options, of computation and of memory and disk, in the order of `closure`'s `given`.
PLAIN = "auto", False, False, "one", "raise", False, *[None] * 10


class Kind(NamedTuple):
    """An input kind that is not closed as one matrix or graph."""

    includes: Callable[[Any], bool]
    #: `close(A, semiring, …)`, with all options of `closure`.
    close: Function


@overload
def closure(
    A: Source, semiring: Algebra = ..., *, steps: Literal[True, "plain"], **work: Unpack[Work]
) -> tuple[np.ndarray, Steps]: ...
@overload
def closure(
    A: Source, semiring: Algebra = ..., *, output: str | os.PathLike[str], **work: Unpack[Work]
) -> TileStore: ...
@overload
def closure(  # type: ignore[overload-overlap] # as in the next but two: what is also a Source goes back in kind
    A: BitMatrix, semiring: Algebra = ..., **work: Unpack[Work]
) -> BitMatrix: ...
@overload
def closure(A: list[np.ndarray], semiring: Algebra = ..., **work: Unpack[Work]) -> list[np.ndarray]: ...
@overload
def closure(A: np.ndarray, semiring: Algebra = ..., **work: Unpack[Work]) -> np.ndarray: ...
@overload
def closure(A: Tensor, semiring: Algebra = ..., **work: Unpack[Work]) -> Tensor: ...  # type: ignore[overload-overlap]
@overload
def closure(A: Source, semiring: Algebra = ..., **work: Unpack[Work]) -> np.ndarray: ...
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
    steps: bool | Literal["plain"] = False,
    on_negative_cycle: str = "raise",
) -> Array:
    """A* = I ⊕ A ⊕ A² ⊕ …: all-pairs shortest paths in min-plus, reachability in the Boolean semiring.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n), a graph, or a list of arrays of shapes (n₁, n₁), (n₂, n₂), …
        Entry (i, j) is the edge i → j; a missing edge is the semiring's zero (inf in min-plus). NumPy, CuPy, PyTorch,
        JAX, DLPack, `__cuda_array_interface__`, or anything for `as_graph`. Over the Boolean semiring, also a
        `BitMatrix` on either device (2²⁰ vertices fit on one GPU). A list is padded to one batch.
    semiring : str or Semiring
        A name or alias of the catalog ("tropical", "boolean", "bottleneck", …), or your own.
    schedule : str
        "auto", "recursive" (R-Kleene), "blocked", "iterative", "bordering" (left-looking), "squaring" (O(n³ log n),
        idempotent ⊕), or "distributed" (one product a round); see README.md. A sparse graph is eliminated instead if
        predicted to be faster (see `shortest_paths`).
    block : int, optional
        The pivot block, at least 1; by default the backend's.
    dtype : dtype, optional
        Of the computation; by default A's own where the semiring allows it.
    device : {"cpu", "cuda"}, optional
        By default that of A.
    overwrite : bool
        Compute in A's memory and return A, which must be writeable (JAX never is) and of the computing dtype.
    callback : callable, optional
        `callback(done, total)` in pairs (n³ in total).
    threads : int, optional
        CPU threads (per rank, with `gpus`); all by default.
    per_thread : int, optional
        Elements per GPU thread in a step of the iterative schedule: 1 or 4.
    unweighted : bool
        Every edge weighs 1, and a bool matrix is a graph: see `as_graph`.
    null_value : number or None, optional
        An entry that is no edge, besides the semiring's zero: 0 for adjacency matrices of NetworkX and SciPy; None if
        all others, zeros too, are edges. By default they are, with a warning for a dense numeric matrix with zeros off
        the diagonal and no infinity.
    gpus : int, sequence of int or World, optional
        Distribute one host matrix over this number of GPUs, over GPUs by number, or over the ranks of an
        `apsp.big.distributed.world`; each fetches its part. `schedule` and `device` are ignored.
    memory : int or str, optional
        Bytes, or "16GiB", available to the computation: on a GPU, device memory, through which the matrix streams from
        the host; else process memory, through which it streams from a `TileStore`. A `np.memmap`, a
        `TileStore`, or anything with `shape`, `dtype` and A[a:b, c:d] (Zarr, HDF5, generated) is read by windows.
    checkpoint : path, optional
        A directory for the state of the closure. The same call continues after an interruption, with any block, memory
        and device (docs/stores.md).
    every : float, optional
        Seconds between checkpoints of a matrix in memory; 60 by default. A matrix on disk is its own checkpoint.
    output : path, optional
        A directory for the result, as a store of tiles.
    ties : {"one", "shared"}
        For gradients (PyTorch, JAX): they go to the edges of the path that `predecessors` finds, or are shared among
        all best paths (docs/gradients.md).
    steps : bool or "plain"
        Also return the intermediate matrices M₀, M₁, … (at most 32 vertices): one per vertex by default, per product or
        pivot block with another `schedule` and `block`. M₀ is I ⊕ A, where ⊕ is idempotent; with "plain" A.
    on_negative_cycle : {"raise", "-inf"}
        With "-inf", entry (i, j) is −∞ if walks i → j pass a negative cycle, others are unaffected (+∞ where ⊕ keeps
        the greatest, 0 over min_times). For floats, in memory, without gradient.

    Returns
    -------
    TileStore
        With `output`, or if only the checkpoint holds the result.
    (array, apsp.comparison.Steps)
        With `steps`.
    array, shape of A
        Otherwise: in A's library, device and stream (NumPy, CuPy, PyTorch, JAX, array API), differentiable as A is.
        float16 and bfloat16 become float32. The diagonal is `one` or better: a closure is reflexive. For a list, a
        list.

    Raises
    ------
    DivergenceError
        If the closure does not exist; in min-plus a `NegativeCycleError`, which names a cycle. See `on_negative_cycle`.
    ShapeError, DTypeError, DomainError
        If A is not square, has no such dtype on this semiring, or holds NaN or values outside it; if integers of both
        signs overflow, see Notes.
    ValueError, MemoryNeeded
        If arguments are incompatible; if the computation does not fit, before any work.

    Warns
    -----
    AmbiguityWarning
        If zeros may be edges or none; see `null_value`.

    See Also
    --------
    shortest_paths, transitive_closure : Labelled graphs with paths; packed reachability of sparse graphs.
    plan : Prediction of method, memory and time.
    predecessors, next_hops : Paths of a closure.
    semiring.matmul : One product.

    Notes
    -----
    Integers saturate at the dtype's maximum, ∞; a distance that fits is exact. With edges of both signs, a partial sum
    might overflow: the closure is then repeated in int32 or int64, with a new check of memory; int64, in-place,
    distributed and limited closures raise instead. A cycle of m edges that is negative only by rounding, up to
    2√m · eps times its largest partial sum, is ignored; where sums are exact, the sign decides. Over (+, ×) there is no
    limit if rounding cannot separate the spectral radius from 1.

    O(n³): a dense closure takes n³ pairs (one ⊕ with one ⊗), squaring log₂ n times as many; next to n² entries, the
    workspace that `plan` counts. Sources: recursion, D'Alberto and Nicolau 2007, section 3, and Buluç, Gilbert and
    Budak 2010, section 3.1; blocks, Venkataraman, Sahni and Mukhopadhyaya 2003, section 3; iterative, Floyd 1962 and
    Warshall 1962; algebra, Lehmann 1977, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure
    >>> closure([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    array([[0., 4., 5.],
           [3., 0., 1.],
           [2., 6., 0.]])
    """
    given = (
        schedule, overwrite, unweighted, ties, on_negative_cycle, steps, block, device, callback, gpus, threads,
        per_thread, memory, checkpoint, output, every,
    )  # fmt: skip
    plain = type(A) is np.ndarray or is_plain(A)
    # By identity: to NumPy, `np.dtype(np.float64) == None`.
    if plain and null_value is BY_RULE and dtype is None and given == PLAIN:
        question = Question(A, get(semiring), WANTS)
        return question.in_kind(answer(question).engine.storage)
    work: dict[str, Any] = {
        "schedule": schedule, "block": block, "dtype": dtype, "device": device, "overwrite": overwrite,
        "callback": callback, "gpus": gpus, "threads": threads, "per_thread": per_thread, "unweighted": unweighted,
    }  # fmt: skip
    if on_negative_cycle != "raise":
        work["on_negative_cycle"] = on_negative_cycle
    storage: dict[str, Any] = {"memory": memory, "checkpoint": checkpoint, "output": output, "every": every}
    for kind in () if plain else KINDS:
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
    limits = Limits.of(**storage, where="closure")
    with Limits.output_context(limits, gpus) as in_effect:
        wants = Wants.of(where="closure", nulls=nulls_of(null_value), limits=in_effect, table=True, **work)
        question = Question(matrix_or_graph(A, wants), algebra, wants)
        if steps:
            from .comparison.steps import closure_and_steps

            return closure_and_steps(question, steps)
        answered = answer(question)
        if in_effect is not None:
            answered = written(answered, in_effect, algebra, callback)
    return question.in_kind(answered.engine.storage) if output is None else TileStore(output)


#: Options of a closure that hold for batches too.
WORK = ("schedule", "block", "device", "threads", "per_thread", "ties", "on_negative_cycle")
#: Padding to one size is limited to this multiple of the entries; beyond, several sizes.
WASTE = 4


def is_list_of_matrices(A: Array) -> bool:
    """Whether A is a non-empty list or tuple of square arrays."""
    if not isinstance(A, (list, tuple)):
        return False
    shapes: list[Any] = [getattr(X, "shape", ()) for X in A]
    return bool(shapes) and all(len(shape) == 2 and shape[0] == shape[1] for shape in shapes)


def closed_together(
    matrices: Sequence[Array],
    semiring: str | Semiring,
    *,
    dtype: DType,
    unweighted: bool,
    null_value: NullValue,
    **options: Any,
) -> list[Array]:
    """The closures, in kind, by batches; ValueError for options of single matrices."""
    work = {name: options[name] for name in WORK if name in options}
    for name, value in options.items():
        if name not in WORK and value is not None and value is not False:
            raise ValueError(
                f"closure: {name} must be left out of a list of matrices, got {name}={came(value)}. Pass one matrix "
                "at a time, or an array of shape (batch, n, n)."
            )
    s, nulls = get(semiring), nulls_of(null_value)
    close: Function = partial(closure, semiring=semiring, **work)
    sizes = [int(X.shape[0]) for X in matrices]
    n, library = max(sizes), asked_by(*matrices)
    if library:
        xp: Any = sys.modules["torch"] if library == "torch" else sys.modules["jax"].numpy
        pad, word = (xp.nn.functional.pad, "value") if library == "torch" else (xp.pad, "constant_values")
        margins = [(0, n - k, 0, n - k) if library == "torch" else ((0, n - k),) * 2 for k in sizes]
        padded = [pad(X, by, **{word: s.zero}) for X, by in zip(matrices, margins, strict=True)]
        if nulls is None and library == "torch":
            _warn([take_in(X.detach(), where="closure").array for X in matrices], s)
        entries = {"dtype": dtype, "unweighted": unweighted, "null_value": nulls[0] if nulls else None}
        closures = close(xp.stack(padded), overwrite=False, **entries)  # refuses what has no derivative
        return [D[:k, :k] for D, k in zip(closures, sizes, strict=True)]
    taken = [take_in(X, where="closure") for X in matrices]
    with on_device(in_kind_of(*taken, where="closure").array):
        arrays = [X.array for X in taken]
        if unweighted or nulls is not None:
            arrays = [over(X, s, dtype, nulls=nulls, unweighted=unweighted, where="closure") for X in arrays]
        arrays = common(arrays, s, dtype, where="closure")
        if not unweighted and nulls is None:
            _warn(arrays, s)
        xp = module(arrays[0])
        found: list[Any] = [None] * len(arrays)
        padding = len(sizes) * n * n > WASTE * sum(k * k for k in sizes)
        for group in sorted({k.bit_length() for k in sizes} if padding else {0}):
            chosen = [i for i, k in enumerate(sizes) if not padding or k.bit_length() == group]
            m = max(sizes[i] for i in chosen)
            needed = len(chosen) * m * m * arrays[0].dtype.itemsize
            require(needed, "cpu" if xp.__name__ == "numpy" else "cuda", where="closure", hint="Pass fewer at a time.")
            batch = xp.full((len(chosen), m, m), dtypes.zero(s, arrays[0].dtype), arrays[0].dtype)
            for A, i in zip(batch, chosen, strict=True):
                A[: sizes[i], : sizes[i]] = arrays[i]
            # Inputs must survive possible divergence, or repetition in a wider dtype.
            kept = s.idempotent and any(may_diverge(s, survey(X, s, where="closure"), m) for X in arrays)
            for D, i in zip(
                close(batch, overwrite=not (kept or "on_negative_cycle" in work), null_value=None), chosen, strict=True
            ):
                found[i] = taken[i].give_back(D[: sizes[i], : sizes[i]].copy(), where="closure")
    return found


def _warn(arrays: Sequence[Array], s: Semiring) -> None:
    """Warn of ambiguous zeros before padding would decide them."""
    for X in arrays:
        warn_of_ambiguous(survey(X, s, where="closure", null_undeclared=True), s, where="closure")


#: Inputs other than one matrix, a batch of one shape, or a graph.
KINDS = (Kind(is_list_of_matrices, closed_together), Kind(is_differentiated, differentiable))
