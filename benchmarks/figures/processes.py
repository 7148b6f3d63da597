"""First calls of a process: from its imports on, beside the imports of NumPy and SciPy alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial

import common

from . import Figure, Task

START = "import time; start = time.perf_counter()\n"
END = "\nprint(time.perf_counter() - start)"
MATRIX = "import numpy as np; A = np.random.default_rng(0).random((256, 256)).astype('f4')\n"
GRAPH = "from apsp.generate import road_like; g = road_like(2000, seed=1)\n"
#: What a process does, and the seconds that it may take where code is on disk.
FIRST = {
    "import apsp": ("import apsp", 0.5),
    "closure of 256": (f"{MATRIX}import apsp; apsp.closure(A)", 2.0),
    "closure over log_plus": (f"{MATRIX}import apsp; apsp.closure(np.log(A) - 9, 'log_plus')", 2.0),
    "transitive closure": (f"{GRAPH}import apsp; apsp.transitive_closure(g).counts()", 2.0),
    "a pair of roads": (f"{GRAPH}import apsp; apsp.shortest_paths(g).distance(0, 9)", 2.0),
    "betweenness of roads": (f"{GRAPH}import apsp; apsp.shortest_paths(g).betweenness(sources=20)", 2.0),
    "product of sparse matrices": (
        "import scipy.sparse as sp, semiring; A = sp.eye_array(99).tocsr(); semiring.matmul(A, A)", 2.0,
    ),
    "NetworkX's all pairs": (
        "import networkx as nx; G = nx.path_graph(99); dict(nx.all_pairs_dijkstra_path_length(G, backend='apsp'))", 2.0,
    ),
}  # fmt: skip
GPU = (
    "import cupy, apsp; A = cupy.random.rand(1000, 1000, dtype='f4'); cupy.cuda.Device().synchronize()\n"
    "start = time.perf_counter(); apsp.closure(A); cupy.cuda.Device().synchronize()"
)


def tasks(device: str) -> Iterator[Task]:
    """Warm: what a process before left on disk is there; on a GPU also without."""
    if device == "cpu":
        for name, (code, most) in list(FIRST.items())[: 2 if common.quick() else None]:
            yield f"first: {name}", partial(_measure, f"first: {name}", code, most)
        return
    for kind, most in (("cold", 2.5), ("warm", 0.25)):
        yield (
            f"first: closure of 1000, {kind}",
            partial(_on_gpu, f"first: closure of 1000, {kind}", kind == "warm", most),
        )


def _run(code: str, **environment: str) -> float:
    """Seconds of a process that finds bytecode on disk, as an installed package brings it."""
    printed = common.process(START + code + END, PYTHONDONTWRITEBYTECODE="", **environment)
    return float(printed.splitlines()[-1])


def _bare() -> float:
    return min(_run("import numpy, scipy.sparse.csgraph") for _ in range(1 if common.quick() else 3))


def _measure(name: str, code: str, most: float) -> Figure:
    _run(code)
    return Figure(name, min(_run(code) for _ in range(1 if common.quick() else 3)), _bare(), "import SciPy", most=most)


def _on_gpu(name: str, warm: bool, most: float) -> Figure:
    names = ("SEMIRING_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
    times = []
    for _ in range(1 if warm else 2):
        with tempfile.TemporaryDirectory() as folder:
            caches = dict.fromkeys(names, folder)
            times += [_run(GPU, **caches) for _ in range(4 if warm else 1)]
    return Figure(name, min(times), _bare(), "import SciPy", most=most)
