"""Where graphs are read from: pipes, standard input, and files made to take memory, time or the process itself."""

from __future__ import annotations

import errno
import gzip
import io
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from processes import finish, holding_less_than, start

from apsp import Reachability, Result, csgraph, shortest_paths
from apsp.doors.cli import main
from apsp.generate import random_graph
from apsp.io.formats import formats, read, write, written
from apsp.io.inputs import as_graph
from apsp.io.reading.files import Source
from semiring import BitMatrix, eliminate
from semiring.host.errors import FormatError, MemoryNeeded, ShapeError

#: The formats that are written as well as read.
WRITTEN = written()
N = 20_001
#: Longer than what is looked at to find the format, and longer than what a pipe holds.
LONG_PATH = "".join(f"{k}\t{k + 1}\n" for k in range(N - 1))


@contextmanager
def fed(path: Path, data: bytes):
    """A FIFO at that path, and a thread that writes the data into it once."""
    os.mkfifo(path)

    def feed() -> None:
        with open(path, "wb", buffering=0) as file:
            file.write(data)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    yield path
    thread.join(60)
    assert not thread.is_alive()


def apsp(*arguments, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "apsp", *map(str, arguments)], capture_output=True, **options)


class TestPipes:
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("named", [False, True])
    @pytest.mark.parametrize("format", WRITTEN)
    def test_every_format_through_a_fifo(self, tmp_path, format, named, packed):
        graph = random_graph(9, 60, seed=1, directed=formats()[format].directions)
        named = named or formats()[format].sniff is None
        whole = tmp_path / f"whole{formats()[format].suffixes[0]}"
        write(graph, whole)
        data = whole.read_bytes()
        with fed(tmp_path / "fifo", gzip.compress(data) if packed else data) as fifo:
            back = read(fifo, format=format if named else None)
        np.testing.assert_array_equal(back.matrix("min_plus", "float64"), graph.matrix("min_plus", "float64"))

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_pipe_keeps_its_beginning(self, tmp_path, packed):
        data = gzip.compress(LONG_PATH.encode()) if packed else LONG_PATH.encode()
        for format in (None, "snap"):
            with fed(tmp_path / f"fifo-{format}", data) as fifo:
                graph = read(fifo, format=format)
            assert (graph.n, graph.edge_count) == (N, N - 1)
            assert graph.labels == range(N)

    @pytest.mark.parametrize(("file", "format"), [("-", []), ("/dev/stdin", ["--from-format", "snap"])])
    def test_standard_input_of_the_command(self, tmp_path, file, format):
        out = tmp_path / "out.gr"
        done = apsp("-q", "convert", file, out, *format, input=LONG_PATH.encode())
        assert (done.returncode, done.stderr) == (0, b"")
        assert read(out).edge_count == N - 1
        assert out.read_text().startswith("c stdin\n")

    @pytest.mark.parametrize("out", ["-", "/dev/stdout"])
    def test_standard_output_holds_the_file_alone(self, tmp_path, monkeypatch, out, capfd):
        monkeypatch.chdir(tmp_path)
        run = CliRunner().invoke(main, ["generate", "cycle", "3", "--output", out, "--format", "plain"])
        assert (run.exit_code, run.stdout, run.stderr) == (0, "", f"{out}: n=3 edges=3\n")
        assert capfd.readouterr().out == "3 3\n0 1 1\n1 2 1\n2 0 1\n"
        assert list(tmp_path.iterdir()) == []
        write(read(io.StringIO("0 1\n")), "./-", format="plain")  # a file
        assert Path("./-").read_text() == "2 1\n0 1 1\n"

    def test_process_substitution(self, tmp_path):
        out = tmp_path / "out.gr"
        command = f'"{sys.executable}" -m apsp -q convert <(gzip < "{tmp_path}/p.txt") "{out}" --from-format snap'
        (tmp_path / "p.txt").write_text(LONG_PATH)
        subprocess.run(["bash", "-c", command], check=True)
        assert read(out).edge_count == N - 1

    def test_the_command_says_what_it_took_two_numbers_for(self, tmp_path):
        done = apsp("convert", "-", tmp_path / "out.gr", input=b"5 0\n")
        assert done.returncode == 0
        assert done.stderr.decode().startswith(
            "apsp: standard input: read as a list of edges, the first of them 5 → 0."
        )
        assert done.stderr.count(b"\n") == 1

    def test_standard_input_in_python(self, monkeypatch, tmp_path):
        class Stdin:
            buffer = io.BytesIO(b"source,target,minutes\na,b,4\n")

        monkeypatch.setattr(sys, "stdin", Stdin)
        graph = as_graph("-", weight="minutes")
        assert graph.edges()[2].tolist() == [4]
        assert graph.name == "stdin"
        Stdin.buffer = io.BytesIO(b"source,target\na\n")
        with pytest.raises(FormatError, match=r"^standard input:2: "):
            read("-")
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(FileNotFoundError, match="standard input"):
            read("-")
        # "./-" is a file.
        monkeypatch.chdir(tmp_path)
        Path("./-").write_text("source,target\nx,y\n")
        assert read("./-").labels == ("x", "y")

    @pytest.mark.busy
    def test_ctrl_c_while_nobody_writes(self, tmp_path):
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        code = "import sys; from apsp import cli; cli.main(['convert', *sys.argv[1:]])"
        child = start(code, fifo, tmp_path / "out.gr")
        while True:  # until the command has the FIFO open
            assert child.poll() is None
            with suppress(OSError):  # nobody reads yet
                end = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
                break
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        assert finish(child) == (130, "", "apsp: interrupted.\n")
        os.close(end)

    def test_a_stream_without_end_is_refused(self, monkeypatch):
        monkeypatch.setattr("apsp.io.reading.files.available", lambda device: 1 << 23)
        with pytest.raises(MemoryNeeded, match=r"^/dev/zero: .* half of the free memory, 4 MiB"):
            read("/dev/zero")

    def test_an_error_while_reading_names_the_file(self, tmp_path, monkeypatch):
        class Broken(io.BytesIO):
            def read(self, size=-1):
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        (tmp_path / "g.gr").write_text("p sp 0 0\n")
        source = Source(tmp_path / "g.gr")
        monkeypatch.setattr(source, "_raw", Broken)
        for look in (source.head, lambda: source.data):
            with pytest.raises(OSError, match="Input/output error") as caught:
                look()
            assert caught.value.filename == str(tmp_path / "g.gr")


