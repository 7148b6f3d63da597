"""`hops`: hop counts in many graphs of different sizes at once, padded to one batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, overload

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import lor_land
from semiring.host.arrays import Taken, in_kind_of, take_in
from semiring.host.devices import host, module, on_device, to_device
from semiring.host.errors import DomainError, DTypeError, ShapeError, VertexError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Input
from semiring.sparse import Hops

from ..closures import closure
from ..io.inputs import as_graph
from ..io.inputs.edges import refuse_ambiguous
from .routes import next_hops

#: No path, in int16, while counting.
NONE = 2**15 - 1
#: n of a sparse graph from which searches beat a closure on the host.
LARGE = 512
#: Entries whose paths are walked together on the host; bounds the workspace.
PART = 1 << 16
HINT = "Pass fewer graphs at a time, or those of similar sizes."


@overload
def hops(graphs: Input, *, unreachable: int = ..., limit: int | None = ..., paths: None = ...) -> np.ndarray: ...
@overload
def hops(
    graphs: Input, *, unreachable: int = ..., limit: int | None = ..., paths: int
) -> tuple[np.ndarray, np.ndarray]: ...
def hops(graphs: Input, *, unreachable: int = -1, limit: int | None = None, paths: int | None = None) -> Array:
    """The number of edges of shortest paths between all vertices of many graphs, in one padded array.

    Parameters
    ----------
    graphs
        A bool array of shape (B, n, n) (NumPy, CuPy, PyTorch, …) of edges (b, i, j). A PyTorch Geometric batch. Or a
        list or iterator of graphs as for `shortest_paths`, unweighted; or of edge_index arrays only, integers (2, m)
        with n the largest number + 1. Shape (2, 2) is ambiguous and refused, except [[0, 1], [1, 0]].
    unreachable : int
        The entry for no path and for padding: −1 as in DGL, 510 as in Graphormer.
    limit : int, optional
        Vertices farther apart count as unreachable.
    paths : int, optional
        Also return this many first edges of a shortest path each.

    Returns
    -------
    H : int16 array, shape (B, N, N)
        N is the largest n. In the library and on the device of the input arrays, else NumPy.
    heads : int16 array, shape (B, N, N, paths)
        With `paths`. Edge l of the path from i to j leads to heads[b, i, j, l], starting at i. −1 beyond its end, and
        where H is `unreachable`.

    Raises
    ------
    ShapeError, DTypeError, VertexError, DomainError
        If these are no graphs, a graph has more than 32,767 vertices, or an option is out of range.
    MemoryNeeded
        If the arrays do not fit.

    See Also
    --------
    closure, shortest_paths : With weights: matrices and lists of them; one graph.
    semiring.sparse.Hops : One graph, row by row.

    Notes
    -----
    B · N³ pairs, as a batched int16 closure; on a CPU, lists with graphs above 512 vertices use breadth-first search.
    Among shortest paths, that of `next_hops`.

    Examples
    --------
    >>> import numpy as np
    >>> hops([np.array([[0, 1, 2], [1, 2, 0]]), np.array([[0, 1], [1, 0]])])[1]
    array([[ 0,  1, -1],
           [ 1,  0, -1],
           [-1, -1, -1]], dtype=int16)
    """
    for name, value, low in (("unreachable", unreachable, -(2**15)), ("limit", limit, 0), ("paths", paths, 1)):
        if value is None and name != "unreachable":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value < 2**15:
            raise DomainError(f"hops: {name} must be an integer from {low} to 32,767, got {came(value)}.")
    kind, A, sizes = _adjacent(list(graphs) if isinstance(graphs, Iterator) else graphs, paths)
    with on_device(A):
        xp, (count, n, _) = module(A), A.shape
        D = _closed(A, sizes, paths is not None)
        if sizes is not None:  # padding is no vertex
            D.reshape(count, n * n)[:, :: n + 1][xp.arange(n) >= xp.asarray(sizes)[:, None]] = NONE
        most = NONE - 1 if limit is None else min(limit, NONE - 1)
        heads = None if paths is None else _heads(A, D, most, paths)
        for part in dtypes.chunks(D):
            H = D[part]
            xp.putmask(H, H > most, unreachable)
        found = kind.give_back(D, where="hops")
        return found if heads is None else (found, kind.give_back(heads, where="hops"))


def _heads(A: Array, D: Array, most: int, paths: int) -> Array:
    """Heads of the first edges of shortest paths of at most `most` edges; −1 beyond their ends."""
    xp, (count, n, _) = module(A), A.shape
    following = next_hops(A, D, null_value=None) if A.size else xp.zeros(A.shape, np.int32)
    heads = xp.full((*A.shape, paths), -1, np.int16)
    graphs, vertices = xp.arange(count)[:, None, None], xp.arange(n)
    for part in dtypes.chunks(D, PART):
        far, which, here = D[part], graphs[part[:1]], vertices[part[1] if len(part) > 1 else slice(n)][:, None]
        for edge in range(paths):
            going = (far > edge) & (far <= most)
            here = xp.where(going, following[which, here, vertices], 0)
            heads[(*part, ..., edge)] = xp.where(going, here, -1)
    return heads


def _closed(A: Array, sizes: Any, kept: bool) -> Array:
    """Hops of a padded batch, in place unless `kept`; on the host by searches where faster."""
    if not isinstance(A, np.ndarray) or sizes is None or A.shape[1] < LARGE:
        D: Any = closure(A, null_value=None, overwrite=not kept)
        return D
    D = np.full_like(A, NONE)
    for arcs, into, n in zip(A, D, sizes, strict=True):
        into[:n, :n] = Hops(np.nonzero(arcs[:n, :n] == 1), int(n), dtype=np.int16).to_dense()
    return D


def _require(xp: ModuleType, count: int, n: int, paths: int | None) -> None:
    """Check the total memory before building matrices, as `memory.RECENT` caches the free memory briefly."""
    held = 2 if paths is None else 2 + max(4, 2 + paths)  # next hops; their workspace or the paths
    walked = 0 if paths is None else 32 * min(PART, count * n * n)
    require(2 * held * count * n * n + walked, "cpu" if xp is np else "cuda", where="hops", hint=HINT)


def _adjacent(graphs: Input, paths: int | None) -> tuple[Taken, Array, Array]:
    """The kind of the results; edges as int16 (B, N, N) of 1 and `NONE`; sizes."""
    if hasattr(graphs, "edge_index") and hasattr(graphs, "ptr"):  # PyTorch Geometric's Batch
        kind, ptr = take_in(graphs.edge_index, where="hops"), host(take_in(graphs.ptr, where="hops").array)
        graph = np.searchsorted(ptr, host(kind.array[0]), side="right") - 1
        with on_device(kind.array):
            which = to_device(graph, "cpu" if module(kind.array) is np else "cuda")
            first = module(kind.array).asarray(ptr)[which]
            rows, cols = kind.array - first
            return kind, *_scattered(which, rows, cols, np.diff(ptr), paths)
    if not isinstance(graphs, (list, tuple)):
        kind = take_in(graphs, where="hops")
        shape = kind.array.shape
        if kind.array.dtype != bool or len(shape) != 3 or shape[1] != shape[2]:
            raise DTypeError(
                f"hops: graphs must be a list of graphs, or a bool array of shape (B, n, n), got shape {shape} of "
                f"{kind.array.dtype}. Pass A != 0 or A < inf, or [A] for one graph."
            )
        _require_small(shape[1])
        with on_device(kind.array):
            xp = module(kind.array)
            _require(xp, shape[0], shape[1], paths)
            return kind, xp.where(kind.array, np.int16(1), np.int16(NONE)), None
    if (found := _indices(graphs, paths)) is not None:
        return found
    listed = [as_graph(graph, weight=None) for graph in graphs]
    sizes = np.array([graph.n for graph in listed], np.int64)
    arcs = [graph.edges(lor_land)[:2] for graph in listed]
    which = np.repeat(np.arange(len(listed)), [len(rows) for rows, _ in arcs])
    rows, cols = (np.concatenate([np.empty(0, np.int64), *(a[side] for a in arcs)]) for side in (0, 1))
    first = getattr(graphs[0], "edge_index", graphs[0]) if graphs else None
    kind = take_in(first if hasattr(first, "__dlpack__") else np.empty(0), where="hops")
    with on_device(kind.array):
        place = "cpu" if module(kind.array) is np else "cuda"
        which, rows, cols = (to_device(X, place) for X in (which, rows, cols))
        return kind, *_scattered(which, rows, cols, sizes, paths)


def _indices(graphs: Sequence[Any], paths: int | None) -> tuple[Taken, Array, Array] | None:
    """`_adjacent` for a list of edge_index arrays, unless all may be matrices (then None)."""
    shapes: list[Any] = [getattr(x, "shape", ()) for x in graphs]
    if {len(shape) for shape in shapes} != {2} or {shape[0] for shape in shapes} != {2}:
        return None
    if {shape[1] for shape in shapes} == {2} or not all("int" in str(dtype) for dtype in {x.dtype for x in graphs}):
        return None
    (library, *others) = {type(x) for x in graphs}
    if not others and library is np.ndarray:
        joined = np.concatenate(graphs, axis=1)
        kind = Taken(joined, joined, False)
    elif not others and library.__module__.partition(".")[0] == "torch":
        kind = take_in(sys.modules["torch"].cat(tuple(graphs), 1), where="hops")
    else:
        taken = [take_in(x, where="hops") for x in graphs]
        kind = in_kind_of(*taken, where="hops")
        with on_device(kind.array):
            kind = Taken(module(kind.array).concatenate([x.array for x in taken], axis=1), kind.source, True)
    counts = np.array([shape[1] for shape in shapes])
    with on_device(kind.array):
        xp, ends = module(kind.array), host(kind.array)
        sizes, starts = np.zeros(len(graphs), np.int64), np.cumsum(counts) - counts
        for start in starts[counts == 2].tolist():
            refuse_ambiguous(ends[:, start : start + 2], where="hops")
        if ends.shape[1]:
            sizes[counts > 0] = np.maximum.reduceat(ends.max(axis=0), starts[counts > 0]) + 1
        which = xp.asarray(np.repeat(np.arange(len(graphs)), counts))
        rows, cols = kind.array
        return kind, *_scattered(which, rows, cols, sizes, paths)


def _scattered(which: Array, rows: Array, cols: Array, sizes: np.ndarray, paths: int | None) -> tuple[Array, Array]:
    """int16 matrices of 1 and `NONE`: edge rows[k] → cols[k] of graph which[k]; and sizes."""
    n = int(sizes.max(initial=0))
    _require_small(n)
    xp = module(rows)
    _require(xp, len(sizes), n, paths)
    if len(rows):
        room = xp.asarray(sizes)[which]
        wrong = (rows < 0) | (cols < 0) | (rows >= room) | (cols >= room)
        if bool(wrong.any()):
            k = int(wrong.argmax())
            raise VertexError(
                f"hops: edges must be between vertices of their graph, got {int(rows[k])} → {int(cols[k])} in graph "
                f"{int(which[k])} of {int(sizes[int(which[k])])} vertices. Number them from 0 in each graph."
            )
    A = xp.full(len(sizes) * n * n, NONE, np.int16)
    rows, cols = (x.astype(np.int64, copy=False) for x in (rows, cols))  # uint64 and int64 would be float64
    A[(which * n + rows) * n + cols] = 1
    return A.reshape(len(sizes), n, n), sizes


def _require_small(n: int) -> None:
    if n > NONE:
        raise ShapeError(
            f"hops: graphs must have at most {NONE:,} vertices, so that int16 holds all hops, got {n:,}. Use "
            "shortest_paths(graph, weight=None) for it."
        )
