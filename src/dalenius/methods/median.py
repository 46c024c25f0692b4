"""Medians of a numeric variable: one for each cell with its interval, or one without an error by a named method."""

from dalenius.plans.order import OrderMethod, QuantileKeys, without_implied
from dalenius.spec.keys import HALF
from dalenius.spec.method import Words, example
from dalenius.statistics.quantile import Quantile
from dalenius.translation import translated

MEDIAN = OrderMethod(
    name="median",
    ranks=lambda question: (HALF,),
    statistic=lambda question: Quantile.of(question.domain, question.of, question.where, q=HALF),
    Parameters=QuantileKeys,
    canonical_keys=without_implied,
    words=translated(
        Words(
            title="Median of {of}",
            preview="In a cell of {records} records, expect the interval of a median to reach {ranks} ranks to "
            "either side (95 %) through privacy noise: ± {error} if values are spread evenly between the bounds, and "
            "less where they are dense.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="median", of="income", epsilon=1),
        example(measure="median", of="income", method="lomax", epsilon=1),
        example(measure="median", of="income", definition="individual", epsilon=1),
        example(rows=["sex"], measure="median", of="income", method="exponential", epsilon=1),
        example(measure="median", of="income", method="exponential", noise={"score": "distance"}, rho=1),
        example(rows=["sex"], measure="median", of="income", weight="weight", rho=2),
    ),
)
