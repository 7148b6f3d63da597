"""`compare`: rows that agree, fits that fit, tables, JSON and pictures."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from apsp import comparison
from apsp.comparison import Comparison, Contender, Row, compare, compare_sizes, measure
from apsp.road import schedules
from semiring import get
from semiring.kernels.backend import bind

pytestmark = pytest.mark.usefixtures("short_runs")


@pytest.fixture(scope="module")
def table(short_runs) -> Comparison:
    return compare_sizes([40, 70, 130], devices=["cpu"], threads=2, schedules="all")


def test_every_schedule_runs_with_one_thread_and_with_all(table):
    ran = {(row.contender.schedule, row.contender.options) for row in table.rows}
    assert ran == {(name, (("threads", t),)) for name in schedules.names() for t in (1, 2)}
    for row in table.rows:
        assert row.same is True
        assert row.seconds > 0
        assert row.rate == row.n**3 / row.seconds
        assert sum(row.shares.values()) == pytest.approx(1)
    serial = [row for row in table.rows if row.contender == Contender("iterative", "cpu", (("threads", 1),))]
    assert [row.speedup for row in serial] == [1, 1, 1]


def test_it_prints_a_table_with_fits_and_advice(table):
    text = str(table)
    lines = text.splitlines()
    assert lines[0] == "closure over min_plus in float32"
    assert lines[1].split()[:4] == ["schedule", "device", "with", "n"]
    contenders = 2 * len(schedules.names())
    assert len(lines) == 2 + 3 * contenders + contenders + 1 + 2
    assert lines[-3] == "recursive and blocked are one at n = 40, 70, 130: the very same calls."
    assert "n^" in text
    assert lines[-1].startswith("Fastest: ")
    assert "GPU: none took part" in text


def test_json_holds_every_row(table):
    data = json.loads(table.to_json())
    assert len(data["rows"]) == 3 * 2 * len(schedules.names())
    assert {"seconds", "rate", "speedup", "same", "shares", "name"} <= set(data["rows"][0])
    assert len(data["fits"]) == 2 * len(schedules.names())


def test_a_picture(table, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    axes = table.plot()
    assert isinstance(axes, Axes)
    assert len(axes.lines) == 2 * len(schedules.names())
    assert axes.lines[0].get_xdata().tolist() == [40, 70, 130]
    assert not list(tmp_path.iterdir())
    pyplot.close("all")
    assert table.plot(axes, "rate") is axes
    assert table.plot(save=tmp_path / "times.png").get_ylabel() == "seconds"
    assert not pyplot.get_fignums()
    assert (tmp_path / "times.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError, match="quantity must be one of seconds, rate, pairs_per_joule"):
        table.plot(None, "minutes")
    with pytest.raises(ValueError, match="txt"):
        table.plot(save=tmp_path / "times.txt")


def test_the_picture_has_a_colour_a_schedule_names_at_the_ends_and_the_ratio_beside(table):
    pytest.importorskip("matplotlib").use("Agg")
    seconds, ratio = table.plot().figure.axes
    for axes in (seconds, ratio):
        assert [text.get_text() for text in axes.get_xticklabels()] == ["40", "70", "130"]
        colours = {(line.get_label().split()[0], line.get_color()) for line in axes.lines}
        assert len(colours) == len({c for _, c in colours}) == len(schedules.names())
        assert {("2 threads" in line.get_label(), line.get_linestyle()) for line in axes.lines} == {
            (True, "--"),
            (False, "-"),
        }
    one = next(line for line in ratio.lines if line.get_label() == "iterative (cpu, 1 thread)")
    assert one.get_ydata().tolist() == [1, 1, 1]
    named = {text.get_text(): text.xy[1] for text in ratio.texts}
    assert set(named) == {line.get_label() for line in ratio.lines}
    heights = sorted(named.values())
    assert min(np.diff(heights)) > 0.03
    assert heights[-1] <= 1
    assert not seconds.texts


def test_times_of_less_than_a_decade_have_numbers_beside_them():
    pytest.importorskip("matplotlib").use("Agg")
    rows = [Row(Contender("iterative", "cpu"), 100, seconds=seconds) for seconds in (3e-4, 4e-4)]
    axes = Comparison("min_plus", "float32", tuple(rows)).plot()
    least, most = axes.get_ylim()
    named = [y for y in axes.yaxis.get_minorticklocs() if least <= y <= most]
    assert len(named) >= 2
    assert sum(bool(label.get_text()) for label in axes.get_yticklabels(minor=True)) >= 2
    assert not len(axes.xaxis.get_minorticklocs())


def test_of_many_sizes_those_are_named_that_can_be_read():
    def named(sizes):
        rows = [Row(Contender("iterative", "cpu", (("threads", 1),)), n, seconds=n**3 / 1e9) for n in sizes]
        axes = Comparison("min_plus", "float32", tuple(rows)).plot()
        return [int(label.get_text()) for label in axes.get_xticklabels()]

    for sizes in ([], [7], [64, 128, 256], [2**k for k in range(15)]):
        assert named(sizes) == sizes
    many = named(range(10, 1810, 10))
    assert many[0] == 10
    assert 10 < len(many) <= 15
    assert min(b / a for a, b in pairwise(many)) >= 180 ** (1 / 14)


def test_blocks_are_four_where_none_is_asked_for_and_schedules_that_are_one_say_so():
    table = compare(np.random.default_rng(0).random((130, 130)), devices=["cpu"], threads=1, schedules=["all"])
    blocks = {row.contender.schedule: row.block for row in table.rows}
    assert blocks == {name: 33 if schedules.get(name).blocked else None for name in schedules.names()}
    one = compare(np.ones((60, 60)), devices=["cpu"], threads=1, block=64, schedules="all")
    assert {row.contender.schedule: row.like for row in one.rows if row.like} == {
        "bordering": "blocked",
        "recursive": "blocked",
    }
    assert "bordering and blocked are one at n = 60: the very same calls." in one.notes()
    assert not one.fits()


def test_repeats_are_kept_and_their_spread_shown():
    table = compare(np.ones((20, 20)), devices=["cpu"], threads=1, schedules=["blocked"], repeats=4)
    (row,) = table.rows
    assert len(row.times) == 4
    assert row.seconds == min(row.times)
    headings, (cells,) = table.table()
    assert cells[headings.index("spread")] == f"{max(row.times) / min(row.times) - 1:.0%}"
    assert json.loads(table.to_json())["rows"][0]["times"] == list(row.times)


def test_in_a_notebook(table):
    contenders = 2 * len(schedules.names())
    assert repr(table) == f"<Comparison: {contenders} contenders, n = 40, 70, 130, min_plus in float32>"
    html = table._repr_html_()
    assert html.count("<tr>") == 1 + 3 * contenders
    assert "Fastest: " in html
    assert repr(Comparison("min_plus", "float32", ())).count("\n") == 0


def rows(times: dict[str, dict[int, float]], transfer: float = 0.0) -> tuple[Row, ...]:
    return tuple(
        Row(Contender("recursive", device), n, seconds, transfer=transfer if device == "cuda" else 0.0)
        for device, points in times.items()
        for n, seconds in points.items()
    )


def test_a_fit_needs_three_sizes():
    assert not Comparison("min_plus", "float32", rows({"cpu": {n: 3e-9 * n**2.5 for n in (100, 200)}})).fits()


def test_a_fit_recovers_the_law():
    made = Comparison("min_plus", "float32", rows({"cpu": {n: 3e-9 * n**2.5 for n in (100, 200, 400)}}))
    (fit,) = made.fits()
    assert fit.exponent == pytest.approx(2.5)
    assert fit.constant == pytest.approx(3e-9)


def test_where_the_gpu_begins_to_pay_counts_transfers():
    times = {"cpu": {100: 1.0, 200: 8.0, 400: 64.0}, "cuda": {100: 0.9, 200: 1.0, 400: 2.0}}
    assert Comparison("m", "f", rows(times)).crossover() == "The GPU pays from n = 100, transfers included."
    assert Comparison("m", "f", rows(times, 0.5)).crossover() == "The GPU pays from n = 200, transfers included."
    assert "did not pay" in Comparison("m", "f", rows(times, 99)).crossover()
    advice = Comparison("m", "f", rows(times, 0.5)).advice()
    assert advice == "Fastest: recursive (cpu) from n = 100; recursive (cuda) from n = 200."


def test_what_would_take_too_long_is_skipped_with_a_reason():
    table = compare(np.ones((300, 300)), devices=["cpu"], limit=0.0, schedules="all")
    assert all(row.seconds is None and "limit 0 s" in row.skipped for row in table.rows)
    assert "skipped" in str(table)
    assert "Nothing ran" in table.advice()


def test_a_wrong_result_is_seen(monkeypatch):
    honest = measure.run

    def wrong(array, s, contender, repeats):
        row, matrix = honest(array, s, contender)
        return row, matrix + (contender.schedule == "blocked")

    monkeypatch.setattr(measure, "run", wrong)
    table = compare(np.ones((20, 20)), devices=["cpu"], threads=1, schedules="all")
    assert [row.same for row in table.rows] == [row.contender.schedule != "blocked" for row in table.rows]
    assert "NO" in str(table)


@pytest.mark.parametrize(
    "name", ["lor_land", "max_plus", "max_min", "max_times", "min_times", "plus_times", "log_plus"]
)
def test_any_semiring(name):
    table = compare_sizes([30], semiring=name, devices=["cpu"], threads=1, schedules="all")
    refused = [row.contender.schedule for row in table.rows if "idempotent" in row.skipped]
    assert refused == ([] if get(name).idempotent else ["squaring"])
    assert all(row.same for row in table.rows if not row.skipped)


def test_floats_that_round_differently_are_the_same_to_rounding():
    A = np.random.default_rng(0).random((150, 150))
    assert all(row.same for row in compare(A, devices=["cpu"]).rows)


def test_recursive_or_iterative_comes_first():
    found = {c.schedule for c in measure.contenders(None, ["cpu"], 1)}
    assert found == {"iterative", "blocked", "recursive"}
    assert [c.schedule for c in measure.contenders("squaring", ["cpu"], 1)] == ["squaring"]


def test_the_ladder_on_a_gpu(monkeypatch):
    monkeypatch.setattr("semiring.kernels.backend.cuda_available", lambda: True)
    found = measure.contenders(None, ["cuda"], 1)
    assert {c.name for c in found} >= {
        "iterative (cuda, 1 a thread)",
        "iterative (cuda, 4 a thread)",
        "blocked (cuda, block 32)",
        "blocked (cuda, block 64)",
        "recursive (cuda, plain tile)",
        "recursive (cuda)",
    }
    assert {c.block for c in measure.contenders(["blocked", "recursive"], ["cuda"], 1, 48)} == {48}
    assert len(measure.contenders(["blocked"], ["cuda"], 1, 48)) == 1


def test_bytes_moved_follow_from_the_schedule():
    n, b = 96, 32
    steps = comparison.traffic(Contender("iterative", "cpu"), n, "min_plus", "float32")
    assert steps == 4 * n * (2 * n * n + 2 * n)
    # Each of n/b pivots: D 2b², both panels 2b(n−b) + their D again in up to two parts, the rest 2(n−b)² + operands.
    blocked = comparison.traffic(Contender("blocked", "cpu", (), b), n, "min_plus", "float32")
    assert 4 * (n // b) * (2 * b * b + 4 * b * (n - b) + 2 * (n - b) ** 2) < blocked < steps / 4
    assert comparison.traffic(Contender("recursive", "cpu"), 2048, "min_plus", "float32") < 4 * 40 * 2048**2


def test_threads_and_blocks_of_several_numbers():
    found = measure.contenders(["blocked", "iterative"], ["cpu"], [1, 2, 4], [16, 32])
    threads = [(("threads", t),) for t in (1, 2, 4)]
    assert found == [
        *(Contender("iterative", "cpu", t) for t in threads),  # which has no block
        *(Contender("blocked", "cpu", t, b) for b in (16, 32) for t in threads),
    ]
    for wrong in ({"threads": 0}, {"threads": [2, -1]}, {"block": []}, {"block": [1.5]}):
        with pytest.raises(ValueError, match="must be numbers of at least 1"):
            measure.contenders(["blocked"], ["cpu"], **({"threads": 1, "block": 8} | wrong))


def test_efficiency_is_the_speedup_a_thread(monkeypatch):
    times = {(1, 16): 4.0, (2, 16): 2.5, (1, 32): 3.0, (2, 32): 1.5}

    def run(array, s, contender, repeats):
        return Row(contender, len(array), times[dict(contender.options)["threads"], contender.block]), array

    monkeypatch.setattr(measure, "run", run)
    table = compare(np.ones((4, 4)), devices=["cpu"], schedules=["blocked"], threads=2, block=[16, 32])
    assert [row.efficiency for row in table.rows] == [None, 0.8, None, 1.0]
    headings, cells = table.table()
    assert [line[headings.index("E = S/p")] for line in cells] == ["-", "0.80", "-", "1.00"]


def test_kernels_as_they_are_taught(monkeypatch):
    table = compare(np.random.default_rng(0).random((70, 70)), kernels=True, devices=["cpu"])
    assert [row.contender.label for row in table.rows] == [
        *("1 thread, by rows", "1 thread, by columns", "block 32, 1 thread", "1 thread")
    ]
    assert all(row.same for row in table.rows)
    with pytest.raises(ValueError, match="kernels=True says which schedules"):
        compare(np.ones((3, 3)), kernels=True, threads=2)
    monkeypatch.setattr("semiring.kernels.backend.cuda_available", lambda: True)
    labels = [contender.name for contender in measure.contenders(None, ["cuda"], None, kernels=True)]
    assert labels[1:5] == [
        *("iterative (cuda, i, k in shared memory)", "iterative (cuda, by columns)", "iterative (cuda, pitched rows)"),
        "iterative (cuda, 4 a thread)",
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_steps_down_columns(turned):
    A = np.random.default_rng(1).random((9, 14))[:, :9] / 9
    A = A.T if turned else A
    X = A.copy(order="K")
    ops = bind(get("plus_times"), "float64", access="columns")
    for k in range(9):
        ops.step(X, k)
    np.testing.assert_allclose(X, np.linalg.inv(np.eye(9) - A))
    with pytest.raises(ValueError, match="rows, or columns where ⊗ commutes, got 'diagonals'"):
        bind(get("plus_times"), "float64", access="diagonals")


def test_cycles_of_several_sizes():
    table = compare_sizes([5, 9], graph="cycle", devices=["cpu"], threads=1, schedules=["blocked", "squaring"])
    assert all(row.same for row in table.rows)
    with pytest.raises(ValueError, match="random or cycle, got 'star'"):
        compare_sizes([5], graph="star")


def test_joules_of_processors(tmp_path):
    from semiring.kernels.cpu.energy import Counters

    for name, microjoules in (("intel-rapl:0", 5_000_000), ("intel-rapl:1", 9_000_000), ("intel-rapl:0:0", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text(f"{microjoules}\n")
        (tmp_path / name / "max_energy_range_uj").write_text("10000000\n")
    counters = Counters(tmp_path)
    assert counters.joules() == 0
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("7000000")
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("1000000")  # began again
    assert counters.joules() == pytest.approx(2 + 2)
    assert counters.joules() == pytest.approx(4)
    (tmp_path / "intel-rapl:1" / "energy_uj").unlink()
    assert counters.joules() is None
    assert Counters(tmp_path / "none").joules() is None


def test_advice_stays_within_noise():
    made = [
        Row(Contender(name, "cpu"), n, seconds)
        for n, a, b in ((100, 1.0, 2.0), (200, 1.02, 1.0), (400, 2.0, 1.0))
        for name, seconds in (("blocked", a), ("recursive", b))
    ]
    advice = Comparison("min_plus", "float32", tuple(made)).advice()
    assert advice == "Fastest: blocked (cpu) from n = 100; recursive (cpu) from n = 400."


@pytest.mark.parametrize("block", [16, 32, 64])
def test_calls_by_schedule(block):
    """Closed forms: a step per vertex; per pivot block one closure, four panels, four products; half at both ends."""
    n = 256
    names = ("iterative", "blocked", "recursive", "squaring")
    made = compare(np.ones((n, n), np.float32), schedules=names, block=block, threads=1, devices=["cpu"])
    pivots = n // block
    by_hand = {"iterative": n, "blocked": 9 * pivots - 10, "recursive": 9 * pivots - 10, "squaring": 2 * 8 + 1}
    assert {row.contender.schedule: row.calls for row in made.rows} == by_hand


def test_energy_and_ceiling_have_their_columns():
    row = Row(Contender("recursive", "cuda"), 1000, 1e-3, same=True, ceiling=2e12, joules=0.5, moved=1e9)
    headings, (cells,) = Comparison("min_plus", "float32", (row,)).table()
    assert dict(zip(headings, cells, strict=True)) | {"of ceiling": "50.0%", "G pairs/J": "2", "GB moved": "1"} == dict(
        zip(headings, cells, strict=True)
    )


def test_slower_than_the_reference_is_no_zero():
    """Down columns it is a hundredth, which one decimal would call 0.0."""
    serial, columns = (Contender("iterative", "cpu", (("access", name),)) for name in ("rows", "columns"))
    rows = (Row(serial, 512, 0.02, speedup=0.997), Row(columns, 512, 2.15, speedup=0.02 / 2.15))
    headings, cells = Comparison("min_plus", "float32", rows).table()
    assert [line[headings.index("speed-up")] for line in cells] == ["1.0", "0.0093"]
