"""The variance of one numeric variable over a public number of rows."""

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
class Variance:
    """Mean squared deviation (divisor n), or the sample variance (divisor n - 1), in squared steps.

    Guarantee: under replace the global sensitivity is R^2 (n-1)/n^2 (divisor n) or R^2/n (divisor n - 1); the local one
    counts decreases too: with m_i the mean of the other records,
    LS = ((n-1)/n^2) max_i max((U-m_i)^2 - d_i, (m_i-L)^2 - d_i, d_i), d_i = (x_i-m_i)^2. Over all n, under add-remove,
    R^2/4 bounds the divisor-n version.
    Requires: one row to a unit, no row that can drop out. There is no proved smooth sensitivity: use the global one,
    or release the moments.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_moments.py.
    """

    value_name: str
    low: int
    high: int
    size: int
    is_sample: bool = False

    def __post_init__(self) -> None:
        if self.size < 1 + self.is_sample:
            raise ParameterError("The public size of a variance is too small.")

    @property
    def query(self) -> ValuesQuery:
        return ValuesQuery(value=self.value_name)

    def _divisor(self, n: int) -> int:
        return n - 1 if self.is_sample else n

    def value(self, values: Sequence[int] | IntArray) -> Fraction:
        x = [int(v) for v in values]
        n = len(x)
        return (sum(v * v for v in x) - Fraction(sum(x) ** 2, n)) / self._divisor(n)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of n times the divisor times the variance, which is an integer; the size is public under replace only."""
        if not neighbours.is_replace:
            raise Unsupported("The number of rows is not public here: release the moments and a count.")
        worst = self.worst(neighbours) * self.size * self._divisor(self.size)
        return Sensitivity.of_patterns(((int(worst),),))

    def worst(self, neighbours: Neighbours) -> Fraction:
        """The global sensitivity of the variance itself."""
        span, n = self.high - self.low, self.size
        if neighbours.max_rows > 1:
            raise Unsupported("The sensitivity of a variance is stated for one row to a unit.")
        if not neighbours.is_replace:
            if self.is_sample:
                raise Unsupported("Under add-remove use the divisor n.")
            return Fraction(span * span, 4)
        return Fraction(span * span * (n - 1), n * n) * Fraction(n, self._divisor(n)) if n > 1 else Fraction(0)

    def local(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> Fraction:
        """Largest change that one record can make to the variance of these values; numbers may be any reals in bounds.

        Exact for a continuous domain under replace, never too small on a grid.
        """
        if not neighbours.is_replace:
            raise Unsupported("The local sensitivity of a variance is stated under replace.")
        x = [int(v) for v in values]
        n, total, most = len(x), sum(x), Fraction(0)
        if n < 2:
            return most
        for v in set(x):
            m = Fraction(total - v, n - 1)
            own = (v - m) ** 2
            most = max(most, (self.high - m) ** 2 - own, (m - self.low) ** 2 - own, own)
        return most * Fraction(n - 1, n * n) * Fraction(n, self._divisor(n))

    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> Fraction:
        if not neighbours.is_replace:
            raise Unsupported("The bootstrap sensitivity of a variance is stated under replace.")
        x = [int(v) for v in values]
        n, span = len(x), max(x) - min(x)
        if n < 2:
            return Fraction(0)
        return Fraction(span * span * (n - 1), n * n) * Fraction(n, self._divisor(n))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        def example(statistic: "Variance") -> Example:
            scale = 3 * (2 if statistic.is_sample else 3)
            return Example(
                statistic,
                number(0, 3, missing="0"),
                ((0,), (1,), (3,)),
                size=3,
                released=lambda rows: [int(statistic.value(*first_column(rows)) * scale)],
                arguments=lambda rows: first_column(rows) if len(rows) > statistic.is_sample else None,
            )

        return tuple(
            example(cls(value_name="x", low=0, high=3, size=3, is_sample=is_sample)) for is_sample in (False, True)
        )
