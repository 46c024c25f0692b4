"""The mean of one numeric variable over a public number of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics._example import Example, first_column, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean in steps. For release it is a total on the grid 1 / size, under replace with a public size.

    Guarantee: `sensitivity` is that of the total (size times that of the mean). With a private size, release a
    centred total and a count instead. `local`, `bootstrap` and `worst` are exact rationals in steps.
    Requires: one row to a unit, no row that can drop out.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_moments.py. Smooth equals global.
    """

    value_name: str
    low: int
    high: int
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ParameterError("The public size of a mean must be at least 1.")

    @property
    def query(self) -> ValuesQuery:
        return ValuesQuery(value=self.value_name)

    def value(self, values: Sequence[int] | IntArray) -> Fraction:
        numbers = [int(v) for v in values]
        return Fraction(sum(numbers), len(numbers))

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        if not neighbours.is_replace or neighbours.max_rows > 1:
            raise Unsupported("The number of rows is not public here: release a total and a count, and divide them.")
        return Sensitivity.of_patterns(((self.high - self.low,),))

    def worst(self, neighbours: Neighbours) -> Fraction:
        """The global sensitivity of the mean itself; under add-remove over non-empty lists of any size."""
        return Fraction(self.high - self.low, self.size if neighbours.is_replace else 2)

    def local(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> Fraction:
        """Largest change that one record can make to the mean of these values, lists staying non-empty."""
        x = [int(v) for v in values]
        n, top, bottom = len(x), max(x), min(x)
        if neighbours.is_replace:
            return Fraction(max(top - self.low, self.high - bottom), n)
        m = Fraction(sum(x), n)
        added = max(self.high - m, m - self.low) / (n + 1)
        removed = max(top - m, m - bottom) / (n - 1) if n > 1 else Fraction(0)
        return max(added, removed)

    def smooth(self, values: Sequence[int] | IntArray, base: Fraction, neighbours: Neighbours) -> Fraction:
        return max(Fraction(1), self.sensitivity(neighbours).l1)

    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> Fraction:
        """Largest change between neighbours made of these values only, exactly, lists staying non-empty."""
        x = [int(v) for v in values]
        n, span = len(x), max(x) - min(x)
        if not neighbours.is_replace and n == 1:
            return Fraction(span, 2)
        return Fraction(span, n)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        example = Example(
            cls(value_name="x", low=0, high=4, size=3),
            number(0, 4, missing="0"),
            ((0,), (1,), (4,)),
            size=3,
            released=lambda rows: [sum(x for (x,) in rows)],
            arguments=lambda rows: first_column(rows) if rows else None,
        )
        return (example,)
