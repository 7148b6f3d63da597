"""Answers on disk, in the formats of `RESULTS`, and back; what could not be written is refused before the work."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import catalog
from semiring.algebra import Semiring
from semiring.archives import load_arrays
from semiring.errors import AlgebraError, FormatError
from semiring.files import check_writable, writing
from semiring.memory import shown
from semiring.observed import Callback
from semiring.tiles.store import check_place

from ..display import output
from ..engines import Dense, Engine
from ..engines.base import host
from ..engines.stored import Stored
from ..estimates import Estimate
from ..graph import Graph
from ..labels import Labels
from ..log import Watch
from ..plans import Plan
from .encoding import decode, encode
from .stores import load_tiles, load_zarr, save_tiles, save_zarr, suffix_of

if TYPE_CHECKING:
    from ..result import Result

#: What distances and reachability are written as.
SUFFIXES = (".npy", ".npz", ".csv")
#: What a Result is written as.
RESULTS = (*SUFFIXES, ".zarr", ".tiles")
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
    suffix, path = suffix_of(path), Path(path)
    if suffix not in suffixes:
        raise ValueError(f"save: the suffix must be one of {', '.join(suffixes)}, got {path.name!r}.")
    if suffix == ".tiles":
        check_place(path)
        return
    check_writable(path.with_name(f".{path.name}") if path.suffix == ".zarr" and path.is_dir() else path)


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


def save_matrix(matrix: Any, labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write a matrix with its labels: `.npy`, `.npz` (see `encode`) or `.csv`.

    Raises
    ------
    ValueError, FormatError, OSError
        As `check_output` and `check_labels` do.
    """
    there = host(matrix)
    _save(Table(there.shape, there.dtype, lambda: iter((there,)), labels, labels), path, {})


@dataclass(frozen=True)
class Table:
    """A table to be written, some rows at a time.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
    blocks : callable
        Makes an iterator over blocks of complete rows, on the host.
    rows, columns : sequences of labels
    semiring : Semiring, optional
        Over which numbers stand for an infinity, which a `.csv` says.
    callback : callable, optional
        `callback(done, total)` in entries.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Callable[[], Iterator[np.ndarray]]
    rows: Sequence[Any]
    columns: Sequence[Any]
    semiring: Semiring | None = None
    callback: Callback | None = None

    @property
    def nbytes(self) -> int:
        """What its entries take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def streamed(self, block: int | None = None) -> Iterator[np.ndarray]:
        """Its blocks; the callback is told of each, or after a while whoever waits how long it will take."""
        done = 0
        watch = Watch(f"save: {shown(self.nbytes)}", self.shape[0] * self.shape[1], self.callback, stacklevel=6)
        for part in self.blocks():
            yield part
            done += part.size
            watch(done)


def save_result(r: Result, path: str | os.PathLike[str], callback: Callback | None = None) -> None:
    """Write distances, streamed from their engine; in an `.npz` with all that answers queries."""
    engine = r.engine

    def blocks() -> Iterator[np.ndarray]:
        return (host(D) for _, D in engine.rows(np.arange(engine.shape[0])))

    table = Table(engine.shape, r.dtype, blocks, r.sources, r.targets, r.semiring, callback)
    _save(table, path, archive_of(r, path) if suffix_of(path) in (".npz", ".zarr", ".tiles") else {})


