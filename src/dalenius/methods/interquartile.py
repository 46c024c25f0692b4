"""Distance between the quartiles of a numeric variable, as one number."""

from dalenius.plans.order import OrderMethod
from dalenius.spec.method import Words, example
from dalenius.statistics.interquartile import Interquartile
from dalenius.translation import translated

INTERQUARTILE = OrderMethod(
    name="interquartile",
    statistic=lambda question: Interquartile.of(question.domain, question.of, question.where),
    is_difference=True,
    is_offered=False,
    words=translated(
        Words(
            title="Interquartile range of {of}",
            preview="How far the interquartile range is off depends on the data and is not published.",
            caption="The interquartile range is shown without a margin of error: the scale of its noise "
            "follows the data.",
        )
    ),
    examples=(example(measure="interquartile", of="income", definition="individual", epsilon=1),),
)
