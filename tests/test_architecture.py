"""The rules that keep the house in order: who imports whom, and how little an import costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from processes import python

import apsp
import semiring
from apsp.road import schedules
from semiring.stores.tiles import TileStore

ROOT = Path(__file__).parents[1]
HEAVY = ("numba", "llvmlite", "cupy", "networkx", "scipy", "matplotlib", "rich", "click")


def module_name(path: Path) -> str:
    """apsp/io/formats/csv.py → apsp.io.formats.csv."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for package in ("semiring", "apsp") for path in (ROOT / package).rglob("*.py")}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@cache
def statements(path: Path) -> tuple[tuple[str, str], ...]:
    """(module, name): all that a file imports anywhere in it, relative modules by their full names; "" for no name."""
    return tuple(statements_of(path, parsed(path)))


def statements_of(path: Path, tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Those of a part of a file."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            within = [*module_name(path).split("."), *(["__init__"] if path.stem == "__init__" else [])]
            base = within[: len(within) - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((module, alias.name) for alias in node.names)
        elif not isinstance(node, ast.expr) and not is_for_type_checkers(node):  # no expression imports
            yield from statements_of(path, node)


def imports(path: Path) -> set[str]:
    """The modules of those statements: `from . import x` means the module x where there is one."""
    return {f"{module}.{name}" if f"{module}.{name}" in MODULES else module for module, name in statements(path)}


def test_every_file_says_in_its_first_line_what_it_is():
    first = {name: ast.get_docstring(parsed(path)) for name, path in MODULES.items()}
    assert not [name for name, doc in first.items() if not doc or len(doc.partition("\n")[0]) < 15]


def test_what_waits_for_a_release_is_there():
    for node in (ROOT / "tests" / "released.txt").read_text().splitlines()[2:]:
        file, _, rest = node.partition("::")
        name = rest.partition("[")[0].rpartition("::")[2]
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), node


def test_the_map_names_all_folders_and_fits_one_screen():
    """Those of the packages, the modules next to them, and the folders of the backends; what is in them, they say."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [row for row in re.search("## Where things are(.*?)## ", text, re.DOTALL)[1].splitlines() if row[:2] == "| "]
    assert 20 < len(rows) <= 30
    named = {word.rstrip("/").rpartition("/")[2] for row in rows for word in re.findall(r"`([\w/.]+)`", row)}
    folders = {path.parent.name for path in MODULES.values() if path.stem == "__init__"}
    modules = {path.stem for path in MODULES.values() if path.parent.parent == ROOT} - {"__init__", "__main__"}
    assert folders | modules <= named


def test_relative_imports_are_seen(tmp_path, monkeypatch):
    path = ROOT / "apsp" / "road" / "schedules" / "recursive.py"
    assert {"apsp.road.schedules.blocks", "apsp.road.schedules.blocked", "apsp.road.schedules.base"} <= imports(path)


def lazy_names() -> dict[str, dict[str, str]]:
    """The packages that load names on first use (PEP 562), and the module of each name, as type checkers are told."""
    found = {}
    for package, path in MODULES.items():
        if path.stem != "__init__":
            continue
        tree = parsed(path)
        assigned = [getattr(target, "id", "") for node in tree.body for target in getattr(node, "targets", ())]
        if "__getattr__" in assigned:
            told = [name for block in filter(is_for_type_checkers, tree.body) for name in statements_of(path, block)]
            found[package] = {name: module for module, name in told}
    return found


LAZY = lazy_names()


def named(path: Path) -> set[str]:
    """The modules that a file imports by their names: calls with literals, tables, and what is found by being there."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        texts = node.values if isinstance(node, ast.Dict) else node.args[:1] if isinstance(node, ast.Call) else []
        found.update(str(x.value) for x in texts if isinstance(x, ast.Constant) and "." in str(x.value))
        function = getattr(node, "func", None)  # of a call: a name, or an attribute of something
        called = getattr(function, "attr", getattr(function, "id", ""))
        asks = called in ("import_module", "records")
        if asks and "__name__" in ast.unparse(node) and module_name(path) not in LAZY:
            found.update(name for name in MODULES if name.rpartition(".")[0] == module_name(path))
    return found


def loads(path: Path) -> set[str]:
    """The modules that a file may load: by statements, by name, by lazy names, and packages around what it loads.

    Its own package runs before it in any case. What a package loads lazily is loaded by who imports it from there.
    """
    name, found = module_name(path), imports(path) | named(path)
    found.update(LAZY.get(module, {}).get(lazy, "") for module, lazy in statements(path))
    around = {".".join(parts[:k]) for other in found for parts in [other.split(".")] for k in range(1, len(parts))}
    found |= {package for package in around if not f"{name}.".startswith(f"{package}.")}
    return {other for other in found if other in MODULES and other != name}


def test_all_ways_to_load_a_module_are_seen():
    def of(*parts):
        return loads(ROOT.joinpath(*parts))

    assert {"semiring.kernels.cpu.bits.words", "semiring.kernels.cuda.bits.words"} <= of(
        "semiring", "dense", "bits.py"
    )  # by name; in a function
    assert {"semiring.kernels.cpu", "semiring.kernels.cpu.bits", "semiring.kernels.cuda"} <= of(
        "semiring", "dense", "bits.py"
    )  # around them
    assert "semiring.kernels.cuda.binding" in of("semiring", "kernels", "backend.py")  # in a table
    assert "apsp.road.engines.dense" in of("apsp", "road", "engines", "__init__.py")  # found by being there
    assert "semiring.stores.tiles.store" in of("apsp", "closures.py")  # TileStore of a lazy package


@cache
def all_loads() -> nx.DiGraph:
    return nx.DiGraph({name: loads(path) for name, path in MODULES.items()})


def test_no_circle_of_imports_is_left():
    circles = [sorted(part) for part in nx.strongly_connected_components(all_loads()) if len(part) > 1]
    assert not circles


@pytest.mark.parametrize("package", LAZY)
def test_names_that_a_package_loads_lazily_are_for_others(package):
    """So that they are no way by which its modules load one another."""
    for name, path in MODULES.items():
        if name.startswith(f"{package}."):
            taken = {
                lazy for module, lazy in statements(path) if module == package and f"{module}.{lazy}" not in MODULES
            }
            assert not taken & {"", *LAZY[package]}, name


def test_what_kernels_stand_on_asks_no_kernels():
    """Between them stands `BitMatrix` alone: below it the kernels on words, above it the verbs on matrices of bits."""
    graph = all_loads()
    kernels = {name for name in MODULES if name.startswith(("semiring.kernels.cpu", "semiring.kernels.cuda"))}
    below = {other for name in kernels for other in graph[name]} - kernels
    assert {name for name in below if nx.descendants(graph, name) & kernels} == {"semiring.dense.bits"}
    assert {name for name in graph.predecessors("semiring.dense.bits") if name in kernels} == {
        "semiring.kernels.cpu.bits.backend",
        "semiring.kernels.cuda.bits.backend",
    }


#: Folders of `apsp` whose folders are looked at one by one.
ROOMS = ("road", "doors", "io", "answers", "big")


def test_no_folder_of_apsp_imports_in_a_circle():
    """A folder, or a module beside them, is one vertex."""
    top = {
        name: ".".join(name.split(".")[: 3 if name.split(".")[1] in ROOMS else 2])
        for name in MODULES
        if name.startswith("apsp.")
    }
    arcs = {(top[name], top[other]) for name in top for other in imports(MODULES[name]) if other in top}
    graph = nx.DiGraph((part, other) for part, other in arcs if part != other)
    assert not [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


KERNELS = ("semiring.kernels.cpu", "semiring.kernels.cuda", "numba", "llvmlite", "cupy")


@pytest.mark.parametrize(("package", "foreign"), [("semiring", "apsp"), ("apsp", KERNELS)])
def test_semiring_knows_no_graphs_and_apsp_no_kernels(package, foreign):
    asking = {name for name, path in MODULES.items() if any(other.startswith(foreign) for other in imports(path))}
    assert [name for name in asking if name.partition(".")[0] == package] == []


@pytest.mark.parametrize("name", schedules.names())
def test_a_schedule_is_written_against_the_verbs_alone(name):
    others = {f"apsp.road.schedules.{other}" for other in ("base", *schedules.names())}
    verbs = {
        f"semiring.{name}"
        for name in ("algebra.records", "kernels.backend", "distributed", "algebra.ranges", "host.types")
    }
    allowed = {
        "__future__",
        "typing",
        "collections.abc",
        *verbs,
        "apsp.road.schedules.blocks",
        "apsp.road.schedules",
        *others,
    }
    assert imports(ROOT / "apsp" / "road" / "schedules" / f"{name}.py") <= allowed


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import apsp, semiring, semiring.dense.bits, semiring.sparse, apsp.io.graph, apsp.generate", HEAVY),
        ("from apsp import cli", (*HEAVY[:-1], "numpy")),
        (
            "import numpy, apsp\n"
            "for source in ([(0, 1, 2)], numpy.eye(2), {0: {1: 2}}, [[0, 1], [1, 0]]): apsp.as_graph(source)",
            (*HEAVY, "narwhals", "pandas", "torch", "igraph"),
        ),
        (
            "import numpy, apsp, semiring\napsp.closure(numpy.ones((2, 2)))\n"
            "semiring.einsum('ij,jk', numpy.eye(2), numpy.eye(2))",
            ("torch", "jax", "opt_einsum"),
        ),
    ],
    ids=["packages", "command", "graphs", "arrays"],
)
def test_nothing_is_loaded_that_is_not_needed(code, heavy):
    loaded = python(f"{code}\nimport sys; print(*{{m.partition('.')[0] for m in sys.modules}})").split()
    assert not set(loaded) & {*heavy}


