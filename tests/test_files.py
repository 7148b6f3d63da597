"""Files that appear whole or not at all: through errors, full disks, links, pipes and devices; whoever writes them."""

from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from apsp import as_graph, compare, shortest_paths, transitive_closure, write
from semiring import BitMatrix
from semiring.stores.files import check_writable, writing

ROOT = Path(__file__).parents[1]
posix = pytest.mark.skipif(os.name == "nt", reason="files as POSIX has them")
EDGES = [("a", "b", 1), ("b", "c", 2)]

#: Everything that writes a file: suffix → write to that path, and what then tells that it is all there.
WRITERS: dict[str, tuple[Callable[[Path], None], Callable[[io.BytesIO], bool]]] = {
    "distances.npy": (lambda path: shortest_paths(EDGES).save(path), lambda file: np.load(file)[0, 2] == 3),
    "distances.npz": (
        lambda path: shortest_paths(EDGES).save(path),
        lambda file: np.load(file)["distances"][0, 2] == 3,
    ),
    "distances.csv": (lambda path: shortest_paths(EDGES).save(path), lambda file: b"a,0,1,3\r\n" in file.read()),
    "reach.npz": (lambda path: transitive_closure(EDGES).save(path), lambda file: "words" in np.load(file)),
    "bits.npz": (lambda path: BitMatrix.eye(70).save(path), lambda file: np.load(file)["words"].shape == (70, 2)),
    "graph.npz": (lambda path: write(EDGES, path), lambda file: np.load(file)["weights"].tolist() == [1, 2]),
    "graph.npy": (
        lambda path: write(np.ones((3, 3)), path),
        lambda file: np.load(file).tolist() == np.ones((3, 3)).tolist(),
    ),
    "graph.csv.gz": (lambda path: write(EDGES, path), lambda file: file.read(2) == b"\x1f\x8b"),
}


@pytest.fixture(params=WRITERS)
def writer(request, tmp_path) -> tuple[Path, Callable[[Path], None], Callable[[bytes], bool]]:
    """A path to write to, what writes to it, and whether bytes are what it wrote."""
    write, complete = WRITERS[request.param]
    return tmp_path / request.param, write, lambda data: bool(complete(io.BytesIO(data)))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_old_content_stays_until_the_new_is_complete(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def write_half(error: BaseException) -> None:
        with writing(path) as file:
            file.write(b"half")
            raise error

    for error in (ValueError(), KeyboardInterrupt(), SystemExit()):
        with pytest.raises(type(error)):
            write_half(error)
        assert path.read_text() == "old"
        assert names(tmp_path) == ["out.csv"]
    with writing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out.csv"]


def test_every_writer_leaves_one_whole_file(writer):
    path, write, complete = writer
    write(path)
    assert complete(path.read_bytes())
    assert names(path.parent) == [path.name]


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    order: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b))[1])
    BitMatrix.eye(3).save(tmp_path / "bits.npz")
    assert order == ["fsync", "replace"]


@posix
def test_a_link_stays_and_what_it_leads_to_is_written_whatever_its_suffix(writer):
    path, write, complete = writer
    target = path.parent / "target.bin"
    for _ in range(2):  # where it leads nowhere yet, and where it does
        path.unlink(missing_ok=True)
        path.symlink_to(target.name)
        write(path)
        assert path.is_symlink()
        assert complete(target.read_bytes())
        assert names(path.parent) == sorted([path.name, "target.bin"])


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_device_is_an_error_that_names_the_path(writer):
    path, write, _ = writer
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space") as caught:
        write(path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert names(path.parent) == [path.name]
    assert not list(Path("/dev").glob("full?*"))
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@posix
def test_a_pipe_is_written_through_and_stays_a_pipe(writer):
    path, write, complete = writer
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()
    write(path)
    reader.join(60)
    assert complete(found[0])
    assert stat.S_ISFIFO(os.stat(path).st_mode)
    assert names(path.parent) == [path.name]


@posix
@pytest.mark.parametrize("by_link", [False, True])
def test_an_open_descriptor_is_written_where_it_stands(tmp_path, by_link):
    log, name = tmp_path / "log", "/dev/stdout"
    log.write_text("old\n")
    if by_link:
        (tmp_path / "link").symlink_to(name)
        name = str(tmp_path / "link")
    code = (
        "from semiring.stores.files import check_writable, writing\n"
        "print('before', flush=True)\n"
        f"check_writable({name!r})\n"
        f"with writing({name!r}) as file: file.write(b'between\\n')\n"
        "print('after')\n"
    )
    with open(log, "ab") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, cwd=ROOT)
    assert log.read_text().split() == ["old", "before", "between", "after"]


