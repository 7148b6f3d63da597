"""Vertex names: label → position and back; consecutive integers are a range."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, count
from typing import Any, overload

import numpy as np

from semiring.host.arrays import broadcast
from semiring.host.errors import ShapeError, VertexError
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Label

_OF_NUMPY = (np.character, np.number, np.bool_)
#: Texts from which arrays are faster than a dictionary, and their longest; the multiplier of their hash, 2⁶⁴ / φ.
MANY, SHORT, HASH = 1 << 12, 32, np.uint64(0x9E3779B97F4A7C15)


class Labels(Sequence[Label]):
    """Distinct vertex names in the order of the matrix; reads like a tuple.

    Consecutive integers (0, 1, 2, … or 7, 8, 9) are stored as a range; `what` is the subject of errors. Raises
    VertexError for repeated or unhashable names.

    >>> Labels(["A", "B", "C"]).position("C")
    2
    >>> Labels([7, 8, 9])
    Labels(range(7, 10))
    """

    def __init__(self, names: Iterable[Label], what: str = "Graph") -> None:
        self._what = what
        if isinstance(names, Labels):
            names = names._names
        self._names: range | tuple[Label, ...]
        if isinstance(names, np.ndarray):
            if (ascending := _ascending(names)) is not None:
                self._names = ascending
                return
            names = names.tolist()
        self._names = names if isinstance(names, range) else _as_range(_plain(tuple(names)))
        if isinstance(self._names, tuple):
            self._check_distinct()

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Label: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Label]: ...
    def __getitem__(self, index: int | slice) -> Label:
        return self._names[index]

    def __iter__(self) -> Iterator[Label]:
        return iter(self._names)

    def __contains__(self, label: object) -> bool:
        return self._find(label) is not None

    @property
    def numbered(self) -> bool:
        """Whether the labels are the int 0, 1, 2, … (not equal objects such as True and 1.0)."""
        own = self._names
        return self == range(len(own)) and (isinstance(own, range) or all(type(name) is int for name in own))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Labels):
            other = other._names
        if type(other) is type(self._names):
            return self._names == other
        if isinstance(other, (range, tuple, list)):
            return len(self) == len(other) and all(a == b for a, b in zip(self._names, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._names))

    def __repr__(self) -> str:
        shown = self._names if len(self) <= 8 or isinstance(self._names, range) else (*self._names[:7], ...)
        return f"Labels({shown!r})"

    def position(self, label: Label) -> int:
        """The position of a label, or VertexError."""
        found = self._find(label)
        if found is None:
            raise VertexError(self._unknown(label))
        return found

    def positions(self, labels: Iterable[Label] | np.ndarray) -> np.ndarray:
        """int64 positions in the shape of an array, else (len,); integers by one binary search, others one by one."""
        if not isinstance(labels, np.ndarray):
            labels = list(labels)
        if (isinstance(self._names, range) or self._sorted is not None) and (wanted := _integers(labels)) is not None:
            return self._search(wanted)
        if isinstance(labels, np.ndarray):
            flat = [self.position(label) for label in labels.ravel().tolist()]
            return np.array(flat, dtype=np.int64).reshape(labels.shape)
        return np.array([self.position(label) for label in labels], dtype=np.int64)

    def positions_like(self, labels: Label | list[Label] | np.ndarray) -> np.ndarray:
        """`positions` of a list or array; of one label, a 0-d array."""
        if isinstance(labels, list) or (isinstance(labels, np.ndarray) and labels.ndim):
            return self.positions(labels)
        return np.array(self.position(labels.item() if isinstance(labels, np.ndarray) else labels))

    def checked_positions(self, labels: Iterable[Label] | np.ndarray, *, where: str) -> np.ndarray:
        """`positions` of an iterable of labels; TypeError for a single label, ShapeError for several axes."""
        one = np.asarray(labels).item() if getattr(labels, "ndim", 1) == 0 else labels
        if isinstance(one, (str, bytes)) or not isinstance(one, Iterable):
            raise TypeError(
                f"{where}: vertices must be a list or an array of labels, got {came(one)}. Pass [{came(one)}]."
            )
        if isinstance(labels, np.ndarray) and labels.ndim > 1:
            raise ShapeError(
                f"{where}: vertices must be in a list or in an array of one axis, got shape {labels.shape}. "
                "Pass array.ravel()."
            )
        return self.positions(labels if isinstance(labels, np.ndarray) else list(labels))

    def parse(self, text: str) -> Label:
        """The label with this text: "30" is the vertex 30 where labels are integers. Raises as `position_of_text`."""
        return self[self.position_of_text(text)]

    def position_of_text(self, text: str) -> int:
        """The position of the label with this text; VertexError for none, or for two (1 and "1")."""
        found = self.find_text(text)
        if found is None:
            raise VertexError(self._unknown(text))
        if found < 0:
            raise VertexError(f"{self._what}: a text must be one vertex, got {came(text)}, as which two are written.")
        return found

    def find_text(self, text: str) -> int | None:
        """The position of the label with this text; None for none, −1 for two."""
        if not isinstance(self._names, range):
            return self._texts.get(text)
        number = int(text) if re.fullmatch("-?[0-9]{1,640}", text) else None
        return self._find(number) if str(number) == text else None  # 007 is not the text of 7

    def _find(self, label: Label) -> int | None:
        if isinstance(self._names, range):
            # In a range, `index` and `in` are O(1) only for exact ints.
            if not isinstance(label, (int, np.integer)) and not (isinstance(label, float) and label.is_integer()):
                return None  # a float that equals a label is that label, as in a dict
            offset = int(label) - self._names.start
            return offset if 0 <= offset < len(self) else None
        try:
            return self._position.get(label)
        except TypeError:
            return None

    def _unknown(self, label: Label) -> str:
        shown = repr(label.item() if isinstance(label, np.generic) else label)
        if not len(self):
            none = "a graph without vertices" if self._what == "Graph" else "none of them"
            return f"{self._what}: a vertex must be one of its labels, got {shown} and {none}."
        extent = f"one of the {len(self)} labels {self[0]!r} … {self[-1]!r}" if len(self) > 1 else repr(self[0])
        alike = self.find_text(str(label)) if isinstance(label, (str, int, np.integer)) else None
        hint = did_you_mean(label, (name for name in self._names if isinstance(name, str)))
        if alike is not None and alike >= 0:  # 1 for "1"
            hint = f" Did you mean {self[alike]!r}?"
        if hasattr(label, "to_list"):  # a column of a table
            shown, hint = came(label), " Pass column.to_list()."
        return f"{self._what}: a vertex must be {extent}, got {shown}.{hint}"

    @cached_property
    def _position(self) -> dict[Label, int]:
        return {name: index for index, name in enumerate(self._names)}

    @cached_property
    def _texts(self) -> dict[str, int]:
        """Positions by text; −1 for a text of two labels."""
        found: dict[str, int] = {}
        for index, name in enumerate(self._names):
            found[str(name)] = -1 if str(name) in found else index
        return found

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Sorted integer labels and their positions; None for other labels."""
        if not self._names:
            return None
        if not all(type(name) is int for name in self._names):
            return None
        values = np.asarray(self._names)
        if values.dtype.kind != "i":  # some are beyond 64 bits
            return None
        order = np.argsort(values, kind="stable")
        return values[order], order.astype(np.int64)

    def _search(self, wanted: np.ndarray) -> np.ndarray:
        exact = wanted.astype(np.int64, copy=False)  # NumPy compares uint64 with int64 as floats
        if isinstance(self._names, range):
            found = exact - self._names.start
            missing = found.view(np.uint64) >= len(self._names)  # a negative one, too
        else:
            assert self._sorted is not None
            values, order = self._sorted
            index = np.minimum(np.searchsorted(values, exact), len(values) - 1)
            found, missing = order[index], values[index] != exact
        missing |= wanted > np.iinfo(np.int64).max
        if missing.any():
            raise VertexError(self._unknown(wanted[missing].flat[0]))
        return found

    def _check_distinct(self) -> None:
        try:
            if len(self._position) == len(self):
                return
        except TypeError as error:
            raise VertexError(
                f"{self._what}: labels must be hashable (integers, strings, tuples, …), got {error}."
            ) from None
        first = next(name for index, name in enumerate(self._names) if self._position[name] != index)
        raise VertexError(f"{self._what}: labels must be distinct, got {came(first)} twice.")


