"""What machine this is, for `apsp info` and for the head of a benchmark."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

from semiring.backend import bind, cuda_available
from semiring.catalog import min_plus

from .plans import _bytes, available


def devices() -> Iterator[tuple[str, str]]:
    """(name, description) of the CPU and of every GPU; where there is none, why."""
    threads = getattr(bind(min_plus, "float32"), "threads", 1)
    free = available("cpu")
    clock = _cpuinfo("cpu MHz")
    parts = [
        _cpuinfo("model name") or platform.processor() or platform.machine(),
        f"{threads} thread{'s' if threads != 1 else ''}",
        *([f"{float(clock) / 1000:.2f} GHz"] if clock else []),
        *([f"{_bytes(free)} free"] if free else []),
    ]
    yield "cpu", ", ".join(parts)
    if not cuda_available():
        yield "cuda", "none: CuPy is missing, or sees no NVIDIA GPU (install the extra cuda13 or cuda12)"
        return
    import cupy

    for index in range(cupy.cuda.runtime.getDeviceCount()):
        found = cupy.cuda.runtime.getDeviceProperties(index)
        driver = cupy.cuda.runtime.driverGetVersion()
        yield (
            f"cuda:{index}",
            f"{found['name'].decode()}, {_bytes(found['totalGlobalMem'])}, {found['multiProcessorCount']} "
            f"multiprocessors, {found.get('clockRate', 0) / 1e6:.2f} GHz, driver for CUDA {driver // 1000}."
            f"{driver % 1000 // 10}",
        )


def versions() -> Iterator[tuple[str, str]]:
    """(name, version) of Python and of the packages that compute."""
    yield "python", platform.python_version()
    for name in ("numpy", "numba", "scipy", "cupy", "networkx", "matplotlib"):
        found = (f"{name}{suffix}" for suffix in (("", "-cuda13x", "-cuda12x") if name == "cupy" else ("",)))
        yield name, next((v for v in map(_version, found) if v), "not installed")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpuinfo(key: str) -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "")
    except OSError:
        return ""
