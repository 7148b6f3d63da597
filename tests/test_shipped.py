"""Machine code that wheels bring, for levels of processors: where it runs, where it does not, and that it is right."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numba.core.types import Record
from numba.np.numpy_support import from_dtype
from processes import ROOT, python

from semiring.kernels.cpu import compile as compiling
from semiring.kernels.cpu import features
from semiring.kernels.cpu.bits import vectors
from semiring.kernels.cpu.routes.tight_arcs import vertex_of
from semiring.stores import trust

EVERYTHING = features.LEVELS["x86-64-v4-vbmi"]
LISTED = (ROOT / ".ci" / "first_calls.txt").read_text().splitlines()
LINES = [line.removeprefix("+") for line in LISTED]
here = pytest.mark.skipif(features.level() is None, reason="this processor has no level")


@pytest.fixture(scope="module")
def machine_code():
    """The script that compiles for wheels."""
    spec = importlib.util.spec_from_file_location("machine_code", ROOT / ".ci" / "machine_code.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


# Levels


def with_features(monkeypatch, present):
    monkeypatch.setattr(features, "features", lambda: frozenset(present))
    monkeypatch.setattr(vectors, "features", features.features)


@pytest.mark.parametrize(
    ("missing", "more", "expected"),
    [
        ("", "avx512fp16 amx-tile", "x86-64-v4-vbmi"),
        ("avx512vbmi", "avx512vnni", "x86-64-v4"),
        ("avx512vbmi avx512f avx512bw avx512dq avx512vl avx512cd", "avxvnni", "x86-64-v3"),
        ("avx512vbmi avx512bw avx512dq avx512vl", "", None),  # Knights Landing: its 512 bits are no level's
        ("avx512vbmi avx512f avx512bw avx512dq avx512vl avx512cd fma", "", None),  # what AVX2 decides is not v2's
        ("avx512vbmi avx512f avx512bw avx512dq avx512vl avx512cd avx2 fma", "", "x86-64-v2"),
        ("avx512vbmi avx512f avx512bw avx512dq avx512vl avx512cd avx2 avx sse4.2", "", None),
    ],
)
def test_the_level_of_a_processor(monkeypatch, missing, more, expected):
    with_features(monkeypatch, (EVERYTHING - set(missing.split())) | set(more.split()))
    assert features.level() == expected


def test_no_level_asks_for_what_a_processor_lacks(monkeypatch):
    """And where it fits, our own code decides as it did when that level was compiled."""

    def decided():
        return features.vector_bytes(), vectors.look_up_instruction()

    rng, fitting = np.random.default_rng(0), set()
    for _ in range(2000):
        lost = rng.choice(sorted(EVERYTHING), rng.integers(0, 8))
        present = features.LEVELS[rng.choice(features.levels())] - set(lost)
        with_features(monkeypatch, present)
        name, found = features.level(), decided()
        fitting.add(name)
        if name:
            assert features.LEVELS[name] <= present
            with_features(monkeypatch, features.LEVELS[name])
            assert decided() == found
    assert fitting == {None, *features.levels()}


@pytest.mark.parametrize("named", ["", "-sve,-aes", "+neon,+fp-armv8,+sve,+dotprod"])
def test_every_arm_has_one_level(monkeypatch, named):
    """Whether the system names its features or not, as emulators and macOS do not; no other processor has it."""
    monkeypatch.setattr(features, "get_host_cpu_features", lambda: named)
    monkeypatch.setattr(features.config, "CPU_FEATURES", None)
    monkeypatch.setattr(features, "features", features.features.__wrapped__)
    for machine, expected in (("aarch64", "aarch64"), ("arm64", "aarch64"), ("riscv64", None), ("x86_64", None)):
        monkeypatch.setattr(features.platform, "machine", lambda machine=machine: machine)
        assert features.level() == expected


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names x86 features")
def test_features_are_those_that_numba_compiles_for():
    code = "from semiring.kernels.cpu import features; print(features.level(), *sorted(features.features()))"
    v3 = ",".join(f"+{feature}" for feature in features.LEVELS["x86-64-v3"])
    said = python(code, env={"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": f"{v3},-avx512f"}).split()
    assert said == ["x86-64-v3", *sorted(features.LEVELS["x86-64-v3"])]
    assert python(code, env={"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "-sse3"}).split() == ["None"]


# What is looked up


def halve(a: int, b: int) -> int:
    """What the tests below compile."""
    return a // 2 + b


@pytest.fixture
def shipped(machine_code, tmp_path, monkeypatch) -> Path:
    """The file of machine code of `halve` for this processor's level, where it is looked for first."""
    monkeypatch.setattr(compiling, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(compiling, "folders", lambda: (tmp_path / "kept",))
    monkeypatch.setattr(compiling, "_said", set())
    return ship(machine_code, tmp_path, features.level())


def ship(machine_code, tmp_path, level):
    entry = compiling.kernel(halve)
    entry._cache = machine_code.Shipped(halve, True, tmp_path / "shipped", level)
    assert entry(7, 4) == 7
    (file,) = (tmp_path / "shipped" / level).iterdir()
    return file


def recompiled() -> bool:
    """Whether a new kernel of `halve`, which must be right, had to be compiled."""
    entry = compiling.kernel(halve)
    assert (entry(7, 4), entry(-6, 1)) == (7, -2)
    return sum(entry.stats.cache_misses.values()) == 1


@here
def test_what_a_wheel_brought_is_not_compiled_nor_copied(shipped, tmp_path):
    assert not recompiled()
    assert not (tmp_path / "kept").exists()


@here
@pytest.mark.parametrize("absolute", [True, False])
def test_sources_take_the_machine_code_of_an_installed_wheel_that_they_hide(
    shipped, tmp_path, monkeypatch, request, absolute
):
    """As in a clone. A relative entry of the path does not count: it follows the working directory."""
    wheel = tmp_path / "site" / "semiring" / "kernels" / "cpu" / "shipped"
    wheel.parent.mkdir(parents=True)
    (tmp_path / "shipped").rename(wheel)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "site") if absolute else "site")
    trust.hidden.cache_clear()
    request.addfinalizer(trust.hidden.cache_clear)
    assert recompiled() != absolute
    assert (tmp_path / "kept").exists() != absolute


