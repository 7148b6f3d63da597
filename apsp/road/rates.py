"""Rates of machines, one file each: `rates/server.json` and its like. A new machine is one file.

Engines count; `estimates` divides counts by these rates. A file has a section of a processor ("cpu", on one core) or of
a GPU ("cuda"), with the fields of `Processor` or `Card`, and may say what it is ("about"). $APSP_RATES names the user's
own file; else the file named as the processor or GPU counts, in small letters with hyphens (`nvidia-h200.json`); else
the default. A field or section that a file lacks is the default's. `python -m benchmarks calibrate --write` measures.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from semiring.algebra.dtypes import SCALARS
from semiring.host.errors import FormatError
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Fields

#: Environment variable that names a file.
VARIABLE = "APSP_RATES"
#: Files that the package brings.
FOLDER = Path(__file__).with_suffix("")
#: Numbers by dtype or by itemsize; "other" for those not listed.
Table = Mapping[str | int, float]


@dataclass(frozen=True)
class Processor:
    """Rates of one core, by engine.

    `…_rate` is a second, in pairs (one ⊕ with one ⊗) unless said; `…_share` is relative to 1; all others are seconds,
    fixed or for one of what the name ends in.
    """

    # Any question
    question: float  # before any search
    comparison: float  # of estimates by other engines: not worth saving
    cached: float  # vertices, no seconds: the largest graph whose search stays in a core's cache
    cached_with_heap: float  # the same beside SciPy's heap
    slowdown: float  # of a step, per doubling of the vertices beyond
    alone_slowdown: float  # the same for breadth-first searches of sources one by one
    # Matrices
    closure_rate: Table  # closure of a few thousand vertices, by dtype
    scalar_share: float  # relative rate of steps without vector instructions
    closure_byte: float  # besides its pairs, of the matrix
    matrix: float  # matrix from a list of arcs, with its closure
    matrix_arc: float
    listed_entry: float  # to list the arcs of a matrix
    thinned_entry: float  # to test whether it is among the best of its row
    levels_entry: float  # a matrix by levels
    level_entry: float  # each level, besides its products
    compared_entry: float  # whether a matrix is symmetric
    tree_entry: float  # to grow a spanning tree, and to write rows from it
    tree_row_entry: float
    # Elimination
    analysis: float  # ordering, components, arcs of a matrix
    analysis_vertex: float
    analysis_arc: float
    analysis_root: float  # times the square root of the pairs
    elimination: float
    supernode_vertex: float
    front_rate: float  # small fronts
    sweep_rate: Table  # a batch of rows, by itemsize
    row_rate: float  # a single row
    row_entry: float
    copied_entry: float  # from a panel into a row, of 4 bytes
    hub_rate: float
    hub_entry: float  # of 4 bytes
    # Reachability
    component_arc: float
    united_bit: float
    index_vertex: float  # or an arc, to build
    index_pair: float
    index_arc: float  # searched for a pair
    # Breadth-first searches
    hop_sorted_arc: float
    hop_vertex: float  # a visit
    hop_byte: float
    hop_turned_byte: float  # of counts stored by vertex
    # Searches by weight
    search: float  # the first few
    search_trial: float
    search_batch: float
    search_vertex: float
    search_arc: float  # relaxed
    search_settled: float
    search_degree: float  # per doubling of a settled vertex' degree
    search_byte: float
    search_sorted_arc: float
    search_checked_arc: float  # whether they are sorted
    landmark_arc: float
    lane_share: Table  # a source among many relative to among four, by itemsize, where searches meet
    few_lanes_share: Table  # the same among a few, not known to meet
    # SciPy
    scipy: float
    scipy_vertex: float  # reached or not
    scipy_settled: float
    scipy_decrease: float
    scipy_arc: float
    scipy_visit: float  # breadth-first, of a vertex or arc
    scipy_level: float
    scipy_sorted_arc: float
    scipy_checked_arc: float
    round_arc: float  # Bellman–Ford
    # NetworkX
    python_visit: float  # a vertex or arc in Python, searched or converted
    python_triple: float  # Floyd–Warshall
    numpy_step: float
    numpy_entry: float
    backend: float  # a call of ours
    backend_pair: float
    # Disks, and memory between ranks: bytes a second
    disk_rate: float
    rank_rate: float


@dataclass(frozen=True)
class Card:
    """Rates of one GPU; as `Processor`."""

    closure_rate: Table
    front_rate: float
    sweep_rate: float
    hub_rate: float
    search_rate: float  # arcs of all sources
    bit_rate: float  # Boolean products
    word_rate: float  # bytes of breadth-first searches
    write_rate: float  # bytes
    link_rate: float  # bytes, to the host
    rank_rate: float  # bytes, between GPUs
    launches: float  # of one question
    latency: float  # a few entries to the host
    hop_level: float
    thinned_entry: float
    product: float
    counted_level: float
    queued_round: float  # in Python, over ranks


#: Section, record and default file of each device.
RECORDS: dict[str, type[Processor | Card]] = {"cpu": Processor, "cuda": Card}
DEFAULTS = {"cpu": "server", "cuda": "nvidia-h200"}
#: Keys of tables.
_KEYS = {"other", "1", "2", "4", "8", "16", *(scalar.name for scalar in SCALARS.values())}

#: Rates of this machine, from their first use on.
processor: Processor
card: Card


def __getattr__(name: str) -> Processor | Card:
    device = {"processor": "cpu", "card": "cuda"}.get(name)
    if device is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = load(device)
    return found


def load(device: str, path: Path | None = None) -> Processor | Card:
    """The `Processor` or `Card` of a file, by default of this machine; FormatError if it is malformed."""
    found, path = read(FOLDER / f"{DEFAULTS[device]}.json", device), path or source(device)
    for name, value in read(path, device).items():
        if isinstance(value, dict):
            by_size = any(isinstance(key, int) for key in found[name])  # else by dtype
            if keys := [key for key in value if key not in found[name] and isinstance(key, int) != by_size]:
                must = f"keys such as {', '.join(map(str, found[name]))}"
                raise _refused(path, f"{device}: {name} must have {must}, got {came(str(keys[0]))}", _FIELD)
            value = {**found[name], **value}
        found[name] = value
    return RECORDS[device](**found)


def source(device: str) -> Path:
    """The file of this machine: the user's own, else the one named as its processor or GPU, else the default."""
    own = os.environ.get(VARIABLE)
    if own and read(Path(own), device):
        return Path(own)
    names = {file.stem for file in FOLDER.glob("*.json")} - {*DEFAULTS.values()}
    name = file_name(device) if names else ""  # a name costs a look at the system
    return FOLDER / f"{name if name in names else DEFAULTS[device]}.json"


