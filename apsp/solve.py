"""The pipeline: check → plan → verbs in a schedule's order → settle. `closure` and `plan` are its public face."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import asarray, conform, module
from semiring.backend import Backend, bind, device_of
from semiring.bits import BitMatrix
from semiring.catalog import get
from semiring.cycles import restore, reweight
from semiring.dtypes import Survey
from semiring.errors import DivergenceError, DTypeError, ShapeError
from semiring.memory import require
from semiring.observed import Callback, Clock, Observed, Progress

from . import divergence, schedules, settle
from .graph import Graph
from .plans import Plan, make_plan

_HINT = "Use a smaller dtype, overwrite=True, or the Boolean semiring if only reachability matters."


@dataclass(frozen=True)
class Solved:
    """A closure with how it came about: the plan, the seconds it took, and those of each verb where timed."""

    matrix: Any
    plan: Plan
    seconds: float
    phases: dict[str, float]


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
) -> Any:
    """A* = I ⊕ A ⊕ A² ⊕ …: all-pairs shortest paths in min-plus, reachability in the Boolean semiring.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n), or a graph
        Entry (i, j) is the edge from i to j; a missing edge is the semiring's zero (inf in min-plus). NumPy and
        CuPy arrays, anything with DLPack or `__cuda_array_interface__`; also whatever `as_graph` takes. Over the
        Boolean semiring, a `BitMatrix` on either device: the closure of 2²⁰ vertices fits on one GPU so.
    semiring : str or Semiring
        A name or alias from the catalog ("tropical", "boolean", "bottleneck", …), or your own.
    schedule : str
        "auto", "recursive" (R-Kleene), "blocked", or "iterative".
    block : int, optional
        The pivot block, at least 1; the backend's own by default.
    dtype : dtype, optional
        The dtype to compute in; A's own where the semiring allows it.
    device : {"cpu", "cuda"}, optional
        Where to compute; by default where A lies.
    overwrite : bool
        Compute in A's own memory and return A. A must then be writeable and already of the computing dtype.
    callback : callable, optional
        `callback(done, total)`, called as work proceeds, in pairs (n³ in total).
    threads : int, optional
        CPU threads; all available by default.
    per_thread : int, optional
        Elements a GPU thread updates in one step of the iterative schedule: 1 or 4.

    Returns
    -------
    array, shape of A
        NumPy for NumPy, CuPy for CuPy. The diagonal is `one` or better: a closure is reflexive.

    Raises
    ------
    DivergenceError
        If the closure does not exist; in min-plus `NegativeCycleError`, which names a cycle.
    ShapeError, DTypeError, DomainError
        If A is not square, is not defined on this semiring, or holds NaN or values outside it.
    MemoryNeeded
        If it does not fit, before any work.

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
    s = get(semiring)
    if isinstance(A, BitMatrix):
        return _bits(A, s, schedule, block, device, overwrite, callback, _options(threads, per_thread))
    array, ours = _array(A, s, dtype)
    options: dict[str, Any] = {
        "schedule": schedule,
        "block": block,
        "device": device,
        "overwrite": overwrite,
        "backend_options": _options(threads, per_thread),
    }
    if overwrite:
        _check_overwrite(A, array, s, dtype)
        fitted = array
    else:
        fitted = conform(array, s, dtype, where="closure")
    ours |= fitted is not array
    del array  # where it was made here and converted since
    if fitted.ndim == 3:
        return _batch(fitted, s, options, callback, ours)
    return solve(fitted, s, fresh=ours, callback=callback, **options).matrix


def plan(
    A: Any,
    semiring: str | Semiring = "min_plus",
    *,
    schedule: str = "auto",
    block: int | None = None,
    dtype: Any = None,
    device: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
) -> Plan:
    """What `closure` would do with these arguments, and why; nothing is computed.

    Parameters
    ----------
    A : array_like, graph, or int
        What `closure` takes, or the number of vertices alone (weights are then taken to be non-negative). Of a batch,
        the plan is that of one matrix after the other, and `beside_bytes` is what all of them take.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from apsp import plan
    >>> plan(4096, dtype="float32").schedule
    'recursive'
    """
    s = get(semiring)
    asked: dict[str, Any] = {"schedule": schedule, "block": block}
    if isinstance(A, (int, np.integer)):
        preferred = "float64" if "float64" in s.dtypes else s.dtypes[0]
        resolved = dtypes.resolve(s, dtype or preferred, where="plan")
        ops = bind(s, resolved, device=device_of(None, device), nonnegative=True, **_options(threads, None))
        return make_plan(int(A), s, ops, **asked, nonnegative=True, **_held(ops, int(A), reuse=overwrite))
    array, ours = _array(A, s, dtype)
    fitted = conform(array, s, dtype, where="plan")
    ours |= fitted is not array
    n, where = fitted.shape[-1], device_of(fitted, device)
    seen = dtypes.survey(fitted, s, where="plan")
    nonnegative = dtypes.fast(seen, s, fitted.dtype, n)
    ops = bind(s, fitted.dtype, device=where, nonnegative=nonnegative, **_options(threads, None))
    # A batch is copied as a whole, and each matrix is closed in that copy.
    copied = not overwrite and (ours or fitted.ndim == 3)
    reuse = overwrite or (copied and not _keeps(s, seen, n))
    held = _held(ops, n, reuse=reuse, home=where == device_of(fitted))
    if copied and where == device_of(fitted):
        held["copies"] += fitted.nbytes
    return make_plan(n, s, ops, **asked, nonnegative=nonnegative, **held)


