"""Results whose distances stay on disk: as a directory of tiles, or as a Zarr group, from which they are read.

Beside the distances lies an archive of what else a `Result` has, the one that an `.npz` holds without them; in a Zarr
group as the bytes of `result_npz`, where other programs need not look.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import catalog, dtypes
from semiring.algebra import Semiring
from semiring.archives import load_arrays
from semiring.errors import FormatError
from semiring.files import writing, writing_folder
from semiring.tiles import TileStore, folder
from semiring.tiles.folder import is_store

from .encoding import encode

if TYPE_CHECKING:
    from .tables import Table

#: The bytes that may come of a byte in a Zarr group, where they are more than a few.
_PACKED, _SMALL = 1000, 64 << 20
#: Rows and columns of a tile.
TILE = 1024
#: What else a result has, in a store.
ARCHIVE = "result.npz"
#: The array in it that tells which store it belongs to.
_STORE = "store"
#: What is in the directory of a Zarr group that `save` wrote.
_IN_ZARR = {"zarr.json", "distances", "result_npz", "sources", "targets", "sources_json", "targets_json"}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """By what a result is written: the suffix; ".tiles" for "tiles/" or a store; "d.zarr/" is Zarr."""
    text = os.fspath(path)
    named = Path(text).suffix
    folder = text.endswith(("/", os.sep)) and named != ".zarr"
    return ".tiles" if folder or is_store(text) else named


def save_tiles(table: Table, path: str | os.PathLike[str], more: Mapping[str, Any]) -> None:
    """Write a table as a tile store; what makes it a result comes last.

    Raises
    ------
    OSError
        If it cannot be written, or has no room on its disk.
    """
    named = more or encode(table.rows, path)
    with building(path) as place:
        store = new_store(place, table.shape, table.dtype, table.semiring, block=TILE)
        at = 0
        for part in gathered(table.streamed(), TILE):
            store.put(part, at, 0, round=table.shape[1])
            at += len(part)
        save_archive(store, named)


def building(path: str | os.PathLike[str]) -> AbstractContextManager[Path]:
    """A directory in which a store, with what makes it a result, is made; it then takes the place of one at `path`.

    Raises
    ------
    OSError
        As `semiring.tiles.folder.building` does.
    """
    return folder.building(path, ARCHIVE)


def as_store(D: np.ndarray, output: str | os.PathLike[str], semiring: Semiring) -> TileStore:
    """A result in memory, written as a store of tiles."""
    store = new_store(output, (len(D), len(D)), D.dtype, semiring, block=TILE)
    store.put(D, round=len(D))
    store.sync()
    return store


def new_store(
    path: str | os.PathLike[str], shape: tuple[int, int], dtype: np.dtype, semiring: Semiring | None, *, block: int
) -> TileStore:
    """A store without tiles for a result over a semiring, in the place of any result that was there."""
    attributes = {} if semiring is None else {"semiring": catalog.recorded_as(semiring)}
    forget_result(path)
    return TileStore.create(path, shape, dtype, block=block, attributes=attributes)


def forget_result(path: str | os.PathLike[str]) -> None:
    """What made a store a result goes: another matrix is to come there."""
    (Path(path) / ARCHIVE).unlink(missing_ok=True)


def save_archive(store: TileStore, arrays: Mapping[str, Any]) -> None:
    """What makes a store a result; it names the store that it belongs to.

    Raises
    ------
    FormatError
        If another store has been made in its place meanwhile.
    """
    identity = store.layout.identity
    if TileStore(store.path).layout.identity != identity:
        problem = "save: a store must stay where it is until it is a result, and another one has been made there. "
        raise FormatError(store.path, None, f"{problem}Write each result to a place of its own.")
    with writing(store.path / ARCHIVE) as file:
        named: dict[str, Any] = {_STORE: np.frombuffer(identity, np.uint8), **arrays}
        np.savez(file, **named)


def load_archive(store: TileStore, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays, or those of these names, that make a store a result.

    Raises
    ------
    FormatError
        If they are damaged, or belong to another store.
    """
    wanted = None if names is None else (*names, _STORE)
    found = load_arrays(store.path / ARCHIVE, "what belongs to a store of a Result", wanted)
    identity = found.pop(_STORE, None)
    if identity is not None and identity.tobytes() != store.layout.identity:
        raise FormatError(store.path, None, f"{ARCHIVE} must belong to this store, and is of another.")
    return found


def load_tiles(path: str | os.PathLike[str]) -> tuple[TileStore, dict[str, np.ndarray]]:
    """A store and the arrays of its archive.

    Raises
    ------
    FormatError
        If the directory is no store, or one without a result.
    """
    store = TileStore(path)
    store.require_closed()
    if not (store.path / ARCHIVE).is_file():
        raise FormatError(
            path,
            None,
            f"a store that `save` wrote is required, got one without {ARCHIVE}: its writing was cut short, or it is a "
            "matrix alone. semiring.tiles.TileStore reads it.",
        )
    return store, load_archive(store)


