"""Does every promised figure still hold, and what lies ten times below its sisters?

    python benchmarks/ledger.py                   # on the CPU, 10 minutes
    python benchmarks/ledger.py --device cuda     # on a GPU, 5
    python benchmarks/ledger.py --only closure    # figures whose name has this word; repeatable
    python benchmarks/ledger.py --publish         # and keep it in docs/ledger/, beside those of other machines

A figure is a ratio of one run: the time of a reference (what registers can do, the same question to SciPy, NetworkX,
NumPy or pandas, a launch of nothing) over ours. What is timed is checked first. All figures are written to one file,
part by part, with machine, date, commit and command, and compared with the last ledger of the same kind of machine, of
out/ledger/ or docs/ledger/. First comes what fell by more than a tenth, each measured again before it is told; then
missed bars; then valleys: figures ten times below a sister (another dtype or semiring of the same verb and size,
another engine of the same question), and how many have no bar. Parts are files in benchmarks/figures/. Exit code 1:
something fell.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

import common
import figures
from figures import Figure

KEPT, PUBLISHED = common.ROOT / "out" / "ledger", common.ROOT / "docs" / "ledger"
#: Tolerated relative decrease of a ratio, and the factor below a sister from which on a figure is a valley.
FALL, VALLEY = 0.1, 10.0


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", action="append", default=[], help="figures whose name contains this; repeatable")
    parser.add_argument("--publish", action="store_true", help="write it to docs/ledger/ too")
    args = common.begin(parser, gpu="cuda" in sys.argv)
    kind = machine(args.device)
    last = newest(kind)
    facts = {name: fact for name, fact in common.facts().items() if name != "machine code"}  # folders of this machine
    about = {**facts, "commit": commit(), "kind": kind}
    file = KEPT / f"{slug(kind)}-{about['date']}-{about['commit']}.json"
    keep = partial(write, file, about)
    found, failed = measure(args.device, args.only, last, (lambda found: None) if common.quick() else keep)
    print("\n".join(report(found, last)))
    if not common.quick():
        print(f"kept in {file.relative_to(common.ROOT)}")
    if args.publish and not common.quick():
        write(PUBLISHED / f"{slug(kind)}.json", about, found)
    sys.exit(bool(failed) or (not common.quick() and bool(fallen(found, last))))


def write(file: Path, about: dict[str, Any], found: list[Figure]) -> None:
    """Write figures, with machine, date, commit and command, as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {**about, "figures": [asdict(x) for x in found]}
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def measure(
    device: str, only: list[str], last: dict[str, Any] | None, keep: Callable[[list[Figure]], None]
) -> tuple[list[Figure], list[str]]:
    """Every figure, and the names of those that ended in an error; what fell is measured again, and the better kept.

    `keep(figures)` is called after each part, so that a run that is interrupted has not measured in vain.
    """
    before = ratios(last)
    found, failed = [], []
    for part, tasks in figures.parts().items():
        for name, task in tasks(device):
            if only and not any(text in name for text in only):
                continue
            try:
                figure = task()
                for _ in range(2):
                    if figure.ratio < (1 - FALL) * before.get(name, 0) and not common.quick():
                        figure = max(figure, task(), key=lambda x: x.ratio)
            except Exception as error:  # one that cannot be measured here does not end the others
                failed.append(name)
                print(f"{part}: {name}: {type(error).__name__}: {error}", flush=True)
                continue
            found.append(figure)
            print(line(figure), flush=True)
        keep(found)
    return found, failed


def line(x: Figure) -> str:
    bars = [f"{x.least:g} ×" + (f" or {1e6 * x.beyond:g} µs more" if x.beyond else "")] if x.least else []
    bars += [f"{1e3 * x.most:g} ms"] if x.most else []
    missed = f"  MISSED (bar {', '.join(bars)})" if x.missed else ""
    return f"{x.name:52} {1e3 * x.seconds:11.4f} ms {x.ratio:9.3f} × {x.reference}{missed}"


