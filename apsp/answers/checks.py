"""`check`: a table that somebody else computed, held against the closure; the first wrong entry and the reason."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.conversion import conform, from_sequence
from semiring.algebra.records import Semiring
from semiring.host.devices import host
from semiring.host.errors import FormatError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Algebra, Array, DType
from semiring.kernels.backend import device_of
from semiring.kernels.observed import Callback

from ..io.display import output
from ..io.formats import read
from ..io.graph import Graph
from ..io.inputs import as_graph
from ..io.reading.options import BY_RULE, NullValue
from ..io.saving import load, recognised
from ..io.saving.encoding import decode, square
from ..road.engines import Engine
from ..road.engines.dense import Dense
from ..road.engines.stored import Stored
from .result import Result, shortest_paths
from .result.verification import Comparison, Verification, drawn, finite_weights, rounding


def check(
    A: Array,
    D: Array,
    semiring: Algebra = "min_plus",
    *,
    rows: int | str = "all",
    seed: int = 0,
    within: float = 0.0,
    dtype: DType = None,
    format: str | None = None,
    null_value: NullValue = BY_RULE,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Verification:
    """Check a table that another program computed; if it is not the closure of A, name its first wrong entry, and why.

    Parameters
    ----------
    A : array_like of shape (n, n), or a graph
        As in `shortest_paths`, files too.
    D : array_like of shape (n, n), TileStore, path or Graph
        The table. In a file, rows of numbers (.txt, .csv), or what `Result.save` writes; `inf` for no path. Names in
        its first row and column may come in any order; rows without names, or of names 0 … n − 1, are in A's.
    semiring : str or Semiring
    rows : int or "all"
        How many rows to look at, drawn at random.
    seed : int
        Of the draw.
    within : float
        How far numbers may be off besides rounding: a table printed with six digits is right to six digits.
    dtype : dtype, optional
        What the table was computed in, whose rounding is allowed; that of its numbers by default.
    format : str, optional
        Of a table in a file, one of `apsp.io.formats.names()`.
    null_value : number or None, optional
        Of A, as in `as_graph`.
    threads, callback
        As in `shortest_paths`.

    Returns
    -------
    Verification
        True or false. Prints the first wrong entry, row by row, with the best walk by its vertices: a better one than
        the table knows, or none as good as it says. `pair` has its labels.

    Raises
    ------
    ShapeError, VertexError
        If D is not of A's shape; if it has other names.
    DivergenceError
        If A has no closure, so that no table is right.
    DTypeError, DomainError, FormatError, ValueError
        If entries are no numbers, or outside the semiring; if a file does not follow its format; if `within` is
        negative, infinite or NaN.

    See Also
    --------
    Result.verify : A result of `shortest_paths` by its definition.
    shortest_paths : What the table is compared with.

    Notes
    -----
    Each row is compared with a computed one: integers and integral floats exactly, others to n · eps · the largest
    number. Equality with the closure refuses what D = I ⊕ D ⊗ A alone lets pass, entries too good all along a cycle of
    weight 0. O(n² log n) for a sparse graph, n³ pairs for a matrix; only the rows drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import check
    >>> A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    >>> print(check(A, [[0, 4, 5], [3, 0, 1], [2, 6, 0]]))
    all 3 rows are those of the closure, exactly.
    >>> print(check(A, [[0, 4, 6], [3, 0, 1], [2, 6, 0]]))
    1 of 9 entries is wrong, first from 0 to 2: the table says 6.0, and the walk 0 → 1 → 2 weighs 5.0.
    """
    if not 0 <= within < np.inf:
        raise ValueError(f"check: within must be a number of at least 0, got {came(within)}.")
    s, graph = get(semiring), as_graph(A, null_value=null_value)
    table, own = _table(D, graph, s, dtype, format)
    sources = drawn(graph.n, rows, seed, "check")
    chosen = None if len(sources) == graph.n else [graph.labels[k] for k in sources.tolist()]
    r = shortest_paths(graph, s, sources=chosen, dtype=table.dtype, threads=threads, callback=callback)
    weights, eps_of = finite_weights(graph, s, r.dtype), own if own.kind == "f" else r.dtype
    known = r.engine.table() if r.engine.in_memory else None
    allowed = rounding(s, eps_of, weights, known, graph.n)
    tight = known is None and not (weights < 0).any()  # sums that cancel are as far off as what they are made of
    compared, most = Comparison(s, r.dtype, within + allowed), 0.0
    for positions, X in r.engine.rows(np.arange(len(sources))):
        if tight:
            compared.allowed = within + min(allowed, rounding(s, eps_of, weights, X, graph.n))
        most = max(most, compared.allowed)
        X = host(X)
        if s.add.selects and s.mul.selects:  # of weights that were rounded, the same one is best
            X = X.astype(eps_of, copy=False).astype(X.dtype, copy=False)
        compared(sources[positions], table[sources[positions]], X)
    how = "exactly" if most == 0 else f"to {most:.2g}"
    if compared.pair is None:
        looked = f"all {graph.n} rows" if chosen is None else f"{len(sources)} of {graph.n} rows, drawn at random,"
        return Verification(True, f"{looked} are those of the closure, {how}.", compared.largest, most)
    i, j = compared.pair
    u, v = graph.labels[i], graph.labels[j]
    count, size = compared.count, len(sources) * graph.n
    wrong = f"{count} of {size} entries {'is' if count == 1 else 'are'} wrong, first from {u!r} to {v!r}"
    why = _why(r, table[np.array([i])][0, j], (int(np.searchsorted(sources, i)), j))
    rounded = own == np.float64 and compared.largest <= rounding(s, np.dtype("float32"), weights, X, graph.n)
    hint = " No difference exceeds the rounding of float32: if computed in that, say so by dtype." if rounded else ""
    if not table.named and not graph.labels.numbered and {*graph.labels} == {*range(graph.n)}:
        hint += f" Rows without other names than 0 … {graph.n - 1} are in the order of A, {came(list(graph.labels))}."
    return Verification(False, f"{wrong}: the table says {why}.{hint}", compared.largest, most, (u, v))


@dataclass(frozen=True)
class _Rows:
    """Rows of the table by position in the graph: `table[positions]`, in the dtype that they are compared in."""

    held: Engine
    order: np.ndarray
    semiring: Semiring
    dtype: np.dtype
    named: bool

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        found = self.held.block(self.order[rows], self.order)
        return np.asarray(conform(found, self.semiring, self.dtype, where="check"))


def _table(D: Array, graph: Graph, s: Semiring, dtype: DType, format: str | None) -> tuple[_Rows, np.dtype]:
    """The table's rows, and the dtype whose rounding it has."""
    if isinstance(D, (str, os.PathLike)) and os.path.isdir(D) and not recognised(D):  # a store that is no graph
        held, parts = load(D)
        try:
            names = square(parts, decode(parts)) or graph.labels
        except ValueError as error:
            raise FormatError(D, None, str(error)) from None
    else:
        if isinstance(D, (list, tuple)):
            D = from_sequence(D, where="check")
        path = isinstance(D, (str, os.PathLike))
        posed = read(D, format=format, null_value=None) if path else as_graph(D, null_value=None)
        held, names = posed.dense, posed.labels
    if held is None or held.shape[0] != graph.n:
        edges = "a list of edges. Say format='matrix' for rows of numbers"
        got = edges if held is None else f"shape {tuple(held.shape)}"
        raise ShapeError(f"check: the table must be a matrix of {graph.n} rows and columns, got {got}.")
    order, named = np.arange(graph.n), not (names.numbered or names == graph.labels)
    if named:  # a file has 7 for the text "7"
        order = names.positions([x if x in names else names.parse(str(x)) for x in graph.labels])
    engine: Engine = (
        Stored(held) if device_of(held) == "cpu" and not isinstance(held, np.ndarray) else Dense(host(held))
    )
    own = np.dtype(held.dtype) if dtype is None else dtypes.resolve(s, dtype, where="check")
    natural = graph.target(s)
    wide = natural if natural.kind == "b" else np.result_type(natural, own)
    return _Rows(engine, order, s, dtypes.resolve(s, dtype, wide, where="check"), named), own


def _why(r: Result, said: Any, pair: tuple[int, int]) -> str:
    """The table's number, and the walk that it should be the weight of."""
    s, best = r.semiring, r.engine.entry(*pair)
    number, right = output.text(said, s), output.text(best, s)
    if best == r.infinity:
        return f"{number}, and no walk leads there"
    if s.add.selects is None:
        return f"{number}, and all walks together weigh {right}"
    walk = r.path(r.sources[pair[0]], r.targets[pair[1]])
    named = f"walk {output.walk(walk)}" if len(walk) > 1 else "walk of no edge"
    if said < best if s.add.selects == "least" else said > best:
        return f"{number}, and no walk is as good: the best, the {named}, weighs {right}"
    return f"{number}, and the {named} weighs {right}"