def _keeps(s: Semiring, seen: Survey, n: int) -> bool:
    """Whether the matrix must outlive the computation, unless it is overwritten: a cycle is named by it."""
    return s.idempotent and divergence.may_diverge(s, seen, n)


def _held(ops: Backend, n: int, *, reuse: bool, home: bool = True) -> dict[str, Any]:
    """What `make_plan` is told of copies: `home` says that the matrix lies on the device."""
    packed = ops.grain > 1
    return {"in_place": reuse and home and not packed, "copies": n * n if packed and home and not reuse else 0}


def solve(
    array: Any,
    s: Semiring,
    *,
    schedule: str = "auto",
    block: int | None = None,
    device: str | None = None,
    overwrite: bool = False,
    fresh: bool = False,
    callback: Callback | None = None,
    timed: bool = False,
    backend_options: dict[str, Any] | None = None,
) -> Solved:
    """The closure of one conforming n × n array, with its plan and times; `fresh` says that nobody else holds it."""
    where = device_of(array, device)
    if where == "cuda" and isinstance(array, np.ndarray) and array.dtype.kind != "b" and array.size:
        options = {"schedule": schedule, "block": block, "callback": callback, "timed": timed}
        return _round_trip(array, s, overwrite or fresh, {**options, "backend_options": backend_options})
    survey = dtypes.survey(array, s, where="closure")
    made = array.nbytes if fresh and not overwrite else 0
    run = _Run(array, s, where, schedule, block, callback, timed, backend_options or {}, made)
    nonnegative = dtypes.fast(survey, s, array.dtype, len(array))
    if not divergence.may_diverge(s, survey, len(array)):
        return _home(run(array, nonnegative, reuse=overwrite or fresh), array, overwrite)
    keep = _keeps(s, survey, len(array)) and not overwrite
    reuse = (overwrite or fresh) and not keep
    run.prepare(array, nonnegative, reuse=reuse)  # what does not fit is refused before entries are searched
    potential = settle.precaution(array, s, survey, overwrite=overwrite)
    solved = run(array, nonnegative, reuse=reuse, potential=potential)
    try:
        potential = settle.settle(solved.matrix, array if keep else None, s, survey)
    except DivergenceError as error:
        raise settle.lost(error) if overwrite and solved.matrix is array else error from None
    if potential is not None:
        del solved
        solved = run(array, False, reuse=False, potential=potential)
    return _home(solved, array, overwrite)


def _round_trip(array: np.ndarray, s: Semiring, reuse: bool, options: dict[str, Any]) -> Solved:
    """A NumPy array's closure on the GPU: all looking and computing is done there; an error leaves the array as it was.

    The pages of a new result are asked for while the device works.
    """
    require(array.nbytes, "cuda", where="closure", hint="Use a smaller dtype, or device='cpu'.")
    require(0 if reuse else array.nbytes, where="closure", hint="Use a smaller dtype, or overwrite=True.")
    start = time.perf_counter()
    ops: Any = bind(s, array.dtype, device="cuda")
    there = ops.upload(array)
    home, ready = (array, None) if reuse else ops.landing(array.shape)
    solved = solve(there, s, fresh=True, **options)
    if ready:
        ready.result()
    ops.download(solved.matrix, out=home)
    return replace(solved, matrix=home, seconds=time.perf_counter() - start)


