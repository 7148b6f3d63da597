"""How many threads to use: as many as this process may keep busy."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from functools import cache
from math import ceil, inf
from pathlib import Path

import numpy as np

from ..cgroups import hierarchies, read_text
from ..errors import DeviceError

#: Sets how many threads the CPU backend uses where no number is passed.
VARIABLE = "SEMIRING_NUM_THREADS"
#: What other libraries read: each is an upper bound here.
BOUNDS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def default_threads() -> int:
    """SEMIRING_NUM_THREADS where it is set; else the least of all that limits this process.

    These are: the processors that it may run on (its affinity), the quota of its control groups rounded up,
    OMP_NUM_THREADS (of a list, one for each nested level, the first) and NUMBA_NUM_THREADS; all but the affinity are
    read once a process, as OpenMP and numba do. A bound that is not a positive integer is passed over, as OpenMP does.

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
    """The threads that were asked for, else the default.

    Raises
    ------
    DeviceError
        If that is not a positive integer.
    """
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
    """The least of the variables that are set and the quota, rounded up and at least 1; ∞ where there is neither."""
    granted = cpu_quota()
    texts = [os.environ.get(name, "").split(",")[0].strip() for name in BOUNDS]
    bounds = [int(text) for text in texts if text.isdecimal() and int(text) > 0]
    return min([*bounds, *([] if granted is None else [max(1, ceil(granted))])], default=inf)


def cpu_quota(root: Path = Path("/")) -> float | None:
    """The processors' worth of time that control groups grant this process; None where they set no limit.

    The least over its group and all groups around it, version 1 (`cpu.cfs_quota_us`) and 2 (`cpu.max`):
    docs.kernel.org/admin-guide/cgroup-v2.html, "CPU Interface Files"; docs.kernel.org/scheduler/sched-bwc.html.
    """
    limits = []
    for _, folders in hierarchies(root, "cpu"):
        for folder in folders:
            with suppress(ValueError):  # no such file, or "max": that group limits nothing
                quota, period = map(int, (read_text(f"{folder}/cpu.max") or _version_1(folder)).split())
                if quota > 0 and period > 0:  # −1: no limit
                    limits.append(quota / period)
    return min(limits, default=None)


def _version_1(folder: str) -> str:
    return " ".join(read_text(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))


def describe() -> str:
    """Model and clock of the processor, as far as the system reports them."""
    about = read_text("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", about, re.MULTILINE)
    clock = re.search(r"^cpu MHz\s*:\s*([0-9.]+)", about, re.MULTILINE)
    name = model.group(1).strip() if model else platform.processor() or platform.machine()
    return name + (f", {float(clock.group(1)):.0f} MHz" if clock else "")
