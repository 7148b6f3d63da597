"""Processes: the command `apsp` with random arguments, signals at random moments, closed and full outputs, pipes.

However a run ends: a documented exit code, no traceback, no temporary file left behind (but by SIGKILL), and at
`--output` either a whole file or what stood there before.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from click.testing import CliRunner

from apsp import Result, shortest_paths, write
from apsp.doors import cli
from apsp.generate import random_graph

from .draw import Draw
from .files import FRAGMENTS
from .limits import MIB, within

#: Exit codes by what ended the command (docs/cli.md). A signal itself ends one that has done its work: Python lets go
#: of its handlers as it exits.
DONE = {0, 1, 2, 3, 4}
ENDED = {
    signal.SIGINT: {130, -signal.SIGINT},
    signal.SIGTERM: {143, -signal.SIGTERM},
    signal.SIGHUP: {129, -signal.SIGHUP},
    signal.SIGKILL: {-9},
}
#: How long a command may take that nothing disturbs; a machine may be busy.
PATIENCE = 150.0

_INPUTS = (
    *("six.gr", "six.csv", "six.named", "six.npz", "six.mtx", "six.npy", "six.plain"),
    *("six.snap", "negative.csv", "odd.txt"),
)
_OUTPUTS = ("out.npz", "out.npy", "out.csv", "out.gr", "out.gr.gz", "out.xyz", "missing/out.npz", "out", "folder.npz")


def prepare() -> None:
    """Compile what the commands use, so that all of them find it on disk."""
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder), Draw())
        for arguments in (["solve", "six.gr"], ["reach", "six.gr"], ["solve", "six.csv", "--semiring", "max_min"]):
            subprocess.run(_command(arguments), cwd=folder, env=_environment(), capture_output=True, check=True)


def case(draw: Draw) -> None:
    """One run: most in this process, the others in their own."""
    with tempfile.TemporaryDirectory() as folder:
        draw.pick((_arguments,) * 12 + (_disturbed, _disturbed, _directories, _streams))(draw, Path(folder))


def _fill(folder: Path, draw: Draw) -> None:
    """Files to read: a small graph in every format, a negative cycle, and something odd."""
    graph = random_graph(6, 60, seed=1)
    for name in _INPUTS[:8]:
        write(graph, folder / name)
    (folder / "negative.csv").write_text("source,target,weight\na,b,1\nb,a,-2\n")
    (folder / "odd.txt").write_bytes(draw.pick(FRAGMENTS))
    (folder / "folder.npz").mkdir()


def _words(draw: Draw) -> list[str]:
    """A command with arguments that make sense more often than not."""
    file = draw.pick((*_INPUTS, "none.gr", ".", "", "/dev/null"))
    label = draw.pick(("1", "2", "3", "0", "a", "", "99", "-1", "é", "1e3"))
    words = {
        "solve": [file],
        "reach": [file],
        "convert": [file, draw.pick(_OUTPUTS)],
        "plan": [draw.pick((file, "0", "1", "4096", "1000000000", "-1", "1e9", "99999999999999999999"))],
        "cycle": [draw.pick(("6", "0", "1", "-1", "1e3"))],
        "random": [draw.pick(("6", "0", "1", "-1", "50"))],
        "grid": [draw.pick(("2", "0", "-1")), draw.pick(("3", "0", "x"))],
        "info": [],
        "compare": [draw.pick(("--sizes", file)), draw.pick(("3", "3,5", "0", "x"))],
        "none": [],
    }
    options = {
        "--semiring": ("min_plus", "boolean", "real", "max_plus", "bottleneck", "nonsense", ""),
        "--schedule": ("auto", "recursive", "blocked", "iterative", "nonsense"),
        "--block": ("1", "64", "0", "-3", "x"),
        "--dtype": ("float32", "int16", "int64", "bool", "float16"),
        "--device": ("cpu", "cuda", "tpu"),
        "--threads": ("1", "2", "0", "1000"),
        "--from": (label,),
        "--to": (label, "2"),
        "--format": ("csv", "dimacs", "npz", "nonsense"),
        "--weight": ("weight", "inf", "nan", "1", "1e400", "-2", "source"),
        "--output": _OUTPUTS,
        "--density": ("10", "101", "-1", "nan", "inf"),
        "--seed": ("1", "-1", "99999999999999999999"),
        "--json": ("out.json", "missing/out.json", "out.xyz"),
        "--limit": ("1", "0", "nan", "-1"),
    }
    flags = ("--undirected", "--checksum", "--counts", "--reflexive", "--help", "--real")
    reading, computing = "--format --weight --undirected", "--schedule --block --threads --device"
    mine = {
        "solve": f"{reading} {computing} --semiring --dtype --from --to --output --checksum",
        "reach": f"{reading} {computing} --from --to --output --counts --reflexive",
        "convert": "--weight --undirected",
        "plan": f"{computing} --semiring --dtype",
        "cycle": "--weight --output --format --undirected",
        "random": "--density --seed --output --format --real --undirected",
        "grid": "--weight --output --format",
        "compare": "--semiring --schedule --block --dtype --threads --limit --density --seed --json",
    }
    command = draw.pick(tuple(words))
    chosen = ["-q"] if draw.chance(30) else []
    chosen += {
        "cycle": ["generate", "cycle"],
        "random": ["generate", "random"],
        "grid": ["generate", "grid"],
        "none": [],
    }.get(command, [command])
    chosen += words[command]
    known = mine.get(command, "").split() or ["--help"]
    for _ in range(draw.between(0, 5)):
        option = draw.pick((*known, *flags)) if draw.chance(10) else draw.pick(known)
        chosen += [option] if option in flags else [option, draw.pick(options[option])]
    if command in ("cycle", "random", "grid") and "--output" not in chosen and draw.chance(90):
        chosen += ["--output", draw.pick(_OUTPUTS)]
    return chosen


def _arguments(draw: Draw, folder: Path) -> None:
    """Any arguments: an answer or one line, and a documented exit code."""
    _fill(folder, draw)
    words = _words(draw)
    draw.note(arguments=words)
    before = set(folder.iterdir())
    home = Path.cwd()
    os.chdir(folder)
    try:
        with within(seconds=60, memory=2048 * MIB):
            result = CliRunner().invoke(cli.main, words, prog_name="apsp")
    finally:
        os.chdir(home)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    draw.note(stdout=result.stdout, stderr=result.stderr, code=result.exit_code)
    assert result.exit_code in DONE, "an exit code that is not documented"
    _in_one_line(result.exit_code, result.stderr)
    if result.exit_code not in (0, 1):
        assert set(folder.iterdir()) == before, "an error left a file"
    assert not [p for p in folder.iterdir() if p.name.startswith(".")], "a temporary file was left"


def _in_one_line(code: int, errors: str) -> None:
    """Errors are one line; wrong usage is click's, and says how it is used."""
    assert "Traceback" not in errors
    if code > 1 and not errors.startswith("Usage:"):
        assert errors.startswith("apsp: "), "an error must begin with apsp:"
        assert errors.count("\n") == 1, "an error must be one line"


