"""How long do pairs take while roads change, asked by eight threads of one process?

    python benchmarks/server.py                     # Luxembourg: 10⁶ pairs and 10⁴ changes; a few minutes
    python benchmarks/server.py --data DIR          # DIR has osm-luxembourg/; else ../shared/data
    python benchmarks/server.py --quick             # little of it, on a generated graph of 2,000 vertices

Every thread changes one road of the present result, doubled, closed, or as it was, and asks for a hundred pairs by
name. A pair after each change is looked up in the elimination of the same result, too, which climbs from both ends; at
the end all weights are eliminated from scratch, and pairs compared. Times are wall clock: waiting for the interpreter's
lock and for a processor are a part of them. So the same threads time as many rounds of lookups in a dictionary, which
take as long as a pair: what those are late is the machine's and the interpreter's. Memory is what the process has
resident, tenth by tenth of the changes.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
from common import arguments, begin, best
from sparse import DATA

# isort: split
import apsp

THREADS, CHANGES = 8, 10**4
#: Pairs after each change.
EACH = 100


def resident() -> float:
    """MB of the process in main memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Server:
    """The present result, and who changes it."""

    def __init__(self, r: apsp.Result) -> None:
        self.result, self.lock, self.names = r, threading.Lock(), list(r.graph.labels)
        self.tails, self.heads, self.weights = (x.tolist() for x in (r.graph.rows, r.graph.cols, r.graph.weights))
        self.changed: dict[int, float] = {}
        self.changes, self.memory = [], []  # type: list[float], list[float]
        self.positions = {name: k for k, name in enumerate(self.names)}
        u, *some = self.names[:: len(self.names) // 1000]  # as many as take as long as a pair
        pair, lookup = (best(run, 99) for run in (lambda: r.distance(u, some[0]), lambda: self.look_up(some)))
        self.few = some[: max(1, round(len(some) * pair / lookup))]
        self.wrong = self.checked = 0

    def change(self, rng: np.random.Generator) -> None:
        """One road is doubled, closed, or as it was."""
        with self.lock:
            start = time.perf_counter()
            edge = int(rng.integers(len(self.tails)))
            if self.changed and rng.random() < 0.5:
                edge = next(iter(self.changed))
                weight = self.weights[edge]
                del self.changed[edge]
            else:
                self.changed[edge] = weight = [np.inf, 2 * self.weights[edge]][int(rng.integers(2))]
            self.result = self.result.update({(self.names[self.tails[edge]], self.names[self.heads[edge]]): weight})
            self.changes.append(time.perf_counter() - start)
            if len(self.changes) % 10 == 0:
                self.memory.append(resident())

    def look_up(self, names: list[str]) -> None:
        """Positions in a dictionary."""
        for name in names:
            self.positions[name]

    def check(self, i: int, j: int) -> None:
        """A pair by labels, and by two climbs."""
        r = self.result
        found, expected = r.distance(self.names[i], self.names[j]), r.engine.all_pairs.elimination.entry(i, j).item()
        self.wrong += found != (np.inf if expected == r.infinity else expected)
        self.checked += 1

    def work(self, seed: int, took: np.ndarray, looked: np.ndarray) -> None:
        """Changes, and pairs and lookups after each; writes how long each of those took, in shape (changes, EACH)."""
        rng, now = np.random.default_rng(seed), time.perf_counter
        for q in range(len(took)):
            self.change(rng)
            ends = rng.integers(0, len(self.names), (EACH, 2)).tolist()
            asked = [(self.names[u], self.names[v]) for u, v in ends]
            for k, (u, v) in enumerate(asked):
                begun = now()
                self.result.distance(u, v)
                took[q, k] = now() - begun
            for k in range(EACH):
                begun = now()
                self.look_up(self.few)
                looked[q, k] = now() - begun
            self.check(*ends[0])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real graphs")
    parser.add_argument("--threads", type=int, default=THREADS, help="that ask and change")
    parser.add_argument("--changes", type=int, default=CHANGES, help="how many, with a hundred pairs each")
    options = begin(parser)
    graph = apsp.road_like(2000, seed=0) if options.quick else options.data / "osm-luxembourg/luxembourg.gr.gz"
    r = apsp.shortest_paths(graph, threads=1, hub_labels=True, engine="elimination")
    server, changes = Server(r), (options.changes // 50 if options.quick else options.changes) // options.threads
    took, looked = np.ones((2, options.threads, changes, EACH))  # all of it resident before anything is measured
    began, spent = time.perf_counter(), time.process_time()
    workers = [threading.Thread(target=server.work, args=(k, took[k], looked[k])) for k in range(options.threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - began
    print(
        f"{took.size:,} pairs and {len(server.changes):,} changes in {seconds:.0f} s,"
        f" {time.process_time() - spent:.0f} s of processors"
    )
    shares = (50, 90, 99, 99.9, 99.99, 100)
    first, others = took[:, :, 0], took[:, :, 1:]
    for text, x in (
        ("a pair, µs:           ", took), ("  the first of each 100", first), ("  the others          ", others),
        (f"{len(server.few)} lookups, µs:      ", looked),
    ):  # fmt: skip
        found = ", ".join(f"{p:g} % {y:.1f}" for p, y in zip(shares, np.percentile(x * 1e6, shares), strict=True))
        print(f"  {text} {found}; within 20: {(x <= 20e-6).mean():.3%}")
    print(f"  pairs within 20 µs: {(took <= 20e-6).mean():.3%}  (≥ 99.9 %)")
    print(
        "  a change, ms: "
        + ", ".join(
            f"{p:g} % {x * 1e3:.1f}" for p, x in zip(shares, np.percentile(server.changes, shares), strict=True)
        )
    )
    tenths = [float(np.max(part)) for part in np.array_split(server.memory, 10)]
    print(
        "  resident, MB: "
        + ", ".join(f"{x:.0f}" for x in tenths)
        + f"; the last tenth to the second {tenths[-1] / tenths[1]:.3f}  (≤ 1.01)"
    )
    fresh, (i, j) = r.update(server.result.graph.weights), np.random.default_rng(1).integers(0, r.graph.n, (2, 10_000))
    us, vs = (np.array(server.names)[x] for x in (i, j))
    np.testing.assert_array_equal(server.result.distance(us, vs), fresh.distance(us, vs))
    print(
        f"  wrong: {server.wrong} of {server.checked:,} that were looked up; the last result is that of all its weights"
    )


if __name__ == "__main__":
    main()