def test_a_first_call_on_a_gpu_loads_nothing_heavy():
    """Half a second of numba would be most of it; what else it needs, it loads when it meets it."""
    code = """
import sys, numpy as np, fake_cupy, apsp
with fake_cupy.installed():
    A = sys.modules["cupy"].asarray(np.ones((100, 100), np.float32))
    apsp.closure(A), apsp.shortest_paths
    print(*sorted({m.split(".")[0] for m in sys.modules if "cupy" not in m}))
"""
    assert not {*python(code).split()} & {*HEAVY}


#: Every public module and all that it offers: a name comes, goes or changes here first.
PUBLIC = {
    "semiring": """
        AlgebraError AmbiguityWarning BitMatrix CATALOG DTypeError DeviceError DivergenceError DomainError Elimination
        FormatError MemoryNeeded NegativeCycleError NoPathError Op Semiring SemiringError ShapeError Star Variant
        VertexError add check_axioms einsum einsum_path eliminate eye get load log_plus lor_land lu matmul matvec
        max_min max_plus max_times min_max min_plus min_times outer plus_times power prod random_matrix reduce
        reliability sum transpose
    """,
    "semiring.host.errors": """
        AlgebraError AmbiguityWarning DTypeError DeviceError DivergenceError DomainError FormatError MemoryNeeded
        NegativeCycleError NoPathError SemiringError ShapeError TileError VertexError
    """,
    "semiring.sparse": "Analysis Cost Elimination Hops HubCost HubLabels Searches analyse eliminate",
    "semiring.stores.tiles": "StoredBits TileStore",
    "apsp": """
        AlgebraError AmbiguityWarning Comparison CriticalPath DTypeError DeviceError DivergenceError DomainError
        Emulation FormatError Graph MemoryNeeded NegativeCycleError NoPathError Plan Reachability RegularPaths Result
        SemiringError ShapeError VertexError as_graph check closure compare compare_sizes critical_path csgraph cycle
        emulate grid hops negative_cycle next_hops order plan predecessors progress random_graph reachable read
        road_like shortest_paths transitive_closure update write
    """,
    "apsp.csgraph": """
        NegativeCycleError bellman_ford construct_dist_matrix csgraph_from_dense csgraph_from_masked csgraph_to_dense
        dijkstra floyd_warshall johnson reconstruct_path shortest_path yen
    """,
    "apsp.io.formats": "Format check_output formats names read write written",
    "apsp.io.inputs": "Kind NAMES as_graph is_array kinds write",
    "apsp.road.schedules": "Schedule get names",
}
if find_spec("torch"):
    PUBLIC["semiring.torch"] = """
        associative_scan ctc_scores dtw edit_distance hmm_scores log_partition marginals viterbi
    """


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_those_of_the_table(name):
    module, declared = importlib.import_module(name), PUBLIC[name].split()
    if name == "semiring.host.errors":
        there = [n for n, value in vars(module).items() if isinstance(value, type) and value.__module__ == name]
    else:
        there = list(module.__all__)
        assert len(set(there)) == len(there)
        assert set(there) <= set(dir(module))
    if name == "apsp.csgraph":  # all else there is SciPy's
        scipys = importlib.import_module("scipy.sparse.csgraph")
        there = [n for n in there if n in declared or not hasattr(scipys, n)]
    assert sorted(there) == declared == sorted(declared)
    for n in declared:
        assert getattr(module, n) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = module.nonsense