_RUNS = (
    ["solve", "large.npz", "--output", "out.npz"],
    ["solve", "large.npz", "--output", "out.csv"],
    ["reach", "large.npz", "--output", "out.npz"],
    ["reach", "large.npz", "--schedule", "recursive", "--output", "out.npy"],
    ["convert", "large.npz", "out.gr.gz"],
    ["generate", "random", "1500", "--density", "20", "--output", "out.mtx"],
    ["compare", "--sizes", "64,128", "--device", "cpu", "--json", "out.json"],
)


def _disturbed(draw: Draw, folder: Path) -> None:
    """A signal at a random moment of a run that writes a file."""
    n = draw.pick((60, 300, 700))
    write(random_graph(n, 30, seed=2), folder / "large.npz")
    words = list(draw.pick(_RUNS))
    target = folder / words[-1]
    old = b"what stood here before" if draw.chance(50) else None
    if old is not None:
        target.write_bytes(old)
    draw.note(old=old, n=n)
    code = _signalled(draw, words, folder)
    if code in (0, -signal.SIGINT) or (target.exists() and target.read_bytes() != old):
        _whole(target)
    elif old is not None:
        assert target.read_bytes() == old, "what stood there was lost"


def _signalled(draw: Draw, words: list[str], folder: Path) -> int:
    """The exit code of a run that gets a signal at a random moment; `large.npz` and its output are what it leaves."""
    kind = draw.pick((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL))
    moment = draw.below(150) / 100
    draw.note(arguments=words, signal=kind.name, moment=moment)
    process = _start(words, folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(moment)
    process.send_signal(kind)
    try:
        errors = process.communicate(timeout=PATIENCE)[1].decode()
    finally:
        process.kill()
    draw.note(code=process.returncode, stderr=errors)
    assert process.returncode in DONE - {1, 2, 4} | ENDED[kind], "an exit code that is not documented"
    assert "Traceback" not in errors
    left = {p.name for p in folder.iterdir()} - {"large.npz", "ck", Path(words[-1]).name}
    assert not left or kind == signal.SIGKILL, f"left behind: {left}"
    return process.returncode


def _directories(draw: Draw, folder: Path) -> None:
    """A signal at a random moment of a run that writes a directory: the old result stands there, or the new."""
    n = draw.pick((60, 300, 700))
    write(random_graph(n, 30, seed=2), folder / "large.npz")
    output = draw.pick(("out.tiles", "out/", "out.zarr"))
    old = draw.chance(60)
    if old:
        shortest_paths([(0, 1, 5)]).save(f"{folder}/{output}")
    draw.note(old=old, n=n)
    kept = ["--checkpoint", "ck"] if output == "out/" and draw.chance(50) else []
    code = _signalled(draw, ["solve", "large.npz", *kept, "--output", output], folder)
    if (folder / output).exists():
        found = len(Result.load(folder / output).distances)
        assert found in ({2, n} if old and code else {n}), f"a result of {found} vertices"
    else:
        assert code, "a run ended well, and its output is not there"
        assert not old, "what stood there was lost"


def _whole(path: Path) -> None:
    """A file that is there is complete."""
    import csv
    import gzip

    import numpy as np

    if path.suffix == ".npz":
        with np.load(path) as archive:
            assert all(archive[name] is not None for name in archive.files)
    elif path.suffix == ".npy":
        np.load(path)
    elif path.suffix == ".csv":
        rows = list(csv.reader(path.read_text().splitlines()))
        assert len(rows) == len(rows[0]) == len(rows[-1])
    elif path.suffix == ".json":
        json.loads(path.read_text())
    else:
        from apsp.io.formats import read

        if path.suffix == ".gz":
            gzip.decompress(path.read_bytes())
        read(path)


def _streams(draw: Draw, folder: Path) -> None:
    """Outputs that are closed, full, or that nobody reads to the end; inputs that come through a pipe."""
    _fill(folder, draw)
    words = draw.pick(
        (
            ["solve", "six.gr"],
            ["reach", "six.gr", "--counts"],
            ["info"],
            ["--help"],
            ["plan", "4096"],
            ["solve", "negative.csv"],
        )
    )
    how = draw.pick(("closed", "full", "unread", "errors closed", "pipe in", "output full", "output a pipe"))
    draw.note(arguments=words, how=how)
    done = DONE - {4}
    if how == "closed":
        shell = 'exec "$0" "$@" >&-'
    elif how == "errors closed":
        shell = 'exec "$0" "$@" 2>&-'
    elif how == "full":
        shell = 'exec "$0" "$@" >/dev/full'
    elif how == "unread":
        shell, done = '"$0" "$@" | head -c 1 >/dev/null', {0}
    elif how == "pipe in":
        words, shell = ["-q", "solve", "-", "--format", "dimacs"], 'cat six.gr | "$0" "$@"'
    elif how == "output full":
        (folder / "out.npz").symlink_to("/dev/full")
        words, shell, done = ["solve", "six.gr", "--output", "out.npz"], 'exec "$0" "$@"', {2}
    else:
        words, shell = ["-q", "solve", "six.gr", "--output", "/dev/stdout"], '"$0" "$@" | cat >/dev/null'
        done = {0, 2}
    run = subprocess.run(
        ["/bin/sh", "-c", shell, *_command(words)],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        timeout=PATIENCE,
    )
    errors = run.stderr.decode()
    draw.note(code=run.returncode, stdout=run.stdout.decode(), stderr=errors)
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors
    assert run.returncode in done, "an exit code that is not documented"
    if how == "full" and words != ["solve", "negative.csv"]:
        assert run.returncode != 0, "what could not be printed was lost in silence"
    if how == "pipe in":
        calm = subprocess.run(
            _command(["-q", "solve", "six.gr"]), cwd=folder, env=_environment(), capture_output=True, check=True
        )
        assert run.stdout == calm.stdout, "a pipe reads as another graph"
    assert not [p for p in folder.iterdir() if p.name.startswith(".")], "a temporary file was left"
    assert Path("/dev/full").is_char_device()


def _command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "apsp", *words]


def _environment() -> dict[str, str]:
    from . import ROOT

    return {**os.environ, "PYTHONPATH": str(ROOT)}


#: The command, which tells through a pipe when it begins to read its options: what Python does before is not ours.
_TELLING = """
import os
from apsp.doors.cli import main
parse = main.parse_args
def parse_args(*arguments):
    os.write({mouth}, b"x")
    os.close({mouth})
    return parse(*arguments)
main.parse_args = parse_args
main(prog_name="apsp")
"""


def _start(words: list[str], folder: Path, **streams: int) -> subprocess.Popen[bytes]:
    """The command, once it has come that far."""
    ready, mouth = os.pipe()
    code = [sys.executable, "-c", _TELLING.format(mouth=mouth)]
    process = subprocess.Popen([*code, *words], cwd=folder, env=_environment(), pass_fds=[mouth], **streams)
    os.close(mouth)
    with open(ready, "rb") as ear:
        ear.read(1)
    return process
