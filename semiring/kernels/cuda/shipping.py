"""Build the wheel's cubin archives: `python -m semiring.kernels.cuda.shipping [sm_90 …]`. Needs no GPU.

About a quarter of an hour per architecture on one processor; cubins in the disk cache are reused.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from os import cpu_count

import numpy as np

from ...algebra import catalog, dtypes
from ...algebra.records import Semiring
from ..cpu.routes.equality import SLACK
from . import cache, compile, survey
from .bits import levels
from .bits.product import PRODUCTS
from .csr import backend as csr
from .dense import chain, lengths, mirror, sources, sums_text
from .routes import adjoint, by_distance, changed, pairs, predecessors, walks
from .sparse import counted, flows, fronts, hops, hubs, parts, products, searches, sweep, thinning, voronoi

#: One architecture per family; its cubins run on later members, too.
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")

#: The commonest kinds.
DENSE = {
    "min_plus": ("float32", "float64", "int16", "int32", "int64"),
    "max_plus": ("float32", "float64"),
    "max_min": ("float32", "float64"),
    "log_plus": ("float32", "float64"),
}
SPARSE = {"min_plus": ("float32", "float64", "int32", "int64")}
#: Semirings of chains, such as forward–backward and Viterbi, and of sparse products; in both float dtypes.
CHAINS, PRODUCTS_OF_SPARSE = ("log_plus", "max_plus"), ("plus_times", "min_plus")
#: Columns of a dense operand, representative of any multiple of 128.
COLUMNS = 128


def units(arch: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(text, architecture, options) of the shipped translation units of an architecture, each once."""
    yield from dict.fromkeys(_units(arch))


def _units(arch: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    yield compile.source("bits.cu"), arch, ()
    for name, way in PRODUCTS.items():
        if {"wgmma": arch == "sm_90", "mma": arch == "sm_80", "logic": arch not in ("sm_80", "sm_90")}[name]:
            yield way.text, arch + way.suffix, ()
    yield hops.text(np.dtype("float32")), arch, ()
    for itemsize in (2, 4, 8):
        yield mirror.text(itemsize), arch, ()
    for semiring, dtype, nonnegative in _kinds(DENSE):
        yield survey.text(dtype.name, dtypes.zero(semiring, dtype).item()), arch, ()
        for name, text in sources.translation_units(semiring, dtype, arch, nonnegative=nonnegative):
            if not name.startswith(("step", "batched", "gemm batched")):  # for comparisons, and for batches
                yield text, arch, ()
        for _, text, target in sums_text.units(semiring, dtype, arch):
            yield text, target, ()
    for wide, narrow, sign in product(map(np.dtype, ("int16", "int32", "int64")), ("int16", "int32", "int64"), (1, -1)):
        if np.dtype(narrow).itemsize <= wide.itemsize:
            yield lengths.text(wide, np.dtype(narrow), sign), arch, ()
    for dtype in map(np.dtype, ("float32", "float64")):
        for semiring in map(catalog.get, CHAINS):
            yield chain.text(semiring, dtype), arch, ()
        for semiring in map(catalog.get, PRODUCTS_OF_SPARSE):
            yield csr.spgemm_text(semiring, dtype), arch, ()
            for lanes in ((1, 1), csr.form(COLUMNS, dtype.itemsize)):
                yield csr.gather_text(semiring, dtype, True, *lanes), arch, ()
    for semiring, dtype, nonnegative in _kinds(SPARSE):
        form, sizes = searches.Form(semiring, dtype, dtype), searches.Shape.of(dtype.itemsize, arch)
        for other in (form, replace(form, compared=True), replace(form, resumed=True)):
            yield searches.text(other, sizes), arch, ()
        yield thinning.text(thinning.form_of(semiring, dtype)), arch, ()
        yield levels.text(levels.form_of(semiring, dtype)), arch, ()
        shape = sweep.Shape.of(dtype.itemsize, arch)
        kind = semiring, dtype, nonnegative
        yield fronts.text(*kind), arch, ()
        yield hubs.text(*kind), arch, ()
        for mirrored in (False, True):
            yield products.text(*kind, mirrored), arch, ()
            yield voronoi.text(semiring, dtype, mirrored), arch, ()
            for kept in ("", "greatest", "some")[: 2 + mirrored]:
                yield sweep.text(*kind, shape, mirrored=mirrored, kept=kept), arch, ()
        yield walks.text(semiring, dtype), arch, ()
        yield changed.text(semiring, dtype), arch, predecessors.OPTIONS
        for file in predecessors.FILES:
            yield predecessors.text(semiring, dtype, file), arch, predecessors.OPTIONS
        for near in (2, 1):
            yield adjoint.text(semiring, dtype, pairs.index_of(1), near), arch, predecessors.OPTIONS
        yield by_distance.text(semiring, dtype), arch, ()
        text = pairs.text(semiring, dtype, pairs.index_of(1), nonnegative=nonnegative)
        yield text, arch, predecessors.OPTIONS
    slack = float(np.finfo(np.float64).eps) ** SLACK
    for doubt in (0.0, slack):
        yield counted.text(doubt), arch, ()
        yield flows.text(parts.Shape.of(doubt), "double", doubt), arch, ()
    yield flows.text(parts.Shape(), "float", 0.0), arch, ()


def _kinds(table: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Semiring, np.dtype, bool]]:
    for name, names in table.items():
        for dtype, nonnegative in product(map(np.dtype, names), (True, False)):
            yield catalog.get(name), dtype, nonnegative


def build(arch: str) -> tuple[int, int]:
    """Write the archive of an architecture; returns its number of units and bytes."""

    def compiled(unit: tuple[str, str, tuple[str, ...]]) -> tuple[str, bytes]:
        text, target, options = unit
        binary = compile.compile(text, target, options=options)
        return cache.name_of(text, target, (*compile.OPTIONS, *options)), cache.packed(binary)

    wanted, path = list(units(arch)), cache.FOLDER / f"{arch}.zip"
    path.parent.mkdir(exist_ok=True)
    with (
        ThreadPoolExecutor(cpu_count()) as pool,
        zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive,
    ):
        archive.comment = str(compile.version()[0]).encode()
        for done, (name, content) in enumerate(pool.map(compiled, wanted), start=1):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_LZMA)
            print(f"\r{arch}: {done} of {len(wanted)} kernels", end="", file=sys.stderr, flush=True)
    size = path.stat().st_size
    print(f"\r{arch}: {len(wanted)} kernels, {size / 1e6:.1f} MB", file=sys.stderr)
    return len(wanted), size


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ARCHITECTURES:
        build(chosen)
