"""Largest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.extreme import Extreme
from dalenius.translation import texts

__all__ = ["MAXIMUM"]

MAXIMUM = OrderStatisticMethod(
    name="maximum",
    titles=texts("Largest {of}"),
    nouns=texts("largest value"),
    statistic=lambda question: Extreme.of(question.domain, question.of, where=question.where),
)
