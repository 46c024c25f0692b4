"""Largest value of a numeric variable, as one number."""

from dalenius.plans.order import OrderMethod
from dalenius.spec.method import Words, example
from dalenius.statistics.extreme import Extreme
from dalenius.translation import translated

MAXIMUM = OrderMethod(
    name="maximum",
    statistic=lambda question: Extreme.of(question.domain, question.of, where=question.where),
    is_offered=False,
    words=translated(
        Words(
            title="Largest {of}",
            preview="How far the largest value is off depends on the data and is not published.",
            caption="The largest value is shown without a margin of error: the scale of its noise follows the data.",
        )
    ),
    examples=(
        example(measure="maximum", of="income", method="cauchy", epsilon=1),
        example(measure="maximum", of="income", definition="individual", epsilon=1),
    ),
)
