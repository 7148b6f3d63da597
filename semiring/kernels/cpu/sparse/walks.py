"""Schedules for GPU walks of an elimination tree: regions by columns, and dependency lists of entries.

See semiring/kernels/cuda/sparse/flows.cu. Entries (k, c) of F are numbered as in `counted`, column by column.
"""

from __future__ import annotations

from ..compile import kernel
from ..instructions import Array
from .regions import TOP


@kernel
def parts(parent: Array, kind: Array, tier: Array, part: Array, root: Array, above: Array, tier_of: Array) -> int:
    """Parts above the regions: connected supernodes of one tier; the first part has all roots; part −1 is in regions.

    root, above, tier_of : per part: uppermost supernode, parent part or −1, tier
    """
    found = 1
    root[0], above[0], tier_of[0] = -1, -1, 0
    for s in range(len(parent) - 1, -1, -1):
        part[s] = -1
        if kind[s] != TOP:
            continue
        p = parent[s]
        if p < 0:
            part[s] = 0
        elif tier[s] == tier_of[part[p]]:
            part[s] = part[p]
        else:
            part[s], root[found], above[found], tier_of[found] = found, s, part[p], tier[s]
            found += 1
    return found


@kernel
def paths(
    first: Array, begin: Array, rows: Array, base: Array, parent: Array, leaf: Array, place: Array, above: Array,
    lowest: Array, climbed: Array, lists: Array,
) -> None:  # fmt: skip
    """Per column: place on the path from the root, next column above, lowest below, and start of its entries.

    climbed : place of the row of each entry
    """
    for s in range(len(parent)):
        f, w = first[s], first[s + 1] - first[s]
        for c in range(w):
            place[f + c], above[f + c], lowest[f + c] = base[s] + w - 1 - c, f + c + 1, first[leaf[s]]
        above[f + w - 1] = first[parent[s]] if parent[s] >= 0 else -1
    x = 0
    for s in range(len(parent)):
        f, w = first[s], first[s + 1] - first[s]
        for c in range(f, f + w):
            lists[c] = x
            for k in range(c + 1, f + w):
                climbed[x] = place[k]
                x += 1
            for k in range(begin[s], begin[s + 1]):
                climbed[x] = place[rows[k]]
                x += 1
    lists[first[-1]] = x


@kernel
def strips(
    listed: Array, first: Array, begin: Array, rows: Array, columns: Array, begun: Array, lists: Array, corner: Array,
    entries: Array, met: Array,
) -> None:  # fmt: skip
    """Supernodes as listed, in strips of four columns, with the rows above.

    begun : first strip of each supernode
    lists : start of each strip's items
    corner : six entries among a strip's columns; −1 for none
    entries, met : four entries of each item, and its column
    """
    strip, x = 0, 0
    for i in range(len(listed)):
        s = listed[i]
        f, w = first[s], first[s + 1] - first[s]
        m = w + begin[s + 1] - begin[s]
        begun[s] = strip
        for low in range(0, w, 4):
            high, entry = min(low + 4, w), 0
            for c in range(low, low + 4):
                for k in range(c + 1, low + 4):
                    corner[strip, entry] = columns[f + c] + k - c - 1 if k < high else -1
                    entry += 1
            lists[strip] = x
            strip += 1
            for k in range(high, m):
                met[x] = f + k if k < w else rows[begin[s] + k - w]
                for c in range(low, low + 4):
                    entries[x, c - low] = columns[f + c] + k - c - 1 if c < high else -1
                x += 1
    lists[strip] = x


@kernel
def walked(
    first: Array, begin: Array, rows: Array, base: Array, parent: Array, child: Array, low: Array, high: Array,
    root: Array, regions: Array, roots: Array, listed: Array, units: Array, numbered: Array,
) -> tuple[int, int]:  # fmt: skip
    """Regions by strips, lowest first, with their processing order; returns the numbers of roots and strips.

    regions : (first strip, last + 1)
    roots : (supernode, rows, start of its dependencies on them, 0)
    listed : supernodes, children first
    units : per strip: next one above within its region, or ~root; first column, number of columns; supernode; stack
        place of its first column, −1 if nothing refers to it
    numbered, root : first strip of each supernode; workspace
    """
    count, done, found, owed = 0, 0, 0, 0
    for f in range(len(regions)):
        regions[f, 0] = count
        for s in range(low[f], high[f]):
            numbered[s] = count
            count += (first[s + 1] - first[s] + 3) // 4
        regions[f, 1] = count
        for s in range(high[f] - 1, low[f] - 1, -1):
            p = parent[s]
            inside = p >= 0 and p < high[f]
            t = root[p] if inside else s
            root[s] = t
            w = first[s + 1] - first[s]
            number = numbered[s]
            for c in range(0, w, 4):
                place = begin[t + 1] - begin[t] + base[s] - base[t] + w - 1 - c  # one less for each further column
                units[number, 0], units[number, 1], units[number, 2] = number + 1, first[s] + c, min(4, w - c)
                units[number, 3], units[number, 4] = s, -1 if c == 0 and child[s] < 0 else place
                number += 1
            if inside:
                units[number - 1, 0] = numbered[p]
            else:
                units[number - 1, 0] = ~found
                roots[found, 0], roots[found, 1], roots[found, 2] = s, begin[s + 1] - begin[s], owed
                owed += begin[s + 1] - begin[s]
                found += 1
        for s in range(high[f] - 1, low[f] - 2, -1):
            following = parent[s] if s >= low[f] else -1
            a = s + 1
            while a < high[f] and a != following:
                listed[done] = a
                done += 1
                a = parent[a] if parent[a] >= 0 else high[f]
    return found, count


@kernel
def slots(
    listed: Array, first: Array, begin: Array, rows: Array, base: Array, places: Array, root: Array, met: Array,
    place: Array,
) -> None:  # fmt: skip
    """place ← stack place, within its region, of column `met` of each item of `strips`; `places`: on the root path."""
    x = 0
    for i in range(len(listed)):
        s = listed[i]
        t = root[s]
        w, r, edge = first[s + 1] - first[s], begin[t + 1] - begin[t], first[t + 1]
        for high in range(4, w + 4, 4):
            q = begin[t]
            for _ in range(min(high, w), w + begin[s + 1] - begin[s]):
                row = met[x]
                if row < edge:
                    place[x] = r + places[row] - base[t]
                else:
                    while rows[q] < row:
                        q += 1
                    place[x] = q - begin[t]
                x += 1
