"""Graphs that people have: files, of the repository or where they lie beside it; objects of other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

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


class Exported:
    """An array that is one by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def in_dicts(edges):
    return {u: {v: data for tail, v, data in edges if tail == u} for u in {u: 0 for u, _, _ in edges}}


def in_igraph(edges):
    names = sorted({x for u, v, _ in edges for x in (u, v)})
    held = {key: [data.get(key) for _, _, data in edges] for key in {k for _, _, data in edges for k in data}}
    place = [(names.index(u), names.index(v)) for u, v, _ in edges]
    igraph = pytest.importorskip("igraph")
    return igraph.Graph(len(names), place, directed=True, vertex_attrs={"name": names}, edge_attrs=held)


def in_rustworkx(edges):
    G = pytest.importorskip("rustworkx").PyDiGraph()
    place = {name: G.add_node(name) for name in sorted({x for u, v, _ in edges for x in (u, v)})}
    G.add_edges_from([(place[u], place[v], data) for u, v, data in edges])
    return G