def npy_header(shape: tuple[int, ...], dtype: str = "<f8", more: bytes = b"") -> bytes:
    """An .npy file with that header, and little after it."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue() + more


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def larger(archive: bytes, size: int) -> bytes:
    """An archive of one member whose directory says that it is so large."""
    data, at = bytearray(archive), archive.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = size.to_bytes(4, "little")
    return bytes(data)


def saved(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


HEADER = "%%MatrixMarket matrix"
#: So many numbers take twice what a reader may.
LONG = 1 << 21
#: Files of some hundred bytes that promise gigabytes.
PROMISES = [
    ("a.mtx", f"{HEADER} array real general\n15000 15000\n1\n".encode()),
    ("a.mtx", f"{HEADER} array real symmetric\n15000 15000\n1\n".encode()),
    ("a.mtx", f"{HEADER} coordinate real general\n15000 15000 1000000000\n1 1 1\n".encode()),
    ("a.plain", b"1000000000 5\n0 1 2\n"),
    ("a.gr", b"p sp 1000000000 1000000000\na 1 2 3\n"),
    ("a.npy", npy_header((30000, 30000), more=bytes(8))),
    ("a.npy", npy_header((2**32, 2**32))),
    ("a.npy", npy_header((10**30, 10**30))),
    ("a.npy", npy_header((0, 10**18))),
    ("a.npy", npy_header((-1, -1), more=bytes(8))),
    ("a.npy", b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"{'descr': " + b"-" * 8990),
    ("a.npy", b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"{'descr': "),
    ("a.npz", zipped(matrix=npy_header((30000, 30000), more=bytes(8)))),
    (
        "a.npz",
        zipped(n=npy_header((), "<i8", bytes(8)), rows=npy_header((10**9,), "<i8"), cols=npy_header((0,), "<i8")),
    ),
    ("a.npz", zipped(matrix=npy_header((1, 1), more=bytes(8)), labels=npy_header((10**9,), "<U0"))),
    ("a.npz", zipped(matrix=npy_header((1, 1), more=bytes(8)), labels=npy_header((1,), "<U1000000000"))),
    ("a.npz", zipped(matrix=npy_header((2, 2), "|O", bytes(32)))),
    ("a.npz", saved(n=0.5, rows=[0], cols=[0])),
    ("a.npz", saved(n=[2, 2], rows=[0], cols=[0])),
    ("a.npz", saved(n=np.uint64(2**63), rows=[0], cols=[0])),
    ("a.npz", saved(n=2**62, rows=[0], cols=[0])),
    ("a.npz", saved(n=2, rows=np.zeros(LONG), cols=[0])),
    ("a.npz", saved(n=2, rows=[0], cols=[0], weights=np.zeros(LONG))),
    ("a.npz", saved(n=2, rows=[0], cols=[0], labels=np.zeros(LONG))),
    ("a.npz", saved(matrix=[[0.0]], labels=np.zeros(LONG))),
    ("a.npz", saved(format="coo", shape=[2, 2], row=np.zeros(LONG, int), col=[0], data=[1])),
    ("a.npz", saved(format="csr", shape=[2, 2], indices=np.zeros(LONG, int), indptr=[0, 1, 1], data=[1])),
    ("a.npz", larger(zipped(matrix=npy_header((20000, 20000))), 8 * 20000**2 + 128)),
    ("a.gml", b"graph [ " + b"a [ " * 200_000),
]


class TestMemory:
    @pytest.mark.parametrize(("name", "data"), PROMISES)
    def test_a_promise_is_not_believed(self, tmp_path, name, data):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(FormatError):
            read(path)  # once before the clock: modules are imported
        with holding_less_than(8 << 20), pytest.raises(FormatError):
            read(path)

    @pytest.mark.parametrize("kind", ["packed", "larger than its file"])
    def test_what_we_saved_is_not_packed_and_promises_what_it_has(self, tmp_path, kind):
        path = tmp_path / "a.npz"
        shortest_paths([(0, 1, 2)]).save(path)
        arrays = {**np.load(path)} | {"distances": np.zeros((1500, 1500))}
        if kind == "packed":
            np.savez_compressed(path, **arrays)
        else:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("distances.npy", npy_header((20000, 20000)))
            path.write_bytes(larger(path.read_bytes(), 8 * 20000**2 + 128))
        for load in (Result.load, Reachability.load, BitMatrix.load):
            with holding_less_than(8 << 20), pytest.raises(FormatError, match=r"a\.npz"):
                load(path)

    def test_a_zarr_group_takes_what_it_has(self, tmp_path):
        zarr = pytest.importorskip("zarr")
        r = shortest_paths([(0, 1, 2)])
        for name, shape in (("result_npz", (3 << 30,)), ("distances", (30000, 30000))):
            r.save(tmp_path / "d.zarr")
            group = zarr.open_group(str(tmp_path / "d.zarr"))
            del group[name]
            group.create_array(name, shape=shape, dtype="u1" if name == "result_npz" else "f8", chunks=shape)
            refused = pytest.raises(FormatError, match=rf"d\.zarr: .*{name} with .* bytes in")
            with holding_less_than(32 << 20), refused:
                Result.load(tmp_path / "d.zarr")

    def test_many_vertices_cost_nothing(self, tmp_path):
        files = {
            "a.plain": b"1000000000 1\n0 999999999 5\n",
            "a.gr": b"p sp 1000000000 1\na 1 1000000000 5\n",
            "a.mtx": f"{HEADER} coordinate real general\n1000000000 1000000000 1\n1 1000000000 5\n".encode(),
        }
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
            with holding_less_than(8 << 20):
                graph = read(tmp_path / name)
                assert graph.n == 10**9
                with pytest.raises(FormatError, match="999999998 without"):
                    write(graph, tmp_path / "out.snap")

    def test_what_unpacks_to_more_than_there_is(self, tmp_path, monkeypatch):
        zeros = bytes(8 * 1448**2)
        path = tmp_path / "a.npz"
        path.write_bytes(zipped(matrix=npy_header((1448, 1448), more=zeros)))
        (tmp_path / "a.snap.gz").write_bytes(gzip.compress(b"# " + zeros))
        assert read(path).n == 1448
        for module in ("semiring.host.memory", "apsp.io.reading.files"):
            monkeypatch.setattr(f"{module}.available", lambda device: 1 << 22)
        for name in ("a.npz", "a.snap.gz"):
            with pytest.raises(MemoryNeeded, match=name):
                read(tmp_path / name)

    def test_only_what_is_wanted_is_read(self, tmp_path):
        path = tmp_path / "a.npz"
        path.write_bytes(zipped(matrix=npy_header((1, 1), more=bytes(8)), other=npy_header((10**12,))))
        assert read(path).n == 1


class TestSparseArchives:
    """SciPy's compiled loops take indices on trust: one that is out of range writes anywhere."""

    @pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia"])
    @pytest.mark.parametrize("array", [sp.csr_array, sp.csr_matrix])
    def test_what_scipy_wrote(self, tmp_path, format, array):
        rng = np.random.default_rng(0)
        A = array(np.where(rng.random((12, 12)) < 0.3, rng.integers(1, 9, (12, 12)), 0)).asformat(format)
        sp.save_npz(tmp_path / "a.npz", A)
        expected = np.where(A.toarray() == 0, np.inf, A.toarray())
        np.testing.assert_array_equal(read(tmp_path / "a.npz").matrix("min_plus", "float64"), expected)

    @pytest.mark.parametrize(
        "changes",
        [
            dict(indptr=[0, 1, 10**6, 3, 3]),
            dict(indptr=[0, 2, 1, 3, 3]),
            dict(indptr=[0, -(10**6), 1, 3, 3]),
            dict(indptr=[1, 1, 2, 3, 3]),
            dict(indptr=[0, 1, 2, 3]),
            dict(indptr=[0, 1, 2, 3, 10**9]),
            dict(indptr=[0.0, 1.0, 2.0, 3.0, 3.0]),
            dict(indices=[1, 10**7, 0]),
            dict(indices=[1, -5, 0]),
            dict(indices=[1, 2**32 + 1, 0]),
            dict(indices=np.array([1, 2**63, 0], np.uint64)),
            dict(indices=[1]),
            dict(data=[1.0]),
            dict(data=[np.nan, 1.0, 2.0]),
            dict(data=["x", "y", "z"]),
            dict(data=np.zeros((3, 0, 0))),
            dict(data=np.zeros((3, 3, 3))),
            dict(shape=[4, 5]),
            dict(shape=[-4, -4]),
            dict(shape=[4.0, 4.0]),
            dict(shape=[4]),
            dict(shape=[10**18, 10**18]),
            dict(format="lil"),
            dict(format=b"\xff"),
            dict(format=["csr", "csr"]),
        ],
    )
    @pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
    def test_compressed_and_broken(self, tmp_path, format, changes):
        data = np.array([5.0, 6.0, 7.0])
        arrays = dict(format=format, shape=[4, 4], data=data, indices=[1, 2, 0], indptr=[0, 1, 2, 3, 3])
        arrays["data"] = data.reshape(3, 1, 1) if format == "bsr" else data
        (tmp_path / "whole.npz").write_bytes(saved(**arrays))
        assert read(tmp_path / "whole.npz").edge_count == 3
        (tmp_path / "a.npz").write_bytes(saved(**arrays | changes))
        with pytest.raises(FormatError):
            read(tmp_path / "a.npz")

    @pytest.mark.parametrize(
        "changes",
        [
            dict(row=[0, 4]),
            dict(row=[0, -1]),
            dict(row=[0, 2**32]),
            dict(row=[0.0, 1.0]),
            dict(col=[0]),
            dict(data=[1.0]),
            dict(coords=np.zeros((3, 2), int)),
            dict(shape=[4, 10**18]),
        ],
    )
    def test_coordinates_out_of_range(self, tmp_path, changes):
        arrays = dict(format="coo", shape=[4, 4], data=[5.0, 6.0], row=[0, 1], col=[1, 2])
        (tmp_path / "whole.npz").write_bytes(saved(**arrays))
        assert read(tmp_path / "whole.npz").edge_count == 2
        (tmp_path / "a.npz").write_bytes(saved(**arrays | changes))
        with pytest.raises(FormatError):
            read(tmp_path / "a.npz")

    @pytest.mark.parametrize("offsets", [[0, 4], [-4, 0], [0, 2**40], [0, 0], [0], [0.0, 1.0]])
    def test_diagonals_out_of_range(self, tmp_path, offsets):
        arrays = dict(format="dia", shape=[4, 4], data=np.ones((2, 4)), offsets=[0, 1])
        (tmp_path / "whole.npz").write_bytes(saved(**arrays))
        assert read(tmp_path / "whole.npz").edge_count == 7
        (tmp_path / "a.npz").write_bytes(saved(**arrays | dict(offsets=offsets)))
        with pytest.raises(FormatError):
            read(tmp_path / "a.npz")

    @pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.bsr_array])
    def test_in_memory(self, kind):
        A = kind(np.eye(4))
        A.indptr = np.array([0, 1, 10**6, 3, 4], dtype=np.int32)
        with pytest.raises(ShapeError, match="indices of a sparse matrix"):
            as_graph(A)

    def test_in_memory_is_left_as_it_was(self):
        A = sp.csr_array(np.eye(3))
        A.indices, A.data = np.append(A.indices, 0), np.append(A.data, 9.0)  # room behind the last entry
        assert as_graph(A).edge_count == 3
        assert (len(A.indices), len(A.data)) == (4, 4)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_index_pointers_that_decrease_are_refused_wherever_a_sparse_matrix_is_taken(format):
    """SciPy checks none where the last of them is 0, and its loops then write beyond their arrays."""
    A = sp.coo_array((np.ones(4), ([0, 0, 1, 1], [0, 1, 1, 2])), shape=(3, 3)).asformat(format)
    A.indptr = np.array([0, 2, 4, 0], A.indptr.dtype)
    for take in (as_graph, csgraph.shortest_path, eliminate, BitMatrix.from_sparse):
        with pytest.raises(ShapeError, match="indices"):
            take(A)
