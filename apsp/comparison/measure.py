"""Measurement of contenders: results are compared first, then runs timed by the device's clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.algebra.catalog import get
from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.algebra.survey import fast, survey
from semiring.host.spelling import came
from semiring.host.types import Array, DType, Values
from semiring.kernels.backend import Backend, bind, cuda_available, device_of
from semiring.kernels.observed import Clock, Observed, Traffic
from semiring.kernels.verbs import VERBS, Verb

from ..road import schedules as _schedules
from ..road.plans import make_plan
from .records import Contender, Row

#: Seconds of timed runs: the best counts on the CPU, the median on a GPU (long enough to measure energy).
RUN_SECONDS = {"cpu": 0.1, "cuda": 0.5}

#: Schedules for the question that comes first, recursive or iterative.
FIRST = ("iterative", "blocked", "recursive")
#: GPU variants (options, block) by schedule; others have one.
_GPU_VARIANTS: dict[str, tuple[tuple[tuple[tuple[str, Any], ...], int | None], ...]] = {
    "iterative": (((("per_thread", 1),), None), ((("per_thread", 4),), None)),
    "blocked": (((), 32), ((), 64)),
    "recursive": (((("tile", "plain"),), None), ((), None)),
}

#: The block that a kernel is tuned for, which is at least one; and how many blocks there are at least otherwise.
TUNED, _LEAST = 0, 4

#: Teaching kernels, simple ones first: schedule, options, block.
_KERNELS: dict[str, tuple[tuple[str, tuple[tuple[str, Any], ...], int | None], ...]] = {
    "cpu": (
        ("iterative", (("threads", 1), ("access", "rows")), None),
        ("iterative", (("threads", 1), ("access", "columns")), None),
        ("blocked", (("threads", 1),), 32),
        ("blocked", (("threads", 1),), TUNED),
    ),
    "cuda": (
        ("iterative", (("access", "rows"),), None),
        ("iterative", (("access", "shared"),), None),
        ("iterative", (("access", "columns"),), None),
        ("iterative", (("access", "pitched"),), None),
        ("iterative", (("per_thread", 4),), None),
        ("blocked", (("tile", "plain"),), 32),
        ("blocked", (), 32),
        ("blocked", (), TUNED),
    ),
}


def contenders(
    schedules: Iterable[str] | None,
    devices: Sequence[str] | None,
    threads: int | Sequence[int] | None,
    block: int | Sequence[int] | None = None,
    *,
    kernels: bool = False,
) -> list[Contender]:
    """All combinations, the serial reference first; or the teaching `kernels`."""
    if devices is None:
        devices = ["cpu", "cuda"] if cuda_available() else ["cpu"]
    devices = [device_of(None, device) for device in devices]
    if kernels:
        if schedules or threads is not None or block is not None:
            raise ValueError(
                "compare: kernels=True says which schedules, threads and blocks, got some of these as well. Leave them "
                "out."
            )
        return [Contender(name, d, options, b) for d in devices for name, options, b in _KERNELS[d]]
    names = [schedules] if isinstance(schedules, str) else list(schedules or FIRST)
    names = list(_schedules.names()) if "all" in names else names
    names.sort(key=lambda name: name != "iterative")
    for name in names:
        _schedules.get(name)
    counts = [1, *(_several(threads, "threads") if threads is not None else [bind(get("min_plus"), "float32").threads])]
    blocks = _several(block, "block") if block is not None else [None]
    found: list[Contender] = []
    threaded = tuple(((("threads", count),), None) for count in counts)
    for device in devices:
        for name in names:
            own = blocks if _schedules.get(name).blocked else [None]
            variants = _GPU_VARIANTS.get(name, (((), None),)) if device == "cuda" else threaded
            found += [Contender(name, device, options, b or usual) for b in own for options, usual in variants]
    return list(dict.fromkeys(found))


def _several(given: int | Sequence[int], name: str) -> list[int]:
    """One or several numbers, each at least 1."""
    numbers = list(given) if isinstance(given, Sequence) else [given]
    if not numbers or any(not hasattr(x, "__index__") or x < 1 for x in numbers):
        raise ValueError(f"compare: {name} must be numbers of at least 1, got {came(given)}.")
    return [int(x) for x in numbers]


def rows(
    array: Array, s: Semiring, contenders: list[Contender], *, known: dict[Contender, Row], limit: float,
    repeats: int | None = None, report: Callable[[], None] | None = None,
) -> list[Row]:  # fmt: skip
    """One row per contender; results are compared with the first."""
    if math.isnan(limit):
        raise ValueError("compare: limit must be a number of seconds, got NaN.")
    found: list[Row] = []
    reference: np.ndarray | None = None
    first: dict[Values, str] = {}
    for contender in contenders:
        n = len(array)
        if why := _schedules.get(contender.schedule).refuses(s):
            found.append(Row(contender, n, skipped=why))
        elif (expected := _expected(contender, n, s, array.dtype, known.get(contender))) > limit:
            found.append(Row(contender, n, skipped=f"about {expected:.0f} s, limit {limit:g} s"))
        else:
            row, matrix = run(array, s, contender, repeats)
            reference = matrix if reference is None else reference
            same, difference = _same(matrix, reference)
            moved, calls, sequence = _dry(contender, n, s, array.dtype)
            like = first.setdefault((contender.device, contender.options, sequence), contender.schedule)
            like = "" if like == contender.schedule else like
            found.append(replace(row, same=same, difference=difference, moved=moved, calls=calls, like=like))
        if report:
            report()
    return _with_speedups(found, contenders[0])


def predicted(contenders: list[Contender], n: int, s: Semiring, dtype: DType, limit: float) -> list[float]:
    """Predicted seconds of each row: a run to compile and compare, one timed by verbs, and the timed ones."""
    once = [math.inf if _schedules.get(c.schedule).refuses(s) else _expected(c, n, s, dtype, None) for c in contenders]
    least = [RUN_SECONDS[contender.device] for contender in contenders]
    return [0.0 if time > limit else 2 * time + max(time, timed) for time, timed in zip(once, least, strict=True)]


def run(array: Array, s: Semiring, contender: Contender, repeats: int | None = None) -> tuple[Row, np.ndarray]:
    """One contender's row without comparisons, and its result on the host; kernels are compiled first."""
    nonnegative = fast(survey(array, s, where="compare"), s, array.dtype, len(array))
    ops = bind(s, array.dtype, device=contender.device, nonnegative=nonnegative, **dict(contender.options))
    plan = make_plan(len(array), s, ops, schedule=contender.schedule, block=_block(contender, len(array), ops))
    schedule = _schedules.get(plan.schedule)
    ops.synchronize()
    upload = ops.stopwatch()
    source = ops.upload(array, copy=False)
    upload.stop()
    matrix = ops.empty(source.shape)

    def once(verbs: Any) -> float:
        ops.copy(matrix, source)
        watch = ops.stopwatch()
        schedule(matrix, verbs, block=plan.block)
        watch.stop()
        return watch.seconds

    if contender.schedule == "iterative" and contender.device == "cuda":
        ops.step(matrix, 0)  # compiles; an entire run may take long
        phases = {"step": 1.0}
    else:
        once(ops)
        clock = Clock(ops)
        once(Observed(ops, clock, apart=True))
        phases = clock.seconds
    shares = dict.fromkeys((VERBS[verb].phase for verb in phases), 0.0)
    for verb, seconds in phases.items():
        shares[VERBS[verb].phase] += seconds / max(sum(phases.values()), 1e-12)
    before, times = ops.energy(), [once(ops)]
    while len(times) < repeats if repeats else sum(times) < RUN_SECONDS[contender.device] and len(times) < 1000:
        times.append(once(ops))
    after = ops.energy()
    joules = None if before is None or after is None else (after - before) / len(times)
    download = ops.stopwatch()
    result = ops.download(matrix)
    download.stop()
    transferred = contender.device != "cpu" and isinstance(array, np.ndarray)
    row = Row(
        contender, len(array), float(np.median(times) if contender.device == "cuda" else min(times)), shares=shares,
        transfer=upload.seconds + download.seconds if transferred else 0.0, joules=joules,
        resources=ops.resources("step" if contender.schedule == "iterative" else "gemm", len(array)),
        block=plan.block if schedule.blocked else None, times=tuple(times) if repeats else (),
    )  # fmt: skip
    return row, result


