"""`Limits`: what a caller says of memory and of disks, beside the question itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from semiring.memory import parsed
from semiring.tiles.folder import is_store, remove

from .checkpoints import EVERY

if TYPE_CHECKING:
    from ..wants import Wants


@dataclass(frozen=True)
class Limits:
    """How much memory a closure may take, where its state is kept, and where its result goes.

    Attributes
    ----------
    memory : int or None
        Bytes of memory of the device that computes.
    checkpoint : path or None
        A directory for the state of a closure, from which it continues after an interruption.
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
            If memory is no number of bytes, `every` no number of seconds, or there is no checkpoint to be written so
            often.
        """
        if every is not None and checkpoint is None:
            raise ValueError(f"every={every!r} says how often a checkpoint is written: say checkpoint='ck/' as well.")
        if every is not None and (not isinstance(every, Real) or not every >= 0):
            raise ValueError(f"every must be a number of seconds, 0 or more, got {every!r}.")
        if memory is None and checkpoint is None and output is None:
            return None
        size = None if memory is None else parsed(memory)
        return cls(size, checkpoint, EVERY if every is None else every, output)

    def check(self, wants: Wants) -> None:
        """Refuse what a dense closure of all pairs, which alone has limits, would leave out.

        Raises
        ------
        ValueError
        """
        where = wants.where
        if wants.overwrite:
            raise ValueError(
                f"{where}: overwrite=True computes in A's own memory, got memory=, checkpoint= or output= beside it, "
                "which compute elsewhere. Leave one of them out."
            )
        if wants.gpus is not None:
            self.refuse_memory(where=where)
        if wants.ordered or wants.partial or wants.limit is not None or wants.engine not in ("auto", "dense"):
            raise ValueError(
                f"{where}: memory=, checkpoint= and output= come with the dense closure of all pairs, got "
                "sources, targets, a limit, an order or another engine beside them. Ask for all, and take parts of the "
                "result."
            )

    @contextmanager
    def or_no_result(self) -> Iterator[None]:
        """Around what happens once the output is being written: an error leaves nothing there that seems a result.

        A checkpoint stays, also where it is the output.
        """
        try:
            yield
        except BaseException:
            apart = self.checkpoint is None or os.path.realpath(self.checkpoint) != os.path.realpath(self.output or "")
            if self.output is not None and apart and is_store(self.output):
                remove(self.output)
            raise

    def refuse_memory(self, *, where: str) -> None:
        """Refuse to hold several devices to so much memory: a closure over them lies in theirs.

        Raises
        ------
        ValueError
        """
        if self.memory is not None:
            raise ValueError(f"{where}: memory= holds one device, got gpus= beside it. Leave one of them out.")

    @property
    def works_in(self) -> str | os.PathLike[str] | None:
        """Where the store is that a closure on disk works on: the checkpoint, or the result itself."""
        return self.checkpoint if self.checkpoint is not None else self.output
