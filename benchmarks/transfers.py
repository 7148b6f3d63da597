"""What do transfers add to the closure of a NumPy array on a GPU?

    python benchmarks/transfers.py [--sizes 4096 8192 16384]

The wall's time from array to array over the device's own; float32, weights ≥ 0. "in place" is `overwrite=True`; "fresh"
includes the new array's page faults. Results are compared bit for bit with those of an array that lies on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import arguments, begin, best
from device import cp, milliseconds

# isort: split
from apsp import closure
from apsp.road import schedules
from semiring.algebra.catalog import min_plus
from semiring.algebra.survey import survey
from semiring.kernels.backend import bind


def on_device(A: Any, ops: Any) -> float:
    """Milliseconds of a closure of an array that lies on the device."""
    work = A.copy()
    return milliseconds(lambda: schedules.get("recursive")(work, ops, block=ops.pivot), repeats=1, idle=0)


def line(n: int, ops: Any, small: float) -> None:
    """One line of the table; `small` is its last column."""
    A = np.random.default_rng(n).integers(1, 1000, (n, n)).astype(np.float32)
    there = cp.asarray(A)
    expected = closure(there).get()
    device = on_device(there, ops) / 1e3
    looked = best(lambda: survey(there, min_plus, where="benchmark"))
    args = A.copy()
    in_place = best(lambda: closure(args, device="cuda", overwrite=True), before=lambda: np.copyto(args, A))
    np.testing.assert_array_equal(args, expected)
    fresh = best(lambda: closure(A, device="cuda"))
    np.testing.assert_array_equal(closure(A, device="cuda"), expected)
    figures = (device, in_place, in_place / device / 1e3, fresh, fresh / device / 1e3, looked, small)
    d, i, ri, f, rf, s, t = (1e3 * x for x in figures)
    print(f"{n:6} {d:9.2f} {i:9.2f} {ri:6.2f} {f:9.2f} {rf:6.2f} {s:7.2f} {t:10.3f}", flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*")
    options = begin(parser, gpu=True)
    print("milliseconds")
    print(
        f"{'n':>6} {'device':>9} {'in place':>9} {'ratio':>6} {'fresh':>9} {'ratio':>6} {'survey':>7} {'n = 512':>10}"
    )
    ops = bind(min_plus, "float32", device="cuda", nonnegative=True)
    tiny = cp.asarray(np.random.default_rng(0).integers(1, 99, (512, 512)).astype(np.float32))
    closure(tiny)
    small = best(lambda: closure(tiny, overwrite=True), 20)
    for n in options.sizes or ([2048] if options.quick else [4096, 8192, 16384]):
        line(n, ops, small)


if __name__ == "__main__":
    main()
