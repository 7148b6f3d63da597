"""The CUDA sources compile for every architecture that ships, without a GPU, and no tile spills a register."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from compiling import ARCHITECTURES, require_nvrtc

from semiring import AlgebraError, Op, Semiring, get
from semiring.algebra import dtypes
from semiring.kernels.cuda import algebra, cache, cards, compile, gpu, survey
from semiring.kernels.cuda.dense import (
    backend,
    chain,
    cooperative,
    lengths,
    lu,
    matrix,
    registry,
    sources,
    sums_text,
    tiles,
)
from semiring.kernels.cuda.routes import adjoint, by_distance, gradients, pairs, walks
from semiring.kernels.cuda.routes import predecessors as routes
from semiring.stores import trust

require_nvrtc()

#: The GPU whose tiles were tuned has more of them compiled than the others.
OTHERS = [arch for arch in ARCHITECTURES if arch != "sm_90"]

ALL = [(case, nonnegative) for case in (*cases.CASES, *cases.USER_CASES) for nonnegative in (False, True)]
DISTINCT = [
    (case, nonnegative)
    for case, nonnegative in ALL
    if not nonnegative or algebra.variant_of(case.semiring, case.dtype, nonnegative=True)
]


def tiles_of(case, nonnegative):
    """What decides which tiles a semiring computes with."""
    variant = algebra.variant_of(case.semiring, case.dtype, nonnegative=nonnegative)
    return tiles.kind(case.semiring, case.dtype, variant), case.dtype.itemsize


#: One of each way to compute: all kernels in all tiles are compiled for these, and for the others where a release asks.
CHOSEN = [*{tiles_of(*one): one for one in reversed(DISTINCT)}.values()]


def every(arch, wanted):
    """`DISTINCT` on an architecture as parameters: those of `wanted` are for .ci/run, the others for a release."""
    return [
        pytest.param(
            *one,
            arch,
            id=f"{one[0]}{'-nonnegative' if one[1] else ''}-{arch}",
            marks=pytest.mark.compile if one in wanted else pytest.mark.release,
        )
        for one in DISTINCT
    ]


def compiled(case, nonnegative, arch, wanted=lambda name: True):
    """(name, entry, resources) of every entry function of the translation units that `wanted` lets through."""
    units = [
        (name, text)
        for name, text in sources.translation_units(case.semiring, case.dtype, arch, nonnegative=nonnegative)
        if wanted(name)
    ]
    assert units
    for name, text in units:
        binary = compile.compile(text, arch)
        assert binary.cubin.startswith(b"\x7fELF"), name
        assert binary.resources, name
        for entry, used in binary.resources.items():
            assert used.registers > 0, (name, entry)
            yield name, entry, used


KINDS = ("plain", "nonnegative", "other")


def shipped(name):
    """Reads of unaligned rows are compiled for the largest tile of each table; another test has them for all."""
    largest = {
        str(tiles.table("sm_90", kind, np.dtype(d))[0]) for kind in KINDS for d in ("int16", "float32", "float64")
    }
    products = name.startswith(("gemm", "witness"))
    return not products or name.endswith("aligned") or name.removeprefix("gemm ") in largest


@pytest.mark.parametrize(("case", "nonnegative", "arch"), every("sm_90", CHOSEN))
def test_every_kernel_compiles_without_spilling(case, nonnegative, arch):
    for name, entry, used in compiled(case, nonnegative, arch, shipped):
        assert used.spill_stores == used.spill_loads == used.stack == 0, (name, entry, used)


@pytest.mark.parametrize(
    ("case", "nonnegative", "arch"),
    [*every("sm_90", DISTINCT), *(one for arch in OTHERS for one in every(arch, CHOSEN))],
)
def test_every_algebra_compiles(case, nonnegative, arch):
    for name, entry, used in compiled(case, nonnegative, arch, lambda name: name.startswith(("step", "gemm 64×32"))):
        assert used.spill_stores == 0, (name, entry, used)


#: One of each semiring, dtype and way to write ⊕ and ⊗.
FEW = [one for one in DISTINCT if str(one[0]) in cases.FEW]


@pytest.mark.parametrize(
    ("case", "nonnegative", "arch"), [*every("sm_90", FEW), *(one for arch in OTHERS for one in every(arch, CHOSEN))]
)
def test_pivot_blocks_compile(case, nonnegative, arch):
    """Those of single matrices. For many matrices a thread has more to do, and one kernel takes up to 23 seconds."""
    for name, entry, used in compiled(case, nonnegative, arch, lambda name: name == "pivot (8, 4)"):
        assert used.spill_stores == 0, (name, entry, used)


@pytest.mark.release
@pytest.mark.parametrize(("case", "nonnegative", "arch"), [one for arch in ARCHITECTURES for one in every(arch, ())])
def test_every_pivot_block_compiles(case, nonnegative, arch):
    for name, entry, used in compiled(case, nonnegative, arch, lambda name: name.startswith("pivot")):
        assert used.spill_stores == 0, (name, entry, used)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("name", "dtype"), [("log_plus", "float32"), ("max_plus", "float64")])
def test_chains_compile(name, dtype, arch):
    binary = compile.compile(chain.text(get(name), np.dtype(dtype)), arch)
    assert {*binary.resources} == {"chain", "trace", "unchain"}
    assert all(used.spill_stores == used.stack == 0 for used in binary.resources.values())


@pytest.mark.compile
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_factors_compile(dtype):
    """Each constant is one of the dtype: NVRTC 13.5 refuses a float that its exponent does not hold."""
    assert {*compile.compile(lu.text(np.dtype(dtype)), "sm_90").resources} == {"factor", "panels"}


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_tile_compiles_for_every_architecture(arch):
    case = cases.Case(get("min_plus"), np.dtype("float32"))
    for name, entry, used in compiled(case, True, arch):
        assert used.spill_stores == 0, (name, entry, used)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "dtype"), [("log_plus", "float32"), ("log_plus", "float64"), ("plus_times", "float32")]
)
def test_sums_of_products_compile_without_spilling(name, dtype, arch):
    units = list(sums_text.units(get(name), np.dtype(dtype), arch))
    assert bool(units) == (name == "log_plus" or arch == "sm_90")
    for unit, text, target in units:
        for entry, used in compile.compile(text, target).resources.items():
            assert used.registers > 0
            assert used.spill_stores == used.spill_loads == used.stack == 0, (unit, entry, used)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
def test_looks_at_entries_compile_without_spilling(arch, dtype):
    used = compile.compile(survey.text(dtype, dtypes.zero(get("max_plus"), dtype).item()), arch).resources["survey"]
    assert used.registers > 0
    assert used.spill_stores == used.spill_loads == used.stack == 0, used


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("entry", "length", "sign"), [("int16", "int16", 1), ("int32", "int16", -1), ("int64", "int64", 1)]
)
def test_integers_as_lengths_compile_without_spilling(entry, length, sign, arch):
    found = compile.compile(lengths.text(np.dtype(entry), np.dtype(length), sign), arch).resources
    assert {*found} == {"lengths", "entries", "relax"}
    assert all(used.spill_stores == used.stack == 0 for used in found.values()), found


@pytest.mark.parametrize(
    ("semiring", "dtype", "arch"),
    [
        pytest.param(*kind, arch, marks=pytest.mark.compile if wanted else pytest.mark.release)
        for arch in ARCHITECTURES
        for kind, wanted in [
            (("min_plus", "float32"), True),
            (("boolean", "bool"), True),
            *((("min_plus", dtype), arch == "sm_90") for dtype in ("int16", "int32", "int64", "float64")),
            (("max_min", "float32"), arch == "sm_90"),
            (("max_times", "float64"), arch == "sm_90"),
        ]
    ],
)
def test_searches_for_predecessors_and_walks_compile_without_spilling(semiring, dtype, arch):
    given = get(semiring), np.dtype(dtype)
    units = [(routes.text(*given, file), routes.OPTIONS) for file in routes.FILES]
    for text, options in (*units, (walks.text(*given), ())):
        for entry, used in compile.compile(text, arch, options=options).resources.items():
            assert used.registers > 0
            assert used.spill_stores == used.spill_loads == used.stack == 0, (entry, used)


@pytest.mark.parametrize(
    ("name", "dtype", "near", "arch"),
    [
        pytest.param(*kind, arch, marks=pytest.mark.compile if wanted else pytest.mark.release)
        for arch in ARCHITECTURES
        for kind, wanted in [
            (("max_plus", "int16", 2), True),
            (("min_plus", "float32", 2), arch in ("sm_80", "sm_90")),
            (("max_times", "float64", 1), arch in ("sm_80", "sm_90")),
            (("min_plus", "int64", 0), arch in ("sm_80", "sm_90")),
        ]
    ],
)
def test_sums_over_best_paths_compile(name, dtype, near, arch):
    index = np.dtype(np.uint16 if near else np.uint32)
    for entry, used in compile.compile(adjoint.text(get(name), np.dtype(dtype), index, near), arch).resources.items():
        assert used.registers > 0
        assert used.spill_stores <= 80, (entry, used)  # of what is not in a loop over arcs
    texts = (pairs.text(get(name), np.dtype(dtype), index, nonnegative=False), adjoint.OPTIONS)
    for text, options in (texts, (by_distance.text(get(name), np.dtype(dtype)), ())):
        for entry, used in compile.compile(text, arch, options=options).resources.items():
            assert used.registers > 0
            assert used.spill_stores <= (0 if np.dtype(dtype).itemsize > 2 else 64), (entry, used)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_compile_without_spilling(arch, dtype):
    for entry, used in compile.compile(gradients.text(np.dtype(dtype)), arch).resources.items():
        assert used.registers > 0
        assert used.spill_stores == used.spill_loads == used.stack == 0, (entry, used)


@pytest.fixture
def h200(monkeypatch):
    """As if the current device were one; what is chosen for it is forgotten."""
    monkeypatch.setattr(gpu, "current", lambda: 0)
    monkeypatch.setattr(gpu, "multiprocessors", lambda device: 132)
    monkeypatch.setattr(compile, "device_arch", lambda device: "sm_90")
    registry.kernels.cache_clear()
    yield
    registry.kernels.cache_clear()


def test_an_architecture_without_tables_takes_the_nearest():
    dtype = np.dtype("int32")
    assert tiles.table("sm_103", "nonnegative", dtype) == tiles.table("sm_90", "nonnegative", dtype)
    assert tiles.table("sm_75", "plain", dtype) == tiles.table("sm_80", "plain", dtype)


def test_a_new_card_is_one_file(tmp_path, monkeypatch):
    """What it has is taken, and the rest from the nearest architecture."""
    cached = (tiles.table, cards.limits, sources.pivots, cooperative._found, cards._cards)
    folder = tmp_path / "cards"
    shutil.copytree(Path(cards.__file__).parent / "cards", folder)
    tile = {"bm": 64, "bn": 64, "bk": 16, "tm": 4, "tn": 4, "blocks": 3, "rate": 1.0}
    closures = {"one_launch": 4096, "packed": 1024, "one_block": 64, "crowd": 9, "together": 2, "resident": 0.25}
    card = {"products": {"plain/4": [tile]}, "pivots": {"any": [[4, 4, 1]]}, "limits": {"closures": closures}}
    (folder / "sm_110.json").write_text(json.dumps(card))
    monkeypatch.setattr(cards.resources, "files", lambda package: tmp_path)
    for function in cached:
        function.cache_clear()
    try:
        assert tiles.table("sm_110", "plain", np.dtype("int32")) == (tiles.Tile(**tile),)
        assert tiles.table("sm_110", "plain", np.dtype("float64")) == tiles.table("sm_90", "plain", np.dtype("float64"))
        assert sources.pivots("three_way", 2, "sm_110") == ((4, 4, 1),)
        assert cards.limits("sm_110") == dataclasses.replace(cards.limits("sm_90"), **closures)
        assert cooperative.resident("plain", 4, 1, "sm_110") == cooperative.resident("plain", 4, 1, "sm_90")
    finally:
        for function in cached:
            function.cache_clear()


def test_a_backend_names_the_step_that_it_takes():
    for case, nonnegative in DISTINCT:
        found = algebra.variant_of(case.semiring, case.dtype, nonnegative=nonnegative)
        ops = backend.CudaBackend(case.semiring, case.dtype, nonnegative)
        assert ops.variant == (found.name if found else "general")
    assert backend.CudaBackend(get("min_plus"), np.dtype("float32"), True).variant == "nonnegative"


def test_tiles_suit_the_shape():
    table = tiles.table("sm_90", "plain", np.dtype("float32"))
    assert tiles.choose(table, 8192, 8192, 8192, 132) == table[0]
    small = tiles.choose(table, 256, 256, 64, 132)
    assert small.bm * small.bn < table[0].bm * table[0].bn
    assert tiles.spanning(table, "rows", 64, 4096, 132).bm >= 64
    assert tiles.spanning(table, "columns", 4096, 64, 132).bn >= 64
    assert tiles.spanning(table, "rows", 4096, 4096, 132) is None


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_workspace_beside_a_matrix(dtype, h200):
    ops = backend.CudaBackend(get("min_plus"), np.dtype(dtype), nonnegative=True)
    share = {
        n: ops.workspace(n) / (n * n * ops.dtype.itemsize) for n in (4096, 10_000, 16_384, 20_001, 32_768, 131_072)
    }
    assert all(0 < part <= (0.03 if n >= 16_384 else 0.26) for n, part in share.items()), share
    sizes = [ops.kernels.geometry(n) for n in (65, 1024, 1100, 2048)]
    assert [one.blocks(n) <= 132 for one, n in zip(sizes, (65, 1024, 1100, 2048), strict=True) if one.resident] == (
        [True, True] if dtype != "float64" else []
    )


@pytest.mark.parametrize("columns", [1, 8191, 8192, 8193, 20_001])
def test_rows_that_begin_anywhere_are_copied_in_even_strips(columns, h200, monkeypatch):
    limits = dataclasses.replace(cards.limits("sm_90"), strip_pairs=0)
    monkeypatch.setattr(backend.CudaBackend, "limits", limits)
    ops = backend.CudaBackend(get("min_plus"), np.dtype("int16"), nonnegative=True)
    copied, written = [], []

    def aligned(self, X):
        copied.append((X.address // 2, X.columns))
        return X._replace(address=0, ld=-(-X.columns // 8) * 8)

    monkeypatch.setattr(backend.CudaBackend, "_aligned", aligned)
    monkeypatch.setattr(
        backend.CudaBackend, "multiply", lambda self, tile, C, A, B, **how: written.append((C.address // 2, C.columns))
    )
    ld = 30_001
    ops.product(
        matrix.Matrix(0, ld, 7, columns), matrix.Matrix(0, ld, 7, 5), matrix.Matrix(0, ld, 5, columns), accumulate=True
    )
    assert copied == written
    starts, widths = zip(*copied, strict=True)
    assert list(starts) == [sum(widths[:i]) for i in range(len(widths))]
    assert sum(widths) == columns
    assert max(widths) <= limits.strip
    assert max(widths) - min(widths) <= 256 * len(widths)


@pytest.mark.parametrize("side", [1, 64, 257, 1024, 2048, 3001, 8192])
@pytest.mark.parametrize("k", [1, 64, 1023, 1024, 4096])
def test_tiles_are_split_along_k_where_they_fill_no_whole_wave(side, k):
    for tile in tiles.table("sm_90", "nonnegative", np.dtype("float32")):
        splits, slots = tiles.splits(tile, side, side, k, 132), 132 * tile.blocks
        assert splits == 1 or k // splits >= tiles.SHORTEST
        assert splits == 1 or tile.covers(side, side) // slots != 1
        assert tile.unsplit(side, side, 132) % slots == 0
        assert 0 <= tile.covers(side, side) - tile.unsplit(side, side, 132) < slots
        assert tile.cost(side, side, k, 132, splits) <= tile.cost(side, side, k, 132)
    assert tiles.splits(tile, 256, 256, 4096, 132) > 1


def test_an_expression_that_is_no_cpp_is_an_algebra_error():
    broken = Op("broken", python=lambda a, b: a, cuda="a %% b")
    s = Semiring("mine", add=broken, mul=broken, zero=0, one=1, samples=(0, 1), dtypes=("int32",))
    text = sources.step_source(algebra.text(s, np.dtype("int32")), 1)
    with pytest.raises(AlgebraError, match=r"step\.cu must compile for sm_90"):
        compile.compile(text, "sm_90", name="step.cu")


def test_stars_of_integers_are_counted_where_they_have_no_value():
    """The counter is there to read, and no other semiring pays for it."""
    for star, dtype in zip(cases.STARLESS.values(), ("int16", "int32", "int64", "int32"), strict=True):
        text = algebra.text(cases.counting(star), np.dtype(dtype))
        for unit in (sources.pivot_source(text, 8, 4, 1), sources.step_source(text, 1, "columns")):
            assert algebra.COUNTER.encode() in compile.compile(unit, "sm_90").cubin
    for case in cases.CASES:
        assert algebra.COUNTER not in algebra.text(case.semiring, case.dtype), case


def test_what_was_counted_for_others_is_left_out(monkeypatch, h200):
    """Equal texts are one module with one counter, whoever asked for it first."""
    counted = {1: 3}
    monkeypatch.setattr(gpu, "number", counted.__getitem__)
    module = SimpleNamespace(get_function=lambda name: name, get_global_var=lambda name: 1)
    monkeypatch.setattr(compile, "functions", lambda *given, **options: module)
    monkeypatch.setattr(compile, "allow_shared", lambda function, size: None)
    kernels = registry.Kernels(cases.counting(cases.STARLESS["inf"]), np.dtype("int32"), True, "tuned", 1, 0)
    kernels.step("step"), kernels.step("snapshot")
    assert kernels.stars_without_value() == 0
    counted[1] = 5
    assert kernels.stars_without_value() == 2


ONE = 'extern "C" __global__ void one(int* x) { *x = 1; }'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where cubins go, empty; and nothing was said yet."""
    monkeypatch.setenv("SEMIRING_CACHE_DIR", str(tmp_path))
    cache._warn.cache_clear()
    yield tmp_path / "cuda"
    cache._warn.cache_clear()


