"""Square tables of numbers without names: a matrix where they can be nothing else, else a question."""

import io
import re
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

import apsp
from apsp import as_graph, shortest_paths
from apsp.doors.cli import main
from apsp.io.formats import read
from semiring.host.errors import FormatError, SemiringError, VertexError

INF = np.inf


def table(n: int, seed: int = 1) -> np.ndarray:
    """Symmetric distances with a missing edge, zeros on the diagonal, as no edge list would begin."""
    A = np.random.default_rng(seed).uniform(1, 9, (n, n)).round(2)
    A = np.triu(A, 1) + np.triu(A, 1).T
    A[0, n - 1] = A[n - 1, 0] = INF if n > 2 else A[0, n - 1]
    return A


@pytest.mark.parametrize("n", [2, 3, 4, 11])
def test_what_savetxt_writes_is_a_matrix(tmp_path, n):
    A = table(n)
    for suffix, separator, kind in product((".csv", ".tsv", ".txt", "", ".dat.gz"), ",;\t ", ("%.18e", "%g")):
        path = tmp_path / f"d{suffix}"
        np.savetxt(path, A, delimiter=separator, fmt=kind)
        graph = read(path)
        np.testing.assert_array_equal(graph.dense, A)
        np.testing.assert_array_equal(as_graph(str(path), null_value=None).dense, A)


def test_integers_stay_integers_and_columns_need_not_be_told_apart(tmp_path):
    A = np.array([[0, 4, 7, 9], [4, 0, 5, 2], [7, 5, 0, 8], [9, 2, 8, 0]])
    for separator in ",;\t ":
        np.savetxt(tmp_path / "d.csv", A, delimiter=separator, fmt="%d")
        found = read(tmp_path / "d.csv").dense
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, A)
    big = "0 9007199254740993\ninf 0.5\n"
    with pytest.raises(FormatError, match=r":1: .*hold exactly"):
        read(io.StringIO(big))


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("text", ["0 1\n1 0", "5 7\n7 9", "0 1 5\n1 2 7\n0 2 3", "0 1 inf\n1 0 2.5\n2 1 0"])
def test_what_can_be_both_is_a_question_whose_answers_work(tmp_path, text, separator):
    (tmp_path / "t.txt").write_text(text.replace(" ", separator) + "\n")
    (tmp_path / "t.csv").write_text(text.replace(" ", separator) + "\n")
    width = len(text.split("\n"))
    A = np.array([row.split() for row in text.split("\n")], float)
    for name in ("t.txt", "t.csv"):
        path = str(tmp_path / name)
        with pytest.raises(FormatError, match="may be a matrix or edges") as caught:
            shortest_paths(path)
        call, columns = re.search(r"Say (.*) for the matrix, columns=(\(.*?\)) for edges", str(caught.value)).groups()
        np.testing.assert_array_equal(eval(call, {"apsp": apsp}).dense, A)
        np.testing.assert_array_equal(as_graph(path, null_value=0).dense, A)
        edges = as_graph(path, columns=eval(columns))
        assert edges.dense is None
        assert edges.edge_count == width
        said = CliRunner().invoke(main, ["solve", path]).output
        shell = re.search(r"Say (--format matrix) for the matrix, (--columns [\d,]+) for edges", said).groups()
        for way, more in zip(shell, (["--null-value", "none"], []), strict=True):
            done = CliRunner().invoke(main, ["solve", path, *way.split(), *more])
            assert done.exit_code == 0, done.output


@pytest.mark.parametrize("comment", ["distances", "from,to,weight", "a\nb; c"])
@pytest.mark.parametrize("delimiter", [",", ", ", ";", "\t", " "])
def test_comments_above_a_table_are_no_edges(tmp_path, delimiter, comment):
    """As `header=` of `numpy.savetxt` writes them."""
    A = np.array([[0, 1, 5], [1, 2, 7], [2, 0, 6]])
    for name in ("t.csv", "t.txt", "t"):
        for rows in (3, 2):
            path = tmp_path / name
            np.savetxt(path, A[:rows], delimiter=delimiter, fmt="%d", header=comment)
            graph = read(path, columns=(0, 1, 2))
            found = [graph.labels[k] for k in graph.rows], [graph.labels[k] for k in graph.cols], graph.weights
            np.testing.assert_array_equal(found, A[:rows].T)
    wrong = path.read_text().replace("5", "x")
    path.write_text(wrong)
    with pytest.raises(FormatError, match=f":{wrong[: wrong.index('x')].count(chr(10)) + 1}: "):
        read(path, columns=(0, 1, 2))
    named = read(io.StringIO("#a,#b,3\n#b,#c,4\n"), columns=(0, 1, 2))
    assert named.labels == ["#a", "#b", "#c"]


