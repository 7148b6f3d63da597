"""What one call asks of the device, by a CuPy that computes nothing: no launch, wait, copy or compilation too many."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import SimpleNamespace

import fake_cupy
import numpy as np
import pytest

import apsp
import semiring
from apsp import generate
from apsp.road import repeated
from semiring.dense import product, small
from semiring.host import compiling
from semiring.host.errors import DeviceError


@pytest.fixture
def cp():
    def forget():
        product._last.clear()
        repeated._decisions.clear()
        small._on_device.cache_clear()

    forget()
    with fake_cupy.installed():
        yield sys.modules["cupy"]
    forget()


def weights(cp, *shape):
    return cp.asarray(np.random.default_rng(0).uniform(1, 100, shape).astype(np.float32))


def asks(call):
    """What the second of two calls asks for."""
    call()
    fake_cupy.asked.clear()
    call()
    return fake_cupy.asked


#: A look at the entries, one wait for what it found, and one for the result.
LOOK = Counter({"survey": 1, "wait": 1, "event": 2})


@pytest.mark.parametrize(
    ("n", "more"),
    [
        (2, {"allocate": 1, "copy": 1, "pivot": 1}),
        (64, {"allocate": 1, "copy": 1, "pivot": 1}),
        (65, {"allocate": 2, "copy": 1, "fill": 1, "streaming": 1}),
        (512, {"allocate": 2, "copy": 1, "fill": 1, "streaming": 1}),
        (1100, {"allocate": 2, "copy": 1, "fill": 1, "resident": 1}),
        (2048, {"allocate": 2, "copy": 1, "fill": 1, "resident": 1}),
    ],
)
def test_a_closure_is_a_look_a_copy_and_a_launch(cp, n, more):
    A = weights(cp, n, n)
    assert asks(lambda: apsp.closure(A)) == LOOK + Counter(more)
    in_place = Counter(more) - Counter({"allocate": 1, "copy": 1})
    assert asks(lambda: apsp.closure(A, overwrite=True)) == LOOK + in_place


@pytest.mark.parametrize("n", [512, 1100, 3000, 4096])
def test_a_plan_counts_what_a_closure_holds_there(cp, n):
    A, there = weights(cp, n, n), fake_cupy.there
    for given in ({}, {"overwrite": True}):
        apsp.closure(A, **given)
        there.begin()
        apsp.closure(A, **given)
        assert there.most == pytest.approx(apsp.plan(A, **given).beside_bytes, rel=0.1), given


@pytest.mark.parametrize(("longest", "levels"), [(1000, 10), (20, 3)])
def test_a_plan_counts_what_levels_hold_there(cp, longest, levels, monkeypatch):
    """What the device would have found is told by the host: so many levels, all pairs in the last."""
    from semiring.kernels.cpu.bits.levels import LevelsOnHost
    from semiring.kernels.cuda.bits import product
    from semiring.kernels.cuda.bits.levels import LevelsOnGpu

    n, there = 4000, fake_cupy.there
    A = np.random.default_rng(1).integers(1, longest, (n, n)).astype(np.float32)
    host, packed, left = LevelsOnHost(A, semiring.min_plus), LevelsOnGpu._packed, [0]
    host.followed = LevelsOnGpu.followed
    assert host.unit == 1
    least, greatest = (int(np.float32(x).view(np.uint32)) for x in (1, longest - 1))

    def look(self, *given):
        packed(self, *given)
        return [n, ~least & (1 << 64) - 1, greatest, 0]

    def write(self, more, fewer, length, out):
        left[0] -= 1
        return n * n if left[0] == 0 else left[0]

    monkeypatch.setattr(product, "default", lambda device: "mma")
    monkeypatch.setattr(cp, "zeros", lambda shape, dtype: cp.asarray(np.zeros(shape, dtype)), raising=False)
    monkeypatch.setattr(LevelsOnGpu, "_packed", look)
    monkeypatch.setattr(LevelsOnGpu, "_nearest", lambda self, front: host._nearest(front))
    monkeypatch.setattr(LevelsOnGpu, "_write", write)
    X = cp.asarray(A)
    for given in ({}, {"overwrite": True}):
        p = apsp.plan(X, **given)
        assert p.engine == "levels"
        there.begin()
        left[0] = levels - 1
        apsp.closure(X, **given)
        assert left[0] == 0
        assert there.most == pytest.approx(p.beside_bytes, rel=0.1), given


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(lambda: generate.grid(60, 60), id="grid"),
        pytest.param(lambda: generate.random_graph(2000, 0.4, seed=1), id="large fronts"),
        pytest.param(lambda: generate.random_graph(5000, 0.024, seed=1), id="sparse"),
    ],
)
def test_a_plan_counts_what_an_elimination_holds_there(cp, graph, dtype):
    fake_cupy.there.begin()
    r = apsp.shortest_paths(graph(), dtype=dtype, device="cuda", engine="elimination")
    assert fake_cupy.there.most == pytest.approx(r.plan.beside_bytes, rel=0.1)


@pytest.mark.parametrize("pooled", [1 << 30, 0])
def test_engines_are_compared_without_asking_for_memory_that_is_at_hand(cp, monkeypatch, pooled):
    monkeypatch.setattr(cp.get_default_memory_pool(), "free_bytes", lambda: pooled)
    p = apsp.plan(generate.random_graph(2000, 0.01, seed=1), dtype="float32", device="cuda", sources=[0, 1])
    assert len(p.considered) > 1
    assert (fake_cupy.asked["memory asked for"] == 0) == (pooled > 0)


def test_a_batch_is_a_look_and_a_launch(cp):
    A = weights(cp, 100, 64, 64)
    assert asks(lambda: apsp.closure(A)) == LOOK + Counter({"allocate": 1, "pivot": 1})
    assert asks(lambda: apsp.closure(A, overwrite=True)) == LOOK + Counter({"pivot": 1})


def test_a_product_is_a_look_and_a_launch(cp):
    A, B = weights(cp, 1024, 128), weights(cp, 128, 1024)
    wanted = Counter({"survey": 1, "event": 1, "wait": 1, "allocate": 1, "gemm": 1})
    assert asks(lambda: semiring.matmul(A, B)) == wanted


def test_a_small_product_is_begun_while_its_operands_are_looked_at(cp):
    """With the step that was right last time; where it turns out to be wrong, the product is computed again."""
    A = weights(cp, 64, 64)
    B = cp.asarray(-A.get())
    given = [A, A, B, B, A, A, B]
    semiring.matmul(A, A)
    launched = []
    for X in given:
        fake_cupy.asked.clear()
        semiring.matmul(X, X)
        launched.append(fake_cupy.asked["gemm"])
    assert launched == [1, 1, 2, 1, 2, 1, 2]


def test_only_what_is_needed_is_compiled_and_only_once(cp, monkeypatch):
    from semiring.kernels.cuda import compile

    A, B = weights(cp, 64, 64), weights(cp, 64, 64)
    notices = []
    with compiling.listening(notices.append):
        apsp.closure(A)
    assert fake_cupy.asked["compile"] == 2  # survey and pivot
    assert [notice.subject for notice in notices] == ["", "min_plus in float32"]
    apsp.closure(weights(cp, 1000, 1000))
    assert fake_cupy.asked["compile"] == 3
    semiring.matmul(A, B)
    assert fake_cupy.asked["compile"] == 4

    def never(*given, **options):
        raise AssertionError("sources were assembled again")

    for name in ("source", "functions", "compile"):
        monkeypatch.setattr(compile, name, never)
    for _ in range(2):
        apsp.closure(B)
        apsp.closure(weights(cp, 1000, 1000))
        semiring.matmul(B, A)
    assert fake_cupy.asked["compile"] == fake_cupy.asked["load"] == 4


@pytest.mark.parametrize("n", [2049, 2500, 4096])
def test_a_large_closure_compiles_side_by_side_what_it_will_launch(cp, n, monkeypatch):
    """Each of the kernels is held until all of them are being compiled; those that it launches are among them."""
    from semiring.kernels.cuda import compile

    units = {2500: {"gemm.cu", "resident.cu", "streaming.cu"}}
    wanted = units.get(n, {"gemm.cu", "resident.cu"})
    apsp.closure(weights(cp, 64, 64))  # the look at entries is compiled, and pivot.cu
    begun, quick, all_begun = [], compile._nvrtc, threading.Event()

    def slow(text, arch, flags, name):
        begun.append(name)
        if set(begun) >= wanted:
            all_begun.set()
        assert all_begun.wait(60)
        return quick(text, arch, flags, name)

    monkeypatch.setattr(compile, "_nvrtc", slow)
    apsp.closure(weights(cp, n, n), overwrite=True)
    assert set(begun) >= wanted


def test_a_changed_source_is_another_kernel(cp, monkeypatch, tmp_path):
    """Files are read once a process; the next one sees what they are then."""
    from semiring.kernels.cuda import compile

    before = compile.source("pivot.cu")
    for file in (path for kind in ("*.cu", "*.cuh", "*.inl") for path in compile.KERNELS.rglob(kind)):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    with (tmp_path / "pivot.cuh").open("a") as header:
        header.write("// changed")
    monkeypatch.setattr(compile, "KERNELS", tmp_path)
    assert compile.source("pivot.cu") == before
    compile._parts.cache_clear()
    assert compile.source("pivot.cu") != before


class TestAnotherDevice:
    """Arrays that lie on another device than the current one: all that is launched, copied and made is there."""

    @pytest.fixture
    def A(self, cp):
        with cp.cuda.Device(1):
            return weights(cp, 64, 64)

    @pytest.mark.parametrize(
        "call",
        [
            lambda A: apsp.closure(A),
            lambda A: apsp.closure(A, overwrite=True),
            lambda A: apsp.closure(A.reshape(4, 32, 32)),
            lambda A: apsp.shortest_paths(A).distances,
            lambda A: semiring.matmul(A, A),
            lambda A: semiring.matmul(A, A, out=A),
            lambda A: semiring.matvec(A, A[0]),
            lambda A: semiring.power(A, 3),
        ],
    )
    def test_results_lie_there(self, cp, A, call):
        D = call(A)
        assert fake_cupy.current == [0]
        assert isinstance(D, np.ndarray) or D.number == 1

    def test_operands_on_two_devices_are_refused(self, cp, A):
        B = weights(cp, 64, 64)
        for call in (
            lambda: semiring.matmul(A, B),
            lambda: semiring.matvec(B, A[0]),
            lambda: semiring.matmul(B, B, out=A),
        ):
            with pytest.raises(DeviceError, match=r"must be on one device, got GPU [01] and GPU [01]"):
                call()

    def test_queries_and_plans(self, A):
        r = apsp.shortest_paths(A)
        assert r.distance([0, 1], [2, 3]).shape == (2,)
        assert r.to_frame([0, 1], [2]).shape == (2, 1)
        assert apsp.plan(A).device == "cuda"
        assert fake_cupy.current == [0]

    def test_the_current_device_is_what_it_was_after_an_error(self, A):
        with pytest.raises(ValueError, match="abacus"):
            apsp.closure(A, schedule="abacus")
        assert fake_cupy.current == [0]

    def test_a_device_that_does_not_match_is_seen(self, cp, A):
        """This CuPy refuses what CUDA would."""
        from semiring.kernels.backend import bind

        with pytest.raises(ValueError, match="device 1 was met on device 0"):
            bind(semiring.min_plus, np.float32, device="cuda").closure(A)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("name", ["min_plus", "lor_land"])
def test_threads_that_share_a_backend_do_not_wait_for_one_anothers_long_work(cp, monkeypatch, name, apart):
    from semiring.kernels.cuda.bits.words import PAIRS

    dtype = {"min_plus": "float32", "lor_land": "bool"}[name]
    ops, waits = semiring.kernels.backend.bind(semiring.get(name), dtype, device="cuda"), []
    most = ops.limits.pairs if name == "min_plus" else PAIRS
    monkeypatch.setattr("semiring.kernels.cuda.transfer.wait", waits.append)

    def work(count):
        for _ in range(count):
            ops.pace(most // 4)

    for _ in range(3):
        if apart:
            thread = threading.Thread(target=work, args=(2,))
            thread.start()
            thread.join()
        else:
            work(2)
    assert len(waits) == (0 if apart else 4)  # two are under way, or half of what one launch may last


@pytest.mark.parametrize(("steps", "rows"), [(8, 1 << 19), (8, 4096), (1, 600), (512, 1 << 14)])
def test_bits_that_are_multiplied_beside_others_give_way_now_and_then(cp, monkeypatch, steps, rows):
    """Blocks that stay until all is done would keep what has priority waiting, a kernel after the other."""
    from semiring.kernels.cuda.bits import product as bitproduct
    from semiring.kernels.cuda.bits.product import Bits

    grids = []
    monkeypatch.setattr(bitproduct, "tensor_map", lambda X, rows: None)
    monkeypatch.setattr(bitproduct, "_function", lambda *given: lambda grid, *rest, **options: grids.append(grid[0]))
    C, A, B = (Bits(0, columns // 64, rows, columns) for columns in (rows, 1024 * steps, 1024 * steps))
    for gives_way in (False, True):
        bitproduct.multiply("wgmma", C, A, B, accumulate=True, gives_way=gives_way)
    stay, leave = grids
    tiles = (-(-rows // 256)) ** 2  # of two blocks each
    assert stay == 2 * min(tiles, 66)
    longest = -(-2 * tiles // leave) * steps  # of a block
    assert leave == stay if tiles * steps <= 66 * bitproduct.STAY else stay < leave <= stay * bitproduct.TURNS
    assert longest <= max(steps, bitproduct.STAY, tiles * steps // (66 * bitproduct.TURNS)) + steps


def test_the_host_does_not_run_far_ahead_of_products_of_bits(cp, monkeypatch):
    from semiring.kernels.cuda.bits import backend as bits
    from semiring.kernels.cuda.bits import product as bitproduct

    waits, launched = [], []
    monkeypatch.setattr("semiring.kernels.cuda.transfer.wait", waits.append)
    monkeypatch.setattr(bitproduct, "multiply", lambda *given, **options: launched.append(given))
    ops, A = bits.CudaBitBackend(), bitproduct.Bits(0, 1 << 10, 1 << 16, 1 << 16)
    for _ in range(20):
        ops._multiply(A, A, A, accumulate=True)  # a sixteenth of PAIRS each
    assert len(launched) == 20
    assert len(waits) == 12  # half of PAIRS is under way


def test_shared_memory_of_a_kernel_counts_beside_what_a_launch_asks_for(cp, monkeypatch):
    """Together they may be 48 KB without permission; who asks for less takes no permission back."""
    from semiring.kernels.cuda import compile

    driver, known, asked = sys.modules["cupy_backends.cuda.api.driver"], {1: 2104, 8: 48 << 10}, []

    def permit(function, attribute, size):
        asked.append(size)
        known[attribute] = size

    monkeypatch.setattr(driver, "funcGetAttribute", lambda attribute, function: known[attribute])
    monkeypatch.setattr(driver, "funcSetAttribute", permit)
    for size in (0, 47_048, 47_049, 150_000, 50_000):
        compile.allow_shared(SimpleNamespace(ptr=0), size)
    assert asked == [48 << 10, 150_000, 150_000]
