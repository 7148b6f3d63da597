"""Names for signatures of graphs: what comes, how it may be answered. Type checkers refuse what the library would."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict

from semiring.host.types import DType, Exchanged, Sparse
from semiring.kernels.observed import Callback

if TYPE_CHECKING:
    from semiring.dense.bits import BitMatrix

    from ..big.distributed.solving import WorldLike
    from ..io.graph import Graph
    from ..io.reading.options import NullValue

#: The files of apsp/road/engines/ and apsp/road/schedules/ that have a record, and "auto".
EngineName = Literal[
    "auto", "dense", "elimination", "essential", "hops", "indexed", "levels", "scipy", "searches", "spanning", "united"
]
ScheduleName = Literal["auto", "blocked", "bordering", "distributed", "iterative", "recursive", "squaring"]


class _Igraph(Protocol):
    def get_edgelist(self) -> Any: ...


class _Rustworkx(Protocol):
    def weighted_edge_list(self) -> Any: ...


class _Opened(Protocol):
    def read(self) -> Any: ...


#: Whatever describes a graph (`as_graph`): a path, edges, a mapping, an array, another library's graph. No number does.
Source: TypeAlias = (
    "Graph | BitMatrix | os.PathLike[str] | Iterable[Any] | Exchanged | Sparse | _Igraph | _Rustworkx | _Opened"
)


class Work(TypedDict, total=False):
    """Options of `closure` that do not decide the type of its result."""

    schedule: ScheduleName
    block: int | None
    dtype: DType
    device: str | None
    overwrite: bool
    callback: Callback | None
    threads: int | None
    per_thread: int | None
    unweighted: bool
    null_value: NullValue
    gpus: WorldLike | None
    memory: int | str | None
    checkpoint: str | os.PathLike[str] | None
    every: float | None
    ties: Literal["one", "shared"]
    on_negative_cycle: Literal["raise", "-inf"]
