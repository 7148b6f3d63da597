"""Answers on disk, as `.npy`, `.npz` or `.csv`, and back; what could not be written is refused before the work."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import catalog
from semiring.algebra import Semiring
from semiring.archives import load_arrays
from semiring.errors import AlgebraError, FormatError
from semiring.files import check_writable, writing

from . import outward
from .encoding import decode, encode
from .engines import Dense
from .graph import Graph
from .labels import Labels
from .plans import Plan

if TYPE_CHECKING:
    from .result import Result

#: What distances and reachability are written as.
SUFFIXES = (".npy", ".npz", ".csv")
#: The attributes of a plan in the files that hold no names for them.
_FIRST_PLAN = (
    *("n", "semiring", "dtype", "device", "schedule", "block", "variant"),
    *("matrix_bytes", "workspace_bytes", "seconds", "reason"),
)


def check_output(path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES) -> None:
    """Refuse a path that cannot be written to.

    Raises
    ------
    ValueError
        If its suffix is none of `suffixes`.
    OSError
        As `semiring.files.check_writable` does.
    """
    path = Path(path)
    if path.suffix not in suffixes:
        raise ValueError(f"save: the suffix must be one of {', '.join(suffixes)}, got {path.name!r}.")
    check_writable(path)


def check_labels(labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Refuse labels that a file of that suffix would not give back.

    Raises
    ------
    FormatError
        In `.npz`, as `encode` does; in `.csv`, if two labels are the same text.
    """
    suffix = Path(path).suffix
    if suffix == ".npz":
        encode(labels, path)
    elif suffix == ".csv":
        _texts(labels, path)


def save_matrix(
    matrix: Any,
    labels: Sequence[Any],
    path: str | os.PathLike[str],
    semiring: Semiring | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write a matrix with its labels: `.npy`, `.npz` (see `encode`; with the arrays `more`) or `.csv`.

    A `.csv` says inf where entries over `semiring` stand for it.

    Raises
    ------
    ValueError, FormatError, OSError
        As `check_output` and `check_labels` do.
    """
    check_output(path)
    host, suffix = _host(matrix), Path(path).suffix
    if suffix == ".npy":
        with writing(path) as file:
            np.save(file, host, allow_pickle=False)
    elif suffix == ".npz":
        named = encode(labels, path)
        with writing(path) as file:
            np.savez(file, distances=host, **named, **more or {})  # type: ignore[arg-type]
    else:
        names = _texts(labels, path)
        rows = (entries.tolist() if semiring is None else outward.row(entries, semiring) for entries in host)
        with _table(path) as table:
            table.writerow(["", *names])
            table.writerows([name, *row] for name, row in zip(names, rows, strict=True))


def save_result(r: Result, path: str | os.PathLike[str]) -> None:
    """Write distances, in an `.npz` with all that answers queries."""
    more: dict[str, Any] = {}
    if Path(path).suffix == ".npz":
        more = {"semiring": np.array(r.semiring.name), "plan": plan_to_array(r.plan), "seconds": np.array(r.seconds)}
        g = r.graph
        parts = {"matrix": g.dense, "rows": g.rows, "cols": g.cols, "weights": g.weights}
        more |= {f"graph_{name}": _host(part) for name, part in parts.items() if part is not None}
        more |= {"graph_directed": np.array(g.directed), "graph_name": np.array(g.name)}
    save_matrix(r.distances, r.labels, path, r.semiring, more)


def load_result(path: str | os.PathLike[str], semiring: str | Semiring | None = None) -> dict[str, Any]:
    """The attributes of the Result that `save_result` wrote to an `.npz`.

    Raises
    ------
    FormatError, AlgebraError, OSError
        As `Result.load` does.
    """
    parts = load_arrays(path, "a Result")
    try:
        s = _semiring_of(str(parts["semiring"]), semiring, path)
        labels, distances = decode(parts), parts["distances"]
        if labels is None:
            raise KeyError("labels")
        if distances.shape != (len(labels), len(labels)) or distances.dtype.name not in s.dtypes:
            raise ValueError(f"{distances.dtype} distances of shape {distances.shape} for {len(labels)} labels")
        return {
            "engine": Dense(distances),
            "graph": _graph_of(parts, labels),
            "semiring": s,
            "plan": plan_from_array(parts["plan"]),
            "seconds": float(parts["seconds"]),
        }
    except AlgebraError:
        raise
    except (LookupError, ValueError, TypeError) as error:
        raise FormatError(path, None, f"a Result that `save` wrote is required, got {error!r}.") from error


def _semiring_of(name: str, given: str | Semiring | None, path: object) -> Semiring:
    if given is None and name not in catalog.names():
        raise AlgebraError(
            f"{path}: the semiring must be in the catalog, or given, got {name!r}. Say Result.load(path, semiring=…)."
        )
    return catalog.get(name if given is None else given)


def _graph_of(parts: dict[str, np.ndarray], labels: Labels) -> Graph:
    """The graph whose parts an archive holds, checked as any other."""
    n, name = len(labels), str(parts["graph_name"])
    if "graph_matrix" in parts:
        dense = parts["graph_matrix"]
        if dense.shape != (n, n):
            raise ValueError(f"a matrix of shape {dense.shape} for {n} labels")
        return Graph(n, labels, dense=dense, name=name)
    rows, cols, weights = (parts.get(f"graph_{x}") for x in ("rows", "cols", "weights"))
    directed = bool(parts["graph_directed"])
    return Graph.from_arrays(rows, cols, weights, n=n, labels=labels, directed=directed, name=name)


def plan_to_array(plan: Plan) -> np.ndarray:
    """A plan for an archive: its attributes as JSON."""
    return np.array(json.dumps(vars(plan), default=np.generic.item))


def plan_from_array(saved: np.ndarray) -> Plan:
    """A plan from its JSON, or from the list of attributes that was saved at first; what is missing is left blank."""
    values = json.loads(saved.item()) if saved.ndim == 0 else dict(zip(_FIRST_PLAN, saved.tolist(), strict=True))
    kinds = {f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(Plan)}
    return Plan(**{name: kind(values[name]) for name, kind in kinds.items() if name in values})


def _host(array: Any) -> np.ndarray:
    host: np.ndarray = array if isinstance(array, np.ndarray) else array.get()
    return host


def save_pairs(pairs: Iterable[tuple[int, list[int]]], labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write (source, its targets), given by position, as a `.csv` of labels, a pair a line."""
    names = _texts(labels, path)
    with _table(path) as table:
        table.writerow(("source", "target"))
        for source, targets in pairs:
            table.writerows((names[source], names[target]) for target in targets)


@contextmanager
def _table(path: str | os.PathLike[str]) -> Iterator[Any]:
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        yield csv.writer(text)


def _texts(labels: Sequence[Any], path: object) -> list[str]:
    """The labels as text, which must tell them apart."""
    names = [str(label) for label in labels]
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise FormatError(path, None, f"save: labels must be UTF-8 text, got {error}. Save an .npz instead.") from None
    first: dict[str, Any] = {}
    for name, label in zip(names, labels, strict=True):
        if name in first:
            raise FormatError(
                path,
                None,
                f"save: labels must differ as text, got {first[name]!r} and {label!r}. Save an .npz instead.",
            )
        first[name] = label
    return names
