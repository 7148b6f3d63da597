"""The protocol between a `Result` and what computes its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.devices import host, to_device
from semiring.memory import require
from semiring.pickling import uncached
from semiring.spelling import came
from semiring.types import Array, Blocks

from .. import estimates
from ..estimates import Estimate
from ..plans import Plan
from ..saving.tiles import rows_held

if TYPE_CHECKING:
    from ..graph import Graph
    from ..labels import Labels
    from ..question import Question

#: Edges in one direction, by vertex: where those of each begin, the vertices at their other ends, and their weights.
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Rows of a block, by default.
BLOCK = 64
#: From so many vertices of a matrix on, engines for large ones are asked: fewer take no longer than asking does.
MANY = 1024


Changed = tuple["Engine", np.ndarray, np.ndarray]


class Engine(ABC):
    """A table of distances, shape (rows, columns), of which parts are computed or read when asked for.

    Positions count from 0 along each axis. Entries are exact, in `dtype`, where no path is the semiring's zero.

    Attributes
    ----------
    name : {"dense", "elimination", "searches", "scipy", "hops", "essential", "levels", "spanning", "united"}
    shape : (int, int)
    dtype : numpy.dtype
    all_pairs : Engine
        The table of all pairs of vertices, of which this is a part; itself where it is complete.
    in_memory : bool
        Whether the table is in memory already, and `table` costs nothing.
    stored : bool
        Whether all entries are stored, in memory or on disk.
    limit : float or None
        What is worse is no path.
    repeats : bool
        Whether a row is searched for again whenever it is asked for.
    renews : bool
        Whether it answers for any other weights of the same edges, too.
    seconds : float or None
        How long its closure took; None where planning is part of the work.
    workspace : int
        Bytes of workspace, in addition to all entries, while they are found.
    pairs_on_device : object or None
        Whose `entries` answers positions in CuPy arrays with such an array, where the engine has any.
    known : bool array or None
        The rows that a table of all pairs has; None for all.
    """

    name = ""
    shape: tuple[int, int]
    dtype: np.dtype
    in_memory = False
    stored = False
    limit: float | None = None
    repeats = False
    renews = True
    seconds: float | None = None
    workspace = 0
    pairs_on_device: Any = None
    known: np.ndarray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what is found again when it is asked for."""
        return uncached(self)

    @property
    def all_pairs(self) -> Engine:
        """The table of all pairs of vertices."""
        return self

    def changed(self, graph: Graph, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> Changed | None:
        """The engine of the graph with new weights of all edges from tails[k] to heads[k]; None where all is computed.

        With it, the numbers of those edges, and what each weighs.
        """
        return None

    def renewed(self, graph: Graph) -> Engine | None:
        """The engine of a graph with other weights, in the same dtype; None where a new one has to be chosen."""
        return None

    @property
    def vertices(self) -> int:
        """Rows and columns of the table of all pairs."""
        return self.all_pairs.shape[0]

    def to(self, vertex: int) -> np.ndarray:
        """The column of a vertex in the table of all pairs, on the host."""
        return self.all_pairs.column(vertex)

    def refuse_unbounded(  # noqa: B027  # of most engines, walks have a best
        self, where: str, labels: Labels, pair: tuple[int, int] | None = None
    ) -> None:
        """Raise where walks have no best, between any vertices of the table of all pairs or from one to another.

        Raises
        ------
        DivergenceError
            Naming a cycle by these labels; in min-plus it is a `NegativeCycleError`.
        """

    @abstractmethod
    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Blocks of complete rows in the order wanted: (positions (k,), entries (k, columns)), k at most `block`."""

    @abstractmethod
    def column(self, j: int) -> np.ndarray:
        """One column, on the host."""

    def row(self, i: int) -> np.ndarray:
        """One row, on the host."""
        return next(host(D)[0] for _, D in self.rows(np.array([i])))

    def entry(self, i: int, j: int) -> Any:
        """One entry, a scalar of the dtype."""
        return self.entries(np.array([i]), np.array([j]))[0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries (i[q], j[q]), of positions in one shape, on the host."""
        out = np.empty(i.size, self.dtype)
        sources, targets = i.ravel(), j.ravel()
        known, which = np.unique(sources, return_inverse=True)
        order = np.argsort(which, kind="stable")
        start = np.searchsorted(which[order], np.arange(len(known) + 1))
        row = 0
        for _, D in self.rows(known):
            for line in host(D):
                here = order[start[row] : start[row + 1]]
                out[here] = line[targets[here]]
                row += 1
        return out.reshape(i.shape)

    def path(self, u: int, v: int, edges: Edges) -> list[int] | None:
        """The vertices of the path that `best_path` finds from u to v in the table of all pairs; None if by columns.

        Edges are (starts, heads, weights) by tail.
        """
        return None

    def paths(self, sources: np.ndarray, targets: np.ndarray, edges: Edges) -> tuple[np.ndarray, np.ndarray] | None:
        """Paths of `predecessors`: their vertices, and how many each has, −1 where it takes a row; None if all do.

        Edges are (starts, tails, weights) by head, tails ascending.
        """
        return None

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """For every column which of the wanted rows is best, −1 for none, and its entry; None where rows must tell.

        With `towards`, for every row its best column. Among equals, the first that is wanted.
        """
        return None

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries of rows i and columns j, shape (len(i), len(j)), on the host."""
        out = np.empty((len(i), len(j)), self.dtype)
        if not out.size:
            return out
        if 4 * len(j) < len(i):
            for k, column in enumerate(j.tolist()):
                out[:, k] = self.column(column)[i]
            return out
        offset = 0
        for positions, D in self.rows(i):
            into = out[offset : offset + len(positions)]
            if isinstance(D, np.ndarray):
                np.take(D, j, axis=1, out=into, mode="clip")
            else:
                into[:] = host(D.take(to_device(j, "cuda"), axis=1))
            offset += len(positions)
        return out

    def panels(self, *, columns: bool = False) -> Blocks:
        """All lines, some at a time, in whatever order is fastest: (positions (k,), panel), panel[:, q] being line q.

        Lines are rows, or with `columns` columns.
        """
        if columns:
            for j in range(self.shape[1]):
                yield np.array([j]), self.column(j)[:, None]
            return
        for positions, D in self.rows(np.arange(self.shape[0])):
            yield positions, D.T

    def reduced(self, of: Callable[[Array], Array], *, columns: bool = False) -> Blocks:
        """What `of` makes of each panel: (positions, of(panel)). It may be called on several threads at a time."""
        return ((positions, of(panel)) for positions, panel in self.panels(columns=columns))

    def worst(self, of: Callable[[Array], Array], *, columns: bool = False) -> Blocks:
        """The worst entry of each line, which `of` finds in a panel: (positions, entries)."""
        return self.reduced(of, columns=columns)

    def flows(
        self,
        edges: tuple[np.ndarray, np.ndarray, np.ndarray],
        sources: np.ndarray,
        asked: np.ndarray | Callable[[slice], np.ndarray],
        report: Callable[[int], None],
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """What each edge carries if demand takes best paths, and how many sources reach each vertex; None by its rows.

        Parameters
        ----------
        edges : (tails, heads, weights)
            No loops, and no two from one vertex to another.
        sources : int array, shape (sources,)
        asked : float64 array, shape (n,), or callable
            What every source sends to each vertex that it reaches; or, for a range of sources, an array (range, n).
        report : callable
            Called with the number of sources that are done.
        """
        return None

    def table(self) -> Array:
        """All entries, on their device.

        Raises
        ------
        MemoryNeeded
            If they do not fit, naming `rows`, which streams them.
        """
        require(
            self.shape[0] * self.shape[1] * self.dtype.itemsize + self.workspace,
            where="distances",
            hint="Stream them by rows(), look at all by reduce(), or write them by save('d.npy'): none of these holds "
            "them all, nor do distance(u, v) and path(u, v).",
        )
        return self._all()

    def _all(self) -> Array:
        return self.block(np.arange(self.shape[0]), np.arange(self.shape[1]))

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows, in blocks on the host."""
        return (host(D) for _, D in self.rows(np.arange(self.shape[0])))

    def fill(self, out: np.ndarray) -> None:
        """out ← all entries."""
        offset = 0
        for positions, D in self.rows(np.arange(self.shape[0]), 4 * BLOCK):
            out[offset : offset + len(positions)] = host(D)
            offset += len(positions)

    def hub_labels(self) -> None:
        """Make labels from which pairs are answered, where the engine has any; a table that is stored needs none.

        Raises
        ------
        ValueError
            If neither is so.
        """
        if not self.stored:
            raise ValueError(
                f"hub_labels: hub labels are those of engine='elimination', got engine={came(self.name)}. Say "
                "shortest_paths(graph, hub_labels=True)."
            )

    @property
    def storage(self) -> Any:
        """All entries as they are stored: an array, or a store; computed where they are not."""
        return host(self.table())


@dataclass(frozen=True)
class Kind:
    """What is known of an engine before it opens: a record at the end of its file, found by being there.

    Attributes
    ----------
    name : str
        What `engine=` calls it: the name of its file.
    estimate : callable
        `estimate(question)`: what it would take, with its plan. An `Estimate`, such as `offer` makes.
    open : callable
        `open(question, plan)`: the `Engine`.
    refuses : callable
        `refuses(question)`: why it cannot answer, as the end of a sentence that begins with its name; "" where it can.
    looks : callable
        `looks(question)`: seconds that the estimate itself takes; ∞ if it is made only when the engine is requested.
    at_once : callable
        `at_once(question)`: the estimate, from counts alone, where it is so little that looking at others takes as
        long as any of them could save; else None.
    share : float
        The share of its own seconds that may be spent on estimates of other engines.
    devices : tuple of str
        The devices on which it computes for graphs.
    matrices : bool
        Whether it takes a matrix that is no graph, as `closure` does.
    large : bool
        Whether it is for matrices of MANY vertices or more.
    schedules, orders : bool
        Whether a schedule and a block, or an order of elimination, are for it.
    gpus : bool
        Whether it computes over several ranks; then `gpus=` is for it and for no other.
    limits : bool or None
        Whether memory=, checkpoint= and output= are for it, and it for nothing else; None for either way: then over one
        device its rows are written as they are found, without checkpoints, and the planner holds it to memory=.
    answers_to : str
        Another engine's name that means it too, where this one is for its question.
    on_request_only : bool
        Whether it is taken only when it is requested by its name.
    compiles : str
        The work of `Backend.missing` whose kernels it calls; "" for none.
    """

    name: str
    estimate: Callable[[Question], Estimate]
    open: Callable[[Question, Plan], Engine]
    refuses: Callable[[Question], str] = lambda question: ""
    looks: Callable[[Question], float] = lambda question: 0.0
    at_once: Callable[[Question], Estimate | None] = lambda question: None
    share: float = 1.0
    devices: tuple[str, ...] = ("cpu",)
    matrices: bool = False
    large: bool = False
    schedules: bool = False
    orders: bool = False
    gpus: bool = False
    limits: bool | None = False
    answers_to: str = ""
    on_request_only: bool = False
    compiles: str = ""

    @property
    def writes_rows(self) -> bool:
        """Whether its rows go to a store (`streamed.written`), and the planner holds it to memory=."""
        return self.limits is None and not self.gpus


def offer(
    question: Question,
    estimate: Estimate,
    schedule: str,
    note: str = "",
    *,
    pairs: int | None = None,
    panels: int = 0,
    block: int = BLOCK,
    in_place: bool = False,
    table: int = 0,
) -> Estimate:
    """An estimate with its plan, of an engine that makes no matrix; with what is made of its distances at once.

    Parameters
    ----------
    schedule : str
        How it goes about it.
    note : str
        What the plan says in addition to why the engine was chosen.
    pairs : int, optional
        How many are done until the first distance, and the plan's seconds are those until then; by default all.
    panels : int
        Bytes of workspace, in addition to all entries, while they are found.
    block : int
        Rows found together.
    in_place : bool
        Whether a table is written where a matrix is.
    table : int
        Bytes of all entries, where they are a table beside a matrix: all else is let go before predecessors are found.
    """
    wants, size, made, routes = question.wants, question.dtype.itemsize, 0, 0
    if wants.stored:
        made += rows_held(question.n, size)
    if table:
        made += 0 if in_place else table
    elif wants.table and not (question.columns or wants.stored):
        made += question.entries * size + panels
    if wants.paths:
        part = question.entries if wants.partial else 0
        arcs = 0 if table else len(question.arcs[0])
        routes = estimates.predecessors(question.n, size, arcs, table=table > 0, matrix=False, block=block) + 4 * part
    on_host = question.device != "cpu"  # which has the predecessors in any case
    taken = estimate.bytes + made
    if not on_host:
        taken = max(taken, table + routes) if table else taken + routes
    plan = Plan(
        n=question.n,
        semiring=question.semiring.name,
        dtype=question.dtype.name,
        device=question.device,
        schedule=schedule,
        block=0,
        variant="general",
        matrix_bytes=taken,
        workspace_bytes=0,
        seconds=estimate.seconds if pairs is None else estimate.start,
        reason=note,
        beside_bytes=taken,
        pairs=estimate.pairs if pairs is None else pairs,
        engine=estimate.engine,
        host_bytes=routes if on_host else 0,
    )
    return replace(estimate, bytes=taken, plan=plan)
