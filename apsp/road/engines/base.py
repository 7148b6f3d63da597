"""The engine protocol between a `Result` and the computation of its distances."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.pickling import uncached
from semiring.algebra.records import Semiring
from semiring.host.devices import host, module, on_device, to_device
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Blocks, Edges, Fields, Function, Scalar

from ...io.graph import Graph
from ...io.labels import Labels
from ...io.saving.tiles import rows_held
from .. import estimates
from ..estimates import Estimate
from ..plans import Plan
from ..question import Question

if TYPE_CHECKING:
    from ..packing import Word

#: The demand of every source for each vertex, (n,); or from a range of sources to (range, n).
Asked = np.ndarray | Callable[[slice], np.ndarray]
#: Default rows of a block.
BLOCK = 64
#: Matrices below this size skip the estimates of engines for large ones, which would take longer than the closure.
MANY = 1024
#: Maximum n of a matrix that is closed without counting its arcs.
FEW = 256
#: Mean degree from which elimination structures are not cached, and a matrix is as fast as a list of arcs.
MANY_ARCS = 16


Changed = tuple["Engine", np.ndarray, np.ndarray]


def placed(blocks: Blocks) -> Iterator[tuple[slice, Array]]:
    """The entries of each block of rows, and where they stand among the rows wanted."""
    offset = 0
    for positions, D in blocks:
        yield slice(offset, offset + len(positions)), D
        offset += len(positions)


class Engine(ABC):
    """A table of distances, shape (rows, columns), whose parts are computed or read on demand.

    Positions count from 0; entries are exact, in `dtype`, and the semiring's zero for no path. `device` is that
    of the table and of blocks of its rows. `all_pairs` is the table of all pairs that this is a part of, or itself.
    `in_memory`: `table` is free. `stored`: all entries are, in memory or on disk. Worse distances than `limit` are no
    path. `repeats`: each request of a row searches again; `renews`: it can answer for other weights of the same edges.
    `seconds` is the time of the closure, None where planning is part of the work; `workspace` the bytes besides the
    table while it is computed. `pairs_on_device` has `entries` from CuPy positions to CuPy values, or is None. `known`
    is a mask of rows present in a table of all pairs; None for all. `fresh`: `table` is new memory, not kept here.
    `updated` says which part of it the last update has computed anew.
    """

    name = ""
    device = "cpu"
    shape: tuple[int, int]
    dtype: np.dtype
    in_memory = False
    fresh = False
    stored = False
    limit: float | None = None
    repeats = False
    renews = True
    seconds: float | None = None
    workspace = 0
    pairs_on_device: Any = None
    known: np.ndarray | None = None
    updated = ""

    def __getstate__(self) -> Fields:
        """State without cached properties."""
        return uncached(self)

    @property
    def all_pairs(self) -> Engine:
        return self

    def changed(self, graph: Graph, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> Changed | None:
        """The engine after some edge weights change, the changed edges' numbers and weights; None to recompute."""
        return None

    def renewed(self, graph: Graph, before: Graph, semiring: Semiring) -> Engine | None:
        """The engine for new weights in the same dtype, of the graph that it was before; or None to choose anew."""
        return None

    def to(self, vertex: int) -> np.ndarray:
        """The column of a vertex in the table of all pairs, on the host."""
        return self.all_pairs.column(vertex)

    def refuse_unbounded(  # noqa: B027  # of most engines, walks have a best
        self, where: str, labels: Labels, pair: tuple[int, int] | None = None
    ) -> None:
        """Raise DivergenceError (naming a cycle) if any walks, or those of a pair, have no best."""

    @abstractmethod
    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Blocks of complete rows in the order wanted: positions (k,), entries (k, columns); k ≤ `block`."""

    @abstractmethod
    def column(self, j: int) -> np.ndarray:
        """The column j, on the host."""

    def row(self, i: int) -> np.ndarray:
        return next(host(D)[0] for _, D in self.rows(np.array([i])))

    def entry(self, i: int, j: int) -> Scalar:
        return self.entries(np.array([i]), np.array([j]))[0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries (i[q], j[q]), i and j of one shape, on the host, in new memory."""
        out = np.empty(i.size, self.dtype)
        sources, targets = i.ravel(), j.ravel()
        known, which = np.unique(sources, return_inverse=True)
        order = np.argsort(which, kind="stable")
        start = np.searchsorted(which[order], np.arange(len(known) + 1))
        row = 0
        for _, D in self.rows(known):
            here = order[start[row] : start[row + len(D)]]
            with on_device(D):
                at = (module(D).asarray(x) for x in (which[here] - row, targets[here]))
                out[here] = host(D[*at])
            row += len(D)
        return out.reshape(i.shape)

    def path(self, u: int, v: int, edges: Edges) -> list[int] | None:
        """The path of `best_path` in the all-pairs table, given CSR by tail; None to walk a column instead."""
        return None

    def paths(self, sources: np.ndarray, targets: np.ndarray, edges: Edges) -> tuple[np.ndarray, np.ndarray] | None:
        """`predecessors`' paths: vertices, and the length of each, −1 where it needs a row; None if all do.

        Edges are CSR by head, tails ascending.
        """
        return None

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """Per column (`towards`: row) the first best wanted row, −1 for none, and its entry; None to use rows."""
        return None

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries of rows i and columns j, shape (len(i), len(j)), on the host, in new memory."""
        out = np.empty((len(i), len(j)), self.dtype)
        if not out.size:
            return out
        if 4 * len(j) < len(i):
            for k, column in enumerate(j.tolist()):
                out[:, k] = self.column(column)[i]
            return out
        for here, D in placed(self.rows(i)):
            if isinstance(D, np.ndarray):
                np.take(D, j, axis=1, out=out[here], mode="clip")
            else:
                out[here] = host(D.take(to_device(j, "cuda"), axis=1))
        return out

    def part(self, i: np.ndarray, j: np.ndarray) -> Array:
        """`block`, on the device of the table."""
        if self.device == "cpu" or not len(i):
            return self.block(i, j)
        out, columns = None, to_device(j, self.device)
        for here, D in placed(self.rows(i)):
            out = module(D).empty((len(i), len(j)), self.dtype) if out is None else out
            out[here] = D.take(columns, axis=1)
        return out

    def panels(self, *, columns: bool = False) -> Blocks:
        """All rows (or columns) as transposed panels in any order: positions (k,), panel[:, q] = line q."""
        if columns:
            for j in range(self.shape[1]):
                yield np.array([j]), self.column(j)[:, None]
            return
        for positions, D in self.rows(np.arange(self.shape[0])):
            yield positions, D.T

    def reduced(self, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        """`of` applied to each panel, possibly from several threads: (positions, of(panel)); `share` as in `Spread`."""
        return ((positions, of(panel)) for positions, panel in self.panels(columns=columns, **share))

    def worst(self, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        """The worst entry of each line by `of`: (positions, entries)."""
        return self.reduced(of, columns=columns, **share)

    def flows(
        self, edges: Edges, sources: np.ndarray, asked: Asked, report: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Edge flows if demand takes best paths, and the number of sources reaching each vertex; None to use rows.

        `edges` (tails, heads, weights) have no loops or duplicates. `report` receives the number of sources done.
        """
        return None

    def table(self) -> Array:
        """All entries, on their device; raises MemoryNeeded, which suggests `rows`."""
        require(
            self.shape[0] * self.shape[1] * self.dtype.itemsize + self.workspace,
            self.device,
            where="distances",
            hint="Stream them by rows(), look at all by reduce(), or write them by save('d.npy'): none of these holds "
            "them all, nor do distance(u, v) and path(u, v).",
        )
        return self._all()

    def quantity(self, word: Word) -> Array:
        """All of a quantity packed in lengths."""
        new = self.device != "cpu" and not self.stored  # few searched rows are kept on the host
        return word(self.table(), overwrite=new)

    def _all(self) -> Array:
        return self.block(np.arange(self.shape[0]), np.arange(self.shape[1]))

    def blocks(self) -> Iterator[np.ndarray]:
        return (host(D) for _, D in self.rows(np.arange(self.shape[0])))

    def fill(self, out: np.ndarray) -> None:
        for here, D in placed(self.rows(np.arange(self.shape[0]), 4 * BLOCK)):
            out[here] = host(D)

    def hub_labels(self) -> None:
        """Make hub labels; raises ValueError unless the engine has them or a stored table."""
        if not self.stored:
            raise ValueError(
                f"hub_labels: hub labels are those of engine='elimination', got engine={came(self.name)}. Say "
                "shortest_paths(graph, hub_labels=True)."
            )

    @property
    def storage(self) -> Array:
        """The stored entries (array or store), computed if necessary."""
        return host(self.table())


