"""Cubins in the wheel: the commonest kernels, so that first use compiles nothing.

One archive per architecture, `shipped/sm_90.zip`, by `python -m semiring.kernels.cuda.shipping`; read-only. Names are
digests of text, architecture and compiler options, so that a kernel is never older than its source. Missing or
unsuitable ones are compiled as usual.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from functools import cache
from itertools import product
from pathlib import Path

from ...stores import trust
from . import cache as disk_cache
from .cache import Binary

#: Folder of the archives, filled by a build.
FOLDER = Path(__file__).parent / "shipped"


def name_of(text: str, arch: str, flags: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps([text, arch, flags]).encode()).hexdigest()[:40]


def find(text: str, arch: str, flags: tuple[str, ...], driver: int) -> Binary | None:
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
            return disk_cache.unpacked(archive.read(name_of(text, target, flags)))
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
