"""Answers as they leave the library: numbers, arrays, tables, files, pictures, notebooks, pickles."""

from __future__ import annotations

import copy
import csv
import math
import os
import pickle
import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import get_args

import cases
import networkx as nx
import numpy as np
import pytest
from damage import check_damaged
from processes import ROOT

import semiring
from apsp import Graph, Reachability, Result, as_graph, critical_path, plan, shortest_paths, transitive_closure
from semiring import AlgebraError, DivergenceError, DTypeError, FormatError, ShapeError, VertexError
from semiring.sparse import analyse

INF = math.inf
ROAD = [("a", "b", 3), ("b", "c", 4)]


@pytest.fixture(params=["int32", "int16", "int64", "float32", "float64"])
def roads(request):
    return shortest_paths(ROAD, dtype=request.param)


def test_no_path_is_inf_whatever_the_dtype(roads):
    assert roads.distance("c", "a") == INF
    assert roads.distance("a", "c") == 7
    assert type(roads.distance("a", "c")) is (int if roads.distances.dtype.kind == "i" else float)
    assert np.asarray(roads).tolist() == [[0, 3, 7], [INF, 0, 4], [INF, INF, 0]]
    assert roads.text().splitlines()[3].split() == ["c", "inf", "inf", "0" if roads.infinity != INF else "0.0"]


