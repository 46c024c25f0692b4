"""Smallest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.extreme import Extreme

__all__ = ["MINIMUM"]

MINIMUM = OrderStatisticMethod(
    name="minimum",
    titles={"en": "Smallest {of}", "de": "Kleinster Wert von {of}"},
    nouns={"en": "smallest value", "de": "Der kleinste Wert"},
    statistic=lambda question: Extreme.of(question.domain, question.of, is_largest=False, where=question.where),
)
