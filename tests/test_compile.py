"""Kernels for the CPU are compiled wherever we are: on read-only and full disks, after damage, struck by Ctrl-C."""

from __future__ import annotations

import errno
import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.errors import TypingError
from processes import PATIENCE, ROOT, finish, python, start, wait_for

from semiring.kernels.cpu import compile as compiling
from semiring.stores import trust

pytestmark = pytest.mark.busy
posix = pytest.mark.skipif(os.name == "nt", reason="signals, limits and rights of POSIX")

#: What makes few kernels, and whose answers are known.
RIGHT = """
import numpy as np
from semiring import get
from semiring.dense.acyclic import close_acyclic
from semiring.kernels.backend import bind
def right():
    D = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]], np.float32)
    for k in range(3):
        bind(get("min_plus"), "float32").step(D, k)
    np.testing.assert_array_equal(D, [[0, 4, 5], [3, 0, 1], [2, 6, 0]])
    assert close_acyclic(3, np.array([2, 1]), np.array([1, 0]))[2, 0]
    print("right")
"""


def halve(a: int, b: int) -> int:
    """What the tests below compile."""
    return a // 2 + b


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where this test's machine code is kept."""
    monkeypatch.setattr(compiling, "folders", lambda: (tmp_path / "kernels",))
    monkeypatch.setattr(compiling, "_said", set())
    return tmp_path / "kernels"


def recompiled() -> bool:
    """Whether a new kernel of `halve`, which must be right, had to be compiled."""
    entry = compiling.kernel(halve)
    assert entry(7, 4) == 7
    return sum(entry.stats.cache_misses.values()) == 1


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_machine_code_is_found_again(folder):
    assert recompiled()
    assert not recompiled()


def test_nothing_looks_for_garbage_while_a_kernel_compiles_and_then_it_goes_on(folder, monkeypatch):
    during = []
    monkeypatch.setattr(compiling.OnDisk, "load_overload", lambda *_: during.append(gc.isenabled()))
    assert recompiled()
    assert gc.isenabled()
    with pytest.raises(TypingError):
        compiling.kernel(halve)("a", 4)
    assert gc.isenabled()
    gc.disable()
    try:
        compiling.kernel(halve)(7, 4)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert during == [False] * 3


def test_what_only_compiling_needs_is_not_loaded_with_machine_code(tmp_path):
    """numba's implementations of Python and NumPy, and SciPy's BLAS for them."""
    loaded = "; import sys; print('numba.np.arraymath' in sys.modules, 'scipy.linalg' in sys.modules)"
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert python(RIGHT + "right()" + loaded, env=env) == "right\nTrue True\n"
    assert python(RIGHT + "right()" + loaded, env=env) == "right\nFalse False\n"


NAMED = """
from semiring import get
from semiring.kernels.cpu import compile, inventory, kinds
loaded = []
load = compile.OnDisk.load_overload
compile.OnDisk.load_overload = lambda self, sig, context: (loaded.append(self.named(sig)), load(self, sig, context))[1]
import apsp, numpy as np, os, semiring, semiring.kernels.cpu.dense.backend
graph = apsp.road_like(600, seed=1)
works = {
    "closure": lambda: apsp.closure(np.eye(40, dtype=np.int32)),
    "elimination": lambda: apsp.shortest_paths(graph, engine="elimination"),
    "hub labels": lambda: semiring.Elimination.from_arrays([0], [1], np.ones(1, np.int32), 2).hub_labels(),
    "hops": lambda: apsp.shortest_paths(graph, unweighted=True, engine="hops"),
    "bits": lambda: apsp.closure(np.eye(300, dtype=bool), "boolean"),
    "index": lambda: apsp.transitive_closure(graph, engine="indexed"),
    "levels": lambda: apsp.shortest_paths(np.ones((1024, 1024)), engine="levels"),
}
assert not loaded
for name, work in works.items():
    if os.fork():  # each loads its own
        os.wait()
        continue
    work()
    kind = kinds.choose(get("min_plus"), np.dtype("int32"), True)
    known = inventory.called_by(name, None if name in ("bits", "index", "levels") else kind)
    print(name, len(known) > 0, sorted(set(known) - set(loaded)), flush=True)
    os._exit(0)
"""


