"""Kernels per semiring, dtype and device: choices and compiled functions, shared by all backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ....algebra.records import Semiring, Variant
from ....host.compiling import about
from .. import algebra, cards, compile, gpu
from ..library import cupy
from . import cooperative, sources, tiles
from .cooperative import Geometry
from .tiles import Tile


class Launch(NamedTuple):
    """A product launch: kernel, grid x, block, shared memory in bytes, arguments.

    `parts`: number of unsplit tiles, split factor along k, steps of a part; `counters`: bytes of zeros that synchronise
    parts.
    """

    function: Any
    blocks: int
    threads: tuple[int]
    shared: int
    shape: tuple[np.int32, np.int32, np.int32]
    parts: tuple[np.int32, np.int32, np.int32]
    counters: int


@dataclass(eq=False)
class Kernels:
    """Steps, sizes and machine code for launches, compiled on first use; attributes as in `CudaBackend`."""

    semiring: Semiring
    dtype: np.dtype
    nonnegative: bool
    tile: str
    per_thread: int
    device: int
    _chosen: dict[int, Geometry] = field(default_factory=dict, init=False, repr=False)
    _prepared: set[int] = field(default_factory=set, init=False, repr=False)
    _functions: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    _counters: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def variant(self) -> Variant | None:
        return algebra.variant_of(self.semiring, self.dtype, nonnegative=self.nonnegative, arch=self.arch)

    @cached_property
    def kind(self) -> str:
        """Key of the tuning tables."""
        return tiles.kind(self.semiring, self.dtype, self.variant)

    @cached_property
    def text(self) -> str:
        return algebra.text(self.semiring, self.dtype, self.variant)

    @cached_property
    def arch(self) -> str:
        return compile.device_arch(self.device)

    @cached_property
    def limits(self) -> cards.Limits:
        return cards.limits(self.arch)

    @cached_property
    def multiprocessors(self) -> int:
        return gpu.multiprocessors(self.device)

    @cached_property
    def tile_table(self) -> tuple[Tile, ...]:
        tuned = tiles.table(self.arch, self.kind, self.dtype)
        return tuned if self.tile == "tuned" else (sources.plain_tile(tuned[0].lanes),)

    @cached_property
    def geometries(self) -> tuple[Geometry, ...]:
        """Candidate geometries of closures in one launch, per kernel small tiles first."""
        return *cooperative.streaming(*self._step), *cooperative.resident(*self._step)

    @cached_property
    def choose(self) -> Callable[[int, int, int], Tile]:
        table, device = self.tile_table, self.multiprocessors
        return lru_cache(maxsize=4096)(lambda m, n, k: tiles.choose(table, m, n, k, device))

    def geometry(self, n: int) -> Geometry:
        """Geometry of an n × n closure in one launch: resident if suitable, else the smallest tiles that fit."""
        found = self._chosen.get(n)
        if found is None:
            fitting = [one for one in self.geometries if one.blocks(n) <= self.multiprocessors]
            resident = [
                one for one in fitting if one.resident and one.blocks(n) >= self.limits.resident * self.multiprocessors
            ]
            streaming = [one for one in self.geometries if not one.resident]
            found = (resident + [one for one in fitting if not one.resident] + streaming[-1:])[0]
            self._chosen[n] = found
        return found

    @cached_property
    def batched(self) -> Geometry:
        return cooperative.batched(*self._step)

    @cached_property
    def _step(self) -> tuple[str, int, int, str]:
        """Keys of geometries: kind of step, itemsize, elements per word, architecture."""
        return self.kind, self.dtype.itemsize, self.tile_table[0].lanes, self.arch

    @cached_property
    def product(self) -> Callable[[Tile, int, int, int, bool, str], Launch]:
        """Launch of an m × n product over k, memoised; of the ways, only "split-K" splits partial waves along k."""
        return lru_cache(maxsize=4096)(self._launch)

    def _launch(self, tile: Tile, m: int, n: int, k: int, aligned: bool, way: str) -> Launch:
        splits = tiles.splits(tile, m, n, k, self.multiprocessors) if way == "split-K" else 1
        steps = -(-k // (splits * tile.bk))
        splits = -(-k // (steps * tile.bk))
        unsplit = tile.unsplit(m, n, self.multiprocessors) if splits > 1 else 0
        split = tile.covers(m, n) - unsplit
        function = self.gemm(tile, aligned, way if way == "batched" or splits > 1 else "")
        return Launch(
            function,
            unsplit + split * splits,
            (tile.threads,),
            tile.shared(self.dtype.itemsize),
            (np.int32(m), np.int32(n), np.int32(k)),
            (np.int32(unsplit), np.int32(split), np.int32(steps)),
            4 * split if splits > 1 else 0,
        )

    def gemm(self, tile: Tile, aligned: bool, way: str) -> Any:
        text = partial(sources.gemm_source, self.text, tile, aligned=aligned, way=way)
        return self.function("gemm", text, "gemm.cu", (tile, aligned, way), shared=tile.shared(self.dtype.itemsize))

    @cached_property
    def witnesses(self) -> tuple[str, tuple[Tile, ...]]:
        """C++ of the semiring with single-entry words, and tiles of witness products."""
        variant = sources.one_lane(self.semiring, self.dtype, self.arch, nonnegative=self.nonnegative)
        text, kind = algebra.text(self.semiring, self.dtype, variant), tiles.kind(self.semiring, self.dtype, variant)
        return text, tiles.witnesses(self.arch, kind, self.dtype)

    def witness(self, tile: Tile, aligned: bool) -> Any:
        text = partial(sources.witness_source, self.witnesses[0], tile, aligned=aligned)
        shared = tile.shared(self.dtype.itemsize)
        return self.function("witness", text, "witness.cu", (tile, aligned), shared=shared)

    def closing(self, geometry: Geometry) -> Any:
        text = partial(cooperative.source, self.text, geometry)
        return self.function(geometry.kernel, text, f"{geometry.kernel}.cu", geometry, shared=geometry.shared)

    def occupancy(self, geometry: Geometry) -> int:
        key = "occupancy", geometry
        if key not in self._functions:
            function = self.closing(geometry)
            self._functions[key] = gpu.resident(function, cooperative.THREADS, geometry.shared)
        return int(self._functions[key])

    def pivot(self, many: bool) -> tuple[Any, int]:
        """Kernel for closures of up to 64 rows, for one or many matrices, and its block size."""
        sizes = sources.pivots(self.kind, self.dtype.itemsize, self.arch)[many]
        function = self.function("pivot", partial(sources.pivot_source, self.text, *sizes), "pivot.cu", sizes)
        return function, cooperative.SIDE * cooperative.SIDE // (sizes[0] * sizes[1])

    def step(self, entry: str, access: str = "rows") -> Any:
        text = partial(sources.step_source, self.text, self.per_thread, access)
        return self.function(entry, text, "step.cu", access)

    def prepare(self, n: int, block: int, others: Iterable[Callable[[], Any]] = ()) -> None:
        """Concurrently compile the first launches of a recursive closure of n vertices.

        These are closures of full blocks and of a ragged last one, the product of large panels, and `others`.
        """
        if n in self._prepared:
            return
        self._prepared.add(n)
        tile, left = self.tile_table[0], n % block
        aligned = n * self.dtype.itemsize % 16 == 0 or tile.lanes > 1  # packed unaligned rows are copied
        geometries = {self.geometry(size) for size in (block, left) if size > cooperative.SIDE}
        wanted: list[Callable[[], Any]] = [
            partial(self.gemm, tile, aligned, ""),
            *(partial(self.closing, geometry) for geometry in geometries),
            *others,
        ]
        if 0 < left <= cooperative.SIDE:
            wanted.append(partial(self.pivot, False))

        def compiled(kernel: Callable[[], Any]) -> None:
            with cupy.cuda.Device(self.device):
                kernel()

        with ThreadPoolExecutor(len(wanted)) as pool:
            list(pool.map(compiled, wanted))

    def count_stars_of(self, module: Any) -> None:
        if algebra.counts_stars(self.semiring, self.dtype):
            # Equal texts share a module, whose count may predate these kernels.
            address = int(module.get_global_var(algebra.COUNTER))
            self._counters.setdefault(address, gpu.number(address))

    def stars_without_value(self) -> int:
        """Integer stars without a value since these kernels were first requested; waits for the device."""
        return sum(gpu.number(address) - before for address, before in self._counters.items())

    def function(
        self, entry: str, text: Callable[[], str], file: str, variant: Any = None, *, shared: int = 0, suffix: str = ""
    ) -> Any:
        """An entry function on the current device, compiled on first use; `suffix` extends the architecture's name."""
        key = entry, variant
        found = self._functions.get(key)
        if found is None:
            with about(f"{self.semiring.name} in {self.dtype}"):
                module = compile.functions(text(), arch=self.arch + suffix, name=file)
            if entry not in ("gemm", "witness"):
                self.count_stars_of(module)
            found = module.get_function(entry)
            compile.allow_shared(found, shared)
            self._functions[key] = found
        return found


#: `Kernels`, shared by equal arguments.
kernels = lru_cache(maxsize=256)(Kernels)
