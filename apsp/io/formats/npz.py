"""NumPy's `.npz`: a matrix, an edge list, or the output of `scipy.sparse.save_npz`.

| arrays                                               | meaning                                       |
|------------------------------------------------------|-----------------------------------------------|
| `matrix` (or `distances`), shape (n, n)              | a dense matrix, inf where there is no edge    |
| `n`, `rows`, `cols`, and `weights` and `directed`, both optional | edges by position                 |
| `labels` or `labels_json`, optional with either      | the vertices' names, see `apsp.io.saving.encoding`      |
| `places`, optional with any, shape (n, 2); `planar`  | where the vertices are; whether in a plane    |
| `format`, `shape`, `data`, …                         | a SciPy sparse matrix                         |
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO

import numpy as np

from semiring.host.errors import FormatError, ShapeError
from semiring.host.types import Fields
from semiring.stores.archives import require_size

from ..graph import Graph
from ..reading.files import Source
from ..reading.from_sparse import from_entries, from_sparse
from ..saving.encoding import decode, encode, square
from . import npy
from .base import Format
from .tokens import show

_WHAT = "a complete .npz archive of arrays of numbers or text"
sniff = re.compile(rb"PK(\x03\x04|\x05\x06)").match


def read(source: Source) -> Graph:
    if not sniff(source.head(4)):
        raise source.error("must be an .npz archive, and does not begin as one.")
    with source.open() as file:
        try:
            members = zipfile.ZipFile(file)
        except Exception as error:  # a damaged directory raises anything
            raise npy.refused(source, _WHAT, error) from error
        try:
            arrays = Arrays(source, members)
            graph = _graph(source, arrays)
            if "places" in arrays and arrays.size("places") != (graph.n, 2):  # before the array is made
                raise ValueError(f"must hold two coordinates a vertex, got places of shape {arrays.size('places')}.")
            graph = graph.having(places=arrays.get("places"))
            return replace(graph, planar=bool(arrays.get("planar", False)))
        except FormatError:
            raise
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise source.error(str(error)) from error


class Arrays(Mapping[str, np.ndarray]):
    """The arrays of an archive by name, each read on demand."""

    def __init__(self, source: Source, members: zipfile.ZipFile) -> None:
        self._source, self._members = source, members
        self._names = {info.filename.removesuffix(".npy"): info for info in members.infolist()}

    def __getitem__(self, name: str) -> np.ndarray:
        with self._opened(name) as member:
            return npy.array(self._source, member, self._names[name].file_size, "biufSU", _WHAT)

    def size(self, name: str) -> tuple[int, ...]:
        """The shape in an array's header, whose bytes the archive has."""
        with self._opened(name) as member:
            return npy.promised(self._source, member, self._names[name].file_size, "biufSU", _WHAT)[1]

    def _opened(self, name: str) -> IO[bytes]:
        info = self._names[name]
        try:
            if self._members.fp is not None:
                require_size(self._members.fp, info)
            return self._members.open(info)
        except Exception as error:
            raise npy.refused(self._source, _WHAT, error) from error

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _require_one_size(arrays: Arrays) -> None:
    """ValueError for unequal sizes in headers, before allocating: endless zeros compress to almost nothing."""
    for names in (("rows", "cols", "weights"), ("row", "col", "data"), ("indices", "data")):
        lengths = {name: arrays.size(name)[:1] for name in names if name in arrays}
        if len(set(lengths.values())) > 1:
            sizes = ", ".join(f"{name} of shape {arrays.size(name)}" for name in lengths)
            raise ValueError(f"an edge must have one entry in each of {', '.join(lengths)}, got {sizes}.")
    if "labels" in arrays and not {"sources", "targets", "labels_json"} & arrays.keys():
        table = next((arrays.size(key) for key in ("matrix", "distances") if key in arrays), None)
        n = _integers(arrays["n"], "n", ()).item() if "n" in arrays else table[0] if table else None
        if n is not None and arrays.size("labels") != (n,):
            raise ValueError(f"must hold one label a vertex, got labels of shape {arrays.size('labels')} for n = {n}.")


