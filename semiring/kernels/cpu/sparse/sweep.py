"""Rows of A*, many at once: a climb to the roots and a sweep back down, over closed panels.

    climb, children first, on the sources' root paths:   z_R ← z_R ⊕ z_C U
    sweep, parents first, everywhere:                    y_C = z_C D ⊕ y_R L          (z_C = 0 off the root paths)

For a subset of columns, the sweep follows their root paths alone.

The lanes of a vector are sources. A tile is one strip of a panel, at most STRIP columns, by all lanes; it loads whole
rows of y by their place on the path from the root. In descending order the ancestors of a supernode are exactly the
current path, so that y is a stack as high as the tree. Columns of A* (`mirrored`) are the same with swapped panels, [D
U]ᵀ for [D; L], and swapped operands of ⊗.
"""

from __future__ import annotations

from typing import Any

from ..compile import kernel as own
from ..instructions import Array
from ..intrinsics import jump, kernel, part
from .strips import STRIP


@own
def ancestors(sources: Array, owner: Array, parent: Array, offset: Array, path: Array) -> Any:
    """Supernodes on the sources' root paths, unordered; returns their number. Their `offset` changes from −1 to 0."""
    found = 0
    for p in sources:
        s = owner[p]
        while s >= 0 and offset[s] < 0:
            offset[s] = 0
            path[found] = s
            found += 1
            s = parent[s]
    return found


@own
def places(path: Array, first: Array, offset: Array) -> Any:
    """offset[s] ← first column of each supernode of a path among the path's columns; returns their number."""
    columns = 0
    for s in path:
        offset[s] = columns
        columns += first[s + 1] - first[s]
    return columns


@kernel
def climb(
    strip: int, size: int, mirrored: bool, start: int, stop: int, path: Array, offset: Array, first: Array,
    begin: Array, rows: Array, owner: Array, panel: Array, index: Array, up: int, z: int, lanes: int,
) -> None:  # fmt: skip
    """z_R ← z_R ⊕ z_C U for supernodes path[start:stop]; row p of z is place p on the paths.

    `strip` is the address of `strips.climb_strip` for the kind, with entries of `size` bytes.
    """
    row = lanes * size
    for q in range(start, stop):
        s = path[q]
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        for k in range(r):
            o = owner[rows[low + k]]
            index[k] = offset[o] + rows[low + k] - first[o]
        for j in range(0, w, STRIP):
            columns = min(STRIP, w - j)
            u = up + (panel[s] + j * (w + r) + w * columns) * size
            jump(strip, (mirrored, columns, lanes, z + (offset[s] + j) * row, r, index.ctypes.data, z, u))


@kernel
def sweep(
    strip: int, size: int, mirrored: bool, start: int, stop: int, path: Array, offset: Array, first: Array,
    child: Array, begin: Array, slot: Array, base: Array, panel: Array, label: Array, down: int, z: int, stack: int,
    out: int, pitch: int, lanes: int,
) -> None:  # fmt: skip
    """y_C = z_C D ⊕ y_R L for supernodes path[stop − 1] … path[start]; column p goes to row label[p] of `out`, if any.

    A path has all ancestors of its supernodes, in ascending order. `strip` is the address of `strips.sweep_strip`.
    """
    row = lanes * size
    for q in range(stop - 1, start - 1, -1):
        s = path[q]
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        on_path = w if offset[s] >= 0 else 0
        for j in range(0, w, STRIP):
            columns = min(STRIP, w - j)
            panel_strip = down + (panel[s] + j * (w + r)) * size
            y = stack + (base[s] + j) * row if child[s] >= 0 else 0  # a leaf's y is never read
            jump(
                strip,
                (
                    mirrored, columns, lanes, on_path, z + offset[s] * row, panel_strip,
                    r, slot.ctypes.data + 4 * low, stack, panel_strip + w * columns * size,
                    y, out, label.ctypes.data + 4 * (first[s] + j), pitch,
                ),
            )  # fmt: skip


@part
def climb_alone(
    fill: int, strip: int, size: int, mirrored: bool, p: int, parent: Array, owner: Array, first: Array, begin: Array,
    slot: Array, base: Array, panel: Array, up: int, z: int,
) -> None:  # fmt: skip
    """The climb of one source; z is the path from the root."""
    s = owner[p]
    jump(fill, (base[s] + first[s + 1] - first[s], z, base[s] + p - first[s]))
    while s >= 0:
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        if r:
            for j in range(0, w, STRIP):
                columns = min(STRIP, w - j)
                u = up + (panel[s] + j * (w + r) + w * columns) * size
                jump(strip, (mirrored, columns, 1, z + (base[s] + j) * size, r, slot.ctypes.data + 4 * low, z, u))
        s = parent[s]


@kernel
def pairs(
    fill: int, strip: int, meet: int, size: int, start: int, stop: int, sources: Array, targets: Array, parent: Array,
    owner: Array, first: Array, begin: Array, slot: Array, base: Array, panel: Array, lower: int, upper: int, z: int,
    y: int, out: int,
) -> None:  # fmt: skip
    """out[q] ← out[q] ⊕ A*[sources[q], targets[q]]: climbs z from the source and y from the target, then z_C D y_C.

    z and y hold a path from the root, in full vectors. `fill`, `strip` and `meet` are the addresses of `strips.fill`,
    `climb_strip` and `pair_strip`.
    """
    for q in range(start, stop):
        i, j = sources[q], targets[q]
        s, t = owner[i], owner[j]
        while s != t and s >= 0 and t >= 0:  # to the lowest common supernode
            if s < t:
                s = parent[s]
            else:
                t = parent[t]
        if s >= 0 and t >= 0:
            for side in range(2):  # a loop, so that it is compiled once
                p, up, path = (j, lower, y) if side else (i, upper, z)
                climb_alone(fill, strip, size, side == 1, p, parent, owner, first, begin, slot, base, panel, up, path)
            while s >= 0:
                w = first[s + 1] - first[s]
                m = w + begin[s + 1] - begin[s]
                for k in range(0, w, STRIP):
                    d = lower + (panel[s] + k * m) * size
                    here = base[s] * size
                    jump(meet, (min(STRIP, w - k), w, z + here, d, y + here + k * size, out + q * size))
                s = parent[s]
