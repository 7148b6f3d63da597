"""Which tile is the fastest for the product of a semiring and dtype on this card?

    python benchmarks/tune.py min_plus float32 --nonnegative [--size 8192] [--write]

Every sensible tile is compiled, checked and timed. Tiles that spill a register, that do not fit in shared memory or
whose product is wrong are out before any clock runs. With --write the best takes the first place of its table in
semiring/kernels/cuda/cards/, in the file of the architecture of the card; the smaller tiles behind it, which suit small
products, are kept and their rates measured anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, begin

# isort: split
import cases
import gpu
from device import cp, milliseconds

from semiring import SemiringError, get
from semiring.kernels.backend import bind
from semiring.kernels.cuda import algebra, cards, compile
from semiring.kernels.cuda.dense import matrix, sources, tiles

#: Orders of a thread's sums: the compiler's luck with banks of registers is worth several percent.
ORDERS: tuple[dict[str, int], ...] = tuple(
    {"walk": walk, "run": run, "b_first": first}
    for walk, run in ((8, 64), (4, 64), (4, 4), (2, 4), (2, 2))
    for first in (False, True)
)
CARDS = Path(cards.__file__).parent / "cards"


def candidates(lanes: int, itemsize: int) -> Iterator[tiles.Tile]:
    """Tiles of 128 or 256 threads whose sums fit the registers; sizes in elements."""
    wide = itemsize > 4
    for tm, tn in ((4, 4), (8, 4)) if wide else ((8, 8 * lanes), (8, 4 * lanes)):
        for rows, columns in ((8, 16), (16, 8), (16, 16)):
            for blocks in (2, 4) if rows * columns < 256 else (1, 2):
                for bk in (16, 32):
                    for unroll in (1, 2, 4, 8):
                        for order in ORDERS:
                            if order["walk"] <= tm and 2 * unroll <= bk:
                                sizes = (rows * tm, columns * tn, bk, tm, tn)
                                yield tiles.Tile(*sizes, blocks, 1.0, lanes, unroll=unroll, **order)


def survivors(text: str, found: list[tiles.Tile], itemsize: int, arch: str) -> list[tiles.Tile]:
    """Tiles that compile without a spilled register, aligned or not, `blocks` of them to a multiprocessor."""
    room = cp.cuda.runtime.deviceGetAttribute(cp.cuda.runtime.cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0)

    def used(tile: tiles.Tile, aligned: bool) -> compile.Resources:
        source = sources.gemm_source(text, tile, aligned=aligned)
        found = compile.compile(source, arch).resources
        while "gemm" not in found:  # of programs that are compiled at once, NVRTC may lose the report of one
            found = compile.compile(source, arch).resources
        return found["gemm"]

    def fits(tile: tiles.Tile) -> bool:
        if tile.blocks * (tile.shared(itemsize) + 1024) > room:
            return False
        try:
            return not any(u.spill_stores + u.stack for u in (used(tile, aligned) for aligned in (True, False)))
        except SemiringError:
            return False

    with ThreadPoolExecutor() as pool:
        return [tile for tile, good in zip(found, pool.map(fits, found), strict=True) if good]


def measure(ops: Any, tile: tiles.Tile, C: Any, A: Any, B: Any, right: Any) -> float:
    """Pairs a second of C ← A ⊗ B; 0 where it is not `right`, which is None for the first."""
    operands = [matrix.view(X) for X in (C, A, B)]
    C[...] = 7
    ops.multiply(tile, *operands, accumulate=False)
    if right is None:
        cases.check_product(cases.Case(ops.semiring, ops.dtype), A, B, C)
    elif not bool((C == right).all()):
        print(f"{tile}: wrong")
        return 0.0
    t = milliseconds(lambda: ops.multiply(tile, *operands, accumulate=False), repeats=3)
    return len(A) * len(B) * B.shape[1] / t * 1e3


def tune(name: str, dtype: str, nonnegative: bool, size: int) -> tuple[str, str, list[tiles.Tile]]:
    """(architecture, key, table) with the best large tile first and rates relative to it."""
    s, kind = get(name), np.dtype(dtype)
    variant = algebra.variant_of(s, kind, nonnegative=nonnegative)
    text, arch = algebra.text(s, kind, variant), compile.device_arch(0)
    ops = bind(s, dtype, device="cuda", nonnegative=nonnegative)
    old = ops.tile_table
    found = survivors(text, [*old, *candidates(old[0].lanes, kind.itemsize)], kind.itemsize, arch)
    print(f"{name} {dtype} on {arch}: {len(found)} tiles compile without spilling", flush=True)
    A, B = (gpu.matrix(s, dtype, (size, size), nonnegative, seed) for seed in (1, 2))
    C, right, rates = cp.empty_like(A), None, {}
    for tile in found:
        rates[tile] = measure(ops, tile, C, A, B, right)
        right = C.copy() if right is None else right
    ranked = sorted(rates, key=lambda tile: rates[tile], reverse=True)
    for tile in ranked[:10]:
        print(f"{rates[tile] / 1e12:7.2f} T/s  {tile}, {tile.blocks} blocks, unroll {tile.unroll}, walk {tile.walk}")
    best = ranked[0]
    table = [replace(t, rate=round(rates[t] / rates[best], 2)) for t in (best, *old[1:]) if rates.get(t)]
    return arch, f"{tiles.kind(s, kind, variant)}/{dtype}", table


def write(arch: str, key: str, table: list[tiles.Tile]) -> None:
    """Put the table into the file of its architecture, one tile a line, written beside it and renamed."""
    path = CARDS / f"{arch}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    standard = {f.name: f.default for f in fields(tiles.Tile)}
    rows = [{k: v for k, v in asdict(t).items() if v != standard[k]} for t in table]
    stored.setdefault("products", {})[key] = rows
    beside = path.with_suffix(".new")
    beside.write_text(shown(stored), encoding="utf-8")
    beside.replace(path)


def shown(card: dict[str, dict[str, list[Any]]]) -> str:
    """A card's sections as JSON, one row of a table a line."""

    def listed(rows: list[Any]) -> str:
        return "[\n" + ",\n".join(f"      {json.dumps(row)}" for row in rows) + "\n    ]" if rows else "[]"

    sections = (
        f'  "{section}": {{\n' + ",\n".join(f'    "{name}": {listed(rows)}' for name, rows in tables.items()) + "\n  }"
        for section, tables in card.items()
    )
    return "{\n" + ",\n".join(sections) + "\n}\n"


def main() -> None:
    parser = arguments(__doc__, quick=False)
    parser.add_argument("semiring")
    parser.add_argument("dtype")
    parser.add_argument("--nonnegative", action="store_true", help="tune the step for weights ≥ 0")
    parser.add_argument("--size", type=int, default=8192, help="side of the square product")
    parser.add_argument("--write", action="store_true", help="put the result into semiring/kernels/cuda/cards/")
    options = begin(parser, gpu=True)
    arch, key, table = tune(options.semiring, options.dtype, options.nonnegative, options.size)
    for tile in table:
        print(f"{arch} {key}: {tile}, rate {tile.rate}")
    if options.write:
        write(arch, key, table)


if __name__ == "__main__":
    main()
