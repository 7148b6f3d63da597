"""The process that watches workers: what they find, how they die, and whether they go on at all."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from . import ROOT, draw

#: How long the choices of a deadly case are made smaller, in seconds: each attempt is a process.
SHRINKING = 30.0


@dataclass
class Finding:
    """One thing that went wrong, and how often it did."""

    target: str
    index: int
    signature: str
    problem: str
    choices: Sequence[int]
    notes: dict[str, str] = field(default_factory=dict)
    count: int = 1

    def become(self, smaller: Finding) -> None:
        """The same finding in a smaller case."""
        self.problem, self.choices, self.notes = smaller.problem, smaller.choices, smaller.notes


@dataclass
class Report:
    """What became of one target."""

    target: str
    cases: int = 0
    seconds: float = 0.0
    findings: dict[str, Finding] = field(default_factory=dict)

    def add(self, finding: Finding) -> Finding | None:
        """The finding if it is a new one; else it is counted."""
        known = self.findings.setdefault(finding.signature, finding)
        if known is finding:
            return finding
        known.count += 1
        return None


def watch(
    target: str, seed: int, *, seconds: float | None = None, cases: int | None = None, device: str, patience: float
) -> Iterator[Finding | Report]:
    """Run cases for so long, or so many; yields each new finding, and the report at last.

    A worker that dies, or says nothing for `patience` seconds, is a finding; another goes on with the next case.
    """
    report, start = Report(target), time.monotonic()
    end = math.inf if seconds is None else start + seconds
    at, last = 0, math.inf if cases is None else cases
    while at < last and time.monotonic() < end:
        index, waiting = None, None  # the case under way, and a new finding that is being made smaller
        job = {
            "seed": seed,
            "first": at,
            "cases": None if cases is None else cases - at,
            "known": list(report.findings),
        }
        with Worker(target, device, job) as worker:
            for word, rest in worker.words(patience, end):
                if word == "case":
                    index = int(rest)
                    report.cases += 1
                elif word == "found":
                    waiting = report.add(Finding(target, **json.loads(rest)))
                elif word == "smaller" and waiting:
                    waiting.become(Finding(target, **json.loads(rest)))
                    yield waiting
                    waiting = None
            if waiting:  # its smaller cases took too long, or ended the process
                yield waiting
            elif worker.ended == "time":
                report.cases -= index is not None  # the one that was under way
            elif worker.ended != "done":
                finding = report.add(_death(worker, target, seed, index, device, patience))
                if finding:
                    yield finding
        if worker.ended in ("time", "done") or index is None:  # None: not even its first case began
            break
        at = index + 1
    report.seconds = time.monotonic() - start
    yield report


class Worker:
    """A child process, in a session of its own, with a folder for its temporary files; both go with it."""

    def __init__(self, target: str, device: str, job: dict[str, Any]) -> None:
        self._job = {"target": target, "device": device, **job}
        self.ended = ""

    def __enter__(self) -> Worker:
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz.", ignore_cleanup_errors=True)
        self._ear, mouth = os.pipe()
        self._errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(mouth), json.dumps(self._job)],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": self._folder.name},
            pass_fds=[mouth],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )
        os.close(mouth)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ear)
        self._errors.close()
        self._folder.cleanup()

    def words(self, patience: float, end: float = math.inf) -> Iterator[tuple[str, str]]:
        """Lines, in two parts, until `end`; then `ended` says why: "done", "time", "death" or "silence"."""
        held = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._ear, selectors.EVENT_READ)
            while True:
                left = min(patience, end - time.monotonic())
                if left <= 0 or not selector.select(left):
                    self.ended = "time" if time.monotonic() >= end else "silence"
                    return
                data = os.read(self._ear, 1 << 16)
                if not data:
                    self.process.wait()
                    self.ended = self.ended or "death"
                    return
                *lines, held = (held + data).split(b"\n")
                for line in lines:
                    word, _, rest = line.decode().partition(" ")
                    if word == "done":
                        self.ended = "done"
                    yield word, rest

    def errors(self) -> str:
        """The end of what it wrote to stderr."""
        self._errors.seek(0)
        return self._errors.read()[-4000:].decode(errors="replace")


def _death(worker: Worker, target: str, seed: int, index: int | None, device: str, patience: float) -> Finding:
    """The finding of a case that ended its process, or never ended."""
    signature = _manner(worker)
    problem = f"{signature}\n{worker.errors()}"
    if index is None or worker.ended == "silence":
        return Finding(target, -1 if index is None else index, signature, problem, [])

    def fails(candidate: list[int]) -> list[int] | None:
        came, manner = _trace(target, device, {"choices": candidate}, patience)
        return came if manner == signature else None

    choices, _ = _trace(target, device, {"seed": seed, "case": index}, patience)
    return Finding(target, index, signature, problem, draw.smaller(choices, fails, SHRINKING))


def _manner(worker: Worker) -> str:
    if worker.ended == "silence":
        return "no end"
    code = worker.process.returncode
    return f"the process died of {signal.Signals(-code).name}" if code < 0 else f"the process ended with code {code}"


def _trace(target: str, device: str, which: dict[str, Any], patience: float) -> tuple[list[int], str]:
    """The choices of one case run in a process of its own, and how it ended."""
    with Worker(target, device, which) as worker:
        choices = [int(rest) for word, rest in worker.words(patience) if word == "choice"]
        return choices, "" if worker.ended == "done" else _manner(worker)


def as_text(choices: Sequence[int]) -> str:
    """Choices as one argument of the command line."""
    return ".".join(map(str, choices))


def print_finding(finding: Finding, seed: int, device: str, write: Any) -> None:
    """The finding, what its case was, and the commands that replay it."""
    on = "" if device == "cpu" else f" --device {device}"
    write(f"\nFOUND in {finding.target}, case {finding.index}: {finding.signature}")
    write(finding.problem.rstrip())
    for name, value in finding.notes.items():
        write(f"    {name} = {value}")
    write(f"  replay:  python -m tests.fuzz --target {finding.target} --seed {seed} --case {finding.index}{on}")
    if finding.choices:
        shorter = as_text(finding.choices)
        write(f"  smaller: python -m tests.fuzz --target {finding.target} --choices {shorter}{on}")
