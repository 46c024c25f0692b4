"""A quantile of a numeric variable: one for each cell with its interval, or one without an error by a named method."""

from fractions import Fraction

from dalenius.core.rationals import rational
from dalenius.plans.order import HALF, OrderMethod, QuantileKeys, without_implied
from dalenius.spec.document import Exact
from dalenius.spec.method import FieldKind, FormField, Words, exact_texts, example
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile
from dalenius.translation import texts, translated

__all__ = ["QUANTILE"]


class ShareKeys(QuantileKeys):
    """Keys of a quantile: those of a median, and its share."""

    q: Exact = HALF


def _share(question: Question) -> Fraction:
    return rational(question.parameter("q"), "q")


QUANTILE = OrderMethod(
    name="quantile",
    ranks=lambda question: (_share(question),),
    statistic=lambda question: Quantile.of(question.domain, question.of, question.where, q=_share(question)),
    Parameters=ShareKeys,
    is_offered=False,
    form_fields={
        "q": FormField(kind=FieldKind.NUMBER, labels=texts("Share of records below it"), first="0.9", is_needed=True)
    },
    canonical_keys=lambda keys: exact_texts(without_implied(keys), "q"),
    # As the median where it is one.
    equivalent=lambda keys: None if "q" in keys else ("median", without_implied(keys)),
    words=translated(
        Words(
            title="Quantile {q} of {of}",
            preview="In a cell of {records} records, expect the interval of a quantile to reach {ranks} ranks to "
            "either side (95 %) through privacy noise: ± {error} if values are spread evenly between the bounds, and "
            "less where they are dense.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="quantile", of="income", q="9/10", epsilon=1),
        example(measure="quantile", of="income", q="1/4", method="cauchy", epsilon=1),
        example(measure="quantile", of="income", q="3/4", definition="individual", epsilon=1),
        example(measure="quantile", of="income", q="9/10", method="unbounded", epsilon=1),
        example(rows=["sex"], measure="quantile", of="income", q="1/4", method="exponential", epsilon=1),
    ),
)
