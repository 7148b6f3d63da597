"""Archives: .npy, .npz and saved results, with bits flipped or arrays exchanged for crafted ones.

Whatever is read must answer; whatever cannot must be refused by our own errors, in bounds of time and memory. Cases run
in a process of their own, so that one which kills it is a finding.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from apsp import Reachability, Result, closure, shortest_paths, transitive_closure, write
from apsp.io.formats import read
from apsp.io.graph import Graph
from semiring import BitMatrix
from semiring.host.errors import NoPathError, SemiringError

from . import inputs
from .draw import Draw
from .limits import MIB, within

#: Values that a crafted array may hold.
VALUES = (0, 1, -1, 2, 7, 63, 64, 65, 10**6, 10**9, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))
DTYPES = ("int64", "int32", "uint64", "float64", "bool", "uint8", "int16", ">i8", "<U3", "S2", "complex128", "M8[s]")


def prepare() -> None:
    """Compile and import what every case needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.npz"
        for made in MADE.values():
            made(Draw(), path)
        transitive_closure(np.eye(3, dtype=bool)).save(path)
        _use_reachability(path)
    for dtype in ("int32", "int64", "float64"):
        closure(np.ones((2, 2), dtype))


def case(draw: Draw) -> None:
    """One archive: made, changed, read, used."""
    kind = draw.pick(tuple(MADE))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{'npy' if kind == 'matrix' and draw.chance(50) else 'npz'}"
        draw.note(kind=kind, name=path.name)
        MADE[kind](draw, path)
        change = draw.pick(("none", "craft", "bytes"))
        if change == "bytes":
            path.write_bytes(flipped(draw, path.read_bytes()))
        elif change == "craft":
            craft(draw, path)
        size = path.stat().st_size
        try:
            with within(seconds=30, memory=96 * MIB + 64 * size):
                USED.get(kind, _use_graph)(path)
        except SemiringError as refusal:
            draw.note(refusal=str(refusal))
            assert change != "none", f"what was saved is refused: {refusal}"


def _edges(draw: Draw, path: Path) -> None:
    write(inputs.listed(draw, kinds=("row", "integers", "plain"), of=("small", None, "fractions")).graph(), path)


def _matrix(draw: Draw, path: Path) -> None:
    n, rng = draw.between(0, 9), draw.rng()
    A = rng.integers(0, 9, (n, n)).astype(draw.pick(("float64", "int32", "int64", "bool", "float32", "uint8")))
    write(Graph.from_matrix(A), path, format=path.suffix[1:])


def _sparse(draw: Draw, path: Path) -> None:
    n, rng = draw.between(1, 8) * 2, draw.rng()
    A = sp.random_array((n, n), density=0.3, rng=rng)
    format = draw.pick(("csr", "csc", "coo", "bsr", "dia"))
    if format == "bsr":  # of full blocks: zeros that fill one would be refused
        A = sp.kron(A, np.ones((2, 2)), format="bsr")
    sp.save_npz(path, A.asformat(format), compressed=draw.chance(50))


def _result(draw: Draw, path: Path) -> None:
    graph = inputs.listed(draw, kinds=("row", "integers", "plain"), of=("small", "fractions")).graph()
    shortest_paths(graph).save(path)


def _reachability(draw: Draw, path: Path) -> None:
    graph = inputs.listed(draw, most=80, kinds=("row", "integers", "plain"), of=(None,)).graph()
    transitive_closure(graph, reflexive=draw.chance(30), schedule=draw.pick(("auto", "recursive"))).save(path)


def _bits(draw: Draw, path: Path) -> None:
    m, n, rng = draw.between(0, 130), draw.between(0, 130), draw.rng()
    BitMatrix.from_bool(rng.random((m, n)) < 0.3).save(path)


def _use_graph(path: Path) -> None:
    """Everything that looks at each edge."""
    graph = read(path)
    if graph.n > 2000:
        return
    if graph.dense is not None and graph.dense.dtype.kind == "b":
        closure(graph, "boolean")
        return
    closure(graph.having(nulls=()) if graph.null_undeclared else graph, "min_max")
    if graph.rows is not None:
        graph.matrix("max_min", "float64")
        transitive_closure(graph).counts()


def _use_result(path: Path) -> None:
    """A graph's distances, as a graph and as a Result that answers."""
    _use_graph(path)
    r = Result.load(path)
    names = list(r.labels)[:3]
    r.text()
    for u in names:
        r.distance(u, names[-1])
        with suppress(NoPathError):
            r.path(u, names[-1])


def _use_reachability(path: Path) -> None:
    """Every question that a Reachability answers."""
    t = Reachability.load(path)
    names = list(t.labels)
    t.counts(), t.components(), t.reduction(), t.to_bool(), t.to_edges()
    for name in names[:3]:
        t.descendants(name), t.ancestors(name), t.reaches(name, names[-1])
    t.reaches(names, names)


