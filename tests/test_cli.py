"""The command `apsp`: every command and option, plain output, exit codes, bad input, files that appear whole."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cases
import click
import numpy as np
import pytest
import scipy.sparse.csgraph
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from processes import PATIENCE, finish, python, start, wait_for

from apsp.answers.result import shortest_paths
from apsp.doors import cli
from apsp.doors.cli import exit_codes
from apsp.generate import road_like
from apsp.io import formats
from apsp.io.display import terminal
from apsp.io.inputs import as_graph, write
from apsp.io.reading.positions import read_positions
from apsp.road import schedules
from apsp.road.warming import SORTS
from semiring import load
from semiring.kernels.backend import cuda_available

ROOT = Path(__file__).parents[1]


def apsp(*arguments: object) -> Result:
    """The command in this process; an unexpected exception is raised."""
    result = CliRunner().invoke(cli.main, [str(a) for a in arguments], prog_name="apsp")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def good(*arguments: object) -> str:
    result = apsp(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def bad(code: int, *arguments: object) -> str:
    """The one line that an expected error prints."""
    result = apsp(*arguments)
    assert result.exit_code == code
    assert result.stderr.startswith("apsp: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def process(*arguments: object, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "apsp", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def six(tmp_path) -> Path:
    path = tmp_path / "six.named"
    path.write_text(cases.SIX_NAMED)
    return path


@pytest.fixture
def two(tmp_path) -> Path:
    """Two parts, an edge each, and labels with a gap."""
    path = tmp_path / "two.csv"
    path.write_text("source,target,weight,lanes\n10,20,0.1,7\n30,40,2.5,9\n")
    return path


@pytest.fixture
def negative(tmp_path) -> Path:
    path = tmp_path / "negative.csv"
    path.write_text("source,target,weight\nA,B,1\nB,A,-2\n")
    return path


# solve


def test_solve_prints_the_table_of_the_teaching_program(six):
    lines = good("solve", six).splitlines()
    assert lines[0].split() == list("ABCDEF")
    assert lines[3].split() == ["C", "7", "11", "0", "6", "5", "4"]
    facts = dict(part.split("=") for part in lines[-1].split())
    assert {k: facts[k] for k in ("n", "edges", "semiring", "dtype", "device")} == {
        "n": "6",
        "edges": "14",
        "semiring": "min_plus",
        "dtype": "int32",
        "device": "cpu",
    }
    assert float(facts["rate"]) > 0


def test_solve_prints_ten_vertices_of_more(tmp_path):
    good("generate", "cycle", 12, "--output", tmp_path / "c.gr")
    lines = good("solve", tmp_path / "c.gr").splitlines()
    assert lines[0].split() == [str(k) for k in range(1, 11)]
    assert lines[11] == "(the first 10 of 12 vertices)"


def test_solve_from_to_prints_distance_and_path(six):
    assert good("-q", "solve", six, "--from", "A", "--to", "C") == "distance 8\npath A -> D -> C\n"
    assert good("-q", "solve", six, "--from", "A", "--to", "A") == "distance 0\npath A\n"


def test_solve_prints_the_paths_of_pairs(six, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("from,to\nA,C\nF,A\nB,B\n")
    printed = good("-q", "solve", six, "--paths", pairs).splitlines()
    assert [line.split(maxsplit=3) for line in printed] == [
        ["from", "to", "distance", "path"],
        ["A", "C", "8", "A -> D -> C"],
        ["F", "A", "3", "F -> E -> A"],
        ["B", "B", "0", "B"],
    ]
    pairs.write_text("A C\nA Z\n")
    assert "pairs.csv:2" in bad(2, "solve", six, "--paths", pairs)
    pairs.write_text("X Z\nA C\n")  # a mistake, and no header
    assert "pairs.csv:1" in bad(2, "solve", six, "--paths", pairs)
    pairs.write_text("A C F\n")
    assert "two labels" in bad(2, "solve", six, "--paths", pairs)


def test_solve_writes_predecessors_and_verifies(six, tmp_path):
    out = tmp_path / "p.npy"
    printed = good("-q", "solve", six, "--from", "A", "--to", "C", "--predecessors", out, "--verify")
    assert "verified: D = I ⊕ D ⊗ A holds exactly, in all 6 rows; each of the 30 paths" in printed
    P = np.load(out)
    assert P.dtype == np.int32
    assert P[0].tolist() == [-9999, 0, 3, 0, 0, 3]
    bad(2, "solve", six, "--predecessors", tmp_path / "p.doc")


def test_solve_writes_next_hops_by_which_a_path_is_walked_by_hand(six, tmp_path):
    out = tmp_path / "hops.csv"
    good("-q", "solve", six, "--next-hops", out)
    lines = [line.split(",") for line in out.read_text().splitlines()]
    after = {name: dict(zip(lines[0][1:], map(int, cells), strict=True)) for name, *cells in lines[1:]}
    for target in "BCDEF":
        walk = ["A"]
        while walk[-1] != target:
            walk.append("ABCDEF"[after[walk[-1]][target]])
        weight = {(u, v): w for u, v, w in cases.SIX_EDGES}
        total = sum(weight[step] for step in itertools.pairwise(walk))
        assert f"distance {total}\n" in good("-q", "solve", six, "--from", "A", "--to", target)
    result = apsp("solve", six, "--next-hops", out, "--predecessors", out)
    assert (result.exit_code, "got one twice" in result.stderr) == (2, True)
    assert apsp("solve", six, "--next-hops", out, "--limit", 5).exit_code == 2


def test_solve_from_or_to_alone_prints_all_distances(six):
    lines = good("-q", "solve", six, "--from", "C").splitlines()
    assert [line.split() for line in lines[1:]] == [
        [label, str(d)] for label, d in zip("ABCDEF", (7, 11, 0, 6, 5, 4), strict=True)
    ]
    lines = good("-q", "solve", six, "--to", "C").splitlines()
    assert lines[1].split() == ["A", "8"]


def test_no_path_is_the_answer_no(two):
    result = apsp("-q", "solve", two, "--from", "10", "--to", "40")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "distance inf\npath none\n", "")


def test_labels_are_text_and_floats_print_short(two):
    assert good("-q", "solve", two, "--from", "10", "--to", "20", "--dtype", "float32").startswith("distance 0.1\n")


def test_undirected_and_weight_column(two):
    assert good("-q", "solve", two, "--from", "20", "--to", "10", "--undirected").startswith("distance 0.1\n")
    assert good("-q", "solve", two, "--from", "10", "--to", "20", "--weight", "lanes").startswith("distance 7\n")


OWN = """
from semiring import Op, Semiring
fuzzy = Semiring(
    "fuzzy",
    add=Op("top", python=lambda a, b: a if a > b else b, cuda="max(a, b)", simd="max"),
    mul=Op("bottom", python=lambda a, b: a if a < b else b, cuda="min(a, b)", simd="min"),
    zero=0, one=1, domain=(0, 1), samples=(0, 0.25, 0.5, 1),
)
crisp = Semiring("crisp", add=fuzzy.add, mul=fuzzy.mul, zero=0, one=1, domain=(0, 1), samples=(0, 1))
"""


@pytest.mark.usefixtures("short_runs")
def test_a_semiring_of_ones_own_from_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "g.csv").write_text("from,to,weight\na,b,0.5\nb,c,0.25\n")
    mine, graph = f"{tmp_path}/mine.py:fuzzy", tmp_path / "g.csv"
    assert load(Path(mine)).name == "fuzzy"
    text = good("-q", "solve", graph, "--semiring", mine, "--from", "a", "--to", "c")
    assert text == "distance 0.25\npath a -> b -> c\n"
    graph.write_text("from,to,weight\na,b,0.5\nb,c,0\n")
    assert good("-q", "reach", graph, "--from", "a") == "b\nc\n"
    assert good("-q", "reach", graph, "--from", "a", "--semiring", mine) == "b\n"
    assert "over fuzzy" in good("plan", 100, "--semiring", mine)
    assert "over fuzzy" in good("compare", "--sizes", 8, "--semiring", mine, "--device", "cpu")


def test_a_file_without_the_semiring_says_what_it_has(tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(OWN)
    for name in ("", ":nothing"):
        assert "It declares fuzzy, crisp" in bad(2, "plan", 9, "--semiring", f"{own}{name}")
    assert "none.py: a Python file" in bad(2, "plan", 9, "--semiring", f"{tmp_path}/none.py:x")
    own.write_text("1 / 0")
    assert "ZeroDivisionError" in bad(2, "plan", 9, "--semiring", f"{own}:x")
    own.write_text(OWN.replace('cuda="max(a, b)"', 'cuda="max(a, b"'))
    assert "C++ expression" in bad(2, "plan", 9, "--semiring", f"{own}:fuzzy")


@pytest.mark.parametrize(
    ("arguments", "incomplete", "offered"),
    [
        (["solve", "--semiring"], "bot", ["bottleneck"]),
        (["solve", "--schedule"], "", ["auto", *schedules.names()]),
        (["compare", "--schedule"], "r", ["recursive"]),
        (["reach", "--format"], "di", ["dimacs"]),
        (["convert", "--to-format"], "np", ["npy", "npz"]),
        (["convert", "--from-format"], "g", ["geojson", "graph6", "gexf", "gml", "graphml"]),
        (["convert", "--to-format"], "g", []),
        (["generate", "cycle", "--format"], "p", ["plain"]),
        (["solve", "--dtype"], "float", ["float32", "float64"]),
    ],
)
def test_a_shell_completes_names(arguments, incomplete, offered):
    completer = ShellComplete(cli.main, {}, "apsp", "_APSP_COMPLETE")
    assert [item.value for item in completer.get_completions(arguments, incomplete)] == offered


def test_formats_that_are_only_read_are_not_offered_for_output():
    for command in (["convert"], ["generate", "grid"]):
        text = good(*command, "--help").split("--to-format" if command == ["convert"] else "--format")[1]
        assert "|metis|" in text
        assert "graphml" not in text
    assert "graph6" not in bad(2, "convert", "in.csv", "out.gml", "--to-format", "gml")


def test_a_format_without_directions_says_how_to_write_it(tmp_path):
    (tmp_path / "g.csv").write_text("from,to,minutes\na,b,3\nb,c,4\n")
    assert "--undirected" in bad(2, "convert", tmp_path / "g.csv", tmp_path / "g.graph")
    good("convert", "--undirected", tmp_path / "g.csv", tmp_path / "g.graph")
    assert (tmp_path / "g.graph").read_text() == "% g\n3 2 001\n2 3\n1 3 3 4\n2 4\n"
    assert good("-q", "solve", tmp_path / "g.graph", "--from", 3, "--to", 1) == "distance 7\npath 3 -> 2 -> 1\n"


def test_a_shell_completes_files_of_semirings():
    (item,) = ShellComplete(cli.main, {}, "apsp", "_APSP_COMPLETE").get_completions(["plan", "--semiring"], "./mi")
    assert item.type == "file"


@pytest.mark.parametrize("schedule", ["recursive", "blocked", "iterative"])
def test_every_schedule_block_and_thread_count(six, schedule):
    text = good("solve", six, "--schedule", schedule, "--block", 2, "--threads", 1, "--device", "cpu")
    assert f"schedule={schedule}" in text
    assert text.splitlines()[3].split() == ["C", "7", "11", "0", "6", "5", "4"]


@pytest.mark.parametrize("name", ["tropical", "bottleneck", "max_times", "real"])
def test_other_semirings(tmp_path, name):
    path = tmp_path / "g.csv"
    path.write_text("source,target,weight\na,b,0.5\nb,c,0.25\n")
    text = good("-q", "solve", path, "--semiring", name, "--from", "a", "--to", "c")
    expected = {"tropical": "0.75", "bottleneck": "0.25", "max_times": "0.125", "real": "0.125"}[name]
    assert text.split("\n")[0] == f"distance {expected}"
    assert text.split("\n")[1] == (
        "path a -> b -> c" if name != "real" else "path none: a sum over all paths has no single one"
    )


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_output_holds_the_distances(six, tmp_path, suffix):
    good("solve", six, "--output", tmp_path / f"out{suffix}")
    expected = cases.closure(cases.Case(cases.CATALOG[0], np.dtype("int32")), cases.six_matrix("int32"))
    path = tmp_path / f"out{suffix}"
    if suffix == ".csv":
        got = np.array([line.split(",")[1:] for line in path.read_text().splitlines()[1:]], dtype=np.int32)
    else:
        got = np.load(path) if suffix == ".npy" else np.load(path)["distances"]
    np.testing.assert_array_equal(got, expected)


def test_checksums_are_those_of_the_bytes(six):
    import zlib

    expected = cases.closure(cases.Case(cases.CATALOG[0], np.dtype("int32")), cases.six_matrix("int32"))
    lines = good("solve", six, "--checksum").splitlines()
    assert f"crc32 0x{zlib.crc32(expected.tobytes()):08x}" in lines
    first = second = 0
    for byte in expected.tobytes():
        first = (first + byte) % 255
        second = (second + first) % 255
    assert f"fletcher16 0x{256 * second + first:04x}" in lines


def test_format_may_be_named(six, tmp_path):
    six.rename(tmp_path / "six.dat")
    assert "path A -> D -> C" in good("solve", tmp_path / "six.dat", "--format", "named", "--from", "A", "--to", "C")


def test_an_empty_graph(tmp_path):
    np.save(tmp_path / "none.npy", np.empty((0, 0)))
    assert "n=0 edges=0" in good("solve", tmp_path / "none.npy")
    assert "n=0 edges=0" in good("reach", tmp_path / "none.npy", "--counts")


# betweenness and flows


def test_betweenness_of_vertices_and_edges(six, tmp_path):
    r = shortest_paths(six)
    shown = good("-q", "betweenness", six).split()[2:]
    assert dict(zip(shown[::2], map(float, shown[1::2]), strict=True)) == pytest.approx(r.betweenness())
    shown = good("-q", "betweenness", six, "--sample", 3, "--seed", 5, "--endpoints", "--raw").split()[2:]
    expected = r.betweenness(sources=3, seed=5, endpoints=True, normalized=False)
    assert dict(zip(shown[::2], map(float, shown[1::2]), strict=True)) == pytest.approx(expected)
    out = tmp_path / "edges.csv"
    shown = good("betweenness", six, "--edges", "--output", out)
    assert "(the first 10 of 14 edges)" in shown
    assert "n=6 edges=14" in shown
    heading, *rows = (line.split(",") for line in out.read_text().splitlines())
    assert heading == ["from", "to", "betweenness"]
    assert [float(x) for _, _, x in rows] == pytest.approx(r.edge_betweenness().tolist())
    for words in (["--edges", "--endpoints"], ["--seed", 3]):
        assert apsp("betweenness", six, *words).exit_code == 2


def test_ways_out_of_draws_are_options(six, tmp_path):
    for edges in ([], ["--edges"]):
        assert "betweenness: --sample must be a number from 1 to 6" in bad(2, "betweenness", six, "--sample", 7, *edges)
    random = ("generate", "random", 3, "--output", tmp_path / "r.csv", "--density", 100, "--weights", "1.5", "2.5")
    assert "Pass --real." in bad(2, *random)
    good(*random, "--real")


def test_betweenness_of_a_matrix_lists_the_edges_that_carry_anything(tmp_path):
    np.save(tmp_path / "A.npy", [[0, 1, 3.0], [np.inf, 0, 1], [np.inf, np.inf, 0]])
    assert good("-q", "betweenness", tmp_path / "A.npy", "--edges", "--raw").split()[3:] == "0 1 2 1 2 2".split()


def test_flows_of_a_demand(tmp_path):
    links, trips = ROOT / "examples" / "sioux_falls" / "links.csv", ROOT / "examples" / "sioux_falls" / "trips.csv"
    lines = good("-q", "flows", links, "--weight", "minutes", "--demand", trips).splitlines()
    assert lines[:2] == ["from  to  trips", "1     2    3800"]
    assert len(lines) == 77
    two, demand = tmp_path / "two.csv", tmp_path / "demand.csv"
    two.write_text("from,to,length\nA,B,1\nB,C,2\n")
    demand.write_text("Trips, Origin,destination\n5,A,C\n2.5,A, B\n")
    assert good("-q", "flows", two, "--demand", demand).split()[3:] == "A B 7.5 B C 5".split()
    demand.write_text("trips,origin,destination\n5,A,C\n2,C,A\n")
    assert "2 from 'C' to 'A'" in bad(1, "flows", two, "--demand", demand)
    assert good("-q", "flows", two, "--demand", demand, "--drop-unreachable").split()[3:] == "A B 5 B C 5".split()
    for text, words in (
        ("from,to,trips\n", "demand.csv:1: one column must name origin, called origin, got"),
        ("", "demand.csv: must hold origin, destination and trips, got an empty file"),
        ("origin,destination,trips\nA,X,1\n", "demand.csv:2: "),
        ("origin,destination,trips\nA,C,many\n", "demand.csv:2: trips must be a finite number, got 'many'"),
        ("origin,destination,trips\nA,C\n", "demand.csv:2: a line must have 3 columns"),
    ):
        demand.write_text(text)
        assert words in bad(2, "flows", two, "--demand", demand)


def test_a_cycle_that_costs_nothing_ends_with_the_code_of_divergence(tmp_path):
    ring = tmp_path / "ring.csv"
    ring.write_text("from,to,length\nA,B,0\nB,A,0\nB,C,1\n")
    assert "'A' → 'B' → 'A'" in bad(3, "betweenness", ring).replace("'B' → 'A' → 'B'", "'A' → 'B' → 'A'")


# reach


def test_reach_says_yes_or_no_with_its_exit_code(two):
    assert good("-q", "reach", two, "--from", "10", "--to", "20") == "yes\n"
    result = apsp("-q", "reach", two, "--from", "20", "--to", "10")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "no\n", "")


def test_reach_lists_descendants_and_ancestors(six, two):
    assert good("-q", "reach", six, "--from", "A").split() == list("ABCDEF")
    assert good("-q", "reach", two, "--from", "10").split() == ["20"]
    assert good("-q", "reach", two, "--from", "10", "--reflexive").split() == ["10", "20"]
    assert good("-q", "reach", two, "--to", "40").split() == ["30"]
    assert good("-q", "reach", two, "--to", "10") == ""


@pytest.mark.parametrize("suffix", [".npz", "/"])
def test_what_was_saved_answers_without_its_graph(tmp_path, suffix):
    graph, far, over = tmp_path / "g.csv", f"{tmp_path}/far{suffix}", f"{tmp_path}/over{suffix}"
    graph.write_text("from,to,weight\na,b,1\nb,c,2\nc,d,3\na,d,9\n")
    good("solve", graph, "--output", far)
    good("reach", graph, "--output", over)
    graph.unlink()
    assert good("query", far, "--from", "a", "--to", "d") == "distance 6\npath a -> b -> c -> d\n"
    assert good("query", far, "--to", "c").split()[2:] == ["a", "3", "b", "2", "c", "0", "d", "inf"]
    assert good("query", far).splitlines()[1].split() == ["a", "0", "1", "3", "6"]
    pairs, near = tmp_path / "pairs.txt", tmp_path / "near.txt"
    pairs.write_text("a d\nd a\n")
    near.write_text("b\n")
    assert good("query", far, "--paths", pairs).splitlines()[1].split()[-7:] == "a -> b -> c -> d".split()
    good("query", far, "--nearest", near, "--output", tmp_path / "n.csv")
    assert (tmp_path / "n.csv").read_text().split()[1:] == ["a,none,inf", "b,b,0", "c,b,2", "d,b,5"]
    assert good("query", far, "--reduce", "reached").split()[2:] == ["a", "4", "b", "3", "c", "2", "d", "1"]
    assert good("query", over, "--from", "b").split() == ["c", "d"]
    assert good("query", over, "--from", "a", "--to", "d") == "yes\n"
    assert good("query", over) == "n=4 pairs=6 components=4\n"
    no = [apsp("query", saved, "--from", "d", "--to", "a") for saved in (far, over)]
    assert [(result.exit_code, result.output) for result in no] == [(1, "distance inf\npath none\n"), (1, "no\n")]
    refused = {
        (over, "--reduce", "closeness"): "reachability",
        (over, "--semiring", "min_plus"): "reachability",
        (far, "--semiring", "max_min"): "that of what was computed, min_plus",
        (far, "--output", "e.csv"): "--reduce and --nearest",
        (far, "--from", "a", "--reduce", "closeness"): "give one of",
        (far, "--from", "x"): "'x'",
        (pairs,): "a result that apsp solve or apsp reach wrote",
        (tmp_path / "none",): "No such file",
        ("-",): "a file or a folder",
        ("/dev/null",): "a file or a folder",
    }
    for arguments, words in refused.items():
        result = apsp("query", *arguments)
        assert result.exit_code == 2
        assert words in result.output


def test_reach_counts(two):
    lines = good("reach", two, "--counts", "--undirected").splitlines()
    assert [line.split() for line in lines[:-1]] == [["vertex", "reaches"], *([str(v), "2"] for v in (10, 20, 30, 40))]
    assert lines[-1].startswith("n=4 edges=2 pairs=8 components=2 ")


@pytest.mark.parametrize("schedule", ["auto", "recursive", "blocked", "iterative"])
def test_reach_by_any_schedule(six, schedule):
    assert good("-q", "reach", six, "--from", "E", "--to", "C", "--schedule", schedule, "--threads", 1) == "yes\n"


def test_reach_output(two, tmp_path):
    from apsp import Reachability

    for suffix in (".npz", ".csv", ".npy"):
        good("reach", two, "--output", tmp_path / f"r{suffix}")
    assert Reachability.load(tmp_path / "r.npz").reaches(30, 40)
    assert (tmp_path / "r.csv").read_text().split() == ["source,target", "10,20", "30,40"]
    expected = np.zeros((4, 4), bool)
    expected[0, 1] = expected[2, 3] = True
    np.testing.assert_array_equal(np.load(tmp_path / "r.npy"), expected)


def test_a_warning_is_a_line_as_an_error_is(tmp_path):
    (tmp_path / "g.txt").write_text("a b 4\nb c 1\n")
    (tmp_path / "t.csv").write_text("from,via,to,price\na,b,c,3\n")
    said = bad(1, "solve", tmp_path / "g.txt", "--turns", tmp_path / "t.csv", "--from", "a", "--to", "c")
    assert said.startswith("apsp: turns: all are forbidden, as none of their columns is a cost")


def test_solve_prints_every_matrix_on_the_way(tmp_path):
    (tmp_path / "g.txt").write_text("a b 4\nb c 1\nc a 2\n")
    text = good("solve", tmp_path / "g.txt", "--steps", "--schedule", "blocked", "--block", 2)
    assert text.splitlines()[0] == "closure over min_plus, blocked, blocks of 2"
    assert "M1: round 1, phase 1: M[0:2, 0:2] ← M[0:2, 0:2]*; no entries change" in text
    assert "phase 1: M[0:2, 0:2] ← M[0:2, 0:2]*; 2 entries" in good(
        *("solve", tmp_path / "g.txt", "--steps", "--plain", "--schedule", "blocked", "--block", 2)
    )
    assert apsp("solve", tmp_path / "g.txt", "--plain").exit_code == 2
    assert apsp("solve", tmp_path / "g.txt", "--steps", "--from", "a").exit_code == 2
    assert json.loads(good("solve", tmp_path / "g.txt", "--steps", "--json", "-q"))["steps"][0].startswith("closure")
    assert "at most 32 vertices" in bad(2, "solve", Path(__file__).parents[1] / "examples" / "roads.gr", "--steps")


# compare


@pytest.mark.usefixtures("short_runs")
def test_compare_sizes(tmp_path):
    pytest.importorskip("matplotlib")
    text = good(
        *("compare", "--sizes", "20,40", "--device", "cpu", "--threads", 1, "--density", 30, "--seed", 3),
        *("--json", tmp_path / "c.json", "--plot", tmp_path / "c.png", "--dtype", "float64", "--schedule", "all"),
    )
    lines = text.splitlines()
    assert lines[0].split()[:4] == ["schedule", "device", "with", "n"]
    names = sorted(schedules.names(), key=lambda name: name != "iterative")
    assert [line.split()[0] for line in lines[1 : 2 * len(names) + 1]] == names * 2
    assert "closure over min_plus in float64" in lines
    assert lines[-1].startswith("Fastest: ")
    data = json.loads((tmp_path / "c.json").read_text())
    assert len(data["rows"]) == 2 * len(names)
    assert data["seed"] == 3
    assert {"processor", "NumPy", "Python"} <= data["machine"].keys()
    assert re.match(r"20\d\d-\d\d-\d\dT", data["date"])
    assert data["command"].startswith("apsp")
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"


def test_compare_a_file(six):
    text = good("compare", six, "--device", "cpu", "--threads", 1, "--schedule", "blocked", "--schedule", "recursive")
    assert "closure over min_plus in int32" in text
    assert not any(line.startswith("iterative") for line in text.splitlines())


def test_compare_a_range():
    text = good(
        "-q", "compare", "--from-n", 5, "--to-n", 17, "--device", "cpu", "--threads", 1, "--schedule", "blocked"
    )
    assert [line.split()[4] for line in text.splitlines()[1:]] == ["5", "10", "17"]
    words = ("--device", "cpu", "--threads", 1, "--schedule", "blocked", "--repeats", 2)
    text = good("-q", "compare", "--sizes", "4,10:31:10", *words)
    assert [line.split()[4] for line in text.splitlines()[1:]] == ["4", "10", "20", "30"]
    assert "spread" in text
    text = good("-q", "compare", "--sizes", "9", "--block", "4:8:2", *words)
    assert [line.split()[3] for line in text.splitlines()[1:]] == ["4,", "6,", "8,"]


def test_compare_skips_what_takes_too_long():
    asked = "compare", "--sizes", "300", "--device", "cpu", "--threads", 1, "--limit", 0
    assert good(*asked).count("limit 0 s") == 3
    assert good(*asked, "--schedule", "all").count("limit 0 s") == len(schedules.names())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--sizes", "1,x"),
        ("--sizes", "0"),
        ("--sizes", "9:1"),
        ("--sizes", "1:9:0"),
        ("--sizes", "1:2:3:4"),
        ("--sizes", "4", "--to-n", 8),
        ("--from-n", 9, "--to-n", 8),
    ],
)
def test_compare_refuses_sizes_that_are_none(arguments):
    result = apsp("compare", *arguments)
    assert result.exit_code == 2
    assert "compare: -" in result.stderr or "Invalid value for '--sizes': must be numbers" in result.stderr


def test_compare_refuses_a_file_with_sizes(six):
    assert apsp("compare", six, "--sizes", "4").exit_code == 2


def test_compare_refuses_limits_and_seeds_that_are_none():
    assert "limit" in bad(2, "compare", "--sizes", "4", "--schedule", "blocked", "--limit", "nan")
    assert "seed" in bad(2, "compare", "--sizes", "4", "--schedule", "blocked", "--seed", "-1")
    assert "seed" in bad(2, "generate", "roads", 5, "--seed", "-1", "--output", "-", "--format", "csv")


def test_compare_without_matplotlib_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    arguments = ("--sizes", 8, "--device", "cpu", "--schedule", "blocked", "--plot", tmp_path / "p.png")
    assert "pip install matplotlib" in bad(4, "compare", *arguments)
    assert not (tmp_path / "p.png").exists()


# generate, convert, plan, info


def test_generate(tmp_path):
    good("generate", "cycle", 5, "--weight", 2, "--output", tmp_path / "c.gr.gz")
    assert formats.read(tmp_path / "c.gr.gz").matrix()[4, 0] == 2
    good("generate", "cycle", 5, "--undirected", "--output", tmp_path / "u.npy")
    assert formats.read(tmp_path / "u.npy").edge_count == 10
    text = good("generate", "random", 20, "--density", 25, "--seed", 7, "--output", tmp_path / "r.plain")
    assert text == f"{tmp_path / 'r.plain'}: n=20 edges=95\n"
    good("generate", "random", 20, "--weights", 5, 6, "--real", "--undirected", "--output", tmp_path / "f.npz")
    weights = formats.read(tmp_path / "f.npz").edges()[2]
    assert weights.dtype == np.float64
    assert ((weights >= 5) & (weights < 6)).all()
    assert "n=50 " in good("generate", "roads", 50, "--seed", 3, "--output", tmp_path / "roads.gr")
    good("-q", "generate", "grid", 3, 4, "--output", tmp_path / "g", "--format", "dimacs")
    assert formats.read(tmp_path / "g", format="dimacs").n == 12


def test_the_same_seed_gives_the_same_file(tmp_path):
    for name in ("a.gr", "b.gr"):
        good("generate", "random", 30, "--seed", 5, "--output", tmp_path / name)
    assert (tmp_path / "a.gr").read_bytes() == (tmp_path / "b.gr").read_bytes()


def test_convert(six, tmp_path):
    assert good("convert", six, tmp_path / "six.csv") == f"{tmp_path / 'six.csv'}: n=6 edges=14\n"
    good("convert", tmp_path / "six.csv", tmp_path / "back.txt", "--from-format", "csv", "--to-format", "named")
    np.testing.assert_array_equal(formats.read(tmp_path / "back.txt").matrix(), formats.read(six).matrix())


def test_plan(six):
    assert "closure of 4096 vertices over max_min in float32 on cpu" in good(
        "plan", 4096, "--semiring", "bottleneck", "--dtype", "float32"
    )
    text = good("plan", six, "--schedule", "blocked", "--block", 3, "--threads", 1, "--device", "cpu")
    assert text.splitlines()[0] == "closure of 6 vertices over min_plus in int32 on cpu"
    assert "blocked, block 3 (as asked)" in text


def test_info_names_what_there_is():
    text = good("info")
    for word in ("processor", "threads", "GPU", "NumPy", "tropical", "int16", "dimacs", ".gr", "recursive", "R-Kleene"):
        assert word in text
    found = json.loads(good("info", "--json"))
    assert found["machine"]["NumPy"] == np.__version__
    assert found["package"] == str(ROOT / "semiring")
    assert "tropical" not in found["semirings"] and {"scipy", "hops"} <= {*found["engines"]}  # noqa: PT018
    assert "others in" in found["machine"]["machine code"]


# How it ends


def test_version_and_help_name_the_exit_codes():
    from apsp import __version__

    assert good("--version").strip().endswith(__version__)
    text = " ".join(good("--help").split())
    assert "3 the closure does not exist" in text
    for command in cli.main.commands:
        assert "Usage" in good(command, "--help")


def test_usage_errors_are_clicks_own(six):
    for arguments in (("solve",), ("nonsense",), ("solve", six, "--threads", 0), ("solve", six, "--dtype", "int7")):
        result = apsp(*arguments)
        assert result.exit_code == 2
        assert "Usage" in result.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--reduce", "reached", "--nearest", "n"), "--reduce and --nearest"),
        (("--reduce", "reached", "--from", "a"), "--reduce and --from"),
        (("--paths", "p", "--to", "a"), "--paths and --from or --to"),
        (("--positions", "p"), "--plot"),
        (("--plot", "p.png"), "--positions"),
        (("--verify", "--limit", "5"), "--verify"),
        (("--verify", "--table", "p"), "--table"),
        (("--predecessors", "p.csv", "--sources", "p"), "--sources"),
        (("--predecessors", "p.csv", "--output", "./p.csv"), "different files"),
        (("--every", "5"), "checkpoint"),
        (("--gpus", "2", "--device", "cpu"), "--device cpu"),
    ],
)
def test_what_would_be_left_out_is_refused(six, given, told):
    ended = apsp("solve", six, *given)
    assert ended.exit_code == 2
    assert told in ended.stderr
    assert not ended.stdout


@pytest.mark.parametrize(
    ("command", "given", "told"),
    [
        ("plan", ("100", "--undirected", "--weight", "km"), "--undirected and --weight"),
        ("plan", ("100", "--sources", "stops.txt"), "--sources"),
        ("compare", ("--sizes", "4", "--columns", "0,1", "--format", "csv"), "--format and --columns"),
        ("compare", ("SIX", "--density", "50"), "--density"),
        ("compare", ("--sizes", "4", "--graph", "cycle", "--density", "3", "--seed", "1"), "--density and --seed"),
        ("check", ("SIX", "SIX", "--seed", "1"), "--sample is given, got --seed"),
        (
            "lab",
            ("run", str(ROOT / "examples/lab/kernels/naive.cu"), "--graph", "SIX", "--vertices", "5"),
            "--vertices",
        ),
        ("plan", ("100", "--engine", "hops"), "and --null-value must come with a graph"),
        ("compare", ("SIX", "--seed", "0", "--to-n", "9"), "--to-n and --seed"),
    ],
)
def test_options_of_a_file_and_of_a_number_do_not_mix(six, command, given, told):
    ended = apsp(command, *(six if word == "SIX" else word for word in given))
    assert ended.exit_code == 2
    assert told in " ".join(ended.stderr.split())
    assert not ended.stdout


def test_one_end_beside_a_part_of_the_table_is_heard(six, tmp_path):
    (tmp_path / "some.txt").write_text("A\nB\n")
    part = ("-q", "solve", six, "--sources", tmp_path / "some.txt")
    assert good(*part, "--to", "C").splitlines()[1:] == ["A            8", "B            6"]
    assert len(good(*part, "--from", "B").splitlines()) == 7
    assert "'C'" in bad(2, *part, "--from", "C")


def test_every_command_that_reads_takes_the_same_words(tmp_path):
    (tmp_path / "roads.txt").write_text("A,B,100,1\nB,C,195,2\n")
    words = ["--format", "csv", "--undirected", "--columns", "0,1,2"]
    path = tmp_path / "roads.txt"
    assert good("-q", "solve", path, *words, "--from", "C", "--to", "A").startswith("distance 295\n")
    assert good("-q", "reach", path, *words, "--from", "C", "--to", "A") == "yes\n"
    assert "3 vertices" in good("plan", path, *words)
    assert "yes" in good("-q", "compare", path, *words, "--device", "cpu", "--threads", 1, "--schedule", "blocked")
    good("-q", "convert", path, tmp_path / "out.gr", *words)
    assert formats.read(tmp_path / "out.gr").edge_count == 4
    two = ["--columns", "0, 1", "--format", "csv"]
    ends = ["--from", "A", "--to", "C"]
    assert good("-q", "solve", path, *two, "--weight", "3", *ends).startswith("distance 3\n")
    assert good("-q", "solve", path, *two, "--unweighted", *ends).startswith("distance 2\n")
    assert "--unweighted" in bad(2, "solve", path, *two)
    assert "not both" in bad(2, "solve", path, "--weight", "3", "--unweighted")
    assert "columns must" in bad(2, "solve", path, "--columns", "1")


def test_bad_input_is_one_line_and_2(six, two, tmp_path):
    assert "No such file" in bad(2, "solve", tmp_path / "missing.gr")
    (tmp_path / "empty").mkdir()
    assert bad(2, "solve", tmp_path / "empty").endswith("got a folder of 0. Name a file.\n")
    for encoding in ("cp1252", "utf-16"):  # as a shell does it
        (tmp_path / "a (1).csv").write_bytes("from,to\nGöteborg,B\n".encode(encoding))
        assert f"Run iconv -f {encoding} -t utf-8 on it, if" in bad(2, "solve", tmp_path / "a (1).csv")
    (tmp_path / "broken.gr").write_text("p sp 2 1\na 1 x 3\n")
    assert "broken.gr:2:" in bad(2, "solve", tmp_path / "broken.gr")
    assert "broken.gr:2:" in bad(2, "reach", tmp_path / "broken.gr")
    (tmp_path / "empty.gr").write_text("")
    bad(2, "convert", tmp_path / "empty.gr", tmp_path / "out.csv")
    assert "got 'Z'" in bad(2, "solve", six, "--from", "Z", "--to", "A")
    assert "got 'Z'" in bad(2, "reach", six, "--to", "Z")
    assert "got 'magic'" in bad(2, "solve", six, "--schedule", "magic")
    assert "got 'magic'" in bad(2, "solve", six, "--semiring", "magic")
    assert "got 'magic'" in bad(2, "solve", six, "--format", "magic")
    assert "got bool" in bad(2, "solve", two, "--dtype", "bool")
    for command in (("solve", two), ("plan", 9), ("compare", "--sizes", 4)):
        assert "got int32" in bad(2, *command, "--semiring", "plus_times", "--dtype", "int32")
    assert "lanes" in bad(2, "solve", two, "--weight", "hours")
    assert "csv" in bad(2, "solve", six, "--weight", "hours")
    assert "density" in bad(2, "generate", "random", 5, "--density", 200, "--output", tmp_path / "r.gr")


def test_divergence_is_3_and_names_the_cycle(negative, tmp_path):
    message = bad(3, "solve", negative, "--output", tmp_path / "d.npy")
    assert "A → B → A" in message or "B → A → B" in message
    assert not (tmp_path / "d.npy").exists()


@pytest.mark.skipif(cuda_available(), reason="this machine has a GPU")
def test_a_missing_device_is_4(six):
    assert "GPU" in bad(4, "solve", six, "--device", "cuda")
    assert "GPU" in bad(4, "compare", "--sizes", 8, "--device", "cuda")


def test_out_of_memory_is_4(six, monkeypatch):
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("semiring.host.memory.available", lambda device: 1)
    assert "must fit" in bad(4, "solve", six)
    monkeypatch.setattr("apsp.doors.cli.graphs.read", lambda *_: (_ for _ in ()).throw(MemoryError))
    assert bad(4, "solve", six) == "apsp: out of memory.\n"


def test_what_nobody_expected_keeps_its_traceback(six, monkeypatch):
    monkeypatch.setattr("apsp.doors.cli.graphs.read", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        apsp("solve", six)


def test_ctrl_c_that_python_wraps_is_ctrl_c(six, monkeypatch):
    """As where it strikes while a class is made: RuntimeError, "Error calling __set_name__"."""

    def struck(*_):
        raise RuntimeError from KeyboardInterrupt()

    monkeypatch.setattr("apsp.doors.cli.graphs.read", struck)
    assert bad(130, "solve", six) == "apsp: interrupted.\n"


@pytest.mark.parametrize("command", ["solve", "reach"])
def test_outputs_that_cannot_be_written_are_refused_before_the_work(six, tmp_path, command, monkeypatch):
    monkeypatch.setattr("apsp.doors.cli.graphs.read", lambda *_: pytest.fail("worked before looking"))
    assert "suffix must be" in bad(2, command, six, "--output", tmp_path / "out.doc")
    assert "directory must exist" in bad(2, command, six, "--output", tmp_path / "no" / "out.npy")


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_what_may_not_be_written_is_refused_before_the_work(unprivileged, monkeypatch):
    for work in (
        "apsp.doors.cli.graphs.read",
        "apsp.comparison.compare_sizes",
        "apsp.generate.cycle",
        "apsp.generate.random_graph",
    ):
        monkeypatch.setattr(work, lambda *_, **__: pytest.fail("worked before looking"))
    (unprivileged / "shut").mkdir(0o555)
    (unprivileged / "old.npz").touch(0o444)
    shut, old = unprivileged / "shut", unprivileged / "old.npz"
    for path, arguments in (
        (shut / "out.npy", ("solve", "g.csv", "--output")),
        (old, ("solve", "g.csv", "--output")),
        (shut / "out.csv", ("reach", "g.csv", "--output")),
        (shut / "out.json", ("compare", "--sizes", "8", "--device", "cpu", "--json")),
        (shut / "out.svg", ("compare", "--sizes", "8", "--device", "cpu", "--plot")),
        (shut / "out.gr", ("generate", "cycle", "5", "--output")),
        (old, ("generate", "random", "5", "--output")),
        (shut / "out.gr", ("convert", "g.csv")),
    ):
        message = bad(2, *arguments, path)
        assert message.startswith(f"apsp: {path}: ")
        assert "denied" in message or "read-only" in message
    assert "suffix must say" in bad(2, "generate", "cycle", "5", "--output", unprivileged / "out.txt")


@pytest.mark.parametrize(
    "command",
    ["solve g.csv --output g.csv", "solve g.csv --output sub/../g.csv --reduce eccentricity",
     "reach g.csv --output g.csv", "solve g.csv --predecessors g.csv", "solve g.csv --output g.csv --output-format csv",
     "convert g.csv link.csv",
     "solve g.csv --from A --to B --turns turns.csv --output turns.csv",
     "query saved.npz --nearest g.csv --output g.csv"],
)  # fmt: skip
def test_what_is_read_is_not_written_over(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for name in ("g.csv", "turns.csv"):
        Path(name).write_text("from,to,km\nA,B,1\n")
    Path("link.csv").symlink_to("g.csv")
    run = CliRunner().invoke(cli.main, command.split())
    assert (run.exit_code, Path("g.csv").read_text()) == (2, Path("turns.csv").read_text())
    assert "what is written must be another file than what is read" in run.output
    assert CliRunner().invoke(cli.main, ["convert", "g.csv", "h.csv"]).exit_code == 0


def test_labels_that_the_output_would_lose_are_refused_before_the_work(tmp_path, monkeypatch):
    write([(1, "1", 5)], tmp_path / "g.npz")
    monkeypatch.setattr("apsp.answers.result.shortest_paths", lambda *_, **__: pytest.fail("worked before looking"))
    monkeypatch.setattr("apsp.answers.reach.transitive_closure", lambda *_, **__: pytest.fail("worked before looking"))
    for command in ("solve", "reach"):
        assert "differ as text" in bad(2, command, tmp_path / "g.npz", "--output", tmp_path / "out.csv")


def test_a_failed_write_leaves_what_was_there(six, tmp_path):
    before = tmp_path / "out.csv"
    before.write_text("precious")
    (tmp_path / "lone.gr").write_text("p sp 3 1\na 1 2 3\n")
    assert "every vertex must have an edge" in bad(2, "convert", tmp_path / "lone.gr", before)
    assert before.read_text() == "precious"
    (tmp_path / "dir.npy").mkdir()
    assert "directory" in bad(2, "solve", six, "--output", tmp_path / "dir.npy")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir.npy", "lone.gr", "out.csv", "six.named"]


def test_elsewhere_than_on_a_terminal_output_is_plain(six):
    for arguments in (("solve", six), ("reach", six, "--counts"), ("info",)):
        text = good(*arguments)
        assert not set(text) & set("│┃─━┏╭\x1b")
        assert not any(line != line.rstrip() for line in text.splitlines())


@pytest.mark.busy
def test_a_terminal_gets_a_table_and_a_bar(six):
    pty = pytest.importorskip("pty")
    primary, secondary = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _SLOW, str(six)],
        cwd=ROOT,
        stdout=secondary,
        stderr=secondary,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(secondary)
    shown = b""
    while True:
        try:
            part = os.read(primary, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(primary)
    assert child.wait(PATIENCE) == 0
    text = shown.decode()
    assert "closure" in text
    assert "%" in text
    assert "\x1b[1m" in text  # bold headings
    assert "n=6 edges=14" in text


#: Work of 25 steps on a clock of its own, by which each takes 0.06 seconds.
_SLOW = """
import itertools, sys, types
from apsp import cli
from apsp.doors.cli import solving
from apsp.io.display import terminal
ticks = itertools.count()
terminal.time = types.SimpleNamespace(monotonic=lambda: 0.06 * next(ticks))
class Slow(terminal.Meter):
    def __enter__(self):
        for done in range(25):
            self.callback(done, 25)
        return self