@dataclass(frozen=True)
class _Run:
    """One closure: bind, plan, check memory, follow the schedule."""

    template: Any
    semiring: Semiring
    device: str
    schedule: str
    block: int | None
    callback: Callback | None
    timed: bool
    options: dict[str, Any]
    made: int = 0  # bytes of what was made of the input, and is there already

    def prepare(self, array: Any, nonnegative: bool, *, reuse: bool) -> tuple[Backend, Plan]:
        """Bind and plan; refuse what does not fit."""
        s, home = self.semiring, self.device == device_of(array)
        ops: Backend = bind(s, array.dtype, device=self.device, nonnegative=nonnegative, **self.options)
        held, made = _held(ops, len(array), reuse=reuse, home=home), self.made if home else 0
        held["copies"] += made
        plan = make_plan(len(array), s, ops, schedule=self.schedule, block=self.block, nonnegative=nonnegative, **held)
        require(plan.beside_bytes - made, self.device, where="closure", hint=_HINT)
        return ops, plan

    def __call__(self, array: Any, nonnegative: bool, *, reuse: bool, potential: Any = None) -> Solved:
        s = self.semiring
        if potential is not None:
            nonnegative = s.lengths and s.add.selects == "least"  # of the reweighted matrix
        ops, plan = self.prepare(array, nonnegative, reuse=reuse)
        start = time.perf_counter()
        matrix = ops.upload(array.get() if self.device == "cpu" != device_of(array) else array, copy=not reuse)
        if potential is not None:
            reweight(matrix, s, potential)
        phases = follow(plan, matrix, ops, self.callback, timed=self.timed)
        if potential is not None:
            restore(matrix, s, potential)
            settle.reflexive(matrix, s)
        seconds = time.perf_counter() - start
        if matrix is not array and self.device != device_of(array):
            matrix = _to_device_of(array, ops, matrix)
        elif ops.grain > 1:
            matrix = ops.download(matrix, out=array if reuse else module(array).empty(array.shape, array.dtype))
        return Solved(matrix, plan, seconds, phases)


def _bits(
    A: BitMatrix,
    s: Semiring,
    schedule: str,
    block: int | None,
    device: str | None,
    overwrite: bool,
    callback: Callback | None,
    options: dict[str, Any],
) -> BitMatrix:
    """The closure of packed bits, where they lie."""
    home = "cpu" if isinstance(A.words, np.ndarray) else "cuda"
    if s.dtypes != ("bool",):
        raise DTypeError(
            f"closure: a BitMatrix is closed over the Boolean semiring, got {s.name}. Say semiring='boolean'."
        )
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"closure: A must be square, got a BitMatrix of shape {A.shape}.")
    if device not in (None, home):
        raise DTypeError(f"closure: a BitMatrix is closed where it lies, on {home}, got device={device!r}.")
    ops = bind(s, bool, device=home, **options)
    plan = make_plan(len(A), s, ops, schedule=schedule, block=block, in_place=overwrite)
    hint = "Pass overwrite=True, or close the graph's components with transitive_closure."
    require(plan.beside_bytes, home, where="closure", hint=hint)
    matrix = ops.upload(A, copy=not overwrite)
    follow(plan, matrix, ops, callback)
    return matrix


def follow(
    plan: Plan, matrix: Any, ops: Backend, callback: Callback | None = None, *, timed: bool = False
) -> dict[str, float]:
    """matrix ← matrix*, as planned; waits for it. The seconds of each verb, where `timed`."""
    schedule = schedules.get(plan.schedule)
    progress = [Progress(plan.pairs, callback)] if callback else []
    clock = Clock(ops)
    verbs: Any = ops
    if progress or timed:
        verbs = Observed(ops, *([clock] if timed else []), *progress, apart=timed)
    ops.prepare(plan.n)
    schedule(matrix, verbs, block=plan.block)
    ops.synchronize()
    return clock.seconds


def _array(A: Any, s: Semiring, dtype: Any) -> tuple[Any, bool]:
    """A square matrix, or a batch of them, from an array or a graph; and whether it was made here."""
    nested = isinstance(A, (list, tuple)) and not any(isinstance(item, tuple) for item in A)
    if not (nested or any(hasattr(A, name) for name in ("__array__", "__cuda_array_interface__", "__dlpack__"))):
        from .graph import as_graph

        return matrix_of(as_graph(A), s, dtype, where="closure")
    array = asarray(A, where="closure")
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2]:
        raise ShapeError(f"closure: A must be square, (n, n) or (batch, n, n), got shape {array.shape}.")
    return array, nested


def matrix_of(graph: Graph, s: Semiring, dtype: Any, *, where: str, **asked: Any) -> tuple[Any, bool]:
    """A graph's matrix, and whether it was made here; refused before that where it or its closure does not fit.

    `asked` is what `make_plan` takes, and `threads`.
    """
    if graph.dense is not None:
        matrix = graph.matrix(s, dtype)
        return matrix, matrix is not graph.dense
    n, threads = graph.n, asked.pop("threads", None)
    target = graph.target(s) if dtype is None else dtypes.resolve(s, dtype, where=where)
    looks = [dtypes.survey(weights, s, where=where) for _, _, weights in graph.pieces(s, target)]
    extremes = [x for look in looks for x in (look.least, look.greatest)]
    seen = Survey(min(extremes, default=0), max(extremes, default=0), all(look.nonnegative for look in looks))
    ops = bind(s, target, nonnegative=dtypes.fast(seen, s, target, n), **_options(threads, None))
    held = _held(ops, n, reuse=not _keeps(s, seen, n))
    plan = make_plan(n, s, ops, **asked, **held)
    hint = "Use a smaller dtype, or transitive_closure if only reachability matters."
    require(plan.beside_bytes + n * n * target.itemsize, where=where, hint=hint)
    return graph.matrix(s, target), True


