"""Classes of sources that a subtree cannot distinguish: found, merged, and their dependencies shared out again.

A source outside a subtree enters it through the border alone, the rows above that its columns reach. Two sources whose
border distances differ by a constant, with equal shares of best paths, take the same paths within. One lane then stands
for both, at the farther distance and with the larger number of paths. Lengths are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import kernel
from ..instructions import Array

#: Counts below this multiply exactly.
EXACT = 2.0**53


@kernel
def together(
    y: Array, s: Array, rows: Array, none: Any, active: int, width: int, which: Array, keys: Array, near: Array,
    walks: Array, members: Array, own_y: Array, own_s: Array, own_g: Array,
) -> tuple[int, float]:  # fmt: skip
    """Merge lanes into classes; returns their number, a multiple of `width`, and the distance of the farthest row.

    Classes are not entered if they are more than half of the lanes.

    y, s : lengths and numbers of best walks per row and lane; `none` is no walk
    which : class of each lane, first lane of each class
    near, walks : distance of the nearest border row per lane, and the greatest per class; its number of walks
    members : lanes per class, then workspace, the 64-bit sums of vectors of lanes
    own_y, own_s, own_g : rows of classes, concatenated; own_g starts at 0
    """
    of, first, least, ways = which[0], which[1], near[0], walks[0]
    for lane in range(active):
        least[lane], ways[lane], keys[0, lane] = none, 0.0, 0
    for r in rows:
        for lane in range(active):
            least[lane] = min(least[lane], y[r, lane])
    for r in rows[::-1]:
        for lane in range(active):
            ways[lane] = s[r, lane] if y[r, lane] == least[lane] else ways[lane]
    for r in rows:
        for lane in range(active):
            further = np.int64(y[r, lane] - least[lane]) if y[r, lane] != none else np.int64(-1)
            keys[0, lane] = (keys[0, lane] ^ further) * np.int64(0x2545F4914F6CDD1D)
    count = 0
    for lane in range(active):
        c = 0
        while c < count:
            f, same = first[c], keys[1, c] == keys[0, lane]
            k = 0
            while same and k < len(rows):
                a, b, p, q = y[rows[k], lane], y[rows[k], f], s[rows[k], lane], s[rows[k], f]
                if a == none or b == none:
                    same = a == b
                else:
                    alike = p == ways[lane] and q == ways[f]
                    same = a - least[lane] == b - least[f] and (alike or p / ways[lane] == q / ways[f])
                k += 1
            if same:
                break
            c += 1
        if c == count:
            first[c], keys[1, c], near[1, c], walks[1, c], members[c] = lane, keys[0, lane], least[lane], 0.0, 0.0
            count += 1
        of[lane] = c
        members[c] += 1.0
        near[1, c] = max(near[1, c], least[lane])
        walks[1, c] = max(walks[1, c], ways[lane])
    wide, farthest = -(-count // width) * width, 0.0
    if 2 * wide > y.shape[1]:
        return wide, farthest
    members[count:wide] = 0.0
    totals = members[wide : wide + wide // width].view(np.int64)
    for group in range(wide // width):
        totals[group] = np.int64(members[group * width : (group + 1) * width].sum())
    for r in rows:
        for c in range(wide):
            at = r * wide + c
            own_y[at], own_s[at], own_g[at] = none, 0.0, 0.0
            if c >= count or y[r, first[c]] == none:
                continue
            f = first[c]
            length = y[r, f] - least[f] + near[1, c]
            farthest = max(farthest, float(length))
            own_y[at], own_s[at] = length, s[r, f]
            if walks[1, c] != ways[f]:
                every = s[r, f] * walks[1, c]
                own_s[at] = every / ways[f] if every < EXACT else s[r, f] * (walks[1, c] / ways[f])
    return wide, farthest


@kernel
def owe(
    g: Array, own_g: Array, rows: Array, active: int, wide: int, which: Array, walks: Array, members: Array
) -> None:
    """g[r, lane] += dependency of the lane's class at border row r, per walk of the lane."""
    for r in rows:
        for lane in range(active):
            c = which[0, lane]
            if own_g[r * wide + c] != 0.0:
                g[r, lane] += own_g[r * wide + c] / members[c] * (walks[1, c] / walks[0, lane])
