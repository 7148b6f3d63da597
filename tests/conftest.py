"""What tests share: whether there is a GPU, how many processes run them, and a directory whose permissions count."""

from __future__ import annotations

import gc
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from semiring.backend import cuda_available
from semiring.cpu.processors import default_threads

#: JAX takes three quarters of a card when it is first used, unless it is told otherwise before.
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"


def pytest_configure() -> None:
    """Files are not synced to the disk in tests: other programs may keep it busy, and no test loses power."""
    fsync = os.fsync
    os.fsync = lambda handle: None if stat.S_ISREG(os.fstat(handle).st_mode) else fsync(handle)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`, as in tests/run.sh: a process a processor, but all in this one where they would share a GPU."""
    return 0 if cuda_available() else min(default_threads(), 8)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `gpu` on machines without one, and say why."""
    if not any("gpu" in item.keywords for item in items) or cuda_available():
        return
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU with CuPy on this machine"))


def pytest_collection_finish() -> None:
    """What was imported and collected is not garbage: compiling, which makes much, would look through it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory, seen as somebody whom permissions stop; root they do not."""
    directory = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        directory.chmod(0o777)
        os.seteuid(65534)
    try:
        yield directory
    finally:
        if root:
            os.seteuid(0)
        directory.chmod(0o700)
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def emulated_kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the GPU's kernels lie once they are compiled for the processor; by their text, for the next run too."""
    cache = getattr(request.config, "cache", None)
    return Path(cache.mkdir("emulated")) if cache else tmp_path_factory.mktemp("emulated")
