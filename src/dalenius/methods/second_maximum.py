"""Second largest value of a numeric variable, as one number."""

from dalenius.plans.order import OrderMethod
from dalenius.spec.method import Words, example
from dalenius.statistics.extreme import Extreme
from dalenius.translation import translated

SECOND_MAXIMUM = OrderMethod(
    name="second_maximum",
    statistic=lambda question: Extreme.of(question.domain, question.of, rank=2, where=question.where),
    is_offered=False,
    words=translated(
        Words(
            title="Second largest {of}",
            preview="How far the second largest value is off depends on the data and is not published.",
            caption="The second largest value is shown without a margin of error: the scale of its noise "
            "follows the data.",
        )
    ),
    examples=(
        example(measure="second_maximum", of="income", method="cauchy", epsilon=1),
        example(measure="second_maximum", of="income", definition="individual", epsilon=1),
    ),
)