#: Sections of NumPy's standard for docstrings that every public function has, and those that have no use for one.
SECTIONS = {
    "Returns": "",
    "Raises": """
        names written BitMatrix.to_edges BitMatrix.to_sparse Comparison.advice Comparison.crossover Comparison.fits
        Comparison.notes Comparison.table Comparison.to_json Hops.batch Packed.any Packed.copy Packed.diagonal
        Packed.get Searches.batch Queries.panels Queries.reduced Reachability.components Shown.text TileStore.inspect
    """,  # nothing to go wrong
    "See Also": "",
    "Notes": "",  # what it costs
    "Examples": "",
}
#: Classes of whose methods the same is asked.
CLASSES = (
    *(apsp.Comparison, apsp.CriticalPath, apsp.Graph, apsp.Reachability, apsp.RegularPaths, apsp.Result),
    *(semiring.BitMatrix, semiring.Elimination, semiring.sparse.Hops, semiring.sparse.HubLabels),
    *(semiring.sparse.Searches, TileStore),
)
#: Methods of theirs that the packages themselves call.
INNER = """
    Adjacency.pieces Adjacency.target Adjacency.windows TileStore.opened TileStore.require_closed TileStore.round
    TileStore.sync TileStore.tile_path TileStore.tiles
""".split()


