"""What is chosen, and compiled, once for a semiring on a dtype and a device, however many backends are bound to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...algebra import Semiring, Variant
from ...compiling import about
from .. import algebra, cards, compile, gpu
from . import cooperative, sources, tiles
from .cooperative import Geometry
from .tiles import Tile


@lru_cache(maxsize=256)
def kernels(semiring: Semiring, dtype: np.dtype, nonnegative: bool, tile: str, per_thread: int, device: int) -> Kernels:
    """The kernels of a backend on a device; the same object each time."""
    return Kernels(semiring, dtype, nonnegative, tile, per_thread, device)


class Launch(NamedTuple):
    """A product kernel, its grid along x, its block, its bytes of shared memory, and what it is passed.

    `parts` are the tiles that are not split, those that are, along k, and the steps of a part; `counters` the bytes
    of zeros in which parts wait for one another.
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
    """Which step, which sizes and which machine code: what a verb needs to know before it launches.

    Entry functions are compiled on first use; see `CudaBackend` for what the attributes mean.
    """

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
        """The faster step that the data and the architecture permit."""
        return algebra.variant_of(self.semiring, self.dtype, nonnegative=self.nonnegative, arch=self.arch)

    @cached_property
    def kind(self) -> str:
        """What tiles are tuned for."""
        return tiles.kind(self.semiring, self.dtype, self.variant)

    @cached_property
    def text(self) -> str:
        """The semiring in C++."""
        return algebra.text(self.semiring, self.dtype, self.variant)

    @cached_property
    def arch(self) -> str:
        """The architecture to compile for."""
        return compile.device_arch(self.device)

    @cached_property
    def limits(self) -> cards.Limits:
        """From which sizes on the device computes in another way."""
        return cards.limits(self.arch)

    @cached_property
    def multiprocessors(self) -> int:
        """How many the device has."""
        return gpu.multiprocessors(self.device)

    @cached_property
    def tile_table(self) -> tuple[Tile, ...]:
        """The tiles among which products choose."""
        tuned = tiles.table(self.arch, self.kind, self.dtype)
        return tuned if self.tile == "tuned" else (sources.plain_tile(tuned[0].lanes),)

    @cached_property
    def geometries(self) -> tuple[Geometry, ...]:
        """The geometries among which closures in one launch choose; of each kernel small tiles first."""
        return *cooperative.streaming(*self._step), *cooperative.resident(*self._step)

    @cached_property
    def choose(self) -> Callable[[int, int, int], Tile]:
        """The tile for an m × n product over k, whose choice is remembered."""
        table, device = self.tile_table, self.multiprocessors
        return lru_cache(maxsize=4096)(lambda m, n, k: tiles.choose(table, m, n, k, device))

    def geometry(self, n: int) -> Geometry:
        """How n × n is closed in one launch: resident if that suits, else with the smallest tiles that fit."""
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
        """The geometry of closures by a thread block a matrix."""
        return cooperative.batched(*self._step)

    @cached_property
    def _step(self) -> tuple[str, int, int, str]:
        """What sizes depend on: the kind of step, an element's bytes, elements to a word, the architecture."""
        return self.kind, self.dtype.itemsize, self.tile_table[0].lanes, self.arch

    @cached_property
    def product(self) -> Callable[[Tile, int, int, int, bool, str], Launch]:
        """How an m × n product over k is launched with a tile, which is remembered.

        Of the ways "split-K", "unsplit" and "batched" the first allows that tiles which fill no complete wave are split
        along k.
        """
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
        """The product kernel of a tile."""
        text = partial(sources.gemm_source, self.text, tile, aligned=aligned, way=way)
        return self.function("gemm", text, "gemm.cu", (tile, aligned, way), shared=tile.shared(self.dtype.itemsize))

    @cached_property
    def witnesses(self) -> tuple[str, tuple[Tile, ...]]:
        """The semiring in C++ with words of single entries, and the tiles of products with witnesses."""
        variant = sources.one_lane(self.semiring, self.dtype, self.arch, nonnegative=self.nonnegative)
        text, kind = algebra.text(self.semiring, self.dtype, variant), tiles.kind(self.semiring, self.dtype, variant)
        return text, tiles.witnesses(self.arch, kind, self.dtype)

    def witness(self, tile: Tile, aligned: bool) -> Any:
        """The kernel of a tile for products with their witnesses."""
        text = partial(sources.witness_source, self.witnesses[0], tile, aligned=aligned)
        shared = tile.shared(self.dtype.itemsize)
        return self.function("witness", text, "witness.cu", (tile, aligned), shared=shared)

    def closing(self, geometry: Geometry) -> Any:
        """The kernel of closures in one launch of this geometry."""
        text = partial(cooperative.source, self.text, geometry)
        return self.function(geometry.kernel, text, f"{geometry.kernel}.cu", geometry, shared=geometry.shared)

    def occupancy(self, geometry: Geometry) -> int:
        """Thread blocks of that kernel that a multiprocessor holds at once."""
        key = "occupancy", geometry
        if key not in self._functions:
            from cupy_backends.cuda.api import driver

            function = self.closing(geometry).ptr
            blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, cooperative.THREADS, geometry.shared)
            self._functions[key] = int(blocks)
        return int(self._functions[key])

    def pivot(self, many: bool) -> tuple[Any, int]:
        """The kernel that closes matrices of up to 64 rows, for one or for many of them, and its threads."""
        sizes = sources.pivots(self.kind, self.dtype.itemsize, self.arch)[many]
        function = self.function("pivot", partial(sources.pivot_source, self.text, *sizes), "pivot.cu", sizes)
        return function, cooperative.SIDE * cooperative.SIDE // (sizes[0] * sizes[1])

    def step(self, entry: str, access: str = "rows") -> Any:
        """A kernel of the step on an entire matrix."""
        text = partial(sources.step_source, self.text, self.per_thread, access)
        return self.function(entry, text, "step.cu", access)

    def prepare(self, n: int, block: int, others: Iterable[Callable[[], Any]] = ()) -> None:
        """Have what a recursive closure of n vertices launches first, compiled side by side.

        That is the closures of complete blocks and of a ragged last one, the product of large panels, and `others`.
        """
        if n in self._prepared:
            return
        self._prepared.add(n)
        tile, left = self.tile_table[0], n % block
        aligned = n * self.dtype.itemsize % 16 == 0 or tile.lanes > 1  # packed rows that are not are copied
        geometries = {self.geometry(size) for size in (block, left) if size > cooperative.SIDE}
        wanted: list[Callable[[], Any]] = [
            partial(self.gemm, tile, aligned, ""),
            *(partial(self.closing, geometry) for geometry in geometries),
            *others,
        ]
        if 0 < left <= cooperative.SIDE:
            wanted.append(partial(self.pivot, False))
        import cupy

        def compiled(kernel: Callable[[], Any]) -> None:
            with cupy.cuda.Device(self.device):
                kernel()

        with ThreadPoolExecutor(len(wanted)) as pool:
            list(pool.map(compiled, wanted))

    def count_stars_of(self, module: Any) -> None:
        """Count the stars of a module's kernels among those that may have no value."""
        if algebra.counts_stars(self.semiring, self.dtype):
            # Equal texts are one module, whose kernels may have counted for others before.
            address = compile.counter(module, algebra.COUNTER)
            self._counters.setdefault(address, gpu.number(address))

    def stars_without_value(self) -> int:
        """How many stars of integers had no value since these kernels were first requested; waits for the device."""
        return sum(gpu.number(address) - before for address, before in self._counters.items())

    def function(
        self, entry: str, text: Callable[[], str], file: str, variant: Any = None, *, shared: int = 0, suffix: str = ""
    ) -> Any:
        """An entry function on the current device, compiled on first use; `suffix` is the architecture's."""
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
