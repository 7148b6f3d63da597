"""Every file format, plain and gzipped, in and out, against SciPy, NetworkX or a loop; malformed files by table."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import re
import stat
import warnings
import xml.etree.ElementTree
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import cases
import networkx as nx
import numpy as np
import people
import pytest
import scipy.io
import scipy.sparse as sp

import apsp
from apsp import shortest_paths
from apsp.generate import cycle, grid, random_graph
from apsp.io.formats import formats, names, read, write, written
from apsp.io.graph import Graph
from apsp.io.inputs import as_graph
from apsp.io.labels import Labels
from apsp.io.reading.positions import read_labels, read_pairs, read_positions
from semiring.host.errors import DomainError, FormatError

#: SciPy 1.18 asks its callers which class they want.
of_scipys_reader = pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")

INF = np.inf
#: The formats that are written as well as read.
WRITTEN = written()
SUFFIX = {name: formats()[name].suffixes[0] for name in names()}


def put(path: Path, content: str | bytes) -> Path:
    """The content in a file, gzipped where the name says so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def npy(array: np.ndarray, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def small(graph: Graph) -> np.ndarray:
    return graph.matrix("min_plus", "float64")


class TestReading:
    @pytest.mark.parametrize("suffix", ["", ".gz"])
    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_named(self, tmp_path, suffix, newline):
        graph = read(put(tmp_path / f"g.named{suffix}", cases.SIX_NAMED.replace("\n", newline)))
        assert graph.labels == tuple("ABCDEF")
        assert graph.name == "g"
        assert cases.listed(graph) == list(cases.SIX_EDGES)
        assert graph.matrix().dtype == np.int32

    def test_named_reads_no_further_than_its_end(self, tmp_path):
        graph = read(put(tmp_path / "g.named", "\n a b  1.5\n\n  --END-- \nthe rest\n"))
        assert graph.labels == ("a", "b")
        assert graph.weights.tolist() == [1.5]
        assert read(put(tmp_path / "e.named", "--END--")).n == 0

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("source,target,weight\na,b,1\nb,c,2\n", [("a", "b", 1), ("b", "c", 2)]),
            ("From;To;Length\na;b;1.5\n", [("a", "b", 1.5)]),
            ("cost\tdst\tsrc\n3\tx y\tz\n", [("z", "x y", 3)]),
            ('﻿source,target,distance,airline\n"a, b","c ""d""",7,KL\n', [("a, b", 'c "d"', 7)]),
            ("source,target\n1,2\n10,2\n", [(1, 2, 1), (10, 2, 1)]),
            ("source,target\n01,2\n", [("01", "2", 1)]),
            ("\n\nu,v,w\nä,ö,-1e3\n\n", [("ä", "ö", -1000.0)]),
            ('source,target,weight\n"a\nb",c,1\n', [("a\nb", "c", 1)]),
            ("source,target,weight\n", []),
        ],
    )
    def test_csv(self, tmp_path, text, expected):
        for name in ("g.csv", "g.tsv.gz"):
            graph = read(put(tmp_path / name, text))
            assert cases.listed(graph) == expected

    def test_snap(self, tmp_path):
        text = "# Directed graph\n# Nodes: 3\r\n30\t1412\r\n\n3 30 # a remark\n1412\t3\n"
        graph = read(put(tmp_path / "g.txt.gz", text))
        assert graph.labels == (3, 30, 1412)
        assert graph.weights is None
        assert list(zip(*(x.tolist() for x in graph.edges()[:2]), strict=True)) == [(1, 2), (0, 1), (2, 0)]
        weighted = read(put(tmp_path / "w.txt", "5 7 2\n7 9 -3\n"))
        assert weighted.weights.tolist() == [2, -3]
        assert weighted.weights.dtype == np.int64
        assert read(put(tmp_path / "c.snap", "# nothing but this\n")).n == 0

    def test_dimacs(self, tmp_path):
        text = "c a road\nc\np sp 4 3\nc more\na 1 2 803\na  2 4  17\na 4 1 0\n"
        graph = read(put(tmp_path / "g.gr", text))
        assert graph.labels == (1, 2, 3, 4)
        assert graph.matrix()[graph.index(2), graph.index(4)] == 17
        assert graph.edge_count == 3
        assert graph.matrix().dtype == np.int32

    def test_plain(self, tmp_path):
        assert small(read(put(tmp_path / "g.plain", "2 3\n0 1 5\n0 1 3\n1 0 9.5\n"))).tolist() == [[INF, 3], [9.5, INF]]
        graph = read(put(tmp_path / "one.txt", "2 1\n1 2 5\n"), base=1)
        assert graph.labels == (1, 2)
        assert small(graph)[0, 1] == 5
        assert read(put(tmp_path / "e.plain", "3 0\n")).n == 3

    @pytest.mark.parametrize("kind", ["general", "symmetric", "skew-symmetric"])
    @pytest.mark.parametrize("field", ["real", "integer"])
    @pytest.mark.parametrize("layout", ["coordinate", "array"])
    @of_scipys_reader
    def test_matrixmarket_against_scipy(self, tmp_path, kind, field, layout):
        rng = np.random.default_rng(1)
        A = rng.integers(1, 9, (5, 5)) * (1 if field == "integer" else 0.5)
        A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[kind]
        path = tmp_path / "g.mtx"
        scipy.io.mmwrite(path, sp.coo_matrix(A) if layout == "coordinate" else A, symmetry=kind, comment="hello\n")
        graph = read(path)
        assert graph.labels == (1, 2, 3, 4, 5)
        back = scipy.io.mmread(path)
        expected = back if layout == "array" else as_graph(back).matrix("min_plus", "float64")
        np.testing.assert_array_equal(small(graph), expected)
        assert graph.directed == (kind != "symmetric" or layout == "array")
        assert graph.matrix().dtype.kind == ("i" if field == "integer" else "f")

    def test_matrixmarket_keeps_explicit_zeros_and_duplicates(self, tmp_path):
        text = "%%MatrixMarket matrix coordinate integer general\n% c\n3 3 4\n1 2 7\n1 2 5\n2 3 0\n3 3 1\n"
        assert small(read(put(tmp_path / "g.mtx.gz", text)))[:2].tolist() == [[INF, 5, INF], [INF, INF, 0]]
        pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
        graph = read(put(tmp_path / "p.mtx", pattern))
        assert graph.weights is None
        assert graph.matrix("boolean").sum() == 4
        empty = "%%MatrixMarket matrix coordinate real general\n0 0 0\n"
        assert read(put(tmp_path / "e.mtx", empty)).n == 0

    @pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "?", "u1"])
    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_npy(self, tmp_path, dtype, suffix):
        A = np.asfortranarray(np.arange(9).reshape(3, 3).astype(dtype))
        graph = read(put(tmp_path / f"a.npy{suffix}", npy(A)))
        np.testing.assert_array_equal(graph.dense, A)
        assert graph.dense.dtype == A.dtype

    def test_npz(self, tmp_path):
        A = np.array([[0, 2.5], [INF, 0]])
        graph = read(put(tmp_path / "a.npz", npz(matrix=A, labels=np.array(["x", "y"]))))
        assert graph.labels == ("x", "y")
        np.testing.assert_array_equal(graph.dense, A)
        np.testing.assert_array_equal(read(put(tmp_path / "b.npz.gz", npz(distances=A))).dense, A)
        sparse = sp.csr_array(([5, 0], ([0, 1], [1, 0])), shape=(2, 2))
        sp.save_npz(tmp_path / "c.npz", sparse)
        np.testing.assert_array_equal(small(read(tmp_path / "c.npz")), [[INF, 5], [0, INF]])

    def test_directed_is_the_callers_word(self, tmp_path):
        path = put(tmp_path / "g.csv", "source,target,weight\na,b,3\n")
        assert small(read(path, directed=False)).tolist() == [[INF, 3], [3, INF]]

    @pytest.mark.parametrize("suffix", ["named", "edgelist", "csv"])
    @pytest.mark.parametrize("names", [("1.5", "2"), ("inf", "nan"), ("1e3", "-inf"), ("1.5", "a"), ("1.0", "1e3")])
    def test_names_that_are_numbers_are_read_back_or_not_written(self, tmp_path, suffix, names):
        graph, path = Graph.from_edges([(*names, 17)], labels=names), tmp_path / f"g.{suffix}"
        numbers = [float(x) for x in names if x != "a"]
        fits = len(numbers) < 2 or all(math.isfinite(x) and (suffix == "csv" or x == int(x)) for x in numbers)
        if not fits:
            with pytest.raises(FormatError, match="names must not all be numbers, some infinite or with fractions"):
                write(graph, path)
            assert not path.exists()
            return
        write(graph, path)
        assert sorted(read(path).labels) == sorted(names)

    @pytest.mark.parametrize("suffix", ["named", "edgelist"])
    def test_an_integer_in_two_ways_is_not_written_where_it_is_not_read(self, tmp_path, suffix):
        with pytest.raises(FormatError, match=r"an integer must be written in one way, got '2' and '2.0'. Write csv"):
            write(as_graph([("2", "2.0", 17)]), tmp_path / f"g.{suffix}")
        write(as_graph([("02", "2", 17)]), tmp_path / f"g.{suffix}")
        assert sorted(read(tmp_path / f"g.{suffix}").labels) == ["02", "2"]

    def test_an_integer_beyond_floats_is_a_vertex(self, tmp_path):
        write(Graph.from_edges([(10**400, 1, 17)]), tmp_path / "g.named")
        assert set(read(tmp_path / "g.named").labels) == {10**400, 1}

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydot
    def test_content_decides_where_the_name_does_not(self, tmp_path):
        samples = {
            "named": cases.SIX_NAMED,
            "csv": "source;target\na;b\n",
            "snap": "# c\n1 2\n",
            "edgelist": "# c\nA B 4\nB 7 1\n",
            "geojson": '{"type": "FeatureCollection", "features": '
            '[{"geometry": null, "properties": {"u": 1, "v": 2, "weight": 3}}]}',
            "graphml": "\n".join(nx.generate_graphml(nx.path_graph(2))),
            "gml": "\n".join(nx.generate_gml(nx.path_graph(2))),
            "gexf": "\n".join(nx.generate_gexf(nx.path_graph(2))),
            "dot": 'strict graph "G" {\n"0" -- "1";\n}\n',
            "json": json.dumps(nx.node_link_data(nx.path_graph(2))),
            "tntp": "<NUMBER OF NODES> 2\n<FIRST THRU NODE> 1\n~ init_node term_node length ;\n1 2 3 ;\n",
            "graph6": nx.to_graph6_bytes(nx.path_graph(2)),
            "pajek": "\n".join(nx.generate_pajek(nx.path_graph(2))),
            "dimacs": "c hello\np sp 2 1\na 1 2 3\n",
            "plain": "2 1\n0 1 5\n",
            "matrix": "# matrix of 2 rows and 2 columns\n0 1\n1 0\n",
            "matrixmarket": "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
            "npy": npy(np.eye(2)),
            "npz": npz(matrix=np.eye(2)),
        }
        assert set(samples) == {name for name in names() if formats()[name].sniff}
        if not find_spec("pydot"):
            del samples["dot"]
        for name, content in samples.items():
            expected = [
                f
                for f in names()
                if f in samples and formats()[f].sniff(content.encode() if isinstance(content, str) else content)
            ]
            assert expected[0] == name
            for suffix in ("", ".txt", ".dat.gz"):
                assert read(put(tmp_path / f"file{suffix}", content)).n in (2, 3, 6)
        # Gzipped, and nothing says so but the content.
        (tmp_path / "quiet.txt").write_bytes(gzip.compress(cases.SIX_NAMED.encode()))
        assert read(tmp_path / "quiet.txt").n == 6

    def test_integers_stay_exact(self, tmp_path):
        big = 2**53 + 1
        for name, text in (("g.csv", f"u,v,w\n0,1,{big}\n"), ("g.plain", f"2 1\n0 1 {big}\n")):
            graph = read(put(tmp_path / name, text))
            assert graph.matrix()[0, 1] == big
            assert graph.matrix().dtype == np.int64

    def test_infinity_written_out_is_a_missing_edge(self, tmp_path):
        for name, text in (
            ("g.snap", "0 1 inf\n1 0 5\n1 1 -Infinity\n"),
            ("g.csv", "u,v,w\n0,1,inf\n1,0,5\n1,1,-Infinity\n"),
            ("g.named", "0 1 +INF\n1 0 5\n1 1 -inf\n--END--\n"),
        ):
            assert read(put(tmp_path / name, text)).weights.tolist() == [INF, 5, -INF]

    def test_large_integers_that_floats_hold_may_stand_beside_floats(self, tmp_path):
        for name, text in (
            ("g.snap", f"0 1 {2**60}\n1 0 0.5\n1 1 {10**22}\n"),
            ("g.csv", f"u,v,w\n0,1,{2**60}\n1,0,0.5\n1,1,{10**22}\n"),
        ):
            assert read(put(tmp_path / name, text)).weights.tolist() == [2.0**60, 0.5, 1e22]
        weights = read(put(tmp_path / "h.snap", f"0 1 3\n1 0 {2**64}\n")).weights
        assert weights.tolist() == [3, 2**64]

    @pytest.mark.parametrize("newline", ["\r", "\r\n", "\n"])
    @pytest.mark.parametrize("mark", ["", "\ufeff"])
    def test_content_decides_whatever_ends_lines(self, tmp_path, newline, mark):
        samples = {
            "source;target;weight\na;b;3\n": ("a", "b"),
            "p sp 2 1\na 1 2 3\n": (1, 2),
            "2 1\n0 1 5\n": (0, 1),
            "5 7\n7 9\n5 9\n": (5, 7, 9),
            "a b 3\n--END--\n": ("a", "b"),
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n": (1, 2),
        }
        for text, labels in samples.items():
            assert read(put(tmp_path / "g.txt", mark + text.replace("\n", newline))).labels == labels

    def test_two_numbers_are_an_edge_and_not_without_a_word(self, tmp_path):
        for text, edges in (("5 0\n", 1), ("\n3 2\n0 1\n\n1 2\n", 3), ("3 2\n0 1\n1 2", 3)):
            path = put(tmp_path / "g.txt", text)
            with pytest.warns(UserWarning, match="format='plain'"):
                graph = read(path)
            assert graph.edge_count == edges
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert read(path, format="snap").edge_count == edges
                assert read(path, format="plain").edge_count == edges - 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert read(put(tmp_path / "h.txt", "# c\n5 0\n")).edge_count == 1
            assert read(put(tmp_path / "h.txt", "5 0\n1 2\n3 4\n")).edge_count == 3
            assert read(put(tmp_path / "h.snap", "5 0\n")).edge_count == 1

    def test_snap_says_whether_edges_lead_both_ways(self, tmp_path):
        comments = {
            "# Undirected graph: ../../data/output/com-dblp.ungraph.txt\n# Nodes: 2 Edges: 1\n": False,
            "# undirected Graph\n": False,
            "# Directed graph (each unordered pair of nodes is saved once): x.txt\n": True,
            "# Directed graph: an Undirected graph\n": True,
            "# an undirected graph once\n": True,
        }
        for comment, directed in comments.items():
            path = put(tmp_path / "g.txt.gz", f"{comment}5\t7\n")
            assert read(path).directed == directed
            assert small(read(path))[1, 0] == (INF if directed else 1)
            assert read(path, directed=True).directed

    def test_snap_counts_its_edges(self, tmp_path):
        text = "# Nodes: 3 Edges: 2\n1 2\n2 3\n"
        assert read(put(tmp_path / "g.snap", text)).edge_count == 2
        with pytest.warns(UserWarning, match=r"g\.snap: its comment counts 2 edges, and it lists 1"):
            assert read(put(tmp_path / "g.snap", text[:-4])).edge_count == 1

    def test_csv_quotes_keep_what_they_hold(self, tmp_path):
        text = 'source,target,weight\n" a ", b ,1\n"",b,"2"\n5" x,"c ",3\n" ""q"" ",7,4\n'
        graph = read(put(tmp_path / "g.csv", text))
        assert [graph.labels[u] for u in graph.rows] == [" a ", "", '5" x', ' "q" ']
        assert [graph.labels[v] for v in graph.cols] == ["b", "b", "c ", "7"]
        assert graph.weights.tolist() == [1, 2, 3, 4]
        assert read(put(tmp_path / "g.csv", 'u,v\n"1",2\n')).labels == ("1", "2")
        assert read(put(tmp_path / "g.tsv", 'u\tv\n"a\t "\t"1"\n')).labels == ("1", "a\t ")


