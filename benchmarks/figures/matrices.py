"""Closures, products, batches, powers and LU over every semiring and dtype, beside what registers can do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from typing import Any

import cases
import common
import numpy as np
import probe
from device import cp, milliseconds

import semiring
from apsp import closure
from semiring.algebra.catalog import CATALOG
from semiring.kernels.backend import bind

from . import Figure, Task

SIZES = {"cpu": (64, 256, 1024), "cuda": (512, 2048, 4096)}
#: Count and size of the matrices of a batch.
BATCH = {"cpu": (64, 32), "cuda": (1024, 64)}
#: Least shares of the registers' rate, by verb, size and dtype, of (min, +).
BARS = {
    ("cpu", "product", 1024, "float32"): 0.7, ("cpu", "product", 1024, "float64"): 0.35,
    ("cpu", "closure", 1024, "float32"): 0.5, ("cpu", "closure", 1024, "float64"): 0.25,
    ("cuda", "product", 4096, "float32"): 0.8, ("cuda", "product", 4096, "int16"): 1.6,
    ("cuda", "product", 4096, "int32"): 0.8, ("cuda", "closure", 4096, "float32"): 0.7,
}  # fmt: skip
#: Most seconds of closures of sums on a GPU.
MOST = {
    ("log_plus", "float32", 512): 0.7e-3, ("log_plus", "float32", 2048): 3.2e-3, ("log_plus", "float32", 4096): 8e-3,
    ("plus_times", "float32", 512): 0.35e-3, ("plus_times", "float32", 2048): 1.1e-3,
    ("plus_times", "float32", 4096): 3.3e-3, ("plus_times", "float64", 4096): 25e-3,
}  # fmt: skip


def tasks(device: str) -> Iterator[Task]:
    """Every semiring in every dtype that it has."""
    sizes = SIZES[device][: 1 if common.quick() else 3]
    few = ("min_plus", "lor_land", "plus_times")
    for s in CATALOG:
        if s.name == "reliability" or (common.quick() and s.name not in few):  # it computes as max_times
            continue
        for dtype in s.dtypes:
            case = cases.Case(s, np.dtype(dtype))
            for verb, n in [("closure", n) for n in sizes] + [("product", n) for n in sizes]:
                yield _task(device, case, verb, n)
            for verb in ("batch", "power", *["lu"] * (s.name == "plus_times")):
                yield _task(device, case, verb, sizes[min(1, len(sizes) - 1)])
            if s.name == "min_plus" and dtype == "float64":  # others are computed in a narrower dtype
                yield from (_task(device, case, "closure of 40 bits", n) for n in sizes)


def _task(device: str, case: cases.Case, verb: str, n: int) -> Task:
    name = f"{verb} {case} {n}" if verb != "batch" else f"batch {case} {BATCH[device][0]} × {BATCH[device][1]}"
    return name, partial(_measure, name, device, case, verb, n)


def _measure(name: str, device: str, case: cases.Case, verb: str, n: int) -> Figure:
    count, m = BATCH[device] if verb == "batch" else (1, n)
    call, check, pairs = _call(device, case, verb, n)
    check()
    before = _registers(device)
    seconds = _seconds(call, device)
    rate = (before + _registers(device)) / 2
    s, dtype = case.semiring.name, case.dtype.name
    least = BARS.get((device, verb, n, dtype)) if s == "min_plus" else None
    most = MOST.get((s, dtype, n)) if (device, verb) == ("cuda", "closure") else None
    family = (f"{verb} {s} {count} × {m}", f"{verb} {dtype} {count} × {m}")
    return Figure(name, seconds, pairs / rate, "registers, (min, +) in float32", least, most, pairs, family)


def _call(device: str, case: cases.Case, verb: str, n: int) -> tuple[Callable[[], Any], Callable[[], None], float]:
    """Public call, check of its result, and count of pairs."""
    s, options = case.semiring, {"threads": 1} if device == "cpu" else {}
    there = np.asarray if device == "cpu" else cp.asarray
    if verb == "product":
        A = _random(case, (n, n), n, density=0.3)
        B = A[::-1].copy()
        X, Y = there(A), there(B)

        def call() -> Any:
            return semiring.matmul(X, Y, s, **options)

        return call, lambda: cases.check_product(case, A, B, call()), n**3
    if verb == "batch":
        count, m = BATCH[device]
        A = np.stack([_random(case, (m, m), seed, density=0.3) for seed in range(count)])
        X = there(A)

        def call():
            return closure(X, s, null_value=None, **options)

        return call, lambda: _check_closure(case, A[-1], cases._host(call()[-1])), count * m**3
    A = _random(case, (n, n), n, density=0.3)
    if verb == "closure of 40 bits":  # sums of 4,096 are exact
        A = A * 2.0**33 + np.random.default_rng(n).integers(0, 1 << 33, (n, n))
    X = there(A)
    if verb.startswith("closure"):

        def call():
            return closure(X, s, null_value=None, **options)

        return call, lambda: _check_closure(case, A, cases._host(call())), n**3
    if verb == "power":

        def call():
            return semiring.power(X, 4, s, **options)

        return call, lambda: cases.check_product(case, *[semiring.power(X, 2, s)] * 2, call()), 2 * n**3
    X = there(A + np.eye(n, dtype=A.dtype))  # no pivot vanishes
    return lambda: semiring.lu(X), lambda: None, n**3 / 3


def _check_closure(case: cases.Case, A: np.ndarray, D: np.ndarray) -> None:
    """D = I ⊕ A ⊗ D and, where ⊕ is idempotent, D ⊗ D = D, on three rows each."""
    add, mul = case.semiring.add.ufunc, case.semiring.mul.ufunc
    wide = {"i": np.int64, "b": np.bool_}.get(case.dtype.kind, np.float64)
    for i in np.random.default_rng(1).integers(0, len(A), 3):
        for left in (A[i], D[i])[: 2 if case.semiring.idempotent else 1]:
            row = mul(left.astype(wide)[:, None], D.astype(wide))
            row[left == case.zero] = case.zero
            row[D == case.zero] = case.zero
            expected = add.reduce(row, axis=0)
            expected[i] = add(expected[i], wide(case.one))
            # Of logarithms near 0 the absolute error counts.
            loose = 1e-3 if case.semiring.tolerance else 0
            np.testing.assert_allclose(D[i], expected, rtol=loose, atol=loose / 100)


def _seconds(call: Callable[[], Any], device: str) -> float:
    """Shortest run: processor time of one thread, or events of the device around the call."""
    if device == "cpu":
        return common.best(call, clock=time.thread_time, seconds=0.05)
    return milliseconds(call, repeats=1 if common.quick() else 5, launching=True, of=min) / 1e3


@lru_cache(maxsize=8)
def _random(case: cases.Case, shape: tuple[int, ...], seed: int, *, density: float) -> np.ndarray:
    return cases.random_matrix(case, shape, seed, density=density)


def _registers(device: str) -> float:
    """Pairs a second of (min, +) in float32 when nothing is loaded or stored."""
    return probe.rate(_kind(), image=True, repeats=3) if device == "cpu" else _ceiling()


@cache
def _kind() -> Any:
    return bind(semiring.get("min_plus"), "float32", nonnegative=True, threads=1).kind


@cache
def _ceiling() -> float:
    import gpu

    return gpu.ceiling_of("min_plus", "float32")