def report(found: list[Figure], last: dict[str, Any] | None) -> list[str]:
    """Lines of the report: regressions, missed bars, valleys, and the count of figures without a bar."""
    before = ratios(last)
    since = "no ledger of this kind of machine yet" if last is None else f"since {last['date']}, {last['commit']}"
    fell, missed, low = fallen(found, last), [x for x in found if x.missed], valleys(found)
    bare = [x for x in found if x.least is None and x.most is None]
    return [
        *host_speed(found, last),
        f"\nFELL by more than {FALL:.0%} ({since}): {len(fell)}",
        *(
            f"  {x.name}: {before[x.name]:.3f} × → {x.ratio:.3f} × {x.reference} ({ratio - 1:+.0%})"
            for x, ratio in fell
        ),
        f"MISSED their bars: {len(missed)}",
        *(f"  {line(x)}" for x in missed),
        f"VALLEYS, {VALLEY:g} × below a sister: {len(low)}",
        *(f"  {x.name}: {factor:.0f} × below {other.name}" for x, other, factor in low),
        f"{len(found)} figures, {len(bare)} without a bar",
    ]


def host_speed(found: list[Figure], last: dict[str, Any] | None) -> list[str]:
    """Time of this host relative to the last one, by references that take no GPU: small figures of a GPU follow it."""
    then = {x["name"]: x["against"] for x in (last or {"figures": []})["figures"]}
    shares = [x.against / then[x.name] for x in found if x.name in then and "registers" not in x.reference]
    return [f"\nThe host takes {median(shares):.2f} × the time of the last ledger's"] if shares else []


def fallen(found: Iterable[Figure], last: dict[str, Any] | None) -> list[tuple[Figure, float]]:
    """Figures below nine tenths of what they were, the deepest first."""
    before = ratios(last)
    shares = [(x, x.ratio / before[x.name]) for x in found if x.name in before]
    return sorted(((x, share) for x, share in shares if share < 1 - FALL), key=lambda pair: pair[1])


def valleys(found: Iterable[Figure]) -> list[tuple[Figure, Figure, float]]:
    """Figures whose work a second is a tenth of their best sister's: which, and how far below."""
    families: dict[str, list[Figure]] = defaultdict(list)
    for x in found:
        for family in x.family:
            families[family].append(x)
    deepest: dict[str, tuple[Figure, Figure, float]] = {}
    for members in families.values():
        top = max(members, key=attrgetter("rate"))
        for x in members:
            factor = top.rate / x.rate
            if factor >= VALLEY and factor > deepest.get(x.name, (x, x, 0.0))[2]:
                deepest[x.name] = x, top, factor
    return sorted(deepest.values(), key=lambda low: -low[2])


def ratios(document: dict[str, Any] | None) -> dict[str, float]:
    return {x["name"]: x["against"] / x["seconds"] for x in (document or {"figures": []})["figures"]}


def machine(device: str) -> str:
    """The kind of machine: the GPU's name, or the processor's, the level of its vectors and how many threads."""
    from apsp.doors.cli.machine import describe
    from semiring.kernels.cpu.features import level
    from semiring.kernels.cpu.processors import default_threads

    known = {key: value.partition(",")[0] for key, value in describe()}
    return known["GPU"] if device == "cuda" else f"{known['processor']}, {level()}, {default_threads()} threads"


def newest(kind: str) -> dict[str, Any] | None:
    """The last figure of each name on this kind of machine: of what is published, and of what was kept here since."""
    kept = sorted(KEPT.glob(f"{slug(kind)}-*.json"), key=lambda path: path.stat().st_mtime)
    published = PUBLISHED / f"{slug(kind)}.json"
    ledgers = [json.loads(path.read_text(encoding="utf-8")) for path in (published, *kept) if path.exists()]
    known = {x["name"]: x for ledger in ledgers for x in ledger["figures"]}
    return {**ledgers[-1], "figures": [*known.values()]} if ledgers else None


def slug(kind: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")


def commit() -> str:
    run = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(run, cwd=common.ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
