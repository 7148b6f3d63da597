"""Counting a closure's work as it is done, without the schedules knowing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from semiring.backend import Backend, in_turn

#: `callback(done, total)` in pairs (one ⊕ with one ⊗); a closure of n vertices has n³.
Callback = Callable[[int, int], None]


class Metered:
    """A backend whose verbs report pairs done to a callback, and the seconds that each verb took.

    Anything but the verbs below passes straight through. With `timed`, every verb is waited for, so that its
    seconds are its own: for benchmarks, as it forbids overlap.
    """

    def __init__(self, ops: Backend, total: int, callback: Callback | None = None, *, timed: bool = False) -> None:
        self._ops, self._total, self._callback, self._timed = ops, total, callback, timed
        self.done = 0
        self.seconds: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ops, name)

    def gemm(self, C: Any, A: Any, B: Any) -> None:
        self._count("gemm", len(A) * A.shape[1] * B.shape[1], C, A, B)

    def left_mul(self, D: Any, R: Any) -> None:
        self._count("left_mul", len(D) ** 2 * R.shape[1], D, R)

    def right_mul(self, C: Any, D: Any) -> None:
        self._count("right_mul", len(D) ** 2 * len(C), C, D)

    def eliminate(self, D: Any, R: Any, C: Any, rest: Any) -> None:
        if self._timed or not hasattr(self._ops, "eliminate"):
            in_turn(self, D, R, C, rest)
        else:
            pairs = len(D) ** 2 * (R.shape[1] + len(C)) + len(D) * len(C) * R.shape[1]
            self._count("eliminate", pairs, D, R, C, rest)

    def closure(self, D: Any) -> None:
        self._count("closure", len(D) ** 3, D)

    def step(self, A: Any, k: int) -> None:
        self._count("step", len(A) ** 2, A, k)

    def _count(self, verb: str, pairs: int, *operands: Any) -> None:
        start = time.perf_counter()
        getattr(self._ops, verb)(*operands)
        if self._timed:
            self._ops.synchronize()
        self.seconds[verb] = self.seconds.get(verb, 0.0) + time.perf_counter() - start
        self.done += pairs
        if self._callback:
            self._callback(self.done, self._total)
