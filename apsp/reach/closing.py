"""How the closure of a graph is found: of its components by uniting rows or by products, or of all its vertices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from semiring.acyclic import acyclic_strips, close_acyclic
from semiring.backend import Backend
from semiring.bits import BitMatrix
from semiring.catalog import lor_land
from semiring.devices import to_device
from semiring.errors import MemoryNeeded
from semiring.memory import available, require, shown
from semiring.survey import Survey
from semiring.tiles import StoredBits
from semiring.tiles.bits import WORDS

from ..graph import Graph
from ..large.closing import SHARE
from ..large.limits import Limits
from ..plans import Plan, make_plan
from ..problem import Memory, Problem
from ..solve import solve
from ..wants import Request
from .condensation import Condensation, condense, trivial

#: A graph with so many arcs that products pay has eight times as many bytes of them as of packed bits.
_FITS = "A graph with so many edges is closed whole. Give more memory, or several GPUs (gpus=)."
_HINT = "Only strongly connected parts shrink; split the graph, or ask for fewer vertices."
#: What is held by finding components, and by sorting the arcs between them, in bytes an arc of the graph and between.
_FINDING, _COMPONENTS, _BETWEEN = 26, 16, 25
#: What uniting rows holds in bytes an arc between components: arcs in order.
_UNITING = 26

#: What a plan calls the closure of an acyclic graph by uniting rows.
UNITED = "acyclic"

if TYPE_CHECKING:
    from ..distributed.solving import Places


def closed_of(
    graph: Graph, ops: Backend, request: Request, gpus: Places | None, limits: Limits
) -> tuple[Condensation, BitMatrix | StoredBits, Plan]:
    """The closure, of components where finding them pays; the current GPU is that on which the graph lies."""
    n, made = graph.n, 0
    if graph.dense is not None and graph.dense.dtype.kind != "b" and graph.windows(lor_land) is None:
        graph, made = replace(graph, dense=graph.matrix(lor_land), nulls=None), n * n
    # Finding components looks at every edge; on a dense graph the closure itself is as quick.
    arcs = graph.edge_count * (1 if graph.directed else 2)
    shrink = request.schedule == "auto" and arcs * 64 <= n * n
    c, closed, plan = (_shrunk if shrink else _whole)(graph, arcs, ops, request, gpus, limits)
    return c, closed, replace(plan, beside_bytes=plan.beside_bytes + made)


def _shrunk(
    graph: Graph, arcs: int, ops: Backend, request: Request, gpus: Places | None, limits: Limits
) -> tuple[Condensation, BitMatrix | StoredBits, Plan]:
    """The closure of the condensation, which has no cycles: of few arcs by uniting rows, else by products of bits."""
    n = graph.n
    # Edges of a list, one way, are there already; others are written out, undirected ones with temporaries.
    listed = arcs * (17 if graph.dense is not None else 4 if graph.directed else 22) + 33 * n
    require(listed + arcs * (_COMPONENTS + _BETWEEN), where="transitive_closure", hint=_HINT)
    tails, heads, _ = graph.edges(lor_land)
    c = condense(n, tails, heads)
    del tails, heads
    plan, strip = _planned(c, f"{n} vertices shrink to {c.count} components", ops, request, gpus, limits)
    needed, united = plan.matrix_bytes + plan.workspace_bytes, plan.schedule == UNITED
    if strip == c.count:
        _within(needed, limits, "Say output='reach/', where the answer will be." if united else _FITS)
    require(needed, "cpu" if united else ops.device, where="transitive_closure", hint=_HINT)
    condensing = listed + max(arcs * _FINDING, arcs * _COMPONENTS + len(c.tails) * _BETWEEN)
    plan = replace(plan, beside_bytes=max(condensing, needed + 17 * n + 16 * len(c.tails)))
    if strip < c.count:
        return c, _in_strips(c, strip, limits, request), plan
    if united:
        return c, close_acyclic(c.count, c.tails, c.heads), plan
    tails, heads = (to_device(x, ops.device) for x in (c.tails, c.heads))
    closed = BitMatrix.from_edges(tails, heads, (c.count, c.count))
    plan = _close(closed, plan, ops, request, gpus)
    return c, closed.get(), plan


def _planned(
    c: Condensation, shrunk: str, ops: Backend, request: Request, gpus: Places | None, limits: Limits
) -> tuple[Plan, int]:
    """How the components are closed, and how many columns at a time."""
    plan = make_plan(c.count, lor_land, ops, schedule=request.schedule, block=request.block)
    if len(c.tails) * 16 > c.count**2:
        return replace(plan, reason=f"{shrunk}; {plan.reason}"), c.count
    reason = f"{shrunk}, and {len(c.tails)} arcs unite their rows"
    plan = replace(plan, schedule=UNITED, workspace_bytes=_UNITING * len(c.tails), reason=reason)
    strip = _strip(c.count, plan, limits) if gpus is None else c.count
    if strip < c.count:
        reason += f"; {shown(plan.matrix_bytes)} go to {limits.output} in strips of {strip} columns"
        plan = replace(plan, matrix_bytes=strip * c.count // 8, reason=reason)
    return plan, strip


def _in_strips(c: Condensation, strip: int, limits: Limits, request: Request) -> StoredBits:
    """The closure of the components, so many columns at a time, each written when it is united."""
    assert limits.made_in is not None
    stored = StoredBits.create(limits.made_in, (c.count, c.count), width=strip // 64)
    for columns, bits in acyclic_strips(c.count, c.tails, c.heads, strip):
        stored.put(columns, bits)
        if request.callback is not None:
            request.callback(columns.stop, c.count)
    return stored


def _strip(count: int, plan: Plan, limits: Limits) -> int:
    """How many columns are united at a time, whole tiles: all where they fit, or nothing else takes them."""
    there = limits.memory
    if there is None:
        free = available("cpu")
        there = plan.matrix_bytes + plan.workspace_bytes if free is None else int(SHARE * free)
    if limits.output is None or plan.matrix_bytes + plan.workspace_bytes <= there:
        return count
    words = (there - plan.workspace_bytes) // (8 * max(1, count))
    if words < 1:
        raise MemoryNeeded(
            f"transitive_closure: {shown(8 * count + plan.workspace_bytes)} must fit into memory, 64 columns of "
            f"{count} components and their arcs, got {shown(there)}. Give more memory."
        )
    return 64 * (words // WORDS * WORDS if words > WORDS else words)


def _within(needed: int, limits: Limits, hint: str) -> None:
    """Refuse what is larger than the memory that was given."""
    if limits.memory is not None and needed > limits.memory:
        raise MemoryNeeded(
            f"transitive_closure: {shown(needed)} must fit into memory, got {shown(limits.memory)}. {hint}"
        )


def _whole(
    graph: Graph, arcs: int, ops: Backend, request: Request, gpus: Places | None, limits: Limits
) -> tuple[Condensation, BitMatrix, Plan]:
    """The closure of all vertices, each its own component."""
    n, on_device = graph.n, ops.device == "cuda"
    plan = make_plan(n, lor_land, ops, schedule=request.schedule, block=request.block)
    # Edges of weight ∞ are left out of a list; at the end, the closure is transposed once.
    listed = 0 if graph.rows is None else len(graph.rows)
    if graph.weights is not None and graph.weights.dtype.kind == "f":
        listed *= 17
    plan = replace(plan, beside_bytes=plan.matrix_bytes + max(listed, plan.workspace_bytes + plan.matrix_bytes))
    _within(plan.beside_bytes, limits, _FITS)
    require(plan.beside_bytes, where="transitive_closure", hint=_HINT)
    if on_device:
        require(plan.matrix_bytes + plan.workspace_bytes, ops.device, where="transitive_closure", hint=_HINT)
    closed = _packed(graph)
    closed = ops.upload(closed, copy=False) if on_device else closed.get()
    diagonal = closed.diagonal()
    loops = diagonal.get() if on_device else diagonal
    plan = _close(closed, plan, ops, request, gpus)
    closed = closed.get()
    mutual = closed.T
    mutual &= closed
    # A vertex lies on a cycle that has a loop, or reaches another that reaches it.
    return trivial(n, loops | (mutual.counts(axis=1) > 1)), closed, plan


def _close(closed: BitMatrix, plan: Plan, ops: Backend, request: Request, gpus: Places | None) -> Plan:
    """closed ← its closure where it lies, by one device or several; the plan of that."""
    if gpus is None:
        solve(Problem(closed, lor_land, ops.device, Memory.OURS, Survey(0, 1, True)), request)
        return plan
    from ..distributed import solving

    spread = solving.plan(len(closed), lor_land, bool, solving.world_of(gpus), request)
    solving.close_bits(closed, request, gpus)
    parts = closed.nbytes + spread.beside_bytes if spread.device == "cpu" else 0
    return replace(spread, reason=plan.reason, beside_bytes=max(plan.beside_bytes, parts))


def _packed(graph: Graph) -> BitMatrix:
    """A graph's edges as bits, where they lie."""
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
