"""How much memory is free: on the machine, in the control groups of this process, and within its own limits."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from .cgroups import hierarchies, read_text
from .errors import MemoryNeeded
from .spelling import came

#: Up to so many bytes free memory is not queried: the query takes longer than so small a computation.
LEAST = 1 << 20
#: Seconds within which the system is not asked again: a question asks several times, and each opens some twenty files.
RECENT = 0.01
#: Within so many seconds of an answer, up to this share of it is granted without another query, which takes as long as
#: a small search.
LATELY, SMALL = 0.2, 1 / 64
#: Of a process's own limits, what stays for allocations up to LEAST, for which nobody asks.
UNASKED = 4 << 20
ROOT = Path("/")
#: Limits from here on are none: version 1 of control groups says 2⁶³ less a page.
UNLIMITED = 1 << 62

#: Of a control group, by version: the files of its limits and of its usage, and what `memory.stat` calls the pages of
#: files and caches that the system takes back when memory is wanted. Usage counts them.
_FILES = {
    1: (("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
    2: (
        ("memory.max", "memory.high"),
        "memory.current",
        ("inactive_file", "active_file", "slab_reclaimable"),
    ),
}


def require(needed: int, device: str = "cpu", *, where: str, hint: str) -> None:
    """Raise before any work if `needed` bytes are not available.

    Raises
    ------
    MemoryNeeded
        With the bytes needed, the bytes free, and what to do.

    Examples
    --------
    >>> require(1 << 60, where="closure", hint="Use a smaller dtype.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    semiring.errors.MemoryNeeded: closure: 1024.0 PiB must fit on cpu, got ... free. Use a smaller dtype.
    """
    if needed <= LEAST or granted(needed, device):
        return
    free = available(device)
    if free is not None and needed > free:
        raise MemoryNeeded(f"{where}: {shown(needed)} must fit on {device}, got {shown(free)} free. {hint}")


def granted(needed: int, device: str = "cpu") -> bool:
    """Whether so many bytes are free without asking the system.

    On the CPU: where it was asked less than LATELY seconds ago, and this is a small share of its answer less what was
    granted since. On a GPU: where CuPy has them from the driver already.
    """
    if device == "cuda":  # whose driver takes long to answer
        return needed <= pooled()
    asked, free = _last
    if free is None or monotonic() - asked >= LATELY or needed > SMALL * free:
        return False
    _last[1] = free - needed
    return True


def available(device: str = "cpu", *, root: Path = ROOT) -> int | None:
    """Bytes that this process can still allocate on a device; None where the system does not report it.

    On the CPU the least of: what the machine has free without swapping, what each control group (cgroup v1 or v2) of
    the process and each of its parents leaves, and what RLIMIT_AS and RLIMIT_DATA leave. Pages that only cache files
    count as free.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    root : Path
        Where /proc and /sys are.
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


#: When the system was last asked, and what it said.
_last: list[Any] = [-math.inf, None]


def pooled() -> int:
    """Bytes that CuPy has from the driver and that no array uses."""
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
    """Bytes from a text such as "16GiB", "1.5 GB" or "4096"; a number stays as it is. Errors have the name.

    Raises
    ------
    ValueError
        If it is none.

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
    """What the machine has free; where it refuses to promise more than it has (overcommit 2), what it can promise."""
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
    """What is left in each control group of this process that has a limit, from its own up to the mounted one."""
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
    """Bytes that the process's own limits leave of its address space and of its private data, less UNASKED."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, counted in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit = resource.getrlimit(name)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit - UNASKED - 1024 * _table(f"{root}/proc/self/status").get(counted, 0)


def _table(path: str) -> dict[str, int]:
    """Lines of a name and a number, as in /proc/meminfo and memory.stat."""
    lines = (line.split(maxsplit=2) for line in read_text(path).splitlines())
    return {line[0].rstrip(":"): int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}