def _options(threads: int | None, per_thread: int | None) -> dict[str, Any]:
    """Only what was asked for: each backend knows its own options."""
    return {k: v for k, v in (("threads", threads), ("per_thread", per_thread)) if v is not None}


def _check_overwrite(A: Any, array: Any, s: Semiring, dtype: Any) -> None:
    target = dtypes.resolve(s, array.dtype if dtype is None else dtype, where="closure")
    if array.dtype != target or not array.dtype.isnative:
        raise DTypeError(
            f"closure: overwrite=True must work in A's own memory, so A must be a native {target} array, "
            f"got {array.dtype}. Convert it first, or leave overwrite out."
        )
    if array is not A and not _same_memory(A, array):
        raise DTypeError(f"closure: overwrite=True must be given an array to write to, got {type(A).__name__}.")
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ValueError("closure: overwrite=True must be given a writeable array, got a read-only one.")


def _same_memory(A: Any, array: Any) -> bool:
    """Whether `array` views the memory of A (a subclass, or an object with DLPack), and is no copy made of it."""
    return not isinstance(array, np.ndarray) or array.base is not None


def _batch(array: Any, s: Semiring, options: dict[str, Any], callback: Callback | None, ours: bool) -> Any:
    """The closures of (batch, n, n): small ones together where the backend can, else one after the other."""
    together = _together(array, s, options, callback)
    if together is not None:
        return together
    if not (options["overwrite"] or ours):
        require(array.nbytes, device_of(array), where="closure", hint=_HINT)
    out = array if options["overwrite"] or ours else array.copy()
    total = len(out) * out.shape[-1] ** 3
    for index in range(len(out)):
        done = index * out.shape[-1] ** 3
        report = (lambda part, _, done=done: callback(done + part, total)) if callback else None
        matrix = out[index]
        try:
            result = solve(matrix, s, fresh=not options["overwrite"], callback=report, **options).matrix
        except DivergenceError as error:
            told = f"{error} It is matrix {index} of the batch" + (", those before it are closed." if index else ".")
            if not options["overwrite"]:
                told = f"{error} It is matrix {index} of the batch."
            raise type(error)(told, error.vertex, error.cycle) from None
        if result is not matrix:
            matrix[...] = result
        del result  # before the next one is made
    return out


def _together(array: Any, s: Semiring, options: dict[str, Any], callback: Callback | None) -> Any:
    """The closures of a batch by one call of the backend's `closure_batch`; None where they must be taken one by one.

    One by one: what may diverge (each is then examined), asked-for schedules and blocks, and backends without the verb.
    """
    batch, n, _ = array.shape
    device = device_of(array, options["device"])
    if device == "cpu" or not array.size or options["schedule"] != "auto" or options["block"] is not None:
        return None
    survey = dtypes.survey(array, s, where="closure")
    if divergence.may_diverge(s, survey, n):
        return None
    nonnegative = dtypes.fast(survey, s, array.dtype, n)
    ops = bind(s, array.dtype, device=device, nonnegative=nonnegative, **options["backend_options"])
    verb = getattr(ops, "closure_batch", None)
    if verb is None or n > ops.pivot:
        return None
    overwrite = options["overwrite"]
    require(
        0 if overwrite and not isinstance(array, np.ndarray) else array.nbytes,
        device,
        where="closure",
        hint="Use a smaller dtype, or close parts of the batch.",
    )
    here = isinstance(array, np.ndarray)
    given = ops.upload(array, copy=False)
    matrices = given if here or overwrite else ops.empty(array.shape)
    verb(given, schedules.get("blocked"), out=None if matrices is given else matrices)
    ops.synchronize()
    if callback:
        callback(batch * n**3, batch * n**3)
    return ops.download(matrices, out=array if overwrite else None) if here else matrices


def _to_device_of(array: Any, ops: Backend, matrix: Any) -> Any:
    """The result where the input came from."""
    host = ops.download(matrix)
    if isinstance(array, np.ndarray):
        return host
    import cupy

    return cupy.asarray(host)


def _home(solved: Solved, array: Any, overwrite: bool) -> Solved:
    """With `overwrite`, the result is the very memory that came."""
    if overwrite and solved.matrix is not array:
        array[...] = solved.matrix
        return Solved(array, solved.plan, solved.seconds, solved.phases)
    return solved
