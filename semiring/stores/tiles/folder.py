"""Directory of a tile store: its place, creation, and description file."""

from __future__ import annotations

import errno
import json
import math
import operator
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from ...host.errors import DTypeError, FormatError, ShapeError
from ...host.memory import shown
from ...host.spelling import came
from ...host.types import Array, DType, Fields, Values
from ..files import check_writable, claimed, remove_unfinished, writing, writing_folder
from .file import KINDS, Layout

#: Description file of a store.
NAME = "store.json"
#: Attributes: name of the matrix that a closure here belongs to; whether it is complete.
SOURCE, CLOSED = "closure of", "closed"
#: Files left by an interrupted creation or removal of a store.
_FILE = re.compile(r"\d{5,}-\d{5,}\.tile|\.semiring-[0-9a-f]+\.tmp")
_FORMAT, _VERSION = "semiring tile store", 1
#: The most tiles: a description may claim any number.
_TILES = 1 << 27


def is_store(path: str | os.PathLike[str]) -> bool:
    return (Path(path) / NAME).is_file()


@contextmanager
def building(path: str | os.PathLike[str], *parts: str) -> Iterator[Path]:
    """Context manager: an empty directory that replaces the store at `path` on success.

    Until then the old store stays readable. Other files in its directory are kept, except tiles and `parts`. Raises
    OSError as `semiring.stores.files.writing_folder`, FileExistsError if `path` holds something else.
    """
    check_place(path)
    with writing_folder(path) as new:
        yield new
        for other in Path(path).iterdir() if Path(path).is_dir() else ():
            if other.name not in (NAME, *parts) and not _FILE.fullmatch(other.name) and not (new / other.name).exists():
                _carry(other, new / other.name)


def _carry(other: Path, place: Path) -> None:
    """Hard-link a file, or copy it where the file system has no links; directories recursively."""

    def link(one: str, two: str) -> None:
        try:
            os.link(one, two, follow_symlinks=False)
        except OSError:
            shutil.copy2(one, two, follow_symlinks=False)

    if other.is_dir() and not other.is_symlink():
        shutil.copytree(other, place, symlinks=True, copy_function=link)
    else:
        link(str(other), str(place))


def check_place(path: str | os.PathLike[str]) -> int:
    """Bytes freed by replacing a store at `path`; OSError, as `TileStore.create`, where none can be made."""
    place = Path(path)
    if not place.exists():
        check_writable(place)
        return 0
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it must be a directory or nothing yet, and is a file", str(path))
    check_writable(place / NAME)
    if is_store(place):
        return sum(tile.stat().st_size for tile in place.glob("*.tile"))
    if not all(_FILE.fullmatch(left.name) for left in place.iterdir()):
        raise FileExistsError(errno.EEXIST, "it must be a tile store or an empty directory", str(path))
    return 0


@contextmanager
def replacing(place: Path) -> Iterator[int]:
    """`check_place` of a new store; one that stands there is claimed meanwhile: a closure may be at work in it."""
    with claimed(place) if is_store(place) else nullcontext():
        yield check_place(place)


def require_disk_space(place: str | os.PathLike[str], needed: int) -> None:
    """OSError, early, for what does not fit on the disk of its place; a pipe or a device has none."""
    target = Path(os.path.realpath(place))
    if target.exists() and not (target.is_file() or target.is_dir()):
        return
    try:
        free = shutil.disk_usage(target if target.is_dir() else target.parent).free
    except OSError:  # its writer names it
        return
    if needed > free:
        raise OSError(
            errno.ENOSPC, f"{shown(needed)} must fit on its disk, and {shown(free)} are free", os.fspath(place)
        )


def clear(place: Path) -> None:
    """Remove a store, description first, so that no one looks for tiles in half a store."""
    place.mkdir(exist_ok=True)
    (place / NAME).unlink(missing_ok=True)
    remove_unfinished(place)
    for tile in place.glob("*.tile"):
        tile.unlink()


def layout_of(shape: Values, dtype: DType, block: Array) -> Layout:
    """Layout of a new store; ShapeError, DTypeError."""
    kind, sides = np.dtype(dtype), (block, block) if np.ndim(block) == 0 else block
    try:
        (m, n), (a, b) = (map(operator.index, pair) for pair in (shape, sides))
    except (TypeError, ValueError):
        m, n, a, b = (-1,) * 4
    if min(m, n) < 0 or min(a, b) < 1:
        raise ShapeError(f"TileStore: a matrix in tiles of 1 × 1 or more is required, got {shape} in {sides}.")
    if kind.kind not in KINDS:
        raise DTypeError(f"TileStore: entries must be numbers or truth values, got {kind}.")
    layout = Layout((m, n), (a, b), kind, secrets.token_bytes(16))
    if math.prod(layout.grid) > _TILES:
        raise ShapeError(f"TileStore: at most {_TILES:,} tiles are required, got {layout.grid}. Take a larger block.")
    return layout


def describe(place: Path, layout: Layout, attributes: Fields) -> None:
    found: Fields = {"format": _FORMAT, "version": _VERSION, "identity": layout.identity.hex()}
    found |= {"shape": layout.shape, "block": layout.block, "dtype": layout.dtype.name, "attributes": attributes}
    text = json.dumps(found, sort_keys=True, indent=1)
    with writing(place / NAME) as out:
        out.write(f"{text}\n{zlib.crc32(text.encode()):08x}\n".encode())


def described(place: Path) -> tuple[Layout, Fields]:
    """Layout and attributes from the description file, verified by the checksum in its last line."""
    path = place / NAME
    try:
        text, crc, rest = path.read_bytes().decode().rsplit("\n", 2)
        if rest or int(crc, 16) != zlib.crc32(text.encode()):
            raise ValueError("a checksum of something else")
        description = json.loads(text)
        if description["format"] != _FORMAT or description["version"] != _VERSION:
            raise ValueError(f"{came(description['format'])} of version {came(description['version'])}")
        (m, n), (a, b) = (_two(description, name, least) for name, least in (("shape", 0), ("block", 1)))
        dtype, attributes = np.dtype(description["dtype"]), description["attributes"]
        identity = bytes.fromhex(description["identity"])
        if dtype.kind not in KINDS or dtype.name != description["dtype"] or len(identity) != 16:
            raise ValueError(f"dtype {came(description['dtype'])} and {len(identity)} bytes of identity")
        if not isinstance(attributes, dict):
            raise ValueError(f"attributes in a {type(attributes).__name__}")
        layout = Layout((m, n), (a, b), dtype, identity)
        if math.prod(layout.grid) > _TILES:
            raise ValueError(f"{layout.grid} tiles; {_TILES} at most are required")
        return layout, attributes
    except FileNotFoundError:
        found = f"a directory without {NAME}" if place.is_dir() else "no directory"
        raise FormatError(place, None, f"a tile store is required, got {found}.") from None
    except NotADirectoryError:
        raise FormatError(place, None, "a tile store is a directory, got a file.") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(path, None, f"the description of a tile store is required, got {error}.") from error


def _two(description: Fields, name: str, least: int) -> tuple[int, int]:
    """Rows and columns from a description; ValueError if malformed."""
    found = description[name]
    right = isinstance(found, list) and len(found) == 2 and all(type(x) is int and least <= x < 1 << 62 for x in found)
    if not right:
        raise ValueError(f"{name} {came(found)}; two integers of {least} or more are required")
    return found[0], found[1]
