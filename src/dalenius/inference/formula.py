"""Hierarchical log-linear models written as formulas (docs/reference/inference/loglinear.md).

Names with other signs than letters, digits, `_` and `.` are written in backquotes. A left side such as `count ~` may
be given and is ignored.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np

from dalenius.core.domain import Axis
from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError, TooLarge, UnknownName

MOST_ENTRIES = 50_000_000
Term = frozenset[int]
Terms = set[Term]
_MOST_BRACKETS = 50
_TOKEN = re.compile(r"\s*(?:`([^`]+)`|([A-Za-z_][\w.]*)|(\d+)|(\^|\*|:|\+|\(|\)))")


@dataclass(frozen=True, slots=True)
class Model:
    """A hierarchical model: every term, and the largest ones (generators) that imply the others."""

    terms: frozenset[Term]
    names: tuple[str, ...]

    @property
    def generators(self) -> list[tuple[int, ...]]:
        largest = [t for t in self.terms if not any(t < other for other in self.terms)]
        return sorted(tuple(sorted(t)) for t in largest)

    def __le__(self, other: "Model") -> bool:
        return self.terms <= other.terms

    def __str__(self) -> str:
        inside = [":".join(_quoted(self.names[a]) for a in g) for g in self.generators]
        return " + ".join(inside).replace("::", ":") or "1"

    @property
    def notation(self) -> str:
        """The usual bracket notation, such as [A B][C]."""
        return "".join(f"[{' '.join(self.names[a] for a in g)}]" for g in self.generators) or "[]"


def model(formula: str, names: Sequence[str]) -> Model:
    """Read a formula over named axes.

    >>> model("A*B + C", "ABC").notation
    '[A B][C]'
    >>> model("(A + B + C)^2", "ABC").notation
    '[A B][A C][B C]'
    """
    return Model(closed(_FormulaReader(formula.rpartition("~")[2], names).read()), tuple(names))


def closed(terms: Iterable[Term]) -> frozenset[Term]:
    terms_below: set[Term] = {frozenset()}
    for term in terms:
        for size in range(1, len(term) + 1):
            terms_below.update(frozenset(part) for part in combinations(sorted(term), size))
    return frozenset(terms_below)


def saturated(names: Sequence[str]) -> Model:
    return Model(closed([frozenset(range(len(names)))]), tuple(names))


def independent(names: Sequence[str]) -> Model:
    return Model(closed([frozenset([k]) for k in range(len(names))]), tuple(names))


def coefficients(chosen: Model, shape: Sequence[int]) -> int:
    """Number of free coefficients on a complete table."""
    return sum(prod(shape[a] - 1 for a in term) for term in chosen.terms)


def design(chosen: Model, axes: Sequence[Axis]) -> tuple[FloatArray, list[str]]:
    """Dummy variables of the terms (first label as reference), one row for each cell in C order, with their names."""
    shape = tuple(len(axis) for axis in axes)
    width = coefficients(chosen, shape)
    if prod(shape) * width > MOST_ENTRIES:
        raise TooLarge(
            f"The model has {width:,} coefficients on {prod(shape):,} cells, which is more than is served. Use fewer "
            "or coarser axes, or a smaller model."
        )
    cells = np.indices(shape).reshape(len(shape), -1)
    columns, labels = [], []
    for term in sorted(chosen.terms, key=lambda t: (len(t), sorted(t))):
        inside = sorted(term)
        for levels in product(*(range(1, shape[a]) for a in inside)):
            column = np.ones(cells.shape[1])
            for axis, level in zip(inside, levels, strict=True):
                column *= cells[axis] == level
            columns.append(column)
            parts = [f"{axes[a].name}[{axes[a].labels[i]}]" for a, i in zip(inside, levels, strict=True)]
            labels.append(":".join(parts) or "(all)")
    return np.stack(columns, axis=1), labels


class _FormulaReader:
    """Recursive descent over + , * , : , ^ and parentheses."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._names = list(names)
        self._tokens = self._split(text)
        self._next = 0

    def _split(self, text: str) -> list[tuple[str, str]]:
        tokens, place = [], 0
        text = text.strip()
        while place < len(text):
            token = _TOKEN.match(text, place)
            if not token:
                raise ParameterError(f"The formula cannot be read at {text[place : place + 20]!r}.", received=text)
            quoted, plain, number, sign = token.groups()
            kind = "name" if quoted or plain else ("number" if number else sign)
            tokens.append((kind, quoted or plain or number or sign))
            place = token.end()
        if sum(kind == "(" for kind, _ in tokens) > _MOST_BRACKETS:
            raise ParameterError(f"A formula has at most {_MOST_BRACKETS} brackets.")
        return tokens

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else "end"

    def _take(self) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise ParameterError("The formula ends where a variable is expected.")
        self._next += 1
        return self._tokens[self._next - 1]

    def read(self) -> Terms:
        terms = self._sum()
        if self._peek() != "end":
            raise ParameterError(f"The formula has {self._tokens[self._next][1]!r} where it should end.")
        return terms

    def _sum(self, signs: str = "+*:") -> Terms:
        """Parts between equal signs, joined from left to right; the last sign binds most."""
        if not signs:
            return self._power()
        terms = self._sum(signs[1:])
        while self._peek() == signs[0]:
            self._take()
            part = self._sum(signs[1:])
            both = set() if signs[0] == ":" else terms | part
            terms = both if signs[0] == "+" else both | _pairs(terms, part)
        return terms

    def _power(self) -> Terms:
        terms = self._atom()
        if self._peek() == "^":
            self._take()
            kind, text = self._take()
            if kind != "number" or not 1 <= int(text) <= 10:
                raise ParameterError(f"A power in a formula is a whole number from 1 to 10; received {text!r}.")
            raised = terms
            for _ in range(int(text) - 1):
                raised = raised | _pairs(raised, terms)
            return raised
        return terms

    def _atom(self) -> Terms:
        kind, text = self._take()
        if kind == "(":
            terms = self._sum()
            if self._take()[0] != ")":
                raise ParameterError("A bracket of the formula is not closed.")
            return terms
        if kind == "number" and text == "1":
            return {frozenset()}
        if kind != "name":
            raise ParameterError(f"The formula has {text!r} where a variable is expected.")
        UnknownName.check("axis", text, self._names)
        return {frozenset([self._names.index(text)])}


def _pairs(left: Terms, right: Terms) -> Terms:
    return {a | b for a in left for b in right}


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.]*", name) else f"`{name}`"
