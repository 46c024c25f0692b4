"""Second largest value of a numeric variable, as one number."""

from dalenius.methods._order_method import OrderStatisticMethod
from dalenius.statistics.extreme import Extreme
from dalenius.translation import texts

__all__ = ["SECOND_MAXIMUM"]

SECOND_MAXIMUM = OrderStatisticMethod(
    name="second_maximum",
    titles=texts("Second largest {of}"),
    nouns=texts("second largest value"),
    statistic=lambda question: Extreme.of(question.domain, question.of, rank=2, where=question.where),
)