def public_functions():
    """Functions of the table and methods of those classes, each once."""
    offered = {getattr(importlib.import_module(module), n) for module in PUBLIC for n in PUBLIC[module].split()}
    methods = {getattr(C, n) for C in CLASSES for n in dir(C) if not n.startswith("_") and callable(getattr(C, n))}
    functions = {*filter(inspect.isfunction, offered), *methods}
    return {f for f in functions if f.__qualname__ not in INNER}


def sections(thing) -> dict[str, str]:
    """Titles of a docstring and what stands under them."""
    _, *parts = re.split(r"\n\n([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.getdoc(thing))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def said_by_owner(function, title: str) -> bool:
    """Whether all classes that offer a method, or the module of a function, say a section for several, and name it."""
    name = function.__name__
    modules = [m for m in (sys.modules[function.__module__],) if getattr(m, name, None) == function]
    owners = [C for C in CLASSES if getattr(C, name, None) == function] or modules
    texts = [sections(C).get(title, "") for C in owners]
    if title == "See Also":
        return bool(owners) and all(re.search(rf"^[^:\n]*(?<![\w.]){name}\b[^:\n]* :", text, re.M) for text in texts)
    return bool(owners) and all(f"`{name}`" in text for text in texts)


def test_public_functions_say_what_they_return_and_raise():
    lacking = {f"{f.__module__}.{f.__qualname__}": lacks(f) for f in public_functions()}
    assert len(lacking) > 150
    assert {name: titles for name, titles in lacking.items() if titles} == {}


def lacks(function) -> list[str]:
    """Sections said nowhere: the function's own, its class's or module's; a type and a summary that name all may do."""
    there, signature = {*sections(function)}, inspect.signature(function)
    summary, returned = inspect.getdoc(function).partition("\n\n")[0], str(signature.return_annotation or "Any")
    if "Yields" in there or ("Any" not in returned and ("rray" not in returned or re.search(r"\(.*\)|array", summary))):
        there.add("Returns")
    exempt = {title for title, names in SECTIONS.items() if function.__qualname__ in names.split()}
    if all(name == "self" or re.search(rf"\b{name}\b", summary) for name in signature.parameters):
        there.add("Parameters")
    found = [t for t in {*SECTIONS} - there - exempt if not said_by_owner(function, t)]
    return [*found, *{"Parameters"} - there, *([] if ">>> " in inspect.getdoc(function) else [">>> "])]


@pytest.mark.parametrize("package", ["semiring", "apsp"])
def test_type_checkers_see_the_public_names(package):
    """What is loaded on first use is imported for them alone."""
    tree = parsed(ROOT / package / "__init__.py")
    (block,) = (n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen = [alias.asname or alias.name for n in block.body if isinstance(n, ast.ImportFrom) for alias in n.names]
    assert sorted(seen) == PUBLIC[package].split()


#: What modules of these names are for, and cannot be loaded without.
LIBRARIES = {"tensors": "torch", "sequences": "torch", "torch": "torch", "tracers": "jax"}


def test_docstring_examples_run():
    import doctest

    tried = 0
    for name in sorted(MODULES):
        library = LIBRARIES.get(name.rpartition(".")[2])
        if {"cuda", "__main__"} & {*name.split(".")} or (library and not find_spec(library)):
            continue
        module = importlib.import_module(name)
        result = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 10


def of_csr(A):
    """All pairs by csgraph of a CSR matrix, four arcs a vertex."""
    import scipy.sparse

    A = A.copy()
    A[A > np.quantile(A, 4 / len(A))] = 0
    apsp.csgraph.shortest_path(scipy.sparse.csr_array(A))


@pytest.mark.parametrize(
    ("call", "calls", "changes"),
    [(apsp.closure, 102, 34), (apsp.shortest_paths, 121, 47), (of_csr, 242, 138)],
    ids=["closure", "shortest_paths", "csgraph"],
)
def test_the_road_stays_short(call, calls, changes, monkeypatch):
    """Calls of Python, and steps from file to file, of a warm call: what is built next must not make the road longer.

    Asking the system for free memory is left out, which takes more steps the more control groups there are.
    """
    for module in ("semiring.host.memory", "apsp.road.question", "apsp.road.repeated"):
        monkeypatch.setattr(f"{module}.granted", lambda needed, device="cpu": True)
    monkeypatch.setenv("SEMIRING_NUM_THREADS", "2")
    A = np.random.default_rng(0).random((300, 300)) + 0.1
    call(A)
    steps: list[str] = []
    root = str(ROOT)

    def count(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith((f"{root}/apsp", f"{root}/semiring")):
            steps.append(name)

    call(A)
    sys.setprofile(count)
    try:
        call(A)
    finally:
        sys.setprofile(None)
    assert len(steps) <= calls
    assert sum(here != there for here, there in pairwise(steps)) <= changes


#: Figures that a change may lower. One that rises is raised here by a commit that says what was bought.
RATCHETS = {
    "lines of the packages": 88594,
    "files of more than 500 lines": 0,
    "Any": 1400,
    "functions of more than 12 parameters": 6,
    "entries of semiring": 10,
    "entries of apsp": 9,
    "constants of time": 94,
}


def figures() -> dict[str, int]:
    """The ratchets' figures today."""
    sources = [p for p in (*ROOT.glob("semiring/**/*"), *ROOT.glob("apsp/**/*")) if p.suffix in SOURCES]
    sizes = [len(path.read_text(encoding="utf-8").splitlines()) for path in sources]
    trees = {name: parsed(path) for name, path in MODULES.items()}
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    wide = [
        name
        for name, node in nodes
        if isinstance(node, ast.FunctionDef) and not name.startswith("semiring.kernels.")
        if len(node.args.args) + len(node.args.kwonlyargs) + len(node.args.posonlyargs) > 12
    ]
    timed = [name for name, node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, float)]
    marks = ("__pycache__", "__init__.py", "__main__.py", "py.typed")
    entries = {p: sum(path.name not in marks for path in (ROOT / p).iterdir()) for p in ("semiring", "apsp")}
    return {
        "lines of the packages": sum(sizes),
        "files of more than 500 lines": sum(size > 500 for size in sizes),
        "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for _, node in nodes),
        "functions of more than 12 parameters": len(wide),
        "entries of semiring": entries["semiring"],
        "entries of apsp": entries["apsp"],
        "constants of time": sum(name.startswith(("apsp.road.estimates", "apsp.road.engines")) for name in timed),
    }


#: Suffixes of what is counted in lines.
SOURCES = {".py", ".cu", ".cuh", ".inl", ".h", ".cpp", ".html"}


def test_nothing_grows_without_a_word():
    assert {name: found for name, found in figures().items() if found > RATCHETS[name]} == {}


def test_former_names_of_modules_are_found():
    import semiring.bits
    import semiring.errors
    from apsp.formats.csv import FORMAT
    from semiring.cpu.dense import backend

    assert semiring.bits.BitMatrix is semiring.BitMatrix
    assert semiring.errors is sys.modules["semiring.host.errors"]
    assert FORMAT is importlib.import_module("apsp.io.formats.csv").FORMAT
    assert backend is sys.modules["semiring.kernels.cpu.dense.backend"]
    for former, now in (("sparse.lazy", "sparse.paths"), ("host.cgroups", "host.memory"), ("cgroups", "host.memory")):
        assert importlib.import_module(f"semiring.{former}") is sys.modules[f"semiring.{now}"]
    with pytest.raises(ModuleNotFoundError, match=r"semiring\.nonsense"):
        importlib.import_module("semiring.nonsense")


def test_a_pickle_of_a_former_name_is_read():
    """The classes that results and stores are pickled with, by the modules in which they were."""
    import pickle

    former = [("semiring.bits", "BitMatrix"), ("apsp.result", "Result"), ("apsp.graph", "Graph")]
    joined = [("apsp.io.places.snapping", "Snapping"), ("apsp.places.snapping", "Snapping")]
    joined += [("semiring.distributed.matrix", "LocalMatrix"), ("apsp.padding", "closed_together")]
    joined += [("apsp.engines.saved", "Saved"), ("apsp.road.engines.labelled", "Labelled")]
    for module, name in (*former, *joined, ("apsp.road.engines.elimination", "Eliminated")):
        assert pickle.loads(f"c{module}\n{name}\n.".encode()) is getattr(importlib.import_module(module), name)
