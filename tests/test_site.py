"""The site's pages without building it: a stranger's way to answers, the table of contents, pictures, notebooks.

`sh docs/build.sh` builds it, and tests/test_browser.py looks at it in a browser; both are part of a release.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import notebooks
import pytest
from processes import ROOT
from test_architecture import PUBLIC

DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb", ".rst")
}
PAGES = {name: path for name, path in PAGES.items() if not name.startswith(("api/generated/", "_templates/"))}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in PAGES.items()}


def resolved(page: str, target: str) -> str:
    return (DOCS / page).parent.joinpath(target).resolve().relative_to(ROOT).as_posix().removeprefix("docs/")


def links(page: str) -> set[str]:
    """The pages that a page's own text leads to."""
    found = re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#\s]+)[^)]*\)", TEXTS[page])
    return {resolved(page, target) for target in found} & PAGES.keys()


def contents() -> set[str]:
    """The pages that the tables of contents list, from the front page on."""
    found, ahead = {"index.md"}, ["index.md"]
    while ahead:
        page = ahead.pop()
        for block in re.findall(r"^```{toctree}\n(.*?)^```", TEXTS[page], re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    (name,) = [n for n in PAGES if n.rpartition(".")[0] == resolved(page, line)]
                    ahead += [name] if name not in found else []
                    found.add(name)
    return found


def test_every_page_is_in_the_table_of_contents():
    assert set(PAGES) == contents()


#: Questions of strangers, and the page that answers each.
QUESTIONS = {
    "What is this, in one sentence?": "index.md",
    "How do I install it, and how long does that take?": "five-minutes.md",
    "How do I get a distance and a path from a list of edges?": "five-minutes.md",
    "Which files can it read?": "cli.md",
    "How do I get a table of travel times between my stops?": "travel-times.md",
    "What is nearest to each place, and how far?": "isochrones.md",
    "What happens if I close a road?": "what-if.md",
    "Which street or vertex is most important?": "streets.md",
    "When can each task of my project start?": "projects.md",
    "Why does A depend on B?": "dependencies.md",
    "Which way is the widest, or the most reliable?": "widest.md",
    "My matrix has zeros. Are they edges?": "conventions.md",
    "Why is this inf, or 2147483647?": "questions.md",
    "Why is the first call slow?": "questions.md",
    "How large a graph can my laptop, or my GPU, take?": "engines.md",
    "How fast is it, measured how?": "measurements.md",
    "I use SciPy or NetworkX. What do I change?": "coming-from.md",
    "How do I use my GPU, or several?": "scale.md",
    "My matrix does not fit in memory.": "stores.md",
    "How can I check that the answer is right?": "routes.md",
    "Will I get the same numbers tomorrow, and elsewhere?": "conventions.md",
    "How does it work?": "how-it-works.md",
    "What does this function return and raise, and what does it cost?": "api/index.rst",
    "Does it run on Windows, macOS, ARM, my Python?": "platforms.md",
    "How do I cite it, and what may change in the next version?": "versions.md",
}


def test_a_strangers_questions_are_answered_within_two_clicks():
    one = links("index.md")
    two = one.union({"index.md"}, *map(links, one))
    assert {question: page for question, page in QUESTIONS.items() if page not in two} == {}


def test_the_reference_has_every_public_name():
    listed = set(re.findall(r"^   ([\w.]+)$", TEXTS["api/index.rst"], re.MULTILINE))
    last = {name.rpartition(".")[2] for name in listed} | {"CATALOG", "csgraph"}
    missing = {f"{module}.{name}" for module, names in PUBLIC.items() for name in names.split() if name not in last}
    assert missing == set()


def test_pictures_are_there_are_shown_and_say_what_they_show():
    shown = set()
    for page, text in TEXTS.items():
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text):
            assert len(words) > 15, f"{page}: {target} has no text that says what it shows"
            assert (DOCS / resolved(page, target)).is_file(), f"{page}: {target}"
            shown.add(resolved(page, target))
    assert {f"pictures/{path.name}" for path in (DOCS / "pictures").glob("*.png")} == shown
    for page, text in TEXTS.items():
        drawn = {f"pictures/{name}" for name in re.findall(r'(?:save=|savefig\()"([\w-]+\.png)"', text)}
        assert drawn <= shown | {"pictures/map.png"}, page


@pytest.mark.parametrize("name", sorted(name for name in PAGES if name.endswith(".ipynb")))
def test_a_notebook_prints_what_it_shows(name, monkeypatch):
    pytest.importorskip("matplotlib", reason="notebooks draw; matplotlib comes with the extra `plot`")
    path, ran = PAGES[name], 0
    monkeypatch.chdir(path.parent)
    for cell, found in notebooks.cells(json.loads(TEXTS[name])):
        assert notebooks.texts(found) == notebooks.texts(cell["outputs"]), "".join(cell["source"])
        drawn = any("image/png" in output.get("data", {}) for output in found)
        assert drawn == ("mystnb" in cell["metadata"])  # the words for who does not see the picture
        ran += 1
    assert ran >= 5


def test_what_makes_the_pictures_names_what_is_there():
    sys.path.insert(0, str(DOCS / "pictures"))
    try:
        import how
    finally:
        sys.path.remove(str(DOCS / "pictures"))
    assert all((DOCS / "pictures" / f"{name}.png").is_file() for name in how.FIGURES)
    A = how.np.random.default_rng(0).integers(1, 9, (8, 8)).astype(float)
    D, steps = A.copy(), []
    how.star(D, lambda text, where: steps.append(text))
    assert steps[0] == "A11 ← A11*" and len(steps) == 8  # noqa: PT018 (one fact)
    for k in range(8):
        A = how.np.minimum(A, A[:, k : k + 1] + A[k])
    how.np.fill_diagonal(A, 0)
    how.np.testing.assert_array_equal(D, A)


def test_no_stray_files_are_among_the_pages():
    files = [path for path in Path(DOCS).rglob("*") if path.is_file() and not {"generated", "ledger"} & {*path.parts}]
    assert {path.suffix for path in files} <= {".md", ".rst", ".ipynb", ".png", ".svg", ".css", ".py", ".sh", ".pyc"}
