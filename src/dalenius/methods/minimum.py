"""Smallest value of a numeric variable, as one number."""

from dalenius.plans.order import OrderMethod
from dalenius.spec.method import Words, example
from dalenius.statistics.extreme import Extreme
from dalenius.translation import translated

MINIMUM = OrderMethod(
    name="minimum",
    statistic=lambda question: Extreme.of(question.domain, question.of, is_largest=False, where=question.where),
    is_offered=False,
    words=translated(
        Words(
            title="Smallest {of}",
            preview="How far the smallest value is off depends on the data and is not published.",
            caption="The smallest value is shown without a margin of error: the scale of its noise follows the data.",
        )
    ),
    examples=(
        example(measure="minimum", of="income", method="cauchy", epsilon=1),
        example(measure="minimum", of="income", definition="individual", epsilon=1),
    ),
)
