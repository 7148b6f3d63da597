"""Writers killed by `kill -9` at any step: afterwards the old result stands, or the new, whole.

A writer is forked from a process in which everything is compiled. It dies, or stops, so many steps of Python after so
many operations on its files, so that a case can be replayed. `python -m tests.kills` kills closures by the clock.
"""

from __future__ import annotations

import csv
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from apsp import Reachability, Result, closure, shortest_paths, transitive_closure, write
from apsp.io.formats import read
from apsp.io.graph import Graph
from apsp.io.saving import tiles
from semiring.host.errors import SemiringError
from semiring.stores.tiles import TileStore

from .draw import Draw

#: Vertices, rows of a tile, and seconds that a writer may take.
N, TILE, PATIENCE = 9, 4, 120.0
#: What a reader says of a place where nothing is; what is whole is the number of the writer that left it.
NOTHING = "nothing"


def prepare() -> None:
    """Compile and import all that a fork then has; the threads of ours and of Zarr's start anew in it."""
    tiles.TILE = TILE
    for name in WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            _write(name, Path(folder), 1)
            assert _read(name, Path(folder)) == 1


def case(draw: Draw) -> None:
    """One writer that dies, or two at once."""
    with tempfile.TemporaryDirectory() as folder:
        draw.pick((_killed, _killed, _killed, _two))(draw, Path(folder))


# What is written: everything has a number in it by which it is known again.


def _graph(number: int) -> Graph:
    """A ring whose distances are multiples of the number."""
    ring = np.arange(N)
    return Graph.from_arrays(ring, (ring + 1) % N, np.full(N, number), n=N)


def _matrix(number: int) -> np.ndarray:
    return np.asarray(_graph(number).matrix("min_plus", "int32"))


def _reached(number: int) -> np.ndarray:
    """A path of so many edges."""
    A = np.zeros((N, N), bool)
    A[np.arange(number), np.arange(1, number + 1)] = True
    return A


#: By name: the file or directory that is written, how, and how it is read again, as a table.
WRITERS: dict[str, tuple[str, Callable[[Path, int], object], Callable[[Path], Any]]] = {
    "tiles": ("d.tiles", lambda p, k: shortest_paths(_graph(k)).save(p), lambda p: Result.load(p).distances),
    "folder": ("d", lambda p, k: shortest_paths(_graph(k)).save(f"{p}/"), lambda p: TileStore(p)[:]),
    "zarr": ("d.zarr", lambda p, k: shortest_paths(_graph(k)).save(p), lambda p: Result.load(p).distances),
    "npz": ("d.npz", lambda p, k: shortest_paths(_graph(k)).save(p), lambda p: Result.load(p).distances),
    "hubs": ("d.hubs", lambda p, k: shortest_paths(_graph(k), hub_labels=True).save(p), lambda p: _distances(p)),
    "npy": ("d.npy", lambda p, k: shortest_paths(_graph(k)).save(p), lambda p: np.load(p)),
    "csv": ("d.csv", lambda p, k: shortest_paths(_graph(k)).save(p), lambda p: _table(p)),
    "graph": ("g.gr.gz", lambda p, k: write(_graph(k), p), lambda p: closure(read(p).matrix("min_plus", "int32"))),
    "output": ("out", lambda p, k: closure(_matrix(k), output=p), lambda p: TileStore(p)[:]),
    "streamed": ("out", lambda p, k: closure(_matrix(k), output=p, memory=1 << 20), lambda p: TileStore(p)[:]),
    "result": ("out", lambda p, k: shortest_paths(_graph(k), output=p), lambda p: Result.load(p).distances),
    "checkpoint": ("ck", lambda p, k: closure(_matrix(k), checkpoint=p, every=0, block=2), lambda p: TileStore(p)[:]),
    "both": ("out", lambda p, k: closure(_matrix(k), output=p, checkpoint=f"{p}.ck{k}"), lambda p: TileStore(p)[:]),
    "reach": ("t", lambda p, k: transitive_closure(_reached(k)).save(f"{p}/"), lambda p: _pairs(p)),
    "reach.npz": ("t.npz", lambda p, k: transitive_closure(_reached(k)).save(p), lambda p: _pairs(p)),
    "predecessors": (
        "p.npy", lambda p, k: shortest_paths(_turned(k)).save_predecessors(p), lambda p: np.load(p)
    ),
}  # fmt: skip
#: Those that leave the state of a closure, which is no result before it has ended.
STATES = ("checkpoint",)


def _turned(number: int) -> Graph:
    """A ring in steps of so many, so that its predecessors tell the number."""
    ring = np.arange(N)
    return Graph.from_arrays(ring, (ring + number) % N, np.ones(N, int), n=N)


def _pairs(path: Path) -> np.ndarray:
    return np.asarray(Reachability.load(path).to_bool())


def _distances(path: Path) -> np.ndarray:
    """Pair by pair, from labels."""
    found: np.ndarray = Result.load(path).distance(np.arange(N)[:, None], np.arange(N))
    return found


def _table(path: Path) -> np.ndarray:
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return np.array([row[1:] for row in rows[1:]], float)


def _known(name: str, table: Any) -> int:
    """Whose table it is; everything in it must say so."""
    table = np.asarray(table)
    assert table.shape == (N, N)
    for number in (1, 2, 4):
        if np.array_equal(table, _expected(name, number)):
            return number
    raise AssertionError(f"a table that nobody wrote: {table.tolist()}")


def _expected(name: str, number: int) -> np.ndarray:
    i, j = np.ogrid[:N, :N]
    if name.startswith("reach"):
        return np.asarray((j > i) & (j <= number))
    if name == "predecessors":
        return np.where(i == j, -9999, (j - number) % N)
    return np.asarray((j - i) % N * number)


