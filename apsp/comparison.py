"""`compare`: every schedule on the same matrix, with threads and without, on CPU and GPU; times, rates, fits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from semiring.algebra import Semiring
from semiring.arrays import conform
from semiring.backend import bind, cuda_available
from semiring.catalog import get

from . import schedules as _schedules
from .files import atomic_path
from .plans import make_plan
from .solve import Solved, _array, solve

#: What a verb is called in the table of phases.
_PHASES = {"closure": "pivot", "left_mul": "panels", "right_mul": "panels", "gemm": "products", "step": "steps"}

#: Seconds of runs after which the best one counts.
_PATIENCE = 0.1


@dataclass(frozen=True)
class Contender:
    """One way to compute a closure: a schedule on a device, with that backend's options."""

    schedule: str
    device: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        """The options in words: "1 thread", "4 a thread"."""
        words = {"threads": lambda x: f"{x} thread{'s' if x != 1 else ''}", "per_thread": lambda x: f"{x} a thread"}
        return ", ".join(words[name](value) for name, value in self.options) or "-"

    @property
    def name(self) -> str:
        """Schedule, device and options in one line."""
        return f"{self.schedule} ({self.device}{', ' + self.label if self.options else ''})"


@dataclass(frozen=True)
class Row:
    """What one contender did on one matrix.

    Attributes
    ----------
    contender : Contender
    n : int
    seconds : float or None
        The best of a few runs, without compilation; None where it was skipped.
    speedup : float or None
        Over the serial schedule: iterative on one CPU thread, where that ran.
    same : bool or None
        Whether the result is that of the first row: bit for bit, or to rounding where sums of floats are reordered.
    difference : float
        The largest relative difference from it.
    shares : dict
        Which part of the time each phase took.
    transfer : float
        Seconds to bring the matrix to the device and back; 0 where it lies there.
    skipped : str
        Why there are no seconds.
    """

    contender: Contender
    n: int
    seconds: float | None = None
    speedup: float | None = None
    same: bool | None = None
    difference: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    transfer: float = 0.0
    skipped: str = ""

    @property
    def rate(self) -> float | None:
        """Pairs a second."""
        return self.n**3 / self.seconds if self.seconds else None


@dataclass(frozen=True)
class Fit:
    """t = constant · n^exponent seconds, by least squares on logarithms."""

    contender: Contender
    exponent: float
    constant: float


