"""Catalog of semirings, one declaration each; users' own are declared the same way."""

from __future__ import annotations

import errno
import importlib.util
import math
import os
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from ..host.errors import AlgebraError
from ..host.spelling import came, did_you_mean
from .records import FLOATS, NUMBERS, Op, Semiring, Star, Variant

INF = math.inf


def _logaddexp(a: float, b: float) -> float:
    """log(eᵃ + eᵇ) without overflow."""
    if a == -INF:
        return b
    if b == -INF:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


MIN = Op("min", python=lambda a, b: a if a < b else b, cuda="min(a, b)", simd="min")
MAX = Op("max", python=lambda a, b: a if a > b else b, cuda="max(a, b)", simd="max")
PLUS = Op("plus", python=lambda a, b: a + b, cuda="a + b", simd="add", saturating=True)
TIMES = Op("times", python=lambda a, b: a * b, cuda="a * b", simd="mul", saturating=True)
OR = Op("lor", python=lambda a, b: a or b, cuda="a | b", ufunc=np.logical_or, selects="greatest")
AND = Op("land", python=lambda a, b: a and b, cuda="a & b", ufunc=np.logical_and, selects="least")
LOGADDEXP = Op("logaddexp", python=_logaddexp, cuda="logaddexp(a, b)", ufunc=np.logaddexp)


