"""`emulate`: kernels of one's own on the processor; faults by their lines, counts by closed forms."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import cases
import numpy as np
import pytest
from processes import PATIENCE, ROOT, finish, start, wait_for
from test_cli import apsp, bad

import apsp as package
from apsp import DeviceError, FormatError, emulate
from apsp.comparison.emulation import occupied
from semiring.kernels import emulated
from semiring.kernels.emulated import Kernel
from semiring.kernels.emulated.translation import translated, without_comments

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)
KERNELS = ROOT / "examples" / "lab" / "kernels"
NAIVE, SHARED, BLOCKED = ((KERNELS / f"{name}.cu").read_text() for name in ("naive", "shared_row", "blocked"))


def weights(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, n)) < 0.2, rng.integers(1, 100, (n, n)).astype(float), np.inf)


@pytest.fixture
def tried(tmp_path):
    """A file with that text, emulated on a random graph."""

    def run(text: str, n: int = 40, **options):
        (tmp_path / "mine.cu").write_text(text)
        return emulate(tmp_path / "mine.cu", weights(n), **options)

    return run


def edited(text: str, *edits: tuple[str, str]) -> str:
    for before, after in edits:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def naive(*edits: tuple[str, str], above: str = "", body: str = "", host: str = "") -> str:
    """The naive kernel, edited; with text above it, before the check in its body, and before the host's loop."""
    places = ("// One thread", "    if (j >= n) return;", "    for (int k")
    return edited(
        NAIVE, *edits, *((at, more + at) for at, more in zip(places, (above, body, host), strict=True) if more)
    )


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.stem)
def test_every_kernel_to_begin_with_is_right(path):
    A = weights(37)
    found = emulate(path, A)
    assert found
    assert found.run.matrix.tolist() == cases.floyd_warshall(A).tolist()
    assert not found.run.hazards
    assert str(found).startswith(f"{path.name} over min_plus, n = 37: right: all 37 rows")


@pytest.mark.parametrize("n", [0, 1])
def test_of_no_vertex_and_one(n):
    assert emulate(KERNELS / "blocked.cu", np.full((n, n), np.inf))


def sites(found, kernel=0):
    return {(s.line, s.space, s.write): s for s in found.run.kernels[kernel].sites}


def test_requests_and_sectors_of_rows_and_of_columns():
    """By hand: n² / 32 warps a step; a row's part is 4 sectors, a column's 32, one number 1."""
    n = 64
    rows, columns = (emulate(KERNELS / f"{name}.cu", weights(n)) for name in ("naive", "columns"))
    warps = n * n // 32 * n
    for found, each in ((rows, 4), (columns, 32)):
        (kernel,) = found.run.kernels
        assert (kernel.launches, kernel.grid, kernel.block, kernel.blocks) == (n, (1, n, 1), (128, 1, 1), n * n)
        through = sites(found)[10, "global", False]
        assert (through.requests, through.lanes, through.sectors) == (2 * warps, 2 * n**3, warps * (each + 1))
        for write in (False, True):
            own = sites(found)[11, "global", write]
            assert (own.requests, own.sectors, own.least) == (warps, each * warps, 4 * warps)
        assert found.words == 4
    assert rows.sectors == 13 / 32
    assert columns.sectors == 97 / 32


def test_four_entries_a_thread_read_what_a_lesson_predicts():
    """Zhao 2014, section 1.2: three quarters of one of four accesses fewer."""
    found = emulate(KERNELS / "reuse.cu", weights(128))
    assert found.words == 3.25
    assert "1.23 times as fast" in str(found)


def test_blocks_divide_what_is_read_by_their_width():
    n, b = 64, 16
    found = emulate(KERNELS / "blocked.cu", weights(n))
    rounds = n // b
    assert [k.launches for k in found.run.kernels] == [rounds] * 3
    blocks = rounds * np.array([1, 2 * (rounds - 1), (rounds - 1) ** 2])
    numbers = np.array([2, 3, 4]) * b * b
    assert [k.total("lanes", "global") for k in found.run.kernels] == (blocks * numbers).tolist()
    pivot = found.run.kernels[0]
    assert pivot.barriers == rounds * (2 * b + 1)
    assert pivot.shared == 4 * b * b


BANKS = """
__global__ void touch(float* D, int n, int stride, int width) {
    __shared__ float4 held[33 * 32];
    float* words = (float*)held;
    for (int i = threadIdx.x; i < 33 * 32; i += blockDim.x) words[i] = i;
    __syncthreads();
    float x = words[threadIdx.x * STRIDE];
    float4 y = held[threadIdx.x];
    if (x + y.x + y.y + y.z + y.w < 0) D[0] = x;
}
void closure(float* D, int n) { touch<<<1, 64>>>(D, n, 1, 1); }
"""


@pytest.mark.parametrize(("stride", "turns"), [(0, 1), (1, 1), (2, 2), (16, 16), (32, 32), (33, 1)])
def test_turns_of_the_banks(tried, stride, turns):
    """The 32 threads of a warp, `stride` words apart, in 32 banks: words of one bank take a turn each."""
    text = (
        BANKS.replace("33 * 32", "66 * 32").replace("held[66 * 32]", "held[66 * 8 + 8]").replace("STRIDE", f"{stride}")
    )
    found = tried(text, 1)
    assert not found.run.fault
    read = sites(found)[7, "shared", False]
    assert read.wavefronts / read.requests == turns
    wide = sites(found)[8, "shared", False]
    assert (wide.requests, wide.wavefronts, wide.least) == (2, 8, 8)  # a quarter of a warp at a time