class TestColumns:
    """One rule says which column holds what; nothing is guessed."""

    @pytest.mark.parametrize(
        ("text", "options", "expected"),
        [
            ("from,to,minutes\nA,B,295\n", {}, [("A", "B", 295)]),
            ("from,to,probability\nA,B,0.5\n", {}, [("A", "B", 0.5)]),
            ("from,to,lanes,distance\nA,B,2,7\n", {}, [("A", "B", 7)]),
            ("from,to,distance,cost\nA,B,2,7\n", {"weight": "cost"}, [("A", "B", 7)]),
            ("from,to,distance,cost\nA,B,2,7\n", {"weight": 2}, [("A", "B", 2)]),
            ("from,to,minutes\nA,B,295\n", {"weight": None}, [("A", "B", 1)]),
            ("a,b,c\nA,B,295\n", {"columns": ("b", "a", "c")}, [("B", "A", 295)]),
            ("a,b,c\nA,B,295\n", {"columns": ("b", "a")}, [("B", "A", 295)]),
            ("a,b,c,d\nA,B,5,6\n", {"columns": ["A", "B"], "weight": "D"}, [("A", "B", 6)]),
            ("A,B,5,6\nB,C,7,8\n", {"columns": (0, 1, 3)}, [("A", "B", 6), ("B", "C", 8)]),
            ("A;B;5\n", {"columns": (1, 0)}, [("B", "A", 5)]),
            ('"A","B",5\n', {"columns": (0, 1), "weight": None}, [("A", "B", 1)]),
            ('"from", "to", "km"\n"A", "B", 5\n "B","C", 6\n', {}, [("A", "B", 5), ("B", "C", 6)]),
        ],
    )
    def test_chosen(self, tmp_path, text, options, expected):
        blanks = text.replace(";", " ").replace(",", " ").replace('"', "")
        for path in (put(tmp_path / "g.csv", text), put(tmp_path / "g.txt", text), put(tmp_path / "b.dat.gz", blanks)):
            graph = read(path, **options)
            assert cases.listed(graph) == expected

    @pytest.mark.parametrize(
        ("text", "options", "line", "words"),
        [
            ("from,to,distance,cost\nA,B,1,2\n", {}, 1, ("'distance', 'cost'", "weight='distance'", "weight=None")),
            ("from,to,lanes,tolls\nA,B,1,2\n", {}, 1, ("'lanes', 'tolls'", "weight='lanes'", "weight=None")),
            ("from,to,airline\nA,B,KL\n", {}, 2, ("airline must be a number", "'KL'", "weight=None")),
            ("from,to,start,end\nA,B,1,2\n", {}, 1, ("more than one is", "columns=")),
            ("from,to,w,w\nA,B,1,2\n", {}, 1, ("more than one",)),
            ("from,to,minutes\nA,B,1\n", {"weight": "hours"}, 1, ("'hours'", "'minutes'")),
            ("from,to,minutes\nA,B,1\n", {"columns": ("from", "to", "hours")}, 1, ("'hours'",)),
            ("A,B,1\n", {"columns": (0, 1, 3)}, None, ("position 3", "3 columns")),
            ("1,2,3\n", {"columns": (0, 1, 1)}, None, ("another column than the ends", "got 1")),
            ("from,to,km\n1,2,3\n", {"weight": "to"}, 1, ("another column than the ends", "'to'")),
            ("1,2,3\n", {"columns": (0, 0, 2)}, None, ("either end", "got 0")),
            ("A,B,1\nC,D\n", {"columns": (0, 1, 2)}, 2, ("3 fields",)),
            ("A,B,1\n\nC,D,x\n", {"columns": (0, 1, 2)}, 3, ("'x'",)),
        ],
    )
    def test_refused(self, tmp_path, text, options, line, words):
        for path in (put(tmp_path / "g.csv", text), put(tmp_path / "b.edges", text.replace(",", " "))):
            with pytest.raises(FormatError) as caught:
                read(path, **options)
            assert caught.value.line == line
            for word in words:
                assert word in str(caught.value)

    def test_formats_without_columns_say_so(self, tmp_path):
        path = put(tmp_path / "g.gr", "p sp 2 1\na 1 2 3\n")
        for options in ({"weight": "minutes"}, {"columns": (0, 1)}, {"base": 1}):
            with pytest.raises(ValueError, match=rf"{next(iter(options))}= is for one of the formats .*is dimacs"):
                read(path, **options)
        assert read(path, weight=None).weights is None
        with pytest.raises(ValueError, match="no format"):
            read(path, wait="minutes")

    @pytest.mark.parametrize("suffix", ["", ".txt", ".edgelist"])
    def test_names_of_digits_stay_different(self, tmp_path, suffix):
        """Such as 00501 of a postal code, where 501 is another one."""
        graph = read(put(tmp_path / f"g{suffix}", "00501 501 3\n501 10001 01\n"))
        assert sorted(graph.labels) == ["00501", "10001", "501"]
        assert sorted(graph.weights.tolist()) == [1, 3]

    @pytest.mark.parametrize("suffix", ["", ".txt", ".edgelist", ".ncol", ".dat.gz", ".csv", ".tsv.gz", ".snap"])
    def test_lists_of_names(self, tmp_path, suffix):
        """Whatever the suffix; but where snap's numbers are expected and some stand there, a name is damage."""
        for text, edges in (
            ("A B 4\nB C 7\n", [("A", "B", 4), ("B", "C", 7)]),
            ("# c\nA\tB\n\n  B   C # c\n", [("A", "B", 1), ("B", "C", 1)]),
            ("1 2\n3 x\n", [("1", "2", 1), ("3", "x", 1)]),
            ("from to minutes\nä ö 295\n", [("ä", "ö", 295)]),
            ("x y .5", [("x", "y", 0.5)]),
        ):
            if suffix == ".snap" and text.startswith("1"):
                with pytest.raises(FormatError, match=r"2: .*integer"):
                    read(put(tmp_path / f"g{suffix}", text))
                continue
            graph = read(put(tmp_path / f"g{suffix}", text))
            assert cases.listed(graph) == edges

    def test_many_edges_as_few(self, tmp_path):
        """Columns are cut at once where a text is plain, and row by row where it is not: the same edges, and lines."""
        rng = np.random.default_rng(0)
        edges = [(f"v{u}", f"v{v}", int(w)) for u, v, w in rng.integers(0, 300, (2000, 3))]
        plain = [f"{u},{v},{w}" for u, v, w in edges]
        for lines in (
            plain,
            [*plain[:7], "", *plain[7:]],
            [f'"{line.split(",")[0]}",{line.split(",", 1)[1]}' for line in plain],
        ):
            text = "\n".join(["source,target,weight", *lines])
            texts = [("g.csv", text)]
            if '"' not in text:
                texts += [("s.csv", text.replace(",", " , ")), ("g.edges", text.replace(",", "  "))]
            for name, content in texts:
                graph = read(put(tmp_path / name, content))
                assert cases.listed(graph) == edges
                wrong = "\n".join(
                    [*content.split("\n")[:1500], content.split("\n")[1500] + "x", *content.split("\n")[1501:]]
                )
                with pytest.raises(FormatError) as caught:
                    read(put(tmp_path / name, wrong))
                assert caught.value.line == 1501

    def test_open_files_and_buffers(self, tmp_path):
        text = "from,to,minutes\nA,B,295\n"
        path = put(tmp_path / "roads.csv", text)
        packed = io.BytesIO(gzip.compress(text.encode()))
        with open(path) as as_text, open(path, "rb") as as_bytes, gzip.open(put(tmp_path / "z.csv.gz", text)) as zipped:
            for file in (as_text, as_bytes, zipped, packed, io.StringIO(text), io.BytesIO(text.encode())):
                graph = read(file)
                assert graph.weights.tolist() == [295]
                assert not file.closed
            assert as_graph(io.StringIO(text)).labels == ("A", "B")
        with open(path) as named:
            assert read(named).name == "roads"
        begun = io.StringIO("title\n" + text)
        begun.readline()
        assert read(begun).edge_count == 1
        with pytest.raises(OSError, match=r"open for reading.*roads\.csv"):
            read(as_text)
        with open(tmp_path / "new", "w") as unreadable, pytest.raises(OSError, match="new"):
            read(unreadable)
        with pytest.raises(FormatError, match="open file:2"):
            read(io.StringIO("from,to,minutes\nA,B,x\n"))


