"""The records of a comparison: contenders, rows, fits, and conclusions."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from semiring.host.types import Axes, Drawn

from ..io.display import notebook
from . import draw

#: Access patterns of stepwise kernels, in words; see `semiring.kernels.cuda.binding.bind`.
ACCESS = {"rows": "by rows", "columns": "by columns", "shared": "i, k in shared memory", "pitched": "pitched rows"}


@dataclass(frozen=True)
class Contender:
    """A schedule on a device, with backend options."""

    schedule: str
    device: str
    options: tuple[tuple[str, Any], ...] = ()
    block: int | None = None

    @property
    def label(self) -> str:
        """The options as text: "1 thread", "4 a thread", "block 32"."""
        words = {
            "threads": lambda x: f"{x} thread{'s' if x != 1 else ''}",
            "per_thread": lambda x: f"{x} a thread",
            "tile": lambda x: f"{x} tile",
            "access": lambda x: ACCESS[x],
        }
        block = [f"block {self.block}"] if self.block else []
        return ", ".join([*block, *(words[name](value) for name, value in self.options)]) or "-"

    @property
    def name(self) -> str:
        """Schedule, device and options in one line."""
        return f"{self.schedule} ({self.device}{', ' + self.label if self.label != '-' else ''})"


@dataclass(frozen=True)
class Row:
    """The measurements of one contender on a matrix of n vertices.

    `seconds` is the best of a few runs, without compilation; None if `skipped` for a reason. `speedup` is over the
    iterative schedule on one CPU thread, `gain` over it on the same device (one thread, or one launch a vertex),
    `efficiency` E = S / p against one thread of the same schedule and block. `same`: the result equals the first row's,
    bit for bit, or to rounding where float sums are reordered; `difference` is the largest relative one. `shares` are
    fractions of the time by phase; `transfer` the seconds to copy the matrix to the device and back, if it is on the
    host; `calls` the number of verbs called, each a launch or more on a GPU; `moved` the bytes read and written if each
    touches its operands once, see `traffic`; `joules` the energy of a run, from NVML (card) or RAPL (processors), None
    if unreadable; `resources` the registers, shared memory and occupancy of the GPU kernel; `ceiling` the measured
    pairs a second of the same step in registers alone; `block` the
    pivot block; `like` another schedule that makes the very same calls at this size; `times` all runs, with `repeats`.
    """

    contender: Contender
    n: int
    seconds: float | None = None
    speedup: float | None = None
    efficiency: float | None = None
    gain: float | None = None
    same: bool | None = None
    difference: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    transfer: float = 0.0
    moved: float = 0.0
    calls: int = 0
    joules: float | None = None
    resources: str = ""
    ceiling: float | None = None
    skipped: str = ""
    block: int | None = None
    like: str = ""
    times: tuple[float, ...] = ()

    @property
    def rate(self) -> float | None:
        """Pairs a second."""
        return self.n**3 / self.seconds if self.seconds else None

    @property
    def fraction(self) -> float | None:
        """The rate over the ceiling."""
        return self.rate / self.ceiling if self.rate and self.ceiling else None

    @property
    def pairs_per_joule(self) -> float | None:
        """n³ over the energy."""
        return self.n**3 / self.joules if self.joules else None


@dataclass(frozen=True)
class Fit:
    """t = constant · n^exponent seconds, by least squares on logarithms."""

    contender: Contender
    exponent: float
    constant: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """Rows of a comparison; prints as a table with advice.

    See Also
    --------
    fits, advice, crossover, notes : Power laws, the fastest schedule, the size from which the GPU pays; all as text.
    table, to_json, plot : Cells, numbers, a picture.
    apsp.compare, apsp.compare_sizes, apsp.plan : Comparisons of schedules and of sizes; the choice of `closure`.

    Notes
    -----
    `fits`, `advice`, `crossover`, `table`, `notes`, `to_json` and `plot` are O(r) for r runs.
    """

    semiring: str
    dtype: str
    rows: tuple[Row, ...]

    def fits(self) -> list[Fit]:
        """Power laws t = constant · n^exponent of contenders that ran at three sizes or more.

        Returns
        -------
        list of Fit
            `contender`, `exponent` and `constant`.

        Examples
        --------
        >>> from apsp.comparison import Comparison, Contender, Row
        >>> rows = [Row(Contender("iterative", "cpu"), n, seconds=n**3 / 1e9) for n in (100, 500, 1000)]
        >>> c = Comparison("min_plus", "float32", tuple(rows))
        >>> [round(fit.exponent, 6) for fit in c.fits()]
        [3.0]
        """
        found = []
        for contender in dict.fromkeys(row.contender for row in self.rows):
            points = [(r.n, r.seconds) for r in self.rows if r.contender == contender and r.seconds and r.n > 0]
            if len({n for n, _ in points}) >= 3:  # a line through two fits anything
                n, seconds = np.log(np.array(points, dtype=np.float64)).T
                exponent, log_constant = np.polyfit(n, seconds, 1)
                found.append(Fit(contender, float(exponent), float(math.exp(log_constant))))
        return found

    def advice(self) -> str:
        """The fastest schedule by size; it changes only for a gain of more than 5 %.

        Examples
        --------
        >>> from apsp import compare
        >>> compare([[0.0]], devices=["cpu"]).advice()[:8]
        'Fastest:'
        """
        best: dict[int, str] = {}
        name = ""
        for n in sorted({row.n for row in self.rows}):
            total = {row.contender.name: row.seconds + row.transfer for row in self.rows if row.n == n and row.seconds}
            if total:
                least = min(total, key=lambda x: total[x])
                name = best[n] = name if total.get(name, math.inf) <= 1.05 * total[least] else least
        if not best:
            return "Nothing ran: raise the limit."
        starts = [next(sizes) for _, sizes in groupby(best, best.get)]
        return "Fastest: " + "; ".join(f"{best[n]} {'from' if len(best) > 1 else 'at'} n = {n}" for n in starts) + "."

    def crossover(self) -> str:
        """The size from which the GPU, transfers included, beats the CPU.

        Examples
        --------
        >>> from apsp import compare
        >>> compare([[0.0]], devices=["cpu"]).crossover()
        'GPU: none took part.'
        """
        if all(row.contender.device != "cuda" for row in self.rows):
            return "GPU: none took part."
        ran = [(row.n, row.contender.device, row.seconds + row.transfer) for row in self.rows if row.seconds]
        for n in sorted({row.n for row in self.rows}):
            cuda, cpu = (min((t for *of, t in ran if of == [n, x]), default=None) for x in ("cuda", "cpu"))
            if cuda is not None and cpu is not None and cuda < cpu:
                return f"The GPU pays from n = {n}, transfers included."
        return "The GPU did not pay at these sizes, transfers included."

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and cells, for printing.

        Returns
        -------
        headings : list of str
        cells : list of lists of str

        Examples
        --------
        >>> from apsp import compare
        >>> len(compare([[0.0]], devices=["cpu"], schedules="iterative", threads=1).table()[1])
        1
        """
        columns = {heading: [cell(row) for row in self.rows] for heading, cell in draw.COLUMNS.items()}
        shown = {heading: cells for heading, cells in columns.items() if heading in draw.ALWAYS or any(cells)}
        return list(shown), [[cell or "-" for cell in line] for line in zip(*shown.values(), strict=True)]

    def notes(self) -> list[str]:
        """The lines under the table: fits, schedules that are one at a size, crossover and advice.

        Examples
        --------
        >>> from apsp import compare
        >>> compare([[0.0]], devices=["cpu"], schedules="iterative").notes()[0]
        'GPU: none took part.'
        """
        lines = [f"{f.contender.name}: t = {f.constant:.3g} · n^{f.exponent:.2f} s" for f in self.fits()]
        alike: dict[str, set[int]] = {}
        for row in self.rows:
            if row.like:
                alike.setdefault(f"{row.contender.schedule} and {row.like} are one", set()).add(row.n)
        same = [f"{one} at n = {', '.join(map(str, sorted(n)))}: the very same calls." for one, n in alike.items()]
        return [*lines, *same, self.crossover(), self.advice()]

    def __repr__(self) -> str:
        contenders, sizes = len({row.contender for row in self.rows}), sorted({row.n for row in self.rows})
        shown = ", ".join(map(str, sizes if len(sizes) < 6 else [*sizes[:2], "…", sizes[-1]]))
        what = f"{contenders} contender{'' if contenders == 1 else 's'}, n = {shown or 'none'}"
        return f"<Comparison: {what}, {self.semiring} in {self.dtype}>"

    def __str__(self) -> str:
        headings, cells = self.table()
        numbers = (*range(3, 7), *range(8, len(headings) - 1))
        lines = notebook.aligned([headings, *cells], numbers)
        return "\n".join([f"closure over {self.semiring} in {self.dtype}", *lines, *self.notes()])

    def _repr_html_(self) -> str:
        return notebook.table(repr(self), *self.table()) + notebook.lines("\n".join(self.notes()))

    def to_json(self) -> str:
        """All rows, fits and conclusions as JSON.

        Examples
        --------
        >>> from apsp import compare
        >>> '"dtype": "float64"' in compare([[0.0]], devices=["cpu"]).to_json()
        True
        """
        more = ("rate", "fraction", "pairs_per_joule")
        rows = [{**asdict(row), "name": row.contender.name, **{x: getattr(row, x) for x in more}} for row in self.rows]
        fits = [{**asdict(f), "name": f.contender.name} for f in self.fits()]
        found = {"semiring": self.semiring, "dtype": self.dtype, "rows": rows, "fits": fits}
        return json.dumps({**found, "crossover": self.crossover(), "advice": self.advice()}, indent=1)

    def plot(
        self, ax: Axes = None, quantity: str = "seconds", *, save: str | Path | None = None, dpi: int = 150
    ) -> Drawn:
        """Draw a quantity of the rows over n, log–log, and how many times as fast as the serial program each is.

        A colour a schedule, solid for one thread, dashed for several, dotted on a GPU. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            For the quantity alone; a new figure by default.
        quantity : {"seconds", "rate", "pairs_per_joule"}
        save : path, optional
            A `.png`, `.svg` or `.pdf` file to write.
        dpi : int
            Resolution of a `.png` file.

        Raises
        ------
        ValueError, OSError
            If the quantity or the file's suffix is unknown; if the file cannot be written.
        ImportError
            If matplotlib (extra `plot`) is missing.

        Examples
        --------
        >>> from apsp import compare_sizes
        >>> compare_sizes([256, 512]).plot(save="sizes.png")  # doctest: +SKIP
        """
        return draw.plot(self, ax, quantity, save=save, dpi=dpi)
