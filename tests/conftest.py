"""What tests share: whether there is a GPU, how many processes run them, and a directory whose permissions count."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keeping
import pytest

from semiring.host import memory
from semiring.kernels.backend import cuda_available
from semiring.kernels.cpu.processors import default_threads

#: JAX takes three quarters of a card when it is first used, unless it is told otherwise before.
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
#: PyTorch's threads give way while they wait for one another: tests run side by side, and spinning takes their time.
os.environ["OMP_WAIT_POLICY"] = "passive"
#: Engines are chosen as if all kernels were compiled: what is, differs from machine to machine and while tests run.
os.environ["SEMIRING_ASSUME_COMPILED"] = "1"
#: What was free a moment ago says nothing where a test says what is.
memory.LATELY = 0.0


def pytest_configure(config: pytest.Config) -> None:
    """Files are not synced to the disk in tests: other programs may keep it busy, and no test loses power.

    Ctrl-C is heard, here and in processes that tests start, even where the shell ignores it for us (`nohup … &`).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kept = getattr(config, "cache", None)
    keeping.keep(kept and kept.mkdir("oracles"))
    fsync = os.fsync
    os.fsync = lambda handle: None if stat.S_ISREG(os.fstat(handle).st_mode) else fsync(handle)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`, as in tests/run.sh: a process a processor, but all in this one where they would share a GPU."""
    return 0 if cuda_available() else min(default_threads(), 8)


#: Tests that only a GPU could run, of those that were asked for; with processes of pytest-xdist, how many each has.
NEED_A_GPU = pytest.StashKey[list[pytest.Item]]()
LEFT_OUT = pytest.StashKey[int]()


#: Node ids of all tests that were collected, those among them that are then left out.
COLLECTED = pytest.StashKey[set[str]]()
#: Tests that wait for a release, by node id.
RELEASED = {line for line in (Path(__file__).parent / "released.txt").read_text().splitlines() if line[:1] != "#"}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `released.txt` lists."""
    item.config.stash.setdefault(COLLECTED, set()).add(item.nodeid)
    if item.nodeid.removeprefix("tests/") in RELEASED:
        item.add_marker("release")


@pytest.hookimpl(trylast=True)  # after -m and -k: what they leave out needs no GPU
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `gpu` on machines without one; the summary says so."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked or cuda_available():
        return
    config.stash[NEED_A_GPU], config.stash[LEFT_OUT] = marked, len(marked)
    config.hook.pytest_deselected(items=marked)
    items[:] = [item for item in items if not item.get_closest_marker("gpu")]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist has no summary: it leaves its number to the one that has."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """All processes collect the same tests, so that any has their number; one that died has none."""
    if left_out := getattr(node, "workeroutput", {}).get("left out"):
        node.config.stash[LEFT_OUT] = left_out


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} tests marked `gpu` left out: no NVIDIA GPU with CuPy on this machine")


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


@pytest.fixture(scope="module")
def short_runs() -> Iterator[None]:
    """Comparisons repeat a run for 10 ms and not for 100: how long it takes is asserted nowhere."""
    from apsp.comparison import measure

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(measure.RUN_SECONDS, "cpu", 0.01)
        yield


@pytest.fixture(scope="session")
def emulated_kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the GPU's kernels lie once they are compiled for the processor; by their text, for the next run too."""
    cache = getattr(request.config, "cache", None)
    return Path(cache.mkdir("emulated")) if cache else tmp_path_factory.mktemp("emulated")


@pytest.fixture(scope="session")
def cp() -> Any:
    """CuPy; files that emulate a GPU have one of their own."""
    return pytest.importorskip("cupy")


@pytest.fixture(autouse=True)
def no_figure_is_left():
    """What a test has drawn is closed: pyplot keeps figures, and warns from twenty on."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