def test_the_cache_holds_what_was_compiled(folder):
    first = compile.compile(ONE, "sm_90")
    (stored,) = folder.iterdir()
    assert compile.compile(ONE, "sm_90") == first
    assert compile.compile(ONE, "sm_80") != first
    assert len(list(folder.iterdir())) == 2
    assert stored in folder.iterdir()


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-10],
        lambda whole: whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:],
        lambda whole: b"[]\n" + whole.split(b"\n", 1)[1],
        lambda whole: whole.replace(b'"resources": {', b'"resources": [], "were": {', 1),
        lambda whole: b"\xff" + whole,
    ],
    ids=["empty", "half", "one bit", "a list", "no resources", "no text"],
)
def test_a_damaged_binary_is_compiled_again_and_replaced(folder, damage):
    first = compile.compile(ONE, "sm_90")
    (stored,) = folder.iterdir()
    whole = stored.read_bytes()
    stored.write_bytes(damage(whole))
    assert compile.compile(ONE, "sm_90") == first
    assert stored.read_bytes() == whole
    assert list(folder.iterdir()) == [stored]


def test_a_cache_that_cannot_be_written_is_said_once(folder):
    folder.write_text("not a folder")
    with pytest.warns(UserWarning, match="cannot be stored, for .* cannot be written") as said:
        found = [compile.compile(ONE, arch).resources for arch in ("sm_90", "sm_80")]
    assert all("one" in resources for resources in found)
    assert len(said) == 1