def _lengths(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Integers 1 … 99, whose sums are exact in every dtype."""
    return rng.integers(1, 100, shape)


def _rates(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Positive numbers with row sums below ½, so that I + A + A² + … converges."""
    return (1 - rng.random(shape)) / max(2 * shape[-1], 1)


min_plus = Semiring(
    "min_plus",
    add=MIN,
    mul=PLUS,
    zero=INF,
    one=0,
    aliases=("tropical", "shortest_paths"),
    dtypes=NUMBERS,
    domain=(-INF, INF),
    open_low=True,
    samples=(-3, 0, 1, 2, 7, INF),
    variants=(Variant("nonnegative", ("int16", "int32", "int64", "float32"), cuda="MinPlusNonnegative"),),
    draw=_lengths,
)
max_plus = Semiring(
    "max_plus",
    add=MAX,
    mul=PLUS,
    zero=-INF,
    one=0,
    aliases=("critical_path", "longest_paths"),
    dtypes=NUMBERS,
    domain=(-INF, INF),
    open_high=True,
    samples=(-INF, -3, -1, 0, 2, 7),
    variants=(Variant("nonnegative", ("int16", "int32", "float32"), cuda="MaxPlusNonnegative"),),
    draw=lambda rng, shape: -_lengths(rng, shape),
)
max_min = Semiring(
    "max_min",
    add=MAX,
    mul=MIN,
    zero=-INF,
    one=INF,
    aliases=("bottleneck", "widest_paths"),
    dtypes=NUMBERS,
    samples=(-INF, -2, 0, 3, 8, INF),
    variants=(
        Variant("nonnegative", ("float32",), cuda="MaxMin"),
        Variant("packed", ("int16",), cuda="MaxMin", nonnegative=False, generation=90),
    ),
    draw=_lengths,
)
min_max = Semiring(
    "min_max",
    add=MIN,
    mul=MAX,
    zero=INF,
    one=-INF,
    aliases=("minimax",),
    dtypes=NUMBERS,
    samples=(-INF, -2, 0, 3, 8, INF),
    variants=(
        Variant("nonnegative", ("float32",), cuda="MinMax"),
        Variant("packed", ("int16",), cuda="MinMax", nonnegative=False, generation=90),
    ),
    draw=_lengths,
)
max_times = Semiring(
    "max_times",
    add=MAX,
    mul=TIMES,
    zero=0,
    one=1,
    aliases=("viterbi",),
    dtypes=FLOATS,
    domain=(0, INF),
    open_high=True,
    samples=(0.0, 0.25, 0.5, 1.0, 2.0),
    variants=(Variant("three_way", ("float32", "float64"), cuda="MaxTimes", nonnegative=False),),
    draw=lambda rng, shape: rng.choice([0.25, 0.5, 1.0], shape),
)
#: max_times restricted to probabilities: 90 per cent is 0.9.
reliability = replace(
    max_times, name="reliability", aliases=(), domain=(0, 1), open_high=False, samples=(0.0, 0.25, 0.5, 0.75, 1.0)
)
min_times = Semiring(
    "min_times",
    add=MIN,
    mul=TIMES,
    zero=INF,
    one=1,
    dtypes=FLOATS,
    domain=(0, INF),
    open_low=True,
    samples=(0.5, 1.0, 2.0, 4.0, INF),
    variants=(Variant("three_way", ("float32", "float64"), cuda="MinTimes", nonnegative=False),),
    draw=lambda rng, shape: rng.choice([1.0, 2.0, 4.0], shape),
)
plus_times = Semiring(
    "plus_times",
    add=PLUS,
    mul=TIMES,
    zero=0,
    one=1,
    aliases=("arithmetic", "real"),
    dtypes=FLOATS,
    domain=(-INF, INF),
    open_low=True,
    open_high=True,
    idempotent=False,
    # 1 + a + a² + … = 1 / (1 − a) inside the unit circle.
    star=Star(python=lambda a: 1 / (1 - a) if a < 1 else INF, cuda="a < T(1) ? T(1) / (T(1) - a) : T(INFINITY)"),
    samples=(-0.5, 0.0, 0.25, 0.5, 2.0),
    tolerance=1e-12,
    series="real",
    draw=_rates,
)
log_plus = Semiring(
    "log_plus",
    add=LOGADDEXP,
    mul=PLUS,
    zero=-INF,
    one=0,
    aliases=("log", "logsumexp"),
    dtypes=FLOATS,
    domain=(-INF, INF),
    open_high=True,
    idempotent=False,
    # log(1 / (1 − eᵃ)) for a < 0.
    star=Star(
        python=lambda a: -math.log1p(-math.exp(a)) if a < 0 else INF,
        cuda="a < T(0) ? -log1p(-exp(a)) : T(INFINITY)",
    ),
    samples=(-INF, -3.0, -1.0, 0.0, 2.0),
    tolerance=1e-12,
    series="positive",
    draw=lambda rng, shape: np.log(_rates(rng, shape)),
)
lor_land = Semiring(
    "lor_land",
    add=OR,
    mul=AND,
    zero=False,
    one=True,
    aliases=("boolean", "reachability"),
    dtypes=("bool",),
    domain=(0, 1),
    samples=(False, True),
    draw=lambda rng, shape: np.ones(shape, bool),
)

CATALOG = (min_plus, lor_land, max_plus, max_min, min_max, max_times, reliability, min_times, plus_times, log_plus)


def names() -> dict[str, Semiring]:
    """Semirings by name and alias."""
    return dict(_names())


@cache
def _names() -> dict[str, Semiring]:
    return {name: s for s in CATALOG for name in (s.name, *s.aliases)}


def get(semiring: str | Semiring) -> Semiring:
    """Semiring of a name or alias; a `Semiring` is returned as it is.

    Parameters
    ----------
    semiring : str or Semiring

    Raises
    ------
    AlgebraError
        If no semiring has that name.

    See Also
    --------
    load, CATALOG : From a file; all named ones.

    Notes
    -----
    O(1).

    Examples
    --------
    >>> import semiring
    >>> semiring.get("boolean").name
    'lor_land'
    """
    if isinstance(semiring, Semiring):
        return semiring
    try:
        return _names()[semiring]
    except (KeyError, TypeError):
        known = ", ".join(f"{s.name} ({', '.join(s.aliases)})" if s.aliases else s.name for s in CATALOG)
        raise AlgebraError(
            f"semiring must be a Semiring or one of {known}; got {came(semiring)}."
            f"{did_you_mean(semiring, _names())} "
            "Your own is one declaration: see examples/own_semiring.py; semiring.load finds it in a file."
        ) from None


def recorded_as(semiring: Semiring) -> str:
    """Name by which a file refers to a semiring; marked if `get` would find a different one."""
    known = _names().get(semiring.name)
    return semiring.name if known is None or known == semiring else f"{semiring.name} (another)"


def load(place: str | os.PathLike[str]) -> Semiring:
    """Semiring declared in a Python file, which is run.

    Parameters
    ----------
    place : str or path
        "path/to/file.py:name", or the path alone if the file declares a single semiring.

    Raises
    ------
    AlgebraError, OSError
        If the file cannot be run or has no such semiring; if it is missing.

    See Also
    --------
    get, check_axioms : From the catalog; test of the laws.

    Notes
    -----
    Runs the file; nothing is compiled until the semiring is used.

    Examples
    --------
    `apsp solve --semiring` takes such a place too.

    >>> import semiring
    >>> semiring.load("examples/own_semiring.py:colours").name  # doctest: +SKIP
    'colours'
    """
    path, name = _split(os.fspath(place))
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, f"a Python file with a semiring is needed, for {came(place)}", str(path))
    found = _semirings_of(path)
    if name in found or (not name and len(found) == 1):
        return found[name] if name else next(iter(found.values()))
    known = ", ".join(found) or "none"
    raise AlgebraError(
        f"load: a semiring of the file is required, as {path}:NAME, got {name or 'no name'!r}. It declares {known}."
    )


def _split(place: str) -> tuple[Path, str]:
    """File, and name after its last colon; a drive's colon, as in C:\\, comes before the suffix."""
    path, colon, name = place.rpartition(":")
    return (Path(path), name) if colon and path.endswith(".py") else (Path(place), "")


def _semirings_of(path: Path) -> dict[str, Semiring]:
    """Semirings that a file declares, by global name, without the catalog's."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise AlgebraError(f"load: a Python file is required, one whose name ends in .py, got {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except AlgebraError:
        raise
    except Exception as error:
        raise AlgebraError(f"load: {path} must run without an error, got {error!r}.") from error
    finally:
        sys.path.remove(str(path.parent))
    return {name: value for name, value in vars(module).items() if isinstance(value, Semiring) and value not in CATALOG}
