"""`apsp info`: this machine, its processor, memory, GPU and versions, and the semirings, formats and schedules."""

from __future__ import annotations

import os
import platform

import click

import semiring

from ...io.display.terminal import show_table
from .reporting import as_json, report


@click.command()
def info() -> None:
    """This machine and its versions, and the semirings, formats and schedules; --json is for reports of faults."""
    from semiring.algebra.catalog import CATALOG

    from ...io import formats
    from ...road import engines, schedules

    if as_json():
        found = {"machine": dict(describe()), **surroundings(), "semirings": [s.name for s in CATALOG]}
        found |= {"formats": [*formats.formats()], "engines": engines.names(), "schedules": schedules.names()}
        report(None, **found)
        return
    show_table(["machine", ""], describe())
    click.echo()
    rows = [[s.name, " ".join(s.aliases) or "-", " ".join(s.dtypes)] for s in CATALOG]
    show_table(["semiring", "aliases", "dtypes"], rows)
    click.echo()
    known = [[f.name, " ".join(f.suffixes), f.description] for f in formats.formats().values()]
    show_table(["format", "suffixes", "holds"], known)
    click.echo()
    doc = {name: schedules.get(name).description for name in schedules.names()}
    show_table(["schedule", ""], [["auto", "The one that the plan finds best."], *([k, v] for k, v in doc.items())])


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
    from importlib import metadata

    for package in packages:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return "not installed"