#: A right kernel after edits, and what is said of it.
FAULTS = {
    "out of bounds": (
        naive(("    if (j >= n) return;\n", "")),
        "fault: line 10: kernel step, block (0, 39, 0), thread (64, 0, 0) reads out of bounds: D, 0 bytes behind",
    ),
    "before the beginning": (
        naive(("D[i * pitch + k] +", "D[(i - 1) * pitch + k] +")),
        "fault: line 10: kernel step, block (0, 0, 0), thread (0, 0, 0) reads out of bounds: D, 256 bytes before its",
    ),
    "out of a tile": (
        edited(BLOCKED, ("C[y][k] + R[k][x]", "C[y][k] + R[k + 1][x]")),
        "fault: line 55: kernel rest, block (1, 1, 0), thread (0, 0, 0) is out of the bounds of an array with index 16",
    ),
    "by the host": (
        naive(host="    D[3] = 1;\n"),
        "fault: line 16: the host writes memory of the device: copy it with cudaMemcpy, or do it in a kernel",
    ),
    "too many threads": (
        naive(("threads(THREADS)", "threads(1280)")),
        "fault: line 16: the launch of step fails: a block has at most 1024 threads (64 along z), got (1280, 1, 1)",
    ),
    "division": (
        naive(("int i = blockIdx.y", "int i = blockIdx.y / (n - 40)")),
        "fault: line 8: a division by zero, in kernel step, block (0, 0, 0), thread (0, 0, 0)",
    ),
    "a warp waits": (
        naive(("    if (j >= n) return;", "    if (threadIdx.x < 5) __syncwarp();\n    __syncthreads();")),
        "threads of a warp wait for others that do not come",
    ),
    "shared memory that nobody allowed": (
        naive(("<<<blocks, threads>>>", "<<<blocks, threads, 60000>>>")),
        "fault: line 16: the launch of step fails: 60000 bytes of shared memory, beyond 49152, take "
        "cudaFuncSetAttribute(step, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) before",
    ),
    "too much shared memory": (
        naive(("    if (j >= n) return;", "    __shared__ double much[80][80]; much[0][0] = 1;")),
        "fault: kernel step: its __shared__ variables take 51200 bytes, and a block has 49152",
    ),
    "endless": (
        naive(("    if (j >= n) return;", "    while (D[0] == 0);")),
        "fault: line 9: the time is up, in kernel step, block (0, 0, 0), thread (0, 0, 0)",
    ),
    "endless, without memory": (
        naive(("    if (j >= n) return;", "    for (;;);")),
        "fault: line 9: the time is up, in kernel step, block (0, 0, 0), thread (0, 0, 0)",
    ),
    "the host does not end": (
        naive(host="    volatile int x = 1;\n    while (x);\n"),
        "fault: line 17: the time is up, in the host's part",
    ),
    "a copy beyond the end": (
        naive(host="    float h[9999] = {}; cudaMemcpy(D, h, 4 * n * pitch + 4, cudaMemcpyDefault);\n"),
        "fault: line 16: a copy fails: 10244 bytes of what is written do not lie in D, which has 10240 from there on",
    ),
    "a copy the other way": (
        naive(host="    float h; cudaMemcpy(&h, D, 4, cudaMemcpyHostToDevice);\n"),
        "fault: line 16: a copy fails: what is written is memory of the host, and its kind says of the device",
    ),
    "a copy by the host": (
        naive(host="    float h[99]; memcpy(h, D, 4 * n); D += h[1] > 3;\n"),
        "fault: line 16: the host reads memory of the device: copy it with cudaMemcpy",
    ),
    "freed": (
        naive(host="    float* x; cudaMalloc(&x, 4); cudaFree(x); cudaMemset(x, 0, 4);\n"),
        "fault: line 16: a copy fails: what is set is memory that cudaFree was given",
    ),
    "more than there is": (
        naive(host="    float* x; cudaMalloc(&x, 1ull << 50);\n"),
        "fault: line 16: the host asks for 1125899906842624 bytes by cudaMalloc, which are not there",
    ),
    "no kernel": (
        naive(("__global__ ", "")),
        "fault: line 16: step is launched, and no kernel: __global__ must stand before it",
    ),
    "a template on one line without a word": (
        naive(("__global__ void", "template <class T> void"), ("step(float*", "step(T*")),
        "fault: line 16: step is launched, and no kernel: __global__ must stand before it",
    ),
    "a function of the host, in a template": (
        naive(
            (
                "__global__ void",
                "template <class T> T sum(T a, T b) { return a + b; }\ntemplate <class T> __global__ void",
            ),
            ("step(float*", "step(T*"),
            ("D[i * pitch + k] + D[k * pitch + j]", "sum(D[i * pitch + k], D[k * pitch + j])"),
        ),
        "fault: line 11: a kernel calls sum, of the host: __device__ must stand before that function",
    ),
    "a function of the host, in a namespace": (
        naive(
            ("__global__ void", "namespace MINE {\nfloat sum(float a, float b) { return a + b; }\n__global__ void"),
            ("D[i * pitch + k] + D[k * pitch + j]", "sum(D[i * pitch + k], D[k * pitch + j])"),
            ("through);\n}", "through);\n}\n}"),
            ("step<<<", "MINE::step<<<"),
        ),
        "fault: line 12: a kernel calls sum, of the host: __device__ must stand before that function",
    ),
    "a constant that a kernel writes": (
        naive(above="__constant__ int N;\n", body="    N = n;\n"),
        "fault: line 10: kernel step, block (0, 0, 0), thread (0, 0, 0) writes what is constant for "
        "kernels: cudaMemcpyToSymbol sets it",
    ),
    "no launch of a template": (
        naive(
            ("__global__ void step(float*", "template <class T> __global__ void step(T*"),
            ("step<<<blocks, threads>>>(D", "step<float>(D"),
        ),
        "fault: line 16: step is a kernel, and launched by step<<<grid, block>>>(…), not called",
    ),
    "no launch": (
        naive(("step<<<blocks, threads>>>(D", "step(D")),
        "fault: line 16: step is a kernel, and launched by step<<<grid, block>>>(…), not called",
    ),
    "an assertion": (
        naive(body='    assert(i < 3 && "of three");\n'),
        "fault: line 9: an assertion fails, i < 3 && 'of three', in kernel step, block (0, 3, 0), thread (0, 0, 0)",
    ),
    "an assertion of the host": (
        naive(host="    assert(n == 3);\n"),
        "fault: line 16: an assertion fails, n == 3, in the host's part",
    ),
    "a function of the host": (
        naive(
            ("__global__ ", "float sum(float a, float b) { return a + b; }\n__global__ "),
            ("[i * pitch + k] + D[", "[sum(0, i * pitch + k)] + D["),
        ),
        "fault: line 11: a kernel calls sum, of the host: __device__ must stand before that function",
    ),
    "a variable of the host": (
        naive(("j >= n", "j >= N"), above="int N;\n", host="    N = n;\n"),
        "fault: line 10: kernel step, block (0, 0, 0), thread (0, 0, 0) reads a variable of the host: "
        "__device__ or __constant__ must stand before it",
    ),
    "a variable of the device": (
        naive(("j >= n", "j >= N"), above="__constant__ int N;\n", host="    N = n;\n"),
        "fault: line 17: the host writes a variable of the device: copy it with cudaMemcpyToSymbol",
    ),
    "std::min": (
        naive(("[i * pitch + j] = min(", "[i * pitch + j] = std::min(")),
        "fault: line 11: a kernel calls std::min, of the host: min is a card's own",
    ),
    "std::numeric_limits": (
        naive(("float through =", "float through = std::numeric_limits<float>::infinity() +")),
        "fault: line 10: a kernel calls std::numeric_limits<float>::infinity, of the host: INFINITY or "
        "INT_MAX, of <climits>, is a card's own",
    ),
    "defined nowhere": (
        naive(("__global__ ", "void elsewhere();\n__global__ "), host="    elsewhere();\n"),
        "mine.cu:17: undefined reference to `elsewhere()'",
    ),
    "no C++": (
        naive(("float through", "flaot through")),
        "mine.cu:10:5: error: ‘flaot’ was not declared in this scope",
    ),
    "no closure of that kind": (
        naive(("closure(float* D, int n, int pitch)", "closure(float* D, int n, float pitch)")),
        "closure must take (T* D, int n) or (T* D, int n, int pitch)",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_its_line(tried, name, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    text, said = FAULTS[name]
    found = tried(text, limit=1)
    assert not found
    assert found.run.matrix is None
    assert said in str(found)


#: A right kernel after edits, whether the table is still right, and the hazard that is told.
HAZARDS = {
    "no barrier": (
        edited(SHARED, ("    __syncthreads();  // nobody returns before all have come here\n", "\n")),
        False,
        "line 14: kernel step, block (0, 0, 0), thread (1, 0, 0) reads first, which thread (0, 0, 0) "
        "wrote, and no __syncthreads() lies between (line 12)",
    ),
    "an early return": (
        edited(SHARED, ("    if (threadIdx.x == 0) first", "    if (j >= n) return;\n    if (threadIdx.x == 0) first")),
        True,
        "line 14: kernel step, block (0, 0, 0): 88 of 128 threads, (40, 0, 0) first, returned before a "
        "__syncthreads() at which 40 wait; 1,600 times",
    ),
    "barriers of branches": (
        naive(("    if (j >= n) return;", "    if (j < 7) __syncthreads();\n    else\n        __syncthreads();")),
        None,
        "line 11: kernel step, block (0, 0, 0): threads (0, 0, 0) and (7, 0, 0) wait at different __syncthreads()",
    ),
    "an old value": (
        edited(
            BLOCKED,
            (
                "        float through = P[y][k] + P[k][x];\n        __syncthreads();\n",
                "        float through = P[y][k] + P[k][x];\n",
            ),
        ),
        True,
        "line 19: kernel pivot, block (0, 0, 0), thread (1, 0, 0) reads P, which thread (0, 0, 0) "
        "wrote, and no __syncthreads() lies between (line 20)",
    ),
    "infinity and more": (
        edited(SHARED, ("    if (second == INT_MAX) return;\n", "")),
        False,
        "line 16: kernel step, block (0, 6, 0), thread (1, 0, 0) leaves the range of its integers: 90 + 2147483647 (∞",
    ),
    "a warp without some": (
        naive(("    float through", "    __syncwarp();\n    float through")),
        True,
        "line 10: kernel step, block (0, 0, 0): 24 of the 32 threads of a warp returned before a "
        "__syncwarp() or a shuffle at which 8 wait; 1,600 times",
    ),
    "a shuffle without some": (
        naive(
            ("    float through", "    int own = i, of = 0;\n    of += __shfl_sync(~0u, own, 0);\n    float through")
        ),
        True,
        "line 11: kernel step, block (0, 0, 0): 24 of the 32 threads of a warp returned before a "
        "__syncwarp() or a shuffle at which 8 wait; ",
    ),
    "a lane that is not there": (
        naive(("float through =", "float through = 0 * __shfl_down_sync(~0u, 1.0f, 1) +")),
        None,
        "line 10: kernel step, block (0, 0, 0), thread (39, 0, 0) reads lane 8, which has returned, is not there, or",
    ),
    "nothing there": (
        edited(SHARED, ("if (threadIdx.x == 0) first", "if (threadIdx.x == 0 && i > 0) first")),
        False,
        "line 14: kernel step, block (0, 0, 0), thread (0, 0, 0) reads first where no thread of the block has written",
    ),
}


@pytest.mark.parametrize("name", HAZARDS)
def test_a_hazard_is_told_with_its_lines(tried, name):
    text, right, said = HAZARDS[name]
    found = tried(text)
    if right is None:
        assert "different" in str(found) or "reads lane" in str(found)
    else:
        assert bool(found) == right
    assert any(hazard.startswith(said) for hazard in found.run.hazards), str(found)


SQUARED = """__global__ void square(float* D, const float* A, int n) {
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        float through = A[blockIdx.y * n + k] + A[k * n + blockIdx.x];
        if (through < D[blockIdx.y * n + blockIdx.x]) D[blockIdx.y * n + blockIdx.x] = through;
    }
}
int over(int a, int b) { return (a + b - 1) / b; }
extern "C" void closure(float* D, int n) {
    float *A, least = 0;
    cudaMalloc(&A, sizeof(float) * n * n);
    for (int k = 1; k < n; k *= 2) {
        cudaMemcpy(A, D, sizeof(float) * n * n, cudaMemcpyDeviceToDevice);
        square<<<dim3(n, n), 32 * over(8, 32)>>>(D, A, n);
        cudaMemcpy(&least, D, sizeof(float), cudaMemcpyDeviceToHost);
    }
    cudaFree(A);
}
"""


def test_what_two_threads_write_may_be_lost(tried):
    found = tried(SQUARED, 12)
    assert found
    told, unordered = found.run.hazards
    assert told.startswith("line 4: kernel square, block (0, ")
    assert "writes D where another thread of the launch has written, which a card may lose" in told
    assert "reads D, which another thread of the launch has changed" in unordered
    assert tried(SQUARED.replace("32 * over(8, 32)", "1"), 12).run.hazards == ()


#: All vertices in one launch, by the only block or by several.
AT_ONCE = """__global__ void all(float* D, int n) {
    for (int k = 0; k < n; ++k) {
        for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < n * n; e += gridDim.x * blockDim.x) {
            int i = e / n, j = e % n;
            D[e] = min(D[e], D[i * n + k] + D[k * n + j]);
        }
        __syncthreads();
    }
}
void closure(float* D, int n) { all<<<1, 64>>>(D, n); }
"""


@pytest.mark.parametrize("edit", [("__syncthreads();", ";"), ("<<<1, 64>>>", "<<<4, 64>>>")])
def test_what_another_thread_changes_in_the_launch_is_read_too_early_or_too_late(tried, edit):
    """Barriers order threads of a block, and of no others; also where three passes make the table right."""
    ordered = tried(AT_ONCE)
    assert ordered
    assert not ordered.run.hazards
    thrice = ("{ all<<<", "{ for (int pass = 0; pass < 3; ++pass) all<<<")
    assert tried(edited(AT_ONCE, thrice, edit))
    for text in (edited(AT_ONCE, edit), edited(AT_ONCE, thrice, edit)):
        (told,) = tried(text).run.hazards
        assert re.match(r"line 5: .* reads D, which another thread of the launch has changed, .*\(line 5\)", told)


def test_what_nobody_wrote_is_no_number(tried):
    unset = re.sub(r"        cudaMemcpy\(A, D.*\n", "", SQUARED.replace("32 * over(8, 32)", "1"))
    told = tried(unset, 12).run.hazards
    assert told[0].startswith(
        "line 3: kernel square, block (0, 0, 0), thread (0, 0, 0) reads memory of cudaMalloc that"
    )


def test_without_a_barrier_the_wrong_entries_are_counted(tried):
    found = tried(edited(SHARED, ("    __syncthreads();  // nobody returns before all have come here\n", "\n")))
    wrong = int((found.run.matrix != cases.floyd_warshall(weights(40))).sum())
    assert wrong > 40
    assert f"wrong: {wrong} of 1600 entries are wrong, first from 0 to " in str(found)


MANAGED = """
#include <cuda_runtime.h>
__device__ __managed__ int changed;
__managed__
__device__ int rounds[2] = {1, 1};
__global__ void step(float* D, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= n) return;
    float through = D[i * n + k] + D[k * n + j];
    if (through < D[i * n + j]) D[i * n + j] = through, changed = rounds[0];
}
void closure(float* D, int n) {
    float* M;
    cudaMallocManaged(&M, sizeof(float) * n * n);
    cudaMemcpy(M, D, sizeof(float) * n * n, cudaMemcpyDeviceToDevice);
    for (int i = 0; i < n; ++i) M[i * n + i] = 0;
    for (int k = 0; k < n; ++k) {
        step<<<dim3((n + 31) / 32, n), 32>>>(M, n, k);
        cudaDeviceSynchronize();
        rounds[1] += changed;
    }
    if (rounds[1] < 2) M[1] = 0;
    cudaMemcpy(D, M, sizeof(float) * n * n, cudaMemcpyHostToDevice);
    cudaFree(M);
}
"""


def test_managed_memory_is_of_both_sides(tried):
    found = tried(MANAGED)
    assert (bool(found), found.run.hazards) == (True, ()), str(found)
    assert "unwritten" not in str(found)


@pytest.mark.parametrize(
    ("edit", "right", "said"),
    [
        (
            ("        cudaDeviceSynchronize();\n", ""),
            True,
            "hazard: line 19: the host reads a managed variable while a kernel may run: cudaDeviceSynchronize() must "
            "come before",
        ),
        (
            ("        cudaDeviceSynchronize();", "        M[0] = 0;\n        cudaStreamSynchronize(0);"),
            True,
            "hazard: line 19: the host writes cudaMallocManaged while a kernel may run",
        ),
        (
            ("    cudaFree(M);", "    cudaFree(M);\n    M[0] = 0;"),
            False,
            "fault: line 25: the host writes memory that cudaFree was given",
        ),
        (("M[i * n + i] = 0", "M[i * n + i] = D[0]"), False, "fault: line 16: the host reads memory of the device"),
        (("cudaMemcpy(M, D", "cudaMemset(M, 0, 4); // (M, D"), False, "hazard: line 9: kernel step, block"),
        (("(M, D, sizeof(float) * n", "(M, D, sizeof(float) * (n + 1)"), False, "fault: line 15: a copy fails"),
    ],
)
def test_what_the_host_does_to_managed_memory(tried, edit, right, said):
    found = tried(edited(MANAGED, edit))
    assert bool(found) == right
    assert said in str(found)


@pytest.mark.parametrize("guard", ["", "if (t == 0) "])
def test_what_others_still_read_is_not_to_be_written(tried, guard):
    """By one other thread, or by all."""
    text = f"""
    __global__ void step(float* D, int n) {{
        __shared__ float held[64];
        int t = threadIdx.x;
        held[t] = t;
        __syncthreads();
        float x = 0;
        {guard}x = held[1];
        if (t == 63) held[1] = 2 * x;
        D[t] += 0 * x;
    }}
    void closure(float* D, int n) {{ step<<<1, 64>>>(D, n); }}
    """
    found = tried(text, 64)
    (hazard,) = found.run.hazards
    who = "thread (0, 0, 0)" if guard else "other threads"
    assert hazard.startswith(f"line 9: kernel step, block (0, 0, 0), thread (63, 0, 0) writes held, which {who} read")


def test_values_that_a_program_begins_with(tried):
    begun = "#include <vector>\nstatic std::vector<int> order(9, 1);\nint* held = new int[order.size()];\n// One thread"
    assert tried(edited(NAIVE, ("// One thread", begun), ("    for (int k", "    held[1] = order[2];\n    for (int k")))


def test_variables_of_the_device_are_memory_of_it(tried):
    text = """
    __device__ float M[64][64];
    __device__ int changed;
    __constant__ int zero;
    __global__ void take(const float* D, int n) { M[blockIdx.x][threadIdx.x] = D[blockIdx.x * n + threadIdx.x]; }
    __global__ void give(float* D, int n) { D[blockIdx.x * n + threadIdx.x] = M[blockIdx.x][threadIdx.x]; }
    __global__ void step(int k) {
        int i = blockIdx.x, j = threadIdx.x + zero;
        float through = M[i][k] + M[k][j];
        if (through < M[i][j]) M[i][j] = through, changed = 1;
    }
    void closure(float* D, int n) {
        take<<<n, n>>>(D, n);
        for (int k = 0; k < n; ++k) step<<<n, n>>>(k);
        give<<<n, n>>>(D, n);
    }
    """
    found, n = tried(text), 40
    assert (bool(found), found.run.hazards) == (True, ()), str(found)
    counted = {(line, write): s.lanes for (line, space, write), s in sites(found, 1).items()}
    assert counted.keys() == {(9, False), (10, False), (10, True)}
    assert (counted[9, False], counted[10, False]) == (2 * n**3, n**3)
    told = tried(text.replace("changed = 1", "changed = changed + 1")).run.hazards
    assert any("line 10" in x and "writes a variable where another thread of the launch has written" in x for x in told)


def test_atomic_sums_are_no_race(tried):
    text = """
    __global__ void count(float* D, int n) {
        __shared__ int sum;
        if (threadIdx.x == 0) sum = 0;
        __syncthreads();
        atomicAdd(&sum, 1);
        atomicMax(&sum, 0);
        __syncthreads();
        if (threadIdx.x == 0) D[0] = sum;
    }
    void closure(float* D, int n) { count<<<1, 96>>>(D, n); }
    """
    found = tried(text, 1)
    assert not found.run.hazards
    assert found.run.matrix[0, 0] == 96
    assert "out of bounds" in tried(text.replace("atomicAdd(&sum, 1)", "atomicAdd(D + n * n, 1)"), 1).run.fault


def test_words_of_a_warp_need_no_barrier_of_the_block(tried):
    text = """
    __global__ void step(float* D, int n) {
        __shared__ float held[64];
        int t = threadIdx.x, warp = t / 32 * 32;
        held[t] = t;
        __syncwarp();
        float next = held[warp + (t + 1) % 32], above = __shfl_down_sync(~0u, float(t), 1);
        if (t % 32 < 31 && next != above) D[t] = -1;
    }
    void closure(float* D, int n) { step<<<1, 64>>>(D, n); }
    """
    found = tried(text, 64)
    assert not found.run.hazards
    assert not (found.run.matrix == -1).any()


def test_launches_and_shared_memory_as_they_are_written_in_cuda(tried):
    """Templates, dynamic and several shared variables, comments with launches, memory of one's own, another T."""
    text = """
    #include <cuda_runtime.h>
    // closure<<<1, 1>>>(D) /* "
    __constant__ double nothing[2];
    template <typename T, int B>
    __global__ void step(T* D, const T* old, int n, int k) {
        extern __shared__ double row[];
        __shared__ T column[B],
            unused[2][B + 1];
        int j = blockIdx.x * B + threadIdx.x, i = blockIdx.y;
        row[threadIdx.x] = j < n ? old[k * n + j] : nothing[1];
        column[threadIdx.x] = old[i * n + k];
        unused[1][threadIdx.x] = 0;
        __syncthreads();
        if (j < n) D[i * n + j] = min(old[i * n + j], T(column[threadIdx.x] + row[threadIdx.x]));
    }
    void closure(double* D, int n) {
        double* old, zeros[2] = {0, 0};
        cudaMemcpyToSymbol(nothing, zeros, sizeof zeros);
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        if (cudaMalloc(&old, sizeof(double) * n * n) != cudaSuccess) return;
        for (int k = 0; k < n; ++k) {
            cudaMemcpyAsync(old, D, sizeof(double) * n * n, cudaMemcpyDeviceToDevice, stream);
            step<double, 16>
                <<<dim3((n + 15) / 16, n), 16, 16 * sizeof(double), stream>>>(D, old, n, k);
        }
        cudaFree(old);
    }
    int main() { return 0; }
    """
    found = tried(text)
    assert found, str(found)
    (kernel,) = found.run.kernels
    assert (kernel.name, kernel.shared) == ("step<double, 16>", 8 * (16 + 16 + 2 * 17))
    assert (15, "shared", False) in sites(found)
    assert (
        len(translated(without_comments(text), "x").split('#line 1 "x"\n')[1].split("\n#line")[0].split("\n"))
        == text.count("\n") + 1
    )


#: Edits that leave a correct kernel correct.
SPELLINGS = {
    "a macro before it": naive(
        ("(D, n, pitch, k);", "(D, n, pitch, k);\n    CHECK(cudaGetLastError());"),
        above='#define CHECK(x) do { if (x) { printf("no"); } } while (0)\n',
    ),
    "a macro of several lines": naive(
        ("(D, n, pitch, k);", "(D, n, pitch, k);\n    CHECK(cudaGetLastError());"),
        above="#define CHECK(x) \\\n  do { if (x) { } } \\\n  while (0)\n__device__ int unused;\n",
    ),
    "a macro of both sides": naive(
        ("D[i * pitch + k] + D[k * pitch + j]", "sum(D[i * pitch + k], D[k * pitch + j])"),
        above="#define HD __host__ __device__\nHD float sum(float a, float b) { return a + b; }\n",
    ),
    "two lines": naive(("__global__ void", "__global__\nvoid")),
    "no C++ name": naive(("__global__ void", 'extern "C" __global__ void')),
    "a byte order mark": naive(above="﻿"),
    "a template on one line, of templates": naive(
        (
            "__global__ void step(float* D,",
            "template <class T, class U> struct Pair { T a; U b; };\ntemplate <class P> __global__ void step(P both,",
        ),
        ("    int i = blockIdx.y;", "    int i = blockIdx.y;\n    float* D = both.a;"),
        ("step<<<blocks, threads>>>(D,", "step<Pair<float*, int>><<<blocks, threads>>>(Pair<float*, int>{D, n},"),
    ),
    "functions of both sides of one name, and the address of a variable": naive(
        above="namespace host { void step(int*) {} }\n__device__ int calls;\n",
        host="    int* at;\n    cudaGetSymbolAddress((void**)&at, calls);\n"
        "    cudaMemset(at, 0, sizeof calls);\n    host::step(at);\n",
    ),
    "names of its own": naive(
        ("    float through =", "    Wide zero = {OUTSIDE};\n    float through = zero.x * Short(HERE) +"),
        above="enum { OUTSIDE, HERE, WIDE, SHUFFLE, ATOMIC, HALVES, IN_PLACE };\n"
        "struct Wide { int x; };\ntypedef short Short;\nbool allocated, waited;\n",
    ),
    "variables of either side": naive(
        ("threadIdx.x;", "threadIdx.x + W - W;"),
        ("    float through =", "    changed = 1;\n    float through = zeros[j % 2] + ends[0] +"),
        ("if (j >= n", "if (j >= size.n"),
        (
            "(D, n, pitch, k);",
            "(D, n, pitch, k), ++launches;\n"
            "    cudaMemcpyFromSymbol(&launches, changed, sizeof changed);\n"
            "    if (launches != 1) abort();",
        ),
        above="const int W = 128, ends[] = {0, 1};\nstatic int launches, pitch, j;\n"
        "__device__ int changed;\n__constant__ const float zeros[2] = {0, 0};\n"
        "__constant__ struct { int n; } size;\n",
        host="    cudaMemcpyToSymbol(size, &n, sizeof size);\n",
    ),
    "static variables": naive(
        (
            "    if (j >= n) return;",
            "    static int calls;\n    static const int zeros[] = {0, 0};\n"
            "    if (j >= n) return;\n    if (j + i + k == 0) calls = zeros[j];",
        )
    ),
    "pinned memory, and a device by number": naive(
        host="    int device, count;\n    float* held;\n"
        "    cudaGetDeviceCount(&count), cudaGetDevice(&device);\n"
        "    if (count != 1 || cudaSetDevice(device) != cudaSuccess || cudaSetDevice(1) == "
        "cudaSuccess) abort();\n    cudaMallocHost(&held, 4 * n);\n"
        "    cudaMemcpy(held, D, 4 * n, cudaMemcpyDeviceToHost);\n    D += held[0] > 0;\n"
        "    cudaFreeHost(held);\n"
    ),
    "parts of a warp": naive(
        (
            "    float through =",
            "    int lane = threadIdx.x % warpSize, low = lane < 4;\n"
            "    unsigned all = n - j + lane < 32 ? 255 : here;\n    float z = 0;\n"
            "    if (low) z = __shfl_sync(15, lane, 9, 4) - 1;\n"
            "    if (low) z += __shfl_down_sync(15, lane, 1, 2) - (lane | 1) + "
            "__ballot_sync(15, lane > 2) - 8;\n"
            "    z += __popc(__ballot_sync(all, 1)) != __popc(all) || !__all_sync(all, 1) || "
            "__any_sync(all, 0);\n"
            "    z += __shfl_up_sync(all, lane, 2, 4) - (lane % 4 < 2 ? lane : lane - 2);\n"
            "    z += __shfl_xor_sync(all, lane, 1, 8) - (lane ^ 1) + __reduce_add_sync(all, "
            "1) - __popc(all);\n    if (low) z += __ballot_sync(15, 1) - 15;\n"
            "    z += __reduce_min_sync(all, lane) + 7 * (__popc(__match_any_sync(all, low)) "
            "== 0);\n    float through = z +",
        ),
        body="    unsigned here = __activemask();\n",
    ),
    "what a program asks of its card": naive(
        ("<<<blocks, threads>>>", "<<<blocks, threads, 60000, s>>>"),
        ("(D, n, pitch, k);", "(D, n, pitch, k);\n    cudaDeviceReset();"),
        host="    cudaDeviceProp card;\n    cudaGetDeviceProperties(&card, 0);\n"
        "    assert(card.warpSize == 32);\n"
        "    cudaFuncSetAttribute(step, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);\n"
        "    cudaStream_t s;\n    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);\n"
        "    float *x, *y;\n    cudaMallocAsync(&x, 8, s);\n"
        "    cudaMemsetAsync(x, 0, 8, s), cudaFreeAsync(x, s), cudaHostAlloc(&y, 8, "
        "cudaHostAllocMapped);\n    cudaFreeHost(y);\n",
    ),
    "events without a clock, symbols copied with a kind": naive(
        ("    float through =", "    float through = zeros[1] +"),
        above="__constant__ float zeros[2];\n",
        host="    cudaEvent_t event;\n    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);\n"
        "    cudaEventRecord(event), cudaStreamWaitEvent(0, event, 0);\n"
        "    float none[2] = {9, 0};\n"
        "    cudaMemcpyToSymbol(zeros, none + 1, 4, 4, cudaMemcpyHostToDevice);\n"
        "    cudaMemcpyFromSymbol(none, zeros, 8, 0, cudaMemcpyDeviceToHost);\n"
        "    size_t left, all;\n    cudaMemGetInfo(&left, &all);\n"
        "    if (none[1] || left > all || cudaStreamQuery(0) || cudaEventQuery(event)) "
        "abort();\n",
    ),
    "every atomic function, and three numbers": naive(
        ("    float through =", "    float through = zero.x + zero.y + zero.z +"),
        body="    __shared__ unsigned a, b;\n    a = 5, b = 0;\n"
        "    int odd = __syncthreads_and(threadIdx.x < 128);\n"
        "    odd += __syncthreads_and(threadIdx.x > 0);\n"
        "    atomicXor(&a, 3u), atomicDec(&b, 200u);\n    __syncthreads();\n"
        "    int3 at = make_int3(odd - 1, a - 5, b - 73);\n"
        "    float3 zero = make_float3(at.x, at.y, at.z);\n",
    ),
    "shared memory declared for the whole file": naive(
        (
            "    float through = D[i * pitch + k]",
            "    held[threadIdx.x] = D[i * pitch + k];\n    float through = held[threadIdx.x]",
        ),
        ("<<<blocks, threads>>>", "<<<blocks, threads, THREADS * sizeof(float)>>>"),
        above="extern __shared__ float held[];\n",
    ),
    "a template in shared memory": naive(
        (
            "    float through = D[i * pitch + k]",
            "    __shared__ Tile<THREADS, float> held;\n"
            "    held.at[threadIdx.x] = D[i * pitch + k];\n"
            "    float through = held.at[threadIdx.x]",
        ),
        above="template <int N, class T> struct Tile { T at[N]; };\n",
    ),
    "static shared memory": naive(body="    static __shared__ float first; first = 0;\n    __syncthreads();\n"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_kernel_may_be_written_in_several_ways(tried, name):
    """To NVRTC, too."""
    found = tried(SPELLINGS[name], 40 if "warp" in name else 12)
    assert found, str(found)
    (kernel,) = found.run.kernels
    assert kernel.name.partition("<")[0] == "step"
    if kernel.registers not in ("NVRTC is not installed", "not known of templates"):
        assert 8 <= kernel.registers < 40


def test_cooperative_groups_of_blocks_and_tiles(tried):
    """NVIDIA's examples: a group as an argument, tiles of a warp, the numbers of a grid."""
    text = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int sum(cg::thread_group g, int* held, int value) {
    const int lane = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        held[lane] = value;
        g.sync();
        if (lane < i) value += held[lane + i];
        g.sync();
    }
    return value;
}
__global__ void check(int* wrong) {
    __shared__ int held[64];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    cg::thread_group four = cg::tiled_partition(block, 4);
    const int t = block.thread_rank(), own = tile.thread_rank(), all = sum(block, held, t);
    if (t == 0) atomicAdd(wrong, all != 64 * 63 / 2);
    int best = own;
    for (int i = tile.size() / 2; i > 0; i /= 2) best += tile.shfl_down(best, i);
    if (own == 0) atomicAdd(wrong, best != 120);
    const int first = sum(four, held + t / 4 * 4, t % 4);
    if (four.thread_rank() == 0) atomicAdd(wrong, first != 6);
    atomicAdd(wrong, tile.shfl(own, 17) != 1 || tile.shfl_up(own, 1) != max(own - 1, 0));
    atomicAdd(wrong, tile.shfl_xor(own, 3) != (own ^ 3) || tile.match_any(own) != 1u << own);
    atomicAdd(wrong, tile.ballot(own < 3) != 7 || !tile.any(own == 5) || tile.all(own == 5));
    atomicAdd(wrong, int(tile.meta_group_rank()) != t / 16 || tile.meta_group_size() != 4 || block.group_dim().x != 64);
    atomicAdd(wrong, cg::this_grid().thread_rank() != blockIdx.x * 64 + t || cg::this_grid().size() != 192);
    atomicAdd(wrong, block.thread_index().x != t || block.group_index().x != blockIdx.x || block.num_threads() != 64);
    cg::sync(block);
}
"""
    check = "int *wrong, w;\n    cudaMalloc(&wrong, 4), cudaMemset(wrong, 0, 4);\n    check<<<3, 64>>>(wrong);\n"
    check += "    cudaMemcpy(&w, wrong, 4, cudaMemcpyDeviceToHost), assert(!w);\n    for (int k"
    found = tried(text + edited(NAIVE, ("for (int k", check)))
    assert found, str(found)
    assert not found.run.hazards
    assert found.run.kernels[0].registers in (
        "NVRTC is not installed", "NVRTC refuses it: cooperative groups are in headers of CUDA's"
    )  # fmt: skip
    late = text.replace("        g.sync();\n        if (lane", "        if (lane")
    assert "line 7" in " ".join(
        tried(late + edited(NAIVE, ("for (int k", check.replace("assert(!w)", "w")))).run.hazards
    )


def test_a_limit_that_is_a_constant_may_be_the_hosts(tried):
    most = "    constexpr float most = std::numeric_limits<float>::infinity();\n    float through ="
    assert tried(edited(NAIVE, ("    float through =", most), ("j], through)", "j], fminf(most, through))")))


@pytest.mark.parametrize(
    ("number", "most"), [("unsigned", "UINT_MAX"), ("long long", "LLONG_MAX"), ("short", "SHRT_MAX")]
)
def test_in_other_integers(tried, number, most):
    kernel = re.sub(r"\bint(\*| first;| second)", rf"{number}\1", SHARED).replace("INT_MAX", most)
    assert kernel.count(number) == 4
    found = tried(kernel)
    assert found, str(found)
    assert not found.run.hazards


def test_over_other_semirings(tried):
    widest = edited(
        NAIVE,
        ("D[i * pitch + k] + D[k * pitch + j]", "min(D[i * pitch + k], D[k * pitch + j])"),
        ("min(D[i * pitch + j], through)", "max(D[i * pitch + j], through)"),
    )
    assert tried(widest, semiring="max_min")
    assert tried(widest.replace("float", "int"), semiring="lor_land")
    assert tried(widest.replace("float", "unsigned"), semiring="max_min")
    assert not tried(NAIVE, semiring="max_min")


def test_what_is_no_number_is_wrong(tried):
    assert "the table says nan" in str(
        tried(
            edited(
                NAIVE,
                ("D[i * pitch + j] = min(D[i * pitch + j], through)", "D[i * pitch + j] = 0 / (through - through)"),
            )
        )
    )


def test_a_host_that_computes_it_all_is_told(tried):
    text = """
    #include <vector>
    void closure(float* d, int n) {
        std::vector<float> D(n * n);
        cudaMemcpy(D.data(), d, 4 * n * n, cudaMemcpyDeviceToHost);
        for (int k = 0; k < n; ++k)
            for (int e = 0; e < n * n; ++e) D[e] = min(D[e], D[e / n * n + k] + D[k * n + e % n]);
        cudaMemcpy(d, D.data(), 4 * n * n, cudaMemcpyHostToDevice);
    }
    """
    found = tried(text)
    assert found
    assert str(found).endswith("\n\nNo kernel was launched: the host computed it.")


def test_fractions_are_no_integers(tmp_path):
    found = emulate(KERNELS / "shared_row.cu", [[0, 0.5], [1, 0]])
    assert "closure takes 32-bit integers, and the weight from 0 to 1 is 0.5: take float* or double*" in str(found)


def test_single_precision_may_round():
    A = np.where(np.isfinite(weights(40)), np.random.default_rng(0).random((40, 40)), np.inf)
    assert emulate(KERNELS / "naive.cu", A)


def test_occupancy_by_the_scarcest_resource():
    """An A100: 65,536 registers, 2,048 threads, 32 blocks, 164 KB."""

    def of(threads, registers, shared):
        return occupied(Kernel("k", 1, (1, 1, 1), (threads, 1, 1), shared, 1, 0, False, (), registers))

    assert of(256, 32, 0) == "100%"
    assert of(256, 64, 0) == "50%, by registers"
    assert of(32, 16, 0) == "50%, by blocks"
    assert of(768, 16, 0) == "75%, by threads"
    assert of(128, 16, 41 << 10) == "19%, by shared memory"
    assert of(256, "NVRTC is not installed", 0) == "100%"


def test_registers_where_nvrtc_is(tried):
    pytest.importorskip("cupy_backends")
    assert 8 <= tried(NAIVE, 4).run.kernels[0].registers < 40
    refused = (
        tried(edited(NAIVE, ("    float through", "    std::abs(1);\n    float through")), 4).run.kernels[0].registers
    )
    assert refused.startswith("NVRTC refuses it: line 10: ")


def test_a_macro_and_what_a_thread_prints(tried, capfd):
    text = edited(
        NAIVE, ("    if (j >= n) return;", '    if (i + j + k == 0) printf("%d\\n", WORD);\n    if (j >= n) return;')
    )
    assert tried(text, 4, define={"WORD": 4711})
    assert capfd.readouterr() == ("", "4711\n")
    with pytest.raises(ValueError, match="define must map names"):
        tried(text, 4, define={"-o": 1})
    with pytest.raises(FormatError, match="must use the macro THREAD that is defined for it"):
        tried(text, 4, define={"THREAD": 1})
    for limit in (0, math.inf, math.nan):
        with pytest.raises(ValueError, match="limit must be"):
            tried(text, 4, limit=limit)


def test_a_name_of_a_file_may_have_quotes(tmp_path):
    path = tmp_path / 'my "kernel" \\1.cu'
    path.write_text(edited(NAIVE, ("    if (j >= n) return;\n", "")))
    assert "fault: line 9: " in str(emulate(path, np.zeros((3, 3))))


def test_what_is_needed_is_said(tried, monkeypatch, tmp_path):
    with pytest.raises(FormatError, match="must define the function that launches its kernels"):
        tried("__global__ void step(float* D) {}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(DeviceError, match=r"a C\+\+ compiler, g\+\+ or clang\+\+, must be installed"):
        tried(NAIVE)
    monkeypatch.setattr(emulated.sys, "platform", "darwin")
    with pytest.raises(DeviceError, match="kernels run on Linux, got darwin"):
        tried(NAIVE)


def test_the_command(tmp_path):
    shown = apsp("lab", "run", KERNELS / "naive.cu", "--graph", ROOT / "examples" / "six.named")
    assert shown.exit_code == 0
    assert "n = 6: right: all 6 rows are those of the closure, exactly." in shown.stdout
    (tmp_path / "wrong.cu").write_text(edited(NAIVE, ("k < n", "k < n - 1")))
    wrong = apsp("lab", "run", tmp_path / "wrong.cu", "--json", "--vertices", 20)
    assert wrong.exit_code == 1
    found = json.loads(wrong.stdout)
    (run,) = found["runs"]
    assert (found["right"], run["words"], run["kernels"][0]["name"]) == (False, 3.8, "step")
    several = apsp("lab", "run", KERNELS / "naive.cu", "--vertices", 4, "--threads-per-block", "32,256").stdout
    assert re.findall(r"^step .*?(\d+) +0 .*?(\d+%.*)", several, re.M) == [("32", "50%, by blocks"), ("256", "100%")]
    assert "--graph must be given" in apsp("lab", "run", KERNELS / "naive.cu", "--weight", "w").stderr
    assert "must define the function" in bad(2, "lab", "run", ROOT / "examples" / "six.named")


def test_the_least_integer_is_said_as_an_entry_of_the_table(tried):
    """INT_MAX + 1 is, and stands for −∞."""
    found = str(
        tried(
            edited(
                SHARED, ("    if (second == INT_MAX)", "    D[i * pitch + j] = INT_MIN;\n    if (second == INT_MAX)")
            )
        )
    )
    assert "first from 0 to 0: the table says -inf, and no walk is as good: the best, the walk of no edge" in found


#: Without `if (j >= n) return;`, in rows n apart.
UNBOUNDED = """
__global__ void step(float* D, int n, int k) {
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y;
    D[i * n + j] = min(D[i * n + j], D[i * n + k] + D[k * n + j]);
}
void closure(float* D, int n) {
    for (int k = 0; k < n; ++k) step<<<dim3((n + 31) / 32, n), 32>>>(D, n, k);
}
"""


def test_a_thread_beyond_the_end_shows_by_default(tmp_path):
    """64 vertices are two blocks of 32; 61 are not, and the next row is written."""
    (tmp_path / "beyond.cu").write_text(UNBOUNDED)
    shown = apsp("lab", "run", tmp_path / "beyond.cu")
    assert shown.exit_code == 1
    assert "n = 64: right" in shown.stdout
    assert "n = 61: fault" in shown.stdout


def test_a_barrier_that_threads_beyond_the_end_miss_shows_by_default(tmp_path):
    """Only the last of two blocks has such threads, of 61 vertices: its table is right all the same."""
    (tmp_path / "missed.cu").write_text(
        edited(
            SHARED, ("    if (threadIdx.x == 0) first", "    if (j >= n) return;\n    if (threadIdx.x == 0) first")
        ).replace("THREADS 128", "THREADS 32")
    )
    shown = apsp("lab", "run", tmp_path / "missed.cu")
    assert shown.exit_code == 0
    assert "n = 64: right" in shown.stdout
    assert "n = 61: right" in shown.stdout
    assert re.search(r"^hazard: .* returned before a __syncthreads\(\)", shown.stdout, re.M)


def test_processes_that_it_begins_end_with_it(tried):
    before = {pid for pid in os.listdir("/proc") if pid.isdigit()}
    assert tried("#include <unistd.h>\n" + edited(NAIVE, ("    for (", "    if (!fork()) sleep(999);\n    for (")))
    for _ in range(10 * PATIENCE):
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid not in before and "program" in name_of(pid)]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"{left} run on")


def name_of(process: str) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text()
    except OSError:
        return ""


def alive(process: str) -> bool:
    """Whether it runs; who has ended may stay listed until its parent looks."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.busy
def test_ctrl_c_ends_it_and_the_program(tmp_path):
    text = edited(
        *(
            NAIVE,
            ("    for (", '    fprintf(stderr, "begun\\n");\n    for ('),
            ("    if (j >= n) return;", "    while (j >= 0);"),
        )
    )
    (tmp_path / "endless.cu").write_text(text)
    code = "import os, sys; os.dup2(1, 2); from apsp.__main__ import run; run()"
    process = start(code, "lab", "run", "--limit", 9999, tmp_path / "endless.cu")
    try:
        wait_for(process, "begun")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        assert children
        assert finish(process)[0] == 130
        for _ in range(10 * PATIENCE):
            if not any(map(alive, children)):
                return
            time.sleep(0.1)
        raise AssertionError(f"{children} run on")
    finally:
        process.kill()


def test_ctrl_c_while_the_program_starts_ends_it(monkeypatch, tmp_path):
    """It runs by then, and nobody has it: SIGINT comes before its process is returned."""
    made = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(emulated.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        emulated._ended(["sleep", "60"], 60)
    assert made
    assert not alive(str(made[0]))


def test_it_is_among_the_public_names():
    assert package.emulate is emulate


@pytest.mark.parametrize(("told", "message"), [("2.5", ""), ("no card", "no card"), (None, "no nvcc")])
def test_a_kernel_is_measured_beside_the_naive_one(tmp_path, monkeypatch, told, message):
    """By a compiler that makes a program of a line."""
    folder = tmp_path / "bin"
    folder.mkdir()
    nvcc = folder / "nvcc"
    if told is not None:
        ends = f"echo {told}; exit {int(bool(message))}"
        nvcc.write_text(
            f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf "#!/bin/sh\\n{ends}" >"$2"; chmod +x "$2"\n'
        )
        nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    if told is None:
        which = shutil.which
        monkeypatch.setattr(shutil, "which", lambda name: None if name == "nvcc" else which(name))
    kernel = KERNELS / "naive.cu"
    if message:
        with pytest.raises(DeviceError, match=message):
            emulate(kernel, package.cycle(8), measure=100)
        return
    found = emulate(kernel, package.cycle(8), measure=100)
    assert found.measured == (100, 2.5, 2.5)
    assert "On the card, n = 100: 2.5 ms, 2.5 by the naive kernel: 1 times as fast." in str(found)
    with pytest.raises(ValueError, match="measure must be"):
        emulate(kernel, package.cycle(8), measure=0)


def test_compilers_that_fortify_by_default(tmp_path, monkeypatch):
    """As Ubuntu's do."""
    compiler = tmp_path / "g++"
    defaults = "-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection"
    compiler.write_text(f'#!/bin/sh\nexec {shutil.which("g++")} {defaults} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert emulate(KERNELS / "blocked.cu", package.cycle(20))


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc makes a program of the kernel")
def test_a_card_measures():
    n, own, naive = emulate(KERNELS / "blocked.cu", package.cycle(40), measure=2048, limit=120).measured
    assert n == 2048
    assert min(own, naive) > 0