@posix
def test_a_file_too_large_is_an_error_that_names_the_path(tmp_path):
    import resource

    path = tmp_path / "bits.npz"
    BitMatrix.eye(3).save(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        for name, write in (
            ("bits.npz", BitMatrix.eye(4096).save),
            ("distances.npy", shortest_paths(np.ones((400, 400))).save),
        ):
            with pytest.raises(OSError, match="too large") as caught:
                write(tmp_path / name)
            assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(tmp_path / name))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert BitMatrix.load(path) == BitMatrix.eye(3)
    assert names(tmp_path) == ["bits.npz"]


@posix
def test_permissions_are_kept_and_new_files_have_the_usual_ones(writer, monkeypatch):
    path, write, _ = writer
    (path.parent / "usual").touch()
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to the whole process"))
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "usual").stat().st_mode)
    path.chmod(0o600)
    with writing(path):
        (beside,) = path.parent.glob(".*")
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600  # nobody else may read it meanwhile
    path.chmod(0o664)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


@posix
@pytest.mark.parametrize("attempt", [check_writable, lambda path: writing(path).__enter__()])
def test_what_cannot_be_written_is_known_before(unprivileged, attempt):
    (unprivileged / "read_only.npy").touch()
    (unprivileged / "read_only.npy").chmod(0o444)
    (unprivileged / "shut").mkdir(0o555)
    (unprivileged / "loop.npy").symlink_to("loop.npy")
    for path, kind in (
        (unprivileged, IsADirectoryError),
        (unprivileged / "missing" / "out.npy", FileNotFoundError),
        (unprivileged / "read_only.npy", PermissionError),
        (unprivileged / "read_only.npy" / "out.npy", NotADirectoryError),
        (unprivileged / "shut" / "out.npy", PermissionError),
        (unprivileged / ("x" * 300), OSError),
        (unprivileged / "loop.npy", OSError),
        (Path("/dev/fd/977"), OSError),
    ):
        with pytest.raises(kind) as caught:
            attempt(path)
        assert caught.value.filename == str(path)
    assert names(unprivileged) == ["loop.npy", "read_only.npy", "shut"]


def test_looking_changes_nothing(tmp_path):
    (tmp_path / "old.npy").write_text("old")
    before = os.stat(tmp_path / "old.npy")
    check_writable(tmp_path / "old.npy")
    check_writable(tmp_path / "new.npy")
    assert names(tmp_path) == ["old.npy"]
    assert os.stat(tmp_path / "old.npy") == before


def test_a_name_as_long_as_a_name_may_be(tmp_path):
    path = tmp_path / f"{'x' * 251}.npy"
    shortest_paths(EDGES).save(path)
    assert names(tmp_path) == [path.name]


@posix
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_plot_is_written_as_its_suffix_says_through_a_link_too(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    (tmp_path / f"plot{suffix}").symlink_to("target.bin")
    compare(as_graph(EDGES).matrix(), devices=["cpu"], threads=1).plot(save=tmp_path / f"plot{suffix}")
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert (tmp_path / "target.bin").read_bytes().startswith(start)
    assert names(tmp_path) == sorted([f"plot{suffix}", "target.bin"])
