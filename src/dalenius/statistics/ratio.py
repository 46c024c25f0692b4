"""The ratio of two totals over the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics._example import Example, number

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """sum(x) / sum(y), with x in [low, high] and y in [least, most], least >= 0; 0 when sum(y) is 0.

    Guarantee: none globally: a denominator near zero makes the ratio as sensitive as one likes. Release both totals and
    divide. Where every y >= 1 the local sensitivity is exact: with the other rows fixed, the ratio is a quotient of
    linear functions of the new pair, extreme at the corners of its rectangle.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_moments.py.
    """

    numerator: str
    denominator: str
    low: int
    high: int
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most or self.low > self.high:
            raise ParameterError("A ratio needs 0 <= least <= most for the denominator and low <= high.")

    @property
    def query(self) -> TableQuery:
        return TableQuery(space=CellSpace(()), function=RowFunction.of(Power(self.numerator)))

    @property
    def denominator_query(self) -> TableQuery:
        return TableQuery(space=CellSpace(()), function=RowFunction.of(Power(self.denominator)))

    def value(self, rows: Sequence[Pair]) -> Fraction:
        return self._quotient(sum(x for x, _ in rows), sum(y for _, y in rows))

    def _quotient(self, above: int, below: int) -> Fraction:
        return Fraction(above, below) if below else Fraction(0)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        raise Unsupported("A ratio has no global sensitivity; release the two totals and divide them.")

    def local(self, rows: Sequence[Pair], neighbours: Neighbours) -> Fraction:
        """Largest change that one record can make to the ratio of these rows; every y must be at least 1."""
        if self.least < 1:
            raise Unsupported("The local sensitivity of a ratio is stated for a denominator of at least 1 a row.")
        above, below = sum(x for x, _ in rows), sum(y for _, y in rows)
        here = self._quotient(above, below)
        corners = list(product((self.low, self.high), (self.least, self.most)))
        rest = [(above - x, below - y) for x, y in set(rows)]
        moved = [(a + x, b + y) for a, b in (rest if neighbours.is_replace else [(above, below)]) for x, y in corners]
        ends = moved if neighbours.is_replace else [*rest, *moved]
        return max((abs(self._quotient(a, b) - here) for a, b in ends), default=Fraction(0))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example(
                cls(numerator="x", denominator="y", low=-1, high=2, least=1, most=3),
                number(-1, 2) | number(1, 3, name="y"),
                ((-1, 1), (2, 1), (2, 3), (0, 2)),
                arguments=lambda rows: (list(rows),),
            ),
        )
