"""NumPy's `.npz`, holding a matrix, a list of edges, or what `scipy.sparse.save_npz` writes.

| arrays                                               | meaning                                       |
|------------------------------------------------------|-----------------------------------------------|
| `matrix` (or `distances`), shape (n, n)              | a dense matrix, inf where there is no edge    |
| `n`, `rows`, `cols`, and `weights` and `directed`, both optional | edges by position                 |
| `labels`, shape (n,), optional beside either         | the vertices' names, integers or strings      |
| `format`, `shape`, `data`, …                         | a SciPy sparse matrix                         |
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import IO, Any

import numpy as np

from semiring.errors import FormatError

from ..files import Source
from ..graph import Graph, as_graph
from ..labels import Labels
from . import npy
from .base import Format


def sniff(head: bytes) -> bool:
    """A zip archive's magic."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def read(source: Source) -> Graph:
    """Whichever of the layouts above the archive holds."""
    if not sniff(source.head(4)):
        raise source.error("must be an .npz archive, and does not begin as one.")
    try:
        with source.open() as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except MemoryError:
        raise
    except Exception as error:  # damaged archives and headers raise whatever their bytes come to
        raise source.error(f"must be a complete .npz archive of arrays of numbers or text, got {error}.") from error
    try:
        return _graph(source, arrays)
    except FormatError:
        raise
    except (ValueError, TypeError, LookupError, NotImplementedError) as error:
        raise source.error(str(error)) from error


def _graph(source: Source, arrays: dict[str, np.ndarray]) -> Graph:
    names = Labels(arrays["labels"]) if "labels" in arrays else None
    if {"n", "rows", "cols"} <= arrays.keys():
        directed = bool(arrays["directed"]) if "directed" in arrays else True
        weights = arrays.get("weights")
        return Graph.from_arrays(
            arrays["rows"], arrays["cols"], weights, n=int(arrays["n"]), labels=names, directed=directed
        )
    if {"format", "shape", "data"} <= arrays.keys():
        from scipy.sparse import load_npz

        with source.open() as file:
            return as_graph(load_npz(file))
    dense = next((arrays[key] for key in ("matrix", "distances") if key in arrays), None)
    if dense is None:
        held = ", ".join(sorted(arrays)) or "nothing"
        raise source.error(f"must hold `matrix`, or `n`, `rows` and `cols`, or a SciPy sparse matrix, got {held}.")
    graph = npy.matrix(source, dense)
    if names is not None and len(names) != graph.n:
        raise source.error(f"must hold one label a vertex, got {len(names)} labels for n = {graph.n}.")
    return graph if names is None else replace(graph, labels=names)


def write(graph: Graph, file: IO[bytes]) -> None:
    """All there is: matrix or edges, labels where they say more than a position, directedness."""
    arrays: dict[str, Any] = {}
    if graph.labels != range(graph.n):
        arrays["labels"] = _names(graph.labels)
    if graph.rows is None or graph.cols is None:
        arrays["matrix"] = npy.dense(graph)
    else:
        arrays |= {"n": np.int64(graph.n), "rows": graph.rows, "cols": graph.cols, "directed": np.bool_(graph.directed)}
        if graph.weights is not None:
            arrays["weights"] = graph.weights
    # A zip archive is written back and forth, which a gzip stream does not allow.
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)
    file.write(archive.getbuffer())


def _names(labels: Labels) -> np.ndarray:
    names = list(labels)
    for kind in (int, str):
        if all(type(name) is kind for name in names):
            return np.array(names)
    raise FormatError("npz", None, f"write: labels must all be integers or all strings, got {labels!r}.")


FORMAT = Format("npz", (".npz",), "NumPy archive: a matrix or edges, with labels; or SciPy sparse", sniff, read, write)
