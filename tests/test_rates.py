"""Rates of machines: what estimates divide by, and where they come from."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import tomllib

import numpy as np
import pytest
from processes import ROOT, python

from apsp import plan, random_graph
from apsp.road import estimates, rates
from apsp.road.engines import scipy as searched
from semiring import FormatError, get

#: Fields without a time: shares, ratios and sizes of caches.
RELATIVE = {"cached", "cached_with_heap", "slowdown", "alone_slowdown"}


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Have a file's text, or sections, count as this machine's."""

    def forget():
        for name in ("processor", "card"):
            vars(rates).pop(name, None)
        estimates.rate.cache_clear()
        searched.little.cache_clear()

    def use(content):
        path = tmp_path / "mine.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        monkeypatch.setenv(rates.VARIABLE, str(path))
        forget()
        return path

    monkeypatch.delenv(rates.VARIABLE, raising=False)
    forget()
    yield use
    monkeypatch.undo()
    forget()


def faster(factor, table):
    """The section of a machine that does everything in 1/factor of the time."""

    def scaled(name, value):
        if isinstance(value, dict):
            return {str(key): scaled(name, number) for key, number in value.items()}
        return value if name in RELATIVE or "share" in name else value * factor if "rate" in name else value / factor

    return {name: scaled(name, value) for name, value in dataclasses.asdict(table).items()}


def some_seconds():
    """Seconds by most formulas."""
    s, roads = get("min_plus"), (20000, 60000)
    cost = dataclasses.make_dataclass("C", ["elimination", "sweep", "climb"])(10**8, 10**5, 10**4)
    cost.bytes = cost.gpu_bytes = lambda itemsize: 1
    return {
        "closure": estimates.closure(2000, s, np.dtype("float32"), pairs=2000**3),
        "closure, log_plus": estimates.closure(300, get("log_plus"), np.dtype("float64"), pairs=300**3),
        "closure, GPU": estimates.closure(8192, s, np.dtype("float32"), pairs=8192**3, device="cuda"),
        "elimination": estimates.elimination(cost, *roads, 100, 8).seconds,
        "elimination, GPU": estimates.elimination_on_gpu(cost, *roads, 100, 4).seconds,
        "scipy": estimates.searches(*roads, 16, 20000, 8, "dijkstra", levels=30.0, width=50.0).seconds,
        "scipy, breadth-first": estimates.searches(*roads, 16, 20000, 8, "breadth-first", levels=30.0).seconds,
        "searches": estimates.lanes(*roads, 300, 20000, 4, 150000.0, rounds=3).seconds,
        "searches, GPU": estimates.lanes_on_gpu(*roads, 5000, 4).seconds,
        "hops": estimates.hops(*roads, 640, 20000, 4, 8, 64, 1).seconds,
        "hops, GPU": estimates.hops_on_gpu(*roads, 640, 4, 8, 64).seconds,
        "essential": estimates.essential(2000, 30000, 4, 60000.0).seconds,
        "levels": estimates.levels(2000, 5, 9, 1).seconds,
        "levels, GPU": estimates.levels_on_gpu(8192, 5, 9, 1, 4).seconds,
        "networkx": estimates.networkx(100, 400, 100, "floyd_warshall")[0],
    }


#: Those of before rates were a table.
PINNED = {
    "closure": "0x1.84aa362881407p-3",
    "closure, log_plus": "0x1.9b0005b831826p-6",
    "closure, GPU": "0x1.2c3d6f030f9acp-5",
    "elimination": "0x1.07ef02a95bbf4p-5",
    "elimination, GPU": "0x1.2e12700493fd0p-6",
    "scipy": "0x1.1b64724fb6360p-5",
    "scipy, breadth-first": "0x1.504c48adeebb3p-6",
    "searches": "0x1.48628a9db2f13p-4",
    "searches, GPU": "0x1.fb83ec3a259a6p-8",
    "hops": "0x1.2e536501e2585p-4",
    "hops, GPU": "0x1.e49ebbbd2ea98p-8",
    "essential": "0x1.7dcb1465e8922p-4",
    "levels": "0x1.ce075f6fd21fep-5",
    "levels, GPU": "0x1.4ef8008e46abcp-9",
    "networkx": "0x1.47ae147ae147bp-4",
}