class TestThroughNetworkX:
    def test_graphs_of_others(self, tmp_path):
        G = nx.DiGraph([("a", "b", {"weight": 4}), ("b", "c", {"weight": 7})])
        expected = nx.to_numpy_array(G, nonedge=INF)
        for name, writer in (("graphml", nx.write_graphml), ("gml", nx.write_gml), ("net", nx.write_pajek)):
            path = tmp_path / f"g.{name}"
            writer(G, path)
            for again in (path, put(tmp_path / f"{name}.gz", path.read_bytes())):  # by suffix, by content
                graph = read(again)
                assert (graph.labels, graph.directed) == (("a", "b", "c"), True)
                np.testing.assert_array_equal(small(graph), expected)
                assert read(again, weight=None).weights is None
        path = tmp_path / "p.g6"
        nx.write_graph6(nx.petersen_graph(), path)
        np.testing.assert_array_equal(read(path).matrix("boolean"), nx.to_numpy_array(nx.petersen_graph()) == 1)

    def test_their_weights_are_not_guessed(self, tmp_path):
        G = nx.DiGraph([("a", "b", {"slope": 4, "kind": "road"})])
        nx.write_graphml(G, tmp_path / "g.graphml")
        assert read(tmp_path / "g.graphml").weights.tolist() == [4]
        G["a"]["b"]["lanes"] = 2
        nx.write_graphml(G, tmp_path / "g.graphml")
        with pytest.raises(FormatError, match=r"'slope', 'lanes'.*weight='slope'"):
            read(tmp_path / "g.graphml")
        assert read(tmp_path / "g.graphml", weight="lanes").weights.tolist() == [2]
        with pytest.raises(FormatError, match="'hours'"):
            read(tmp_path / "g.graphml", weight="hours")

    def test_graphml_says_weights_once_for_all_edges(self, tmp_path):
        key = '<key id="w" for="edge" attr.name="weight" attr.type="int"><default>7</default></key>'
        nodes, edge = "".join(f'<node id="{v}"/>' for v in "abc"), '<edge source="a" target="b"/>'
        own = '<edge source="b" target="c"><data key="w">3</data></edge>'
        graph = f'<graph edgedefault="directed">{nodes}{edge}{own}</graph>'
        text = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
        assert read(put(tmp_path / "g.graphml", text.format(key + graph))).weights.tolist() == [7, 3]
        inner = f'<node id="d">{graph}</node>'
        for several in (graph + graph, f'<graph edgedefault="directed">{inner}</graph>'):
            with pytest.raises(FormatError, match="one graph"):
                read(put(tmp_path / "g.graphml", text.format(key + several)))

    def test_gml_in_utf_8_as_gephi_and_igraph_write_it(self):
        text = "\ufeff" + "\r\n".join(nx.generate_gml(nx.DiGraph([("Liege", "b")]))).replace("Liege", "Liège")
        assert list(read(io.BytesIO(text.encode())).labels) == ["Liège", "b"]

    def test_parallel_edges_of_gml_that_does_not_name_itself_a_multigraph(self, tmp_path):
        """As igraph writes it."""
        for directed, multigraph in [(x, y) for x in ("", "directed 1") for y in ("", "multigraph 1")]:
            text = f'graph\n[ {directed} {multigraph} node [ id 0 label "a" ] node [ id 1 label "b" ]\n'
            edges = ("0 target 1 weight 3", "0 target 1 weight 2", "1 target 0 weight 7")
            text += "".join(f"edge [ source {edge} ]\n" for edge in edges) + "]"
            g = read(put(tmp_path / "g.gml", text))
            assert g.directed is bool(directed)
            assert list(g.labels) == ["a", "b"]
            assert g.edge_count == 3
            assert shortest_paths(g).distances.tolist() == [[0, 2], [7 if directed else 2, 0]]

    def test_gml_without_labels(self, tmp_path):
        text = "graph [ directed 1 node [ id 7 ] node [ id 9 ] edge [ source 7 target 9 value 3 ] ]"
        graph = read(put(tmp_path / "g.gml", text))
        assert graph.labels == (7, 9)
        assert graph.weights.tolist() == [3]

    @pytest.mark.parametrize("name", ["g.graphml", "g.gml", "g.g6"])
    def test_damaged(self, tmp_path, name):
        for content in (b"<graphml", b"graph [ node [", b"*Vertices x\n*Arcs\n1 2", b"\xff\x00", b"DDD DDD\n~~~"):
            with pytest.raises(FormatError) as caught:
                read(put(tmp_path / name, content))
            assert str(caught.value).startswith(str(tmp_path / name))

    def test_they_are_not_written(self, tmp_path):
        with pytest.raises(FormatError, match="only read"):
            write(cycle(3), tmp_path / "g.gml")


class TestPajek:
    """Expected arcs are written out by hand: what NetworkX takes for granted is in the files."""

    THREE = '*Vertices 3\n1 "a"\n2 "b b" 0.1 0.2\n3 "c"\n'

    @pytest.mark.parametrize(
        ("text", "arcs", "directed"),
        [
            ("*Arcs\n1 2 5\n*Edges\n2 3 6\n", [("a", "b", 5), ("b", "c", 6), ("c", "b", 6)], True),
            (
                "*Edges\n2 3 6\n*Arcs\n1 2 5\n1 1 4\n",
                [("a", "b", 5), ("b", "c", 6), ("c", "b", 6), ("a", "a", 4)],
                True,
            ),
            ("*edges\n% 1 3\n\n2 3 6\n3 3 1\n", [("b", "c", 6), ("c", "b", 6), ("c", "c", 1)], False),
            ("*Arcslist\n1 2 3\n", [("a", "b", 1), ("a", "c", 1)], True),
            ("*Edgeslist\n1 2 3\n", [("a", "b", 1), ("b", "a", 1), ("a", "c", 1), ("c", "a", 1)], False),
            ("*Matrix\n0 1 0\n0 0 2.5\n0 0 0\n", [("a", "b", 1), ("b", "c", 2.5)], True),
            (
                '*Arcs :1 "roads"\n1 2 5 l "x y"\n1 2 9007199254740993\n',
                [("a", "b", 5), ("a", "b", 9007199254740993)],
                True,
            ),
            ("*Arcs\n1 2\n2 3 4\n", [("a", "b", 1), ("b", "c", 4)], True),
        ],
    )
    def test_arcs_and_edges(self, tmp_path, text, arcs, directed):
        graph = read(put(tmp_path / "g.net", "*Network x\n" + self.THREE + text))
        assert (graph.labels, graph.directed) == (("a", "b b", "c"), directed)
        ends, weights = graph.edges()[:2], graph.edges()[2]
        (tails, heads), name = (x.tolist() for x in ends), "abc".__getitem__
        assert sorted(zip(map(name, tails), map(name, heads), weights.tolist(), strict=True)) == sorted(arcs)

    def test_names(self, tmp_path):
        arcs = "*Arcs\n1 2 5\n"
        for vertices, labels in (("", range(1, 4)), ('1 "x"\n2 "x"\n', range(1, 4)), ('1 "x"\n3\n', ("x", "2", "3"))):
            assert read(put(tmp_path / "g.net", f"*Vertices 3\n{vertices}{arcs}")).labels == labels
        assert read(put(tmp_path / "g.net", f'*vertices 2\n1 "7"\n2 "O\'Hare"\n{arcs}')).labels == ("7", "O'Hare")

    def test_attributes(self, tmp_path):
        path = put(tmp_path / "g.net", self.THREE + "*Arcs\n1 2 5 km 7 l x\n")
        assert read(path, weight="km").weights.tolist() == [7]
        assert read(path, weight="weight").weights.tolist() == [5]
        assert read(path, weight=None).weights is None
        with pytest.raises(FormatError, match=r"g\.net:6: .*'hours'"):
            read(path, weight="hours")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (THREE + "*Arcs\n1 4 5\n", ":6: .*1 … 3, got '4'"),
            (THREE + "*Arcs\n1 2 x\n", ":6: .*number, got 'x'"),
            (THREE + "*Arcs\n1 2 0x5\n", ":6: .*number"),
            (THREE + "*Arcs\n1\n", ":6: .*u v"),
            (THREE + "*Arcs :1\n1 2 5\n*Arcs :2\n1 2 6\n", ":7: .*:1 and :2"),
            (THREE + "*Partition p\n1\n", ":5: .*Partition"),
            (THREE + "1 z\n", ":5: .*once"),
            (THREE + "*Matrix\n0 1\n", ":6: .*3 rows"),
            (THREE + "*Matrix\n0 1 0\n", ": .*cut off"),
            ("*Vertices 3 1\n", ":1: .*one kind"),
            ("1 2\n*Vertices 3\n", ":1: .*below"),
            ("*Arcs\n1 2\n", ":1: .*first"),
            ("", ": .*empty"),
            ("*Vertices x\n*Arcs\n1 2", ":1: .*Vertices"),
            ("DDD DDD\n~~~", ":1: .*below"),
            ("% only\n", ": .*Vertices n"),
        ],
    )
    def test_malformed(self, tmp_path, text, problem):
        with pytest.raises(FormatError, match=rf"g\.net{problem}"):
            read(put(tmp_path / "g.net", text))


HEAD = "%%MatrixMarket matrix coordinate real general\n"
WHOLE = npy(np.random.default_rng(0).random((8, 8)))

