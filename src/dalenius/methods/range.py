"""Distance from the smallest to the largest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.value_range import ValueRange
from dalenius.translation import texts

__all__ = ["RANGE"]

RANGE = OrderStatisticMethod(
    name="range",
    titles=texts("Range of {of}"),
    nouns=texts("range"),
    statistic=lambda question: ValueRange.of(question.domain, question.of, question.where),
    is_difference=True,
)