def _ascending(names: np.ndarray) -> range | tuple[Label, ...] | None:
    """Strictly ascending integers, hence distinct, as names: a range if contiguous; None for others."""
    if names.dtype.kind != "i" or names.ndim != 1 or len(names) < 2 or not (names[1:] > names[:-1]).all():
        return None
    first, last = int(names[0]), int(names[-1])
    return range(first, last + 1) if last - first == len(names) - 1 else tuple(names.tolist())


def _plain(names: tuple[Label, ...]) -> tuple[Label, ...]:
    """Names with NumPy's texts and numbers as Python's, which equal them."""
    if not any(issubclass(kind, _OF_NUMPY) for kind in set(map(type, names))):
        return names
    return tuple(name.item() if isinstance(name, _OF_NUMPY) else name for name in names)


def _as_range(names: tuple[Label, ...]) -> range | tuple[Label, ...]:
    """Names as a range if they are consecutive integers."""
    if not names:
        return range(0)
    if type(names[0]) is int and type(names[-1]) is int and names[-1] - names[0] == len(names) - 1:
        row = range(names[0], names[-1] + 1)
        if all(type(name) is int and name == number for name, number in zip(names, row, strict=True)):
            return row
    return names


def between(sources: Labels, targets: Labels, u: Label, v: Label, *, where: str) -> tuple[np.ndarray, ...]:
    """Broadcast positions of u among sources and v among targets; raises VertexError and ShapeError."""
    places = sources.positions_like(u), targets.positions_like(v)
    return broadcast(f"{where}: u and v", *places, hint=" An array u[:, None] and v make a table.")


