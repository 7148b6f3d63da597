"""A campaign: each mutant in a copy of the sources, under the test that must notice it."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from . import ROOT, Mutant

#: What a copy consists of, and what of it is left out.
PARTS = (".ci", "semiring", "apsp", "tests", "examples", "docs", "_apsp_networkx.py", "pyproject.toml", "README.md")
LEFT_OUT = shutil.ignore_patterns("*.lock", "*.pyc")
#: What compiled kernels are made from: mutants of these compile their own.
COMPILED = ("semiring/kernels/cpu/", "semiring/algebra/catalog.py")
#: Where kernels would be kept but for the copy itself.
CACHES = ("NUMBA_CACHE_DIR", "SEMIRING_CACHE_DIR")
#: How pytest ends where all tests passed.
PASSED = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: "noticed", "SURVIVED" or "DOES NOT APPLY"; how, and after how long."""

    mutant: Mutant
    verdict: str
    seconds: float
    detail: str = ""


class Red(Exception):
    """Tests that fail without any mutant notice nothing."""


def run(mutants: Iterable[Mutant], *, jobs: int = 1, patience: float = 300.0, root: Path = ROOT) -> Iterator[Outcome]:
    """The outcome of each mutant, as they come.

    The tests that they name are run first without any, which compiles what kernels these need.

    Parameters
    ----------
    jobs : int
        How many are tried at once, each in a copy of its own.
    patience : float
        Seconds after which tests that do not end have noticed.
    root : Path
        Where the sources are. They are copied, and never changed.

    Raises
    ------
    Red
        If tests fail without any mutant.
    """
    mutants = [m for m in mutants if not m.equivalent]
    with TemporaryDirectory(prefix="mutants-") as temporary:
        trees = [_copy(root, Path(temporary) / str(job)) for job in range(jobs)]
        for tree in trees[1:]:  # all share compiled kernels
            for kept in (tree / "semiring").glob("cpu/__pycache__"):
                shutil.rmtree(kept)
                kept.symlink_to(trees[0] / "semiring/kernels/cpu/__pycache__")
        _require_green(trees[0], mutants, jobs, max(3600.0, patience))
        free: SimpleQueue[Path] = SimpleQueue()
        for tree in trees:
            free.put(tree)

        def one(mutant: Mutant) -> Outcome:
            tree = free.get()
            try:
                return _tried(mutant, tree, patience)
            finally:
                free.put(tree)

        with ThreadPoolExecutor(jobs) as pool:
            tries = [pool.submit(one, mutant) for mutant in mutants]
            try:
                yield from (tried.result() for tried in as_completed(tries))
            finally:
                pool.shutdown(cancel_futures=True)


def _copy(root: Path, tree: Path) -> Path:
    tree.mkdir()
    for part in PARTS:
        if (root / part).is_dir():
            shutil.copytree(root / part, tree / part, ignore=LEFT_OUT, symlinks=True)
        elif (root / part).exists():
            shutil.copy2(root / part, tree / part)
    # By their content: a mutant may have the size of the original, and be as old.
    compileall.compile_dir(tree, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return tree


def _require_green(tree: Path, mutants: list[Mutant], jobs: int, patience: float) -> None:
    code, said, _ = _pytest(tree, sorted({m.test for m in mutants}), patience, jobs=jobs if jobs > 1 else 0)
    if code != PASSED:
        raise Red(f"all tests of the table must pass without any mutant, got exit code {code}:\n{said}")


def _tried(mutant: Mutant, tree: Path, patience: float) -> Outcome:
    path = tree / mutant.file
    try:
        original = path.read_text(encoding="utf-8")
        edited = mutant.applied(original)
    except (OSError, ValueError) as error:
        return Outcome(mutant, "DOES NOT APPLY", 0, str(error))
    kernels = tree.with_name(f"{tree.name}-kernels")
    try:
        path.write_text(edited, encoding="utf-8")
        own = {"NUMBA_CACHE_DIR": str(kernels)} if mutant.file.startswith(COMPILED) else {}
        code, said, seconds = _pytest(tree, [mutant.test], patience, **own)
    finally:
        path.write_text(original, encoding="utf-8")
        shutil.rmtree(kernels, ignore_errors=True)
    if code == PASSED:
        return Outcome(mutant, "SURVIVED", seconds, mutant.breaks)
    how = "it never ended" if code is None else next(_failures(said), f"it ended with {code}")
    return Outcome(mutant, "noticed", seconds, how)


def _failures(said: str) -> Iterator[str]:
    yield from (line.split(" - ")[0] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR ")))


def _pytest(
    tree: Path, tests: list[str], patience: float, *, jobs: int = 0, **environment: str
) -> tuple[int | None, str, float]:
    """Exit code, None where it did not end; what it said; and seconds."""
    outer = {name: value for name, value in os.environ.items() if name not in CACHES}
    environment = {**outer, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-m", "pytest", "-x", "-q", f"-n{jobs}", "--tb=line", "-p", "no:cacheprovider"]
    command += ["-m", "not compile"]  # a mutant may name a test that waits for a release
    began = time.monotonic()
    with subprocess.Popen(
        [*command, *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=patience)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            said, code = "", None
        finally:  # the tests' own processes, too
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return code, said, time.monotonic() - began
