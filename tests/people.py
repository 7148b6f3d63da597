"""Graphs that people have: those that the repository carries, and larger ones where they lie beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
#: Not part of the repository. Tests must not need it: what lies there is tried besides.
BESIDE = ROOT.parent / "shared" / "data"


def graphs(own: str, *others: str) -> list[Path]:
    """A file of examples/, and those of the others that are there."""
    return [EXAMPLES / own, *(BESIDE / other for other in others if (BESIDE / other).is_file())]


DIMACS = graphs("roads.gr", "dimacs/rome99.gr")
SNAP = graphs("votes.txt", "snap/wiki-Vote.txt")
LUXEMBOURG = BESIDE / "osm-luxembourg/luxembourg.gr.gz"
