"""Smallest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.extreme import Extreme
from dalenius.translation import texts

__all__ = ["MINIMUM"]

MINIMUM = OrderStatisticMethod(
    name="minimum",
    titles=texts("Smallest {of}"),
    nouns=texts("smallest value"),
    statistic=lambda question: Extreme.of(question.domain, question.of, is_largest=False, where=question.where),
)