def check_zarr_place(path: str | os.PathLike[str]) -> None:
    """Refuse a directory that is no result: one that is written over goes with all that is in it.

    Raises
    ------
    FileExistsError
    """
    place = Path(path)
    if place.is_dir() and not {entry.name for entry in place.iterdir()} <= _IN_ZARR:
        raise FileExistsError(
            errno.EEXIST, "it must be a Zarr group that `save` wrote, or nothing yet", os.fspath(path)
        )


def save_zarr(table: Table, path: str | os.PathLike[str], more: Mapping[str, Any]) -> None:
    """Write a table as a Zarr group (version 3): `distances` in tiles with checksums, and labels.

    All tiles are written, even where nothing but one number stands in them: one that is missing is damage.

    Raises
    ------
    ImportError
        If zarr is missing.
    """
    zarr = _zarr("save")
    from zarr.codecs import Crc32cCodec, ZstdCodec

    sides = {"sources": encode(table.rows, path), "targets": encode(table.columns, path)}
    with writing_folder(path) as place:
        group = zarr.open_group(store=str(place), mode="w", zarr_format=3)
        tile = tuple(max(1, min(TILE, size)) for size in table.shape)
        tiles = group.create_array(
            "distances",
            shape=table.shape,
            dtype=table.dtype,
            chunks=tile,
            compressors=[ZstdCodec(level=1), Crc32cCodec()],
            dimension_names=("sources", "targets"),
            config={"write_empty_chunks": True},
        )
        at = 0
        for part in gathered(table.streamed(), TILE):
            tiles[at : at + len(part)] = part
            at += len(part)
        for side, arrays in sides.items():
            plain, text = arrays.get("labels"), arrays.get("labels_json")
            if plain is not None and plain.dtype.kind != "U":
                group.create_array(side, data=plain, dimension_names=(side,))  # in xarray an index
                continue
            if plain is not None:
                text = np.frombuffer(
                    json.dumps(plain.tolist(), ensure_ascii=False).encode("utf-8", "surrogatepass"), np.uint8
                )
            group.create_array(f"{side}_json", data=text, dimension_names=(f"{side}_json_bytes",))
        if table.semiring is not None:
            group.attrs["semiring"] = catalog.recorded_as(table.semiring)
            group.attrs["infinity"] = str(dtypes.zero(table.semiring, table.dtype))
        if more:
            buffer = io.BytesIO()
            np.savez(buffer, **more)
            content = np.frombuffer(buffer.getvalue(), np.uint8)
            named = {"dimension_names": ("result_npz_bytes",), "compressors": [Crc32cCodec()]}
            group.create_array("result_npz", data=content, **named)


@dataclass(frozen=True)
class Zarr:
    """A Zarr array whose damaged tiles raise a FormatError that names its group."""

    array: Any
    path: str | os.PathLike[str]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def __getitem__(self, window: Any) -> np.ndarray:
        try:
            return self.array[window]
        except MemoryError:
            raise
        except Exception as error:  # whatever a codec raises
            problem = f"all tiles of `distances` must be as they were written, got {' '.join(str(error).split())}"
            raise FormatError(self.path, None, problem) from error


def load_zarr(path: str | os.PathLike[str]) -> tuple[Any, dict[str, np.ndarray]]:
    """The array of distances in a Zarr group, all of whose tiles are there, and the arrays of its archive.

    Raises
    ------
    FormatError
        If it is something else, or tiles are missing.
    ImportError
        If zarr is missing.
    """
    zarr = _zarr("load")
    try:
        group = zarr.open_group(store=os.fspath(path), mode="r")
        distances, packed = group["distances"], group["result_npz"]
        tile = math.prod(distances.chunks) * distances.dtype.itemsize
        for array, most in ((packed, packed.nbytes), (distances, tile)):
            if most > _SMALL and most > _PACKED * array.nbytes_stored():
                raise ValueError(f"{array.basename} with {most} bytes in {array.nbytes_stored()}")
        archive = packed[:]
    except MemoryError:
        raise
    except Exception as error:  # damaged tiles raise whatever their codecs do
        problem = f"a Zarr group that `save` wrote is required, got {error!r}."
        raise FormatError(path, None, problem) from error
    there, needed = distances.nchunks_initialized, distances.nchunks
    if there != needed:  # Zarr would read them as if they held nothing but its fill value
        raise FormatError(path, None, f"all {needed} tiles of `distances` must be there, got {there}.")
    held = io.BytesIO(archive.tobytes())
    held.name = os.fspath(path)
    return Zarr(distances, path), load_arrays(held, "the `result_npz` of a Zarr group")


def _zarr(where: str) -> Any:
    try:
        import zarr
    except ImportError:
        raise ImportError(f'{where}: zarr is required for ".zarr". Install it: `pip install zarr`.') from None
    return zarr


def gathered(blocks: Iterator[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The rows of the blocks in blocks of so many, so that each tile is written once."""
    held: list[np.ndarray] = []
    count = 0
    for block in blocks:
        held.append(block.copy())  # its memory may be used again
        count += len(block)
        if count >= size:
            whole = np.concatenate(held)
            for start in range(0, len(whole) - size + 1, size):
                yield whole[start : start + size]
            rest = whole[len(whole) - len(whole) % size :]
            held, count = [rest], len(rest)
    if count:
        yield np.concatenate(held)