def traffic(contender: Contender, n: int, semiring: str | Semiring, dtype: DType) -> float:
    """Bytes of a schedule's verbs, each operand touched once; repeated reads mostly hit caches."""
    return _dry(contender, n, get(semiring), dtype)[0]


class _Calls(Traffic):
    """The entries touched, the number of calls, and a number that tells sequences of them apart."""

    calls = sequence = 0

    def before(self, verb: Verb, operands: tuple[Array, ...]) -> None:
        super().before(verb, operands)
        self.calls += 1
        self.sequence = hash((self.sequence, verb.name, verb.entries(*operands), verb.pairs(*operands)))


def _dry(contender: Contender, n: int, s: Semiring, dtype: DType) -> tuple[float, int, int]:
    """Bytes moved, number of calls and their hash of a schedule, by a dry run."""
    ops = bind(s, dtype, device=contender.device, **dict(contender.options))
    counted = _Calls()
    block = -(-_block(contender, n, ops) // ops.grain) * ops.grain
    shape_only = np.broadcast_to(np.zeros((), np.int8), (n, n))
    dry: Any = Observed(ops, counted, apart=True, dry=True)
    _schedules.get(contender.schedule)(shape_only, dry, block=block)
    bits = 8 * np.dtype(dtype).itemsize if ops.grain == 1 else 1
    return counted.entries * bits / 8, counted.calls, counted.sequence


def _block(contender: Contender, n: int, ops: Backend) -> int:
    """The pivot block: as asked, else the backend's, but at most a quarter of the matrix."""
    if contender.block is None:
        return int(min(ops.pivot, max(1, -(-n // _LEAST))))
    return contender.block or int(ops.pivot)


def _with_speedups(rows: list[Row], first: Contender) -> list[Row]:
    """The rows with speed-ups over the first contender, over the iterative schedule on the same device, and by threads.

    E = S / p, with S = t₁ / tₚ the speed-up of p threads, same schedule and block.
    """
    seconds = {row.contender: row.seconds for row in rows if row.seconds}
    serial = seconds.get(first) if first.schedule == "iterative" else None
    steps = {of.device: time for of, time in reversed(seconds.items()) if of.schedule == "iterative"}  # the first ones
    # Transfers are the same for all: take the least disturbed.
    transfer = min((row.transfer for row in rows if row.seconds and row.transfer), default=0.0)

    def compared(row: Row, time: float) -> Row:
        threads = dict(row.contender.options).get("threads", 1)
        one = seconds.get(replace(row.contender, options=(("threads", 1),))) if threads > 1 else None
        gain = steps[row.contender.device] / time if row.contender.device in steps else None
        speedup, efficiency = serial and serial / time, one and one / (threads * time)
        copied = transfer if row.transfer else 0.0
        return replace(row, speedup=speedup, efficiency=efficiency, gain=gain, transfer=copied)

    return [compared(row, row.seconds) if row.seconds else row for row in rows]


def _expected(contender: Contender, n: int, s: Semiring, dtype: DType, known: Row | None) -> float:
    """Predicted seconds of a run: by n³ from a smaller one, else by the plan."""
    if known and known.seconds:
        return known.seconds * (n / max(known.n, 1)) ** 3
    ops = bind(s, dtype, device=contender.device, nonnegative=True, **dict(contender.options))
    slow = 8.0 if contender.schedule == "iterative" else 1.0
    return make_plan(n, s, ops, schedule=contender.schedule, block=_block(contender, n, ops)).seconds * slow


def _same(matrix: np.ndarray, reference: np.ndarray) -> tuple[bool, float]:
    """Whether the numbers are equal, but for rounding, and the largest relative difference."""
    same = np.array_equal(matrix, reference)
    if same or not SCALARS[matrix.dtype].floating:
        return same, 0.0 if same else math.inf
    with np.errstate(invalid="ignore"):  # ∞ beside a number is as far off as can be
        apart = np.abs(matrix - reference) / np.maximum(np.abs(reference), np.finfo(matrix.dtype).tiny)
    difference = float(np.where(matrix == reference, 0, np.nan_to_num(apart, nan=np.inf, posinf=np.inf)).max())
    return difference <= len(matrix) * SCALARS[matrix.dtype].eps, difference