@dataclass(frozen=True)
class Comparison:
    """The rows of a comparison; it prints as a table, whose last lines say which schedule to use when."""

    semiring: str
    dtype: str
    rows: tuple[Row, ...]

    def fits(self) -> list[Fit]:
        """One fit for every contender that ran at two sizes or more."""
        found = []
        for contender in dict.fromkeys(row.contender for row in self.rows):
            points = [(r.n, r.seconds) for r in self.rows if r.contender == contender and r.seconds and r.n > 0]
            if len({n for n, _ in points}) >= 2:
                n, seconds = np.log(np.array(points, dtype=np.float64)).T
                exponent, log_constant = np.polyfit(n, seconds, 1)
                found.append(Fit(contender, float(exponent), float(math.exp(log_constant))))
        return found

    def advice(self) -> str:
        """Which schedule was fastest at which size."""
        best: dict[int, str] = {}
        for n in sorted({row.n for row in self.rows}):
            ran = [row for row in self.rows if row.n == n and row.seconds]
            if ran:
                best[n] = min(ran, key=lambda row: (row.seconds or 0) + row.transfer).contender.name
        if not best:
            return "Nothing ran: raise the limit."
        # Sizes in a row with the same winner are one range.
        sizes = list(best)
        starts = [sizes[0], *(b for a, b in pairwise(sizes) if best[a] != best[b])]
        return "Fastest: " + "; ".join(f"{best[n]} {'from' if len(sizes) > 1 else 'at'} n = {n}" for n in starts) + "."

    def crossover(self) -> str:
        """The size from which the GPU, transfers included, beats the CPU."""
        gpu = any(row.contender.device == "cuda" for row in self.rows)
        if not gpu:
            return "GPU: none took part."
        for n in sorted({row.n for row in self.rows}):
            times = {
                device: [
                    row.seconds + row.transfer
                    for row in self.rows
                    if row.n == n and row.seconds and row.contender.device == device
                ]
                for device in ("cpu", "cuda")
            }
            if times["cpu"] and times["cuda"] and min(times["cuda"]) < min(times["cpu"]):
                return f"The GPU pays from n = {n}, transfers included."
        return "The GPU did not pay at these sizes, transfers included."

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and cells, for printing."""
        headings = ["schedule", "device", "with", "n", "seconds", "G pairs/s", "speed-up", "same", "phases"]
        return headings, [_cells(row) for row in self.rows]

    def notes(self) -> list[str]:
        """The lines under the table: fits, advice, and where the GPU begins to pay."""
        lines = [f"{f.contender.name}: t = {f.constant:.3g} · n^{f.exponent:.2f} s" for f in self.fits()]
        return [*lines, self.crossover(), self.advice()]

    def __str__(self) -> str:
        headings, cells = self.table()
        widths = [max(len(line[k]) for line in [headings, *cells]) for k in range(len(headings))]
        numbers = {3, 4, 5, 6}
        lines = [
            "  ".join(
                c.rjust(w) if k in numbers else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in [headings, *cells]
        ]
        return "\n".join([f"closure over {self.semiring} in {self.dtype}", *(x.rstrip() for x in lines), *self.notes()])

    def to_json(self) -> str:
        """Everything, as JSON."""
        rows = [{**asdict(row), "name": row.contender.name, "rate": row.rate} for row in self.rows]
        fits = [{**asdict(f), "name": f.contender.name} for f in self.fits()]
        found = {"semiring": self.semiring, "dtype": self.dtype, "rows": rows, "fits": fits}
        return json.dumps({**found, "crossover": self.crossover(), "advice": self.advice()}, indent=1)

    def plot(self, path: str | Path) -> None:
        """Draw time over n, both logarithmic, one line a contender, into a `.png`, `.svg` or `.pdf` file.

        Raises
        ------
        ImportError
            If matplotlib is missing: it comes with the extra `plot`.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError('plot: matplotlib is required. Install with `pip install ".[plot]"`.') from None
        figure = Figure(figsize=(8, 5.5), layout="constrained")
        axes = figure.add_subplot()
        for contender in dict.fromkeys(row.contender for row in self.rows):
            points = [(r.n, r.seconds) for r in self.rows if r.contender == contender and r.seconds]
            if points:
                axes.loglog(*zip(*points, strict=True), marker="o", label=contender.name)
        axes.set_xlabel("vertices n")
        axes.set_ylabel("seconds")
        axes.set_title(f"closure over {self.semiring} in {self.dtype}")
        axes.grid(True, which="both", alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small")
        with atomic_path(path) as beside:
            figure.savefig(beside, dpi=150)


def compare(
    A: Any,
    semiring: str | Semiring = "min_plus",
    *,
    dtype: Any = None,
    schedules: Iterable[str] | None = None,
    devices: Sequence[str] | None = None,
    threads: int | None = None,
    block: int | None = None,
    limit: float = 30.0,
    callback: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Every schedule on the same matrix: one CPU thread, all of them, and the GPU where there is one.

    Parameters
    ----------
    A : array_like, shape (n, n), or a graph
        As `closure` takes.
    semiring, dtype, block
        As in `closure`.
    schedules : iterable of str, optional
        All by default.
    devices : sequence of {"cpu", "cuda"}, optional
        All that are there, by default.
    threads : int, optional
        How many "all threads" are.
    limit : float
        Seconds a run may be expected to take; what would take longer is skipped, and says so.
    callback : callable, optional
        `callback(done, total)` after each row.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import compare
    >>> table = compare(np.ones((40, 40)), devices=["cpu"])
    >>> {row.same for row in table.rows}
    {True}
    """
    s = get(semiring)
    array = conform(_array(A, s, dtype), s, dtype, where="compare")
    contenders = _contenders(schedules, devices, threads)
    rows = _measure(array, s, contenders, {}, block, limit, callback, 0, len(contenders))
    return Comparison(s.name, array.dtype.name, tuple(rows))


def compare_sizes(
    sizes: Iterable[int],
    *,
    density: float = 50.0,
    semiring: str | Semiring = "min_plus",
    dtype: Any = "float32",
    seed: int = 0,
    schedules: Iterable[str] | None = None,
    devices: Sequence[str] | None = None,
    threads: int | None = None,
    block: int | None = None,
    limit: float = 30.0,
    callback: Callable[[int, int], None] | None = None,
) -> Comparison:
    """`compare` on random graphs of several sizes, so that t = c · nᵉ can be fitted.

    Parameters
    ----------
    sizes : iterable of int
        Numbers of vertices.
    density : float
        Percent of all possible edges that are there.
    semiring, dtype, schedules, devices, threads, block, limit, callback
        As in `compare`.
    seed : int
        Of the random graphs.

    Returns
    -------
    Comparison
    """
    from .generate import random_graph

    s = get(semiring)
    sizes = sorted(set(sizes))
    contenders = _contenders(schedules, devices, threads)
    rows: list[Row] = []
    if s.dtypes == ("bool",):
        dtype = None
    computed = str(dtype)
    for k, n in enumerate(sizes):
        known = {row.contender: row for row in rows if row.seconds}
        matrix = _weights(random_graph(n, density, seed=seed).matrix("min_plus", "float64"), s, dtype)
        computed, total = matrix.dtype.name, len(sizes) * len(contenders)
        rows += _measure(matrix, s, contenders, known, block, limit, callback, k * len(contenders), total)
    return Comparison(s.name, computed, tuple(rows))


def _contenders(schedules: Iterable[str] | None, devices: Sequence[str] | None, threads: int | None) -> list[Contender]:
    """All combinations, the serial one first: it is what the others are held against."""
    names = list(_schedules.names() if schedules is None else schedules)
    names.sort(key=lambda name: name != "iterative")
    for name in names:
        _schedules.get(name)
    if devices is None:
        devices = ["cpu", "cuda"] if cuda_available() else ["cpu"]
    several = threads or _all_threads()
    found = []
    for device in devices:
        for name in names:
            options: list[tuple[tuple[str, Any], ...]] = [()]
            if device == "cpu":
                options = [(("threads", 1),), *([(("threads", several),)] if several > 1 else [])]
            elif name == "iterative":
                options = [(("per_thread", 1),), (("per_thread", 4),)]
            found += [Contender(name, device, chosen) for chosen in options]
    return found


def _all_threads() -> int:
    from semiring.catalog import min_plus

    return int(getattr(bind(min_plus, "float32"), "threads", 1))


def _measure(
    array: Any,
    s: Semiring,
    contenders: list[Contender],
    known: dict[Contender, Row],
    block: int | None,
    limit: float,
    callback: Callable[[int, int], None] | None,
    done: int,
    total: int,
) -> list[Row]:
    """One row a contender; results are compared before anything is said of times."""
    rows: list[Row] = []
    reference: np.ndarray | None = None
    for k, contender in enumerate(contenders):
        expected = _expected(contender, len(array), s, array.dtype, known.get(contender), block)
        if expected > limit:
            rows.append(Row(contender, len(array), skipped=f"about {expected:.0f} s, limit {limit:g} s"))
        else:
            row, matrix = _run(array, s, contender, block)
            reference = matrix if reference is None else reference
            same, difference = _same(matrix, reference)
            rows.append(replace(row, same=same, difference=difference))
        if callback:
            callback(done + k + 1, total)
    serial = next((r.seconds for r in rows if r.contender == contenders[0] and r.seconds), None)
    if serial is None or contenders[0].schedule != "iterative":
        return rows
    return [replace(row, speedup=serial / row.seconds) if row.seconds else row for row in rows]


def _run(array: Any, s: Semiring, contender: Contender, block: int | None) -> tuple[Row, np.ndarray]:
    """The best of a few runs, and the result."""

    def once(source: Any, timed: bool) -> Solved:
        return solve(
            source,
            s,
            schedule=contender.schedule,
            device=contender.device,
            block=block,
            timed=timed,
            backend_options=dict(contender.options),
        )

    source, transfer = array, 0.0
    if contender.device == "cuda" and isinstance(array, np.ndarray):
        import cupy

        whole = once(array, False)  # compiles too
        source = cupy.asarray(array)
        transfer = once(array, False).seconds - once(source, False).seconds
        del whole
    else:
        # Compile outside the clock: three pivot blocks use every verb.
        few = min(len(array), 2 * _pivot(s, array.dtype, contender) + 1)
        once(array[:few, :few], False)
    solved = once(source, contender.device == "cpu")
    best, spent = solved.seconds, solved.seconds
    while spent < _PATIENCE:
        again = once(source, contender.device == "cpu")
        spent += again.seconds
        if again.seconds < best:
            best, solved = again.seconds, again
    phases = solved.phases if contender.device == "cpu" else once(source, True).phases
    shares: dict[str, float] = {}
    for verb, seconds in phases.items():
        shares[_PHASES[verb]] = shares.get(_PHASES[verb], 0.0) + seconds / max(sum(phases.values()), 1e-12)
    matrix = solved.matrix if isinstance(solved.matrix, np.ndarray) else solved.matrix.get()
    return Row(contender, len(array), best, shares=shares, transfer=max(transfer, 0.0)), matrix


def _pivot(s: Semiring, dtype: Any, contender: Contender) -> int:
    return bind(s, dtype, device=contender.device, **dict(contender.options)).pivot


def _expected(contender: Contender, n: int, s: Semiring, dtype: Any, known: Row | None, block: int | None) -> float:
    """Seconds a run may take: by n³ from a smaller one, else from the plan."""
    if known and known.seconds:
        return known.seconds * (n / max(known.n, 1)) ** 3
    ops = bind(s, dtype, device=contender.device, nonnegative=True, **dict(contender.options))
    slow = 8.0 if contender.schedule == "iterative" else 1.0
    return make_plan(n, s, ops, schedule=contender.schedule, block=block).seconds * slow


def _same(matrix: np.ndarray, reference: np.ndarray) -> tuple[bool, float]:
    """Whether two results agree, and their largest relative difference."""
    if np.array_equal(matrix, reference):
        return True, 0.0
    if matrix.dtype.kind != "f":
        return False, math.inf
    finite = np.isfinite(reference)
    if not np.array_equal(finite, np.isfinite(matrix)) or not np.array_equal(matrix[~finite], reference[~finite]):
        return False, math.inf
    scale = np.maximum(np.abs(reference[finite]), np.finfo(matrix.dtype).tiny)
    difference = float((np.abs(matrix[finite] - reference[finite]) / scale).max())
    return difference <= len(matrix) * np.finfo(matrix.dtype).eps, difference


def _weights(lengths: np.ndarray, s: Semiring, dtype: Any) -> np.ndarray:
    """Random lengths 1 … 100 as a matrix of any semiring whose closure exists."""
    absent = np.isinf(lengths)
    if s.dtypes == ("bool",):
        return ~absent
    values = np.where(absent, 1.0, lengths)
    if s.name == "max_plus":
        values = -values
    elif s.name == "max_times":
        values = 1 / values
    elif s.name == "plus_times":
        values = values / (200.0 * len(lengths))
    elif s.name == "log_plus":
        values = np.log(values / (200.0 * len(lengths)))
    matrix: np.ndarray = conform(np.where(absent, s.zero, values), s, dtype, where="compare")
    return matrix


def _cells(row: Row) -> list[str]:
    c = row.contender
    if row.seconds is None:
        return [c.schedule, c.device, c.label, str(row.n), "-", "-", "-", "-", f"skipped: {row.skipped}"]
    same = "yes" if row.same and not row.difference else f"{'to' if row.same else 'NO,'} {row.difference:.0e}"
    shares = " ".join(f"{name} {share:.0%}" for name, share in sorted(row.shares.items(), key=lambda x: -x[1]))
    speedup = f"{row.speedup:.1f}" if row.speedup else "-"
    return [
        c.schedule,
        c.device,
        c.label,
        str(row.n),
        f"{row.seconds:.3g}",
        f"{(row.rate or 0) / 1e9:.3g}",
        speedup,
        same,
        shares,
    ]
