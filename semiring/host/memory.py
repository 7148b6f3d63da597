"""Free memory: of the machine, in the control groups (cgroups v1 and v2) of this process, within its own limits."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any

from .errors import MemoryNeeded
from .spelling import came

#: Bytes below which free memory is not queried: the query costs more than the computation.
LEAST = 1 << 20
#: Seconds within which an answer is reused: each query opens some twenty files.
RECENT = 0.01
#: Seconds after an answer within which this share of it is granted without a query, as slow as a small search.
LATELY, SMALL = 0.2, 1 / 64
#: Bytes of a process's own limits reserved for allocations up to LEAST, which are never queried.
UNASKED = 4 << 20
ROOT = Path("/")
#: Limits from here on mean unlimited: cgroup v1 reports 2⁶³ less a page.
UNLIMITED = 1 << 62

#: Control group files by version: limits, usage, and the reclaimable caches in `memory.stat` that usage includes.
_FILES = {
    1: (("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
    2: (("memory.max", "memory.high"), "memory.current", ("inactive_file", "active_file", "slab_reclaimable")),
}


def require(needed: int, device: str = "cpu", *, where: str, hint: str) -> None:
    """Raise MemoryNeeded, before any work, if `needed` bytes are not free.

    Examples
    --------
    >>> require(1 << 60, where="closure", hint="Use a smaller dtype.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    semiring.host.errors.MemoryNeeded: closure: 1024.0 PiB must fit on cpu, got ... free. Use a smaller dtype.
    """
    if needed <= LEAST or granted(needed, device):
        return
    free = available(device)
    if free is not None and needed > free:
        raise MemoryNeeded(f"{where}: {shown(needed)} must fit on {device}, got {shown(free)} free. {hint}")


def fits(needed: int, device: str = "cpu") -> bool:
    """Whether `needed` bytes are free, or it is unknown how many are."""
    try:
        require(needed, device, where="", hint="")
    except MemoryNeeded:
        return False
    return True


def granted(needed: int, device: str = "cpu") -> bool:
    """Whether `needed` bytes are free without a query.

    On the CPU: less than LATELY seconds after an answer, a small share of its rest. On a GPU: bytes CuPy already holds.
    """
    if device == "cuda":  # its driver is slow to answer
        return needed <= pooled()
    asked, free = _last
    if free is None or monotonic() - asked >= LATELY or needed > SMALL * free:
        return False
    _last[1] = free - needed
    return True


def available(device: str = "cpu", *, root: Path = ROOT) -> int | None:
    """Bytes that this process can still allocate on a device; None if unknown.

    On the CPU the least of: the machine's free memory without swapping, what each control group (v1 or v2) of the
    process and its parents leaves, and RLIMIT_AS and RLIMIT_DATA. File caches count as free. `root`: parent of /proc
    and /sys.
    """
    if device == "cuda":
        import cupy

        return int(cupy.cuda.runtime.memGetInfo()[0]) + pooled()
    now = monotonic()
    if root == ROOT and now - _last[0] < RECENT:
        return _last[1]
    found = [*_machine(root), *_groups(root), *_own_limits(root)]
    free = max(0, min(found)) if found else None
    if root == ROOT:
        _last[:] = [now, free]
    return free


#: Time of the last query, and its answer.
_last: list[Any] = [-math.inf, None]


def pooled() -> int:
    """Bytes that CuPy holds unused."""
    import cupy

    return int(cupy.get_default_memory_pool().free_bytes())


def shown(count: float) -> str:
    """Bytes as text, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} PiB"


def parsed(text: str | int, name: str = "memory") -> int:
    """Bytes from text such as "16GiB", "1.5 GB" or "4096", or a number; ValueError, with `name`, otherwise.

    Examples
    --------
    >>> parsed("16GiB") == 16 << 30, parsed("1.5 kB")
    (True, 1500)
    """
    if isinstance(text, int) and text >= 0:
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgtp]?)(i?)b?)\s*", str(text).lower())
    if found is None:
        raise ValueError(f'{name} must be a number of bytes such as "16GiB" or "500 MB", got {came(text)}.')
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgtp".index(unit or " "))


def _machine(root: Path) -> Iterator[int]:
    """Free memory of the machine; under overcommit 2 also what it can still promise."""
    known = _table(f"{root}/proc/meminfo")
    if "MemAvailable" in known:
        yield 1024 * known["MemAvailable"]
        if read_text(f"{root}/proc/sys/vm/overcommit_memory").strip() == "2":
            yield 1024 * (known["CommitLimit"] - known["Committed_AS"])
        return
    try:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return


def _groups(root: Path) -> Iterator[int]:
    """Remainder in each limited control group of this process, from its own up."""
    for version, folders in hierarchies(root, "memory"):
        limits, usage, cached = _FILES[version]
        for folder in folders:
            texts = [read_text(f"{folder}/{name}").strip() for name in limits]
            bounds = [int(text) for text in texts if text.isdecimal() and int(text) < UNLIMITED]
            used = read_text(f"{folder}/{usage}").strip() if bounds else ""
            if used.isdecimal():
                stat = _table(f"{folder}/memory.stat")
                yield min(bounds) - max(0, int(used) - sum([stat.get(name, 0) for name in cached]))


def _own_limits(root: Path) -> Iterator[int]:
    """Bytes left under the process's limits on address space and private data, less UNASKED."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, counted in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit = resource.getrlimit(name)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit - UNASKED - 1024 * _table(f"{root}/proc/self/status").get(counted, 0)


def _table(path: str) -> dict[str, int]:
    """Numbers by name, as in /proc/meminfo and memory.stat."""
    lines = (line.split(maxsplit=2) for line in read_text(path).splitlines())
    return {line[0].rstrip(":"): int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def read_text(path: str) -> str:
    """Text of a file, empty if unreadable; undecodable bytes are escaped."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def hierarchies(root: Path, controller: str) -> list[tuple[int, list[str]]]:
    """Hierarchies in which a controller counts this process: version, and folders from its own group up.

    `root`: parent of /proc and /sys. Mounts are looked up again when /proc/self/cgroup changes.
    """
    return _hierarchies(root, read_text(f"{root}/proc/self/cgroup"), controller)


@lru_cache(8)
def _hierarchies(root: Path, groups: str, controller: str) -> list[tuple[int, list[str]]]:
    own: dict[int, str] = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            own[2] = path
        elif controller in controllers.split(","):
            own[1] = path
    found = []
    for line in read_text(f"{root}/proc/self/mountinfo").splitlines():
        mount, _, kind = line.partition(" - ")
        before, (system, _, options) = mount.split(), kind.split(maxsplit=2)
        version = {"cgroup": 1, "cgroup2": 2}.get(system, 0)
        if version not in own or (version == 1 and controller not in options.split(",")):
            continue
        shown_root, top = before[3], root / before[4].lstrip("/")
        try:
            inside = Path(own[version]).relative_to(shown_root)
        except ValueError:  # the process is outside the mount, or sees it under another name
            inside = Path()
        folder = top if ".." in inside.parts else top / inside
        folder = folder if folder.is_dir() else top
        found.append((version, [str(folder), *(str(p) for p in folder.parents if p.is_relative_to(top))]))
    return found