def test_the_default_is_what_was_measured_once(machine):
    """One core of a server, and an H200: figures that a change of a formula would alter too."""
    assert {name: seconds.hex() for name, seconds in some_seconds().items()} == PINNED


def test_a_machine_twice_as_fast_takes_half_the_seconds(machine):
    slow = some_seconds()
    machine({name: faster(2, getattr(rates, kind)) for name, kind in (("cpu", "processor"), ("cuda", "card"))})
    assert some_seconds() == {name: pytest.approx(seconds / 2, rel=1e-12) for name, seconds in slow.items()}


def test_the_engine_is_chosen_by_this_machine(machine):
    graph = random_graph(1000, 0.8, seed=1)
    assert plan(graph).engine == "searches"
    table = rates.processor
    machine({"cpu": {"search_arc": 100 * table.search_arc, "search_settled": 100 * table.search_settled}})
    assert plan(graph).engine == "dense"
    assert rates.processor.front_rate == table.front_rate


def test_another_process_takes_the_file_of_the_environment(machine, tmp_path):
    path = machine({"about": "slow", "cpu": {"closure_rate": {"float32": 45e6}}})
    seconds = "from apsp import plan; print(*(plan(2000, dtype=d, threads=1).seconds for d in ('float32', 'int32')))"
    slow, same = map(float, python(seconds, env={rates.VARIABLE: str(path)}).split())
    assert (slow, same) == (pytest.approx(8e9 / 45e6 + 0.012, rel=1e-6), pytest.approx(8e9 / 45e9 + 0.012, rel=1e-6))


def test_a_new_machine_is_one_file(machine, monkeypatch, tmp_path):
    """It is found by the processor's name; what it lacks, and other machines, have the default's."""
    folder = tmp_path / "rates"
    shutil.copytree(rates.FOLDER, folder)
    monkeypatch.setattr(rates, "FOLDER", folder)
    (folder / "acme-9000-r.json").write_text(json.dumps({"cpu": {"row_rate": 7e9}}))
    monkeypatch.setattr("semiring.kernels.backend.describe", lambda device: "Acme 9000(R), 3000 MHz")
    assert rates.source("cpu").name == "acme-9000-r.json"
    assert rates.load("cpu") == dataclasses.replace(rates.load("cpu", folder / "server.json"), row_rate=7e9)
    monkeypatch.setattr("semiring.kernels.backend.describe", lambda device: "Acme 9001")
    assert rates.source("cpu").name == "server.json"
    assert rates.load("cuda").closure_rate["float32"] == 15e12


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "JSON is required, got Expecting property name"),
        ("[1]", "a section cpu or cuda is required, and about, got [1]"),
        ({"CPU": {}}, "a section cpu or cuda is required, and about, got ['CPU']"),
        ({"cpu": {}, "gpu": {}}, "a section cpu or cuda is required, and about, got ['cpu', 'gpu']"),
        ("[" * 100_000, "JSON is required, got "),
        ({"cpu": [1]}, "cpu must be an object of fields, got [1]"),
        ({"cpu": {"row_rat": 1e9}}, "cpu must have known fields, got 'row_rat'. Did you mean 'row_rate'"),
        ({"cpu": {"row_rate": "1e9"}}, "cpu: row_rate must be positive, below 1e30, got '1e9'"),
        ({"cpu": {"row_rate": True}}, "cpu: row_rate must be positive, below 1e30, got True"),
        ({"cpu": {"row_rate": 0}}, "cpu: row_rate must be positive, below 1e30, got 0"),
        ('{"cpu": {"row_rate": NaN}}', "cpu: row_rate must be positive, below 1e30, got nan"),
        ('{"cpu": {"row_rate": 1e999}}', "cpu: row_rate must be positive, below 1e30, got inf"),
        ({"cpu": {"row_rate": {"4": 1}}}, "cpu: row_rate must be positive, below 1e30, got {'4': 1}"),
        ({"cpu": {"sweep_rate": 1e9}}, "cpu: sweep_rate must be numbers by dtype or itemsize, got 1000000000.0"),
        ({"cpu": {"sweep_rate": {"3": 1e9}}}, "cpu: sweep_rate must be numbers by dtype or itemsize, got {'3': "),
        (
            {"cpu": {"sweep_rate": {"float32": 1}}},
            "cpu: sweep_rate must have keys such as 1, 2, 4, 8, other, got 'float32'",
        ),
        (
            {"cpu": {"closure_rate": {"4": 1e9}}},
            "cpu: closure_rate must have keys such as float32, int32, int16, float64",
        ),
        ({"cpu": {"sweep_rate": {"4": -1}}}, "cpu: sweep_rate must be positive, below 1e30, got -1"),
    ],
)
def test_malformed_files_are_refused(machine, content, problem):
    """FormatError names the file, the field, the value and a way out that works."""
    path = machine(content)
    with pytest.raises(FormatError, match=re.escape(f"{path}: rates: {problem}")) as caught:
        plan(3000)
    assert str(caught.value).endswith(
        (f"Correct {rates.VARIABLE}, or unset it.", "or leave it out: the default's counts.")
    )


