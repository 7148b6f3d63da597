"""What does each schedule gain on one card, from one launch a vertex to tuned recursion, and beside the CPU?

    python benchmarks/schedules.py [--sizes 512,1024,…] [--limit SECONDS] [--output out/schedules]

For each n: time (device events, medians), pairs a second, the fraction of the ceiling (the same step in registers
alone, measured in this run), speed-up over one launch a vertex, the exponent of t = c · nᵉ, each phase's share, bytes
moved, energy and pairs per joule (NVML). Every schedule's result is compared with the first one's, bit for bit, and
rows of the first's are held against Bellman–Ford, before anything is said of times. Writes OUTPUT.json, OUTPUT.txt
and two pictures.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import arguments, facts

# isort: split
import cases

from apsp import closure
from apsp.comparison import Comparison, measure
from semiring import get
from semiring.kernels.backend import cuda_available


def weights(n: int, seed: int = 0) -> np.ndarray:
    """Integers 1 … 1000 on every edge: float sums are exact, so that all schedules must agree in every bit."""
    return np.random.default_rng(seed).integers(1, 1001, (n, n), dtype=np.int32).astype(np.float32)


def ceiling() -> float | None:
    """Pairs a second of the non-negative float32 step in registers alone; None without a GPU."""
    if not cuda_available():
        return None
    import gpu

    return gpu.ceiling_of("min_plus", "float32")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", help="by default 512,1024,2048,4096,8192,16384; with --quick 64,128")
    parser.add_argument("--limit", type=float, default=20.0, help="skip what would take more seconds a run")
    parser.add_argument("--cpu-limit", type=int, default=4096, help="the largest n that the CPU takes part in")
    parser.add_argument("--output", type=Path, help="where to write, without a suffix")
    options = parser.parse_args()
    sizes = options.sizes or ("64,128" if options.quick else "512,1024,2048,4096,8192,16384")
    s, devices = get("min_plus"), ["cpu", "cuda"] if cuda_available() else ["cpu"]
    peak, rows = ceiling(), []
    found = measure.contenders(None, devices, None)
    for n in map(int, sizes.split(",")):
        A = weights(n)
        cases.check_distances(A, closure(A, device=devices[-1]))
        taking = [c for c in found if c.device == "cuda" or n <= options.cpu_limit]
        known = {row.contender: row for row in rows if row.seconds}
        timed = measure.rows(A, s, taking, known=known, limit=options.limit)
        rows += [replace(row, ceiling=peak if row.contender.device == "cuda" else None) for row in timed]
        print(f"n = {n}: done", file=sys.stderr, flush=True)
    table = Comparison(s.name, "float32", tuple(rows))
    about = {
        **facts(),
        "ceiling": f"{peak / 1e12:.2f} T pairs/s" if peak else "not measured",
        "energy": "NVML" if any(row.joules for row in rows) else "unavailable: NVML's energy counter cannot be read",
    }
    text = "\n".join([*(f"{key}: {value}" for key, value in about.items()), "", str(table)])
    print(text)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
        found = {"about": about, **json.loads(table.to_json())}
        options.output.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        table.plot(save=options.output.with_name(options.output.name + "-time.png"), dpi=90)
        quantity = "pairs_per_joule" if any(row.joules for row in rows) else "rate"
        table.plot(None, quantity, save=options.output.with_name(options.output.name + f"-{quantity}.png"), dpi=90)
    if any(row.same is False for row in rows):
        sys.exit("the schedules disagree")


if __name__ == "__main__":
    main()
