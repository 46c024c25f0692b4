"""Distance from the smallest to the largest value of a numeric variable, as one number."""

from dalenius.plans.order import OrderMethod
from dalenius.spec.method import Words, example
from dalenius.statistics.value_range import ValueRange
from dalenius.translation import translated

RANGE = OrderMethod(
    name="range",
    statistic=lambda question: ValueRange.of(question.domain, question.of, question.where),
    is_difference=True,
    is_offered=False,
    words=translated(
        Words(
            title="Range of {of}",
            preview="How far the range is off depends on the data and is not published.",
            caption="The range is shown without a margin of error: the scale of its noise follows the data.",
        )
    ),
    examples=(example(measure="range", of="income", definition="individual", epsilon=1),),
)