def _place(folder: Path, name: str) -> Path:
    return folder / WRITERS[name][0]


def _write(name: str, folder: Path, number: int) -> None:
    WRITERS[name][1](_place(folder, name), number)


# Processes


def _forked(work: Callable[[], object]) -> tuple[int, int]:
    """A child that does this and ends: 0 if it did, 3 if it was refused, 4 at what nobody expected. Its pipe, too."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if pid:
        os.close(mouth)
        return pid, ear
    code = 4
    try:
        work()
        code = 0
    except (SemiringError, OSError, ValueError) as error:
        code = 3
        os.write(mouth, f"{type(error).__name__}: {error}"[:4000].encode(errors="replace"))
    except BaseException:
        os.write(mouth, traceback.format_exc()[-4000:].encode(errors="replace"))
    finally:
        os._exit(code)


def _ended(child: tuple[int, int]) -> tuple[int, str]:
    """Its exit code, a signal below 0, and what it said."""
    pid, ear = child
    end = time.monotonic() + PATIENCE
    while not (found := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("a writer never ended")
        time.sleep(0.001)
    with open(ear, "rb") as file:
        return os.waitstatus_to_exitcode(found[1]), file.read().decode()


def _at_step(folder: Path, operation: int, steps: int, number: signal.Signals) -> None:
    """Have this process send itself a signal, so many calls of Python's after that operation on files in the folder."""
    seen, inside = 0, os.fspath(folder)

    def step(frame: Any, event: str, what: Any) -> None:
        nonlocal steps
        steps -= 1
        if steps < 0:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    def heard(event: str, what: tuple[Any, ...]) -> None:
        nonlocal seen
        if seen < operation and (event.startswith("fcntl.") or any(_within(x, inside) for x in what[:2])):
            seen += 1
            if seen == operation:
                sys.setprofile(step)

    sys.addaudithook(heard)


def _within(path: Any, folder: str) -> bool:
    with suppress(TypeError, UnicodeError):
        return os.fsdecode(path).startswith(folder)
    return False


def _moment(draw: Draw) -> tuple[int, int]:
    """After which operation, one of the first as likely as many later ones, and how many calls later."""
    return 1 + draw.below(1 << draw.between(0, 7)), draw.below(1 << draw.between(0, 6))


def _read(name: str, folder: Path) -> int | str:
    """What stands there: a number, `NOTHING`, or why it was refused."""
    place = _place(folder, name)
    if not os.path.lexists(place):
        return NOTHING
    try:
        table = WRITERS[name][2](place)
    except (SemiringError, OSError, ValueError) as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return _known(name, table)


def _killed(draw: Draw, folder: Path) -> None:
    """A writer is killed; what it was to replace stands, or what it wrote; and the next one ends."""
    name, old = draw.pick(tuple(WRITERS)), draw.chance(60)
    operation, steps = _moment(draw)
    draw.note(writer=name, old=old, operation=operation, steps=steps)
    if old and name not in STATES:
        assert _ended(_forked(lambda: _write(name, folder, 1))) == (0, "")

    def work() -> None:
        _at_step(folder, operation, steps, signal.SIGKILL)
        _write(name, folder, 2)

    code, said = _ended(_forked(work))
    draw.note(code=code, left=sorted(p.name for p in folder.iterdir()))
    assert code in (0, -signal.SIGKILL), f"a writer that nobody disturbed failed: {said}"
    found = _read(name, folder)
    draw.note(found=found)
    if code == 0:
        assert found == 2, "a writer ended, and its result is not there"
    elif name in STATES:
        assert found != 1, "nobody wrote that"
    else:
        assert found in ((1, 2) if old else (2, NOTHING)), "neither the old nor the new stands there, whole"
    code, said = _ended(_forked(lambda: _write(name, folder, 2)))
    assert code == 0, f"what a killed writer left keeps the next one out: {said}"
    assert _read(name, folder) == 2
    left = [p.name for p in folder.iterdir() if p.name.startswith(".") and not (p.is_file() and p.suffix == ".tmp")]
    assert not left, f"left behind by the one that was killed, and by the next: {left}"


def _two(draw: Draw, folder: Path) -> None:
    """Two write to one place at a time: the second is told, or one of both results stands in the end, whole."""
    name, old = draw.pick([x for x in WRITERS if x not in STATES]), draw.chance(60)
    operation, steps = _moment(draw)
    draw.note(writer=name, old=old, operation=operation, steps=steps)
    if old:
        assert _ended(_forked(lambda: _write(name, folder, 1))) == (0, "")

    def work() -> None:
        _at_step(folder, operation, steps, signal.SIGSTOP)
        _write(name, folder, 2)

    first = _forked(work)
    status = os.waitpid(first[0], os.WUNTRACED)[1]
    stopped = os.WIFSTOPPED(status)
    try:
        second, told = _ended(_forked(lambda: _write(name, folder, 4)))
    finally:
        if stopped:
            os.kill(first[0], signal.SIGCONT)
    code, said = _ended(first) if stopped else (os.waitstatus_to_exitcode(status), "")
    draw.note(first=(code, said), second=(second, told), stopped=stopped)
    assert (second, code) in ((0, 0), (0, 3), (3, 0)), f"{said}{told}"
    assert stopped or second == 0, "nobody else was there, and a writer was refused"
    found = _read(name, folder)
    draw.note(found=found)
    assert found in {2 if code == 0 else 4, 4 if second == 0 else 2}, "not the result of one who ended"