def test_a_file_that_is_not_there_is_refused(machine, monkeypatch, tmp_path):
    machine({"cpu": {}}).unlink()
    with pytest.raises(
        FormatError, match=r"mine\.json: rates: a readable file is required, got No such file.* unset it"
    ):
        plan(3000)


def test_every_rate_is_asked_for():
    """Each field of the records is read by a formula or an engine."""
    texts = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob("apsp/**/*.py") if p.name != "rates.py")
    asked = {*re.findall(r"\b(?:cpu|card|processor)\)?\.(\w+)", texts)}
    for record in rates.RECORDS.values():
        assert {f.name for f in dataclasses.fields(record)} <= asked


def test_files_are_in_the_wheel_and_complete(machine):
    """The build takes all files of the packages; no field is missing in the default, which has one section."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert "apsp" in wheel["only-include"]
    assert not {"exclude", "include"} & {*wheel}
    assert "json" not in (ROOT / ".gitignore").read_text(encoding="utf-8")  # hatchling leaves out what git ignores
    for device, name in rates.DEFAULTS.items():
        content = json.loads((rates.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        assert [*content] == ["about", device]
        assert [*content[device]] == [f.name for f in dataclasses.fields(rates.RECORDS[device])]


def test_calibration_finds_the_rates_of_a_machine(machine, monkeypatch, tmp_path, capsys):
    """From the seconds of one that takes twice the time, and other times for closures in float32 and for fronts."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import calibrate

    monkeypatch.setattr("common._quick", True)
    old, found = rates.processor, list(calibrate.samples())
    odd = {("closure_rate", "float32"): 6.0, ("front_rate", None): 1.0}
    true = calibrate.slower(old, dict.fromkeys(calibrate.names(old), 2.0) | odd)
    seconds = calibrate.predicted(found, true)
    factors, measured = calibrate.fit(found, seconds, old)
    new = calibrate.slower(old, factors)
    np.testing.assert_allclose(calibrate.predicted(found, new), seconds, rtol=0.03)
    assert factors["closure_rate", "float32"] == pytest.approx(6, rel=0.1)
    assert factors["python_visit", None] == pytest.approx(2, rel=0.1)  # which no question tells
    assert ("closure_rate", "float32") in measured
    assert ("python_visit", None) not in measured
    calibrate.write(tmp_path / "new.json", new, measured, factors)
    assert "python_visit" in json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))["about"]["scaled"]
    written = rates.load("cpu", tmp_path / "new.json")
    assert written.closure_rate["float32"] == pytest.approx(new.closure_rate["float32"], rel=0.005)
    assert (written.slowdown, written.disk_rate) == (old.slowdown, old.disk_rate)