#: name of the file, its content, the line of the error (None: no line), a word of it
MALFORMED = [
    ("a.named", cases.SIX_NAMED.replace("--END--\n", ""), 14, "--END--"),
    ("a.named", "A B 4\nA D\n--END--\n", 2, "V W length"),
    ("a.named", "A B 4\n\nA D five\n--END--\n", 3, "'five'"),
    ("a.named", "A B 4\nA D nan\n--END--\n", 2, "number"),
    ("a.named", "A B 4\nA D 1_0\n--END--\n", 2, "number"),
    ("a.named", b"A B 4\nA \xff 4\n--END--\n", 2, "UTF-8"),
    ("a.named", b"A B 4\nA\0D 4\n--END--\n", 2, "zero byte"),
    ("a.named", "", None, "empty"),
    ("a.csv", "1,2,3\n", 1, "header"),
    ("a.csv", "source,weight\n1,2\n", 1, "target"),
    ("a.csv", "source,target,weight\na,b,1\na,b\n", 3, "3 fields"),
    ("a.csv", "source,target,weight\na,b,1\na,b,1,2\n", 3, "3 fields"),
    ("a.csv", "source,target,weight\na,b,1\n\na,c,far\n", 4, "'far'"),
    ("a.csv", "source,target,weight\na,b,\n", 2, "number"),
    ("a.csv", "source,target,weight\na,b,NaN\n", 2, "number"),
    ("a.csv", "source,target,weight\n,b,1\n", 2, "name"),
    ("a.csv", 'source,target,weight\n"a,b,1\n', 2, "CSV"),
    ("a.csv", " \n", None, "empty"),
    ("a.snap", "# c\n1 2\n3\n", 3, "from to"),
    ("a.snap", "1 2\n3 4 5\n", 2, "from to"),
    ("a.snap", "1 2\n3 x\n", 2, "'x'"),
    ("a.snap", "1 2\n3 4.5\n", 2, "integer"),
    ("a.snap", "# c\n007 7 1\n7 8 01\n", 2, "'007', which would be the same as 7"),
    ("a.snap", "7 8 01\n7 +8 1\n", 2, "'+8'"),
    ("a.txt", "7 8\n" * 99_999 + "8 -0\n", 100_000, "'-0'"),
    ("a.snap", "1 2\n3 99999999999999999999\n", 2, "64 bits"),
    ("a.snap", "1 2 3\n3 4 nan\n", 2, "number"),
    ("a.snap", "1 2 3 4\n", 1, "from to"),
    ("a.snap", b"\x7fELF\x02\x01\x01\0\0\0", 1, "zero byte"),
    ("a.gr", "c nothing\n", None, "p sp n m"),
    ("a.gr", "p sp 2\na 1 2 3\n", 1, "p sp n m"),
    ("a.gr", "p sp 2 -1\n", 1, "p sp n m"),
    ("a.gr", "p max 2 1\na 1 2 3\n", 1, "p sp n m"),
    ("a.gr", "p sp 2 1\np sp 2 1\na 1 2 3\n", 2, "one line"),
    ("a.gr", "p sp 2 2\na 1 2 3\n", None, "cut off"),
    ("a.gr", "p sp 2 1\na 1 2 3\na 2 1 3\n", None, "promises"),
    ("a.gr", "c x\np sp 2 1\na 1 3 3\n", 3, "1 … 2"),
    ("a.gr", "p sp 2 1\na 0 1 3\n", 2, "1 … 2"),
    ("a.gr", "p sp 2 1\na 1 2\n", 2, "a tail head length"),
    ("a.gr", "p sp 2 1\na\n", 2, "a tail head length"),
    ("a.gr", "p sp 2 2\na 1 2 3\na 1 2 3c\n", 3, "'3c'"),
    ("a.gr", "p sp 2 1\ne 1 2 3\n", 2, "begin with"),
    ("a.gr", "p sp 2 1\n1 2 3\n", 2, "begin with"),
    ("a.plain", "-3 1\n0 1 5\n", 1, "counts"),
    ("a.plain", "3\n0 1 5\n", 1, "counts"),
    ("a.plain", "2 2\n0 1 5\n", None, "cut off"),
    ("a.plain", "2 1\n0 1 5\n1 0 5\n", None, "promises"),
    ("a.plain", "2 1\n1 2 5\n", 2, "base=1"),
    ("a.plain", "2 1\n0 -1 5\n", 2, "0 … 1"),
    ("a.plain", "2 2\n0 1 5\n0 one 5\n", 3, "'one'"),
    ("a.plain", "2 2\n0 1 5\n\n0 1 nan\n", 4, "number"),
    ("a.plain", "0 1\n0 0 1\n", 2, "absent"),
    ("a.mtx", "hello\n", 1, "MatrixMarket"),
    ("a.mtx", f"%%MatrixMarket matrix {'7' * 5000} real general\n", 1, "coordinate, array"),
    ("a.mtx", HEAD.replace("real", "complex") + "1 1 0\n", 1, "'complex'"),
    ("a.mtx", HEAD.replace("general", "hermitian") + "1 1 0\n", 1, "'hermitian'"),
    ("a.mtx", HEAD, 2, "size line"),
    ("a.mtx", HEAD + "2 3 1\n1 2 3\n", 2, "square"),
    ("a.mtx", HEAD + "% c\n2 2 2\n1 2 3\n", None, "cut off"),
    ("a.mtx", HEAD + "% c\n2 2 1\n1 3 3\n", 4, "1 … 2"),
    ("a.mtx", HEAD + "2 2 1\n1 2 x\n", 3, "'x'"),
    ("a.mtx", HEAD + "2 2 1\n1 2\n", 3, "i j value"),
    ("a.mtx", HEAD.replace("general", "symmetric") + "2 2 1\n1 2 3\n", 3, "diagonal"),
    ("a.mtx", HEAD.replace("coordinate", "array") + "2 2\n1\n2\n3\n", None, "4 values"),
    ("a.mtx", HEAD.replace("coordinate", "array") + "2 2\n1\n2\nx\n4\n", 5, "'x'"),
    ("a.mtx", HEAD.replace("general", "skew-symmetric") + "2 2 1\n1 2 3\n", 3, "below the diagonal"),
    ("a.mtx", HEAD.replace("general", "skew-symmetric") + "2 2 1\n2 2 3\n", 3, "below the diagonal"),
    ("a.mtx", HEAD.replace("real general", "pattern skew-symmetric") + "2 2 1\n2 1\n", 1, "values"),
    ("a.mtx", HEAD.replace("coordinate", "array") + f"1 1\n{-(2**63)}\n", 3, "infinities"),
    ("a.edges", "A B 1\nB C#1 2\n", 2, "'C#1'"),
    ("a.edges", "# x#y\nA#1 B\nA#2 B\n", 2, "'A#1'"),
    ("a.snap", f"1 2 5\n2 3 {2**63 - 1}\n", 2, "infinities"),
    ("a.csv", f"source,target,weight\na,b,1\nb,c,{-(2**63)}\n", 3, "infinities"),
    ("a.csv", "source,target,weight\na,b,0\nb,c,-1.5e-400\n", 3, "5e-324"),
    ("a.gr", f"p sp 2 1\na 1 2 .{'0' * 400}1\n", 2, "5e-324"),
    ("a.npy", WHOLE[:-5], None, "npy"),
    ("a.npy", WHOLE + WHOLE, None, "behind the array"),
    ("a.npz", npz(n=2, rows=[0], cols=[1], directed="no"), None, "directed"),
    ("a.npz", npz(n=2, rows=[0], cols=[1], directed=[True, True]), None, "directed"),
    ("a.npy", b"not numpy", None, "npy"),
    ("a.npy", b"", None, "npy"),
    ("a.npy", npy(np.zeros((2, 3))), None, "square"),
    ("a.npy", npy(np.array([[0, 1], [np.nan, 0]])), None, "NaN at (1, 0)"),
    ("a.npy", npy(np.zeros((2, 2), complex)), None, "real"),
    ("a.npy", npy(np.array([[None]]), allow_pickle=True), None, "npy"),
    ("a.npz", npz(other=np.zeros(2)), None, "other"),
    ("a.npz", npz(matrix=np.zeros((2, 3))), None, "square"),
    ("a.npz", npz(matrix=np.zeros((2, 2)), labels=np.arange(3)), None, "label"),
    ("a.npz", npz(n=2, rows=[0], cols=[5]), None, "0 … 1"),
    ("a.npz", npz(n=2, rows=[0], cols=[1], weights=[np.nan]), None, "NaN"),
    ("a.npz", npz(matrix=np.zeros((2, 2)))[:-9], None, "npz"),
    ("a.npz", WHOLE, None, "npz"),
    ("a.txt", "what is this\n", None, "none"),
    ("a.named", "A B 4\n\nA D 1e999\n--END--\n", 3, "1.8e308"),
    ("a.named", f"A B 0.5\nA D {2**53 + 1}\n--END--\n", 2, "exactly"),
    ("a.named", f"A B {'9' * 5000}\n--END--\n", 1, "1.8e308"),
    ("a.csv", "source,target,weight\na,b,1\nb,c,-1e999\n", 3, "1.8e308"),
    ("a.csv", f"source,target,weight\na,b,{2**53 + 1}\nb,c,{2**63}\n", 2, "exactly"),
    ("a.csv", f"source,target,weight\na,b,{10**400}\n", 2, "1.8e308"),
    ("a.csv", f"source,target,{'x' * 131_073}\na,b,1\n", 1, "header"),
    ("a.csv", f"source,target\na,{'x' * 131_073}\n", 2, "CSV"),
    ("a.csv", 'source,target,weight\na,"b"x,1\n', 2, "CSV"),
    ("a.snap", "1 2 3\n# c\n\n3 4 1e999\n", 4, "1.8e308"),
    ("a.snap", f"1 2 3\n3 4 {10**400}\n", 2, "1.8e308"),
    ("a.snap", f"1 2 {'9' * 5000}\n", 1, "1.8e308"),
    ("a.snap", f"1 2 0.5\n3 4 {2**53 + 1}\n", 2, "exactly"),
    ("a.snap", f"1 2 {2**53 + 1}\n3 4 {2**63}\n", 1, "exactly"),
    ("a.snap", f"1 2\n3 {'9' * 5000}\n", 2, "64 bits"),
    ("a.snap", f"1 2\n3 {2**63}\n", 2, "64 bits"),
    ("a.gr", "p sp 99999999999999999999 1\na 1 2 3\n", 1, "15 digits"),
    ("a.gr", f"p sp 2 {'9' * 5000}\na 1 2 3\n", 1, "15 digits"),
    ("a.gr", "c x\np sp 2 1\na 1 2 1e400\n", 3, "1.8e308"),
    ("a.gr", f"p sp {'0' * 5000}2 1\na 1 2 3\na 2 {'0' * 5000}1 x\n", 3, "number"),
    ("a.plain", "99999999999999999999 1\n0 1 5\n", 1, "15 digits"),
    ("a.plain", f"2 1\n0 1 {10**400}\n", 2, "1.8e308"),
    ("a.txt", f"2 {'9' * 5000}\n0 1 5\n", 1, "15 digits"),
    ("a.mtx", HEAD + "99999999999999999999 99999999999999999999 1\n1 2 3\n", 2, "15 digits"),
    ("a.mtx", HEAD + "2 2 1\n1 2 1e999\n", 3, "1.8e308"),
    ("a.mtx", HEAD.replace("coordinate", "array") + "2 2\n1\n2\n1e999\n4\n", 5, "1.8e308"),
    ("a.mtx", HEAD.replace("coordinate", "array") + "2 2\n1 2\n1e999\n4\n", 4, "1.8e308"),
    ("a.mtx", HEAD.replace("coordinate", "array") + f"2 2\n1\n2\n0.5\n{2**53 + 1}\n", 6, "exactly"),
    ("a.graph", "% c\n", None, "n m [fmt [ncon]]"),
    ("a.graph", "\n3 2\n", 1, "n m [fmt [ncon]]"),
    ("a.graph", "% c\n3\n", 2, "n m [fmt [ncon]]"),
    ("a.graph", "1 0 0 0 0\n\n", 1, "n m [fmt [ncon]]"),
    ("a.graph", "1 0 2\n\n", 1, "fmt"),
    ("a.graph", "1 0 1000\n\n", 1, "fmt"),
    ("a.graph", "1 0 1 2\n\n", 1, "ncon"),
    ("a.graph", "3 2\n2\n% c\n1 x\n2\n", 4, "'x'"),
    ("a.graph", "3 2\n2\n1 -3\n2\n", 3, "'-3'"),
    ("a.graph", "3 2\n2\n1 3.0\n2\n", 3, "'3.0'"),
    ("a.graph", "3 2\n2\n1 3 % c\n2\n", 3, "'%'"),
    ("a.graph", "3 2\n2\n1 3\xa0\n2\n", 3, "integers"),
    ("a.graph", f"3 2\n2\n1 {'9' * 19}\n2\n", 3, "18 digits"),
    ("a.graph", f"{'9' * 18} 2\n2\n1\n", None, "a line for each"),
    ("a.graph", "3 2\n2\n1 3\n", None, "cut off"),
    ("a.graph", "3 2\n2\n1 3\n2\n\n1\n", 6, "behind the 3 vertices"),
    ("a.graph", "3 2\n2\n1 4\n2\n", 3, "1 … 3"),
    ("a.graph", "3 2\n2\n1 0\n2\n", 3, "1 … 3"),
    ("a.graph", "3 2\n2\n2 3\n2\n", 3, "its own neighbour"),
    ("a.graph", "3 2\n2\n3\n2\n", 2, "line 3, that of vertex 2"),
    ("a.graph", "3 1\n2\n1 3\n2\n", 1, "counts once"),
    ("a.graph", "3 4\n2\n1 3\n2\n", 1, "counts once"),
    ("a.graph", "3 2 1\n2 5\n1 5 3\n2 7\n", 3, "pairs"),
    ("a.graph", "3 2 1\n2 5\n1 5 3 8\n2 7\n", 4, "of weight 7"),
    ("a.graph", "2 1 1\n2 0\n1 0\n", 2, "positive"),
    ("a.graph", "2 0 10\n1\n\n", 3, "1 of the vertex"),
    ("a.txt", b"\x89PNG\r\n\x1a\n" + bytes(20), None, "none"),
    ("a.txt", "", None, "empty"),
]


#: Of each format the first is read gzipped, too.
GZIPPED = {name: (f"{name}.gz", *more) for name, *more in MALFORMED[::-1]}


