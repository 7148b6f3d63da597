"""`compare`: schedules on one matrix, serial and threaded, CPU and GPU: times, rates, fits.

GPU contenders are one launch a vertex, four elements a thread, blocks of 32 and 64, and recursion with plain and tuned
tiles, timed by device events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.dense.random import random_matrix
from semiring.host.spelling import came
from semiring.host.types import Array, DType

from ..big.large.sources import matrix_or_graph
from ..generate import cycle, random_graph
from ..io.reading.options import BY_RULE, NullValue, nulls_of
from ..road.convergence import saturation
from ..road.log import Parts
from ..road.problem import Memory, on_device_of
from ..road.question import Question
from ..road.solve import solve
from ..road.wants import Request, Wants
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
    repeats: int | None = None,
    callback: Callable[[int, int], None] | None = None,
    null_value: NullValue = BY_RULE,
) -> Comparison:
    """Measure schedules on one matrix: on one CPU thread, on all, and on the GPU.

    Parameters
    ----------
    A : array_like, shape (n, n), or a graph
        As in `closure`.
    semiring, dtype, null_value
        As in `closure`.
    block : int or sequence of int, optional
        Pivot blocks to compare; by default the backend's.
    schedules : str or iterable of str, optional
        By default "iterative", "blocked" and "recursive"; "all" for all.
    kernels : bool
        Compare teaching kernels instead: one vertex at a time by rows, by columns, on a GPU also with shared memory,
        pitched rows and four elements a thread; then simple and tuned blocks. One CPU thread.
    devices : sequence of {"cpu", "cuda"}, optional
        All available ones by default.
    threads : int or sequence of int, optional
        Thread counts to compare with one; all by default.
    limit : float
        Runs predicted to take more seconds are skipped.
    repeats : int, optional
        Timed runs of each, all kept in `Row.times`; by default as many as fit into a tenth of a second, or half on a
        GPU.
    callback : callable, optional
        `callback(done, total)` after each row. Without one, see `apsp.progress`.

    Raises
    ------
    ShapeError, DTypeError, DomainError
        If `closure` does not accept A.
    DivergenceError, DeviceError, ValueError
        If A has no closure; if a device is missing; if a schedule is unknown, or the limit is NaN.

    Warns
    -----
    AmbiguityWarning
        If zeros may be edges or none, as `closure`.

    See Also
    --------
    compare_sizes, plan : Random graphs of several sizes; predicted times.
    Comparison.plot, Comparison.to_json : Other forms of the table.

    Notes
    -----
    Each row is a closure of O(n³) pairs, run several times and compared with the first. Schedules: Floyd 1962 and
    Warshall 1962 ("iterative"), Venkataraman, Sahni and Mukhopadhyaya 2003 ("blocked"), D'Alberto and Nicolau 2007
    ("recursive"), Aho, Hopcroft and Ullman 1974, section 5.9 ("squaring").

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import compare
    >>> table = compare(np.ones((40, 40)), devices=["cpu"])
    >>> {row.same for row in table.rows}
    {True}
    """
    s, found = get(semiring), measure.contenders(schedules, devices, threads, block, kernels=kernels)
    with on_device_of(A):
        wants = Wants(dtype=dtype, nulls=nulls_of(null_value), table=True, dry=True, where="compare")
        question = Question(matrix_or_graph(A, wants), s, wants)
        problem = question.problem
        question.wants.report_zeros(problem.seen, question.semiring)
        if problem.may_diverge:
            solved = solve(replace(problem, memory=Memory.READ_ONLY), Request(table=False))
            if problem.may_lose:  # schedules would differ
                saturation.refuse_in_matrix(solved.matrix, s, where="compare")
        predicted = measure.predicted(found, len(problem.matrix), s, problem.dtype, limit)
        report = Parts("compare", predicted, callback)
        rows = measure.rows(problem.matrix, s, found, known={}, limit=limit, repeats=repeats, report=report)
    return Comparison(s.name, problem.dtype.name, tuple(rows))


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
    repeats: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Comparison:
    """`compare` on random graphs or cycles of several sizes, to fit t = c · nᵉ.

    Parameters
    ----------
    sizes : iterable of int
        Numbers of vertices.
    density : float
        Percent of possible edges of a random graph.
    graph : {"random", "cycle"}
        A cycle has paths of n − 1 edges and an almost empty matrix.
    semiring, dtype, schedules, kernels, devices, threads, block, limit, repeats, callback
        As in `compare`.
    seed : int
        Of the random graphs.

    Raises
    ------
    ValueError, DTypeError
        If the density is outside 0 … 100, the graph or a schedule unknown, or the limit NaN; if the semiring has no
        such dtype.

    See Also
    --------
    compare, random_graph : A matrix of your own; the graphs.
    Comparison.fits, Comparison.crossover : Evaluation over sizes.

    Notes
    -----
    O(n³) pairs per size and row; one matrix at a time, with copies.

    Examples
    --------
    >>> from apsp import compare_sizes
    >>> print(compare_sizes([256, 512, 1024]))  # doctest: +SKIP
    """
    s = get(semiring)
    if graph not in ("random", "cycle"):
        raise ValueError(f"compare: graph must be random or cycle, got {came(graph)}.")
    sizes = sorted(set(sizes))
    found = measure.contenders(schedules, devices, threads, block, kernels=kernels)
    rows: list[Row] = []
    computed = dtypes.resolve(s, dtype, "float32" if "float32" in s.dtypes else None, where="compare")
    predicted = [seconds for n in sizes for seconds in measure.predicted(found, n, s, computed, limit)]
    report = Parts("compare", predicted, callback)
    for n in sizes:
        known = {row.contender: row for row in rows if row.seconds}
        made = cycle(n) if graph == "cycle" else random_graph(n, density, seed=seed, weights=None)
        edges = made.matrix("boolean")
        matrix = np.where(edges, random_matrix(s, (n, n), computed, seed=seed), dtypes.zero(s, computed))
        rows += measure.rows(matrix, s, found, known=known, limit=limit, repeats=repeats, report=report)
    return Comparison(s.name, computed.name, tuple(rows))