def _use_bits(path: Path) -> None:
    """Both axes, a product and a bit of everything."""
    B = BitMatrix.load(path)
    if max(B.shape) <= 2000:
        assert int(B.counts()) == int(B.to_bool().sum()) == len(B.to_edges()[0])
        assert (B @ B.T).shape == (len(B), len(B))


MADE: dict[str, Callable[[Draw, Path], None]] = {
    "edges": _edges,
    "matrix": _matrix,
    "sparse": _sparse,
    "result": _result,
    "reachability": _reachability,
    "bits": _bits,
}
USED: dict[str, Callable[[Path], None]] = {"result": _use_result, "reachability": _use_reachability, "bits": _use_bits}


def flipped(draw: Draw, data: bytes) -> bytes:
    """Some bits turned, the end cut off, or a stretch repeated."""
    kind = draw.pick(("bits", "truncate", "repeat"))
    at = draw.below(len(data) + 1)
    draw.note(change=f"{kind} at {at} of {len(data)}")
    if kind == "truncate":
        return data[:at]
    if kind == "repeat":
        return data[:at] + data[max(0, at - draw.between(1, 200)) :]
    turned = bytearray(data)
    for _ in range(draw.between(1, 6)):
        turned[draw.below(len(data))] ^= 1 << draw.below(8)
    return bytes(turned)


def craft(draw: Draw, path: Path) -> bool:
    """Arrays exchanged for others in a sound archive, or in a lone .npy; whether they hold the same numbers."""
    if path.suffix == ".npy":
        array, how = crafted(draw, np.load(path, allow_pickle=False))
        draw.note(how=how)
        path.write_bytes(npy_of(array, how, lie=draw))
        return how == "order"
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    parts = {name: npy_of(array) for name, array in arrays.items()}
    same = True
    for _ in range(draw.between(1, 3)):
        name = draw.pick(sorted(arrays))
        array, what = crafted(draw, arrays[name])
        draw.note(**{f"{name} ({what})": array})
        parts[name] = npy_of(array, what, lie=draw)
        same &= what == "order"
        if draw.chance(5):
            del parts[name]
            same = False
        if not parts:
            break
        arrays = {key: arrays[key] for key in parts}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if draw.chance(50) else zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(f"{name}.npy", data)
    return same


def crafted(draw: Draw, array: np.ndarray) -> tuple[np.ndarray, str]:
    """Another array in place of this one, and what was done."""
    how = draw.pick(("value", "longer", "shorter", "dtype", "axis", "scalar", "zeros", "order", "value", "value"))
    if how == "value" and array.size and array.dtype.kind in "iufb":
        array = array.copy()
        with np.errstate(all="ignore"):
            for _ in range(draw.between(1, 3)):
                array.flat[draw.below(array.size)] = np.array(draw.pick(VALUES)).astype(array.dtype)
    elif how == "longer":
        array = np.concatenate([array.ravel()] * 2)[: array.size + draw.between(1, 9)]
    elif how == "shorter":
        array = array.ravel()[: draw.below(max(array.size, 1))]
    elif how == "dtype":
        with np.errstate(all="ignore"):
            try:
                array = array.astype(draw.pick(DTYPES))
            except (ValueError, TypeError):
                how = "nothing"
    elif how == "axis":
        array = array[None]
    elif how == "order":
        array = reordered(array)
    elif how == "scalar":
        array = np.array(draw.pick(VALUES))
    else:
        array = np.zeros(draw.pick(((1 << 20,), (0,), (3, 3), (0, 5), ())), draw.pick(DTYPES[:7]))
    return array, how


def reordered(array: np.ndarray) -> np.ndarray:
    """The same numbers in the other order of bytes, and column by column."""
    return np.asarray(array.astype(array.dtype.newbyteorder("S")), order="F")


def npy_of(array: np.ndarray, what: str = "", lie: Draw | None = None) -> bytes:
    """An array as `.npy`; at times with a header that promises another shape or dtype."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    data = file.getvalue()
    if lie is None or what == "order" or not lie.chance(15):
        return data
    header: dict[str, Any] = {"descr": array.dtype.str, "fortran_order": lie.chance(50), "shape": array.shape}
    if lie.chance(70):
        header["shape"] = lie.pick(((10**9,), (10**5, 10**5), (-1, -1), (2**62, 4), (10**18,), (0, 10**18), (3,)))
    else:
        header["descr"] = lie.pick(("|O", "<f8", "<i8", "|b1", "<U1000000000", "|V8", "<f2"))
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(file, header)
    return file.getvalue() + data[10 + int.from_bytes(data[8:10], "little") :]
