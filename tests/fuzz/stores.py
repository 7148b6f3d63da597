"""Stores of results and checkpoints: hub labels, tiles, packed bits, Zarr, damaged, or with crafted parts.

What is read answers, or is refused by our own errors, in bounds of time and memory: a read beyond an array ends the
process, which is a finding. Where nothing but bytes' order and layout changed, or a checksum covers what did, an answer
is that of what was written. Checksums of crafted parts fit: these are files that somebody wrote on purpose.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from apsp import Reachability, Result, closure, shortest_paths, transitive_closure
from apsp.io.graph import Graph
from semiring.host.errors import NoPathError, SemiringError
from semiring.stores.tiles import file, folder

from .archives import VALUES, craft, flipped, reordered
from .draw import Draw
from .limits import MIB, within

#: Rows and columns of a tile.
TILE = 4
#: What a description in JSON may hold in place of something else.
JUNK = (*VALUES, "", "x", "int16", "float64", "<i4", "max_min", "log_plus", None, True, 0.5, [], {}, [[]], "A" * 99)


@dataclass(frozen=True)
class Kind:
    """A store: `make(draw, path)` writes one and returns what `answers(path)` must give."""

    make: Callable[[Draw, Path], Any]
    answers: Callable[[Path, Any], Any]
    #: Parts of its files' names that no checksum covers, as they are mapped.
    bare: str = "/"


def prepare() -> None:
    """Compile and import what every case needs."""
    for kind in KINDS:
        for choice in range(3):
            with tempfile.TemporaryDirectory() as place, _small():
                path = Path(place) / f"x.{kind}"
                told = KINDS[kind].make(Draw(script=[choice] * 9), path)
                assert _same(KINDS[kind].answers(path, told), told)


def case(draw: Draw) -> None:
    """One store: made, changed, read, used."""
    name = draw.pick(("hubs", *KINDS, "hubs"))
    kind = KINDS[name]
    with tempfile.TemporaryDirectory() as place, _small():
        path = Path(place) / f"x.{name}"
        told = kind.make(draw, path)
        parts = sorted(part for part in (path, *path.rglob("*")) if part.is_file())
        sound, size = True, sum(part.stat().st_size for part in parts)
        if draw.chance(10):
            suffix = draw.pick((".npy", ".npz"))
            for part in parts:
                _reorder(part, suffix)
        for _ in range(draw.between(0, 2)):
            part = draw.pick([part for part in parts if part.exists()] or parts)
            if not part.exists():
                break
            draw.note(kind=name, part=part.name)
            if draw.chance(40):
                part.write_bytes(flipped(draw, part.read_bytes()))
                sound &= part.suffix != kind.bare
            else:
                sound &= _craft(draw, part)
        try:
            with within(seconds=30, memory=96 * MIB + 64 * size):
                found = kind.answers(path, told)
        except SemiringError as refusal:
            draw.note(refusal=str(refusal))
        except OSError:  # "no such file", "is a directory"
            assert not all(part.exists() for part in parts)
        else:
            assert not sound or _same(found, told), f"{found!r} is read of {told!r}"


def _small() -> Any:
    return patch.multiple("apsp.io.saving.tiles", TILE=TILE)


def _same(found: Any, told: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(found, told, strict=True))


def _graph(draw: Draw) -> Graph:
    n, rng, share = draw.pick((30, 11, 30, 2)), draw.rng(), draw.pick((0.1, 0.05, 0.4))
    A = np.where(rng.random((n, n)) < share, rng.integers(1, 9, (n, n)), np.inf)
    names = draw.pick((None, [f"v{k}" for k in range(n)], [("t", k) for k in range(n)]))
    i, j = np.nonzero(np.isfinite(A))
    return Graph.from_arrays(i, j, A[i, j].astype(draw.pick(("int64", "float64"))), n=n, labels=names)


def _result(**options: Any) -> Callable[[Draw, Path], Any]:
    def make(draw: Draw, path: Path) -> Any:
        shortest_paths(_graph(draw), **options).save(path)
        return _distances(path)

    return make


def _distances(path: Path, told: Any = None) -> Any:
    """A table, pairs, and a path of what was loaded."""
    r = Result.load(path)
    D = r.table() if r.graph.n <= 2000 else r.table(range(3), range(3))
    every, names = np.arange(min(r.graph.n, 40)), [*r.labels]
    i, j = np.repeat(every, len(every)), np.tile(every, len(every))
    for k in every[:3].tolist():
        r.distance(names[k], names[0])
        with suppress(NoPathError):
            walk = r.path(names[k], names[0])
            assert (walk[0], walk[-1]) == (names[k], names[0])
    return D, r.engine.entries(i, j), [str(name) for name in names]


def _bits(draw: Draw, path: Path) -> Any:
    transitive_closure(_graph(draw)).save(f"{path}/")
    return _reached(path)


def _reached(path: Path, told: Any = None) -> Any:
    t = Reachability.load(path)
    names = [*t.labels][:4]
    return t.to_bool(), t.counts(), [[t.reaches(u, v) for v in names] for u in names]


def _begun(draw: Draw, path: Path) -> Any:
    """A closure that has ended in its checkpoint, or was cut short in it."""
    n, rng = draw.pick((6, 11)), draw.rng()
    A = np.where(rng.random((n, n)) < 0.4, rng.integers(1, 9, (n, n)), 2**31 - 1).astype(np.int32)
    D = closure(A.copy(), checkpoint=path)
    return D, A


def _continued(path: Path, told: Any) -> Any:
    return closure(told[1].copy(), checkpoint=path), told[1]


#: Hub labels are the ones that kernels read by address.
KINDS: dict[str, Kind] = {
    "hubs": Kind(_result(engine="elimination", hub_labels=True), _distances, ".npy"),
    "npz": Kind(_result(), _distances),
    "tiles": Kind(_result(), _distances),
    "zarr": Kind(_result(), _distances),
    "reach": Kind(_bits, _reached),
    "checkpoint": Kind(_begun, _continued),
}


def _craft(draw: Draw, part: Path) -> bool:
    """A part exchanged for another, with checksums that fit; whether what is answered must be what was."""
    if draw.chance(5):
        part.unlink()
        return True
    try:
        if part.parent.suffix == ".hubs" and draw.chance(70):
            return _tree(draw, part.with_name("result.npz"))
        if part.suffix in (".npy", ".npz"):
            return craft(draw, part)
        if part.suffix == ".json":
            return _description(draw, part)
        if part.suffix == ".tile":
            return _tile(draw, part)
        return _in_zarr(draw, part)
    except Exception:  # it was damaged before, and cannot be taken apart
        return True


def _reorder(part: Path, suffix: str) -> None:
    """All arrays of a part, if it ends so, in the other order of bytes."""
    if part.suffix == suffix == ".npy":
        np.save(part, reordered(np.load(part)))
    elif part.suffix == suffix:
        np.savez(part, **{name: reordered(array) for name, array in _arrays(part).items()})


def _arrays(part: Path) -> dict[str, np.ndarray]:
    with np.load(part) as archive:
        return {name: archive[name] for name in archive.files}


def _tree(draw: Draw, part: Path) -> bool:
    """Hub labels whose tables tell of another tree, or of none."""
    arrays = _arrays(part)
    places, base = arrays["hub_places"], arrays["hub_base"]
    for _ in range(draw.pick((1, 1, 1, 2, 3))):
        bit = 1 << draw.below(len(base).bit_length() - 1)
        number = bit * (2 * draw.below(2) + 1)
        if draw.chance(60):
            base[draw.below(len(base)) :] = draw.pick((-(2**40), -1, -(2**63), 2**40))
        else:
            places[draw.below(len(places)), 1:3] = number, draw.pick((-bit, bit, number, -number, 2 * number | bit))
    np.savez(part, **arrays)
    return False


def _description(draw: Draw, part: Path) -> bool:
    """A value of a description exchanged, or gone."""
    text = part.read_text(encoding="utf-8")
    tiles = part.name == "store.json"
    whole = json.loads(text.rsplit("\n", 2)[0] if tiles else text)
    inside, key = whole, draw.pick(sorted(whole))
    while isinstance(inside[key], (dict, list)) and inside[key] and draw.chance(80):
        inside = inside[key]
        key = draw.pick(sorted(inside) if isinstance(inside, dict) else range(len(inside)))
    junk = draw.pick(JUNK)
    draw.note(**{f"{key} was": inside[key], f"{key} is": junk})
    inside[key] = junk
    if draw.chance(10):
        del inside[key]
    text = json.dumps(whole, sort_keys=True, indent=1)
    part.write_text(f"{text}\n{zlib.crc32(text.encode()):08x}\n" if tiles else text, encoding="utf-8")
    return tiles


def _tile(draw: Draw, part: Path) -> bool:
    """A tile of another store, place, size or round, or with another entry."""
    layout, _ = folder.described(part.parent)
    i, j = map(int, part.stem.split("-"))
    entries = np.zeros(layout.size(i, j), layout.dtype)
    with file.Reader(part, layout, i, j) as tile:
        tile.read(*(slice(0, size) for size in entries.shape), entries)
        round = tile.round
    how = draw.pick(("round", "place", "shape", "block", "dtype", "entry"))
    draw.note(how=how)
    if how == "round":
        round = draw.pick([x for x in VALUES if x < 2**63])
    elif how == "place":
        i, j = j + 1, i
    elif how == "entry" and entries.size:
        entries.flat[0] = np.array(draw.pick(VALUES)).astype(layout.dtype)
    elif how == "dtype":
        layout = replace(layout, dtype=np.dtype(draw.pick(("int16", "float64", "uint64", "bool"))))
    elif how in ("shape", "block"):
        layout = replace(layout, **{how: (draw.pick((1, 5, 12, 2**62)), 3)})
    file.write(part, layout, i, j, entries, round, durable=False)
    return how != "entry"


def _in_zarr(draw: Draw, part: Path) -> bool:
    """The archive within a Zarr group exchanged for a crafted one."""
    import zarr

    group = zarr.open_group(str(next(up for up in part.parents if up.suffix == ".zarr")))
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place) / "x.npz"
        archive.write_bytes(group["result_npz"][:].tobytes())
        same = craft(draw, archive)
        content = np.frombuffer(archive.read_bytes(), np.uint8)
    del group["result_npz"]
    group.create_array("result_npz", data=content)
    return same