solving.Meter = Slow
cli.main(["solve", sys.argv[1]])
"""


@pytest.mark.busy
def test_a_short_run_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(terminal, "time", clock)
    now = 7.0
    with terminal.Meter("closure") as meter:
        assert meter.callback is not None
        now = 7.9
        meter.callback(1, 2)
        assert capsys.readouterr().err == ""
        now = 8.1
        meter.callback(1, 2)
        assert "closure" in capsys.readouterr().err
    assert terminal.Meter("closure", quiet=True).callback is None


def test_progress_in_a_log_is_a_line_a_minute(monkeypatch, capsys):
    now = iter([0.0, 30.0, 75.0, 100.0, 150.0, 300.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    with terminal.Meter("closure") as meter:
        for done in (5, 20, 40, 50, 100):
            meter.callback(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "apsp: closure: 20% done, 5 minutes left",
        "apsp: closure: 50% done, 2.5 minutes left",
    ]


@pytest.mark.busy
def test_a_closed_pipe_is_quiet(tmp_path):
    good("generate", "cycle", 3000, "--output", tmp_path / "c.gr")
    with process("reach", tmp_path / "c.gr", "--counts") as child:
        assert child.stdout.readline().split() == ["vertex", "reaches"]
        child.stdout.close()
        assert child.stderr.read() == ""
        assert child.wait(PATIENCE) in (0, exit_codes.BROKEN_PIPE)


#: Steps without end, of which the first says that it begins.
_ENDLESS = """
import sys
from apsp import cli, schedules
def closure(A, ops, *, block):
    print("begun", flush=True)
    k = 0
    while True:
        ops.step(A, k % len(A))
        k += 1
