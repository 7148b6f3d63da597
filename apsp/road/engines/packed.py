"""Engine: reachability in packed bits, of all vertices (here) or of strongly connected components (`united`).

`transitive_closure` requests it by `Wants.packed`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semiring.algebra.catalog import lor_land
from semiring.algebra.survey import Survey
from semiring.dense.bits import BitMatrix
from semiring.host.errors import MemoryNeeded
from semiring.host.memory import require, shown
from semiring.host.types import Blocks
from semiring.kernels.backend import Backend, bind
from semiring.sparse.reach import ReachIndex
from semiring.stores.tiles import StoredBits

from ...io.graph import Graph
from ..plans import Plan, make_plan
from ..problem import Memory, Problem
from ..question import Question
from ..solve import solve
from ..wants import Wants
from .base import BLOCK, Engine
from .condensation import Condensation, expanded, expansion_bytes, trivial

#: Maximum n where finding components costs more than a packed closure.
_FEW = 2048
HINT = "Only strongly connected parts shrink; split the graph, or ask for fewer vertices."
#: With arcs enough for products, the list of arcs takes eight times the packed bits.
UNCONDENSED = (
    "A graph of that density is closed as a matrix of all vertices. Give more memory, or several GPUs (gpus=)."
)


class Packed(Engine):
    """Reachability by the reflexive closure `closed` of components (or of vertices), in bits or an index."""

    name = "united"
    renews = False

    def __init__(self, condensation: Condensation, closed: BitMatrix | StoredBits | ReachIndex) -> None:
        self.condensation, self.closed = condensation, closed
        self.shape, self.dtype = (len(condensation.component),) * 2, np.dtype(bool)
        self.workspace = expansion_bytes(self.shape[0], condensation.count) + self.shape[0] ** 2 // 8

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        component = self.condensation.component
        for start in range(0, len(wanted), block or BLOCK):
            part = wanted[start : start + (block or BLOCK)]
            yield part, self.closed.rows(component[part])[:, component]

    def column(self, j: int) -> np.ndarray:
        component = self.condensation.component
        return np.asarray(self.closed.column(int(component[j])))[component]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        component = self.condensation.component
        return np.asarray(self.closed[component[i], component[j]])

    def _all(self) -> np.ndarray:
        assert isinstance(self.closed, BitMatrix)
        return expanded(self.closed, self.condensation).to_bool()


def verbs(question: Question) -> Backend:
    """The verbs of packed bits, on the question's device; over ranks, on the host."""
    wants = question.wants
    return bind(lor_land, bool, device="cpu" if wants.gpus is not None else question.device, **wants.options)


def within(needed: int, wants: Wants, hint: str) -> None:
    if wants.limits is not None and wants.limits.memory is not None and needed > wants.limits.memory:
        raise MemoryNeeded(
            f"{wants.where}: {shown(needed)} must fit into memory, got {shown(wants.limits.memory)}. {hint}"
        )


def of_truth(question: Question) -> tuple[Graph, int]:
    """The graph, with a numeric matrix as truth values, and the bytes of those."""
    graph = question.graph
    if graph.dense is None or graph.dense.dtype.kind == "b" or graph.windows(lor_land) is not None:
        return graph, 0
    return replace(graph, dense=graph.matrix(lor_land), nulls=None), graph.n**2


def arcs_of(question: Question) -> int:
    graph, _ = question.once(of_truth)
    return graph.arc_count


def condensing(question: Question, between: int) -> int:
    """Bytes while components are found, and the arcs `between` them sorted."""
    graph, n, arcs = question.graph, question.n, question.once(arcs_of)
    listed = arcs * (17 if graph.dense is not None or not graph.directed else 1)  # directed edges exist already
    return listed + max(4 * arcs + 28 * n, 9 * arcs + 33 * between + 9 * n)


def may_shrink(question: Question) -> bool:
    """Whether components are sought, which reads every edge: not for few vertices or a dense graph."""
    wants, n = question.wants, question.n
    if wants.schedule != "auto":
        return False
    limited = wants.limits is not None and wants.limits.memory is not None
    return (n > _FEW or limited) and question.once(arcs_of) * 64 <= n * n


def plan_of_all(question: Question) -> Plan:
    """The closure of all vertices, uncondensed."""
    wants, ops = question.wants, verbs(question)
    graph, made = question.once(of_truth)
    plan = make_plan(graph.n, lor_land, ops, schedule=wants.schedule, block=wants.block)
    # A list omits edges of weight ∞; the closure is transposed once at the end.
    edges = 0 if graph.rows is None else len(graph.rows)
    if graph.weights is not None and graph.weights.dtype.kind == "f":
        edges *= 17
    needed = plan.matrix_bytes + max(edges, plan.workspace_bytes + plan.matrix_bytes)
    within(needed, wants, UNCONDENSED)
    if may_shrink(question):  # components were found, with too many arcs between them
        needed = max(needed, condensing(question, question.once(arcs_of)))
    return over_ranks(replace(plan, beside_bytes=needed + made), wants)


def closed_uncondensed(question: Question, plan: Plan) -> Packed:
    """The packed closure of all vertices on its device; the answer is on the host."""
    graph, made = question.once(of_truth)
    question.forget()
    ops, n = verbs(question), graph.n
    require(plan.beside_bytes - made, where=question.wants.where, hint=HINT)
    if ops.device == "cuda":
        require(plan.matrix_bytes + plan.workspace_bytes, ops.device, where=question.wants.where, hint=HINT)
    bits = _packed(graph)
    bits = ops.upload(bits, copy=False) if ops.device == "cuda" else bits.get()
    diagonal = bits.diagonal()
    loops = diagonal.get() if ops.device == "cuda" else diagonal
    close(bits, ops, question.wants)
    closed = bits.get()
    mutual = closed.T
    mutual &= closed
    # A vertex is cyclic if it has a loop, or reaches another that reaches it.
    return Packed(trivial(n, loops | (mutual.counts(axis=1) > 1)), closed)


def close(bits: BitMatrix, ops: Backend, wants: Wants) -> None:
    """bits ← their closure in place, on one device or several."""
    if wants.gpus is None:
        solve(Problem(bits, lor_land, ops.device, Memory.OWNED, Survey(0, 1, True)), wants)
        return
    from ...big.distributed import solving

    ranks = solving.world_of(wants.gpus)
    solving.close(bits, lor_land, ranks, block=wants.block, overwrite=True, callback=wants.callback)


def over_ranks(plan: Plan, wants: Wants) -> Plan:
    """The plan over ranks, if requested."""
    if wants.gpus is None:
        return plan
    from ...big.distributed import solving

    spread = solving.plan(plan.n, lor_land, bool, solving.world_of(wants.gpus), wants)
    parts = plan.matrix_bytes + spread.beside_bytes if spread.device == "cpu" else 0
    return replace(spread, reason=plan.reason, beside_bytes=max(plan.beside_bytes, parts))


def _packed(graph: Graph) -> BitMatrix:
    windows = graph.windows(lor_land)
    if windows is not None:
        return windows.packed()
    if graph.dense is not None:
        return BitMatrix.from_bool(graph.dense)
    tails, heads, _ = replace(graph, directed=True).edges(lor_land)
    packed = BitMatrix.from_edges(tails, heads, (graph.n, graph.n))
    if not graph.directed:
        packed |= packed.T
    return packed