def file_name(device: str) -> str:
    """The processor's or GPU's name, in small letters with hyphens."""
    from semiring.kernels import backend

    return re.sub(r"[^a-z0-9]+", "-", backend.describe(device).partition(",")[0].lower()).strip("-")


def read(path: Path, device: str) -> Fields:
    """The section of a device in a file, checked; empty if it has none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(path, f"a readable file is required, got {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"JSON is required, got {error}") from None
    if not isinstance(content, dict) or not {*RECORDS} & {*content} or not {*content} <= {"about", *RECORDS}:
        got = came([*content] if isinstance(content, dict) else content)
        raise _refused(path, f"a section cpu or cuda is required, and about, got {got}")
    section, types = content.get(device, {}), {f.name: f.type for f in fields(RECORDS[device])}
    if not isinstance(section, dict):
        raise _refused(path, f"{device} must be an object of fields, got {came(section)}", _FIELD)
    for name, value in section.items():
        if name not in types:
            hint = did_you_mean(name, types)
            raise _refused(path, f"{device} must have known fields, got {came(name)}", f"{hint.strip()} {_FIELD}")
        numbers = [value]
        if types[name] == "Table":
            if not isinstance(value, dict) or not {*value} <= _KEYS:
                must = "numbers by dtype or itemsize"
                raise _refused(path, f"{device}: {name} must be {must}, got {came(value)}", _FIELD)
            section[name] = {int(key) if key.isdigit() else key: number for key, number in value.items()}
            numbers = list(value.values())
        for number in numbers:
            if type(number) not in (int, float) or not 0 < number < 1e30:
                raise _refused(path, f"{device}: {name} must be positive, below 1e30, got {came(number)}", _FIELD)
    return section


#: Ways out of a malformed file, and field.
_FILE, _FIELD = f"Correct {VARIABLE}, or unset it.", "Correct it, or leave it out: the default's counts."


def _refused(path: Path, problem: str, way: str = _FILE) -> FormatError:
    return FormatError(path, None, f"rates: {problem}. {way.strip()}")
