"""Dense closures with limited memory, a checkpoint, or output to a store of tiles.

in core        the matrix fits where the verbs work    any schedule; with a checkpoint, rounds, and periodic writes
through a GPU  it fits only in host memory             super-blocks stream (apsp/big/large/streaming.py)
from disk      it fits in neither                      the same, from a store that is its own checkpoint
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from semiring.algebra.records import Semiring
from semiring.algebra.survey import fast
from semiring.host.errors import AlgebraError, DTypeError, MemoryNeeded
from semiring.host.memory import available, require, shown
from semiring.host.types import Array, Fields
from semiring.kernels.backend import Backend, bind, device_of
from semiring.kernels.observed import Callback
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.folder import check_place, is_store, require_disk_space
from semiring.stores.tiles.windows import InArray, InStore

from ...io.graph.ondisk import refuse_overwriting
from ...io.saving.tiles import as_store, forget_result
from ...road import rates
from ...road.convergence import divergence
from ...road.convergence.settle import Existence
from ...road.plans import Plan, make_plan
from ...road.schedules import distributed
from ...road.wants import Wants
from . import checkpoints, streaming
from .limits import Limits
from .sources import Source

#: Default share of free memory to use.
SHARE = 0.9


@dataclass(frozen=True)
class Large:
    """A closure within limits; `options` are the backend's, `block` the requested pivot block."""

    source: Source
    device: str
    limits: Limits
    options: Fields
    block: int | None = None
    schedule: str = "auto"

    @classmethod
    def of(cls, A: Array, semiring: Semiring, wants: Wants) -> Large:
        """From a `Source`, or any input of `Source.of`; DTypeError for truth values (closed in memory only)."""
        if semiring.dtypes == ("bool",):
            raise DTypeError(
                f"closure: memory=, checkpoint= and output= take matrices of numbers, got {semiring.name}, whose truth "
                "values are packed: 2²⁰ vertices in 128 GiB. transitive_closure(graph, memory=…, output='reach/') is "
                "for graphs whose answer is larger than memory."
            )
        place, limits = device_of(None, wants.device or "cpu"), wants.limits
        source = A if isinstance(A, Source) else Source.of(A, semiring, wants.dtype, nulls=wants.nulls, where="closure")
        source = replace(source, strip_limit=limits.memory if place == "cpu" else None)
        return cls(source, place, limits, wants.options, wants.block, wants.schedule)

    @cached_property
    def ops(self) -> Backend:
        seen, _ = self.source.surveyed
        s, dtype = self.source.semiring, self.source.dtype
        nonnegative = fast(seen, s, dtype, self.source.n)
        return bind(s, dtype, device=self.device, nonnegative=nonnegative, **self.options)

    @cached_property
    def memory(self) -> int:
        if self.limits.memory is not None:
            return self.limits.memory
        free = available(self.device)
        return 1 << 62 if free is None else int(SHARE * free)

    @cached_property
    def plan(self) -> Plan:
        """Method, memory and traffic; MemoryNeeded if not even the smallest super-blocks fit."""
        n, found = self.source.n, self._in_core_plan
        if found.matrix_bytes + found.workspace_bytes <= self.memory:
            return replace(found, reason=f"{found.reason}; it fits into {shown(self.memory)}")
        cut = self.cut
        rounds = -(-n // cut.block)
        if self.streams_from_memory:
            place, rate = "host memory", rates.card.link_rate
        else:
            place, rate = "disk", rates.processor.disk_rate
        # A round reads all, plus its row panel once a band, and writes all.
        moved = rounds * self.source.nbytes * 2 + n * n * self.source.dtype.itemsize * -(-n // cut.rows)
        seconds = max(found.seconds, moved / rate)
        reason = (
            f"{shown(self.source.nbytes)} pass through {shown(cut.bytes)} of {shown(self.memory)} in {rounds} rounds, "
            f"windows of {cut.rows} × {cut.columns}; {shown(moved)} are moved from {place} and back"
        )
        return replace(
            found, schedule="streamed", block=cut.block, reason=reason, workspace_bytes=cut.bytes,
            beside_bytes=cut.bytes, seconds=seconds, pairs=n**3,
        )  # fmt: skip

    @cached_property
    def _in_core_plan(self) -> Plan:
        name = "distributed" if self.limits.checkpoint is not None else self.schedule
        return make_plan(self.source.n, self.source.semiring, self.ops, schedule=name, block=self.block)

    @cached_property
    def cut(self) -> streaming.Cut:
        """Window sizes of the stream; raises MemoryNeeded."""
        n, tile = self.source.n, None
        place = self.limits.checkpoint
        if place is not None and is_store(place) and not self.streams_from_memory:
            tile = TileStore(place).block[0]
        found = streaming.fit(n, self.ops, self.memory, tile=tile)
        if found is None and tile is not None:
            found = streaming.fit(n, self.ops, self.memory)
        if found is None:
            least = f"{-(-streaming.least(n, self.ops) // 1024)} KiB"  # no less: it is given back as memory=
            raise MemoryNeeded(
                f"closure: a super-block with its windows must fit into memory, {least} at least for {n} vertices, got "
                f"{shown(self.memory)}. Give more memory, or fewer threads."
            )
        return found

    @property
    def in_core(self) -> bool:
        return self.plan.schedule != "streamed"

    @cached_property
    def streams_from_memory(self) -> bool:
        """Whether the matrix fits in host memory but not on the device."""
        if self.device == "cpu":
            return False
        free = available("cpu")
        return free is None or self.source.nbytes <= SHARE * free

    def check_places(self) -> None:
        """Raise OSError for outputs that cannot be written, or do not fit on the disk; ValueError for the input."""
        refuse_overwriting(self.source.origin, self.limits.output, where="closure")
        for place in (self.limits.checkpoint, self.limits.output):
            if place is not None and not (check_place(place) or is_store(place)):
                require_disk_space(Path(place), self.source.nbytes)

    def check(self) -> None:
        """Raise early MemoryNeeded, or AlgebraError for sums without limit."""
        s, seen = self.source.semiring, self.source.surveyed[0]
        on_disk = not self.in_core and not self.streams_from_memory
        needed = f"{shown(self.source.nbytes)} with {shown(self._in_core_plan.workspace_bytes)} of workspace"
        if on_disk and not s.idempotent and divergence.may_diverge(s, seen, self.source.n):
            raise AlgebraError(
                f"closure: over {s.name}, whose sums may have no limit, the matrix must fit into memory, where that is "
                f"looked for, got {needed} for {shown(self.memory)}. Give more memory."
            )
        if on_disk and self.limits.works_in is None:
            raise MemoryNeeded(
                f"closure: {needed} must fit into {shown(self.memory)}, or have a place on disk. Say output='tiles/', "
                "where the result will be, or checkpoint='ck/'."
            )

    # Computation

    @property
    def ordinary(self) -> bool:
        """Whether only an output distinguishes this from an ordinary closure."""
        return self.in_core and self.limits.checkpoint is None

    def close(self, callback: Callback | None = None) -> Array:
        """A* as an array, or a `TileStore` if requested or too large; early errors, DivergenceError, FormatError."""
        if self.in_core or self.streams_from_memory:
            return self.as_requested(self._in_memory(callback))
        return self._on_disk(callback)

    def _in_memory(self, callback: Callback | None) -> np.ndarray:
        """A* in host memory: by pivot blocks on the device, or through it by windows."""
        source, ops, limits = self.source, self.ops, self.limits
        s, n, seen, every = source.semiring, source.n, source.surveyed[0], slice(0, source.n)
        require(source.nbytes, "cpu", where="closure", hint="Say output='tiles/' and memory=…: it then streams.")
        state = None
        if limits.checkpoint is not None:
            state = checkpoints.opened(limits.checkpoint, source, ops, every=limits.every)
        begun = state.begun if state else 0
        risky = divergence.may_diverge(s, seen, n)
        D = source.to_array() if risky or not begun else np.empty((n, n), source.dtype)
        existence = Existence(D, s, seen, overwrite=True)
        # Cycles of length about 0 amplify each other's rounding, but not on Johnson's lengths.
        lengths = existence.precaution() if risky else None
        if state and begun:
            state.store.window(every, every, D)
        if lengths is not None:
            lengths.reweight(D)
        M = ops.upload(D, copy=False) if self.in_core else None
        writer = state.writer(every, every) if state else None

        def after(pivot: slice) -> None:
            if callback is not None and M is not None:
                callback(pivot.stop * n**2, n**3)
            if writer is not None:
                writer.after(pivot.stop, original)

        def original(rows: slice, columns: slice) -> np.ndarray:
            """A window without Johnson's lengths: any run can continue from it or return it."""
            X = np.asarray(D[rows, columns] if M is None else ops.download(M[rows, columns]))
            if lengths is not None:
                X = X.copy()
                lengths.restore_window(X, rows, columns)
            return X

        if M is not None:
            ops.prepare(n)
            complete = writer.due if writer else None
            distributed.closure(M, ops, block=self.plan.block, begun=begun, after=after, complete=complete)
            ops.synchronize()
            ops.download(M, out=D)
        else:
            write = after if writer else None
            streaming.closure(InArray(D), ops, self.cut, begun=begun, after=write, callback=callback)
        if lengths is not None:
            lengths.restore(D)
        elif risky:
            existence.settle(D)
        if state:
            state.close()
        return D

    def _on_disk(self, callback: Callback | None) -> TileStore:
        """A* in a store, from which it streams, and which is its own checkpoint."""
        source, limits, tile, place = self.source, self.limits, self.cut.tile, self.limits.works_in
        assert place is not None
        if limits.in_checkpoint:
            forget_result(place)  # remove a result of another closure
        state = checkpoints.opened(place, source, self.ops, tile=tile)
        state.fill(source)
        store = state.store
        slow = InStore(store, durable=limits.checkpoint is not None)
        streaming.closure(slow, self.ops, self.cut, begun=state.begun_in(tile), callback=callback)
        store.sync()
        if divergence.may_diverge(source.semiring, source.surveyed[0], source.n):
            diagonal = np.concatenate([store.read(k, k).diagonal() for k in range(store.grid[0])])
            divergence.refuse_beaten(diagonal, source.semiring, where="closure", apart=store.dtype)
        state.close()
        return store if limits.target is None or limits.checkpoint is None else store.linked(limits.target)

    def as_requested(self, D: np.ndarray) -> Array:
        """A result in memory as itself, or as a store, as requested."""
        place = self.limits.made_in
        if place is None:
            return D
        return TileStore(place) if self.limits.in_checkpoint else as_store(D, place, self.source.semiring)
