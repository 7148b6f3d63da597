"""A fuzzer of the whole library: `python -m tests.fuzz --seconds 60`, or `--hours 3`, or `--target files`.

A target draws cases at random and holds each to an oracle outside of the library, or to a promise of
docs/promises.md. Whatever else happens is a finding: a wrong value, an error that is not one of ours, a dead process, a
case that never ends or takes memory out of proportion.

| target | what it draws |
|---|---|
| files | graphs written in every format and read back; files damaged in every way |
| tables | tables of numbers without names: a matrix, a question, or refused |
| archives | .npy, .npz and saved results: bits flipped, arrays exchanged for crafted ones |
| stores | hub labels, tiles, packed bits, Zarr, checkpoints: bits flipped, parts exchanged for crafted ones |
| algebra | closures, products, powers, factorisations: every semiring, dtype, memory layout and schedule |
| sparse | sparse matrices eliminated: every kind of ⊕ and ⊗, order and query |
| graphs | every kind of input and label; distances, paths and reachability |
| csgraph | dense, masked and sparse matrices for the functions that are SciPy's, held to SciPy itself |
| attributes | graphs whose edges carry several attributes: which of them is the weight |
| zeros | dense matrices with zeros: edges, none, or refused |
| products | sparse products with masks and `out`, whatever SciPy remembers of its rows |
| saturation | integers near the ends of their dtype, by every engine and question |
| searches | searches by weight, matrices of which few arcs matter, hop counts on bits |
| flows | sums over best paths, within limits and of edges of any scale, by each engine |
| ranked | simple paths from the best on, beside NetworkX's |
| turns | networks with forbidden, costly and by-way turns, and U-turns; what changes, is saved, flows |
| changes | graphs whose weights change again and again, with hub labels and without; flows |
| updates | matrices whose entries change again and again, with their closures |
| kills | writers of files and directories killed at any step, and two at once |
| memory | calls of every kind within limits of memory |
| lists | nested lists, ragged and odd, in place of arrays |
| processes | the command `apsp`: arguments, signals, closed and full outputs, pipes |

A case follows from its target, the seed and its number alone, so that one command replays it.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The oracles of `tests/cases.py` are imported as the tests import them.
if str(ROOT / "tests") not in sys.path:
    sys.path.insert(0, str(ROOT / "tests"))

#: Each with its share of the time: a process takes much longer than a product.
TARGETS = {
    **dict.fromkeys(("csgraph", "attributes", "zeros", "sparse", "products", "tables", "lists"), 1),
    **dict.fromkeys(
        (
            *("saturation", "kills", "files", "archives", "stores", "graphs", "searches", "changes"),
            *("updates", "flows", "memory", "ranked", "turns"),
        ),
        2,
    ),
    **dict.fromkeys(("algebra", "processes"), 3),
}
#: Those that a GPU can compute.
ON_GPU = ("algebra", "sparse", "graphs", "csgraph", "attributes", "zeros", "saturation")