def test_a_full_disk_is_said_once_and_leaves_nothing(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(trust.os, "replace", full)
    with pytest.warns(UserWarning, match="No space left on device.*SEMIRING_CACHE_DIR") as said:
        found = [compile.compile(ONE, arch).resources for arch in ("sm_90", "sm_80")]
    assert all("one" in resources for resources in found)
    assert len(said) == 1
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_binary_that_others_could_have_written_is_not_loaded(folder, monkeypatch):
    compile.compile(ONE, "sm_90")
    (stored,) = folder.iterdir()
    compiled = []
    monkeypatch.setattr(compile, "_nvrtc", lambda *_, real=compile._nvrtc: compiled.append(1) or real(*_))
    for path in (stored, folder):
        cache._warn.cache_clear()
        path.chmod(0o777)
        with pytest.warns(UserWarning, match=f"{path} must be this user's .* a folder that you alone") as said:
            [compile.compile(ONE, "sm_90") for _ in range(2)]
        assert len(said) == 1
        stored.chmod(0o644)
    assert len(compiled) >= 3


def test_a_user_without_a_home_compiles_all_the_same(folder, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    for name in ("SEMIRING_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "home", nowhere)
    with pytest.warns(UserWarning, match="no home folder"):
        assert "one" in compile.compile(ONE, "sm_90").resources


def test_sources_hold_their_headers():
    text = compile.source("gemm.cu", "// prelude")
    assert "#include" not in text
    assert "#pragma once" not in text
    assert (
        text.index("struct General")
        < text.index("struct Gemm")
        < text.index("// prelude")
        < text.index("using Product")
    )