def _graph(source: Source, arrays: Arrays) -> Graph:
    _require_one_size(arrays)
    names = decode(arrays)
    if {"n", "rows", "cols"} <= arrays.keys():
        directed = arrays.get("directed", np.array(True))
        if directed.dtype.kind != "b" or directed.ndim:
            raise ValueError(f"`directed` must be True or False, got {directed.dtype} of shape {directed.shape}.")
        weights = arrays.get("weights")
        n = _integers(arrays["n"], "n", ()).item()
        return Graph.from_arrays(arrays["rows"], arrays["cols"], weights, n=n, labels=names, directed=bool(directed))
    if {"format", "shape", "data"} <= arrays.keys():
        return _from_scipy(arrays)
    dense = next((arrays[key] for key in ("matrix", "distances") if key in arrays), None)
    if dense is None:
        present = show(", ".join(sorted(arrays))) if arrays else "nothing"
        raise source.error(f"must hold `matrix`, or `n`, `rows` and `cols`, or a SciPy sparse matrix, got {present}.")
    graph, names = npy.matrix(source, dense), square(arrays, names)
    if names is not None and len(names) != graph.n:
        raise source.error(f"must hold one label a vertex, got {len(names)} labels for n = {graph.n}.")
    return graph if names is None else replace(graph, labels=names)


def _from_scipy(arrays: Arrays) -> Graph:
    """The graph of `scipy.sparse.save_npz`, with indices checked: SciPy's compiled loops trust them."""
    name = arrays["format"].item()
    format = name.decode("latin-1") if isinstance(name, bytes) else name
    shape = tuple(_integers(arrays["shape"], "shape", (2,)).tolist())
    if format == "coo":
        if shape[0] != shape[1]:
            raise ShapeError(f"a sparse matrix must be square, (n, n), got shape {shape}.")
        rows, cols = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        return from_entries(rows, cols, arrays["data"], shape[0])
    import scipy.sparse

    if format in ("csr", "csc", "bsr"):
        indices, indptr = (_integers(arrays[name], name, (-1,)) for name in ("indices", "indptr"))
        # from_sparse checks the indices
        return from_sparse(getattr(scipy.sparse, f"{format}_array")((arrays["data"], indices, indptr), shape=shape))
    if format == "dia":
        offsets = _integers(arrays["offsets"], "offsets", (-1,))
        if len(offsets) and not -shape[0] < offsets.min() <= offsets.max() < shape[1]:
            raise ValueError(f"offsets of diagonals must lie within shape {shape}, got {offsets.tolist()}.")
        return from_sparse(scipy.sparse.dia_array((arrays["data"], offsets), shape=shape))
    raise ValueError(f"a sparse matrix must be csr, csc, bsr, dia or coo, got {show(str(format))}.")


def _integers(array: np.ndarray, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of int64 integers in this shape (−1: any length), or ValueError."""
    fits = array.ndim == len(shape) and all(want in (-1, got) for want, got in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in "iu" or not fits or (array.size and array.max() > np.iinfo(np.int64).max):
        extent = {(): "one integer", (2,): "two integers"}.get(shape, "a row of integers")
        raise ValueError(f"`{name}` must be {extent} of 64 bits, got {array.dtype} of shape {array.shape}.")
    return array.astype(np.int64)


def write(graph: Graph, file: IO[bytes]) -> None:
    """Write matrix or edges, labels unless positions, and directedness."""
    arrays: Fields = {}
    if not graph.labels.numbered:
        arrays |= encode(graph.labels, "npz")
    if graph.rows is None or graph.cols is None:
        arrays["matrix"] = npy.dense(graph)
    else:
        arrays |= {"n": np.int64(graph.n), "rows": graph.rows, "cols": graph.cols, "directed": np.bool_(graph.directed)}
        if graph.weights is not None:
            arrays["weights"] = graph.weights
    if graph.places is not None:
        arrays |= {"places": graph.places, "planar": np.bool_(graph.planar)}
    # A zip archive needs seeking, which gzip streams lack.
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)
    file.write(archive.getbuffer())


FORMAT = Format(
    "npz", (".npz",), "NumPy archive: a matrix or edges, with labels; or SciPy sparse", sniff, read, write, rank=0
)
