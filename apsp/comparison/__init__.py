"""`compare`: every schedule on the same matrix, with threads and without, on CPU and GPU; times, rates, fits.

On a GPU the contenders are one launch a vertex, four elements a thread, blocks of 32 and of 64, recursion with a plain
tile, recursion with tuned ones. GPU times are those between two events on the device.

`records` has the results, `measure` the measurements, `draw` tables and plots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.random import random_matrix
from semiring.spelling import came
from semiring.types import Array, DType

from ..convergence import saturation
from ..generate import cycle, random_graph
from ..large.sources import matrix_or_graph
from ..log import Parts
from ..problem import Memory, on_device_of
from ..question import Question
from ..reading.options import BY_RULE, NullValue, nulls_of
from ..solve import solve
from ..wants import Request, Wants
from . import measure
from .measure import traffic
from .records import Comparison, Contender, Fit, Row

__all__ = ["Comparison", "Contender", "Fit", "Row", "compare", "compare_sizes", "traffic"]


def compare(
    A: Array,
    semiring: str | Semiring = "min_plus",
    *,
    dtype: DType = None,
    schedules: Iterable[str] | None = None,
    kernels: bool = False,
    devices: Sequence[str] | None = None,
    threads: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    limit: float = 30.0,
    callback: Callable[[int, int], None] | None = None,
    null_value: NullValue = BY_RULE,
) -> Comparison:
    """Every schedule on the same matrix: one CPU thread, all of them, and the GPU where there is one.

    Parameters
    ----------
    A : array_like, shape (n, n), or a graph
        As `closure` takes.
    semiring, dtype, null_value
        As in `closure`.
    block : int or sequence of int, optional
        Pivot blocks to compare; the backend's own by default.
    schedules : iterable of str, optional
        All by default.
    kernels : bool
        Compare kernels as they are taught instead: one vertex at a time by rows, by columns, on a GPU also with shared
        memory, pitched rows and four elements a thread; then blocks, simple and tuned. One thread on the CPU.
    devices : sequence of {"cpu", "cuda"}, optional
        All available ones by default.
    threads : int or sequence of int, optional
        Numbers of threads to compare with one; all that are available by default.
    limit : float
        Runs that are predicted to take more seconds are skipped.
    callback : callable, optional
        `callback(done, total)` after each row. Without one, predicted time and progress are printed in a terminal or a
        notebook.

    Returns
    -------
    Comparison

    Raises
    ------
    ShapeError, DTypeError, DomainError
        If A is not what `closure` takes.
    DivergenceError
        If A has no closure.
    DeviceError
        If there is no such device, or no GPU.
    ValueError
        If there is no such schedule, or the limit is NaN.

    Warns
    -----
    AmbiguityWarning
        If zeros may be edges of weight 0 or no edges, as `closure` does.

    See Also
    --------
    compare_sizes : The same on random graphs of several sizes.
    plan : Times that are predicted, not measured.
    Comparison.plot, Comparison.to_json : The table in other forms.

    Notes
    -----
    Every row is a closure of O(n³) pairs, run several times and compared with the first. The
    schedules are those of Floyd 1962 and Warshall 1962 ("iterative"), Venkataraman, Sahni and Mukhopadhyaya 2003
    ("blocked"), D'Alberto and Nicolau 2007 ("recursive"), and Aho, Hopcroft and Ullman 1974, section 5.9 ("squaring").

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import compare
    >>> table = compare(np.ones((40, 40)), devices=["cpu"])
    >>> {row.same for row in table.rows}
    {True}
    """
    s, wants = get(semiring), Wants(dtype=dtype, dry=True, where="compare")
    found = _contenders(schedules, kernels, devices, threads, block)
    with on_device_of(A):
        wants = Wants(dtype=dtype, nulls=nulls_of(null_value), table=True, dry=True, where="compare")
        question = Question(matrix_or_graph(A, wants), s, wants)
        problem = question.problem
        question.report_zeros(problem.seen)
        if problem.may_diverge:
            # Raises if the closure does not exist.
            solved = solve(replace(problem, memory=Memory.READ_ONLY), Request(table=False))
            if problem.may_lose:  # schedules would differ
                saturation.refuse_in_matrix(solved.matrix, s, where="compare")
        predicted = measure.predicted(found, len(problem.matrix), s, problem.dtype, limit)
        report = Parts("compare", predicted, callback)
        rows = measure.rows(problem.matrix, s, found, known={}, limit=limit, report=report)
    return Comparison(s.name, problem.dtype.name, tuple(rows))


def _contenders(
    schedules: Iterable[str] | None,
    kernels: bool,
    devices: Sequence[str] | None,
    threads: int | Sequence[int] | None,
    block: int | Sequence[int] | None,
) -> list[Contender]:
    if not kernels:
        return measure.contenders(schedules, devices, threads, block)
    if any(x is not None for x in (schedules, threads, block)):
        raise ValueError(
            "compare: kernels=True says which schedules, threads and blocks, got some of these as well. Leave them out."
        )
    return measure.kernels(devices)


def compare_sizes(
    sizes: Iterable[int],
    *,
    density: float = 50.0,
    graph: str = "random",
    semiring: str | Semiring = "min_plus",
    dtype: DType = None,
    seed: int = 0,
    schedules: Iterable[str] | None = None,
    kernels: bool = False,
    devices: Sequence[str] | None = None,
    threads: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    limit: float = 30.0,
    callback: Callable[[int, int], None] | None = None,
) -> Comparison:
    """`compare` on random graphs or cycles of several sizes, so that t = c · nᵉ can be fitted.

    Parameters
    ----------
    sizes : iterable of int
        Numbers of vertices.
    density : float
        Percent of all possible edges, of a random graph.
    graph : {"random", "cycle"}
        A cycle's longest path has n − 1 edges, and most of its matrix is no edge.
    semiring, dtype, schedules, kernels, devices, threads, block, limit, callback
        As in `compare`.
    seed : int
        Of the random graphs.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a density lies outside 0 … 100, there is no such graph, there is no such schedule, or the limit is NaN.
    DTypeError
        If the semiring does not allow the dtype.

    See Also
    --------
    compare : The same on a matrix of your own.
    Comparison.fits, Comparison.crossover : Results of several sizes.
    random_graph : The graphs.

    Notes
    -----
    O(n³) pairs for each size and row; one matrix of n² entries at a time, and its copies.

    Examples
    --------
    >>> from apsp import compare_sizes
    >>> print(compare_sizes([256, 512, 1024]))  # doctest: +SKIP
    """
    s = get(semiring)
    if graph not in ("random", "cycle"):
        raise ValueError(f"compare: graph must be random or cycle, got {came(graph)}.")
    sizes = sorted(set(sizes))
    found = _contenders(schedules, kernels, devices, threads, block)
    rows: list[Row] = []
    computed = dtypes.resolve(s, dtype, "float32" if "float32" in s.dtypes else None, where="compare")
    predicted = [seconds for n in sizes for seconds in measure.predicted(found, n, s, computed, limit)]
    report = Parts("compare", predicted, callback)
    for n in sizes:
        known = {row.contender: row for row in rows if row.seconds}
        made = cycle(n) if graph == "cycle" else random_graph(n, density, seed=seed, weights=None)
        edges = made.matrix("boolean")
        matrix = np.where(edges, random_matrix(s, (n, n), computed, seed=seed), dtypes.zero(s, computed))
        rows += measure.rows(matrix, s, found, known=known, limit=limit, report=report)
    return Comparison(s.name, computed.name, tuple(rows))
