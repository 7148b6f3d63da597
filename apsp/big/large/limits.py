"""`Limits`: memory, checkpoint and output of a closure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from semiring.host.memory import parsed
from semiring.host.spelling import came
from semiring.stores.files import claimed

from ...io.saving import check_tiles
from ...io.saving.tiles import building
from ...road.wants import Wants
from .checkpoints import EVERY

if TYPE_CHECKING:
    from semiring.distributed import World


@dataclass(frozen=True)
class Limits:
    """Limits of a closure: `memory` bytes, seconds between checkpoints (`every`), `output` store made in `target`."""

    memory: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    every: float = EVERY
    output: str | os.PathLike[str] | None = None
    target: str | None = None

    @classmethod
    def of(cls, memory: Any, checkpoint: Any, output: Any, every: float | None = None, *, where: str) -> Limits | None:
        """Limits, or None if there are none; ValueError for bad values, naming the user's function `where`."""
        if every is not None and checkpoint is None:
            raise ValueError(
                f"{where}: every={came(every)} says how often a checkpoint is written: say checkpoint='ck/' as well."
            )
        if every is not None and (not isinstance(every, Real) or not every >= 0):
            raise ValueError(f"{where}: every must be a number of seconds, 0 or more, got {came(every)}.")
        if memory is None and checkpoint is None and output is None:
            return None
        if output is not None:
            check_tiles(output, where=where)
        size = None if memory is None else parsed(memory, f"{where}: memory")
        return cls(size, checkpoint, EVERY if every is None else every, output)

    def check(self, wants: Wants) -> None:
        """Raise ValueError for options that neither a dense closure nor writing by rows supports."""
        where = wants.where
        if wants.overwrite:
            raise ValueError(
                f"{where}: overwrite=True computes in A's own memory, got memory=, checkpoint= or output= as well, "
                "which compute elsewhere. Leave one of them out."
            )
        if wants.gpus is not None and self.memory is not None:
            raise ValueError(f"{where}: memory= holds one device, got gpus= as well. Leave one of them out.")
        if wants.partial or wants.limit is not None:
            raise ValueError(
                f"{where}: memory=, checkpoint= and output= come with all pairs, got sources, targets or a limit as "
                "well. Ask for all, and take parts of the result."
            )
        if self.checkpoint is not None and (wants.ordered or wants.engine not in ("auto", "dense")):
            raise ValueError(
                f"{where}: checkpoint= comes with the dense closure, got an order or another engine as well. Leave one "
                "of them out."
            )

    @staticmethod
    def output_context(limits: Limits | None, gpus: Any) -> AbstractContextManager[Limits | None]:
        """`writing`, by several processes if gpus= says so; a null context without limits."""
        if limits is None:
            return nullcontext()
        return limits.writing(gpus if hasattr(gpus, "local_ranks") else None)

    @contextmanager
    def writing(self, world: World | None = None) -> Iterator[Limits]:
        """Context around a closure: the output is made in `target`, which replaces it on success.

        An output that is the checkpoint is made in place. Collective over processes; rank 0 makes it. Raises OSError in
        every rank, as `semiring.stores.tiles.folder.building`.
        """
        with ExitStack() as stack:

            def begin() -> str | None:
                if self.checkpoint is not None:
                    stack.enter_context(claimed(self.checkpoint))
                if self.output is None or self.in_checkpoint:
                    return None
                return os.fspath(stack.enter_context(building(self.output)))

            if world is None or world.in_one_process:
                yield replace(self, target=begin())
                return

            yield replace(self, target=world.on_first(begin))
            world.run(lambda comm: comm.barrier())  # all tiles are written
            world.run(lambda comm: comm.fail_together(stack.close))

    @property
    def in_checkpoint(self) -> bool:
        """Whether the last checkpoint is the output."""
        places = self.checkpoint, self.output
        return None not in places and len({os.path.realpath(place) for place in places if place is not None}) == 1

    @property
    def made_in(self) -> str | os.PathLike[str] | None:
        return self.output if self.target is None else self.target

    @property
    def works_in(self) -> str | os.PathLike[str] | None:
        """The store on which a closure on disk works: checkpoint, or result."""
        return self.checkpoint if self.checkpoint is not None else self.made_in
