"""Distance between the quartiles of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.interquartile import Interquartile

__all__ = ["INTERQUARTILE"]

INTERQUARTILE = OrderStatisticMethod(
    name="interquartile",
    titles={"en": "Interquartile range of {of}", "de": "Quartilsabstand von {of}"},
    nouns={"en": "interquartile range", "de": "Der Quartilsabstand"},
    statistic=lambda question: Interquartile.of(question.domain, question.of, question.where),
    is_difference=True,
)