schedules.known = schedules.get = lambda name: schedules.Schedule(closure, "without end")
cli.main(["solve", *sys.argv[1:]])
"""


@pytest.mark.parametrize("moment", ["__enter__", "__exit__"])
@pytest.mark.parametrize(
    ("signal_", "code"), [(KeyboardInterrupt(), 130), (exit_codes.Terminated(signal.SIGTERM), 143)]
)
def test_a_signal_between_the_options_and_the_command_or_after_it_has_its_code(monkeypatch, moment, signal_, code):
    """Click ends with 1 there."""

    def struck(*_):
        raise signal_

    monkeypatch.setattr(click.Context, moment, struck)
    result = apsp("info")
    assert result.exit_code == code
    assert result.stderr.strip() in ("apsp: interrupted.", "apsp: terminated.")
    assert "Aborted" not in result.stderr


def test_a_name_is_one_line_whatever_is_in_it(tmp_path):
    (tmp_path / "g.csv").write_text('from,to\n"a\nb",c\n"x\x1b[2J",c\n')
    assert good("-q", "reach", tmp_path / "g.csv", "--to", "c") == "a\\nb\nx\\x1b[2J\n"
    assert good("-q", "solve", tmp_path / "g.csv", "--from", "a\nb", "--to", "c").endswith("path a\\nb -> c\n")
    assert len(good("-q", "solve", tmp_path / "g.csv").splitlines()) == 4
    for arguments in (
        ("solve", tmp_path / "g.csv", "--from", "no\x1b[2J"),
        ("solve", tmp_path / "no\x1b[2J.csv"),
        ("solve", tmp_path / "g.csv", "--output", tmp_path / "no\x9b2J" / "a.npy"),
        ("solve", tmp_path / "g.csv", "--output", tmp_path / "a.no\x1b[2J"),
        ("solve", tmp_path / "g.csv", "--weight", "no\x1b[2J"),
        ("solve", tmp_path / "g.csv", "--no\x1b[2J"),
        ("reach", tmp_path / "g.csv", "--semiring", "no\x1b[2J"),
    ):
        said = apsp(*arguments)
        assert said.exit_code == 2
        assert "no\\x" in said.stderr
        assert not set(said.output) & set("\x1b\x9b")
    name = tmp_path / "x\x1b[2J.csv"
    name.write_text("a,b,zero\na,b,1\na,c,1\n")
    assert "\x1b" not in apsp("solve", name).output
    assert "\x1b" not in apsp("convert", name, name.with_suffix(".npz")).output
    good("solve", tmp_path / "g.csv", "--reduce", "reached", "--output", tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text().count('"a\nb",2') == 1  # a file keeps it


def test_numbers_of_vertices_have_all_their_digits_and_no_more(tmp_path):
    (tmp_path / "far.csv").write_text("from,to,km\na,b,1e300\nb,c,0.5\nc,a,2\n")
    (tmp_path / "a.txt").write_text("a\n")
    for question in (("--nearest", tmp_path / "a.txt"), ("--reduce", "eccentricity")):
        lines = good("-q", "solve", tmp_path / "far.csv", *question).splitlines()
        assert [float(line.split()[-1]) for line in lines[1:]] in ([0, 1e300, 1e300], [1e300, 2.5, 1e300])
        assert max(map(len, lines)) < 40
    run = CliRunner().invoke(cli.main, ["-q", "solve", str(tmp_path / "far.csv"), "--table", "-"], input="a\nb\n")
    assert run.stdout.split() == ["a", "b", "a", "0.0", "1e+300", "b", "2.5", "0.0"]


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_the_work_quietly_and_leaves_no_file(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "big.npy", rng.random((2000, 2000), dtype=np.float32))
    before = sorted(p.name for p in tmp_path.iterdir())
    child = start(_ENDLESS, tmp_path / "big.npy", "--output", tmp_path / "out.npy")
    wait_for(child, "begun")
    child.send_signal(signal.SIGINT)
    assert finish(child) == (130, "", "apsp: interrupted.\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.fixture
def roads(tmp_path):
    """3,000 crossings in a file, and their coordinates in each format."""
    graph = road_like(3000, seed=1)
    write(graph, tmp_path / "roads.gr")
    at = np.random.default_rng(0).random((3000, 2)).round(6)
    lines = [f"v {k + 1} {x} {y}" for k, (x, y) in enumerate(at.tolist())]
    (tmp_path / "roads.co").write_text("\n".join(["c crossings", "p aux sp co 3000", *lines]))
    return tmp_path / "roads.gr"


def test_a_sparse_graph_is_asked_in_parts(roads, tmp_path):
    graph = as_graph(roads)
    ends = graph.rows.astype(np.int32), graph.cols.astype(np.int32)  # as the least SciPy wants them
    A = scipy.sparse.csr_array((graph.weights, ends), shape=(3000, 3000))
    D = scipy.sparse.csgraph.dijkstra(A, indices=[4, 2999, 7])
    (tmp_path / "stops.txt").write_text("5\n3000\n\n8\n")
    (tmp_path / "stops.csv").write_text("stop,what\n5,a\n3000,b\n8,c\n")
    for stops in ("stops.txt", "stops.csv"):
        lines = good("-q", "solve", roads, "--table", tmp_path / stops).splitlines()
        assert [line.split() for line in lines] == [
            ["5", "3000", "8"],
            *([str(v), *(str(int(x)) for x in row[[4, 2999, 7]])] for v, row in zip((5, 3000, 8), D, strict=True)),
        ]
    good("solve", roads, "--sources", tmp_path / "stops.txt", "--output", tmp_path / "d.npy", "--limit", 20000)
    np.testing.assert_array_equal(
        np.load(tmp_path / "d.npy"), np.where(D > 20000, np.iinfo(np.int32).max, D).astype(np.int32)
    )
    said = good("solve", roads, "--from", "5", "--to", "3000")
    assert said.startswith(f"distance {int(D[0, 2999])}\npath 5 -> ")
    assert "schedule=label-correcting" in said
    assert f"distance {int(D[0, 2999])}" in good("solve", roads, "--from", 5, "--to", 3000, "--engine", "elimination")
    lines = good("-q", "solve", roads, "--nearest", tmp_path / "stops.txt").splitlines()
    assert lines[0].split() == ["vertex", "nearest", "distance"]
    assert [float(line.split()[2]) for line in lines[1:]] == D.min(axis=0).tolist()
    lines = good("-q", "solve", roads, "--reduce", "eccentricity", "--sources", tmp_path / "stops.txt").splitlines()
    assert [line.split() for line in lines[1:]] == [
        [str(v), str(int(row.max()))] for v, row in zip((5, 3000, 8), D, strict=True)
    ]
    for option, kept in (("--reduce", "eccentricity"), ("--nearest", tmp_path / "stops.txt")):
        shown = good("-q", "solve", roads, "--sources", tmp_path / "stops.txt", option, kept).splitlines()
        good("solve", roads, "--sources", tmp_path / "stops.txt", option, kept, "--output", tmp_path / "told.csv")
        written = (tmp_path / "told.csv").read_text().splitlines()
        assert written == [",".join(line.split()) for line in shown]
    assert "must be one of .csv" in apsp("solve", roads, "--reduce", "total", "--output", tmp_path / "t.npy").stderr
    totals = good("-q", "solve", roads, "--reduce", "total", "--sources", tmp_path / "stops.txt").splitlines()
    assert [int(line.split()[1]) for line in totals[1:]] == D.sum(axis=1).tolist()  # all their digits
    (tmp_path / "empty.txt").write_text("\n")
    assert "must hold labels of vertices" in apsp("solve", roads, "--sources", tmp_path / "empty.txt").stderr
    (tmp_path / "header.csv").write_text("id\n")
    assert "must hold labels of vertices" in apsp("solve", roads, "--sources", tmp_path / "header.csv").stderr
    (tmp_path / "wrong.txt").write_text("5\nnowhere\n")
    result = apsp("solve", roads, "--table", tmp_path / "wrong.txt")
    assert result.exit_code == 2
    assert "wrong.txt:2: " in result.stderr


def test_the_plan_of_a_sparse_graph(roads, tmp_path):
    said = good("plan", roads)
    assert said.startswith("elimination of 3000 vertices")
    assert all(word in said for word in ("the least predicted", "elimination: ", "scipy: "))
    (tmp_path / "stops.txt").write_text("5\n")
    assert good("plan", roads, "--sources", tmp_path / "stops.txt").startswith("label-correcting of 3000 vertices")
    assert good("plan", roads, "--engine", "dense").startswith("closure of 3000 vertices")


def test_a_route_is_drawn_on_coordinates_of_any_format(roads, tmp_path):
    pytest.importorskip("matplotlib")
    at = {int(line.split()[1]): line.split()[2:] for line in (tmp_path / "roads.co").read_text().splitlines()[2:]}
    (tmp_path / "roads.csv").write_text("id,lon,lat\n" + "".join(f"{k},{x},{y}\n" for k, (x, y) in at.items()))
    points = [
        {"type": "Feature", "id": k, "geometry": {"type": "Point", "coordinates": [float(x), float(y)]}}
        for k, (x, y) in at.items()
    ]
    (tmp_path / "roads.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": points}))
    expected = np.array(list(at.values()), float)
    for name in ("roads.co", "roads.csv", "roads.geojson"):
        np.testing.assert_array_equal(read_positions(tmp_path / name, as_graph(roads).labels)[0], expected)
    drawn = ("--plot", tmp_path / "route.png", "--positions", tmp_path / "roads.co")
    good("solve", roads, "--from", 5, "--to", 3000, *drawn)
    assert (tmp_path / "route.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "bad.co").write_text("v 1 2\n")
    result = apsp("solve", roads, "--from", 5, "--plot", tmp_path / "x.png", "--positions", tmp_path / "bad.co")
    assert (result.exit_code, "bad.co:1: " in result.stderr, result.stdout) == (2, True, "")
    assert apsp("solve", roads, "--plot", tmp_path / "x.png").exit_code == 2


#: Writes half of its output, says so, and goes on without end.
_HALF = """
import sys, time
from apsp import cli
from apsp.io.saving import npy
def save(file, table):
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    while True:
        time.sleep(0.01)
