"""Mutants: faults that somebody could make, one edit each, and the test that must notice each.

    python -m tests.mutants                     # all of them
    python -m tests.mutants --only checkpoint   # those whose area or name has this in it

A module here is an area, with a list `MUTANTS`; it is found by being there. A mutant is drawn by the classic operators:
a bound off by one, a comparison turned, an argument swapped, a statement or a check dropped, least for greatest. It is
not drawn because a test is there; where none notices it, the test is what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

ROOT = Path(__file__).parents[2]
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


def table() -> dict[str, list[Mutant]]:
    """The mutants of each area."""
    areas = sorted(module.name for module in iter_modules(__path__))
    modules = {area: import_module(f"{__name__}.{area}") for area in areas if area not in ("__main__", "campaign")}
    return {area: module.MUTANTS for area, module in modules.items()}
