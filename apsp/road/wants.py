"""Requests: how to compute (`Request`), and which answer (`Wants`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.host.spelling import refuse_texts
from semiring.host.types import Fields
from semiring.kernels.backend import device_of, threads_of
from semiring.kernels.observed import Callback

from ..io.graph.nulls import Nulls, refuse_ambiguous, warn_of_ambiguous


@dataclass(frozen=True)
class Request:
    """How to compute the closure of a matrix.

    `callback(done, total)` is in pairs; `timed` synchronises with and times each verb; `options` are the backend's
    (`threads` on the CPU, `per_thread` on a GPU). `paths`: predecessors are computed at once. `table`: the matrix is
    the answer, so saturating integers are repeated in a wider dtype.
    """

    schedule: str = "auto"
    block: int | None = None
    callback: Callback | None = None
    timed: bool = False
    options: Fields = field(default_factory=dict)
    paths: bool = False
    table: bool = True

    @classmethod
    def of(cls, *, threads: int | None = None, per_thread: int | None = None, **request: Any) -> Self:
        """A request with only the options given, as backends differ."""
        options = {}
        if threads is not None:
            options["threads"] = threads_of(threads, request.get("where", "shortest_paths"))
        if per_thread is not None:
            options["per_thread"] = per_thread
        for flag in ("overwrite", "unweighted", "paths", "hub_labels"):
            if isinstance(request.get(flag), str):
                refuse_texts(request.get("where", "shortest_paths"), **{flag: request[flag]})
        if ":" in str(request.get("device")):
            request["device"] = device_of(None, request["device"])
        return cls(options=options, **request)

    @property
    def scheduled(self) -> bool:
        return self.schedule != "auto" or self.block is not None

    @property
    def fixed(self) -> bool:
        """Whether how to compute is asked for, which batched verbs do not heed."""
        return self.schedule != "auto" or self.block is not None or "per_thread" in self.options


@dataclass(frozen=True)
class Wants(Request):
    """Options of a question about a graph or matrix; those not explained here are as in `closure` and `shortest_paths`.

    `where` is the user's function, for errors; `sources`, `targets` are int64 positions, None for all; `nulls` are
    matrix entries that are no edges, as in `Graph`, None if undeclared; `like` is the engine of previous weights.
    `table`: all distances at once, in kind. `remembers`: cache structures across questions, as for SciPy's functions,
    which return no reusable result. `ends`: the columns of vertices, of a graph of copies. `packed`: reachability in
    bits, of components where that pays; then any engine takes `gpus` and `limits`. `hub_labels`: made at once, by
    elimination. `dry`: only the plan; entries stay in place.
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
    ends: np.ndarray | None = None
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

    @cached_property
    def plain(self) -> bool:
        """Whether nothing is asked for but all distances, perhaps in place."""
        own = vars(self)
        for name, default in _PLAIN.items():  # by identity, as some are arrays
            if own[name] is not default:
                return False
        return not (self.options or self.nulls)

    @property
    def partial(self) -> bool:
        return self.sources is not None or self.targets is not None

    @property
    def stored(self) -> bool:
        return self.limits is not None and not self.packed and self.limits.output is not None

    @property
    def ordered(self) -> bool:
        """Whether an elimination order is requested."""
        return not isinstance(self.order, str) or self.order != "auto"

    def report_zeros(self, seen: Survey, semiring: Semiring) -> None:
        """Warn (for a table) or raise DomainError if a survey found ambiguous zeros."""
        report = warn_of_ambiguous if self.table else refuse_ambiguous
        report(seen, semiring, where=self.where)


#: The request for all distances, and its fields that say more than for whom.
WANTS = Wants(where="closure", table=True)
_FREE = "where", "table", "remembers", "overwrite", "nulls", "options"
_PLAIN = {name: default for name, default in vars(WANTS).items() if name not in _FREE}