def archive_of(r: Result, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a result has beside its distances, as arrays by name."""
    more: dict[str, Any] = {
        "semiring": np.array(r.semiring.name),
        "plan": plan_to_array(r.plan),
        "seconds": np.array(r.seconds),
    }
    g = r.graph
    more |= encode(g.labels, path)
    parts = {"matrix": g.dense, "rows": g.rows, "cols": g.cols, "weights": g.weights}
    more |= {f"graph_{name}": host(part) for name, part in parts.items() if part is not None}
    more |= {"graph_directed": np.array(g.directed), "graph_name": np.array(g.name)}
    for name, labels in (("sources", r.sources), ("targets", r.targets)):
        if labels is not g.labels:
            more[name] = g.labels.positions(list(labels))
    return more


def _save(table: Table, path: str | os.PathLike[str], more: Mapping[str, Any]) -> None:
    """Write a table by the suffix of its file; the file appears whole or not at all."""
    check_output(path, RESULTS)
    suffix = suffix_of(path)
    if suffix in (".npy", ".npz"):
        _require_room(table.nbytes, path)
    if suffix == ".npy":
        with writing(path) as file:
            _write_npy(file, table)
    elif suffix == ".npz":
        named = more or encode(table.rows, path)
        with writing(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
            with archive.open("distances.npy", "w", force_zip64=True) as member:
                _write_npy(member, table)
            for name, array in named.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    elif suffix == ".zarr":
        save_zarr(table, path, more)
    elif suffix == ".tiles":
        save_tiles(table, path, more)
    else:
        rows, columns = _texts(table.rows, path), _texts(table.columns, path)
        s, names = table.semiring, iter(rows)
        with _table(path) as out:
            out.writerow(["", *columns])
            for part in table.streamed():
                for entries in part:
                    out.writerow([next(names), *(entries.tolist() if s is None else output.row(entries, s))])


def _write_npy(file: Any, table: Table) -> None:
    """The table as `np.save` writes it, block by block."""
    header = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": tuple(table.shape)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in table.streamed():
        for row in part:
            file.write(np.ascontiguousarray(row).data)


def _require_room(size: int, path: str | os.PathLike[str]) -> None:
    """Refuse before the work what does not fit on the disk.

    Raises
    ------
    OSError
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # a pipe, a device
        return
    try:
        free = shutil.disk_usage(place.parent).free
    except OSError:
        return
    if size > free:
        raise OSError(errno.ENOSPC, f"{shown(size)} must fit on its disk, and {shown(free)} are free", os.fspath(path))


def load_result(path: str | os.PathLike[str], semiring: str | Semiring | None = None) -> dict[str, Any]:
    """The attributes of the Result that `save_result` wrote to an `.npz`, a store of tiles or a Zarr group.

    Raises
    ------
    FormatError, AlgebraError, OSError
        As `Result.load` does.
    """
    suffix = suffix_of(path)
    if suffix in (".tiles", ".zarr"):
        distances, parts = load_tiles(path) if suffix == ".tiles" else load_zarr(path)
        engine: Engine = Stored(distances)
    else:
        parts = load_arrays(path, "a Result")
        distances = parts.get("distances", np.empty(0))
        engine = Dense(distances)
    try:
        s = _semiring_of(str(parts["semiring"]), semiring, path)
        labels = decode(parts)
        if labels is None:
            raise KeyError("labels")
        sides = {name: labels for name in ("sources", "targets")}
        for name in sides.keys() & parts.keys():
            sides[name] = Labels([labels[k] for k in parts[name].tolist()])
        if engine.shape != tuple(map(len, sides.values())) or engine.dtype.name not in s.dtypes:
            raise ValueError(f"{engine.dtype} distances of shape {engine.shape} for {len(labels)} labels")
        return {
            **sides,
            "engine": engine,
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
    return np.array(json.dumps(asdict(plan), default=np.generic.item))


def plan_from_array(saved: np.ndarray) -> Plan:
    """A plan from its JSON, or from the list of attributes that was saved at first; what is missing is left blank."""
    values = json.loads(saved.item()) if saved.ndim == 0 else dict(zip(_FIRST_PLAN, saved.tolist(), strict=True))
    considered = tuple(Estimate(**estimate) for estimate in values.pop("considered", ()))
    kinds = {f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(Plan)}
    return Plan(**{name: kind(values[name]) for name, kind in kinds.items() if name in values}, considered=considered)


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
