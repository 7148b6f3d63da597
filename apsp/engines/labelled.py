"""Hub labels that were saved: pairs are answered from them; rows by an elimination, once they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .elimination import Eliminated

if TYPE_CHECKING:
    from semiring.sparse import Analysis, Elimination, HubLabels


class Labelled(Eliminated):
    """An elimination of which nothing is there but its hub labels.

    Parameters
    ----------
    hubs : HubLabels
    recompute : callable
        `recompute()`: the engine of the elimination itself.
    """

    hubs: HubLabels
    device, order, potential = "cpu", "auto", None

    def __init__(self, hubs: HubLabels, recompute: Callable[[], Any]) -> None:
        self.hubs, self._recompute = hubs, recompute
        self.semiring, self.dtype, self.shape, self.threads = hubs.semiring, hubs.dtype, (hubs.n, hubs.n), hubs.threads

    @cached_property
    def _recomputed(self) -> Eliminated:
        found: Eliminated = self._recompute()
        return found

    @cached_property
    def elimination(self) -> Elimination:  # type: ignore[override]  # an attribute there, made on demand here
        """Of the same weights, as soon as more than pairs is asked for."""
        return self._recomputed.elimination

    @cached_property
    def analysis(self) -> Analysis:  # type: ignore[override]  # as above
        """Its structure."""
        return self._recomputed.analysis

    @cached_property
    def weights(self) -> np.ndarray:
        """One an arc."""
        return self._recomputed.weights

    def entry(self, i: int, j: int) -> Any:
        """From two labels."""
        return self.hubs.entry(i, j)

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """From labels, however many they are."""
        return self.hubs.entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """From labels, however many they are."""
        return self.hubs.entries(i[:, None], j)
