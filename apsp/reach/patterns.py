"""Regular expressions over the labels of edges, and their automata by positions (Glushkov 1961).

    pattern  = sequence { "|" sequence }
    sequence = part { ["/"] part }
    part     = ( label | "." | "^" label | "(" pattern ")" ) { "*" | "+" | "?" }

A label is a word or text in quotes, "." is any label, "^" walks an edge backwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(r"""\s*(?:([|*+?()/^.])|"([^"]*)"|'([^']*)'|([\w:-]+)|(\S))""")


class Step(NamedTuple):
    """An edge that a walk takes: its label, None for any; and whether backwards."""

    label: str | None
    backwards: bool


@dataclass(frozen=True)
class Automaton:
    """States 0, where all walks begin, and one for each label in the pattern, in which walks are that took it last.

    Attributes
    ----------
    steps : tuple of Step
        What leads to states 1, 2, …
    arcs : frozenset of (state, state)
    accepting : frozenset of states
        In which walks match.
    """

    steps: tuple[Step, ...]
    arcs: frozenset[tuple[int, int]]
    accepting: frozenset[int]


class _Part(NamedTuple):
    """A part of a pattern: the states that may come first and last in it, and whether it matches the empty walk."""

    first: frozenset[int]
    last: frozenset[int]
    empty: bool


def automaton(pattern: str) -> Automaton:
    """The automaton of a pattern, without moves that take no edge.

    Raises
    ------
    ValueError
        If it is none; showing where.

    Examples
    --------
    >>> automaton("a (b|c)* d").accepting
    frozenset({4})
    """
    return _Reader(pattern).read()


class _Reader:
    """Recursive descent; a token is (kind, text, position)."""

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
        self.steps: list[Step] = []
        self.arcs: set[tuple[int, int]] = set()

    def read(self) -> Automaton:
        everything = self._pattern()
        if self._next() != "end":
            raise self._error(self.tokens[0][2], "the end, or an opening bracket before this one")
        self.arcs |= {(0, p) for p in everything.first}
        accepting = everything.last | (frozenset({0}) if everything.empty else frozenset())
        return Automaton(tuple(self.steps), frozenset(self.arcs), accepting)

    def _next(self) -> str:
        return self.tokens[0][0]

    def _pattern(self) -> _Part:
        found = self._sequence()
        while self._next() == "|":
            self.tokens.pop(0)
            other = self._sequence()
            found = _Part(found.first | other.first, found.last | other.last, found.empty or other.empty)
        return found

    def _sequence(self) -> _Part:
        found = self._part()
        while self._next() in ("label", "^", ".", "(", "/"):
            if self._next() == "/":
                self.tokens.pop(0)
            after = self._part()
            self.arcs |= {(p, q) for p in found.last for q in after.first}
            found = _Part(
                found.first | (after.first if found.empty else frozenset()),
                after.last | (found.last if after.empty else frozenset()),
                found.empty and after.empty,
            )
        return found

    def _part(self) -> _Part:
        kind, text, place = self.tokens.pop(0)
        if kind == "(":
            found = self._pattern()
            if self._next() != ")":
                raise self._error(self.tokens[0][2], "a closing bracket")
            self.tokens.pop(0)
        elif kind in ("label", ".", "^"):
            backwards = kind == "^"
            if backwards:
                kind, text, place = self.tokens.pop(0)
            if kind not in ("label", "."):
                raise self._error(place, "a label after ^")
            self.steps.append(Step(text if kind == "label" else None, backwards))
            state = frozenset({len(self.steps)})
            found = _Part(state, state, False)
        else:
            raise self._error(place, "a label or an opening bracket")
        while self._next() in ("*", "+", "?"):
            sign = self.tokens.pop(0)[0]
            if sign != "?":
                self.arcs |= {(p, q) for p in found.last for q in found.first}
            found = found._replace(empty=found.empty or sign != "+")
        return found

    def _error(self, place: int, required: str) -> ValueError:
        rest = self.pattern[place : place + 20].strip() or "the end"
        return ValueError(
            f"reachable: pattern {self.pattern!r} must have {required} at {place}, got {rest}. "
            'Such as "a (b|c)* d"; quote labels that are no words.'
        )