@pytest.mark.parametrize(("name", "content", "line", "word"), [*MALFORMED, *GZIPPED.values()])
def test_malformed(tmp_path, name, content, line, word):
    path = put(tmp_path / name, content)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert word in str(caught.value)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert len(str(caught.value).replace(str(path), "a.txt")) < 300


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"4 2\n0 1 2\n1\xa02 3\n", "the byte 0xa0"),  # which NumPy takes for a blank
        (b"4 2\n0 1 9007199254740995\n1 2 0.5\n", "an integer that 64 bits hold exactly"),  # a float rounds it up
        (b"4 2\n0 1 9007199254740993\n1 2 0.5\n", "an integer that 64 bits hold exactly"),  # and this one down
    ],
)
def test_what_numpy_would_read_otherwise_is_refused(tmp_path, content, word):
    path = tmp_path / "g.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=word):
        read(path, format="plain")


def test_a_header_that_promises_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00" + ((4 << 30) - 1).to_bytes(4, "little") + b"{" * 200)
    with pytest.raises(FormatError, match="a header of 4294967295 bytes"):
        read(path)


@pytest.mark.filterwarnings("ignore:.*its comment counts")
@pytest.mark.parametrize("name", WRITTEN)
def test_damaged_files_are_a_graph_or_a_format_error(tmp_path, name):
    path = tmp_path / f"g{SUFFIX[name]}"
    write(random_graph(7, 60, seed=1, integer=name != "csv", directed=formats()[name].directions), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for round in range(80):
        data = bytearray(whole)
        if round % 4 == 0:
            del data[rng.integers(len(data)) :]
        for _ in range(round % 4):
            data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(data)
        with contextlib.suppress(FormatError):
            read(path)


@pytest.mark.parametrize(
    "data",
    [b"A B 4\n--END--\n", gzip.compress(cases.SIX_NAMED.encode())[:-12], b"\x1f\x8b", b""],
    ids=["a text", "cut off", "no more than the mark", "empty"],
)
def test_wrong_gzip(tmp_path, data):
    path = tmp_path / "a.named.gz"
    path.write_bytes(data)
    with pytest.raises(FormatError):
        read(path)


def test_other_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.gr")
    put(tmp_path / "stops.txt", "stop_id,stop_name"), put(tmp_path / "transfers.txt", "from_stop_id,to_stop_id\n1,2")
    with pytest.raises(IsADirectoryError, match="folder of 2") as caught:
        read(tmp_path)
    assert eval(caught.value.strerror.rpartition("Say ")[2].rstrip("."), {"apsp": apsp}).n == 2
    with pytest.raises(ValueError, match="format must be one of"):
        read(put(tmp_path / "a.gr", "p sp 0 0\n"), format="excel")


NAMES_TO_TRY = (
    *("a", "b", "x y", " lead", "trail ", "", "1", "-7", "007", "+1", "1.0", "é", "\u3000", "\xa0x", "a,b", "a;b"),
    *("a\tb", '"', '""', 'q"q', "'", "#", "# x", "%", "--END--", "\n", "a\nb", "\r", "a\rb", "\0", "x\0", "\ufeff"),
    *("\ufeffx", "\ud800", "source", "inf", "nan", "9" * 30, "9" * 700, "x" * 131_071, "\x1c", "\x85", "\u2028"),
)
INTEGERS_TO_TRY = (0, 1, 2, 5, -1, -7, 10**6, 2**53 + 1, 2**63 - 1, 2**63, -(2**70), 10**700)
OTHERS_TO_TRY = (None, True, 1.5, (1, 2), ("a",))
WEIGHTS_TO_TRY = (0, 1, -1, 7, 2**53, 2**53 + 1, 2**62, -(2**62))
FLOATS_TO_TRY = (0.0, -0.0, 1.0, 0.1, 1 / 3, 1e300, -1e-300, 5e-324, 1e22, 2.0**60, 1e16, 123456789.123)


def awkward_graph(rng: np.random.Generator, *, labels: bool, simple: bool = False) -> Graph:
    """A few edges between vertices of awkward names, with awkward weights; simple: one way, no loops, none twice."""
    pool: list = [NAMES_TO_TRY, NAMES_TO_TRY[:3], INTEGERS_TO_TRY, INTEGERS_TO_TRY[:8], range(9)][rng.integers(5)]
    if rng.random() < 0.1:
        pool = [*OTHERS_TO_TRY, *pool]
    if not labels:
        pool = range(9)
    n = int(rng.integers(2, 6))
    names = [pool[k] for k in rng.permutation(len(pool))[:n]]
    m = int(rng.integers(0, 9))
    rows, cols = np.concatenate((np.arange(len(names)), rng.integers(len(names), size=(m)))), None
    cols = rng.integers(len(names), size=len(rows))
    weights: list | None = None
    if rng.random() < 0.8:
        values = (WEIGHTS_TO_TRY, FLOATS_TO_TRY)[rng.integers(2)]
        weights = [values[k] for k in rng.integers(len(values), size=len(rows))]
    graph = Graph.from_arrays(rows, cols, weights, labels=names, directed=bool(rng.random() < 0.6))
    if not simple:
        return graph
    ends = list(zip(rows.tolist(), cols.tolist(), strict=True))
    once = [k for k, (u, v) in enumerate(ends) if u < v and (u, v) not in ends[:k]]
    weights = None if weights is None else np.abs(graph.weights[once])
    return replace(graph, rows=rows[once], cols=cols[once], weights=weights, directed=False)


def told(graph: Graph, labels) -> list[str]:
    """Every arc as text, with the types and all digits of its labels and weight."""
    assert graph.rows is not None
    weights = [1] * len(graph.rows) if graph.weights is None else graph.weights.tolist()
    arcs = list(zip(graph.rows.tolist(), graph.cols.tolist(), weights, strict=True))
    if not graph.directed:
        arcs += [(v, u, w) for u, v, w in arcs if u != v]
    show = [hex(label) if type(label) is int else ascii(label) for label in labels]  # of any number of digits
    return sorted(f"{show[u]} {show[v]} {w!r}" for u, v, w in arcs)


def admits(format: str, graph: Graph) -> bool:
    """Whether the graph has neither directions nor fractions that the format does not know."""
    A = graph.matrix("min_plus", "float64") if graph.dense is None else np.asarray(graph.dense)
    symmetric, whole = (A == A.T).all(), (np.isinf(A) | (A == np.rint(A))).all()
    return bool((formats()[format].directions or symmetric) and (formats()[format].fractions or whole))


class TestWriting:
    @pytest.mark.parametrize("gz", ["", ".gz"])
    @pytest.mark.parametrize("format", WRITTEN)
    @pytest.mark.parametrize(
        "graph",
        [
            cycle(5, weight=3),
            cycle(4, directed=False, weight=0.1),
            random_graph(13, 60, seed=2, weights=(-9, 9)),
            random_graph(13, 60, seed=2, weights=(0, 1), integer=False),
            random_graph(11, 90, seed=2, weights=None),
            grid(3, 4),
            as_graph([(0, 1, 2), (0, 1, 5), (1, 2, 0), (2, 0, 1), (1, 1, 4)]),
            as_graph(np.array([[0, 2.5], [3.0, INF]])),
            as_graph(np.array([[False, True], [True, False]])),
        ],
        ids=lambda g: f"{g.name or 'listed'}-{'dense' if g.dense is not None else 'edges'}",
    )
    def test_round_trip(self, tmp_path, graph, format, gz):
        path = tmp_path / f"g{SUFFIX[format]}{gz}"
        if not admits(format, graph):
            with pytest.raises(FormatError):
                write(graph, path)
            assert os.listdir(tmp_path) == []
            return
        write(graph, path)
        back = read(path)
        assert os.listdir(tmp_path) == [path.name]
        assert path.read_bytes().startswith(b"\x1f\x8b") == bool(gz)
        for semiring in ("min_plus", "boolean"):
            if graph.dense is None or graph.dense.dtype != bool or semiring == "boolean":
                dtype = "bool" if semiring == "boolean" else "float64"
                np.testing.assert_array_equal(back.matrix(semiring, dtype), graph.matrix(semiring, dtype))

    @pytest.mark.parametrize("other", [2**63 - 2, 1])
    def test_what_stands_for_an_infinity_is_no_weight_of_a_text(self, tmp_path, other):
        graph = as_graph([("A", "B", 2**63 - 1), ("B", "A", other)])
        for format in WRITTEN:
            if format in ("npy", "npz"):
                write(graph, tmp_path / "g", format=format)
                continue
            with pytest.raises(FormatError, match=r"infinities|metis"):
                write(graph, tmp_path / "g", format=format)

    @pytest.mark.parametrize("format", ["named", "csv", "npz"])
    def test_names_survive(self, tmp_path, format):
        graph = as_graph([("Zürich", "Genf", 4), ("Genf", "Bern", 7)])
        write(graph, tmp_path / "g", format=format)
        back = read(tmp_path / "g")
        assert back.labels == graph.labels == ("Bern", "Genf", "Zürich")
        np.testing.assert_array_equal(small(back), small(graph))

    def test_csv_of_texts_that_look_like_numbers(self, tmp_path):
        graph = as_graph([("7", "8", 4), ("8", "9", 1)])
        write(graph, tmp_path / "g.csv")
        assert read(tmp_path / "g.csv").labels == ("7", "8", "9")

    def test_csv_quotes_only_what_needs_it(self, tmp_path):
        graph = as_graph([("x y", "1", 1), ("", " b", 2), ("c", "d,e", 3)])
        write(graph, tmp_path / "g.csv")
        assert (tmp_path / "g.csv").read_text() == 'source,target,weight\nx y,"1",1\n""," b",2\nc,"d,e",3\n'

    def test_names_in_comments_stay_comments(self, tmp_path):
        for name in ("a\n7 8\nb", "a\r7 8", "a\u2028b", "x\0y", "caf\udce9", "Undirected graph"):
            graph = replace(as_graph([(1, 2, 3), (2, 3, 4)]), name=name)
            for format in ("snap", "dimacs", "matrixmarket"):
                write(graph, tmp_path / "g", format=format)
                back = read(tmp_path / "g", format=format)
                assert (back.n, back.edge_count, back.directed) == (3, 2, True)

    @pytest.mark.parametrize("format", WRITTEN)
    def test_what_is_written_reads_back_or_is_refused(self, tmp_path, format):
        """Labels where the format has any, weights bit for bit, and the direction."""
        rng = np.random.default_rng(5)
        written = 0
        for _ in range(100):
            graph = awkward_graph(rng, labels=format != "npz", simple=not formats()[format].directions)
            with contextlib.suppress(FormatError):
                write(graph, tmp_path / "g", format=format)
                written += 1
                back = read(tmp_path / "g", format=format)
                if not formats()[format].fractions and graph.weights is not None:
                    graph = replace(graph, weights=graph.weights.astype(np.int64))
                if format in ("named", "csv", "edgelist", "snap", "npz"):
                    assert told(back, back.labels) == told(graph, graph.labels)
                elif format == "npy":
                    np.testing.assert_array_equal(back.dense, graph.matrix("min_plus"), strict=True)
                else:
                    assert told(back, range(back.n)) == told(graph, range(graph.n))
                if format in ("snap", "matrixmarket", "npz", "metis"):
                    assert back.directed == graph.directed
        assert written > 20
        assert set(os.listdir(tmp_path)) == {"g"}

    def test_a_text_of_blanks_beyond_ascii_has_no_edges(self, tmp_path):
        assert read(put(tmp_path / "g.edges", "\u2003\n\u00a0\n")).n == 0
        with pytest.raises(FormatError, match=r"g\.named:3: a line must be `V W length`, got 'é b'"):
            read(put(tmp_path / "g.named", "é b 1\n\né b\n--END--\n"))

    def test_isolated_vertices(self, tmp_path):
        graph = Graph.from_arrays([0], [1], [2], n=4)
        for format in ("dimacs", "plain", "matrixmarket", "npy", "npz", "metis"):
            write(replace(graph, directed=format != "metis"), tmp_path / "g", format=format)
            assert read(tmp_path / "g", format=format).n == 4
        for format in ("named", "csv", "edgelist", "snap"):
            with pytest.raises(FormatError, match="every vertex must have an edge"):
                write(graph, tmp_path / "h", format=format)
        assert os.listdir(tmp_path) == ["g"]

    def test_what_a_format_cannot_say(self, tmp_path):
        with pytest.raises(FormatError, match="blanks"):
            write(as_graph([("New York", "Rome", 1)]), tmp_path / "g.named")
        with pytest.raises(FormatError, match="integers"):
            write(as_graph([("a", "b", 1)]), tmp_path / "g.snap")
        with pytest.raises(FormatError, match="suffix"):
            write(cycle(3), tmp_path / "g.txt")
        with pytest.raises(FormatError, match="labels"):
            write(as_graph([(b"a", b"b")]), tmp_path / "g.npz")
        assert os.listdir(tmp_path) == []

    @of_scipys_reader
    def test_against_other_readers(self, tmp_path):
        graph = random_graph(9, 50, seed=3)
        write(graph, tmp_path / "g.mtx")
        other = scipy.io.mmread(tmp_path / "g.mtx").toarray()
        np.testing.assert_array_equal(np.where(np.isinf(small(graph)), 0, small(graph)), other)
        write(graph, tmp_path / "g.snap")
        G = nx.read_weighted_edgelist(tmp_path / "g.snap", nodetype=int, create_using=nx.DiGraph)
        np.testing.assert_array_equal(nx.to_numpy_array(G, nodelist=range(9), nonedge=INF), small(graph))


def metis_by_hand(text: str) -> tuple[int, list[tuple[int, int, int]]] | None:
    """n and all arcs of a METIS file, by a plain loop over its lines; None where a rule of the manual is broken."""
    lines = [line for line in text.split("\n") if not line.lstrip(" \t").startswith("%")]
    if text.endswith("\n"):
        lines.pop()
    if not lines or not all(set(line) <= set("0123456789 \t") for line in lines):
        return None
    if not 2 <= len(lines[0].split()) <= 4 or any(len(token) > 18 for line in lines for token in line.split()):
        return None
    n, m, fmt, ncon = [*map(int, lines[0].split()), 0, 0][:4]
    if fmt not in (0, 1, 10, 11, 100, 101, 110, 111) or (ncon and fmt % 100 < 10):
        return None
    sized, heavy, weighted = (digit == "1" for digit in f"{fmt:03d}")
    if len(lines) <= n or any(line.split() for line in lines[n + 1 :]):
        return None
    own = sized + (ncon or 1) * heavy
    arcs = []
    for u, line in enumerate(lines[1 : n + 1], 1):
        numbers = list(map(int, line.split()))
        if len(numbers) < own:
            return None
        numbers = numbers[own:]
        if weighted and len(numbers) % 2:
            return None
        pairs = zip(numbers[::2], numbers[1::2], strict=True) if weighted else ((v, 1) for v in numbers)
        arcs += [(u - 1, v - 1, w) for v, w in pairs]
    wrong = any(not 0 <= v < n or u == v or w < 1 for u, v, w in arcs)
    if wrong or sorted(arcs) != sorted((v, u, w) for u, v, w in arcs) or len(arcs) != 2 * m:
        return None
    return n, sorted(arcs)


class TestMetis:
    """A format that knows no directions and no fractions, and that content does not show."""

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(
        "G",
        [nx.petersen_graph(), nx.star_graph(6), nx.empty_graph(4), nx.empty_graph(0), nx.gnp_random_graph(40, 0.1, 1)],
    )
    def test_graphs_of_networkx(self, tmp_path, G, weighted):
        rng = np.random.default_rng(2)
        G = G.copy()
        for u, v in G.edges():
            G[u][v]["weight"] = int(rng.integers(1, 99))
        lines = [f"% {G}", f"{len(G)} {G.size()}{' 1' if weighted else ''}", "% more"]
        for u in G:
            own = (f"{v + 1} {G[u][v]['weight']}" if weighted else f"{v + 1}" for v in G[u])
            lines += ["  ".join(own), *(["  % a remark"] if u == 2 else [])]
        path = put(tmp_path / "g.graph", "\n".join(lines) + "\n")
        graph = read(path)
        assert (graph.n, graph.edge_count, graph.directed) == (len(G), G.size(), False)
        assert graph.labels == tuple(range(1, len(G) + 1))
        assert (graph.weights is None) == (not weighted)
        expected = (
            nx.to_numpy_array(G, weight="weight" if weighted else None, nonedge=INF) if len(G) else np.zeros((0, 0))
        )
        np.testing.assert_array_equal(small(graph), expected)
        write(as_graph(G, weight="weight" if weighted else None), tmp_path / "h.graph.gz")
        np.testing.assert_array_equal(small(read(tmp_path / "h.graph.gz")), expected)

    def test_what_is_written(self, tmp_path):
        graph = Graph.from_arrays([0, 2, 0], [1, 1, 4], [5, 7.0, 9], n=5, directed=False, name="five\nvertices")
        write(graph, tmp_path / "g.graph")
        assert (tmp_path / "g.graph").read_text() == "% five vertices\n5 3 001\n2 5 5 9\n1 5 3 7\n2 7\n\n1 9\n"
        write(replace(graph, weights=None, name=""), tmp_path / "h.graph")
        assert (tmp_path / "h.graph").read_text() == "5 3\n2 5\n1 3\n2\n\n1\n"

    @pytest.mark.parametrize(
        ("fmt", "lead"),
        [("", ""), ("0", ""), ("000", ""), ("100", "9 "), ("10", "4 "), ("10 2", "4 0 "), ("110 3", "9 1 2 3 ")],
    )
    def test_sizes_and_weights_of_vertices_are_no_edges(self, tmp_path, fmt, lead):
        plain = f"3 2 {fmt}\n{lead}2\n{lead}1 3\n{lead}2\n"
        assert small(read(put(tmp_path / "g.graph", plain))).tolist() == [[INF, 1, INF], [1, INF, 1], [INF, 1, INF]]
        fmt = f"{int((fmt.split() or ['0'])[0]) + 1:03d} {''.join(fmt.split()[1:])}"
        heavy = f"3 2 {fmt}\n{lead}2 8\n{lead}1 8 3 5\n{lead}2 5"
        assert small(read(put(tmp_path / "g.graph", heavy))).tolist() == [[INF, 8, INF], [8, INF, 5], [INF, 5, INF]]

    def test_edges_that_lead_back_are_written_from_any_source(self, tmp_path):
        A = np.array([[INF, 3, INF], [3, INF, 4.0], [INF, 4, INF]])
        for source in (A, [(0, 1, 3), (1, 0, 3), (2, 1, 4), (1, 2, 4)]):
            write(as_graph(source), tmp_path / "g.graph")
            np.testing.assert_array_equal(small(read(tmp_path / "g.graph")), A)

    @pytest.mark.parametrize(
        ("graph", "words"),
        [
            (as_graph([("A", "B", 4)]), ("'A' → 'B' of weight 4", "directed=False", "dimacs")),
            (as_graph([("A", "B", 4), ("B", "A", 5)]), ("same weight", "'A' → 'B'")),
            (as_graph(np.array([[INF, 2], [3, INF]])), ("0 → 1",)),
            (as_graph([(0, 1, 0.5)], directed=False), ("integers", "0.5 on 0 → 1", "round")),
            (as_graph([(0, 1, INF)], directed=False), ("integers", "inf")),
            (as_graph([(0, 1, 2), (1, 2, 0)], directed=False), ("positive", "1 – 2")),
            (as_graph([(0, 1, 10**18)], directed=False), ("18 digits",)),
            (as_graph([(0, 1, 2), (1, 1, 3)], directed=False), ("loops", "1 – 1")),
            (as_graph([(0, 1, 2), (1, 0, 3)], directed=False), ("at most one edge", "0 – 1", "matrix()")),
        ],
    )
    def test_what_it_cannot_say(self, tmp_path, graph, words):
        with pytest.raises(FormatError) as caught:
            write(graph, tmp_path / "g.graph")
        for word in words:
            assert word in str(caught.value)
        assert os.listdir(tmp_path) == []

    def test_edges_lead_both_ways(self, tmp_path):
        path = put(tmp_path / "g.graph", "2 1\n2\n1\n")
        assert not read(path, directed=False).directed
        with pytest.raises(ValueError, match=r"g\.graph: directed=True .* metis"):
            read(path, directed=True)
        nx.write_graph6(nx.path_graph(3), tmp_path / "g.g6")
        with pytest.raises(ValueError, match="graph6"):
            read(tmp_path / "g.g6", directed=True)

    def test_content_does_not_show_it(self, tmp_path):
        path = put(tmp_path / "g.txt", "3 2\n2\n1 3\n2\n")
        with pytest.raises(FormatError, match=r"metis.*looks like none"):
            read(path)
        assert read(path, format="metis").edge_count == 2

    def test_damaged_files_are_read_as_a_plain_loop_reads_them(self, tmp_path):
        """Or refused, where the manual's rules are broken."""
        rng = np.random.default_rng(4)
        pieces = [
            *(b"%", b"\n", b" ", b"1", b"2", b"0", b"11", b"-1", b"x", b"1_0", b"9" * 20),
            *(b"% c\n", b"\n\n", b"\t", b"+", b"\xa0"),
        ]
        seen = {True: 0, False: 0}
        for round in range(400):
            n = int(rng.integers(1, 7))
            G = nx.gnp_random_graph(n, 0.5, int(rng.integers(1000)))
            nx.set_edge_attributes(G, {e: int(rng.integers(1, 12)) for e in G.edges()}, "weight")
            write(as_graph(G, weight="weight" if round % 2 else None), tmp_path / "g.graph")
            data = (tmp_path / "g.graph").read_bytes()
            for _ in range(round % 3):
                at = rng.integers(len(data) + 1)
                data = data[:at] + pieces[rng.integers(len(pieces))] + data[at + rng.integers(3) :]
            expected = metis_by_hand(data.decode("latin-1"))
            path = put(tmp_path / "h.graph", data)
            seen[expected is None] += 1
            if expected is None:
                with pytest.raises(FormatError):
                    read(path)
                continue
            graph = read(path)
            weights = [1] * graph.edge_count if graph.weights is None else graph.weights.tolist()
            arcs = list(zip(graph.rows.tolist(), graph.cols.tolist(), weights, strict=True))
            assert (graph.n, sorted(arcs + [(v, u, w) for u, v, w in arcs])) == expected
        assert min(seen.values()) > 80


def test_nan_is_named_by_its_place_in_a_large_matrix(tmp_path):
    """Which is looked at in parts of a million entries."""
    A = np.ones((1100, 1100))
    A[1000, 7] = np.nan
    np.save(tmp_path / "a.npy", A)
    with pytest.raises(FormatError, match=r"NaN at \(1000, 7\)"):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("format", written())
def test_nan_which_no_reader_takes_is_not_written(tmp_path, format):
    with pytest.raises(DomainError, match=r"NaN at \(0, 1\)"):
        write(Graph.from_matrix([[0, np.nan], [1.0, 0]]), tmp_path / "g", format=format)
    assert os.listdir(tmp_path) == []


class TestAtomicity:
    def test_a_failing_writer_leaves_nothing(self, tmp_path):
        with pytest.raises(FormatError):
            write(as_graph([("a b", "c", 1)]), tmp_path / "g.named.gz")
        assert os.listdir(tmp_path) == []

    def test_modes_links_and_devices(self, tmp_path):
        path = put(tmp_path / "out.gr", "old")
        path.chmod(0o640)
        link = tmp_path / "link.gr"
        link.symlink_to(path)
        write(cycle(3), link)
        assert link.is_symlink()
        assert path.read_text().startswith("c directed 3-cycle\np sp 3 3\n")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        write(cycle(3), os.devnull, format="dimacs")
        assert stat.S_ISCHR(os.stat(os.devnull).st_mode)

    def test_missing_directory(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="directory must exist"):
            write(cycle(3), tmp_path / "no" / "g.gr")
        with pytest.raises(IsADirectoryError):
            write(cycle(3), tmp_path, format="dimacs")

    def test_the_same_graph_gives_the_same_bytes(self, tmp_path):
        for name in ("g.csv.gz", "h.csv.gz"):
            write(cycle(5), tmp_path / name)
        assert (tmp_path / "g.csv.gz").read_bytes() == (tmp_path / "h.csv.gz").read_bytes()


class TestRealFiles:
    @pytest.mark.parametrize("path", people.SNAP, ids=lambda path: path.name)
    def test_snap(self, path):
        graph = read(path)
        G = nx.read_edgelist(path, nodetype=int, create_using=nx.DiGraph)
        lines = path.read_text().splitlines()
        assert (graph.n, graph.edge_count) == (len(G), sum(not line.startswith("#") for line in lines))
        assert graph.labels == sorted(G)
        ends = np.array(G.edges())
        assert set(zip(*graph.edges()[:2], strict=True)) == set(zip(*(graph.index_of(e) for e in ends.T), strict=True))

    @pytest.mark.parametrize("path", people.DIMACS, ids=lambda path: path.name)
    def test_dimacs(self, path):
        graph = read(path)
        lines = [line.split() for line in path.read_text().splitlines()]
        (n, m), arcs = next(map(int, line[2:]) for line in lines if line[0] == "p"), [x for x in lines if x[0] == "a"]
        assert (graph.n, graph.edge_count) == (n, m) == (n, len(arcs))
        shortest: dict[tuple[int, int], int] = {}
        for u, v, w in (map(int, arc[1:]) for arc in arcs):
            shortest[u, v] = min(w, shortest.get((u, v), w))
        A = graph.matrix()
        assert A.dtype == np.int32
        assert (A != np.iinfo(np.int32).max).sum() == len(shortest)
        for (u, v), w in shortest.items():
            assert A[graph.index(u), graph.index(v)] == w


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"p sp 1 2\na 1 1 0\na 1\xa01 17\n", 3), (b"p sp 1 1\na 1 1 1\na \n", 3), (b"p sp 1 1\na\na 1 1 1\n", 2)],
)
def test_an_arc_that_is_none_is_refused(tmp_path, data, line):
    (tmp_path / "g.gr").write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "g.gr")
    assert caught.value.line == line


