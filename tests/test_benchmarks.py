"""Every benchmark is on the page with its question, and says what it can do, on a machine without a GPU too."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

from processes import ROOT

#: A line for the help of each; names follow. In one process, which imports what they share once.
HELP = """
import contextlib, io, runpy, sys
sys.path[:0] = ["benchmarks", "tests"]
for name in sys.argv[1:]:
    sys.argv = [name, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        runpy.run_path(f"benchmarks/{name}.py", run_name="__main__")
    print(shown.getvalue().count("usage: "), "benchmarks/" + name + ".py" in shown.getvalue(), name)
"""


def benchmarks(*words: str) -> str:
    """What the runner prints."""
    run = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@cache
def listed() -> dict[str, str]:
    """Name → question, as the list shows them."""
    return dict(re.findall(r"^(\w+) {2,}(.*\?)$", benchmarks(), re.MULTILINE))


def test_the_page_has_every_question_of_the_list():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert {name: q for q, name in re.findall(r"^\| (.*\?) \| `(\w+)", page, re.MULTILINE)} == listed()


def test_an_unknown_name_is_refused_with_those_that_there_are():
    run = [sys.executable, "-m", "benchmarks", "speed"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "must be one of betweenness, bits" in done.stderr
    assert "got 'speed'" in done.stderr


#: What files import of ours, wherever that stands, and what they name of these modules: a line for what is not there.
NAMES = """
import ast, importlib, pathlib, fake_cupy

files = sorted(pathlib.Path("benchmarks").glob("*.py"))
OURS = {"semiring", "apsp", *(path.stem for path in files)}

def named(name):
    home, _, attribute = (name or "").rpartition(".")
    return getattr(sys.modules.get(home), "__dict__", {}).get(attribute)  # nothing is imported for it

def look(name, attribute):
    if isinstance(kind := named(name), type):
        if not hasattr(kind, attribute):
            raise ImportError(f"{name} has no {attribute}")
        return
    module = importlib.import_module(name)
    return getattr(module, attribute) if hasattr(module, attribute) else importlib.import_module(f"{name}.{attribute}")

def names(scope, modules):
    # What a function, or the top level of a file, imports and then asks of modules: node, module, attribute.
    inside = list(ast.walk(scope) if isinstance(scope, ast.FunctionDef) else scope.body)
    for node in inside:
        if isinstance(node, ast.ImportFrom):
            for x in node.names if node.module.partition(".")[0] in OURS else ():
                yield node, node.module, x.name
                modules[x.asname or x.name] = f"{node.module}.{x.name}"
        elif isinstance(node, ast.Import):
            modules |= {x.asname or x.name: x.name for x in node.names if x.name.partition(".")[0] in OURS}
    if isinstance(scope, ast.FunctionDef):  # a variable may be called as a module
        stored = {x.id for x in inside if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        modules = {bound: name for bound, name in modules.items() if bound not in stored}
    for node in inside if isinstance(scope, ast.FunctionDef) else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (name := modules.get(node.value.id)) in sys.modules or isinstance(named(name), type):
                yield node, name, node.attr

with fake_cupy.installed():
    for path in files:
        tree, top = ast.parse(path.read_text(encoding="utf-8")), {}
        homes = tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))
        for scope in [tree, *(node for home in homes for node in home.body if isinstance(node, ast.FunctionDef))]:
            for node, name, attribute in names(scope, top if scope is tree else dict(top)):
                try:
                    look(name, attribute)
                except ImportError as error:  # others need not be installed
                    if error.name is None or error.name.partition(".")[0] in OURS:
                        print(f"{path}:{node.lineno}: {error}")
