"""Translation units of the products of sums.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring
from .. import algebra, compile
from . import tiles
from .tiles import Tile

#: Side of the tiles of C with one flag.
FLAGGED = 128
#: Block side and thread side of term-by-term kernels, largest first.
EXACT = ((64, 4), (32, 2), (16, 2))


@dataclass(frozen=True)
class Tensor:
    """Tensor core configuration: parts per operand, their PTX type, pipeline stages of `sums_wgmma.cu`."""

    parts: int
    kind: str
    stages: int
    group: int = 4

    def text(self, cluster: int, logarithms: bool) -> str:
        numbers = {"parts": self.parts, "stages": self.stages, "cluster": cluster, "group": self.group}
        constants, kind = algebra.constants(**numbers, logarithms=logarithms), f'#define PART_TYPE "{self.kind}"\n'
        return compile.source("sums_wgmma.cu", constants, kind)

    @property
    def shared(self) -> int:
        """Bytes of shared memory, including alignment and two barriers per stage."""
        return self.stages * (2 * self.parts * FLAGGED * 128 + 16) + 1024


TENSOR = {False: Tensor(3, "bf16", 2), True: Tensor(2, "f16", 3)}


def split(dtype: np.dtype, parts: int, logarithms: bool) -> str:
    return compile.source("sums_split.cu", _type(dtype), algebra.constants(parts=parts, logarithms=logarithms))


def exact(dtype: np.dtype, side: int, tm: int) -> str:
    return compile.source("sums_exact.cu", _type(dtype), algebra.constants(side=side, tm=tm))


def finish() -> str:
    return compile.source("sums_finish.cu")


def exponentials(dtype: np.dtype) -> str:
    return compile.source("exponentials.cu", _type(dtype))


def flagged(algebra_text: str, tile: Tile, aligned: bool) -> str:
    return compile.source("gemm_flagged.cu", algebra_text, tile.text(aligned=aligned))


def tile_with_one_flag(table: Sequence[Tile]) -> Tile:
    """The first tile that divides a flag's square."""
    return next(tile for tile in table if FLAGGED % tile.bm == FLAGGED % tile.bn == 0)


def units(semiring: Semiring, dtype: np.dtype, arch: str) -> Iterator[tuple[str, str, str]]:
    """(name, text, architecture) of every translation unit of products besides `gemm.cu`."""
    logarithms = takes_logarithms(semiring)
    if logarithms is None or not SCALARS[dtype].floating or not (logarithms or dtype.itemsize == 4):
        return
    if logarithms:
        for sizes in EXACT:
            yield f"exact {sizes[0]}", exact(dtype, *sizes), arch
        yield "exponentials", exponentials(dtype), arch
        if dtype.itemsize == 8:
            yield "finish", finish(), arch
            yield "split", split(dtype, 1, True), arch
    if dtype.itemsize == 4 and arch == "sm_90":
        yield "split", split(dtype, TENSOR[logarithms].parts, logarithms), arch
        for cluster in (1, 2):
            yield f"tensor {cluster}", TENSOR[logarithms].text(cluster, logarithms), f"{arch}a"
    if not logarithms and arch == "sm_90":
        text, kind = algebra.text(semiring, dtype), tiles.kind(semiring, dtype, None)
        for aligned in (True, False):
            yield f"flagged {aligned}", flagged(text, tile_with_one_flag(tiles.table(arch, kind, dtype)), aligned), arch


def takes_logarithms(semiring: Semiring) -> bool | None:
    """True for (log-sum-exp, +), False for (+, ×), else None."""
    operations = semiring.add.ufunc, semiring.mul.ufunc
    return True if operations == (np.logaddexp, np.add) else False if operations == (np.add, np.multiply) else None


def _type(dtype: np.dtype) -> str:
    return f"using T = {algebra.spelled(dtype)[0]};\n"