@here
@pytest.mark.parametrize("how", ["empty", "half", "bit", "sources", "python", "numba", "gone"])
def test_what_does_not_fit_is_compiled(shipped, tmp_path, monkeypatch, how):
    """Damage, other sources, another Python, another numba: compiled and kept for the user, and what came is left."""
    whole = shipped.read_bytes()
    if how == "empty":
        shipped.write_bytes(b"")
    elif how == "half":
        shipped.write_bytes(whole[: len(whole) // 2])
    elif how == "bit":
        shipped.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    elif how == "sources":
        shipped.write_bytes(bytes(32) + whole[32:])
    elif how == "python":
        shipped.rename(shipped.with_name(shipped.name.replace(sys.implementation.cache_tag, "cpython-38")))
    elif how == "numba":
        monkeypatch.setattr(compiling.numba, "__version__", "0.1")
        digest = compiling._sources.__wrapped__()
        monkeypatch.setattr(compiling, "_sources", lambda: digest)
    else:
        shipped.unlink()
    before = shipped.read_bytes() if shipped.exists() else None
    assert recompiled()
    assert not recompiled()
    assert len(list((tmp_path / "kept").iterdir())) == 1
    assert (shipped.read_bytes() if shipped.exists() else None) == before


@here
@pytest.mark.skipif(os.name == "nt", reason="rights of POSIX")
def test_what_others_could_have_written_is_compiled(shipped, monkeypatch, caplog):
    shipped.chmod(0o666)
    monkeypatch.setattr(compiling.pickle, "loads", lambda data: pytest.fail("it was unpickled"))
    assert recompiled()
    assert str(shipped) in caplog.text


@here
def test_code_never_runs_without_the_features_of_its_level(machine_code, shipped, tmp_path, monkeypatch):
    """The code of all levels is there; whichever feature a processor lacks, that of no level that has it is taken."""
    for level in features.LEVELS:
        ship(machine_code, tmp_path, level)
    read = []
    monkeypatch.setattr(trust, "read", lambda path, real=trust.read: read.append(path) or real(path))
    for missing in EVERYTHING:
        with_features(monkeypatch, EVERYTHING - {missing})
        recompiled()
        for path in read:
            assert missing not in features.LEVELS.get(path.parent.name, ())
        read.clear()
    with_features(monkeypatch, EVERYTHING)
    assert not recompiled()
    assert [path.parent.name for path in read] == ["x86-64-v4-vbmi"]


# The list


def test_the_list_names_kernels_as_they_are(machine_code):
    """Each line once: a kernel and as many types; records in arrays are those of its file."""
    seen = set()
    for line in LINES:
        name, _, types = line.lstrip("&").partition("(")
        place, _, function = name.rpartition(".")
        module = importlib.import_module(f"semiring.kernels.cpu.{place}")
        signature = eval(f"({types}", machine_code._SPELLING)
        assert len(signature) == len(inspect.signature(getattr(module, function).py_func).parameters), line
        records = [from_dtype(value) for value in vars(module).values() if isinstance(value, np.dtype) and value.names]
        records += [from_dtype(vertex_of(dtype)) for dtype in ("int32", "float32", "float64")]
        assert all(t.dtype in records for t in signature if isinstance(getattr(t, "dtype", None), Record)), line
        seen.add((name, str(signature)))
    assert len(seen) == len(LINES)


@pytest.mark.release
def test_the_list_has_what_first_calls_want():
    script = [sys.executable, str(ROOT / ".ci" / "first_calls.py")]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert {line.removeprefix("+") for line in done.stdout.splitlines()} <= set(
        LINES
    )  # which engine answers depends on the machine


# Code for another level than the host's

#: The kernels of the calls below.
FEW = {
    "lengths": re.compile(r"dense\..*'min_plus', 'int32'|dense\.[^']*\(int64|(pack|copy_square)\(mover\('int32'"),
    "bits": re.compile(r"bits\.(closure|gemm|rows\.(un)?pack)"),
}
BUILT = """
import sys
from pathlib import Path
sys.path.insert(0, ".ci")
import machine_code
for line in sys.argv[3:]:
    machine_code.compiled(line, sys.argv[1], Path(sys.argv[2]), ((sys.argv[1], False),))
"""
ANSWERS = """
import sys
from pathlib import Path
import numpy as np
from apsp import closure
from semiring import compiling
from semiring.kernels.cpu import compile, features
compile.SHIPPED = Path(sys.argv[1])
rng = np.random.default_rng(3)
count = []
A, B, closures = rng.integers(1, 1000, (203, 203)), rng.random((203, 203)) < 0.02, {}
with compiling.listening(count.append):
    if "lengths" in sys.argv[3:]:
        closures["lengths"] = closure(A.astype(np.int32))
    if "bits" in sys.argv[3:]:
        closures["bits"] = closure(B, "boolean")
print(features.level(), len(count))
np.savez(sys.argv[2], **closures)
"""


def answers(shipped, file, kinds, env):
    """What a process computes, and how many kernels it had to compile."""
    level, compiled = python(ANSWERS, shipped, file, *kinds, env=env).split()
    return level, int(compiled), dict(np.load(file))


#: Kernels that store the better of two vectors where one of them was, by all kinds of instructions.
STORING = re.compile(
    r"(pivot.sweep|fronts.extend|abreast.pivots|climb_strip|nearest.nearest)\(kind\('min_plus', '(float64|int64)"
    r"|pivot.sweep\(kind\('(max_plus', 'int32|min_plus', 'float32|min_plus', 'int16)|search.levels\(Width\(1,"
)
ASSEMBLY = """
import sys
sys.path.insert(0, ".ci")
import machine_code
machine_code.config.CPU_NAME = sys.argv[1]
for line in sys.argv[2:]:
    entry, wanted = machine_code.named(line)
    entry.compile(wanted)
    print(line, entry.overloads[wanted].library.get_asm_str(), sep="\\n")
"""
#: A store of some lanes of a vector to one place: as of AVX, or under a mask of AVX-512.
MASKED = re.compile(r"^\t(?:vp?maskmov\w+\t%[^(\n]*\(.*|v(?!p?scatter)\w+\t%[^(\n]*\(.*\{%k.*)", re.MULTILINE)


@pytest.mark.skipif(features.arm(), reason="stores of x86")
@pytest.mark.parametrize(
    ("level", "processor", "chosen"),
    [
        pytest.param("x86-64-v3", "znver3", STORING, id="x86-64-v3"),
        pytest.param("x86-64-v4", "x86-64-v4", STORING, id="x86-64-v4"),
        *(
            pytest.param(level, processor, re.compile(""), marks=pytest.mark.release, id=f"{level}, {processor}, all")
            for level in ("x86-64-v3", "x86-64-v4")
            for processor in ("znver3", level)
        ),
    ],
)
def test_no_full_vector_is_stored_under_a_mask(machine_code, request, tmp_path, level, processor, chosen):
    """Of the better of two vectors LLVM stores only what changed, which takes 12 cycles on AMD's Zen 2 and 3."""
    env, lines = machine_code.settings(level), [*filter(chosen.search, LINES)]
    made_of = compiling._sources() + (ROOT / ".ci" / "machine_code.py").read_bytes() + repr((env, lines)).encode()
    kept = getattr(request.config, "cache", None)  # 6 s of compilation, for the next run too
    file = (kept.mkdir("assembly") if kept else tmp_path) / f"{processor}-{sha256(made_of).hexdigest()[:24]}.s"
    if not file.exists():
        file.write_text(python(ASSEMBLY, processor, *lines, env=env | {"NUMBA_CACHE_DIR": str(tmp_path)}))
    assembly = file.read_text()
    assert len(re.findall(r"\tv\w+\s+%[yz]mm\d+, \S*\(", assembly)) > 30
    assert not MASKED.findall(assembly)


@pytest.mark.parametrize(
    ("level", "kinds"),
    [
        pytest.param("x86-64-v3", ["lengths"], id="x86-64-v3"),
        pytest.param("x86-64-v3", ["bits"], id="x86-64-v3-bits", marks=pytest.mark.release),
        *(pytest.param(f"x86-64-v{k}", list(FEW), id=f"x86-64-v{k}", marks=pytest.mark.release) for k in (2, 4)),
    ],
)
def test_code_of_lower_levels_gives_the_same_bits(machine_code, request, tmp_path, level, kinds):
    import scipy.sparse.csgraph as reference

    if not features.LEVELS[level] < features.features():
        pytest.skip(f"this processor is no more than {level}")
    kept = getattr(request.config, "cache", None)  # 2 to 7 s of compilation, for the next run too
    script = sha256((ROOT / ".ci" / "machine_code.py").read_bytes()).hexdigest()[:12]
    built = Path(kept.mkdir("shipped")) / script if kept else tmp_path / "shipped"
    env = machine_code.settings(level) | {"NUMBA_CACHE_DIR": str(tmp_path / "parts")}
    python(BUILT, level, built, *(line for kind in kinds for line in filter(FEW[kind].search, LINES)), env=env)
    limited = {"NUMBA_CPU_FEATURES": env["NUMBA_CPU_FEATURES"]}
    found, compiled, got = answers(built, tmp_path / "a.npz", kinds, limited | {"NUMBA_CACHE_DIR": str(tmp_path)})
    assert (found, compiled) == (level, 0)
    _, _, own = answers(tmp_path / "nothing", tmp_path / "b.npz", kinds, {})
    A = np.random.default_rng(3).integers(1, 1000, (203, 203))
    np.fill_diagonal(A, 0)
    if "lengths" in kinds:
        assert (got["lengths"] == reference.floyd_warshall(A)).all()
    for name in kinds:
        assert got[name].dtype == own[name].dtype
        assert (got[name] == own[name]).all()
