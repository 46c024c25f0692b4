"""Largest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.extreme import Extreme

__all__ = ["MAXIMUM"]

MAXIMUM = OrderStatisticMethod(
    name="maximum",
    titles={"en": "Largest {of}", "de": "Größter Wert von {of}"},
    nouns={"en": "largest value", "de": "Der größte Wert"},
    statistic=lambda question: Extreme.of(question.domain, question.of, where=question.where),
)
