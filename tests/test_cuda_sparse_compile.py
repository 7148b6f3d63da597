"""The kernels of sparse eliminations compile for every architecture without a GPU, and spill little or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from compiling import ARCHITECTURES, compile_all, require_nvrtc

from semiring import get
from semiring.kernels.cuda import compile
from semiring.kernels.cuda.csr import backend as csr
from semiring.kernels.cuda.sparse import counted, flows, fronts, hops, hubs, products, searches, sweep, voronoi

require_nvrtc()

#: Ways to compute, each with the registers of its own.
KINDS = (
    *(("min_plus", "float32", True), ("min_plus", "float32", False), ("min_plus", "int32", True)),
    *(("min_plus", "float64", False), ("max_plus", "int16", False), ("lor_land", "bool", False)),
)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("name", "dtype", "nonnegative"), KINDS)
def test_sweeps_and_fronts_compile_without_spilling(name, dtype, nonnegative, arch):
    given = get(name), np.dtype(dtype), nonnegative
    shape = sweep.Shape.of(given[1].itemsize, arch)
    texts = (
        sweep.text(*given, shape, mirrored=True),
        *(
            sweep.text(*given, shape, mirrored=True, kept=k)
            for k in ("int64", "float64")[: 2 * (given[1].itemsize == 8)]
        ),
        sweep.text(*given, shape, mirrored=True, kept="some"),
        fronts.text(*given),
        products.text(*given, True),
        hubs.text(*given),
    )
    for text in (*texts, voronoi.text(*given[:2], True)):
        for entry, used in compile.compile(text, arch).resources.items():
            assert used.registers > 0, entry
            assert used.spill_stores <= 64, (entry, used)  # of the level's sums, once a tile


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("slack", [0.0, 2.0**-40])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_sweeps_run_backwards_compile_without_spilling(kind, slack, arch):
    for text in (flows.text(flows.Shape.of(slack), kind, slack), counted.text(slack)):
        for entry, used in compile.compile(text, arch).resources.items():
            assert used.registers > 0, entry
            assert used.spill_stores <= 64, (entry, used)


#: Semiring and dtype of searches, in which they compute, and what is so of them.
SEARCHED = (
    ("min_plus", "float32", "float32", {}),
    ("min_plus", "int16", "int32", {}),
    ("max_times", "float32", "float32", {"logarithmic": True}),
    ("max_times", "float64", "float64", {"logarithmic": True}),
    ("max_min", "float32", "int32", {"ranks": True}),
    ("min_plus", "int64", "int64", {"shifted": True}),
    ("max_times", "float32", "float64", {"shifted": True, "logarithmic": True}),
)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("name", "dtype", "weights", "flags"), SEARCHED)
def test_searches_compile_without_spilling(name, dtype, weights, flags, arch):
    """As many threads as a multiprocessor holds have 32 registers each: what their loops do not need is spilled."""
    form = searches.Form(get(name), np.dtype(dtype), np.dtype(weights), **flags)
    shape = searches.Shape.of(form.weights.itemsize, arch)
    (used,) = compile.compile(searches.text(form, shape), arch).resources.values()
    assert 0 < used.registers <= (64 << 10) // (shape.threads * shape.blocks)
    assert used.spill_stores <= 48, used


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_blocks_fit_the_shared_memory_of_a_multiprocessor(itemsize, arch):
    shape = sweep.Shape.of(itemsize, arch)
    reserved, most = 1 << 10, 163 << 10  # compute capability 8.0 has the least of all that compile
    assert shape.shared(itemsize) + reserved <= most
    assert shape.ring(itemsize) + reserved <= most
    small = shape.within(99 << 10, itemsize)  # GPUs of other families have less
    assert max(small.ring(itemsize), small.shared(itemsize)) <= 99 << 10
    assert shape.within(most, itemsize) == shape
    for slack in (0.0, 1e-9):
        assert flows.Shape.of(slack).within(most - reserved).shared(8) + reserved <= most
    assert max(fronts.shared(order, itemsize) for order, _ in fronts.classes(itemsize, most)) <= most


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("name", "dtype", "_"), KINDS)
def test_sparse_products_compile_without_spilling(name, dtype, _, arch):
    given = get(name), np.dtype(dtype)
    texts = (
        csr.gather_text(*given, True, 1, 1),
        csr.gather_text(*given, False, *csr.form(64, given[1].itemsize)),
        csr.spgemm_text(*given),
        csr.inspect_text(np.dtype(f"i{max(4, given[1].itemsize)}")),
    )
    for text in texts:
        for entry, used in compile.compile(text, arch).resources.items():
            assert used.registers > 0, entry
            assert used.spill_stores <= 64, (entry, used)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_hop_counts_compile(arch):
    compile_all((hops.text(np.dtype(dtype)) for dtype in ("int8", "int16", "float64")), arch)