@pytest.mark.parametrize("longest", [3, 8, 9, 32, 33])
@pytest.mark.parametrize("kind", [str, int])
def test_a_csv_of_few_names_and_many_rows(longest, kind):
    """Names that differ in length, or in their last byte; integers of many digits."""
    if kind is str:
        names = ["a" * length + end for length in range(longest) for end in ("b", "c")]
    else:
        names = [str(sign * (10**k + k)) for k in range(longest - 1) for sign in (1, -1)]
    rng = np.random.default_rng(longest)
    u, v = ([names[k] for k in rng.integers(0, len(names), 2000)] for _ in range(2))
    weights = rng.integers(1, 9, 2000).tolist()
    rows = [f"{a},{b},{w}" for a, b, w in zip(u, v, weights, strict=True)]
    g = read(io.StringIO("\n".join(["source,target,weight", *rows])), format="csv")
    assert list(g.labels) == sorted({kind(name) for name in (*u, *v)})
    ends = [(g.labels[i], g.labels[j], w) for i, j, w in zip(g.rows, g.cols, g.weights, strict=True)]
    assert ends == [(kind(a), kind(b), w) for a, b, w in zip(u, v, weights, strict=True)]
    for wrong, needed in ((",a,1", "a vertex must have a name"), ("a,b,x", "a weight must be a number, got 'x'")):
        with pytest.raises(FormatError, match=rf":1502: {needed}"):
            read(io.StringIO("\n".join(["source,target,weight", *rows[:1500], wrong, *rows[1500:]])), format="csv")


