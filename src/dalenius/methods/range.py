"""Distance from the smallest to the largest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.value_range import ValueRange

__all__ = ["RANGE"]

RANGE = OrderStatisticMethod(
    name="range",
    titles={"en": "Range of {of}", "de": "Spannweite von {of}"},
    nouns={"en": "range", "de": "Die Spannweite"},
    statistic=lambda question: ValueRange.of(question.domain, question.of, question.where),
    is_difference=True,
)