def forwarded(name: str) -> Function:
    """Method of a view that calls the same one of its `engine`."""
    return lambda self, *arguments, **options: getattr(self.engine, name)(*arguments, **options)


@dataclass(frozen=True)
class Kind:
    """Static record of an engine, at the end of its file, found by being there.

    `name` is that in `engine=`, and of its file. `estimate(question)` returns an `Estimate` with its plan, as `offer`
    makes; `open(question, plan)` the `Engine`; `refuses(question)` the reason, as a predicate after its name, or "";
    `looks(question)` the seconds of the estimate itself, ∞ if made only on request; `at_once(question)`, if any, an
    estimate from counts alone, if too small for others to be worth estimating, else None. Estimates of other engines
    may take `share` of its seconds.

    `matrices`: it takes matrices that are no graphs (`closure`). `packed`: it answers `transitive_closure`; `numbers`:
    it takes others than truth values. `large`: it needs at least MANY vertices. It takes a schedule and block
    (`schedules`), an elimination order (`orders`), several ranks (`gpus`; then `gpus=` selects it). `limits`: memory=,
    checkpoint= and output= select it exclusively; None for either way: rows are written as found, without checkpoints,
    and the planner enforces memory=. `answers_to` names an engine that includes this one; `on_request_only` ones are
    never chosen automatically; `compiles` is the work of `Backend.missing` whose kernels it calls, "" for none. It
    `proves` that integers hold all distances, or takes wider ones.
    """

    name: str
    estimate: Callable[[Question], Estimate]
    open: Callable[[Question, Plan], Engine]
    refuses: Callable[[Question], str] = lambda question: ""
    looks: Callable[[Question], float] = lambda question: 0.0
    at_once: Callable[[Question], Estimate | None] | None = None
    share: float = 1.0
    devices: tuple[str, ...] = ("cpu",)
    matrices: bool = False
    packed: bool = False
    numbers: bool = True
    large: bool = False
    schedules: bool = False
    orders: bool = False
    gpus: bool = False
    limits: bool | None = False
    answers_to: str = ""
    on_request_only: bool = False
    compiles: str = ""
    proves: bool = False

    @property
    def writes_rows(self) -> bool:
        """Whether rows go to a store (`streamed.written`), and the planner enforces memory=."""
        return self.limits is None and not self.gpus