@posix
def test_the_inventory_names_kernels_that_are_called():
    """Else what is compiled would stay missing for ever."""
    works = ("closure", "elimination", "hub labels", "hops", "bits", "index", "levels")
    assert python(NAMED).splitlines() == [f"{work} True []" for work in works]


def test_closures_of_exponentials_leave_nothing_missing(tmp_path):
    """The kernels of pairs are not called, and those of sums are."""
    code = """
import apsp, numpy as np
from semiring import get
from semiring.kernels.backend import bind
def missing():
    return bind(get("log_plus"), "float32").missing("closure").kernels
before = missing()
apsp.closure(np.full((40, 40), -9, np.float32), "log_plus")
print(before > 5, missing())
"""
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "SEMIRING_ASSUME_COMPILED": ""}
    assert python(code, env=env) == "True 0\n"


def test_what_is_missing_is_what_no_file_of_these_sources_has(folder, monkeypatch):
    monkeypatch.setattr(compiling, "_here", set())
    name = compiling.kernel(halve)._cache.named((1,))

    def missing() -> set[str]:
        compiling._here.clear()
        compiling._listed.cache_clear()
        return compiling.missing([name, "no.such.kernel"])

    assert missing() == {name, "no.such.kernel"}
    recompiled()
    assert compiling.missing([name]) == set()  # in this process
    assert missing() == {"no.such.kernel"}
    monkeypatch.setattr(compiling, "_sources", lambda: bytes(32))
    assert missing() == {name, "no.such.kernel"}


def test_a_signature_has_a_file_of_its_own(folder):
    """Processes that save different signatures at once cannot take one's code for the other's."""
    entry = compiling.kernel(halve)
    assert (entry(7, 4), entry(7.0, 4.0)) == (7, 7.0)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["empty", "half", "garbage", "longer", 0, 40, 70, 500, -1])
def test_damaged_machine_code_is_replaced(folder, damage, caplog):
    recompiled()
    file = only_file(folder)
    whole = file.read_bytes()
    if isinstance(damage, int):
        broken = bytearray(whole)
        broken[damage] ^= 0x10
    else:
        broken = {"empty": b"", "half": whole[: len(whole) // 2], "garbage": bytes(5000), "longer": whole + b"\0"}[
            damage
        ]
    file.write_bytes(broken)
    assert recompiled()
    assert not recompiled()
    assert only_file(folder) == file
    assert len(caplog.records) <= 1


def test_damage_behind_the_seal_is_replaced_and_said_once(folder, monkeypatch, caplog):
    """Content that is what it was, and cannot be used all the same: of another numba, say."""
    recompiled()
    file = only_file(folder)
    file.write_bytes(compiling.sealed(b"no pickle"))
    with caplog.at_level(logging.WARNING, "semiring"):
        assert recompiled()
        file.write_bytes(compiling.sealed(b"no pickle"))
        assert recompiled()
    assert [record.name for record in caplog.records] == ["semiring"]
    assert str(file) in caplog.text
    assert not recompiled()


def test_machine_code_of_other_sources_is_replaced(folder, monkeypatch):
    recompiled()
    file, real = only_file(folder), compiling._sources()
    monkeypatch.setattr(compiling, "_sources", lambda: bytes(32))
    assert recompiled()
    assert file.read_bytes().startswith(bytes(32))
    monkeypatch.setattr(compiling, "_sources", lambda: real)
    assert recompiled()
    assert [f.name for f in folder.iterdir()] == [file.name]


def test_the_sources_are_all_that_code_is_made_from(monkeypatch, tmp_path):
    """A change in any file of the backend, or in the catalog, is another digest."""
    shutil.copytree(ROOT / "semiring", tmp_path / "semiring", ignore=shutil.ignore_patterns("__pycache__", "cuda"))
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "semiring" / "kernels" / "cpu" / "compile.py"))
    files = [
        *sorted((tmp_path / "semiring" / "kernels" / "cpu").rglob("*.py")),
        tmp_path / "semiring" / "algebra" / "catalog.py",
    ]
    seen = {compiling._sources.__wrapped__()}
    for count, file in enumerate(files, start=2):
        file.write_text(file.read_text() + "\n# changed\n")
        seen.add(compiling._sources.__wrapped__())
        assert len(seen) == count


