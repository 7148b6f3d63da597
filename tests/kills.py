"""A campaign of `kill -9`: closures with a checkpoint are killed at random moments, and go on until they end right.

    python -m tests.kills --kills 40 --n 2048 --folder /tmp/campaign

Each start draws how it works: in memory or from disk, with which pivot block and how much memory. After every kill
tiles may be damaged too (--damage). Checked: that the result is the one of SciPy's Dijkstra, bit for bit, that no
start begins before the oldest tile of a whole checkpoint, and that nothing is read as a matrix before its closure has
ended. Exit code 0: all of that held. `python -m tests.fuzz --target kills` kills what writes results.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from semiring.host.errors import SemiringError
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.folder import is_store

ROOT = Path(__file__).parents[1]

#: What is started, and killed: it says when the closure begins, and how far it is.
CHILD = """
import sys, json, logging
import numpy as np
from apsp import closure

asked = json.loads(sys.argv[1])
folder = asked.pop("folder")
A = np.load(f"{folder}/a.npy", mmap_mode="r")
print("begin", flush=True)
D = closure(A, checkpoint=f"{folder}/ck", callback=lambda done, total: print(done, flush=True), **asked)
np.save(f"{folder}/d.npy", D[:])
print("end", flush=True)
"""


def matrix(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random integers, and their distances by SciPy."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    rng, none = np.random.default_rng(seed), np.iinfo("int32").max
    A = np.where(rng.random((n, n)) < 6 / n, rng.integers(1, 1000, (n, n)), none).astype("int32")
    i, j = np.nonzero(none != A)
    D = dijkstra(csr_array((A[i, j].astype(float), (i, j)), shape=A.shape))
    return A, np.where(np.isinf(D), none, D).astype("int32")


def stands(folder: Path) -> int:
    """How many pivots are done in the checkpoint that is there, with all of its tiles."""
    if not is_store(folder / "ck"):
        return 0
    try:
        found = TileStore(folder / "ck").inspect()
    except SemiringError:
        return 0
    return 0 if found.errors else found.oldest


class Campaign:
    """Closures in a folder, killed over and over."""

    def __init__(self, folder: Path, n: int, seed: int, *, damage: bool = False) -> None:
        self.folder, self.n, self.seed, self.damage = folder, n, seed, damage
        self.random = random.Random(seed)
        self.starts = self.kills = self.ended = self.early = self.wrong = self.misread = 0
        self.matrices = 0

    def new(self) -> None:
        """A matrix that nobody has begun."""
        A, self.expected = matrix(self.n, self.seed + self.matrices)
        self.matrices += 1
        self.on_disk = self.matrices % 2 == 0
        for tile in (self.folder / "ck").glob("*"):
            tile.unlink()
        np.save(self.folder / "a.npy", A)
        (self.folder / "d.npy").unlink(missing_ok=True)

    def asked(self) -> dict[str, Any]:
        """How the next start works."""
        if self.on_disk:
            size = self.n * self.n
            return {"memory": self.random.choice([3 * size, 2 * size, int(1.5 * size)]) + (1 << 20)}
        return {"every": 0, "block": self.random.choice([64, 100, 128, 256])}

    def start(self, *, lines: int | None = None, seconds: float = 0.0) -> bool:
        """One start, killed after so many lines or seconds; whether it came to its end."""
        stood = stands(self.folder)
        asked = {"folder": str(self.folder), **self.asked()}
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, json.dumps(asked)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.starts += 1
        assert child.stdout is not None
        seen: list[str] = []
        for line in child.stdout:
            seen.append(line.strip())
            if len(seen) == 1 and lines is None:
                time.sleep(seconds)
                break
            if lines is not None and len(seen) >= lines:
                break
        killed = child.poll() is None
        if killed:
            child.send_signal(signal.SIGKILL)
        rest, errors = child.communicate()
        seen += rest.split()
        self.kills += child.returncode == -signal.SIGKILL
        done = [int(x) for x in seen if x.isdecimal()]
        if done and done[0] < stood * self.n**2:
            self.early += 1
        if seen[-1:] == ["end"]:
            self.ended += 1
            self.wrong += not np.array_equal(np.load(self.folder / "d.npy"), self.expected)
            return True
        self.misread += self.reads_as_another()
        if child.returncode != -signal.SIGKILL:
            raise AssertionError(f"a start of {asked} failed:\n{errors}")
        return False

    def reads_as_another(self) -> bool:
        """Whether the checkpoint of a closure that was killed is read as some matrix that is not its result."""
        try:
            found = TileStore(self.folder / "ck")[:]
        except SemiringError:
            return False
        return not np.array_equal(found, self.expected)

    def spoil(self) -> None:
        """Damage a tile, as a disk might: at times after a kill."""
        tiles = sorted((self.folder / "ck").glob("*.tile"))
        if self.damage and tiles and self.random.random() < 0.3:
            path = self.random.choice(tiles)
            data = bytearray(path.read_bytes())
            data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
            path.write_bytes(data)

    @property
    def right(self) -> bool:
        """Whether every end was right, no start began before its checkpoint, and no half of a closure was read."""
        return not self.wrong and not self.early and not self.misread

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.starts} starts; {self.ended} closures ended, {self.wrong} of them wrong; "
            f"{self.early} began before what their checkpoint had, {self.misread} left one that reads as a matrix"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--n", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="where; a temporary directory by default")
    parser.add_argument("--damage", action="store_true", help="flip bits of tiles now and then")
    parser.add_argument("--seconds", type=float, default=3.0, help="a start is killed within so many")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        campaign = Campaign(Path(folder), given.n, given.seed, damage=given.damage)
        campaign.new()
        while campaign.kills < given.kills:
            if campaign.start(seconds=campaign.random.uniform(0, given.seconds)):
                campaign.new()
            else:
                campaign.spoil()
            print(campaign, flush=True)
        campaign.start(lines=sys.maxsize)  # this one may end
    print(campaign)
    return 0 if campaign.right else 1


if __name__ == "__main__":
    sys.exit(main())
