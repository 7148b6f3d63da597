"""Engine: saved hub labels answer pairs; rows need the elimination, recomputed on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from semiring import sparse
from semiring.host.types import Scalar

from .factored import Eliminated


class Labelled(Eliminated):
    """An elimination known only by its hub labels; `recompute()` opens the engine itself."""

    hubs: sparse.HubLabels
    device, order, potential = "cpu", "auto", None

    def __init__(self, hubs: sparse.HubLabels, recompute: Callable[[], Any]) -> None:
        self.hubs, self._recompute = hubs, recompute
        self.semiring, self.dtype, self.shape, self.threads = hubs.semiring, hubs.dtype, (hubs.n, hubs.n), hubs.threads

    @cached_property
    def _recomputed(self) -> Eliminated:
        found: Eliminated = self._recompute()
        return found

    @cached_property
    def elimination(self) -> sparse.Elimination:  # type: ignore[override]  # an attribute there, made on demand here
        """The elimination, made when more than pairs is requested."""
        return self._recomputed.elimination

    @cached_property
    def analysis(self) -> sparse.Analysis:  # type: ignore[override]  # as above
        return self._recomputed.analysis

    def entry(self, i: int, j: int) -> Scalar:
        return self.hubs.entry(i, j)

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.hubs.entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.hubs.entries(i[:, None], j)
