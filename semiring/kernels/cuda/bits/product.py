"""Products of packed Boolean matrices on the GPU: kernel choice, launch, and tensor maps.

A product takes A (m × k) and Bᵀ (n × k), so that both have k along their rows; see bits.cuh.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....host.errors import DeviceError
from .. import compile, gpu, tensor_maps

#: If a product gives way: least steps of 1024 bits per block (a third of a millisecond), and most turns per launch; a
#: turn costs a few steps.
STAY, TURNS = 512, 128


class Bits(NamedTuple):
    """A packed matrix in a kernel's terms: address, leading dimension in words, sizes in bits."""

    address: int
    ld: int
    rows: int
    columns: int

    @property
    def words(self) -> int:
        return -(-self.columns // 64)

    @property
    def aligned(self) -> bool:
        return not (self.address % 16 or self.ld % 2)

    def cut_rows(self, start: int, stop: int) -> Bits:
        return Bits(self.address + 8 * start * self.ld, self.ld, min(stop, self.rows) - start, self.columns)

    def cut_columns(self, start: int, stop: int) -> Bits:
        """Columns start … stop − 1; `start` is a multiple of 64."""
        return Bits(self.address + start // 8, self.ld, self.rows, min(stop, self.columns) - start)


@dataclass(frozen=True)
class Product:
    """A product kernel and its tiles.

    file : kernel source
    tile : (rows, columns) of a thread block's output
    group : vertically adjacent tiles scheduled together, for the L2 cache
    stages, stage_bytes : pipeline stages of A's and Bᵀ's tiles in dynamic shared memory, and their size; 0 if static
    cluster : vertically adjacent thread blocks that share loads of Bᵀ
    suffix : of the architecture's name, for the instructions
    aligned : whether operand rows must be 16-byte aligned
    """

    file: str
    tile: tuple[int, int]
    group: int = 8
    stages: int = 0
    stage_bytes: int = 0
    cluster: int = 1
    suffix: str = ""
    aligned: bool = True

    @property
    def text(self) -> str:
        sizes = {"stages": self.stages, "group": self.group, "cluster": self.cluster}
        return compile.source(self.file, *(f"constexpr int {name} = {value};\n" for name, value in sizes.items()))

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory, including alignment and two barriers per stage."""
        return self.stages * (self.stage_bytes + 16) + 1024 if self.stages else 0


PRODUCTS = {
    "wgmma": Product("bits_wgmma.cu", (128, 256), stages=4, stage_bytes=384 * 128, cluster=2, suffix="a"),
    "mma": Product("bits_mma.cu", (128, 256), stages=3, stage_bytes=384 * 64),
    "logic": Product("bits_logic.cu", (128, 128), aligned=False),
}


def default(device: int) -> str:
    """The fastest instructions of a device: Hopper has wgmma on bits, 8.x mma, newer ones neither in hardware."""
    return {8: "mma", 9: "wgmma"}.get(gpu.capability(device)[0], "logic")


def check(name: str, device: int) -> None:
    """Raise DeviceError if the instructions do not exist, or not on this device."""
    if name not in PRODUCTS:
        raise DeviceError(f"bits: instructions must be one of {', '.join(PRODUCTS)}, got {name!r}.")
    if name == "wgmma" and gpu.capability(device)[0] != 9:
        major, minor = gpu.capability(device)
        raise DeviceError(f'bits: instructions="wgmma" needs compute capability 9.0, got {major}.{minor}. Use "mma".')


def multiply(name: str, C: Bits, A: Bits, Bt: Bits, *, accumulate: bool, gives_way: bool = False) -> None:
    """C ← A ∧ B, or C ← C ∨ A ∧ B if `accumulate`, from A and Bᵀ; A.columns > 0.

    If it `gives_way`, blocks end early, so that streams of higher priority get a turn.
    """
    device, product = gpu.current(), PRODUCTS[name]
    (high, wide), sizes = product.tile, (np.int32(C.rows), np.int32(C.columns))
    function = _function(product, device)
    if name == "wgmma":
        tiles = -(-C.rows // (high * product.cluster)) * -(-C.columns // wide)
        clusters, steps = gpu.multiprocessors(device) // product.cluster, -(-A.columns // 1024)
        blocks = product.cluster * min(tiles, clusters * (turns(tiles, clusters, steps) if gives_way else 1))
        left, right = tensor_map(A, high), tensor_map(Bt, wide // product.cluster)
        arguments: tuple[Any, ...] = (left, right, C.address, C.ld, *sizes, np.int32(steps), np.int32(accumulate))
        threads = 288
    else:
        unit = 1 if name == "mma" else 2  # logic works on half words
        blocks = -(-C.rows // high) * -(-C.columns // wide)
        addresses = (x for X in (A, Bt, C) for x in (X.address, unit * X.ld))
        arguments = (*addresses, *sizes, np.int32(unit * A.words), np.int32(accumulate))
        threads = 256
    function((blocks,), (threads,), arguments, shared_mem=product.shared)


def turns(tiles: int, clusters: int, steps: int) -> int:
    """Number of successive blocks per slot, for `tiles` on `clusters` slots.

    Examples
    --------
    >>> turns(100, 66, 8), turns(66 * 200, 66, 8), turns(1 << 20, 66, 8)
    (1, 4, 128)
    """
    each = -(-tiles // clusters)
    return min(TURNS, -(-each * steps // STAY))


@cache
def _function(product: Product, device: int) -> Any:
    arch = compile.device_arch(device) + product.suffix
    function = compile.functions(product.text, arch=arch, name=product.file).get_function("product")
    compile.allow_shared(function, product.shared)
    return function


def tensor_map(X: Bits, rows: int) -> np.ndarray:
    """Tensor map for boxes of 1024 bits × `rows` of X; bits outside X read as zeros."""
    # A single row has no pitch; the driver requires a multiple of 16 bytes nevertheless.
    pitch = 8 * (X.ld if X.rows > 1 else X.words + X.words % 2)
    return tensor_maps.tensor_map(X.address, pitch, 8 * X.words, X.rows, rows)
