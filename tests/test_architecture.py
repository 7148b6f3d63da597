"""The rules that keep the house in order: who imports whom, and how little an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from apsp import schedules

ROOT = Path(__file__).parents[1]
HEAVY = ("numba", "llvmlite", "cupy", "networkx", "scipy", "matplotlib", "rich", "click")


def module_name(path: Path) -> str:
    """apsp/formats/csv.py → apsp.formats.csv."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for package in ("semiring", "apsp") for path in (ROOT / package).rglob("*.py")}


def imports(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it, relative ones by their full names."""
    package = module_name(path).split(".")
    if path.stem != "__init__":
        package = package[:-1]
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:  # `from . import x` means the module x where there is one
                found.add(f"{module}.{alias.name}" if f"{module}.{alias.name}" in MODULES else module)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def test_relative_imports_are_seen(tmp_path, monkeypatch):
    path = ROOT / "apsp" / "schedules" / "recursive.py"
    assert {"apsp.blocks", "apsp.schedules.blocked", "apsp.schedules.base"} <= imports(path)


def test_no_circle_of_imports_is_left():
    graph = nx.DiGraph([(name, other) for name, path in MODULES.items() for other in imports(path) if other in MODULES])
    circles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert not circles


@pytest.mark.parametrize("path", sorted((ROOT / "semiring").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_semiring_knows_no_graphs(path):
    assert not any(name.split(".")[0] == "apsp" for name in imports(path))


@pytest.mark.parametrize("path", sorted((ROOT / "apsp").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_apsp_knows_no_kernels(path):
    kernels = ("semiring.cpu", "semiring.cuda", "numba", "llvmlite", "cupy")
    assert not any(name.startswith(kernels) for name in imports(path))


@pytest.mark.parametrize("name", schedules.names())
def test_a_schedule_is_written_against_the_verbs_alone(name):
    others = {f"apsp.schedules.{other}" for other in ("base", *schedules.names())}
    allowed = {"__future__", "typing", "semiring.algebra", "semiring.backend", "apsp.blocks", "apsp.schedules", *others}
    assert imports(ROOT / "apsp" / "schedules" / f"{name}.py") <= allowed


@pytest.mark.parametrize("package", ["apsp", "semiring"])
def test_importing_a_package_loads_nothing_heavy(package):
    code = f"import sys, {package}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & set(HEAVY)


def test_public_names_exist():
    import apsp
    import semiring

    for package in (apsp, semiring):
        for name in package.__all__:
            assert getattr(package, name) is not None
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = package.nonsense


def test_docstring_examples_run():
    import doctest
    import importlib

    import numpy as np

    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in ("semiring", "apsp")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "cuda" not in path.relative_to(ROOT).parts and path.stem != "__main__"
    ]
    tried = 0
    for name in names:
        module = importlib.import_module(name)
        result = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 10
