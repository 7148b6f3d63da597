"""`update`: the closure of a matrix after some of its entries have changed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache, partial
from operator import call

import numpy as np

from semiring.algebra.catalog import get
from semiring.algebra.conversion import conform, with_ends
from semiring.algebra.dtypes import SCALARS, of
from semiring.algebra.records import Semiring
from semiring.algebra.survey import survey
from semiring.dense.changes import Step, around, follow, put
from semiring.host.arrays import share_memory, take_in
from semiring.host.devices import on_device
from semiring.host.errors import DomainError, DTypeError, ShapeError, VertexError
from semiring.host.memory import fits, require
from semiring.host.signals import undisturbed
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Algebra, Array, Scalar, Tensor
from semiring.kernels.backend import bind, device_of
from semiring.kernels.repair import Around

from ..io.reading.options import nulls_of
from ..road.estimates import closing
from ..road.question import Question
from ..road.road import answer, choose
from ..road.wants import Wants


def update(
    D: Tensor,
    A: Tensor,
    changes: Mapping[tuple[int, int], Scalar],
    semiring: Algebra = "min_plus",
    *,
    overwrite: bool = False,
    threads: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The closure D of a matrix A after some entries of A change, and the changed matrix.

    Parameters
    ----------
    D : array_like, shape (n, n)
        The closure of A, as from `apsp.closure`.
    A : array_like, shape (n, n)
        The matrix of edges, of D's dtype and device; a missing edge is the semiring's zero.
    changes : mapping
        {(i, j): weight}, by position; the semiring's zero (inf over min_plus) removes an edge.
    semiring : str or Semiring
    overwrite : bool
        Write to D and A themselves, which take no further memory then where one entry changes. After an error both are
        as before.
    threads : int, optional
        CPU threads; all available by default.

    Returns
    -------
    D, A : arrays, shape (n, n)
        New ones, in kind; with `overwrite`, those that came.

    Raises
    ------
    DivergenceError
        If a new edge closes a cycle that beats `one`: then there is no closure.
    ShapeError, VertexError
        If D and A are not square or differ; if a position is not in 0 … n − 1.
    DTypeError, DomainError
        If dtypes or devices differ, or a weight does not fit; if D is no closure, or one with `null_value`.
    ValueError
        If, to be overwritten, they are read-only or share memory.
    MemoryNeeded
        If the copies do not fit.

    See Also
    --------
    closure, predecessors : Of a matrix; the paths, for D and A together.
    Result.update : By label.

    Notes
    -----
    Integers, truth values and ⊗ that select equal a new closure bit for bit, sums and products of floats up to
    rounding. A better edge takes O(n²). For a worse one the rows and columns of entries that a best walk over it may
    have are listed; these are computed anew by a product with the edges into the fewer of both and one with the
    distances among these, which stay unless a vertex is in both. The matrix is closed anew where that takes as long, or
    its memory is not free, where ⊕ does not select or integers might overflow; on a GPU also below some 1,000 vertices
    for a better edge and 3,300 for a worse one.
    Several changes come one after the other. Ctrl-C is heard throughout. Sources:
    Ramalingam and Reps 1996, "On the computational complexity of dynamic graph problems"; Demetrescu and Italiano 2004,
    "A new approach to dynamic all pairs shortest paths".

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure, update
    >>> A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    >>> D, A = update(closure(A), A, {(0, 1): 3, (1, 2): np.inf})
    >>> D
    array([[ 0.,  3., inf],
           [inf,  0., inf],
           [ 2.,  5.,  0.]])
    """
    s, where = get(semiring), "update"
    refuse_texts(where, overwrite=overwrite)
    closed, edges = (take_in(X, where=where) for X in (D, A))
    M, W, n = closed.array, edges.array, len(closed.array)
    if not M.shape == W.shape == (n, n):
        raise ShapeError(f"update: D and A must be square, of one shape (n, n), got {M.shape} and {W.shape}.")
    if M.dtype not in of(s) or W.dtype != M.dtype or device_of(W) != device_of(M):
        raise DTypeError(
            f"update: D and A must be of one dtype of {s.name}, on one device, got {M.dtype} on {device_of(M)} and "
            f"{W.dtype} on {device_of(W)}. Convert A, then close it."
        )
    for table in (D, A):
        names = getattr(table, "columns", ())
        if getattr(names, "dtype", None) == np.int64 and list(names) != list(range(n)):
            raise VertexError(f"update: names of a table must be positions, got {came(list(names))}. Say A.to_numpy().")
    if not isinstance(changes, Mapping):
        raise VertexError(f"update: changes must be a mapping {{(i, j): weight}}, got {came(changes)}.")
    for key, w in changes.items():
        if not (isinstance(key, tuple) and len(key) == 2 and all(hasattr(k, "__index__") and 0 <= k < n for k in key)):
            raise VertexError(f"update: changes must be of entries (i, j), in 0 … {n - 1}, got {came(key)}.")
        if not isinstance(w, Hashable) or isinstance(w, tuple):
            raise ShapeError(f"update: a weight must be one number, got {came(w)}.")
    infinities = {end: x for x, end in SCALARS[M.dtype].infinities.items()}
    given = [infinities.get(w, w) for w in changes.values()]

    def read(numbers: list[Scalar]) -> np.ndarray:
        found: np.ndarray = take_in(numbers, where=where).array
        return found

    # An infinity that the semiring lacks is refused as such, and floats have their own.
    values = read(given) if M.dtype.kind == "f" or -s.zero in given else with_ends(given, read)
    weights = conform(values, s, M.dtype, where=where)
    survey(weights, s, where=where)
    entries = {(int(i), int(j)): w for (i, j), w in zip(changes, weights.tolist(), strict=True)}
    if overwrite:
        for taken in (closed, edges):
            taken.check_writable(M.dtype, where=where)
        if share_memory(M, W):  # as after closure(A, overwrite=True), which leaves no A
            raise ValueError("update: overwritten, D and A must not share memory, got one for both. Copy A first.")
    with on_device(M):
        alone = overwrite and len(entries) == 1 and M.flags.c_contiguous  # then all is written at once
        require(M.nbytes * (2 - overwrite - alone), device_of(M), where=where, hint="Say overwrite=True.")
        new = M if alone else M.copy(order="C")
        seen = _around(new, W, next(iter(entries), (0, 0)), s) if n and s.add.selects else None

        written = False  # whether A is, with D

        def change(step: Step) -> int:
            nonlocal written
            found = step()
            if found >= 0:
                put(W, entries)
                written = True
            return found

        both = (lambda step: undisturbed(partial(change, step))) if alone else call  # D and A, or neither

        @cache
        def fresh() -> Question:
            require(W.nbytes, device_of(M), where=where, hint="Say apsp.closure(A, overwrite=True), of the changed A.")
            anew = W.copy(order="C")
            put(anew, entries)
            return Question(anew, s, Wants.of(where=where, nulls=nulls_of(None), threads=threads, table=True))

        def share() -> float:
            if not fits(W.nbytes, device_of(M)):
                return 1.0
            plan, ops = choose(fresh()), bind(s, M.dtype, device=device_of(M), threads=threads)
            spent = sum(e.spent for e in plan.considered if e.engine == plan.engine)
            return (plan.seconds - spent) / closing(n, ops)

        one = seen if len(entries) == 1 else None  # several follow each other, and D changes between them
        if follow(new, W, entries, s, threads=threads, write=both, share=share, seen=one) is None:
            new = fresh().in_kind(answer(fresh()).engine.storage)

        def write() -> None:
            M[...] = new
            put(W, entries)

        if overwrite:
            if new is not M:
                undisturbed(write)
            elif not written:
                put(W, entries)
            return D, A
        changed = W.copy(order="C")
        put(changed, entries)
    return closed.give_back(new, where=where), edges.give_back(changed, where=where)


def _around(D: Array, A: Array, arc: tuple[int, int], s: Semiring) -> Around:
    """An arc in D and A; DomainError for a D that is no closure or, as zeros in A tell, one with a `null_value`."""
    found = around(s, D, A, *arc)
    if not found.closed:
        raise DomainError(f"update: D must have one = {s.one} on its diagonal, as apsp.closure(A) has, got others.")
    if found.nulls and survey(A, s, where="update", null_undeclared=True).ambiguous:
        raise DomainError(
            f"update: A must have {s.zero} where there is no edge, got zeros, which D does not have for edges. Say "
            f"A = apsp.as_graph(A, null_value=0).matrix({s.name!r})."
        )
    return found
