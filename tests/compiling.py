"""CUDA kernels compiled into the cache on disk before tests and benchmarks ask for them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from semiring.kernels.cuda import compile

#: One of each generation of GPUs, and of the cheaper cards, whose multiprocessors have less shared memory.
ARCHITECTURES = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120")


def compile_all(units: Iterable[str], arch: str) -> None:
    """Texts side by side, on this process's share of the processors.

    Processes of pytest-xdist share the cache. Each has another order, so that most finds what others have compiled; and
    together they have a thread a processor, for NVRTC takes hundreds of megabytes in each.
    """
    units = list(units)
    random.SystemRandom().shuffle(units)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // workers)) as pool:
        list(pool.map(lambda text: compile.compile(text, arch), units))


def require_nvrtc() -> None:
    """Skip the module whose kernels it would compile, where NVRTC is missing."""
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="CuPy is not installed", exc_type=ImportError)
    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        # NVRTC comes with CUDA's toolkit, which a machine without a GPU need not have.
        pytest.skip(f"NVRTC is not installed: {error}", allow_module_level=True)
