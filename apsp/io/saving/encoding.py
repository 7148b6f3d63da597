"""Labels, and plans, in a NumPy archive, without pickle: equal values and types are restored, or refused.

| labels                                              | array                                                   |
|-----------------------------------------------------|---------------------------------------------------------|
| all int of 64 bits, all float, all bool, or all str | `labels`, shape (n,)                                    |
| anything else                                       | `labels_json`, the bytes of a JSON list in UTF-8        |

In JSON a tuple is a list, an int beyond 64 bits `{"int": "0x…"}`, and an infinity `{"float": "inf"}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from semiring.host.errors import FormatError
from semiring.host.types import Label

from ...road.estimates import Estimate
from ...road.plans import Plan
from ..labels import Labels

_INT64 = range(-(2**63), 2**63)


def encode(labels: Sequence[Label], path: object) -> dict[str, np.ndarray]:
    """The arrays that hold the labels; FormatError, naming `path`, for unsupported ones and NaN.

    Supported: str, int of any size, float, bool, None, nested tuples; NumPy scalars become Python values.

    >>> encode([("a", 1), None], "g.npz")["labels_json"].tobytes()
    b'[["a", 1], null]'
    """
    try:
        names = [_native(label, path) for label in labels]
        plain = _array(names)
        if plain is not None:
            return {"labels": plain}
        return {"labels_json": as_json([_to_json(name) for name in names])}
    except RecursionError:
        raise FormatError(path, None, "save: labels must not nest so deeply. Relabel the vertices.") from None


def as_json(names: list[Label]) -> np.ndarray:
    """The bytes of a JSON list in UTF-8."""
    return np.frombuffer(json.dumps(names, ensure_ascii=False).encode("utf-8", "surrogatepass"), np.uint8)


def decode(arrays: Mapping[str, np.ndarray]) -> Labels | None:
    """The labels in an archive, or None; ValueError if damaged.

    >>> decode(encode(["a", 1], "g.npz"))
    Labels(('a', 1))
    """
    if "labels_json" not in arrays:
        return Labels(arrays["labels"]) if "labels" in arrays else None
    try:
        found = json.loads(arrays["labels_json"].tobytes().decode("utf-8", "surrogatepass"))
        if not isinstance(found, list):
            raise ValueError("no list")
        return Labels([_from_json(name) for name in found])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"`labels_json` must be a list of labels as `save` writes it, got {error}.") from error


def square(arrays: Mapping[str, np.ndarray], labels: Labels | None) -> Labels | None:
    """The labels of a square table; ValueError if rows and columns differ, as in a partial result."""
    if labels is None or not {"sources", "targets"} & arrays.keys():
        return labels
    every = np.arange(len(labels))
    i, j = (np.asarray(arrays[side]) if side in arrays else every for side in ("sources", "targets"))
    if not np.array_equal(i, j) or not np.isin(i, every).all():
        raise ValueError(
            "a graph's distances must lead from its vertices to the same ones, in one order, got other sources than "
            "targets. Result.load reads them."
        )
    return Labels([labels[k] for k in i.tolist()])


def _native(label: Label, path: object) -> Label:
    """The label as a Python value; FormatError if it would not be restored exactly."""
    value = label.item() if isinstance(label, np.generic) else label
    kind = type(value)
    if kind is tuple:
        return tuple(_native(part, path) for part in value)
    if kind in (str, int, bool, type(None)) or (kind is float and not math.isnan(value)):
        return value
    raise FormatError(
        path,
        None,
        "save: labels must be text, integers, floats other than NaN, booleans, None, or tuples of these, got "
        f"{repr(label)[:80]} of type {type(label).__name__}. Relabel the vertices, for instance by str.",
    )


def _array(names: list[Label]) -> np.ndarray | None:
    """The labels as one exact array if of one type, else None."""
    kinds = set(map(type, names))
    if kinds <= {int}:
        with suppress(OverflowError):
            return np.array(names, dtype=np.int64)
    elif kinds == {str}:
        # NumPy strips trailing nulls, and pads every text to the longest.
        longest = max(map(len, names))
        if not any(name.endswith("\0") for name in names) and longest * len(names) <= 4 * sum(map(len, names)) + 4096:
            return np.array(names)
    elif kinds in ({float}, {bool}):
        return np.array(names)
    return None


def _to_json(name: Label) -> Any:
    if isinstance(name, tuple):
        return [_to_json(part) for part in name]
    if type(name) is int and name not in _INT64:
        return {"int": hex(name)}
    if isinstance(name, float) and math.isinf(name):
        return {"float": str(name)}
    return name


def _from_json(name: Any) -> Label:
    if isinstance(name, list):
        return tuple(_from_json(part) for part in name)
    if isinstance(name, dict):
        ((kind, text),) = name.items()
        return int(text, 16) if kind == "int" else {"inf": math.inf, "-inf": -math.inf}[text]
    return name


#: Attributes of a plan in the first file version, which has no names.
_FIRST_PLAN = (
    *("n", "semiring", "dtype", "device", "schedule", "block", "variant"),
    *("matrix_bytes", "workspace_bytes", "seconds", "reason"),
)


def plan_to_array(plan: Plan) -> np.ndarray:
    """A plan for an archive: its attributes as JSON."""
    return np.array(json.dumps(asdict(plan), default=np.generic.item))


def plan_from_array(saved: np.ndarray) -> Plan:
    """A plan from JSON, or from the unnamed list of the first version; missing attributes are defaults."""
    values = json.loads(saved.item()) if saved.ndim == 0 else dict(zip(_FIRST_PLAN, saved.tolist(), strict=True))
    considered = tuple(Estimate(**estimate) for estimate in values.pop("considered", ()))
    kinds = {f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(Plan)}
    return Plan(**{name: kind(values[name]) for name, kind in kinds.items() if name in values}, considered=considered)
