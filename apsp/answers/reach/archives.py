"""Answers on disk: an archive, or a store of tiles that is read on demand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semiring.dense.bits import BitMatrix
from semiring.host.errors import FormatError
from semiring.host.spelling import came
from semiring.host.types import Fields
from semiring.sparse.reach import ReachIndex
from semiring.stores.archives import load_arrays
from semiring.stores.files import writing
from semiring.stores.tiles import StoredBits, TileStore
from semiring.stores.tiles.folder import is_store

from ...io.graph.ondisk import refuse_overwriting
from ...io.labels import Labels
from ...io.saving import check_output, suffix_of, tiles
from ...io.saving.encoding import decode, encode, plan_from_array, plan_to_array
from ...io.saving.tiles import building, save_archive
from ...road.engines.condensation import Condensation
from ...road.plans import Plan

if TYPE_CHECKING:
    from .reachability import Reachability

#: The closure of a condensation: bits in memory or on disk, or an index of labels.
Closed: TypeAlias = BitMatrix | StoredBits | ReachIndex
#: The arrays of a condensation, in its order.
_OF_CONDENSATION = ("component", "sizes", "cyclic", "tails", "heads")


def write(answer: Reachability, path: str | os.PathLike[str]) -> None:
    """See `Reachability.save`."""
    check_output(path, (".npz", ".tiles"))
    if suffix_of(path) == ".tiles":
        if isinstance(answer.closed, ReachIndex):
            raise ValueError("save: a store of tiles must be of bits, got an index. Say save('reach.npz').")
        if isinstance(answer.closed, StoredBits):
            refuse_overwriting(answer.closed.words, path, where="save")
        with building(path) as place:
            save_into(place, answer, path)
        return
    arrays = _arrays(answer, path)
    if not isinstance(answer.closed, ReachIndex):
        arrays["words"] = answer._bits.words
    with writing(path) as file:
        np.savez(file, **arrays)


def read(path: str | os.PathLike[str]) -> tuple[Labels, Condensation, Closed, bool, Plan, float]:
    """Fields of the answer that `write` wrote; see `Reachability.load`."""
    store = None
    if is_store(path):
        store, parts = tiles.load(path)
    else:
        parts = load_arrays(path, "a Reachability")
    try:
        labels = decode(parts)
        if labels is None:
            raise KeyError("labels")
        c = Condensation(*(parts[name] for name in _OF_CONDENSATION))
        _check_consistent(c, len(labels))
        closed: Closed
        if store is not None:
            closed = StoredBits(store)
            if closed.shape != (c.count, c.count):
                raise ValueError(f"{came(closed)} for {c.count} components")
        elif "indexed" in parts:
            closed = ReachIndex(c.count, c.tails, c.heads, c.sizes)
        else:
            closed = BitMatrix(parts["words"], (c.count, c.count))
        plan, seconds = plan_from_array(parts["plan"]), float(parts["seconds"])
        return labels, c, closed, bool(parts["reflexive"]), plan, seconds
    except (LookupError, ValueError, TypeError) as error:
        way = " Result.load reads one of shortest_paths." if "semiring" in parts else ""
        raise FormatError(
            path, None, f"a Reachability that `save` wrote is required, got {came(error)}.{way}"
        ) from error


def save_into(place: Path, answer: Reachability, path: str | os.PathLike[str]) -> None:
    """Fill a directory, empty or with its packed bits, as a store; the file that makes it one comes last."""
    closed = answer.closed
    if not isinstance(closed, StoredBits) or closed.words.path != place:
        StoredBits.create(place, closed.shape).put(slice(0, len(closed)), answer._bits)
    save_archive(TileStore(place), _arrays(answer, path))


def _arrays(answer: Reachability, path: str | os.PathLike[str]) -> Fields:
    c = answer.condensation
    arrays = {name: getattr(c, name) for name in _OF_CONDENSATION}
    plan, seconds = plan_to_array(answer.plan), np.array(answer.seconds)
    made = {"reflexive": np.array(answer.reflexive), "plan": plan, "seconds": seconds}
    if isinstance(answer.closed, ReachIndex):
        made["indexed"] = np.array(True)
    return {**arrays, **made, **encode(answer.labels, path)}


def _check_consistent(c: Condensation, n: int) -> None:
    """Raise ValueError unless c is a condensation of n vertices, so that no query reads out of bounds."""
    integral = all(array.ndim == 1 and array.dtype.kind == "i" for array in (c.component, c.sizes, c.tails, c.heads))
    if not integral or c.cyclic.shape != (c.count,) or c.cyclic.dtype != np.dtype(bool) or len(c.tails) != len(c.heads):
        raise ValueError("arrays of the wrong kind or length")
    for array in (c.component, c.tails, c.heads):
        if array.size and not 0 <= array.min() <= array.max() < c.count:
            raise ValueError(f"a component beyond the {c.count} there are")
    if (c.tails <= c.heads).any() or (np.diff(c.tails * np.int64(c.count) + c.heads) <= 0).any():
        raise ValueError("arcs between components that are not in order")
    if len(c.component) != n or (np.bincount(c.component, minlength=c.count) != c.sizes).any():
        raise ValueError(f"components that do not hold {n} vertices")
