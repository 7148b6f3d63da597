"""Mutants: faults that somebody could make, one edit each, and the test that must notice each.

    python -m tests.mutants                     # all of them
    python -m tests.mutants --only checkpoint   # those whose area or name has this in it

A file `*.edits` here is an area; it is found by being there. After a line that says what it is about come the files
that are edited, and the mutants of each, as a patch shows them:

    ## semiring/a_file.py
    name-of-the-mutant: What it breaks, in a sentence.
      tests/test_x.py::test_that_must_notice
    - the text that is replaced: it occurs once, or its number follows the name: name (2)
    + what replaces it; several lines, or none

A mutant is drawn by the classic operators: a bound off by one, a comparison turned, an argument swapped, a statement or
a check dropped, least for greatest. It is not drawn because a test is there; where none notices it, the test is what is
missing. Where none can, the line `  equivalent: why` follows its test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: A mutant in a file of edits.
_RECORD = re.compile(
    r"(?P<name>[\w-]+)(?: \((?P<nth>\d+)\))?: (?P<breaks>.+)\n  (?P<test>tests/.+)\n"
    r"(?:  equivalent: (?P<equivalent>.+)\n)?(?P<old>(?:-.*\n)+)(?P<new>(?:\+.*\n)*)\n*"
)
#: Of those that can be noticed, how many must be.
LEAST = 0.95


@dataclass(frozen=True)
class Mutant:
    """One edit.

    Attributes
    ----------
    name : str
        Unique; begins with its area.
    file : str
        From the root of the repository.
    old, new : str
        The text that is replaced, and by what.
    test : str
        What must notice, as pytest names it: "tests/test_x.py::test_y", with "[case]" where one case is enough.
    breaks : str
        What it breaks, in a sentence.
    nth : int
        Which occurrence of `old` is meant, from 1; where it is 0, there is but one.
    equivalent : str
        Why no test can notice it; empty where one can.
    """

    name: str
    file: str
    old: str
    new: str
    test: str
    breaks: str
    nth: int = 0
    equivalent: str = ""

    def applied(self, text: str) -> str:
        """The text of the file with the edit.

        Raises
        ------
        ValueError
            If the old text does not stand there, or not once.
        """
        count = text.count(self.old)
        if (count != 1 and not self.nth) or count < self.nth or self.old == self.new:
            raise ValueError(
                f"{self.name}: an old text that differs from the new one and occurs once in {self.file}, or a number "
                f"of its occurrences, is required, got {count} of {self.old!r}. Bring the table up to date."
            )
        start = -1
        for _ in range(max(1, self.nth)):
            start = text.index(self.old, start + 1)
        return text[:start] + self.new + text[start + len(self.old) :]


def read(text: str) -> list[Mutant]:
    """The mutants of an area, by the text of its file.

    Raises
    ------
    ValueError
        If a part of the text is no mutant.
    """
    found, (_, *files) = [], re.split(r"^## ", text, flags=re.MULTILINE)
    for file, _, rest in (part.partition("\n") for part in files):
        while rest:
            if not (record := _RECORD.match(rest)):
                raise ValueError(f"a mutant of {file} is required, got {rest.splitlines()[:3]}.")
            name, nth, breaks, test, equivalent, *sides = record.groups(default="")
            old, new = ("\n".join(line[2:] for line in side.splitlines()) for side in sides)
            found.append(Mutant(name, file, old, new, test, breaks, int(nth or 0), equivalent))
            rest = rest[record.end() :]
    return found


def table() -> dict[str, list[Mutant]]:
    """The mutants of each area."""
    files = sorted(Path(__file__).parent.glob("*.edits"))
    return {file.stem: read(file.read_text(encoding="utf-8")) for file in files}