@pytest.mark.parametrize("separator", [" ", ","])
def test_a_first_line_that_may_be_an_edge_is_not_taken_for_a_header(separator):
    def text(*rows):
        return io.StringIO("".join(separator.join(row.split()) + "\n" for row in rows))

    for weight in ({}, {"weight": None}):
        with pytest.raises(FormatError, match=r":1: the first line may be a header or an edge, got 'u v 3'"):
            read(text("u v 3", "v w 4"), **weight)
    assert read(text("u v 3", "v w 4"), columns=(0, 1, 2)).weights.tolist() == [3, 4]
    assert read(text("u v 3", "v w 4"), weight="3").weights.tolist() == [4]
    assert read(text("u v 2020 2021", "v w 4 5"), weight="2021").weights.tolist() == [5]
    triangle = ("u v", "v w", "w u")
    with pytest.raises(FormatError, match=r"got 'u v', both vertices further down. Say columns=\(0, 1\)"):
        read(text(*triangle))
    assert read(text(*triangle), columns=(0, 1)).edge_count == 3
    assert read(text(*triangle), columns=("u", "v")).edge_count == 2
    assert read(text("u v", "v w")).edge_count == 1
    assert read(text("source target", "source a", "a target")).edge_count == 2
    for weight in ({}, {"weight": None}, {"weight": "weight"}):  # a weight that is a word is none
        assert read(text("u v weight", "u v 3", "v w 4"), **weight).edge_count == 2
    with pytest.raises(FormatError, match="may be a header or an edge"):
        read(text("u v road", "v w rail", "w u 3"), weight=None)


NAMES = Labels(["A", "B", "C\nD"])
LONG = "x" * 140_000


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", f"name,x,y\n{LONG},1,2\n", ":2: must be well-formed CSV"),
        ("a.csv", "name,x,y\nA,1_0,2\n", ":2: a coordinate must be a finite number, got '1_0'"),
        ("a.csv", "name,x,y\nA,1,2\nA,1,3\n", "one position, got .* for 'A'"),
        ("a.json", '{"geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": ["id"]}', "must have an id"),
        ("a.json", f'{{"id": "A", "geometry": {{"type": "Point", "coordinates": [1{"0" * 999},2]}}}}', "finite"),
        ("a.json", '{"id": "A", "geometry": {"type": "Point", "coordinates": [true, 2]}}', "finite number, got True"),
    ],
)  # fmt: skip
def test_positions_that_are_none_are_format_errors(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=problem):
        read_positions(tmp_path / name, NAMES)


def test_names_of_several_lines_have_positions(tmp_path):
    (tmp_path / "a.csv").write_text('name,x,y\n"C\nD",1,2\nB,3,4\nB,3,4\n')
    np.testing.assert_array_equal(read_positions(tmp_path / "a.csv", NAMES)[0], [[np.nan] * 2, [3, 4], [1, 2]])


def test_a_position_of_a_text_that_two_vertices_are_written_as_is_refused(tmp_path):
    put(tmp_path / "a.csv", "name,x,y\n1,3,4\n")
    with pytest.raises(FormatError, match="one vertex, got '1'"):
        read_positions(tmp_path / "a.csv", Labels([1, "1"]))


@pytest.mark.parametrize("reader", [read_pairs, read_labels])
def test_lists_of_labels_are_format_errors_where_csv_is_none(tmp_path, reader):
    (tmp_path / "a.csv").write_text(f"A,B\n{LONG},B\n" if reader is read_pairs else f"A\n{LONG}\n")
    with pytest.raises(FormatError, match=":2: must be well-formed CSV"):
        reader(tmp_path / "a.csv", NAMES)


class TestTimetables:
    """GTFS: comma-separated texts whose names end in .txt."""

    TRANSFERS = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\nA,B,2,120\nB,C,2,60\n"

    def test_transfers_are_edges(self, tmp_path):
        path = tmp_path / "transfers.txt"
        path.write_text(self.TRANSFERS)
        assert shortest_paths(path).distance("A", "C") == 180
        path.write_text(
            "\ufeff" + self.TRANSFERS.replace(",min_transfer_time", "").replace(",120", "").replace(",60", "")
        )
        with pytest.raises(FormatError, match=r"identifies an edge or its kind.*weight=None"):
            read(path)
        assert shortest_paths(path, weight=None).distance("A", "C") == 2

    @pytest.mark.parametrize("ask", [read, shortest_paths])
    def test_other_tables_say_what_they_are(self, tmp_path, ask):
        path = tmp_path / "stop_times.txt"
        path.write_text("trip_id,arrival_time,departure_time,stop_id,stop_sequence\nT,08:00:00,08:00:00,A,1\n")
        with pytest.raises(FormatError, match=r"a row must be an edge, got GTFS stop_times.*from_stop_id, to_stop_id"):
            ask(path)
        path.write_text("stop_id,stop_name\nA,Market\n")
        with pytest.raises(FormatError, match=r"got GTFS stops.*transfers\.txt"):
            ask(path)
        path.write_text("pathway_id,from_stop_id,to_stop_id,pathway_mode,is_bidirectional,length\n1,A,B,1,1,4\n")
        assert not ask(path).directed if ask is read else ask(path).distance("B", "A") == 4

    def test_commas_in_a_text_are_csv(self, tmp_path):
        path = tmp_path / "roads.txt"
        path.write_text("city;town;km\nA;B;3\n")
        with pytest.raises(FormatError, match=r"the columns 'city', 'town', 'km'.*columns=\(FROM, TO, WEIGHT\)"):
            read(path)
        assert shortest_paths(path, columns=("city", "town")).distance("A", "B") == 3

    def test_the_way_out_of_a_text_without_format_works(self, tmp_path):
        path = tmp_path / "odd.txt"
        path.write_text("!!\n??\n")
        with pytest.raises(FormatError, match="looks like none") as caught:
            shortest_paths(path)
        call = str(caught.value).partition("Say which: ")[2].rstrip(".")
        path.write_text("A B 3\n")
        graph = eval(call.replace("…", "edgelist"), {"apsp": apsp})
        assert shortest_paths(graph).distance("A", "B") == 3


class TestLabelledMatrices:
    def test_what_save_writes_is_read_as_a_matrix(self, tmp_path):
        edges = [("A", "B", 3), ("B", "C d", 4), ("C d", "x,y", 1), ("A", 'q"', 9)]
        for directed, kind in ((True, "int32"), (False, "float64")):
            r = shortest_paths(edges, directed=directed, dtype=kind)
            r.save(tmp_path / "d.csv")
            graph = read(tmp_path / "d.csv")
            assert list(graph.labels) == list(r.graph.labels)
            again = shortest_paths(graph)  # a closure is its own
            for u in graph.labels:
                for v in graph.labels:
                    assert again.distance(u, v) == r.distance(u, v)
        shortest_paths([(0, 1, 3), (1, 0, 4)]).save(tmp_path / "d.csv")
        assert read(tmp_path / "d.csv").dense.dtype == np.int64  # nothing is unreached

    @pytest.mark.parametrize("suffix", ["csv", "txt"])
    def test_integers_beyond_those_of_floats_stay_exact_beside_inf(self, tmp_path, suffix):
        far, path = 2**53 + 1, tmp_path / f"d.{suffix}"
        shortest_paths([("A", "B", far), ("B", "C", 2)]).save(path)
        assert shortest_paths(read(path)).distances.tolist() == [
            [0, far, far + 2],
            [2**63 - 1, 0, 2],
            [2**63 - 1] * 2 + [0],
        ]
        for entry in (str(2**63 - 1), "1e999", "1_0", "0.5"):
            path.write_text(path.read_text().replace(f"{far + 2}", entry))
            with pytest.raises(FormatError, match="an entry must be") as told:
                read(path)
            assert "blank cell" not in str(told.value) or entry == "1_0"
            path.write_text(path.read_text().replace(entry, f"{far + 2}"))

    @pytest.mark.parametrize("sign", [";", "\t"])
    def test_decimal_commas_of_the_first_row_separate_nothing(self, sign):
        A = np.array([[9.5, 1, 2.5, 3], [1, 0, 3, 4], [2.5, 3, 0, 5.25], [3, 4, 5.25, 0]])  # a frame of names, too
        for rows in (A, A + 0.5):
            text = "".join(sign.join(f"{x:g}".replace(".", ",") for x in row) + "\n" for row in rows)
            np.testing.assert_array_equal(read(io.StringIO(text)).dense, rows)

    def test_a_blank_cell_in_each_row_makes_no_edges_of_them(self):
        with pytest.raises(FormatError, match=r"an entry must be a number, got ''\. A missing edge is inf"):
            read(io.StringIO("1\t19\t\t48\n48\t45\t\t17\n19\t\t6\t31\n\t26\t44\t38\n"))
        assert read(io.StringIO("1\t\t2\n2\t\t3\n")).edge_count == 2  # tabs that align columns

    def test_pandas_and_integers_and_other_separators(self):
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame([[0, 2.5], [np.inf, 0]], index=[7, 5], columns=[7, 5])
        for text in (table.to_csv(), table.to_csv(sep=";"), table.to_csv(index_label="city"), table.to_csv(quoting=2)):
            graph = read(io.StringIO(text), format="csv")
            assert graph.labels == [7, 5] or graph.labels == ["7", "5"]
            np.testing.assert_array_equal(graph.dense, table)
        assert as_graph(io.StringIO(table.to_csv()), unweighted=True).edge_count == 3

    def test_ends_named_by_the_header_are_edges_and_an_empty_first_name_is_none(self):
        assert read(io.StringIO("source,target\ntarget,x\n"), format="csv").dense is None
        assert read(io.StringIO(",source,target\nsource,0,5\ntarget,1,0\n"), format="csv").dense.tolist() == [
            [0, 5],
            [1, 0],
        ]
        assert read(io.StringIO(",source,target\n0,a,b\n1,b,c\n"), format="csv").edge_count == 2

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            (",A,B\nB,0,1\nA,2,0\n", ":2: the rows of a matrix must be in the order of its columns, got 'B' for 'A'"),
            (",A,B\nA,0,x\nB,2,0\n", ":2: an entry must be a number, got 'x' in the column 'B'"),
            (",A,B\nA,0,x\nB,2,0\n", ":2: an entry must be a number, got 'x'"),
            (",A,B\nA,0,9007199254740993\nB,0.5,0\n", ":2: an entry must be an integer that 64 bits hold exactly"),
            (",A,B\nA,0,1\nC,2,0\n", "the header must name one column"),
            (",A,B,C\nA,0,1,2\nB,2,0,1\n", "the header must name one column"),
        ],
    )
    def test_what_is_wrong_is_told(self, text, match):
        with pytest.raises(FormatError, match=match):
            read(io.StringIO(text), format="csv")


