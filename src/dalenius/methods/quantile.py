"""A quantile of a numeric variable: one for each cell with its interval, or one without an error by a named method."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.plans.order import OrderMethod, QuantileKeys, without_implied
from dalenius.spec.keys import HALF, ShareKey, one_share
from dalenius.spec.method import FieldKind, FormField, Words, exact_texts, example
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile
from dalenius.translation import texts, translated


class OneQuantileKeys(ShareKey, QuantileKeys):
    """Keys of a quantile: those of a median, and its share."""


def _as_median(keys: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    q = keys.get("q")
    if isinstance(q, list | tuple) or one_share(q) != HALF:
        return None
    return "median", without_implied({key: value for key, value in keys.items() if key != "q"})


def _share(question: Question) -> Fraction:
    return one_share(question.parameter("q"))


QUANTILE = OrderMethod(
    name="quantile",
    ranks=lambda question: (_share(question),),
    statistic=lambda question: Quantile.of(question.domain, question.of, question.where, q=_share(question)),
    Parameters=OneQuantileKeys,
    is_offered=False,
    form_fields={
        "q": FormField(kind=FieldKind.NUMBER, labels=texts("Share of records below it"), first="0.9", is_needed=True)
    },
    canonical_keys=lambda keys: exact_texts(without_implied(keys), "q"),
    # As the median where it is one.
    equivalent=_as_median,
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