def look_up(
    labels: Labels, u: Label, v: Label, truth: Callable[[np.ndarray, np.ndarray], np.ndarray], *, where: str
) -> Any:
    """truth(i, j) at the positions of u and v, see `between`: a bool, or an array."""
    if not isinstance(u, (list, np.ndarray)) and not isinstance(v, (list, np.ndarray)):
        return bool(truth(np.array([labels.position(u)]), np.array([labels.position(v)]))[0])
    i, j = between(labels, labels, u, v, where=where)
    found = truth(i.ravel(), j.ravel()).reshape(i.shape)
    return found if found.ndim else bool(found)


def _integers(labels: list[Label] | np.ndarray) -> np.ndarray | None:
    if isinstance(labels, np.ma.MaskedArray):
        return None
    try:
        array = np.asarray(labels)
    except ValueError:  # of several lengths
        return None
    return array if array.dtype.kind in "iu" and (array is labels or array.ndim == 1) else None


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """np.unique with inverse, by counting if the range is small."""
    least, span = int(values.min()), int(values.max()) - int(values.min()) + 1
    if span > 4 * len(values):
        found, index = np.unique(values, return_inverse=True)
        return found, index.reshape(-1).astype(np.int64, copy=False)
    shifted, there = values - least, np.zeros(span, np.bool_)
    there[shifted] = True
    return np.flatnonzero(there) + least, (np.cumsum(there) - 1)[shifted]


def grouped(keys: Sequence[np.ndarray] | np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows that are equal in all keys: one of each group, and the group of each row; None where hashes collide."""
    hashes = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        hashes = (hashes ^ key.astype(np.uint64)) * HASH
        hashes ^= hashes >> np.uint64(29)
    order = np.argsort(hashes)
    new = np.concatenate(([True], np.diff(hashes[order]) != 0))
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(new) - 1
    first = order[new]
    return None if any((key != key[first][group]).any() for key in keys) else (first, group)


def _texts(tails: Iterable[Label], heads: Iterable[Label]) -> np.ndarray | None:
    """Many short texts as an array; None for other labels, few names, and texts with a NUL, which arrays drop."""
    every = [*tails, *heads]
    some = every[:: 1 + len(every) // MANY]
    if len(every) < MANY or set(map(type, every)) != {str} or 2 * len({*some}) < len(some):
        return None
    return None if max(map(len, every)) > SHORT or "\0" in "".join(every) else np.array(every)


def _numbered(texts: np.ndarray) -> tuple[list[Label], np.ndarray] | None:
    """Distinct texts in order, and the number of each text among them; None where hashes collide."""
    groups = grouped(texts.view(np.uint32).reshape(len(texts), -1).T)
    if groups is None:
        return None
    names, ends = texts[groups[0]], groups[1]
    order = np.argsort(names)
    position = np.empty(len(names), np.int64)
    position[order] = np.arange(len(names))
    return names[order].tolist(), position[ends]


def number_pairs(pairs: Iterable[tuple[Label, Label]]) -> tuple[Labels, np.ndarray, np.ndarray]:
    """Labels, rows and cols of labelled edges; sorted if labels compare, else in order of appearance."""
    edges = list(pairs)
    return number_ends([u for u, _ in edges], [v for _, v in edges])


def refuse_nameless(names: Iterable[Label]) -> None:
    """VertexError for None, NaN and infinities, which say that a name is missing."""
    for name in names:
        if name is None or (isinstance(name, float) and not math.isfinite(name)):
            raise VertexError(f"Graph: a vertex must be a name or a finite number, got {name}. Leave its edges out.")


def number_ends(
    tails: Sequence[Label] | np.ndarray, heads: Sequence[Label] | np.ndarray
) -> tuple[Labels, np.ndarray, np.ndarray]:
    if all(isinstance(side, np.ndarray) and side.dtype.kind == "i" for side in (tails, heads)) and len(tails):
        values, ends = _distinct(np.concatenate((tails, heads)).astype(np.int64, copy=False))
        rows, cols = np.split(ends, [len(tails)])
        return Labels(values), rows, cols
    if (texts := _texts(tails, heads)) is not None and (numbered := _numbered(texts)) is not None:
        rows, cols = np.split(numbered[1], [len(tails)])
        return Labels(numbered[0]), rows, cols
    met: defaultdict[Label, int] = defaultdict(count().__next__)
    try:
        ends = np.fromiter(map(met.__getitem__, chain(tails, heads)), np.int64, len(tails) + len(heads))
    except TypeError as error:
        raise VertexError(f"Graph: labels must be hashable (integers, strings, tuples, …), got {error}.") from None
    names = list(met)
    refuse_nameless(names)
    try:
        names.sort()
    except TypeError:
        names = list(dict.fromkeys(chain.from_iterable(zip(tails, heads, strict=True))))
    position = np.empty(len(names), dtype=np.int64)
    position[np.fromiter(map(met.__getitem__, names), np.int64, len(names))] = np.arange(len(names))
    rows, cols = np.split(position[ends], [len(tails)])
    return Labels(names), rows, cols
