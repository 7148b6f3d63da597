"""Every block of code in README and docs runs as it is printed, in a copy of what they name.

A block that installs or measures, and so takes minutes, says so above itself in a comment that readers of the page do
not see; `.ci/run` and `.ci/release` run those.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pytest
from processes import ROOT
from test_cli import good

sybil = pytest.importorskip("sybil", reason="sybil is not installed; it comes with the extra `test`")
from sybil import Document, Example, Region  # noqa: E402 (skipped above where it is missing)
from sybil.parsers.markdown import CodeBlockParser, SkipParser  # noqa: E402 (skipped above where it is missing)

#: Pages whose blocks run among the examples; those of all others run in the repository's root.
AMONG_EXAMPLES = ("docs/cli.md", "docs/stores.md")
#: The page whose blocks are quotes; and a quote: whose name, in which file, the lines.
QUOTES = "docs/library-in-300-lines.md"
#: All other pages that have blocks to run.
PAGES = [
    name
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if (name := path.relative_to(ROOT).as_posix()) != QUOTES
    and re.search(r"^```(python|sh|)\n", path.read_text(encoding="utf-8"), re.MULTILINE)
]
_QUOTE = re.compile(r"^\*\*`([\w.:]+)`\*\* in `([\w.]+)`\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: A block of commands, each after a dollar sign, and what they print.
_SESSION = re.compile(r"^```\n(\$ .*?)^```", re.MULTILINE | re.DOTALL)
#: Figures that differ from run to run.
_MEASURED = re.compile(r"(seconds|rate)=\S+")


def python(example: Example) -> None:
    """Run it. Where a comment beside an expression is a value, the expression must have it."""
    tree = ast.parse(str(example.parsed))
    lines = str(example.parsed).splitlines()
    for statement in tree.body:
        code = ast.Module([statement], [])
        if not isinstance(statement, ast.Expr):
            exec(compile(code, example.path, "exec"), example.namespace)
            continue
        came = eval(compile(ast.Expression(statement.value), example.path, "eval"), example.namespace)
        _, _, comment = lines[(statement.end_lineno or 1) - 1].partition("# ")
        try:
            printed = eval(comment, {"array": np.array, **vars(np)})
        except (SyntaxError, NameError):
            continue  # a remark
        np.testing.assert_equal(came, printed, err_msg=f"{example.path}:{example.line}: {comment}")


def shell(example: Example) -> None:
    run(str(example.parsed))


def session(example: Example) -> None:
    for part in re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        came = run(command)
        if printed.strip():
            assert _MEASURED.sub(r"\1=", came) == _MEASURED.sub(r"\1=", printed), f"{example.path}: {command}"


def run(commands: str) -> str:
    """Standard output of shell commands; commands of `apsp` without pipes run in this process, without its start."""
    lines = commands.replace(" && ", "\n").splitlines()
    if len(lines) > 1 and "\n" not in commands.strip() and not re.match("cd |set |export ", lines[0]):
        return "".join(map(run, lines))
    if all(re.fullmatch(r"(\.venv/bin/)?apsp [^&|<>;$*]*", line) for line in lines):
        return "".join(good(*shlex.split(line, comments=True)[1:]) for line in lines)
    environment = {**os.environ, "PATH": f"{Path('.venv/bin').absolute()}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-eu", "-c", commands], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
    return done.stdout


def sessions(document: Document):
    for match in _SESSION.finditer(document.text):
        yield Region(match.start(), match.end(), match[1], session)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """What the pages name, and a virtual environment's folder whose programs are those at work here."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, arguments in (("python", ""), ("apsp", "-m apsp")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    (tmp_path / "examples" / ".venv").symlink_to(tmp_path / ".venv")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_as_printed(page, clone, monkeypatch):
    monkeypatch.chdir(clone / "examples" if page in AMONG_EXAMPLES else clone)
    parsers = [SkipParser(), CodeBlockParser("python", python), CodeBlockParser("sh", shell), sessions]
    document = Document((ROOT / page).read_text(encoding="utf-8"), str(ROOT / page))
    for parser in parsers:
        for region in parser(document):
            document.add(region)
    for example in document.examples():
        try:
            example.evaluate()
        except SkipTest:
            continue