"""


def test_every_benchmark_shows_its_help_and_what_it_asks_of_modules_is_there():
    """Its own command is in the help; and what several GPUs would run is there too, which nobody has at hand."""
    names = list(listed())
    assert len(names) > 15
    run = [sys.executable, "-c", HELP + NAMES, *names]
    shown = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [f"1 True {name}" for name in names]


def test_all_that_can_run_here_does(tmp_path, monkeypatch):
    """A name alone is tried, one that fails is no success, one that needs what is not here is none to fail."""
    sys.path.insert(0, str(ROOT))
    from benchmarks import __main__ as runner

    monkeypatch.setattr(runner, "HERE", tmp_path / "benchmarks")
    monkeypatch.setattr(runner, "LOGS", tmp_path / "out" / "benchmarks")
    (tmp_path / "benchmarks").mkdir()
    ends = {"right": "print(1)", "without": f"raise SystemExit({runner.UNAVAILABLE})", "asks": "1/0  # quick=False"}
    for name, text in ends.items():
        (tmp_path / "benchmarks" / f"{name}.py").write_text(f'"""Does it?"""\n{text}\n')
    assert runner.run_all(["--quick"]) == 0
    assert [path.name[:5] for path in runner.LOGS.iterdir()] == ["right"]
    (tmp_path / "benchmarks" / "wrong.py").write_text('"""Is it?"""\n1/0\n')
    assert runner.run_all([]) == 1


def test_times_of_several_gpus_are_a_table(tmp_path):
    (tmp_path / "found.txt").write_text(
        "float32  n =  16384 block  1024  4 GPUs      79.04 ms   55.64 T/s   one     270.86 ms    3.43 ×\n"
    )
    run = [sys.executable, "benchmarks/scaling.py", str(tmp_path / "found.txt")]
    shown = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "| n | 1 GPU | 4 GPUs |" in shown
    assert "3.43" in shown


def test_the_ledger_names_what_fell_first_and_measures_it_again(monkeypatch, capsys):
    """Of four kernels one is a fifth slower, one was slow once, one lies ten times below its sister, one has a bar."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import figures
    import ledger
    from figures import Figure

    seconds = {"slower": [1.25] * 3, "slow once": [1.25, 1.0], "valley": [30.0] * 3, "barred": [1.0] * 3}

    def task(name):
        bar = 2.0 if name == "barred" else None
        return Figure(name, seconds[name].pop(0), 1.0, "registers", bar, work=1.0, family=("product",))

    tasks = [(name, lambda name=name: task(name)) for name in seconds]
    monkeypatch.setattr(figures, "parts", lambda: {"part": lambda device: iter(tasks)})
    before = [{"name": name, "against": 1.0, "seconds": 30.0 if name == "valley" else 1.0} for name in seconds]
    last = {"date": "2026-01-01", "commit": "abc", "figures": before}
    kept = []
    found, failed = ledger.measure("cpu", [], last, lambda figures: kept.append(len(figures)))
    assert (failed, kept) == ([], [4])  # each part is kept as soon as it is measured
    assert [(x.name, share) for x, share in ledger.fallen(found, last)] == [("slower", 0.8)]
    told = "\n".join(ledger.report(found, last)).split("\n")
    assert told[1:3] == [
        "FELL by more than 10% (since 2026-01-01, abc): 1",
        "  slower: 1.000 × → 0.800 × registers (-20%)",
    ]
    assert told[3] == "MISSED their bars: 1"
    assert told[4].startswith("  barred ")
    assert told[5:] == [
        "VALLEYS, 10 × below a sister: 1",
        "  valley: 30 × below slow once",
        "4 figures, 3 without a bar",
    ]
    for seconds, missed in ((1.2, False), (1.4, True)):  # a bar of 0.9, or 0.3 s more
        assert Figure("short", seconds, 1.0, "SciPy", 0.9, beyond=0.3).missed == missed
    assert ledger.slug("NVIDIA H200, 2 threads") == "nvidia-h200-2-threads"
    monkeypatch.setattr(figures, "parts", lambda: {"part": lambda device: iter([("wrong", lambda: 1 / 0)])})
    assert ledger.measure("cpu", [], None, kept.append) == ([], ["wrong"])
    assert kept == [4, []]
