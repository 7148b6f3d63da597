"""Closures that are held to so much memory, that keep what they have come to, or whose result is a store of tiles.

in core        the matrix fits where the verbs work                  any schedule; with a checkpoint, one round after
                                                                     the other, and the matrix written when it is time
through a GPU  it fits into memory of the host alone                 super-blocks stream (apsp/large/streaming.py)
from disk      it fits into neither                                  the same, from a store that is its own checkpoint
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra import Semiring
from semiring.backend import Backend, bind, device_of
from semiring.catalog import recorded_as
from semiring.cycles import restore, reweight
from semiring.errors import AlgebraError, DTypeError, MemoryNeeded
from semiring.memory import available, parsed, require, shown
from semiring.observed import Callback
from semiring.survey import fast
from semiring.tiles import TileStore
from semiring.tiles.courier import InArray, InStore
from semiring.tiles.folder import check_place, is_store, remove

from ..convergence import divergence, settle
from ..log import tell
from ..plans import Plan, make_plan
from ..problem import Request
from ..saving.stores import forget_result
from ..schedules import distributed
from . import checkpoints, streaming
from .checkpoints import EVERY, Keeper
from .sources import Source

#: Of what is free, so much is used where nobody says how much.
SHARE = 0.9
#: Bytes a second that a GPU's link and a disk move, for predicted times alone.
LINK, DISK = 50e9, 1e9
#: Rows and columns of the tiles of a checkpoint.
TILE = 1024


@dataclass(frozen=True)
class Limits:
    """What the caller says of memory and of disks.

    Attributes
    ----------
    memory : int or None
        Bytes of memory of the device that computes.
    checkpoint : path or None
        A directory for what a closure has come to.
    every : float
        Seconds between two checkpoints of a matrix in memory.
    output : path or None
        A directory for the result, as a store of tiles.
    """

    memory: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    every: float = EVERY
    output: str | os.PathLike[str] | None = None

    @classmethod
    def of(cls, memory: Any, checkpoint: Any, output: Any, every: float | None = None) -> Limits | None:
        """None where nothing was said.

        Raises
        ------
        ValueError
            If memory is no number of bytes, or there is no checkpoint that could be written every so many seconds.
        """
        if every is not None and checkpoint is None:
            raise ValueError(f"every={every!r} says how often a checkpoint is written: say checkpoint='ck/' as well.")
        if memory is None and checkpoint is None and output is None:
            return None
        size = None if memory is None else parsed(memory)
        return cls(size, checkpoint, EVERY if every is None else every, output)

    @staticmethod
    def refuse_others(*, where: str, engine: str = "auto", order: Any = "auto", **parts: Any) -> None:
        """Refuse what a dense closure of all pairs, which alone has limits, would leave out.

        Raises
        ------
        ValueError
        """
        ordered = not isinstance(order, str) or order != "auto"
        if ordered or engine not in ("auto", "dense") or any(part is not None for part in parts.values()):
            raise ValueError(
                f"{where}: memory=, checkpoint= and output= come with the dense closure of all pairs, got "
                "sources, targets, a limit, an order or another engine beside them. Ask for all, and take parts of the "
                "result."
            )

    def refuse_memory(self, *, where: str) -> None:
        """Refuse to hold several devices to so much memory: a closure over them lies in theirs.

        Raises
        ------
        ValueError
        """
        if self.memory is not None:
            raise ValueError(f"{where}: memory= holds one device, got gpus= beside it. Leave one of them out.")


@dataclass(frozen=True)
class Large:
    """A closure within limits.

    Parameters
    ----------
    source : Source
    device : str
    limits : Limits
    options : dict
        The backend's own.
    block : int or None
        The pivot block asked for.
    schedule : str
    """

    source: Source
    device: str
    limits: Limits
    options: dict[str, Any]
    block: int | None = None
    schedule: str = "auto"

    @classmethod
    def asked(
        cls, A: Any, semiring: Semiring, limits: Limits, request: Request, *, dtype: Any = None, device: Any = None
    ) -> Large:
        """That of a `Source`, or of whatever `Source.of` takes.

        Raises
        ------
        DTypeError
            For truth values, which are closed as packed bits, in memory alone.
        """
        if semiring.dtypes == ("bool",):
            raise DTypeError(
                f"closure: memory=, checkpoint= and output= take matrices of numbers, got {semiring.name}, whose truth "
                "values are packed: 2²⁰ vertices in 128 GiB. transitive_closure(graph, memory=…, output='reach/') is "
                "for graphs whose answer is larger than memory."
            )
        source = A if isinstance(A, Source) else Source.of(A, semiring, dtype, where="closure")
        place = device_of(None, device or "cpu")
        return cls(source, place, limits, request.options, request.block, request.schedule)

    @cached_property
    def ops(self) -> Backend:
        """The verbs, with the variants that the entries permit."""
        seen, _ = self.source.looked_at
        s, dtype = self.source.semiring, self.source.dtype
        nonnegative = fast(seen, s, dtype, self.source.n)
        return bind(s, dtype, device=self.device, nonnegative=nonnegative, **self.options)

    @cached_property
    def memory(self) -> int:
        """Bytes that may be held where the verbs work."""
        if self.limits.memory is not None:
            return self.limits.memory
        free = available(self.device)
        return 1 << 62 if free is None else int(SHARE * free)

    @cached_property
    def plan(self) -> Plan:
        """What will be done, with which memory, and how much is moved.

        Raises
        ------
        MemoryNeeded
            If not even the smallest super-blocks fit.
        """
        n, s, ops = self.source.n, self.source.semiring, self.ops
        name = "distributed" if self.limits.checkpoint is not None else self.schedule
        found = make_plan(n, s, ops, schedule=name, block=self.block)
        if found.matrix_bytes + found.workspace_bytes <= self.memory:
            return replace(found, reason=f"{found.reason}; it fits into {shown(self.memory)}")
        cut = self.cut
        rounds = -(-n // cut.block)
        place, rate = ("host memory", LINK) if self.streams_from_memory else ("disk", DISK)
        # A round reads all, and its row panel once a band; and writes all.
        moved = rounds * self.source.nbytes * 2 + n * n * self.source.dtype.itemsize * -(-n // cut.rows)
        seconds = max(found.seconds, moved / rate)
        reason = (
            f"{shown(self.source.nbytes)} pass through {shown(cut.bytes)} of {shown(self.memory)} in {rounds} rounds, "
            f"windows of {cut.rows} × {cut.columns}; {shown(moved)} are moved from {place} and back"
        )
        return replace(
            found,
            schedule="streamed",
            block=cut.block,
            reason=reason,
            workspace_bytes=cut.bytes,
            beside_bytes=cut.bytes,
            seconds=seconds,
            pairs=n**3,
        )

    @cached_property
    def cut(self) -> streaming.Cut:
        """How the matrix streams.

        Raises
        ------
        MemoryNeeded
        """
        n, tile = self.source.n, None
        for place in (self.limits.checkpoint, self.limits.output):
            if place is not None and is_store(place) and not self.streams_from_memory:
                tile = TileStore(place).block[0]
                break
        found = streaming.fit(n, self.ops, self.memory, tile=tile)
        if found is None and tile is not None:
            found = streaming.fit(n, self.ops, self.memory)
        if found is None:
            least = shown(streaming.least(n, self.ops))
            raise MemoryNeeded(
                f"closure: a super-block with its windows must fit into memory, {least} at least for {n} vertices, got "
                f"{shown(self.memory)}. Give more memory, or fewer threads."
            )
        return found

    @property
    def in_core(self) -> bool:
        """Whether the matrix lies whole where the verbs work."""
        return self.plan.schedule != "streamed"

    @cached_property
    def streams_from_memory(self) -> bool:
        """Whether host memory takes what the device does not."""
        if self.device == "cpu":
            return False
        free = available("cpu")
        return free is None or self.source.nbytes <= SHARE * free

    def check(self) -> None:
        """Refuse before any work what could not be written, or has no end.

        Raises
        ------
        OSError, MemoryNeeded, AlgebraError
        """
        self.source.refuse_overwriting(self.limits.output, where="closure")
        for place in (self.limits.checkpoint, self.limits.output):
            if place is not None:
                check_place(place)
        s, seen = self.source.semiring, self.source.looked_at[0]
        on_disk = not self.in_core and not self.streams_from_memory
        if on_disk and not s.idempotent and divergence.may_diverge(s, seen, self.source.n):
            raise AlgebraError(
                f"closure: over {s.name}, whose sums may have no limit, the matrix must fit into memory, where that is "
                f"looked for, got {shown(self.source.nbytes)} for {shown(self.memory)}. Give more memory."
            )
        if on_disk and self._works_in is None:
            raise MemoryNeeded(
                f"closure: {shown(self.source.nbytes)} must fit into {shown(self.memory)}, or have a place on disk. "
                "Say output='tiles/', where the result will be, or checkpoint='ck/'."
            )

    @property
    def _works_in(self) -> str | os.PathLike[str] | None:
        """Where the store is that a closure works on: the checkpoint, or the result itself."""
        return self.limits.checkpoint if self.limits.checkpoint is not None else self.limits.output

    # Computing it

    @property
    def ordinary(self) -> bool:
        """Whether nothing but an output was asked for that `apsp.closure` does not do anyway."""
        return self.in_core and self.limits.checkpoint is None

    def close(self, callback: Callback | None = None, *, stacklevel: int = 3) -> Any:
        """A*, a NumPy array; or a `TileStore` where an output is asked for, or nothing else holds it.

        Raises
        ------
        DivergenceError
            If the closure does not exist.
        FormatError
            If the checkpoint is another's.
        OSError, MemoryNeeded, AlgebraError
            Before any work.
        """
        self.check()
        tell(self.plan, callback, stacklevel=stacklevel + 1)
        if self.in_core or self.streams_from_memory:
            return self.given(self._in_memory(callback))
        return self._on_disk(callback)

    def given(self, D: np.ndarray) -> Any:
        """A result in memory as it was asked for: itself, or as a store."""
        output, checkpoint = self.limits.output, self.limits.checkpoint
        if output is None:
            return D
        if checkpoint is not None and os.path.realpath(output) == os.path.realpath(checkpoint):
            return TileStore(output)  # the last of the checkpoints is the result
        return as_store(D, output, self.source.semiring)

    def _in_memory(self, callback: Callback | None) -> np.ndarray:
        """The closure of a matrix that lies in memory: of the device, or of the host, from where it streams."""
        source, s, ops, n = self.source, self.source.semiring, self.ops, self.source.n
        require(source.nbytes, "cpu", where="closure", hint="Say output='tiles/' and memory=…: it then streams.")
        place = self.limits.checkpoint
        kept = None if place is None else checkpoints.opened(place, source, ops, tile=TILE, fit=lambda _: True)
        keeper = None if kept is None else Keeper(kept.store, self.limits.every)
        begun = kept.begun if kept else 0
        risky = divergence.may_diverge(s, source.looked_at[0], n)
        D = source.whole() if risky or not begun else np.empty((n, n), source.dtype)
        # Cycles of length about 0 feed on each other's rounding; on Johnson's lengths none does.
        potential = settle.precaution(D, s, source.looked_at[0], overwrite=True) if risky else None
        if kept and begun:
            kept.store.window(slice(0, n), slice(0, n), D)
        if potential is not None:
            reweight(D, s, potential)

        def true(X: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
            """What a checkpoint keeps: numbers of A itself, which any run goes on from, and which may be the result."""
            if potential is None:
                return X
            X = X.copy()
            restore(X, s, potential, rows, columns)
            return X

        block = self.plan.block
        if self.in_core:
            M = ops.upload(D, copy=False)
            ops.prepare(n)
            rounds = _Rounds(
                keeper, lambda rows, columns: true(ops.download(M[rows, columns]), rows, columns), n, callback
            )
            distributed.closure(M, ops, block=block, begun=begun, after=rounds.after, whole=rounds.whole)
            ops.synchronize()
            if M is not D:
                ops.download(M, out=D)
        else:
            rounds = _Rounds(keeper, lambda rows, columns: true(D[rows, columns], rows, columns), n, None)
            step, after = _pairs(callback, n, begun), rounds.after if keeper else None
            streaming.closure(InArray(D), ops, self.cut, begun=begun, after=after, step=step)
        if potential is not None:
            restore(D, s, potential)
            settle.reflexive(D, s)
        elif risky:
            settle.settle(D, None, s, source.looked_at[0])
        return D

    def _on_disk(self, callback: Callback | None) -> TileStore:
        """The closure of a matrix that lies in a store, which is its own checkpoint."""
        source, cut, n = self.source, self.cut, self.source.n
        place, output = self._works_in, self.limits.output
        assert place is not None
        if output is not None:
            forget_result(output)  # one that was there is none of this closure
        if self.limits.checkpoint is None and is_store(place):
            remove(place)
        kept = checkpoints.opened(place, source, self.ops, tile=cut.tile, fit=lambda size: size == cut.tile)
        checkpoints.fill(kept, source)
        begun = n if kept.begun >= n else kept.begun // cut.tile * cut.tile
        slow = InStore(kept.store, durable=self.limits.checkpoint is not None)
        streaming.closure(slow, self.ops, cut, begun=begun, step=_pairs(callback, n, begun))
        kept.store.sync()
        self._exists(kept.store)
        if output is None or os.path.realpath(output) == os.path.realpath(place):
            return kept.store
        return kept.store.linked(output)

    def _exists(self, store: TileStore) -> None:
        """Raise where the diagonal says that the closure does not exist.

        Raises
        ------
        DivergenceError
        """
        s = self.source.semiring
        if not divergence.may_diverge(s, self.source.looked_at[0], self.source.n):
            return
        diagonal = np.concatenate([store.read(k, k).diagonal() for k in range(store.grid[0])])
        vertex = divergence.beaten(diagonal, s)
        if vertex is not None:
            raise divergence.vertex_error(vertex, diagonal[vertex].item(), s, where="closure")


def as_store(D: np.ndarray, output: str | os.PathLike[str], semiring: Semiring) -> TileStore:
    """A result in memory, written as a store of tiles."""
    forget_result(output)
    store = TileStore.create(output, D.shape, D.dtype, block=TILE, attributes={"semiring": recorded_as(semiring)})
    store.put(D, round=len(D))
    store.sync()
    return store


def rounds_done(begun: int, block: int, n: int) -> int:
    """How many rounds of so many pivots are done where `begun` pivots are."""
    return -(-n // block) if begun >= n else begun // block


def _pairs(callback: Callback | None, n: int, pivots: int) -> Callable[[int], None] | None:
    """What adds up the pairs of windows, after so many pivots, and tells them."""
    if callback is None:
        return None
    done = pivots * n * n

    def add(pairs: int) -> None:
        nonlocal done
        done = min(n**3, done + pairs)
        callback(done, n**3)

    return add


class _Rounds:
    """What is done after a round: the callback is told, and the matrix is written where it is time, and at the end."""

    def __init__(
        self, keeper: Keeper | None, fetch: Callable[[slice, slice], Any], n: int, callback: Callback | None
    ) -> None:
        self._keeper, self._fetch, self._n, self._callback = keeper, fetch, n, callback
        self._due: dict[int, bool] = {}

    def whole(self, index: int) -> bool:
        """Whether the matrix is written after this round; asked before its verbs."""
        if index not in self._due:
            self._due[index] = self._keeper is not None and self._keeper.due
        return self._due[index]

    def after(self, index: int, pivot: slice) -> None:
        """A round is under way to its end."""
        if self._callback is not None:
            self._callback(pivot.stop * self._n**2, self._n**3)
        if self._keeper is not None and (self.whole(index) or pivot.stop == self._n):
            every = slice(0, self._n)
            self._keeper.keep(every, every, self._fetch, pivot.stop)