npy.write = save
cli.main(["solve", *sys.argv[1:]])
"""


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("signals", "code", "message"),
    [
        (["SIGINT"], 130, "apsp: interrupted.\n"),
        (["SIGTERM"], 143, "apsp: terminated.\n"),
        (["SIGHUP"], 129, "apsp: hung up.\n"),
        (["SIG_IGN", "SIGHUP", "SIGTERM"], 143, "apsp: terminated.\n"),  # as under nohup
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_signals_leave_no_half_written_file(six, tmp_path, signals, code, message):
    (tmp_path / "out.npy").write_text("precious")
    before = sorted(p.name for p in tmp_path.iterdir())
    nohup = signals[0] == "SIG_IGN"
    ignoring = "signal.signal(signal.SIGHUP, signal.SIG_IGN)" if nohup else ""
    child = start(ignoring + _HALF, six, "--output", tmp_path / "out.npy")
    wait_for(child, "half")
    assert len(list(tmp_path.iterdir())) == len(before) + 1
    for name in signals[nohup:]:
        child.send_signal(getattr(signal, name))
    assert finish(child) == (code, "", message)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert (tmp_path / "out.npy").read_text() == "precious"


#: A process of the command, struck when that has ended: by the end itself, an exit function, or Python's taking down.
_ENDED = """
import atexit, os, signal, sys
from apsp import __main__, cli
moment, numbers = sys.argv[1], [getattr(signal, name) for name in sys.argv[2:]]
if len(numbers) > 1:
    signal.signal(numbers[0], signal.SIG_IGN)
