"""One total or mean with noise that follows the data: individual privacy, where the sensitivity at the data is proved.

The scale is the largest change that one record can make to these data, never below the declared floor; it is withheld. A mean is the
total over a public number of rows, so that it is served under replace, where every row counts and their number is declared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.domain import DROP
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.query import ValuesQuery
from dalenius.errors import Unsupported
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.methods._data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.methods._priced import limits_of
from dalenius.spec.question import Question
from dalenius.statistics.mean import Mean
from dalenius.statistics.total import Total


@dataclass(frozen=True, kw_only=True)
class TotalAtTheData:
    """A total over a list of values, with its change at the data; `mean` says that it is the total of a public number."""

    query: ValuesQuery
    total: Total
    mean: Mean | None = None

    def value(self, values: IntArray) -> int:
        """The exact total."""
        return self.total.value(values)

    def local(self, values: IntArray, neighbours: Neighbours, group: int = 1) -> int:
        """Largest change of the total by one record: of a mean, that of the mean times the public number of rows."""
        if group > 1:
            raise Unsupported("Groups are served for order statistics only.")
        if self.mean is None or not len(values):
            return self.total.local(values, neighbours)
        change = self.mean.local(values, neighbours) * len(values)
        return -(-change.numerator // change.denominator)

    def bootstrap(self, values: IntArray, neighbours: Neighbours) -> int:
        """Largest change between neighbours made of these values."""
        return self.total.bootstrap(values, neighbours)


def plan_total_at_the_data(question: Question) -> TablePlan:
    """One total under individual privacy."""
    return _plan(question, "total", lambda total: TotalAtTheData(query=_values(question), total=total))


def plan_mean_at_the_data(question: Question) -> TablePlan:
    """One mean under individual privacy, over a public number of rows none of which can drop out."""
    size, bounds, near = question.domain.public_size, question.bounds, question.neighbours
    if not near.is_replace or size is None or question.where or DROP in (bounds.missing, bounds.outside):
        raise Unsupported(
            "A mean under this definition is of a public number of rows: it needs relation = 'replace', a declared size, no"
            " condition, and a rule that keeps every row (missing = a number, outside = 'clamp')."
        )
    mean = Mean(value_name=question.of, low=bounds.low, high=bounds.high, size=size)
    return _plan(
        question,
        "mean",
        lambda total: TotalAtTheData(query=_values(question), total=total, mean=mean),
        parts=size,
        limits=limits_of(question),
    )


def _values(question: Question) -> ValuesQuery:
    return ValuesQuery(value=question.of, where=question.where)


def _plan(
    question: Question,
    measure: str,
    made: Callable[[Total], TotalAtTheData],
    parts: int = 1,
    limits: tuple[float, float] | None = None,
) -> TablePlan:
    if question.space.axes:
        raise Unsupported(
            f"A {measure} under {question.definition.name!r} is one number: use where, not rows or columns."
        )
    measurement = LocalLaplace(
        name=f"{measure} of {question.of}",
        statistic=made(Total.of(question.domain, question.of, question.where)),
        epsilon=epsilon_alone(question),
        neighbours=question.neighbours,
        floor=floor(question),
    )
    return plan_withheld(question, measurement, measure, Fraction(question.bounds.step, parts), limits=limits)
