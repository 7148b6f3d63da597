"""How much faster are more GPUs, as a table and a picture of what benchmarks/distributed.py printed?

python benchmarks/distributed.py --gpus 2 4 --sizes 16384 32768 65536 > found.txt
python benchmarks/scaling.py found.txt --picture scaling.png
"""

from __future__ import annotations

import re
from pathlib import Path

from common import arguments

LINE = re.compile(
    r"(?P<dtype>\w+) +n = +(?P<n>\d+) block +\d+ +(?P<gpus>\d+) GPUs +(?P<ms>[\d.]+) ms.*?"
    r"(?:one +(?P<one>[\d.]+) ms|$)"
)

#: (dtype, n) → GPUs → the least milliseconds.
Found = dict[tuple[str, int], dict[int, float]]


def read(text: str) -> Found:
    """The times of closures that were run as a whole.

    Examples
    --------
    >>> read("float32  n =  16384 block  1024  4 GPUs      79.04 ms   55.64 T/s   one     270.86 ms    3.43 ×")
    {('float32', 16384): {4: 79.04, 1: 270.86}}
    """
    found: Found = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match is None or " rounds" in line:
            continue
        times = found.setdefault((match["dtype"], int(match["n"])), {})
        for gpus, ms in ((int(match["gpus"]), match["ms"]), (1, match["one"])):
            if ms:
                times[gpus] = min(float(ms), times.get(gpus, float("inf")))
    return found


def table(found: Found) -> str:
    """Seconds, 10¹² pairs a second, and times one GPU."""
    counts = sorted({gpus for times in found.values() for gpus in times})
    heads = [f"{gpus} GPU{'s' if gpus > 1 else ''}" for gpus in counts]
    lines = [f"| | n | {' | '.join(heads)} |", "|---" * (2 + len(counts)) + "|"]
    for (dtype, n), times in sorted(found.items()):
        cells = []
        for gpus in counts:
            if gpus not in times:
                cells.append("–")
                continue
            ms = times[gpus]
            shown = f"{ms:.3g} ms" if ms < 1000 else f"{ms / 1e3:.3g} s"
            more = f", {times[1] / ms:.2f} ×" if gpus > 1 and 1 in times else ""
            cells.append(f"{shown}, {n**3 / ms / 1e9:.1f}{more}")
        lines.append(f"| {dtype} | {n:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def picture(found: Found, file: Path) -> None:
    """Times one GPU over the number of GPUs, a line for each n."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 4), layout="constrained")
    known = {key: times for key, times in sorted(found.items()) if 1 in times and len(times) > 1}
    most = max(gpus for times in known.values() for gpus in times)
    axes.plot([1, most], [1, most], color="0.8", label="as many times as GPUs")
    for (dtype, n), times in known.items():
        counts = sorted(times)
        axes.plot(counts, [times[1] / times[g] for g in counts], "o-", label=f"{dtype}, n = {n:,}", markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ticks = [2**k for k in range(most.bit_length())]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [str(k) for k in ticks])
    axes.set_xlabel("GPUs")
    axes.set_ylabel("times one GPU")
    axes.grid(color="0.93")
    axes.legend(frameon=False)
    figure.savefig(file, dpi=90)


def main() -> None:
    parser = arguments(__doc__, quick=False)
    parser.add_argument("outputs", type=Path, nargs="+")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--dtypes", nargs="*", help="these alone")
    args = parser.parse_args()
    found = read("\n".join(file.read_text() for file in args.outputs))
    found = {key: times for key, times in found.items() if not args.dtypes or key[0] in args.dtypes}
    print(table(found))
    if args.picture:
        picture(found, args.picture)


if __name__ == "__main__":
    main()
