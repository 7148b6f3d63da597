"""Results with distances on disk in a Zarr group, beside readable labels, and an archive of their other arrays.

The archive is the array `result_npz`, the bytes of an `.npz`.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from semiring.algebra import catalog, dtypes
from semiring.host.errors import FormatError
from semiring.host.lazy import optional
from semiring.stores.archives import load_arrays
from semiring.stores.files import writing_folder

from .base import Arrays, Store, StrPath, Table, gathered, require_only
from .encoding import as_json, encode
from .tiles import TILE

#: Compression ratio above which a group is refused, for arrays above this size in bytes.
_PACKED, _SMALL = 1000, 64 << 20
#: Directory entries of a Zarr group written by `save`.
_IN_ZARR = {"zarr.json", "distances", "result_npz", "sources", "targets", "sources_json", "targets_json"}


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a table as a Zarr group (version 3) and labels; uniform tiles too, as a missing tile is damage."""
    zarr = optional("zarr", 'save: zarr is required for ".zarr"')
    from zarr.codecs import Crc32cCodec, ZstdCodec

    sides = {"sources": encode(table.rows, path), "targets": encode(table.columns, path)}
    with writing_folder(path) as folder, _others_awaited():
        group = zarr.open_group(store=str(folder), mode="w", zarr_format=3)
        tile = tuple(max(1, min(TILE, size)) for size in table.shape)
        tiles = group.create_array(
            "distances", shape=table.shape, dtype=table.dtype, chunks=tile,
            compressors=[ZstdCodec(level=1), Crc32cCodec()], dimension_names=("sources", "targets"),
            config={"write_empty_chunks": True},
        )  # fmt: skip
        for k, part in enumerate(gathered(table.streamed(), TILE)):
            tiles[k * TILE : k * TILE + len(part)] = part
        for side, arrays in sides.items():
            plain, text = arrays.get("labels"), arrays.get("labels_json")
            if plain is not None and plain.dtype.kind != "U":
                group.create_array(side, data=plain, dimension_names=(side,))  # in xarray an index
                continue
            if plain is not None:
                text = as_json(plain.tolist())
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


@contextmanager
def _others_awaited() -> Iterator[None]:
    """On an error, await tiles still being written by Zarr's thread, which would recreate the directory."""
    import asyncio

    from zarr.core.sync import sync

    async def wait() -> None:
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)

    try:
        yield
    except BaseException:
        sync(wait())
        raise


@dataclass(frozen=True)
class Zarr:
    """A Zarr array whose damaged tiles raise a FormatError naming its group."""

    array: Any
    path: StrPath

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def __getitem__(self, window: tuple[slice, slice]) -> np.ndarray:
        try:
            return self.array[window]
        except MemoryError:
            raise
        except Exception as error:  # any error of a codec
            problem = f"all tiles of `distances` must be as they were written, got {' '.join(str(error).split())}"
            raise FormatError(self.path, None, problem) from error


def load(path: StrPath) -> tuple[Zarr, dict[str, np.ndarray]]:
    """The distances of a complete Zarr group, and its archive's arrays; else FormatError; ImportError without zarr."""
    zarr = optional("zarr", 'load: zarr is required for ".zarr"')
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
    except Exception as error:  # damaged tiles raise anything
        problem = f"a Zarr group that `save` wrote is required, got {error!r}."
        raise FormatError(path, None, problem) from error
    initialized, needed = distances.nchunks_initialized, distances.nchunks
    if initialized != needed:  # Zarr would read missing tiles as fill values
        raise FormatError(path, None, f"all {needed} tiles of `distances` must be there, got {initialized}.")
    buffer = io.BytesIO(archive.tobytes())
    buffer.name = os.fspath(path)
    return Zarr(distances, path), load_arrays(buffer, "the `result_npz` of a Zarr group")


_check = partial(require_only, known=_IN_ZARR, what="a Zarr group")
STORE = Store((".zarr",), save, load, folder=True, check=_check, check_labels=encode)
