"""A `Question`: a source, a semiring, and the request, with properties computed lazily before any work.

The source is a `Graph`, or a result of `apsp.big.large.sources.matrix_or_graph`. Arcs, weights, and the matrix on its
device are made on first use, and cached for all engines.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.dense.bits import BitMatrix
from semiring.host.arrays import take_in
from semiring.host.compiling import Missing
from semiring.host.devices import UNCHANGED, is_plain, on_device
from semiring.host.memory import LEAST, available, granted
from semiring.host.types import Array
from semiring.kernels.backend import Backend, bind, device_of

from ..big.large.sources import has_windows
from ..io.graph import Graph
from .arcs import Arcs, narrowed
from .problem import Intake, Problem, pose_array, pose_bits, take
from .wants import Wants

#: No missing kernels.
NOTHING = Missing()

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A matrix or graph over a semiring, and the request about it.

    `source` is a Graph, an array or BitMatrix, or for a plan the number of vertices.
    """

    source: Any
    semiring: Semiring
    wants: Wants

    @property
    def is_graph(self) -> bool:
        return isinstance(self.source, Graph)

    @cached_property
    def in_windows(self) -> bool:
        """Whether the source is read by windows, within limits."""
        return self.wants.limits is not None and not isinstance(self.source, BitMatrix) and has_windows(self.source)

    @cached_property
    def listed(self) -> bool:
        return isinstance(self.source, Graph) and self.source.dense is None

    @property
    def picks(self) -> bool:
        """Whether only some rows or columns of a host matrix of a graph are wanted."""
        return isinstance(self.source, Graph) and isinstance(self.source.dense, np.ndarray) and self.wants.partial

    @property
    def graph(self) -> Graph:
        assert isinstance(self.source, Graph)
        return self.source

    @cached_property
    def n(self) -> int:
        if isinstance(self.source, Graph):
            return self.source.n
        if isinstance(self.source, (int, np.integer)):
            return int(self.source)
        whole = isinstance(self.source, BitMatrix) or self.in_windows
        return int(self.source.shape[-1] if whole else self.intake.taken.array.shape[-1])

    @cached_property
    def dtype(self) -> np.dtype:
        wants, source = self.wants, self.source
        if isinstance(source, (int, np.integer)):
            return dtypes.resolve(self.semiring, wants.dtype, where=wants.where)
        if isinstance(source, Graph) and not self.in_windows:
            if source.weights is not None and self.once(narrowed):
                return np.dtype(np.int32)
            return source.target(self.semiring, wants.dtype, where=wants.where)
        if self.in_windows:
            return dtypes.resolve(self.semiring, wants.dtype, source.dtype, where=wants.where)
        return np.dtype(bool) if isinstance(source, BitMatrix) else self.intake.taken.array.dtype

    @cached_property
    def device(self) -> str:
        if not (isinstance(self.source, (Graph, int, np.integer)) or self.in_windows):
            return self.problem.device
        matrix = getattr(self.source, "dense", None)
        return device_of(matrix if matrix is not None and is_plain(matrix) else None, self.wants.device)

    @property
    def on_device(self) -> AbstractContextManager[object]:
        """Context manager: the GPU of the source's matrix is current."""
        array = self.source.dense if isinstance(self.source, Graph) else self.source
        return UNCHANGED if array is None or isinstance(array, np.ndarray) else on_device(array)

    # As a matrix

    @cached_property
    def intake(self) -> Intake:
        """The array in the computing dtype, and whose memory it is."""
        dtype = self.wants.dtype if getattr(self.source, "weights", None) is None else self.dtype
        return take(self.source, self.semiring, self.wants, dtype)

    @cached_property
    def problem(self) -> Problem:
        if isinstance(self.source, BitMatrix):
            return pose_bits(self.source, self.semiring, self.wants)
        return pose_array(self.intake, self.semiring, self.wants)

    def in_kind(self, table: Array) -> Array:
        """A table in the input's library and device, or the overwritten input."""
        if "intake" in vars(self):
            return self.intake.taken.give_back(table, where=self.wants.where)
        if isinstance(self.source, np.ndarray) or not hasattr(self.source, "__dlpack__"):
            return table
        return take_in(self.source, where=self.wants.where).give_back(table, where=self.wants.where)  # read by windows

    # As arcs

    @cached_property
    def arcs(self) -> Arcs:
        return Arcs(self.graph, self.semiring, self.dtype, self.wants, self.lines)

    # The request

    @cached_property
    def threads(self) -> int:
        return (self.once(_verbs) if self.device == "cpu" else bind(self.semiring, self.dtype)).threads

    def missing(self, work: str) -> Missing:
        """Kernels of a kind of work that are still to be compiled."""
        if not work:
            return NOTHING
        found = self._found
        if work not in found:
            found[work] = self.once(_verbs).missing(work)
        missing: Missing = found[work]
        return missing

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the answer."""
        i, j = self.wants.sources, self.wants.targets
        return self.n if i is None else len(i), self.n if j is None else len(j)

    @cached_property
    def lines(self) -> int:
        """Searches from all sources, or backwards from all targets if they are fewer."""
        return min(self.shape)

    @property
    def columns(self) -> int:
        """Entries kept of each computed line; 0 if all are streamed."""
        return max(self.shape) if self.wants.partial else 0

    def once(self, find: Callable[[Question], T]) -> T:
        """find(self), cached across engines."""
        found: dict[Any, Any] = self._found
        if find not in found:
            found[find] = find(self)
        return found[find]

    def fits(self, needed: int, device: str) -> bool:
        """Whether a device has this memory free; the system is asked once, and only if necessary."""
        if needed <= LEAST or granted(needed, device):
            return True
        found = self._found
        if device not in found:
            found[device] = available(device)
        return found[device] is None or needed <= found[device]

    def widened(self, *known: Callable[[Question], object]) -> Question:
        """The question in int64, for which `known` are found already."""
        posed = replace(self, wants=replace(self.wants, dtype=np.dtype(np.int64)))
        posed._found.update((find, self.once(find)) for find in known)
        return posed

    @cached_property
    def _found(self) -> dict[Any, Any]:
        return {}

    def forget(self) -> None:
        """Free the arcs and everything derived, before a matrix is allocated."""
        for name in ("arcs", "_found"):
            vars(self).pop(name, None)


def _verbs(question: Question) -> Backend:
    """Verbs on the question's device, with the threads asked for, which the backend validates."""
    asked = question.wants.options.get("threads") if question.device == "cpu" else None
    own = {} if asked is None else {"threads": asked}
    return bind(question.semiring, question.dtype, device=question.device, **own)