@pytest.mark.parametrize("text", ["8, 6, 5\n2, 3, 0\n", "A, B, 4\n", "8; 6\n2; 3\n4; 4\n"])
def test_a_separator_with_a_blank_belongs_to_no_name(tmp_path, text):
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(FormatError, match="columns="):
        read(tmp_path / "t.txt")
    columns = tuple(range(len(re.split("[,;]", text.split("\n", 1)[0]))))
    assert text[0] in map(str, read(tmp_path / "t.txt", columns=columns).labels)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("names", [["0", "1"], ["2", "1"], ["0", "1", "2"], ["a", "b", "c"]])
def test_names_below_an_empty_corner_are_no_edges(tmp_path, names, separator):
    """As pandas writes a frame whose columns are its index."""
    A = np.arange(len(names) ** 2).reshape(len(names), -1)
    rows = [["", *names], *([name, *map(str, row)] for name, row in zip(names, A, strict=True))]
    for name in ("t.txt", "t", "t.csv"):
        (tmp_path / name).write_text("".join(separator.join(row) + "\n" for row in rows))
        graph = read(tmp_path / name)
        np.testing.assert_array_equal(graph.dense, A)
        assert list(map(str, graph.labels)) == names
    for indented in ("\t3 2\n\t0 1 5\n\t1 2 4\n", "\t3 2\n0 1 5\n1 2 4\n", "\t# x\n0\t1\n"):
        assert read(io.StringIO(indented)).edge_count == indented.count("\n") - 1


def test_what_says_that_it_lists_edges_is_not_asked(tmp_path):
    for name, text in (
        ("t.txt", "# Directed graph: g\n0 1\n1 2\n"),
        ("t.txt", "# FromNodeId\tToNodeId\n0\t1\n1\t2\n"),
        ("t.snap", "0 1\n1 2\n"),
        ("t.edges", "0 1\n1 2\n"),
    ):
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name).edge_count == 2
    assert read(io.StringIO("0 1\n1 2\n2 3\n")).edge_count == 3
    assert read(io.StringIO("0 1\n1 2\n"), format="edgelist").edge_count == 2


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_what_we_write_is_read_back(tmp_path, n, dtype):
    edges = [(k, k + 1, 3) for k in range(n - 1)] or [(0, 0, 3)]
    r = shortest_paths(edges, dtype=dtype)
    for name in ("t.txt", "t.csv"):
        r.save(tmp_path / name)
        graph = read(tmp_path / name)
        expected = np.array([[r.distance(u, v) for v in range(n)] for u in range(n)])
        np.testing.assert_array_equal(np.array(graph.dense, float), expected)
        np.testing.assert_array_equal(shortest_paths(graph, null_value=None).distance(0, n - 1), 3 * (n - 1))
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "t.txt", ndmin=2), expected)


def test_tables_that_we_write_and_that_are_no_graph_say_so(tmp_path):
    r = shortest_paths([("a", "b", 3), ("b", "c", 4)], sources=["a", "b"])
    r.save(tmp_path / "t.txt")
    with pytest.raises(FormatError, match="square"):
        read(tmp_path / "t.txt")