def counting(question: Question) -> float:
    """Seconds to list and count the arcs; ∞ if a matrix exists."""
    if question.semiring.boolean or not (question.listed or question.picks) or _saturates(question):
        return math.inf
    if question.wants.partial:
        return 0 if question.listed else estimates.listing(question.n)
    return estimates.counting(question.n, question.graph.edge_count)


def _saturates(question: Question) -> bool:
    """Whether an integer table that may saturate is wanted, as documented for matrix closures."""
    dtype, wants = question.dtype, question.wants
    if not wants.table or wants.remembers or not SCALARS[dtype].integer or not question.semiring.mul.saturating:
        return False
    return bool(question.arcs.longest >= SCALARS[dtype].high)


def offer(
    question: Question, estimate: Estimate, schedule: str, note: str = "", *, pairs: int | None = None, panels: int = 0,
    block: int = BLOCK, in_place: bool = False, table: int = 0,
) -> Estimate:  # fmt: skip
    """An estimate for an engine without a matrix, including memory for results made at once.

    `pairs` counts the work until the first distance (default: all), `panels` bytes of workspace, `block` rows found
    together. `table` is the bytes of a table beside a matrix, freed before predecessors; `in_place`: it overwrites it.
    """
    wants, made, routes = question.wants, 0, 0
    if wants.stored:
        made += rows_held(question.n, question.dtype.itemsize)
    if table:
        made += 0 if in_place else table
    elif wants.table and not (wants.partial or wants.stored):
        made += math.prod(question.shape) * question.dtype.itemsize + panels
    if wants.paths:
        part, size = math.prod(question.shape) if wants.partial else 0, question.dtype.itemsize
        arcs = 0 if table else len(question.arcs.listed[0])
        routes = estimates.predecessors(question.n, size, arcs, table=table > 0, matrix=False, block=block) + 4 * part
    on_host = question.device != "cpu"  # the predecessors are on the host in any case
    taken = estimate.bytes + made
    if not on_host:
        taken = max(taken, table + routes) if table else taken + routes
    return Estimate(
        estimate.engine, estimate.pairs, taken, estimate.seconds, estimate.start, estimate.row, None, estimate.spent,
        schedule=schedule, note=note, host_bytes=routes if on_host else 0, pairs_before=pairs,
    )  # fmt: skip


def planned(question: Question, taken: Estimate, reason: str = "", considered: tuple[Estimate, ...] = ()) -> Plan:
    """The plan of an engine without a matrix."""
    first = taken.pairs_before
    return Plan(
        n=question.n, semiring=question.semiring.name, dtype=SCALARS[question.dtype].name, device=question.device,
        schedule=taken.schedule, block=0, variant="general", matrix_bytes=taken.bytes, workspace_bytes=0,
        seconds=taken.seconds if first is None else taken.start, reason=reason + taken.note, beside_bytes=taken.bytes,
        pairs=taken.pairs if first is None else first, engine=taken.engine, considered=considered,
        host_bytes=taken.host_bytes, kernels=taken.kernels, compiling=taken.compiling,
    )  # fmt: skip
