"""Distance between the quartiles of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.interquartile import Interquartile
from dalenius.translation import texts

__all__ = ["INTERQUARTILE"]

INTERQUARTILE = OrderStatisticMethod(
    name="interquartile",
    titles=texts("Interquartile range of {of}"),
    nouns=texts("interquartile range"),
    statistic=lambda question: Interquartile.of(question.domain, question.of, question.where),
    is_difference=True,
)