def strike():
    for number in numbers:
        os.kill(os.getpid(), number)
class Late:
    def __del__(self):
        strike()
def main(**_):
    print("written", flush=True)
    if moment == "exit function":
        atexit.register(strike)
    elif moment == "taking down":
        sys.late = Late()
    else:
        strike()
    sys.exit(1)
cli.main = main
__main__.run()
"""


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("moment", "signals", "code"),
    [
        ("end", ["SIGINT"], 130),
        ("exit function", ["SIGTERM"], 143),
        ("exit function", ["SIGHUP"], 129),
        ("exit function", ["SIGHUP", "SIGTERM"], 143),  # as under nohup
        ("taking down", ["SIGTERM"], 1),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_a_signal_after_the_command_does_not_kill_it(moment, signals, code):
    assert finish(start(_ENDED, moment, *signals)) == (code, "written\n", "")


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_library_leaves_signals_alone_and_the_command_puts_them_back(six):
    from apsp import shortest_paths

    signals = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(s) for s in signals]
    shortest_paths([(0, 1, 2)])
    assert [signal.getsignal(s) for s in signals] == before
    good("-q", "solve", six)
    assert [signal.getsignal(s) for s in signals] == before


@pytest.mark.busy
@pytest.mark.skipif(os.name == "nt", reason="shells of POSIX")
@pytest.mark.parametrize(
    ("redirected", "arguments", "code", "reason"),
    [
        (">&-", ["solve", "SIX"], 2, "Bad file descriptor"),
        (">&- 2>&-", ["--version"], 2, ""),
        ("2>&-", ["solve", "MISSING"], 2, ""),
        ("<&- >&- 2>&-", ["-q", "convert", "SIX", "OUT"], 0, ""),  # has nothing to say
        (">/dev/full", ["--help"], 2, "No space left on device"),
        pytest.param(">/dev/full", ["solve", "SIX"], 2, "No space left on device", marks=pytest.mark.release),
        pytest.param(">&-", ["--help"], 2, "Bad file descriptor", marks=pytest.mark.release),
        ("2>/dev/full", ["nonsense"], 2, ""),
    ],
)
def test_output_that_cannot_be_written_is_said_in_a_line(six, tmp_path, redirected, arguments, code, reason):
    if "full" in redirected and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    paths = {"SIX": str(six), "OUT": str(tmp_path / "out.csv"), "MISSING": str(tmp_path / "missing.gr")}
    command = [sys.executable, "-m", "apsp", *(paths.get(a, a) for a in arguments)]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, reason and f"apsp: standard output: {reason}.\n")
    assert (tmp_path / "out.csv").exists() == ("OUT" in arguments)
    if "OUT" in arguments:
        assert (tmp_path / "out.csv").read_text().startswith("source,target,weight\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("cycle", 5, "--weight", "inf"),
        ("cycle", 5, "--weight", "nan"),
        ("grid", 2, 3, "--weight", "-inf"),
        ("random", 5, "--weights", "0", "inf"),
        ("random", 5, "--weights", "nan", "nan", "--real"),
        ("random", 5, "--weights", "-1e308", "1e308", "--real"),
        ("random", 5, "--weights", "0", "1e30"),
    ],
)
def test_weights_that_are_none_are_refused(arguments, tmp_path):
    assert "weight" in bad(2, "generate", *arguments, "--output", tmp_path / "g.gr")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_made_of_numbers_of_vertices_that_can_be():
    from apsp import plan
    from semiring import ShapeError

    for n in (-1, (1 << 33) + 1, 10**200):
        with pytest.raises(ShapeError, match="number of vertices"):
            plan(n)
    assert "number of vertices" in bad(2, "plan", 10**200)
    assert plan(0).n == 0
    assert "closure of 100000 vertices" in good("plan", 100_000)


# warm


def test_what_is_compiled_ahead_is_there_for_the_next_process(tmp_path):
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "SEMIRING_ASSUME_COMPILED": ""}
    warm = "from apsp.doors.cli import main; main('warm --for closure --semiring max_min --dtype int32'.split())"
    told = python(warm, env=env)
    assert re.fullmatch(r"kernels=[1-9]\d* seconds=\S+\n", told)
    assert python(warm, env=env).startswith("kernels=0 ")
    missing = "import apsp; print([apsp.plan(9, 'max_min', dtype=d).kernels > 0 for d in ('int32', 'int64')])"
    assert python(missing, env=env) == "[False, True]\n"


@pytest.mark.skipif(os.name == "nt", reason="a path of POSIX")
@pytest.mark.parametrize("sort", ["closure", pytest.param("reach", marks=pytest.mark.release)])
def test_compiling_ahead_where_nothing_can_be_kept_is_an_error(sort):
    env = {"NUMBA_CACHE_DIR": "/dev/null", "SEMIRING_ASSUME_COMPILED": ""}
    child = process("warm", "--for", sort, "--dtype", "int32", env={**os.environ, **env})
    returned, out, err = finish(child)
    assert (returned, out) == (exit_codes.MISSING, "")
    assert "apsp: warm: compiled kernels must be kept on disk" in err


@pytest.mark.parametrize("sort", SORTS)
def test_every_sort_of_what_is_compiled_ahead_can_be_asked(sort):
    """Over a semiring whose ⊕ selects, and over another."""
    ask, fixed = SORTS[sort]
    for semiring, dtype in [("", fixed[0])] if fixed else [("max_plus", "int32"), ("plus_times", "float64")]:
        ask(semiring, dtype)


def test_what_is_compiled_ahead_is_what_was_named(monkeypatch):
    monkeypatch.setattr("apsp.road.warming.warm", lambda work, processes, callback: len(work))
    assert good("warm", "--for", "reach,closure", "--dtype", "bool", "--dtype", "int32").startswith("kernels=2 ")
    assert good("warm", "--semiring", "log", "--for", "roads").startswith("kernels=2 ")  # its two dtypes
    assert "--for must be one of closure, roads" in bad(2, "warm", "--for", "closure,road")
    assert "--dtype must be one of float32, " in bad(2, "warm", "--for", "closure", "--dtype", "bool")


def test_turns(tmp_path):
    roads, turns, ways = (tmp_path / name for name in ("roads.csv", "turns.csv", "ways.csv"))
    roads.write_text("from,to,weight,id\nA,B,1,10\nB,C,1,11\nB,D,1,12\nD,C,3,13\nC,B,1,14\n")
    turns.write_text("from,via,to,cost\nA,B,C,inf\n")
    ways.write_text("from_way,via_node,to_way\n10,B,11\n")
    ends = ("--weight", "weight", "--from", "A", "--to", "C")
    assert "distance 5\npath A -> B -> D -> C" in good("solve", roads, "--turns", turns, *ends)
    assert "distance 5" in good("solve", roads, "--turns", ways, "--ways", "id", *ends)
    assert "holds exactly" in good(
        "solve", roads, "--weight", "weight", "--turns", turns, "--u-turns", "inf", "--verify"
    )
    assert "Pass --ways." in bad(2, "solve", roads, "--turns", ways, *ends)
    out = ("--output", tmp_path / "r.npz")
    told = bad(2, "solve", roads, "--turns", turns, "--memory", "1GiB", *out)
    assert told.endswith("Without --memory and --checkpoint, --output FILE streams rows.\n")
    assert "--u-turns must be numbers" in bad(2, "solve", roads, "--turns", turns, "--u-turns", "nan")
    assert "Say --paths FILE" in bad(2, "solve", roads, "--turns", turns, "--next-hops", "n.npy")


@pytest.mark.parametrize("kind", ["csv", "npy", "npz", "txt"])
def test_an_output_of_any_name(tmp_path, kind, capfdbinary):
    graph = tmp_path / "g.csv"
    graph.write_text("from,to,weight\nA,B,4\nB,C,7\nC,A,1\nC,D,2\n")
    good("-q", "solve", graph, "--output", tmp_path / f"d.{kind}")
    for name in ("table", "table.dat"):
        good("-q", "solve", graph, "--output", tmp_path / name, "--output-format", kind)
        if kind == "npz":
            np.testing.assert_array_equal(
                np.load(tmp_path / name)["distances"], np.load(tmp_path / "d.npz")["distances"]
            )
        else:
            assert (tmp_path / name).read_bytes() == (tmp_path / f"d.{kind}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["g.csv", f"d.{kind}", "table", "table.dat"])
    (tmp_path / "linked").symlink_to("table")
    (tmp_path / "table").write_text("before")
    good("-q", "solve", graph, "--output", tmp_path / "linked", "--output-format", kind)
    assert (tmp_path / "linked").is_symlink()  # and no device is replaced either
    assert (tmp_path / "table").stat().st_size == (tmp_path / "table.dat").stat().st_size
    words = ["solve", str(graph), "--output", "-", "--output-format", kind]
    if kind == "csv":
        done = apsp(*words)
        assert (done.exit_code, capfdbinary.readouterr().out) == (0, (tmp_path / "d.csv").read_bytes())
        assert "n=4" in done.stderr
    if kind == "npz":
        command, env = [sys.executable, "-m", "apsp", *words], {**os.environ, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
        assert np.load(io.BytesIO(run.stdout))["distances"].shape == (4, 4)
        assert b"n=4" in run.stderr
        assert not (tmp_path / "-").exists()
    assert "Give both" in apsp("solve", graph, "--output-format", kind).stderr
    if kind == "csv":
        good("-q", "solve", graph, "--reduce", "eccentricity", "--output", tmp_path / "e", "--output-format", kind)
        assert (tmp_path / "e").read_text().startswith("vertex,")
    else:
        bad(2, "solve", graph, "--reduce", "eccentricity", "--output", tmp_path / "e", "--output-format", kind)
