"""What is computing here: processor, memory, GPU, versions."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path


def describe() -> list[list[str]]:
    """Pairs of what and which, in the order to show them."""
    return [
        ["processor", _processor()],
        ["threads", _threads()],
        ["memory", _memory()],
        ["GPU", gpu()],
        ["system", platform.platform(terse=True)],
        ["Python", platform.python_version()],
        *([name, _version(*packages)] for name, packages in _PACKAGES.items()),
    ]


_PACKAGES = {
    "semiring-apsp": ("semiring-apsp",),
    "NumPy": ("numpy",),
    "numba": ("numba",),
    "SciPy": ("scipy",),
    "CuPy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "NetworkX": ("networkx",),
    "matplotlib": ("matplotlib",),
}


def gpu() -> str:
    """The GPU's name, memory, clock and driver; or why there is none."""
    try:
        import cupy
    except ImportError:
        return 'none: CuPy is not installed (pip install ".[cuda13]" or ".[cuda12]")'
    try:
        runtime = cupy.cuda.runtime
        count = runtime.getDeviceCount()
        found = runtime.getDeviceProperties(0)
        driver = runtime.driverGetVersion()
    except Exception as error:  # a missing or broken driver raises whatever it likes
        return f"none: {' '.join(str(error).split())}"
    name = found["name"].decode()
    clock = f", {found['clockRate'] / 1000:.0f} MHz" if found.get("clockRate") else ""
    more = f"{count} × " if count > 1 else ""
    memory = f"{found['totalGlobalMem'] / 2**30:.1f} GiB"
    version = f"CUDA driver {driver // 1000}.{driver % 1000 // 10}"
    return f"{more}{name}, {memory}, sm_{found['major']}{found['minor']}{clock}, {version}"


def _processor() -> str:
    """Model and clock, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    clock = re.search(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)
    name = model.group(1).strip() if model else platform.machine()
    return name + (f", {float(clock.group(1)):.0f} MHz" if clock else "")


def _threads() -> str:
    from semiring.backend import bind
    from semiring.catalog import min_plus

    return f"{getattr(bind(min_plus, 'float32'), 'threads', 1)} of {os.cpu_count()}"


def _memory() -> str:
    from semiring.memory import available, shown

    free = available("cpu")
    return "unknown" if free is None else f"{shown(free)} free"


def _version(*packages: str) -> str:
    for package in packages:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return "not installed"
