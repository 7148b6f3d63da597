"""`compare`: every schedule on the same matrix, with threads and without, on CPU and GPU; times, rates, fits.

On a GPU the contenders are a ladder: one launch a vertex, four elements a thread, blocks of 32 and of 64, recursion
with a plain tile, recursion with tuned ones. GPU times are those between two events on the device.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import conform
from semiring.backend import bind, cuda_available
from semiring.catalog import get
from semiring.files import writing
from semiring.random import random_matrix

from . import schedules as _schedules
from .plans import make_plan
from .solve import Solved, _array, solve

#: What a verb is called in the table of phases.
_PHASES = {"closure": "pivot", "left_mul": "panels", "right_mul": "panels", "gemm": "products", "step": "steps"}

#: Seconds of runs after which the best one counts; on a GPU the median, and long enough for a meter of energy.
_PATIENCE = 0.1
_PATIENCE_GPU = 0.5


@dataclass(frozen=True)
class Contender:
    """One way to compute a closure: a schedule on a device, with that backend's options."""

    schedule: str
    device: str
    options: tuple[tuple[str, Any], ...] = ()
    block: int | None = None

    @property
    def label(self) -> str:
        """The options in words: "1 thread", "4 a thread", "block 32"."""
        words = {
            "threads": lambda x: f"{x} thread{'s' if x != 1 else ''}",
            "per_thread": lambda x: f"{x} a thread",
            "tile": lambda x: f"{x} tile",
        }
        block = [f"block {self.block}"] if self.block else []
        return ", ".join([*block, *(words[name](value) for name, value in self.options)]) or "-"

    @property
    def name(self) -> str:
        """Schedule, device and options in one line."""
        return f"{self.schedule} ({self.device}{', ' + self.label if self.label != '-' else ''})"


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
    gain : float or None
        Over the iterative schedule on the same device, one thread or one launch a vertex.
    same : bool or None
        Whether the result is that of the first row: bit for bit, or to rounding where sums of floats are reordered.
    difference : float
        The largest relative difference from it.
    shares : dict
        Which part of the time each phase took.
    transfer : float
        Seconds to bring the matrix to the device and back; 0 where it lies there.
    moved : float
        Bytes that the schedule's verbs read and write if each touches its operands once; see `traffic`.
    joules : float or None
        The card's energy for one run, from NVML's counter; None where that cannot be read.
    ceiling : float or None
        Pairs a second of the same step in registers alone, where that was measured.
    skipped : str
        Why there are no seconds.
    """

    contender: Contender
    n: int
    seconds: float | None = None
    speedup: float | None = None
    gain: float | None = None
    same: bool | None = None
    difference: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    transfer: float = 0.0
    moved: float = 0.0
    joules: float | None = None
    ceiling: float | None = None
    skipped: str = ""

    @property
    def rate(self) -> float | None:
        """Pairs a second."""
        return self.n**3 / self.seconds if self.seconds else None

    @property
    def fraction(self) -> float | None:
        """The rate over the ceiling."""
        return self.rate / self.ceiling if self.rate and self.ceiling else None

    @property
    def pairs_per_joule(self) -> float | None:
        """n³ over the energy."""
        return self.n**3 / self.joules if self.joules else None


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
        """Which schedule was fastest at which size; within 5 % the one before stays."""
        best: dict[int, str] = {}
        name = ""
        for n in sorted({row.n for row in self.rows}):
            total = {row.contender.name: row.seconds + row.transfer for row in self.rows if row.n == n and row.seconds}
            if total:
                least = min(total, key=lambda x: total[x])
                name = best[n] = name if total.get(name, math.inf) <= 1.05 * total[least] else least
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
        headings = ["schedule", "device", "with", "n", "seconds", "G pairs/s", "speed-up", "same"]
        cells = [_cells(row) for row in self.rows]
        for heading, cell in _MORE.items():
            column = [cell(row) for row in self.rows]
            if any(column):
                headings.append(heading)
                cells = [[*line, text or "-"] for line, text in zip(cells, column, strict=True)]
        return [*headings, "phases"], [[*line, _phases(row)] for line, row in zip(cells, self.rows, strict=True)]

    def notes(self) -> list[str]:
        """The lines under the table: fits, advice, and where the GPU begins to pay."""
        lines = [f"{f.contender.name}: t = {f.constant:.3g} · n^{f.exponent:.2f} s" for f in self.fits()]
        return [*lines, self.crossover(), self.advice()]

    def __str__(self) -> str:
        headings, cells = self.table()
        widths = [max(len(line[k]) for line in [headings, *cells]) for k in range(len(headings))]
        numbers = {3, 4, 5, 6, *range(8, len(headings) - 1)}
        lines = [
            "  ".join(
                c.rjust(w) if k in numbers else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in [headings, *cells]
        ]
        return "\n".join([f"closure over {self.semiring} in {self.dtype}", *(x.rstrip() for x in lines), *self.notes()])

    def to_json(self) -> str:
        """Everything, as JSON."""
        more = ("rate", "fraction", "pairs_per_joule")
        rows = [{**asdict(row), "name": row.contender.name, **{x: getattr(row, x) for x in more}} for row in self.rows]
        fits = [{**asdict(f), "name": f.contender.name} for f in self.fits()]
        found = {"semiring": self.semiring, "dtype": self.dtype, "rows": rows, "fits": fits}
        return json.dumps({**found, "crossover": self.crossover(), "advice": self.advice()}, indent=1)

    def plot(self, path: str | Path, quantity: str = "seconds", *, dpi: int = 150) -> None:
        """Draw a row's "seconds", "rate" or "pairs_per_joule" over n into a `.png`, `.svg` or `.pdf` file.

        Both axes are logarithmic; there is one line a contender, dashed where it runs on the CPU.

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
            points = [
                (r.n, getattr(r, quantity)) for r in self.rows if r.contender == contender and getattr(r, quantity)
            ]
            if points:
                style = "-" if contender.device == "cuda" else "--"
                color = f"C{sum(line.get_linestyle() == style for line in axes.lines)}"
                axes.loglog(*zip(*points, strict=True), style, color=color, marker="o", label=contender.name)
        axes.set_xlabel("vertices n")
        axes.set_ylabel(quantity.replace("rate", "pairs a second").replace("_", " "))
        axes.set_title(f"closure over {self.semiring} in {self.dtype}")
        axes.grid(True, which="both", alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small")
        with writing(path) as file:
            figure.savefig(file, dpi=dpi, format=Path(path).suffix.removeprefix(".").lower() or None)


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
    array = conform(_array(A, s, dtype)[0], s, dtype, where="compare")
    contenders = _contenders(schedules, devices, threads, block)
    rows = _measure(array, s, contenders, {}, limit, callback, 0, len(contenders))
    return Comparison(s.name, array.dtype.name, tuple(rows))


def compare_sizes(
    sizes: Iterable[int],
    *,
    density: float = 50.0,
    semiring: str | Semiring = "min_plus",
    dtype: Any = None,
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
    contenders = _contenders(schedules, devices, threads, block)
    rows: list[Row] = []
    computed = _dtype(s, dtype)
    for k, n in enumerate(sizes):
        known = {row.contender: row for row in rows if row.seconds}
        edges = random_graph(n, density, seed=seed, weights=None).matrix("boolean")
        matrix = np.where(edges, random_matrix(s, (n, n), computed, seed=seed), dtypes.zero(s, computed))
        total = len(sizes) * len(contenders)
        rows += _measure(matrix, s, contenders, known, limit, callback, k * len(contenders), total)
    return Comparison(s.name, computed.name, tuple(rows))


def _dtype(s: Semiring, wanted: Any) -> np.dtype:
    """The dtype asked for; else float32 where the semiring is defined on it, or its first."""
    if wanted is None:
        return np.dtype("float32" if "float32" in s.dtypes else s.dtypes[0])
    return dtypes.resolve(s, wanted, where="compare")


#: The ladder on a GPU: (options, block) of each schedule; schedules not named here run as they are.
_LADDER: dict[str, tuple[tuple[tuple[tuple[str, Any], ...], int | None], ...]] = {
    "iterative": (((("per_thread", 1),), None), ((("per_thread", 4),), None)),
    "blocked": (((), 32), ((), 64)),
    "recursive": (((("tile", "plain"),), None), ((), None)),
}


def _contenders(
    schedules: Iterable[str] | None, devices: Sequence[str] | None, threads: int | None, block: int | None = None
) -> list[Contender]:
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
            if device == "cpu":
                counts = [1, several] if several > 1 else [1]
                found += [Contender(name, device, (("threads", count),), block) for count in counts]
            else:
                rungs = dict.fromkeys((options, block or own) for options, own in _LADDER.get(name, (((), None),)))
                found += [Contender(name, device, *rung) for rung in rungs]
    return found


def _all_threads() -> int:
    from semiring.catalog import min_plus

    return int(getattr(bind(min_plus, "float32"), "threads", 1))


def _measure(
    array: Any,
    s: Semiring,
    contenders: list[Contender],
    known: dict[Contender, Row],
    limit: float,
    callback: Callable[[int, int], None] | None,
    done: int,
    total: int,
) -> list[Row]:
    """One row a contender; results are compared before anything is said of times."""
    rows: list[Row] = []
    reference: np.ndarray | None = None
    for k, contender in enumerate(contenders):
        expected = _expected(contender, len(array), s, array.dtype, known.get(contender))
        if expected > limit:
            rows.append(Row(contender, len(array), skipped=f"about {expected:.0f} s, limit {limit:g} s"))
        else:
            row, matrix = _run(array, s, contender)
            reference = matrix if reference is None else reference
            same, difference = _same(matrix, reference)
            moved = traffic(contender, len(array), s, array.dtype)
            rows.append(replace(row, same=same, difference=difference, moved=moved))
        if callback:
            callback(done + k + 1, total)
    return _held_against(rows, contenders[0])


def _held_against(rows: list[Row], first: Contender) -> list[Row]:
    """The rows with their speed-ups, over the first contender and over one step a vertex on the same device."""
    serial = next((r.seconds for r in rows if r.contender == first and first.schedule == "iterative"), None)
    steps: dict[str, float] = {}
    for row in rows:
        if row.contender.schedule == "iterative" and row.seconds:
            steps.setdefault(row.contender.device, row.seconds)
    # The way to the device and back is the same for all; what it took least is least disturbed.
    transfer = min((row.transfer for row in rows if row.seconds and row.transfer), default=0.0)
    return [
        replace(
            row,
            speedup=serial / row.seconds if serial else None,
            gain=steps[row.contender.device] / row.seconds if row.contender.device in steps else None,
            transfer=transfer if row.transfer else 0.0,
        )
        if row.seconds
        else row
        for row in rows
    ]


def _run(array: Any, s: Semiring, contender: Contender) -> tuple[Row, np.ndarray]:
    """The best of a few runs, and the result."""
    return (_run_on_gpu if contender.device == "cuda" else _run_on_cpu)(array, s, contender)


def _run_on_cpu(array: Any, s: Semiring, contender: Contender) -> tuple[Row, np.ndarray]:
    def once(source: Any) -> Solved:
        return solve(
            source,
            s,
            schedule=contender.schedule,
            device=contender.device,
            block=contender.block,
            timed=True,
            backend_options=dict(contender.options),
        )

    # Compile outside the clock: three pivot blocks use every verb.
    few = min(len(array), 2 * _pivot(s, array.dtype, contender) + 1)
    once(array[:few, :few])
    solved = once(array)
    spent = solved.seconds
    while spent < _PATIENCE:
        again = once(array)
        spent += again.seconds
        if again.seconds < solved.seconds:
            solved = again
    matrix = solved.matrix if isinstance(solved.matrix, np.ndarray) else solved.matrix.get()
    return Row(contender, len(array), solved.seconds, shares=_shares(solved.phases)), matrix


def _run_on_gpu(array: Any, s: Semiring, contender: Contender) -> tuple[Row, np.ndarray]:
    """As above, between two events on the device; transfers by themselves, energy over all runs."""
    import cupy

    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    source = cupy.asarray(array)
    cupy.cuda.Device().synchronize()
    up = time.perf_counter() - start
    nonnegative = dtypes.fast(dtypes.survey(source, s, where="compare"), s, array.dtype, len(array))
    ops = bind(s, array.dtype, device="cuda", nonnegative=nonnegative, **dict(contender.options))
    plan = make_plan(len(array), s, ops, schedule=contender.schedule, block=contender.block)
    run = _schedules.get(plan.schedule)
    matrix: Any = ops.upload(source, copy=True)

    def once(verbs: Any) -> float:
        if ops.grain == 1:
            matrix[...] = source
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        before.record()
        run(matrix, verbs, block=plan.block)
        after.record()
        after.synchronize()
        return float(cupy.cuda.get_elapsed_time(before, after)) * 1e-3

    if contender.schedule == "iterative":
        ops.step(matrix, 0)  # compiles; a whole run may take long
        phases = {"step": 1.0}
    else:
        once(ops)
        clocked = _Clocked(ops)
        once(clocked)
        phases = clocked.seconds()
    energy, times = _energy(), [once(ops)]
    while sum(times) < _PATIENCE_GPU and len(times) < 1000:
        times.append(once(ops))
    joules = None if energy is None else (_energy() or energy) - energy
    start = time.perf_counter()
    result = ops.download(matrix)
    down = time.perf_counter() - start
    transfer = up + down if isinstance(array, np.ndarray) else 0.0
    seconds = float(np.median(times))
    each = joules / len(times) if joules else None
    return Row(contender, len(array), seconds, shares=_shares(phases), transfer=transfer, joules=each), result


class _Clocked:
    """A backend whose five verbs stand between events on the device."""

    def __init__(self, ops: Any) -> None:
        self._ops = ops
        self._events: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name not in _PHASES:
            # Only the protocol's own attributes: a backend's shortcuts would hide the phases.
            if name in ("pivot", "cutover", "grain", "device", "semiring", "dtype", "empty"):
                return getattr(self._ops, name)
            raise AttributeError(name)
        import cupy

        def verb(*operands: Any) -> None:
            before, after = cupy.cuda.Event(), cupy.cuda.Event()
            before.record()
            getattr(self._ops, name)(*operands)
            after.record()
            self._events.append((name, before, after))

        return verb

    def seconds(self) -> dict[str, float]:
        """The time of each verb, once all are done."""
        import cupy

        total: dict[str, float] = {}
        for name, before, after in self._events:
            total[name] = total.get(name, 0.0) + float(cupy.cuda.get_elapsed_time(before, after)) * 1e-3
        return total


def _energy() -> float | None:
    """Joules that the current card has used since its driver was loaded; None where NVML does not tell."""
    try:
        import cupy
        import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore]

        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByPciBusId(cupy.cuda.Device().pci_bus_id.encode())
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(card)) * 1e-3
    except Exception:  # no NVML, no counter, no permission: all the same here
        return None


