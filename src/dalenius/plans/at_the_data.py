"""One total, mean or variance with noise that follows the data, where the sensitivity at or within the data is proved.

The scale is the largest change that one record can make to these data (individual privacy), or to data sets made of
their records (bootstrap privacy), never below the declared floor; it is withheld. A mean is the total over a public
number of rows, so that it is served under replace, where every row counts and their number is declared; so is a
variance, on a grid that the declaration fixes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.domain import DROP
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.query import ValuesQuery
from dalenius.errors import TooLarge, Unsupported
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.plans.data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.plans.priced import limits_of
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.mean import Mean
from dalenius.statistics.variance import Variance

# A squared range in whole steps that an answer holds exactly, with room for its noise.
MOST_SQUARE = 2**52


@dataclass(frozen=True, kw_only=True)
class TotalAtTheData:
    """A total over a list of values, with its change at the data; `mean` says that it is the total of a
    public number.
    """

    query: ValuesQuery
    total: MagnitudeTable
    mean: Mean | None = None

    def value(self, values: IntArray) -> int:
        return self.total.value(np.zeros_like(values), values)[0]

    def local(self, values: IntArray, neighbours: Neighbours, group: int = 1) -> int:
        """Largest change of the total by one record: of a mean, that of the mean times the public number of rows."""
        if group > 1:
            raise Unsupported("Groups are served for order statistics only.")
        if self.mean is None or not len(values):
            return self.total.local(np.zeros_like(values), values, neighbours)
        return _rounded_up(self.mean.local(values, neighbours) * len(values))

    def bootstrap(self, values: IntArray, neighbours: Neighbours) -> int:
        """Largest change between neighbours made of these values; never too small.

        A row may be outside the total, unless every row is declared to be in it.
        """
        outside = [] if self.total.is_complete else [-1]
        cells = np.concatenate([np.zeros_like(values), np.array(outside, dtype=np.int64)])
        return self.total.bootstrap(cells, np.resize(np.append(values, 0), len(cells)), neighbours)


@dataclass(frozen=True, kw_only=True)
class VarianceAtTheData:
    """A sample variance in 1 / `parts` squared steps, cut to whole ones.

    Guarantee: cutting two numbers to whole ones brings them apart by less than one more step than they were, so that a
    change rounded up bounds the change of what is cut.
    """

    query: ValuesQuery
    variance: Variance
    parts: int

    def value(self, values: IntArray) -> int:
        """The variance, rounded down; 0 where there are too few rows."""
        if len(values) < 2:
            return 0
        scaled = self.variance.value(values) * self.parts
        return scaled.numerator // scaled.denominator

    def local(self, values: IntArray, neighbours: Neighbours, group: int = 1) -> int:
        """Largest change by one record, rounded up."""
        if group > 1:
            raise Unsupported("Groups are served for order statistics only.")
        return _rounded_up(self.variance.local(values, neighbours) * self.parts)

    def bootstrap(self, values: IntArray, neighbours: Neighbours) -> int:
        """Largest change between neighbours made of these values, rounded up."""
        return _rounded_up(self.variance.bootstrap(values, neighbours) * self.parts) if len(values) else 0


def _rounded_up(change: Fraction) -> int:
    return -(-change.numerator // change.denominator)


def plan_total_at_the_data(question: Question) -> TablePlan:
    return _plan(question, "total", lambda total: TotalAtTheData(query=_values(question), total=total))


def plan_mean_at_the_data(question: Question) -> TablePlan:
    """One mean over a public number of rows none of which can drop out."""
    size, bounds = _public_rows(question, "mean"), question.bounds
    mean = Mean(value_name=question.of, low=bounds.low, high=bounds.high, size=size)
    return _plan(
        question,
        "mean",
        lambda total: TotalAtTheData(query=_values(question), total=total, mean=mean),
        parts=size,
        limits=limits_of(question),
    )


def plan_variance_at_the_data(question: Question) -> TablePlan:
    """One sample variance over a public number of rows none of which can drop out."""
    size, bounds = _public_rows(question, "variance"), question.bounds
    if size < 2:
        raise Unsupported("A sample variance needs at least two rows.")
    span = (bounds.high - bounds.low) ** 2
    if span > MOST_SQUARE:
        raise TooLarge("The bounds of this variable are too far apart for a variance in whole squared steps.")
    # As fine as the exact answer is, or as what an answer can hold.
    parts = max(1, min(size * (size - 1), MOST_SQUARE // max(span, 1)))
    variance = Variance(value_name=question.of, low=bounds.low, high=bounds.high, size=size, is_sample=True)
    measurement = LocalLaplace(
        name=f"variance of {question.of}",
        statistic=VarianceAtTheData(query=_values(question), variance=variance, parts=parts),
        epsilon=epsilon_alone(question),
        neighbours=question.neighbours,
        floor=_rounded_up(Fraction(floor(question) ** 2 * parts)),
    )
    largest = float(Fraction(span * size, 4 * (size - 1)) * bounds.step**2)
    return plan_withheld(question, measurement, "variance", Fraction(bounds.step**2, parts), limits=(0.0, largest))


def _public_rows(question: Question, measure: str) -> int:
    """The declared number of rows where it is public, and one number is asked for."""
    size, bounds, neighbours = question.domain.public_size, question.bounds, question.neighbours
    if not neighbours.is_replace or size is None or question.where or DROP in (bounds.missing, bounds.outside):
        raise Unsupported(
            f"A {measure} under this definition is of a public number of rows: it needs relation = 'replace', a "
            "declared size, no condition, and a rule that keeps every row (missing = a number, outside = 'clamp')."
        )
    if question.space.axes:
        raise Unsupported(
            f"A {measure} under {question.definition.name!r} is one number: use where, not rows or columns."
        )
    return size


def _values(question: Question) -> ValuesQuery:
    return ValuesQuery(value=question.of, where=question.where)


def _plan(
    question: Question,
    measure: str,
    made: Callable[[MagnitudeTable], TotalAtTheData],
    parts: int = 1,
    limits: tuple[float, float] | None = None,
) -> TablePlan:
    if question.space.axes:
        raise Unsupported(
            f"A {measure} under {question.definition.name!r} is one number: use where, not rows or columns."
        )
    measurement = LocalLaplace(
        name=f"{measure} of {question.of}",
        statistic=made(MagnitudeTable.of(question.domain, question.of, question.space, question.where)),
        epsilon=epsilon_alone(question),
        neighbours=question.neighbours,
        floor=floor(question),
    )
    return plan_withheld(question, measurement, measure, Fraction(question.bounds.step, parts), limits=limits)
