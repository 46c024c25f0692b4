"""Second largest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.extreme import Extreme

__all__ = ["SECOND_MAXIMUM"]

SECOND_MAXIMUM = OrderStatisticMethod(
    name="second_maximum",
    titles={"en": "Second largest {of}", "de": "Zweitgrößter Wert von {of}"},
    nouns={"en": "second largest value", "de": "Der zweitgrößte Wert"},
    statistic=lambda question: Extreme.of(question.domain, question.of, rank=2, where=question.where),
)
