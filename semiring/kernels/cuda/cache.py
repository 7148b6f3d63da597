"""Disk cache of cubins; an unreadable or unwritable disk only costs recompilation."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import asdict, dataclass
from functools import cache
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
