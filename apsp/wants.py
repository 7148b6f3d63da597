"""What a caller wants: how the work is done (`Request`), and of which answer (`Wants`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from semiring.observed import Callback

from .graph.nulls import Nulls


@dataclass(frozen=True)
class Request:
    """How the closure of a matrix is to be computed.

    Attributes
    ----------
    schedule : str
    block : int or None
    callback : callable or None
        `callback(done, total)`, in pairs.
    timed : bool
        Whether each verb is waited for and timed.
    options : dict
        The backend's own: `threads` on the CPU, `per_thread` on a GPU.
    paths : bool
        Whether predecessors are found at once, along with the distances.
    table : bool
        Whether the matrix is the answer: of integers that saturate on the way, it is then computed in a wider dtype.
    """

    schedule: str = "auto"
    block: int | None = None
    callback: Callback | None = None
    timed: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    paths: bool = False
    table: bool = True

    @classmethod
    def of(cls, *, threads: int | None = None, per_thread: int | None = None, **request: Any) -> Self:
        """A request whose options are those that were given: each backend knows its own."""
        options = {}
        if threads is not None:
            options["threads"] = threads
        if per_thread is not None:
            options["per_thread"] = per_thread
        return cls(options=options, **request)


@dataclass(frozen=True)
class Wants(Request):
    """What is asked of a graph or of a matrix.

    Attributes
    ----------
    where : str
        The function that the user called, for errors.
    dtype, device, engine, order, overwrite, unweighted
        As in `closure` and `shortest_paths`.
    sources, targets : int64 arrays or None
        Positions; None for all.
    limit : float or None
    nulls : tuple of number, or None
        Entries of a matrix that are no edges, as `Graph` has them; None where nobody has said.
    like : Engine or None
        The engine that answered for other weights of the same edges.
    gpus
        Several ranks, as in `closure`.
    limits : Limits or None
        What memory and disks allow.
    table : bool
        Whether all distances are wanted at once, back in kind, as `closure` gives them.
    remembers : bool
        Whether structures are kept from question to question, as for SciPy's functions, which return no result to ask.
    packed : bool
        Whether who reaches whom is wanted in bits, of components where that pays, as `transitive_closure` keeps it. Any
        engine heeds `gpus` and `limits` then.
    hub_labels : bool
        Whether hub labels are made at once, of an elimination.
    on_negative_cycle : str
        As in `closure` and `shortest_paths`.
    dry : bool
        Whether nothing but the plan is wanted: entries stay where they are.
    """

    where: str = "shortest_paths"
    dtype: Any = None
    device: str | None = None
    engine: str = "auto"
    order: Any = "auto"
    overwrite: bool = False
    unweighted: bool = False
    sources: np.ndarray | None = None
    targets: np.ndarray | None = None
    limit: Any = None
    nulls: Nulls = None
    like: Any = None
    gpus: Any = None
    limits: Any = None
    table: bool = False
    remembers: bool = False
    packed: bool = False
    hub_labels: bool = False
    on_negative_cycle: str = "raise"
    dry: bool = False

    @property
    def partial(self) -> bool:
        """Whether rows or columns are wanted, not all."""
        return self.sources is not None or self.targets is not None

    @property
    def stored(self) -> bool:
        """Whether the table of distances goes to a disk."""
        return self.limits is not None and not self.packed and self.limits.output is not None

    @property
    def ordered(self) -> bool:
        """Whether an order of elimination was asked for."""
        return not isinstance(self.order, str) or self.order != "auto"

    @property
    def scheduled(self) -> bool:
        """Whether a schedule or a block of the dense closure was asked for."""
        return self.schedule != "auto" or self.block is not None
