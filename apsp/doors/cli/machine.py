"""This machine: processor, memory, GPU, versions."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import semiring


def describe() -> list[list[str]]:
    """(name, description) of each component, in display order."""
    from semiring.kernels import backend

    return [
        ["processor", backend.describe("cpu")],
        ["machine code", backend.machine_code()],
        ["threads", _threads()],
        ["memory", _memory()],
        ["GPU", backend.describe("cuda")],
        ["system", platform.platform(terse=True)],
        ["Python", platform.python_version()],
        *([name, _version(*packages)] for name, packages in _PACKAGES.items()),
    ]


def surroundings() -> dict[str, object]:
    """Where the packages are, and the environment variables that count."""
    names = ("SEMIRING_", "NUMBA_", "OMP_NUM", "CUDA_VISIBLE", "APSP_", "VIRTUAL_ENV")
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(names)}
    return {"package": os.path.dirname(semiring.__file__), "environment": variables}


_PACKAGES = {
    "semiring-apsp": ("semiring-apsp",),
    "NumPy": ("numpy",),
    "numba": ("numba",),
    "SciPy": ("scipy",),
    "CuPy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "NetworkX": ("networkx",),
    "matplotlib": ("matplotlib",),
    "pandas": ("pandas",),
    "narwhals": ("narwhals",),
}


def _threads() -> str:
    from semiring.algebra.catalog import min_plus
    from semiring.kernels.backend import bind

    return f"{getattr(bind(min_plus, 'float32'), 'threads', 1)} of {os.cpu_count()}"


def _memory() -> str:
    from semiring.host.memory import available, shown

    free = available("cpu")
    return "unknown" if free is None else f"{shown(free)} free"


def _version(*packages: str) -> str:
    for package in packages:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return "not installed"
