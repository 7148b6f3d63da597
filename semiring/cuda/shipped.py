"""Cubins that come with a wheel: the commonest kernels, so that the first computation on a GPU compiles nothing.

An archive an architecture, `shipped/sm_90.zip`, made by `python -m semiring.cuda.shipping`; it is only read. A name in
it is the digest of a text, its architecture and the compiler's options, so that a kernel is never older than its
source. What is missing, or does not fit the driver, is compiled as ever.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from functools import cache
from pathlib import Path

from .. import trust
from . import cache as disk_cache
from .cache import Binary

#: Where the archives are; a build puts them there.
FOLDER = Path(__file__).parent / "shipped"


def name_of(text: str, arch: str, flags: tuple[str, ...]) -> str:
    """The name of a translation unit in its archive."""
    return hashlib.sha256(json.dumps([text, arch, flags]).encode()).hexdigest()[:40]


def find(text: str, arch: str, flags: tuple[str, ...], driver: int) -> Binary | None:
    """The cubin of a text that came with the installation, or None.

    A cubin for sm_80 runs on sm_89, too, where both have the same text; one for "sm_90a" only there.

    Parameters
    ----------
    text : str
        A complete translation unit.
    arch : str
        What it would be compiled for.
    flags : tuple of str
        Of the compiler.
    driver : int
        The version of CUDA that the driver knows, such as 13000: an older one than the compiler's does not take its
        cubins.
    """
    digits = arch.removeprefix("sm_").rstrip("a")
    family = int(digits) // 10
    older = () if arch.endswith("a") else range(int(digits) - 1, 10 * family - 1, -1)
    for target in (arch, *(f"sm_{number}" for number in older)):
        archive = _archive(target.rstrip("a"))
        if archive is None or driver // 1000 < int(archive.comment or b"0"):
            continue
        try:
            return disk_cache.unpacked(archive.read(name_of(text, target, flags)))
        except Exception:  # it is missing; or whatever damage, or a Python without lzma, leads to
            continue
    return None


@cache
def _archive(arch: str) -> zipfile.ZipFile | None:
    """The archive of an architecture, in memory; None where there is none, or another user could have written it."""
    try:
        return zipfile.ZipFile(io.BytesIO(trust.read(FOLDER / f"{arch}.zip")))
    except (OSError, zipfile.BadZipFile):
        return None