def test_graphml_is_parsed_at_once_and_without_its_name_space_too(monkeypatch):
    """In parts, expat would begin a long attribute anew with each: 32 MB took half a minute."""
    long = "x" * (1 << 25)
    text = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="w" for="edge" attr.name="weight" '
        f'attr.type="int"/><graph edgedefault="directed"><node id="a"/><node id="b"/>'
        f'<edge source="a" target="b" note="{long}"><data key="w">3</data></edge></graph></graphml>'
    )
    fed = []
    parser = xml.etree.ElementTree.XMLParser

    class Counting(parser):
        def feed(self, data):
            fed.append(len(data))
            super().feed(data)

    monkeypatch.setattr(xml.etree.ElementTree, "XMLParser", Counting)
    for content in (text, text.replace(' xmlns="http://graphml.graphdrawing.org/xmlns"', "")):
        assert read(io.BytesIO(content.encode())).weights.tolist() == [3]
    assert len(fed) == 2


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.edgelist"])
@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_text_of_another_encoding_is_refused_with_a_way_out(tmp_path, name, encoding):
    """As Excel saves it."""
    text = {".csv": "from;to;km\nGöteborg;B;5\n", ".json": '{"Göteborg": {"B": 5}}', ".edgelist": "Göteborg B 5\n"}
    path = tmp_path / name
    path.write_bytes(text[path.suffix].encode(encoding))
    with pytest.raises(FormatError, match="or save it as UTF-8") as error:
        read(path)
    way = re.search(r"open\(.*?\)", str(error.value))[0]
    with eval(way) as file:
        graph = read(file)
    assert (sorted(graph.labels), graph.weights.tolist()) == (["B", "Göteborg"], [5])


def test_a_plain_file_that_counts_from_1_is_read_as_its_error_says(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("4 3\n1 2 5\n2 3 5\n4 1 5\n")
    with pytest.raises(FormatError, match="or leave out its first line") as error:
        shortest_paths(path)
    graph = eval(re.search(r"Say (.*?) if", str(error.value))[1])
    assert (list(graph.labels), graph.n) == ([1, 2, 3, 4], 4)


def test_vertices_may_be_called_as_a_header_is():
    g = read(io.StringIO("von,nach,km\nstart,end,4\nend,A,7\n"), columns=("von", "nach", "km"))
    assert sorted(g.labels) == ["A", "end", "start"]


def test_a_row_of_other_width_is_shown_as_it_stands(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('from,to,km\n"A,B",5\n')
    with pytest.raises(FormatError, match="got 2: 'A,B,5'"):
        read(path)
    path.write_text("sep=;\nfrom;to;km\nA;B;5\n")  # for Excel
    with pytest.raises(FormatError, match=r"'from;to;km'\. Leave out what stands above it"):
        read(path)


def test_the_weight_that_an_error_suggests_is_a_number_that_counts(tmp_path):
    path = tmp_path / "pathways.txt"
    path.write_text("pathway_id,from_stop_id,to_stop_id,pathway_mode,stairs,up\n1,A,B,1,x,60\n2,B,C,1,y,30\n")
    with pytest.raises(FormatError, match="Say weight='up', or") as error:
        read(path)
    assert read(path, weight=re.search(r"Say weight='(.*?)'", str(error.value))[1]).weights.tolist() == [60, 30]


@pytest.mark.parametrize("attributes", [{"km": 3}, {"km": 3, "name": "x y"}, {}])
def test_what_networkx_writes_by_default_has_a_way_out(tmp_path, attributes):
    path = tmp_path / "a.edgelist"
    nx.write_edgelist(nx.Graph([("A", "B", attributes)]), path)
    with pytest.raises(FormatError, match="NetworkX's attributes") as error:
        read(path)
    graph = eval(re.search(r"Say (.*?), with", str(error.value))[1], {"apsp": apsp, "networkx": nx})
    assert (graph.n, graph.directed, graph.weights is None) == (2, False, not attributes)
    assert read(path, weight=None).n == 2


@pytest.mark.parametrize("text", ['{"A": {"B": 3}, "A": {"C": 4}}', '{"A": {"B": 3, "B": 4}}'])
def test_keys_of_json_are_distinct(text):
    """Duplicate key of a JSON object: json.loads keeps the last value, and edges would be lost."""
    with pytest.raises(FormatError, match=r"'[AB]' twice in one object"):
        read(io.BytesIO(text.encode()), format="json")


@pytest.mark.parametrize("text", ['{"A": {"B": 1e400}}', '{"A": {"B": -1e999}}', '{"A": {"B": 1e-400}}'])
def test_numbers_of_json_that_float64_does_not_hold_are_refused(text):
    """json.loads makes inf of them, which is no edge, or 0."""
    with pytest.raises(FormatError, match=r"the number -?1e-?[49].*, which must be"):
        read(io.BytesIO(text.encode()), format="json")


def _cytoscape(*, listed, named):
    """What Cytoscape and cytoscape.js export, with parallel edges; names of nodes are told once more by Cytoscape."""
    nodes = [{"data": {"id": v, **({"name": v.upper(), "value": 7} if named else {})}} for v in "abc"]
    ends = [("a", "b", 4), ("a", "b", 3), ("b", "c", 7)]
    edges = [{"data": {"id": f"e{k}", "source": u, "target": v, "w": w}} for k, (u, v, w) in enumerate(ends)]
    return {"elements": [*edges, *nodes] if listed else {"nodes": nodes, "edges": edges}}


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_elements_of_cytoscape(listed, named):
    found = read(io.BytesIO(json.dumps(_cytoscape(listed=listed, named=named)).encode()), format="json")
    assert (list(found.labels), found.directed) == (["a", "b", "c"], True)
    assert (found.rows.tolist(), found.cols.tolist(), found.weights.tolist()) == ([0, 0, 1], [1, 1, 2], [4, 3, 7])


@pytest.mark.parametrize("nodes", [{"A": {"label": "x"}, "B": {}}, [{"id": "A"}, {"id": "B", "label": "y"}]])
@pytest.mark.parametrize("place", ["metadata", None])
@pytest.mark.parametrize("directed", [None, True, False])
def test_json_graph_format(nodes, place, directed):
    edge = {"source": "A", "target": "B", "relation": "r", **({place: {"km": 4}} if place else {"km": 4})}
    graph = {"nodes": nodes, "edges": [edge], **({} if directed is None else {"directed": directed})}
    found = read(io.BytesIO(json.dumps({"graph": graph}).encode()), format="json")
    assert (list(found.labels), found.weights.tolist(), found.directed) == (["A", "B"], [4], directed is not False)
    graph["edges"].append(edge | {"directed": directed is False})
    with pytest.raises(FormatError, match="edges that are directed beside others that are not"):
        read(io.BytesIO(json.dumps({"graph": graph}).encode()), format="json")


@pytest.mark.parametrize(
    "text",
    [
        '{"graph": {"edges": [3]}}', '{"graph": {"nodes": ["A"], "edges": []}}', '{"elements": {"nodes": []}}',
        '{"elements": [{"data": {}}]}', '{"elements": {"nodes": [], "edges": [{"data": {"source": "A"}}]}}',
        '{"graph": {"nodes": {"A": {}}, "edges": [{"source": "A", "target": "B"}]}}',
    ],
)  # fmt: skip
def test_json_of_no_graph_is_refused(text):
    with pytest.raises(FormatError, match="must be JSON of a graph"):
        read(io.BytesIO(text.encode()), format="json")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(nx.node_link_data(nx.Graph([("A", "B", {"km": 4}), ("B", "C", {})]))),
        json.dumps(nx.adjacency_data(nx.Graph([("A", "B", {"km": 4}), ("B", "C", {})]))),
        '{"A": {"B": {"km": 4}}, "B": {"C": {}}}',
        '{"A": {"B": {"km": 4}}, "B": ["C"]}',
    ],
)
@pytest.mark.parametrize("weight", [{}, {"weight": "km"}])
def test_an_edge_of_json_without_a_weight_beside_others_is_refused(text, weight):
    """As a blank cell of a CSV is, and a record without the key."""
    with pytest.raises(FormatError, match=r"none under 'km' on the edge 'B' → 'C'\. Give it one, or say weight=None"):
        read(io.BytesIO(text.encode()), format="json", **weight)
    assert read(io.BytesIO(text.encode()), format="json", weight=None).n == 3


@pytest.mark.filterwarnings("ignore:.*unclosed file", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_record_is_an_edge_and_a_way_out_for_lists_of_edges_works(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"from": "A", "to": "B", "km": 3}\n')
    assert read(path).weights.tolist() == [3]
    for text in ('["A", "B", 3]\n["B", "C", 4]\n', '[["A", "B", 3], ["B", "C", 4]]'):
        path.write_text(text)
        with pytest.raises(FormatError) as error:
            read(path)
        way = re.search(r"(apsp\.as_graph\(list.*?) of edges", str(error.value))[1]
        assert eval(way, {"apsp": apsp, "json": json}).weights.tolist() == [3, 4]


@pytest.mark.parametrize("ways", [("2", "2.0"), ("2.00", "2"), ("+2", "2"), ("1e3", "1000")])
def test_an_integer_is_written_in_one_way(tmp_path, ways):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "a.csv"
    path.write_text("from,to,minutes\n1,{},5\n{},3,7\n".format(*ways))
    with pytest.raises(FormatError, match=r"in one way, got .*pandas.read_csv\(…\) .*dtype=str"):
        as_graph(path)
    assert as_graph(pandas.read_csv(path)).n == 3
    assert as_graph(pandas.read_csv(path, dtype=str), weight=None).n == 4
    path.write_text('from,to,minutes\n"1","{}",5\n"{}","3",7\n'.format(*ways))
    assert as_graph(path).n == 4


@pytest.mark.parametrize("text", ["from,to,cost\n1.50,3,0.10\n1.5,2.0,7\n", "from\tto\n3.00\t4\n5.0\t007\n"])
def test_names_of_a_long_table_are_as_written(tmp_path, monkeypatch, text):
    (tmp_path / "a.csv").write_text(text)
    short = as_graph(tmp_path / "a.csv")
    monkeypatch.setattr("semiring.host.text.LONG", 0)
    long = as_graph(tmp_path / "a.csv")
    assert list(long.labels) == list(short.labels)
    for side in ("rows", "cols", "weights"):
        np.testing.assert_array_equal(getattr(long, side), getattr(short, side))
