"""Backend wrapper that notifies observers of every verb, transparent to schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .contract import Backend, Stopwatch
from .verbs import VERBS, Verb

#: `callback(done, total)` in pairs (one ⊕ with one ⊗).
Callback = Callable[[int, int], None]


class Observer(Protocol):
    """Interface notified before each verb, and after; on a GPU its work may then still be pending."""

    def before(self, verb: Verb, operands: tuple[Any, ...]) -> None:
        """Before a verb is called."""
        return

    def after(self, verb: Verb, operands: tuple[Any, ...]) -> None:
        """After it has returned; on a GPU its work may still be pending."""
        return


class Observed:
    """Verbs of a backend, each between `before` and `after` of all observers.

    apart: split `eliminate` into its three verbs. dry: call no verb, only notify of operands of these shapes.
    """

    def __init__(self, ops: Backend, *observers: Observer, apart: bool = False, dry: bool = False) -> None:
        self._ops, self._observers, self._apart, self._dry = ops, observers, apart, dry

    def __getattr__(self, name: str) -> Any:
        if name == "mirrors" and self._dry:  # no entries to compare
            return 0
        if name not in VERBS:
            return getattr(self._ops, name)
        if name == "eliminate" and self._apart:
            return lambda D, R, C, rest: Backend.eliminate(self, D, R, C, rest)  # type: ignore[arg-type] # has all verbs
        verb, observers = VERBS[name], self._observers
        call = None if self._dry else getattr(self._ops, name)

        def observed(*operands: Any) -> None:
            for observer in observers:
                observer.before(verb, operands)
            if call is not None:
                call(*operands)
            for observer in observers:
                observer.after(verb, operands)

        self.__dict__[name] = observed  # the next call finds it at once
        return observed


class Progress(Observer):
    """Progress in pairs, reported to a callback."""

    def __init__(self, total: int, callback: Callback) -> None:
        self.done, self._total, self._callback = 0, total, callback

    def after(self, verb: Verb, operands: tuple[Any, ...]) -> None:
        self.done += verb.pairs(*operands)
        self._callback(self.done, self._total)


class Clock:
    """Seconds by verb, by the backend's stopwatch."""

    def __init__(self, ops: Backend) -> None:
        self._ops = ops
        self._laps: list[tuple[str, Stopwatch]] = []

    def before(self, verb: Verb, operands: tuple[Any, ...]) -> None:
        self._laps.append((verb.name, self._ops.stopwatch()))

    def after(self, verb: Verb, operands: tuple[Any, ...]) -> None:
        self._laps[-1][1].stop()

    @property
    def seconds(self) -> dict[str, float]:
        total: dict[str, float] = {}
        for name, lap in self._laps:
            total[name] = total.get(name, 0.0) + lap.seconds
        return total


class Traffic(Observer):
    """Entries read and written if each operand is touched once, and pairs computed."""

    def __init__(self) -> None:
        self.entries = self.pairs = 0

    def before(self, verb: Verb, operands: tuple[Any, ...]) -> None:
        self.entries += verb.entries(*operands)
        self.pairs += verb.pairs(*operands)