def test_tables_of_truth_values_are_read_back(tmp_path):
    r = shortest_paths([("a", "b"), ("b", "c")], semiring="boolean")
    for name in ("t.txt", "t.csv"):
        r.save(tmp_path / name)
        found = read(tmp_path / name).dense
        assert found.dtype == bool
        np.testing.assert_array_equal(found, np.triu(np.ones((3, 3), bool)))


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("0,nan,2,3\n" * 4, {}, ":1: an entry must be a number, got 'nan'"),
        ("0 1 2\nnan 0 1\n2 3 4\n", {}, ":2: an entry must be a number, got 'nan'"),
        ("0 1 2\n∞ 0 1\n2 3 4\n", {"format": "matrix"}, ":2: an entry must be a number, got '∞'"),
        ("0 1.5\ninf 0\n1 2\n", {}, "a vertex must be"),
        ("0,1.5,3\ninf,0,2\n1,2,2\n4,4,4\n", {"columns": (0, 1, 2)}, "a vertex must be"),
        ("from,to,weight\n1,nan,2\n3,4,5\n", {}, ":2: a vertex must be"),
        ("0,1,2\n3,4,5\n", {}, "square matrix"),
        ("0\t1\n\t\n5.5\t2\n", {"format": "csv"}, "square matrix"),
        ("0,x,2,3\n" * 4, {}, "the header must name"),
        ("0,1,2,3\n1,0,x,3\n1,2,0,3\n1,2,3,0\n", {}, ":2: an entry must be a number, got 'x'"),
        ("0,1,2,3\n1,0,2\n1,2,0,3\n1,2,3,0\n", {}, ":2: "),
        ("0,1,2,3\n1,0,4,5\n2,4,0,6\n3,5,6,0\n", {}, "may be a matrix of 4 vertices, or of 3"),
    ],
)
def test_what_is_neither_is_refused_with_its_line(text, options, words):
    with pytest.raises(FormatError, match=words):
        read(io.StringIO(text), **options)


def test_infinity_and_nan_are_no_vertices():
    for value in (INF, -INF, float("nan"), np.float64("nan")):
        with pytest.raises(VertexError, match="finite"):
            as_graph([(1.0, value, 3), (2.0, 1.0, 4)])
        for frames in ("pandas", "polars"):
            library = pytest.importorskip(frames)
            with pytest.raises(SemiringError, match=r"finite|a vertex must have a name"):
                as_graph(library.DataFrame({"from": [1.0, value], "to": [2.0, 1.0], "weight": [3, 4]}))
    assert as_graph([("NAN", "INF", 3)]).n == 2  # airports of Fiji and Algeria
    assert read(io.StringIO("from,to,km\nNAN,INF,3\nSUV,NAN,2\n")).n == 3


def test_a_frame_without_a_header_is_a_matrix(tmp_path):
    pd = pytest.importorskip("pandas")
    A = table(5)
    np.savetxt(tmp_path / "d.csv", A, delimiter=",")
    np.testing.assert_array_equal(as_graph(pd.read_csv(tmp_path / "d.csv", header=None)).dense, A)
    pd.DataFrame(A).to_csv(tmp_path / "e.csv", header=False, index=False)
    np.testing.assert_array_equal(read(tmp_path / "e.csv").dense, A)
    with pytest.raises(FormatError, match="header=None"):
        as_graph(pd.read_csv(tmp_path / "d.csv"))
    for n in (2, 3):
        B = pd.DataFrame(table(n))
        np.testing.assert_array_equal(as_graph(B).dense, table(n))
        with pytest.raises(FormatError, match="may be a matrix or edges"):
            as_graph(pd.DataFrame(np.arange(n * n).reshape(n, n)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("weight", [(), (3,), (0.5,)], ids=["unweighted", "int", "float"])
def test_a_text_that_we_or_savetxt_write_is_what_it_was(tmp_path, n, weight, recwarn):
    """Lists of edges and tables, in every text format, also where the suffix says nothing."""
    for first in (0, 1, 7):
        graph = apsp.Graph.from_edges([(first + k, first + (k + 1) % n, *weight) for k in range(n)])
        for name, format in (("g.edges", None), ("g.txt", "edgelist"), ("g.txt", "snap"), ("g.txt", "csv")):
            apsp.write(graph, tmp_path / name, format=format)
            assert read(tmp_path / name) == graph
    A = np.where(np.arange(n) > 3, INF, np.add.outer(np.arange(n), np.arange(n)) + sum(weight))
    for name, separator in (("d.txt", " "), ("d.csv", ","), ("d.tsv", "\t"), ("d", ";")):
        np.savetxt(tmp_path / name, A, delimiter=separator)
        np.testing.assert_array_equal(read(tmp_path / name).dense, A)
    assert not recwarn.list


@pytest.mark.parametrize("first", ["0" + "9" * 20, "9" * 5000])
def test_a_first_line_of_many_digits_is_no_number_of_rows(tmp_path, first):
    (tmp_path / "t.txt").write_text(f"{first}\n0 0 0\n")
    with pytest.raises(FormatError, match=r"t\.txt"):
        read(tmp_path / "t.txt")
