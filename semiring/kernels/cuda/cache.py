"""Cubins on disk: cached, where an unreadable or unwritable disk only costs recompilation, and shipped in the wheel.

The wheel has the commonest kernels, so that first use compiles nothing: one archive per architecture, such as
`shipped/sm_90.zip`, by `python -m semiring.kernels.cuda.shipping`; read-only. Names are digests of text, architecture
and compiler options, so that a kernel is never older than its source. Missing or unsuitable ones are compiled as usual.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

from ...stores import trust


@dataclass(frozen=True)
class Resources:
    """Resources of an entry function, reported by the compiler; bytes, except registers."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int


@dataclass(frozen=True)
class Binary:
    arch: str
    cubin: bytes
    resources: dict[str, Resources]


def load(name: str) -> Binary | None:
    folder = _directory()
    if folder is None:
        return None
    try:
        return unpacked(trust.read(folder / name))
    except trust.OthersCouldWriteError as problem:
        _warn(f"{problem.filename} {problem.strerror}")
        return None
    except OSError:
        return None


def unpacked(content: bytes) -> Binary | None:
    """Decode a file: one line of JSON, then the cubin; None if damaged."""
    try:
        head, cubin = content.split(b"\n", 1)
        record = json.loads(head)
        if record["sha256"] != hashlib.sha256(cubin).hexdigest():
            return None
        return Binary(record["arch"], cubin, {k: Resources(**v) for k, v in record["resources"].items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def packed(binary: Binary) -> bytes:
    head = {
        "arch": binary.arch,
        "sha256": hashlib.sha256(binary.cubin).hexdigest(),
        "resources": {k: asdict(v) for k, v in binary.resources.items()},
    }
    return json.dumps(head).encode() + b"\n" + binary.cubin


def store(name: str, binary: Binary) -> None:
    """Write atomically, replacing an older binary."""
    folder = _directory()
    if folder is None:
        return
    try:
        trust.write(folder / name, packed(binary))
    except trust.OthersCouldWriteError as problem:
        _warn(f"{problem.filename} {problem.strerror}")
    except OSError as problem:
        _warn(f"{folder} cannot be written ({problem.strerror or problem})")


def _directory() -> Path | None:
    """Cache folder: $SEMIRING_CACHE_DIR, else the user's; None without a home."""
    if chosen := os.environ.get("SEMIRING_CACHE_DIR"):
        return Path(chosen) / "cuda"
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semiring" / "cuda"
    except RuntimeError:
        _warn("this user has no home folder")
        return None


@cache
def _warn(problem: str) -> None:
    """Warn once per process; results are unaffected."""
    warnings.warn(
        f"cuda: compiled kernels cannot be stored, for {problem}: every process compiles its own, which takes seconds. "
        "Set SEMIRING_CACHE_DIR to a folder that you alone can write.",
        stacklevel=2,
    )


# In the wheel

#: Folder of the archives, filled by a build.
FOLDER = Path(__file__).parent / "shipped"


def name_of(text: str, arch: str, flags: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps([text, arch, flags]).encode()).hexdigest()[:40]


def shipped(text: str, arch: str, flags: tuple[str, ...], driver: int) -> Binary | None:
    """The shipped cubin of a text, or None.

    A cubin for sm_80 also runs on sm_89, if both have the same text; one for "sm_90a" only there. `driver` is its CUDA
    version, such as 13000: drivers older than the compiler reject its cubins.
    """
    digits = arch.removeprefix("sm_").rstrip("a")
    family = int(digits) // 10
    older = () if arch.endswith("a") else range(int(digits) - 1, 10 * family - 1, -1)
    targets = (arch, *(f"sm_{number}" for number in older))
    for folder, target in product((FOLDER, *trust.hidden("kernels", "cuda", FOLDER.name)), targets):
        archive = _archive(folder / f"{target.rstrip('a')}.zip")
        if archive is None or driver // 1000 < int(archive.comment or b"0"):
            continue
        try:
            return unpacked(archive.read(name_of(text, target, flags)))
        except Exception:  # missing, damaged, or a Python without lzma
            continue
    return None


@cache
def _archive(file: Path) -> zipfile.ZipFile | None:
    """An architecture's archive, in memory; None if missing, or writable by another user."""
    try:
        return zipfile.ZipFile(io.BytesIO(trust.read(file)))
    except (OSError, zipfile.BadZipFile):
        return None
