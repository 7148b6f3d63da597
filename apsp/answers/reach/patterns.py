"""Regular expressions over edge labels, and their position automata (Glushkov 1961).

    pattern  = sequence { "|" sequence }
    sequence = part { ["/"] part }
    part     = ( label | "." | "^" label | "(" pattern ")" ) { "*" | "+" | "?" }

A label is a word or quoted text, "." any label, "^" walks an edge backwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semiring.host.errors import DTypeError
from semiring.host.spelling import came

_TOKEN = re.compile(r"""\s*(?:([|*+?()/^.])|"([^"]*)"|'([^']*)'|([\w:-]+)|(\S))""")


class Step(NamedTuple):
    """An edge of a walk: label (None for any), and direction."""

    label: str | None
    backwards: bool


@dataclass(frozen=True)
class Automaton:
    """State 0 is initial; state p > 0 is that after the p-th label of the pattern.

    `steps[p − 1]` leads to state p, from the ascending states `before[p − 1]`; `accepting` states match.
    """

    steps: tuple[Step, ...]
    before: tuple[np.ndarray, ...]
    accepting: frozenset[int]


class _Part(NamedTuple):
    """First and last states of a part of a pattern (bit sets), and whether it matches the empty walk."""

    first: int
    last: int
    empty: bool


def automaton(pattern: str) -> Automaton:
    """The ε-free automaton of a pattern; ValueError shows a syntax error; DTypeError for no text.

    >>> automaton("a (b|c)* d").accepting
    frozenset({4})
    """
    if not isinstance(pattern, str):
        raise DTypeError(f'reachable: the pattern must be a text such as "a (b|c)* d", got {came(pattern)}.')
    return _Reader(pattern).read()


class _Reader:
    """One pass over the tokens (kind, text, position), with a stack of open brackets."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.tokens = []
        for found in _TOKEN.finditer(pattern):
            sign, double, single, word, wrong = found.groups()
            text = next((x for x in (double, single, word) if x is not None), "")
            if wrong:
                raise self._error(found.start(5), "a label, a quoted one, or one of | * + ? ( ) ^ . /")
            self.tokens.append((sign or "label", text, found.start()))
        self.tokens.append(("end", "", len(pattern)))
        self.tokens.reverse()
        self.steps: list[Step] = []
        #: By state, the bit set of predecessor states; none for state 0.
        self.before = [0]

    def read(self) -> Automaton:
        outer: list[tuple[_Part | None, _Part | None]] = []
        either: _Part | None = None  # the alternatives so far in these brackets
        sequence: _Part | None = None
        while True:
            kind, text, place = self.tokens.pop()
            if kind == "(":
                outer.append((either, sequence))
                either = sequence = None
                continue
            part = self._label(kind, text, place)
            while True:
                part = self._repeated(part)
                sequence = part if sequence is None else self._after(sequence, part)
                if self._next() != ")" or not outer:
                    break
                self.tokens.pop()
                part = _alternation(either, sequence)
                either, sequence = outer.pop()
            if self._next() in (")", "end"):
                break
            if self._next() == "|":
                either, sequence = _alternation(either, sequence), None
            if self._next() in ("|", "/"):
                self.tokens.pop()
        if outer:
            raise self._error(self.tokens[-1][2], "a closing bracket")
        if self._next() != "end":
            raise self._error(self.tokens[-1][2], "the end, or an opening bracket before this one")
        everything = _alternation(either, sequence)
        self._lead(1, everything.first)
        accepting = frozenset(_states(everything.last | everything.empty).tolist())
        return Automaton(tuple(self.steps), tuple(map(_states, self.before[1:])), accepting)

    def _next(self) -> str:
        return self.tokens[-1][0]

    def _lead(self, last: int, first: int) -> None:
        """Add transitions from the states `last` to the states `first`."""
        for q in _states(first).tolist():
            self.before[q] |= last

    def _after(self, found: _Part, after: _Part) -> _Part:
        """Concatenation."""
        self._lead(found.last, after.first)
        first, last = found.first | after.first * found.empty, after.last | found.last * after.empty
        return _Part(first, last, found.empty and after.empty)

    def _label(self, kind: str, text: str, place: int) -> _Part:
        """A new state for a label or ".", perhaps backwards."""
        backwards = kind == "^"
        if backwards:
            kind, text, place = self.tokens.pop()
        if kind not in ("label", "."):
            raise self._error(place, "a label after ^" if backwards else "a label or an opening bracket")
        self.steps.append(Step(text if kind == "label" else None, backwards))
        self.before.append(0)
        return _Part(1 << len(self.steps), 1 << len(self.steps), False)

    def _repeated(self, found: _Part) -> _Part:
        """Apply the postfix operators."""
        while self._next() in ("*", "+", "?"):
            sign = self.tokens.pop()[0]
            if sign != "?":
                self._lead(found.last, found.first)
            found = found._replace(empty=found.empty or sign != "+")
        return found

    def _error(self, place: int, required: str) -> ValueError:
        rest = self.pattern[place : place + 20].strip() or "the end"
        return ValueError(
            f"reachable: pattern {came(self.pattern)} must have {required} at {place}, got {rest}. "
            'Such as "a (b|c)* d"; quote labels that are no words.'
        )


def _alternation(either: _Part | None, sequence: _Part) -> _Part:
    """Alternation."""
    if either is None:
        return sequence
    return _Part(either.first | sequence.first, either.last | sequence.last, either.empty or sequence.empty)


def _states(bits: int) -> np.ndarray:
    """The states in a bit set, ascending."""
    raw = np.frombuffer(bits.to_bytes(bits.bit_length() // 8 + 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))