def test_distances_stay_exact_beside_their_sentinel(roads):
    D = roads.distances
    assert roads.infinity == (np.iinfo(D.dtype).max if D.dtype.kind == "i" else INF)
    np.testing.assert_array_equal(roads.reachable, [[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(roads.reachable, D != roads.infinity)


def test_no_path_is_minus_inf_in_max_plus():
    r = shortest_paths(ROAD, "max_plus")
    assert r.distances.dtype == np.int32
    assert r.distance("c", "a") == -INF
    assert r.infinity == np.iinfo(np.int32).min
    assert np.asarray(r).tolist() == [[0, 3, 7], [-INF, 0, 4], [-INF, -INF, 0]]


def test_both_infinities_of_bottlenecks():
    r = shortest_paths(ROAD, "max_min")
    assert np.asarray(r).tolist() == [[INF, 3, 3], [-INF, INF, 4], [-INF, -INF, INF]]
    assert shortest_paths(ROAD, "boolean").distance("c", "a") is False
    assert shortest_paths([("a", "b", 0.5)], "reliability").distance("b", "a") == 0.0


def test_distances_of_several_pairs_broadcast_as_reaches_does(roads):
    us, vs = np.array(["a", "c"]), np.array(["c", "b", "a"])
    assert roads.distance(us[:, None], vs).tolist() == [[7, 3, 0], [0, INF, INF]]
    assert roads.distance("a", ["b", "c"]).tolist() == [3, 7]
    assert roads.distance(["a", "b"], "c").tolist() == [7, 4]
    assert roads.distance([], []).shape == (0,)
    with pytest.raises(VertexError, match="'z'"):
        roads.distance(["a", "z"], "c")
    t = transitive_closure(ROAD, reflexive=True)
    np.testing.assert_array_equal(t.reaches(us[:, None], vs), np.isfinite(roads.distance(us[:, None], vs)))


def test_a_tuple_is_one_label():
    r = shortest_paths([((0, 0), (0, 1), 5)])
    assert r.distance((0, 0), (0, 1)) == 5
    assert r.distance([(0, 0), (0, 1)], (0, 1)).tolist() == [5, 0]
    t = transitive_closure([((0, 0), (0, 1))])
    assert t.reaches((0, 0), (0, 1)) is True


def test_an_integer_that_a_float_would_round_is_refused():
    r = shortest_paths([("a", "b", 2**53 + 1), ("a", "c", 2**60)])
    assert r.distance("a", "b") == 2**53 + 1
    assert r.distance(["a"], ["c"]).tolist() == [2.0**60]
    for ask in (lambda: r.distance(["a"], ["b"]), lambda: np.asarray(r), lambda: r.to_frame()):
        with pytest.raises(DTypeError, match="distances"):
            ask()
    assert "9007199254740993" in r.text()


def test_as_an_array():
    r, f = shortest_paths(ROAD), shortest_paths(ROAD, dtype="float64")
    assert np.asarray(f) is f.distances
    assert np.array(f) is not f.distances
    np.testing.assert_array_equal(np.asarray(r, np.int32), r.distances)
    assert np.asarray(r, np.float32).dtype == np.float32
    assert np.mean(shortest_paths([("a", "b", 1), ("b", "a", 1)])) == 0.5
    with pytest.raises(DTypeError, match="int64"):
        np.asarray(r, np.int64)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(r, copy=False)


@pytest.mark.parametrize(
    "names", [[" x", "x ", "x"], ["1", "2", "3"], ["", "0", "a"], ["a;b;c;d", "e\tf", 'g "h"'], ["\u2028", "é, q", "'"]]
)
def test_a_csv_keeps_names_that_are_text(tmp_path, names):
    shortest_paths([(names[0], names[1], 3), (names[1], names[2], 4)]).save(tmp_path / "d.csv")
    with open(tmp_path / "d.csv", newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == ["", *sorted(names)]  # as other programs find them
    again = shortest_paths(str(tmp_path / "d.csv"))
    assert list(again.graph.labels) == sorted(names)
    assert again.distance(names[0], names[2]) == 7


def test_a_csv_says_inf(tmp_path):
    r = shortest_paths([("a", "b", 2**53 + 1)])
    r.save(tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text().split() == [",a,b", "a,0,9007199254740993", "b,inf,0"]
    shortest_paths(ROAD, "max_plus").save(tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text().split()[2] == "b,-inf,0,4"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_the_library_that_came_in(library):
    frames = pytest.importorskip(library)
    r = shortest_paths(frames.DataFrame({"a": [0.0, INF], "b": [3.0, 0.0]}).to_numpy())
    r = Result(r.distances, r.graph, r.semiring, r.plan, r.seconds, library)
    assert isinstance(r.to_frame(), frames.DataFrame)
    long = r.to_frame([1], long=True)
    assert isinstance(long, frames.DataFrame)
    assert list(long.columns) == ["from", "to", "distance"]
    assert long.to_numpy().tolist() == [[1, 0, INF], [1, 1, 0]]


def test_a_pandas_table_has_the_labels():
    pandas = pytest.importorskip("pandas")
    wide = shortest_paths([(("x", 1), "b", 3)]).to_frame()
    assert wide.loc["b"].tolist() == [INF, 0]
    six = shortest_paths([*cases.SIX_EDGES]).to_frame(rows=["C", "A"], cols=np.array(["B", "F"]))
    assert (list(six.index), list(six.columns)) == (["C", "A"], ["B", "F"])
    assert six.loc["C", "B"] == 11
    assert (six.index.name, six.columns.name) == ("from", "to")
    assert isinstance(six, pandas.DataFrame)


def test_a_polars_table_has_the_labels():
    polars = pytest.importorskip("polars")
    r = shortest_paths([*cases.SIX_EDGES])
    wide = Result(r.distances, r.graph, r.semiring, r.plan, r.seconds, "polars").to_frame(["C"])
    assert wide.equals(
        polars.DataFrame({"from": ["C"], "A": [7.0], "B": [11.0], "C": 0.0, "D": 6.0, "E": 5.0, "F": 4.0})
    )


def test_without_a_library_of_tables_the_error_names_one(monkeypatch):
    from apsp.io.display import frames

    monkeypatch.setattr(frames.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pandas"):
        shortest_paths(ROAD).to_frame()


GRAPHS = {
    "edges": ([*cases.SIX_EDGES], {}),
    "undirected": ([("a", "b", 2.5), ("b", "c", 1.0)], {"directed": False}),
    "unweighted": ([(0, 1), (1, 2)], {}),
    "matrix": (np.array([[0, 3, INF], [INF, 0, 4], [1, INF, 0]]), {}),
    "max_plus": (ROAD, {"semiring": "max_plus"}),
    "empty": ([], {}),
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_saved_and_loaded_it_answers_the_same(tmp_path, kind):
    source, options = GRAPHS[kind]
    r = shortest_paths(source, **options)
    r.save(tmp_path / "r.npz")
    again = Result.load(tmp_path / "r.npz")
    assert again.distances.dtype == r.distances.dtype
    np.testing.assert_array_equal(again.distances, r.distances)
    assert again.labels == r.labels
    assert (again.plan, again.seconds, again.semiring) == (r.plan, r.seconds, r.semiring)
    for u, v in zip(*np.nonzero(r.reachable), strict=True):
        assert again.path(r.labels[u], r.labels[v]) == r.path(r.labels[u], r.labels[v])


def test_over_a_semiring_of_ones_own_it_is_given_again(tmp_path):
    mine = semiring.Semiring(
        "mine", add=semiring.min_plus.add, mul=semiring.min_plus.mul, zero=INF, one=0, samples=(1, 2)
    )
    shortest_paths([("a", "b", 0.5)], mine).save(tmp_path / "r.npz")
    with pytest.raises(AlgebraError, match=r"'mine'.*semiring="):
        Result.load(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz", mine).path("a", "b") == ["a", "b"]
    shortest_paths([("a", "b", 0.5)]).save(tmp_path / "s.npz")
    assert Result.load(tmp_path / "s.npz", "tropical").path("a", "b") == ["a", "b"]
    with pytest.raises(AlgebraError, match="that of what was computed, min_plus, got max_min"):
        Result.load(tmp_path / "s.npz", "max_min")


def test_a_damaged_result_is_a_format_error_that_names_it(tmp_path):
    r, path = shortest_paths([*cases.SIX_EDGES]), tmp_path / "r.npz"
    r.save(path)

    def reads_the_same() -> bool:
        again = Result.load(path)
        same = again.labels == r.labels and again.plan == r.plan and (again.distances == r.distances).all()
        return same and again.path("C", "B") == r.path("C", "B")

    check_damaged(path, reads_the_same)
    np.savez(path, distances=np.zeros((2, 2)))
    with pytest.raises(FormatError, match="Result"):
        Result.load(path)


@pytest.mark.parametrize("seed", range(4))
def test_counts_by_either_end_are_networkx_s(seed):
    graph = nx.gnp_random_graph(70, 1.3 / 70, seed=seed, directed=True)
    for reflexive in (False, True):
        for schedule in ("auto", "recursive"):
            t = transitive_closure(graph, reflexive=reflexive, schedule=schedule)
            expected = t.to_bool()
            np.testing.assert_array_equal(t.counts(axis=0), expected.sum(axis=0))
            np.testing.assert_array_equal(t.counts(axis=1), expected.sum(axis=1))
    plain = transitive_closure(graph, reflexive=True)
    assert plain.counts(axis=0).tolist() == [len(nx.ancestors(graph, v)) + 1 for v in graph]
    with pytest.raises(ValueError, match="axis"):
        plain.counts(axis=2)


def test_control_characters_reach_no_page_and_no_terminal():
    """Of labels, of a graph's name, and of a file's, in answers and in errors."""
    bad = "x\x1b[2J\x9b\u202ey"
    r = shortest_paths(replace(as_graph([(bad, "b", 2)]), name=bad))
    t, project = transitive_closure([(bad, "b")]), critical_path({bad: 2})
    pages = [shown._repr_html_() for shown in (r, r.graph, t, project)]
    for text in (*pages, r.text(), str(FormatError(bad, None, "no graph"))):
        assert not set(text) & set("\x1b\x9b\u202e")
    assert all(r"x\x1b[2J\x9b\u202ey" in text for text in (pages[0], pages[2], pages[3], r.text()))
    assert "\n" in r.plan._repr_html_()


def test_what_is_shown_is_one_line_or_html():
    many = shortest_paths(np.ones((12, 12)))
    shown = [shortest_paths([("<b>", "c", 1)]), many, transitive_closure(ROAD), plan(5), many.graph]
    for answer in shown:
        assert "\n" not in repr(answer)
        html = answer._repr_html_()
        assert html.count("<table>") == html.count("</table>")
        assert "<b>" not in html
    assert "&lt;b&gt;" in shown[0]._repr_html_()
    assert "inf" in shown[0]._repr_html_()
    assert "first 10 of 12" in many._repr_html_()
    assert "2 vertices" in repr(shown[0])
    assert "min_plus" in repr(shown[0])


def test_equality_is_identity():
    r, t = shortest_paths(ROAD), transitive_closure(ROAD)
    assert r == r
    assert r != shortest_paths(ROAD)
    assert t != transitive_closure(ROAD)
    assert len({r, t, r}) == 2


@pytest.mark.parametrize("name", sorted(semiring.algebra.catalog.names()))
def test_a_semiring_of_the_catalog_is_pickled_by_name(name):
    s = semiring.get(name)
    assert pickle.loads(pickle.dumps(s)) is s
    assert copy.deepcopy(s) is s
    assert pickle.loads(pickle.dumps(s.add)) in (s.add,)
    assert getattr(semiring, s.name) is s


def test_a_semiring_of_ones_own_is_pickled_from_where_it_stands(tmp_path, monkeypatch):
    (tmp_path / "my_semirings.py").write_text(
        "from semiring import Op, Semiring, min_plus\n"
        "least = Semiring('least', add=min_plus.add, mul=Op('plus', python=lambda a, b: a + b, cuda='a + b'), "
        "zero=float('inf'), one=0, samples=(1, 2))\n"
        "def plus(a, b):\n    return a + b\n"
        "def make():\n    return Semiring('made', add=min_plus.add, mul=Op('plus', python=plus, cuda='a + b'), "
        "zero=float('inf'), one=0, samples=(1, 2))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import my_semirings

    assert pickle.loads(pickle.dumps(my_semirings.least)) is my_semirings.least
    made = my_semirings.make()
    assert pickle.loads(pickle.dumps(made)) == made
    lost = semiring.Op("lost", python=lambda a, b: a + b, cuda="a + b")
    with pytest.raises(pickle.PicklingError, match=r"lost.*<lambda>.*`def`"):
        pickle.dumps(lost)


def test_answers_are_pickled_after_questions_too():
    r, t = shortest_paths([*cases.SIX_EDGES]), transitive_closure([*cases.SIX_EDGES])
    expected = r.path("C", "B"), t.matrix, t.components(), t.reduction().n
    r2, t2 = pickle.loads(pickle.dumps((r, t)))
    assert isinstance(r2, Result)
    assert isinstance(t2, Reachability)
    assert (r2.path("C", "B"), t2.matrix, t2.components(), t2.reduction().n) == expected
    assert r2.semiring is r.semiring


def test_another_process_computes_over_a_pickled_semiring(tmp_path):
    code = """
        import multiprocessing
        from apsp import shortest_paths
        from semiring import min_plus

        def ask(job):
            edges, s = job
            return shortest_paths(edges, s)

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                (r,) = pool.map(ask, [([("a", "b", 4), ("b", "c", 7)], min_plus)])
            print(r.distance("a", "c"), r.path("a", "c"), r.semiring is min_plus)
    """
    # A file: another process imports the main program from where it stands.
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(code))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "11 ['a', 'b', 'c'] True\n", done.stderr


def test_pictures_are_axes(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    r = shortest_paths(ROAD)
    axes = r.plot()
    drawn = axes.images[0].get_array()
    assert drawn.max() == 7  # and not 2147483647
    assert np.ma.count_masked(np.ma.masked_invalid(drawn)) == 3
    ax = Figure().add_subplot()
    assert r.plot(ax=ax, path=r.path("a", "c")) is ax
    assert ax.collections[0].get_offsets().tolist() == [[1, 0], [2, 1]]
    on_map = r.plot(path=["a", "b", "c"], positions={"a": (0, 0), "b": (1, 0), "c": (1, 2)})
    assert on_map.lines[0].get_xydata().tolist() == [[0, 0], [1, 0], [1, 2]]
    assert list(tmp_path.iterdir()) == []
    assert on_map.get_title() == "a → c, 7, 3 vertices"
    degrees = {"a": (6, 59), "b": (7, 60), "c": (8, 61)}
    for unit, middle in ((1, 2), (1e6, 2), (1e5, 1 / np.cos(np.radians(6)))):  # of UTM's metres almost 1
        places = {name: (x * unit, y * unit) for name, (x, y) in degrees.items()}
        shown = r.plot(path=["a", "b", "c"], positions=places, unit=("minutes", 60))
        assert shown.get_aspect() == pytest.approx(middle)
        assert (shown.get_title(), shown.get_xticks().size) == ("a → c, 0.12 minutes, 3 vertices", 0)
    named = r.plot(values="a", positions=degrees, unit=("hours", 3), title="From a").figure.axes
    assert (named[0].get_title(), named[1].get_ylabel()) == ("From a", "hours from a")
    assert named[0].collections[2].get_array().tolist() == [0, 1, 7 / 3]
    r.plot(save=tmp_path / "d.svg", positions={"a": (0, 0)})
    assert (tmp_path / "d.svg").read_text().startswith("<?xml")
    with pytest.raises(ValueError, match=r"\.png"):
        r.plot(save=tmp_path / "d.txt")


def test_edges_are_coloured_by_what_they_carry():
    pytest.importorskip("matplotlib").use("Agg")
    positions, row = {"a": (0, 0), "b": (1, 0), "c": (1, 2), "d": (3, 2)}, [*ROAD, ("c", "d", 1)]
    matrix = Graph.from_matrix(as_graph(row).matrix("min_plus"), labels=list("abcd"))
    for graph in (row, as_graph(row, directed=False), matrix):
        r = shortest_paths(graph)
        carried = r.edge_betweenness(normalized=False)
        lines = r.plot(positions=positions, edge=carried).collections[0]
        amount = lines.get_array().tolist()
        assert sorted(amount, reverse=True)[:3] == [4, 3, 3]
        fullest = lines.get_segments()[amount.index(4)]
        assert sorted(map(tuple, fullest.tolist())) == [(1, 0), (1, 2)]
        assert max(lines.get_linewidths()) == 4.4
        lines.axes.figure.canvas.draw()
        assert len({tuple(colour) for colour in lines.get_edgecolor()}) == len(set(amount)) > 1
        with pytest.raises(ShapeError, match="one number an edge"):
            r.plot(positions=positions, edge=[1, 2])
    with pytest.raises(ValueError, match="positions"):
        r.plot(edge=carried)


#: Public results that a type checker knows. Any are frames (pandas or Polars), what NetworkX and SciPy return, labels.
KNOWN = """
    r.distance('a','c') r.distance(['a'],['c']) r.path('a','c') r.paths([('a','c')]) r.paths([('a','c')])[0] r.distances
    r.table(['a'],['c']) r.reachable r.predecessors r.next_hops r.hops r.labels r.infinity next(r.rows())[1] r.plan
    r.edges('a','c') r.nearest(['a']) r.nearest(['a']).distance r.reduce('total') r.update({('a','b'):3}) r.graph
    r.hub_labels() r.k_paths('a','c',2) r.k_paths([('a','c')],2)[0] r.k_distances('a','c',2) r.all_paths('a','c')
    r.counts r.flows([('a','c',2)]) r.betweenness() r.edge_betweenness() r.tied(1e-9) r.eccentricity() r.diameter()
    r.farthest_pair() r.center() r.closeness() r.average_path_length() r.verify() r.text() r.to_geojson() r.explore()
    r.plot() apsp.Result.load('r.npz') t.reaches('a','c') t.reaches(['a'],['c']) t.path('a','c') t.descendants('a')
    t.components() t.reduction() t.counts() t.matrix t.to_bool() t.to_edges() t.update({('a','b'):False})
    apsp.reachable(edges,'x*').reaches('a','c') p.path p.slack p.plot() apsp.plan(5).engine closure(edges)
    closure([A,A]) closure(A,steps=True)[1] apsp.update(A,A,{(0,1):2}) apsp.predecessors(A,A) apsp.order(edges)
    apsp.negative_cycle(edges) apsp.hops([A]) apsp.check(edges,A) apsp.compare(A) apsp.read('r.gr') apsp.progress()
    apsp.road_like(5,seed=1) g.index('a') g.edges() g.having(directed=False) g==g semiring.matmul(A,A)
    semiring.matvec(A,[1,2,3]) semiring.power(A,2) semiring.eye(3) semiring.sum(A) semiring.prod(A) semiring.add(S,S)
    semiring.transpose(S) r.along semiring.matmul(A,A,witness=True) semiring.einsum('ij,jk->ik',A,A)
    semiring.get('tropical')
""".split()


def test_a_type_checker_finds_what_a_user_gets(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(
        "import semiring\n"
        "from apsp import as_graph, closure, critical_path, plan, shortest_paths, transitive_closure\n"
        "\n"
        "r = shortest_paths([('a', 'b', 4)], semiring.min_plus)\n"
        "t = transitive_closure([('a', 'b')])\n"
        "reveal_type(r)\n"
        "reveal_type(t)\n"
        "reveal_type(plan(5))\n"
        "reveal_type(critical_path({'a': 1}).path)\n"
        "reveal_type(r.distance('a', 'b'))\n"
        "reveal_type(t.reaches('a', 'b'))\n"
        "reveal_type(closure(semiring.BitMatrix.zeros((3, 3)), 'boolean'))\n"
        "reveal_type(closure([[0, 1], [1, 0]], output='x'))\n"
        "shortest_paths(as_graph([('a', 'b')]), engine='scipy', schedule='auto')\n"
        "shortest_paths(5)\n"
        "closure([[0]], 'min_pluss')\n"
        "shortest_paths('x.gr', engine='elimnation')\n"
        "print(t.reaches('a', 'b'), semiring.__version__)\n"
        "import apsp, numpy as np, scipy.sparse as sp\n"
        "edges, A, p, g = [('a', 'b', 4)], np.zeros((3, 3)), critical_path({'a': 1}), as_graph([('a', 'b', 4)])\n"
        "S = sp.csr_array(A)\n" + "".join(f"reveal_type({expression})\n" for expression in KNOWN)
    )
    options = ["--strict", "--allow-any-generics", "--no-incremental", "--config-file=", "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", *options, "program.py"]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert [x for x, found in zip(KNOWN, revealed[8:], strict=True) if found in ("Any", "object")] == []
    assert revealed[:8] == [
        *(
            "apsp.answers.result.Result",
            "apsp.answers.reach.reachability.Reachability",
            "apsp.road.plans.Plan",
            "list[Any]",
        ),
        *("float", "bool", "semiring.dense.bits.BitMatrix", "semiring.stores.tiles.store.TileStore"),
    ], done.stdout
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert wrong == {15, 16, 17}, done.stdout  # a number, a name of no semiring, a name of no engine
    assert (ROOT / "apsp" / "py.typed").exists()
    assert (ROOT / "semiring" / "py.typed").exists()


def test_names_for_type_checkers_are_those_that_are_there():
    from apsp.road import engines, schedules, types
    from semiring.host.types import SemiringName

    assert set(get_args(SemiringName)) == {name for s in semiring.CATALOG for name in (s.name, *s.aliases)}
    # One that is added without its name here works, and is unknown to type checkers.
    assert set(get_args(types.EngineName)) <= {"auto", *engines.names()}
    assert set(get_args(types.ScheduleName)) <= {"auto", *schedules.names()}


def test_the_catalog_prints_itself(capsys):
    from semiring.__main__ import main

    assert main([]) is None
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [s.name for s in semiring.CATALOG]
    assert main(["tropical"]) is None
    assert capsys.readouterr().out.splitlines() == lines[:1]
    assert "Did you mean 'tropical'?" in main(["tropica"])


def test_the_catalog_may_be_cut_off(monkeypatch):
    """As by `python -m semiring | head -1`."""
    from semiring.__main__ import main

    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1) as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main([]) is None


def test_errors_and_operations_have_their_names_in_both_packages():
    import apsp

    assert apsp.NegativeCycleError is semiring.NegativeCycleError
    assert apsp.FormatError is semiring.FormatError
    assert semiring.__version__ == apsp.__version__
    assert Graph is apsp.Graph


def test_whatever_is_printed_has_a_bound():
    """Every public answer about 3,000 vertices, in less than a screen."""
    n = 3000
    ring = [(f"vertex {i}", f"vertex {(i + 1) % n}", 1) for i in range(n)]
    r, t = shortest_paths(ring), transitive_closure(ring)
    tasks = critical_path([(i, 1, i - 1 if i else None) for i in range(n)])
    answers = [
        r,
        t,
        r.nearest(["vertex 0", "vertex 7"]),
        r.paths([("vertex 1", "vertex 0")]),
        r.plan,
        r.graph,
        r.labels,
    ]
    answers += [r.verify(rows=1), t.condensation, t.matrix, t.plan, as_graph(np.ones((n, n))), tasks]
    E, analysis = semiring.eliminate(r.graph.to_scipy()), analyse(r.graph.to_scipy())
    answers += [E, analysis, analysis.structure, analysis.arcs, semiring.min_plus, r.engine]
    for answer in answers:
        assert "\n" not in repr(answer)
        assert len(repr(answer)) < 500, type(answer)
        assert len(str(answer)) < 5000, type(answer)
        assert len(getattr(answer, "_repr_html_", str)()) < 10_000, type(answer)
    assert repr(tasks) == "<CriticalPath: 3000 tasks, 3000 in all: 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → … → 2999>"
    assert "(and 2940 tasks more: to_frame has all)" in str(tasks)
    with pytest.raises(DivergenceError) as caught:
        shortest_paths([(u, v, -1) for u, v, _ in ring])
    assert len(str(caught.value)) < 1000
    with pytest.raises(DivergenceError) as caught:
        critical_path([(i, 1, (i - 1) % n) for i in range(n)])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_nearest_as_a_table(library):
    frames = pytest.importorskip(library)
    r = shortest_paths([(5, 6, 3), (6, 7, 4), (9, 9, 0)])
    found = Result(r.distances, r.graph, r.semiring, r.plan, r.seconds, library).nearest([5, 6])
    assert repr(found) == "<Nearest: 4 vertices, 3 of them reached, best of 2 sources>"
    table = found.to_frame()
    assert isinstance(table, frames.DataFrame)
    assert table["vertex"].to_list() == list(found.vertices) == [5, 6, 7, 9]
    assert table["source"].to_list()[:3] == [5, 6, 6]
    assert type(table["source"].to_list()[0]) is int
    assert table["distance"].to_list() == [0, 0, 4, INF]
    source, distance = found
    assert (source, distance.tolist()) == ([5, 6, 6, None], [0, 0, 4, INF])
    assert "None" in found._repr_html_()
    assert list(r.nearest([7], towards=True).vertices) == [5, 6, 7, 9]


def test_vertices_are_coloured_by_values():
    pytest.importorskip("matplotlib").use("Agg")
    pandas = pytest.importorskip("pandas")
    from matplotlib.colors import to_rgba

    r, positions = shortest_paths(ROAD), {"a": (0, 0), "b": (1, 0), "c": (1, 2)}
    for values, said in (
        ("b", "distance from b"),
        (r.nearest(["b"]).distance, ""),
        ([INF, 0, 4], ""),
        ({"b": 0, "c": 4}, ""),
        (pandas.Series([4, 0], index=["c", "b"]), ""),
    ):
        ax = r.plot(positions=positions, values=values)
        _, grey, coloured = ax.collections
        assert grey.get_offsets().tolist() == [[0, 0]]
        assert to_rgba(grey.get_facecolor()[0]) == to_rgba("0.7")
        assert coloured.get_offsets().tolist() == [[1, 0], [1, 2]]
        assert coloured.get_array().tolist() == [0, 4]
        assert ax.figure.axes[1].get_ylabel() == said
    part = shortest_paths(ROAD, sources=["a"], targets=["c", "b"])
    assert part.plot(positions=positions, values="a").collections[2].get_array().tolist() == [3, 7]
    grid = shortest_paths([((0, 0), (0, 1), 5)])
    ax = grid.plot(positions={(0, 0): (0, 0), (0, 1): (0, 1)}, values=(0, 0))
    assert ax.collections[2].get_array().tolist() == [0, 5]
    for values, error, words in (
        ("z", VertexError, "'z'"),
        ([1, 2], ShapeError, r"one number a vertex, shape \(3,\).*got shape \(2,\)"),
        ({"z": 1}, VertexError, "'z'"),
        (["x", "y", "z"], DTypeError, "plot: values must be numbers, got"),
        ({"a": "x"}, DTypeError, "plot: values must be numbers, got"),
    ):
        with pytest.raises(error, match=words):
            r.plot(positions=positions, values=values)
    with pytest.raises(DTypeError, match="plot: values must be numbers, got"):
        r.plot(positions=positions, edge=["x", "y"])
    with pytest.raises(ShapeError, match="text: count must be at least 0, got -1"):
        r.text(-1)
    with pytest.raises(ValueError, match="positions="):
        r.plot(values="a")
