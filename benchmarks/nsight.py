"""Does `apsp lab run` count what Nsight Compute counts on a card?

    python benchmarks/nsight.py            # the kernels of examples/lab/kernels in float; needs nvcc, ncu and a GPU

One line a kernel and direction: requests, sectors and wavefronts, counted and measured.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from common import arguments, begin, missing

import apsp

KERNELS = Path(__file__).parent.parent / "examples" / "lab" / "kernels"
SIZE = 64
#: Our counters and theirs.
METRICS = {
    (space, way, what): f"l1tex__{theirs}_op_{way}.sum"
    for way in ("ld", "st")
    for space, what, theirs in (
        ("global", "requests", "t_requests_pipe_lsu_mem_global"),
        ("global", "sectors", "t_sectors_pipe_lsu_mem_global"),
        ("shared", "wavefronts", "data_pipe_lsu_wavefronts_mem_shared"),
    )
}
HOST = """#include <climits>
#include "{file}"
#include <vector>
int main() {{
    std::vector<float> A({n} * {n});
    for (int k = 0; k < {n} * {n}; ++k) A[k] = k % ({n} + 1) ? k * 7919 % 101 + 1 : 0;
    float* D;
    cudaMalloc(&D, sizeof(float) * A.size());
    cudaMemcpy(D, A.data(), sizeof(float) * A.size(), cudaMemcpyHostToDevice);
    closure(D, {n}, {n});
    return cudaDeviceSynchronize();
}}
"""


def measured(file: Path, folder: Path) -> dict[str, Counter]:
    """Sums over all launches, by kernel and metric."""
    source, program = folder / "main.cu", folder / "main"
    source.write_text(HOST.format(file=file, n=SIZE))
    subprocess.run(["nvcc", "-O3", "-arch=native", "-o", program, source], check=True)
    command = ["ncu", "--csv", "--metrics", ",".join(METRICS.values()), str(program)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Counter] = {}
    for row in csv.DictReader(line for line in printed.splitlines() if line.startswith('"')):
        name = row["Kernel Name"].partition("(")[0]
        found.setdefault(name, Counter())[row["Metric Name"]] += int(row["Metric Value"].replace(",", ""))
    return found


def counted(file: Path) -> dict[str, Counter]:
    found = {}
    for kernel in apsp.emulate(file, apsp.random_graph(SIZE, SIZE - 1, seed=1)).run.kernels:
        sums = found[kernel.name] = Counter()
        for site in kernel.sites:
            for what in ("requests", "sectors", "wavefronts"):
                sums[site.space, "st" if site.write else "ld", what] += getattr(site, what)
    return found


def main() -> None:
    begin(arguments(__doc__), gpu=True)
    if not (shutil.which("nvcc") and shutil.which("ncu")):
        missing("nvcc and ncu of the CUDA toolkit")
    for file in sorted(KERNELS.glob("*.cu")):
        if "closure(float*" not in file.read_text():
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs = measured(file, Path(folder))
        for kernel, ours in counted(file).items():
            for way in ("ld", "st"):
                both = [
                    f"{what} {ours[space, way, what]:,} and {theirs[kernel][METRICS[space, way, what]]:,}"
                    for space, what in (("global", "requests"), ("global", "sectors"), ("shared", "wavefronts"))
                ]
                print(f"{file.name} {kernel} {way}: {', '.join(both)}", flush=True)


if __name__ == "__main__":
    main()
