"""Which question does each benchmark answer? And a way to run some, one after the other.

    python -m benchmarks                          # the list
    python -m benchmarks ledger bits --quick      # these two, small
    python -m benchmarks all --quick              # whether all that this machine can run do run, a minute
    python -m benchmarks gpu --only max_min       # what comes after the names is for the benchmarks themselves

What they print is also kept in out/benchmarks/, a file a run, and a release packs that folder (`.ci/release`).
"""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
LOGS = HERE.parent / "out" / "benchmarks"
#: As in common.py, which imports the library.
UNAVAILABLE = 77


def questions() -> dict[str, str]:
    """Name → question, the first line of the docstring; a file without a question is a part of others."""
    docs = {
        path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(HERE.glob("*.py"))
    }
    first = {name: (doc or "").partition("\n")[0] for name, doc in docs.items() if name != "__main__"}
    return {name: line for name, line in first.items() if line.endswith("?")}


def run(name: str, options: list[str], *, shown: bool = True) -> int:
    """The exit code of a benchmark, whose lines are kept if all went well.

    They are shown as they come, or otherwise only where it fails. What cannot run here is no failure.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-u", f"benchmarks/{name}.py", *options]
    began = time.time()
    log = LOGS / f"{name}-{time.strftime('%Y-%m-%d-%H%M%S', time.localtime(began))}.txt"
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=HERE.parent, **pipe) as process, log.open("w", encoding="utf-8") as kept:
        for line in process.stdout:
            print(line if shown else "", end="", flush=True)
            kept.write(line)
    if code := process.returncode:
        said = "" if shown else log.read_text(encoding="utf-8")
        log.unlink()
        print(f"{said}{name}: ended with exit code {code}, no log is kept", flush=True)
    else:
        print(f"{name}: {time.time() - began:.0f} s, kept in {log.relative_to(HERE.parent)}", flush=True)
    return 0 if code == UNAVAILABLE else code


def run_all(options: list[str]) -> int:
    """The largest exit code of all that can be run without more arguments; small cases two at a time."""
    texts = {name: (HERE / f"{name}.py").read_text(encoding="utf-8") for name in questions()}
    names = [name for name, text in texts.items() if "quick=False" not in text]
    with ThreadPoolExecutor(2 if "--quick" in options else 1) as pool:
        return max(pool.map(lambda name: run(name, options, shown=False), names))


def main() -> None:
    known, arguments = questions(), sys.argv[1:]
    end = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, options = arguments[:end], arguments[end:]
    if not names:
        print(__doc__)
        for name, question in known.items():
            print(f"{name:18} {question}")
        print("\n`python -m benchmarks NAME --help` tells more of each.")
        return
    if names == ["all"]:
        sys.exit(run_all(options))
    for name in names:
        if name not in known:
            sys.exit(f"benchmarks: a name must be one of {', '.join(known)}, got {name!r}.")
    if {"-h", "--help"} & {*options}:
        sys.exit(subprocess.run([sys.executable, str(HERE / f"{names[0]}.py"), "--help"], check=False).returncode)
    sys.exit(max(run(name, options) for name in names))


if __name__ == "__main__":
    main()