def _shares(phases: dict[str, float]) -> dict[str, float]:
    """Which part of the time each phase took."""
    shares: dict[str, float] = {}
    for verb, seconds in phases.items():
        name = _PHASES.get(verb, verb)
        shares[name] = shares.get(name, 0.0) + seconds / max(sum(phases.values()), 1e-12)
    return shares


def traffic(contender: Contender, n: int, semiring: str | Semiring, dtype: Any) -> float:
    """Bytes that a schedule's verbs read and write, each touching its operands once.

    In elements: step 2n² + 2n; closure of a block b × b 2b²; D (b × b) times a panel of b × m 2bm + b²;
    C (m × n) ⊕ A (m × k) B (k × n) 2mn + mk + kn. What a kernel reads again because its tile is smaller than
    its operand is not counted: that comes from the caches for the most part.
    """
    s = get(semiring)
    ops = bind(s, dtype, device=contender.device, **dict(contender.options))
    counter = _Traffic(ops)
    block = -(-(contender.block or ops.pivot) // ops.grain) * ops.grain
    shape_only = np.broadcast_to(np.zeros((), np.int8), (n, n))
    _schedules.get(contender.schedule)(shape_only, counter, block=block)  # type: ignore[arg-type, unused-ignore]
    bits = 8 * np.dtype(dtype).itemsize if ops.grain == 1 else 1
    return counter.elements * bits / 8


class _Traffic:
    """A backend that counts elements and computes nothing."""

    def __init__(self, ops: Any) -> None:
        self.pivot, self.cutover, self.grain, self.elements = ops.pivot, ops.cutover, ops.grain, 0

    def gemm(self, C: Any, A: Any, B: Any) -> None:
        self.elements += 2 * C.size + A.size + B.size

    def left_mul(self, D: Any, R: Any) -> None:
        self.elements += D.size + 2 * R.size

    def right_mul(self, C: Any, D: Any) -> None:
        self.elements += D.size + 2 * C.size

    def closure(self, D: Any) -> None:
        self.elements += 2 * D.size

    def step(self, A: Any, k: int) -> None:
        self.elements += 2 * A.size + 2 * len(A)


def _pivot(s: Semiring, dtype: Any, contender: Contender) -> int:
    return bind(s, dtype, device=contender.device, **dict(contender.options)).pivot


def _expected(contender: Contender, n: int, s: Semiring, dtype: Any, known: Row | None) -> float:
    """Seconds a run may take: by n³ from a smaller one, else from the plan."""
    if known and known.seconds:
        return known.seconds * (n / max(known.n, 1)) ** 3
    ops = bind(s, dtype, device=contender.device, nonnegative=True, **dict(contender.options))
    slow = 8.0 if contender.schedule == "iterative" else 1.0
    return make_plan(n, s, ops, schedule=contender.schedule, block=contender.block).seconds * slow


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


#: Columns that appear where at least one row has something to say.
_MORE: dict[str, Callable[[Row], str]] = {
    "over steps": lambda row: f"{row.gain:.1f}" if row.gain else "",
    "of ceiling": lambda row: f"{row.fraction:.1%}" if row.fraction else "",
    "GB moved": lambda row: f"{row.moved / 1e9:.3g}" if row.moved else "",
    "joules": lambda row: f"{row.joules:.3g}" if row.joules else "",
    "G pairs/J": lambda row: f"{row.pairs_per_joule / 1e9:.3g}" if row.pairs_per_joule else "",
}


def _cells(row: Row) -> list[str]:
    c = row.contender
    if row.seconds is None:
        return [c.schedule, c.device, c.label, str(row.n), "-", "-", "-", "-"]
    same = "yes" if row.same and not row.difference else f"{'to' if row.same else 'NO,'} {row.difference:.0e}"
    rate = f"{(row.rate or 0) / 1e9:.3g}"
    return [
        *(c.schedule, c.device, c.label, str(row.n), f"{row.seconds:.3g}", rate),
        *(f"{row.speedup:.1f}" if row.speedup else "-", same),
    ]


def _phases(row: Row) -> str:
    if row.seconds is None:
        return f"skipped: {row.skipped}"
    return " ".join(f"{name} {share:.0%}" for name, share in sorted(row.shares.items(), key=lambda x: -x[1]))