def test_a_folder_that_cannot_be_made_is_passed_over(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(compiling, "folders", lambda: (tmp_path / "file" / "below", folder))
    assert recompiled()
    assert not recompiled()
    assert only_file(folder).exists()


def test_nowhere_to_keep_it_is_said_once(folder, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("no folder")
    for places in ((tmp_path / "file" / "below",), ()):
        monkeypatch.setattr(compiling, "folders", lambda places=places: places)
        assert recompiled()
        assert recompiled()
    assert len(caplog.records) == 1
    assert "NUMBA_CACHE_DIR" in caplog.text


@posix
@pytest.mark.parametrize("which", ["file", "folder"])
@pytest.mark.parametrize("how", ["others", "others alone", "group", "owner"])
def test_what_others_could_have_written_is_not_read(folder, tmp_path, monkeypatch, caplog, which, how):
    """Nor written there: the next folder takes it, and the log says once why."""
    recompiled()
    path = only_file(folder) if which == "file" else folder
    if how == "owner":
        if os.geteuid():
            pytest.skip("only root may give files away")
        os.chown(path, 12345, -1)
    else:
        path.chmod({"others": 0o777, "others alone": 0o757, "group": 0o775}[how])
        monkeypatch.setattr(trust, "_private", lambda gid, uid: False)
    monkeypatch.setattr(compiling.pickle, "loads", lambda data: pytest.fail("it was unpickled"))
    monkeypatch.setattr(compiling, "folders", lambda: (folder, tmp_path / "next"))
    assert recompiled()
    assert [str(path) in record.message for record in caplog.records] == [True]
    monkeypatch.undo()
    monkeypatch.setattr(compiling, "folders", lambda: (folder, tmp_path / "next"))
    assert not recompiled()
    assert which == "file" or only_file(tmp_path / "next").stat().st_mode & 0o022 == 0


@posix
def test_the_private_group_of_a_user_may_write(folder, monkeypatch):
    """As a umask of 002 has it, in folders that Python makes beside the sources."""
    import grp
    import pwd
    from types import SimpleNamespace as Entry

    recompiled()
    folder.chmod(0o775)
    found, me = folder.stat(), "ada"
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: Entry(pw_name=me, pw_gid=found.st_gid))
    for group, trusted in ((Entry(gr_name=me, gr_mem=[]), True), (Entry(gr_name="staff", gr_mem=[]), False)):
        monkeypatch.setattr(grp, "getgrgid", lambda gid, group=group: group)
        assert recompiled() != trusted
    monkeypatch.setattr(grp, "getgrgid", lambda gid: Entry(gr_name=me, gr_mem=[me, "eve"]))
    assert recompiled()


@posix
def test_a_link_in_place_of_machine_code_is_not_followed(folder, tmp_path):
    recompiled()
    file = only_file(folder)
    os.rename(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert recompiled()


def test_where_it_is_kept(monkeypatch, tmp_path):
    look = compiling.folders.__wrapped__
    monkeypatch.setattr(compiling.config, "CACHE_DIR", str(tmp_path / "a"))
    monkeypatch.setenv("SEMIRING_CACHE_DIR", str(tmp_path / "b"))
    assert [f.parent for f in look()] == [tmp_path / "a"]
    monkeypatch.setattr(compiling.config, "CACHE_DIR", "")
    assert [f.parent for f in look()] == [tmp_path / "b"]
    monkeypatch.delenv("SEMIRING_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    package = ROOT / "semiring" / "kernels" / "cpu" / "__pycache__"
    assert look()[0] == package
    if sys.platform == "linux":
        assert look()[1].is_relative_to(tmp_path / "c")
        monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")  # what is left where there is no home
        assert look() == (package,)


# Where nothing can be written

#: Rights are for all but root: this child gives up root's privileges first, and makes sure that it cannot write.
UNPRIVILEGED = """
import ctypes, os, pathlib, sys
if os.geteuid() == 0:
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
for place in sys.argv[1:3]:
    try:
        (pathlib.Path(place) / "probe").touch()
    except OSError:
        continue
    print("writable")
    sys.exit()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gives up privileges by capset")
def test_it_computes_where_nothing_can_be_written(tmp_path):
    packages, home = tmp_path / "packages", tmp_path / "home"
    for name in ("semiring", "apsp"):
        shutil.copytree(ROOT / name, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    shut = [home, packages, *(path for path in packages.rglob("*") if path.is_dir())]
    for path in shut:
        path.chmod(0o555)
    env = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "SEMIRING_CACHE_DIR", "XDG_CACHE_HOME")}
    env |= {"HOME": str(home), "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    code = UNPRIVILEGED + RIGHT + "right(); import semiring; print(semiring.__file__)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, packages / "semiring" / "cpu", home],
            cwd=home,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    finally:
        for path in shut:
            path.chmod(0o755)
    if done.stdout == "writable\n":
        pytest.skip("this user may write everywhere")
    assert (done.returncode, done.stdout) == (0, f"right\n{packages / 'semiring' / '__init__.py'}\n"), done.stderr
    assert done.stderr.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


@posix
def test_it_computes_where_the_disk_is_full(tmp_path):
    """No file may grow: every write fails, as on a full disk. What was compiled before is found all the same."""
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    said = start(full + RIGHT + "right()", env=env)
    returned, out, err = finish(said)
    assert (returned, out) == (0, "right\n"), err
    assert err.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    python(RIGHT + "right()", env=env)
    assert finish(start(full + RIGHT + "right()", env=env)) == (0, "right\n", "")


def test_without_a_compiler_the_error_names_the_way_out(tmp_path):
    code = """
import numpy as np, pytest, semiring, apsp
from semiring.dense.acyclic import close_acyclic
I = np.eye(2, dtype=np.float32)
bits = lambda: semiring.BitMatrix.from_bool(I > 0) @ semiring.BitMatrix.from_bool(I > 0)
arcs = np.array([1]), np.array([0])
for call in (lambda: apsp.closure(I), lambda: semiring.matmul(I, I), bits, lambda: close_acyclic(2, *arcs)):
    for _ in range(2):
        with pytest.raises(semiring.DeviceError, match="NUMBA_DISABLE_JIT=1 .* Unset it"):
            call()
print("refused")
"""
    assert python(code, env={"NUMBA_DISABLE_JIT": "1"}) == "refused\n"


# Ctrl-C

STRUCK_WHILE_COMPILING = (
    RIGHT
    + """
import signal, sys
from numba.core import event
strike, begun, ended = int(sys.argv[1]), [], []
class Strike(event.Listener):
    def on_start(self, happening):
        begun.append(happening)
        if len(begun) == strike:
            signal.raise_signal(signal.SIGINT)
    def on_end(self, happening):
        ended.append(happening)
        if getattr(happening, "_exc_details", None) is not None:
            print("stopped half way")
for kind in ("numba:compile", "numba:run_pass"):
    event.register(kind, Strike())
try:
    right()
    print("never struck")
except KeyboardInterrupt:
    print("struck")
assert len(begun) == len(ended), "something is still under way"
right()
"""
)


@posix
@pytest.mark.parametrize("strike", [1, 2, 40])
def test_ctrl_c_while_a_kernel_compiles_is_heard_when_it_is_done(strike, tmp_path):
    out = python(STRUCK_WHILE_COMPILING, strike, env={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert out.splitlines() == ["struck", "right"]


STRUCK_WHILE_IMPORTING = (
    RIGHT
    + """
import signal, sys
class Strike:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Strike())
try:
    right()
    print("never struck")
except KeyboardInterrupt:
    print("struck")
right()
"""
)


@posix
@pytest.mark.parametrize(
    "module", ["llvmlite.binding.executionengine", "numba.core.typing.templates", "semiring.kernels.cpu.intrinsics"]
)
def test_ctrl_c_while_the_compiler_is_imported_is_heard_when_it_is_there(module):
    assert python(STRUCK_WHILE_IMPORTING, module).splitlines() == ["struck", "right"]


@posix
def test_ctrl_c_while_a_declaration_is_tried_is_heard_when_it_is_done():
    """It imports the compiler, too, which must be of use afterwards."""
    code = STRUCK_WHILE_IMPORTING.replace("def right():", DECLARED)
    assert python(code, "numba.core.types.scalars").splitlines() == ["struck", "right"]


DECLARED = """
from semiring import Op, Semiring
def right():
    least = Op("least", python=lambda a, b: a if a < b else b, cuda="min(a, b)")
    Semiring("mine", add=least, mul=get("min_plus").mul, zero=np.inf, one=0.0, samples=(0.0, 1.0, 2.0))
"""


def test_a_module_may_compute_while_it_is_imported(tmp_path):
    """numba imports the module of a function that it compiles: no other thread may wait for it then."""
    (tmp_path / "mine.py").write_text("""
import numpy as np
from apsp import closure
from semiring import Op, Semiring
least = Op("least", python=lambda a, b: a if a < b else b, cuda="min(a, b)")
sums = Op("sums", python=lambda a, b: a + b, cuda="a + b")
mine = Semiring("mine", add=least, mul=sums, zero=np.inf, one=0.0, samples=(0.0, 1.0, 2.0))
print(closure(np.array([[0.0, 1.0, 9.0], [9.0, 0.0, 1.0], [9.0, 9.0, 0.0]]), mine)[0, 2])
""")
    assert python("import sys; sys.path.insert(0, sys.argv[1]); import mine", tmp_path) == "2.0\n"


COMMAND = """
import sys
from numba.core import event
from apsp import cli
class Tell(event.Listener):
    def on_start(self, happening):
        print("compiling", flush=True)
    def on_end(self, happening):
        pass
event.register("numba:compile", Tell())
cli.main(["-q", "solve", *sys.argv[1:]])
"""


@posix
def test_ctrl_c_while_the_command_compiles_is_one_line_and_130(tmp_path):
    graph = tmp_path / "g.csv"
    graph.write_text("source,target,weight\na,b,0.5\nb,c,0.25\n")
    child = start(COMMAND, graph, "--output", tmp_path / "out.npy", env={"NUMBA_CACHE_DIR": str(tmp_path / "kernels")})
    wait_for(child, "compiling")
    child.send_signal(signal.SIGINT)
    returned, out, err = finish(child)
    assert (returned, set(out.split()) - {"compiling"}, err) == (130, set(), "apsp: interrupted.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.csv", "kernels"]


# Many processes at once

ONE_OF_MANY = """
import sys, time
from semiring import compiling
from semiring.kernels.cpu import code, kinds
from semiring.kernels.cpu.sparse import movers
count = []
with compiling.listening(count.append):
    print("ready", flush=True)
    sys.stdin.readline()
    for size in (2, 4, 8):
        code.machine_code(movers.copy_square, kinds.raw(size), "iiiiiiii", called=False)
print(len(count))
"""


@pytest.mark.parametrize("processes", [2, pytest.param(20, marks=pytest.mark.release)])
def test_processes_at_once_compile_each_kernel_once(processes, tmp_path):
    children = [
        start(ONE_OF_MANY, env={"NUMBA_CACHE_DIR": str(tmp_path)}, stdin=subprocess.PIPE) for _ in range(processes)
    ]
    for child in children:
        wait_for(child, "ready")
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    assert sum(int(finish(child)[1]) for child in children) == 3
    assert len([*tmp_path.rglob("*.kernel")]) == 3
    assert not [*tmp_path.rglob("*.lock")]


def test_a_process_that_never_ends_is_waited_for_no_longer_than_patience(folder, monkeypatch):
    folder.mkdir()
    entry = compiling.kernel(halve)
    monkeypatch.setattr(compiling, "locked", lambda file, name: (_ for _ in ()).throw(OSError(errno.EBUSY, name)))
    monkeypatch.setattr(compiling, "PATIENCE", 0.1)
    assert entry(7, 4) == 7
    assert sum(entry.stats.cache_misses.values()) == 1
