"""Default number of threads: all that this process may keep busy."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from functools import cache
from math import ceil, inf
from pathlib import Path

import numpy as np

from ...host.errors import DeviceError
from ...host.memory import hierarchies, read_text

#: Number of threads of the CPU backend, unless passed.
VARIABLE = "SEMIRING_NUM_THREADS"
#: Variables of other libraries, each an upper bound here.
BOUNDS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def default_threads() -> int:
    """SEMIRING_NUM_THREADS if set, else the least of all bounds on this process.

    These are its processor affinity, the quota of its control groups rounded up, OMP_NUM_THREADS (the first of a list)
    and NUMBA_NUM_THREADS; all but the affinity are read once per process, as OpenMP and numba do. A bound that is not a
    positive integer is ignored, as in OpenMP.

    Raises
    ------
    DeviceError
        If SEMIRING_NUM_THREADS is not a positive integer.
    """
    text = os.environ.get(VARIABLE)
    if text and (text := text.strip()):
        if not text.isdecimal() or int(text) == 0:
            raise DeviceError(f"threads: {VARIABLE} must be a positive integer, got {text!r}. Unset it, or correct it.")
        return int(text)
    return int(min(_affinity(), _bound()))


def threads_of(threads: int | None, where: str) -> int:
    """Validated thread count, or the default; DeviceError if not a positive integer."""
    threads = default_threads() if threads is None else threads
    if not isinstance(threads, (int, np.integer)) or threads < 1:
        raise DeviceError(
            f"{where}: threads must be a positive integer, got {threads!r}. Leave it out for the default."
        )
    return int(threads)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _bound() -> float:
    """Least of the variables and the quota, rounded up, at least 1; ∞ if none is set."""
    granted = cpu_quota()
    texts = [os.environ.get(name, "").split(",")[0].strip() for name in BOUNDS]
    bounds = [int(text) for text in texts if text.isdecimal() and int(text) > 0]
    return min([*bounds, *([] if granted is None else [max(1, ceil(granted))])], default=inf)


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Processors granted by control groups, in CPUs; None without a limit.

    The least over this process' group and its ancestors, version 1 (`cpu.cfs_quota_us`) and 2 (`cpu.max`):
    docs.kernel.org/admin-guide/cgroup-v2.html, "CPU Interface Files"; docs.kernel.org/scheduler/sched-bwc.html.
    """
    limits = []
    for _, folders in hierarchies(root, "cpu"):
        for folder in folders:
            with suppress(ValueError):  # no such file, or "max": no limit
                quota, period = map(int, (read_text(f"{folder}/cpu.max") or _version_1(folder)).split())
                if quota > 0 and period > 0:  # −1: no limit
                    limits.append(quota / period)
    return min(limits, default=None)


def _version_1(folder: str) -> str:
    return " ".join(read_text(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))


def describe() -> str:
    about = read_text("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", about, re.MULTILINE)
    clock = re.search(r"^cpu MHz\s*:\s*([0-9.]+)", about, re.MULTILINE)
    name = model.group(1).strip() if model else platform.processor() or platform.machine()
    return name + (f", {float(clock.group(1)):.0f} MHz" if clock else "")