def definitions(name: str, file: str) -> Iterator[list[str]]:
    """The lines of what has this name, in every file of that name in the packages; of C++ all lines of the file."""
    for path in (found for package in ("semiring", "apsp") for found in (ROOT / package).rglob(file)):
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            yield text.splitlines() if re.search(rf"\b{name.rpartition(':')[2]}\b", text) else []
            continue
        nodes: list[Any] = [ast.parse(text)]
        for part in name.split("."):
            inside = [node for outer in nodes for node in outer.body]
            nodes = [
                n for n in inside if part in [getattr(n, "name", ""), *map(ast.unparse, getattr(n, "targets", []))]
            ]
        for node in nodes:
            first = min(n.lineno for n in (node, *getattr(node, "decorator_list", [])))
            yield text.splitlines()[first - 1 : node.end_lineno]


def is_quoted(block: str, lines: list[str]) -> bool:
    """Whether the block's parts, between lines of `# …`, stand there one after the other."""
    there, at = [line.strip() for line in lines], 0
    for part in re.split(r"^ *(?:#|//) …\n", block, flags=re.MULTILINE):
        wanted = [line.strip() for line in part.splitlines()]
        ends = [i + len(wanted) for i in range(at, len(there)) if there[i : i + len(wanted)] == wanted]
        if not ends:
            return False
        at = ends[0]
    return True


def test_quotes_are_the_source():
    text = (ROOT / QUOTES).read_text(encoding="utf-8")
    quotes = _QUOTE.findall(text)
    assert len(quotes) == text.count("\n```\n") > 20
    for name, file, block in quotes:
        assert any(is_quoted(block, lines) for lines in definitions(name, file)), f"{name} in {file}"
    lines = sum(line.strip() not in ("# …", "// …") for *_, block in quotes for line in block.splitlines())
    assert 200 < lines <= 300


def test_scripts_and_pages_name_files_that_are_there():
    pages = [
        *filter(Path.is_file, (ROOT / ".ci").iterdir()),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").glob("*.sh"),
    ]
    pages += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", "tests/run.sh")]
    suffixes = r"\.(?:py|sh|md|txt|json|png|csv|gr|named)(?:\.gz)?\b"
    named = r"(?<![\w/])(?:tests|benchmarks|docs|examples|apsp|semiring)/[\w/.-]+" + suffixes
    found = {(page.name, name) for page in pages for name in re.findall(named, page.read_text(encoding="utf-8"))}
    assert len(found) > 30
    assert {(page, name) for page, name in found if not (ROOT / name).exists()} == set()


def anchors(page: Path) -> set[str]:
    """What GitHub calls a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_to_headings_that_are_there():
    pages, followed = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], 0
    for page in pages:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
            file, _, anchor = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), f"{page.name}: {link}"
            outside = target.suffix == ".md" and "docs" not in target.resolve().relative_to(ROOT).parts
            assert not outside or page.parent == ROOT, f"{page.name}: {link} is no page of the site"
            assert not anchor or anchor in anchors(target), f"{page.name}: {link}"
            followed += 1
    assert followed > 50


def test_every_hint_names_packages_that_pip_installs():
    """This distribution is on no index, so a hint names what is missing itself: one of the extras' packages."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    known = {re.split(r"[^\w-]", wanted)[0] for extra in extras.values() for wanted in extra if "[" not in wanted}
    sources = [
        path.read_text(encoding="utf-8") for folder in ("apsp", "semiring") for path in (ROOT / folder).rglob("*.py")
    ]
    assert not any(re.search("(?<!`)pip install", text) for text in sources)  # quotes say where a command ends
    named = [
        package for text in sources for hint in re.findall("`pip install ([^`]*)`", text) for package in hint.split()
    ]
    named = {package for package in named if "{" not in package}  # by the name that is imported
    named |= {module for text in sources for module in re.findall(r'optional\(f?"(\w+)', text)}
    assert {"zarr", "networkx", "matplotlib", "pandas", "mpi4py", "pymetis", "cupy-cuda13x"} <= named <= known
    assert {"networkx", "pydot"} <= known
