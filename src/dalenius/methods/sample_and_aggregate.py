"""One parameter of a model, by sample and aggregate: the model is fitted to random blocks, and what the blocks say is
put together.

Works for any model whose estimate is nearly normal in each block, also where no sums say all about it; where sums do,
they are better (`measure = "mean"`, `"variance"`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from dalenius.measurements.blocks.models import MODELS
from dalenius.plans.blocks import plan_blocks
from dalenius.spec.document import Exact, Name, Whole, usual
from dalenius.spec.keys import ClipKey, ErrorKey, ModelKey
from dalenius.spec.method import WHICH_ERROR, AnswerKind, FieldKind, FormField, Method, Words, exact_texts, example
from dalenius.translation import texts, translated

# What a form calls the models; a function of the custodian's own is not for forms.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "beta": texts("first shape of a beta distribution"),
    "exponential": texts("rate of an exponential distribution"),
    "gamma": texts("shape of a gamma distribution"),
    "gaussian_mean": texts("mean"),
    "gaussian_variance": texts("variance"),
    "huber": texts("location by Huber"),
    "logistic": texts("coefficient of a logistic regression"),
    "logistic_intercept": texts("intercept of a logistic regression"),
    "logit": texts("log odds"),
    "median": texts("median"),
    "mixture_lower_deviation": texts("mixture of two normal distributions: deviation of the lower one"),
    "mixture_lower_mean": texts("mixture of two normal distributions: mean of the lower one"),
    "mixture_upper_deviation": texts("mixture of two normal distributions: deviation of the upper one"),
    "mixture_upper_mean": texts("mixture of two normal distributions: mean of the upper one"),
    "mixture_upper_share": texts("mixture of two normal distributions: share of the upper one"),
    "poisson": texts("mean of counts"),
}
_FIELDS: Mapping[str, FormField] = {
    "model": FormField(
        kind=FieldKind.CHOICE, labels=texts("Model"), first="gaussian_mean", is_needed=True, choices=_NAMES
    ),
    "clip": FormField(kind=FieldKind.ENDS, labels=texts("The parameter lies between"), is_needed=True),
    "predictors": FormField(kind=FieldKind.VARIABLES, labels=texts("Predictors of a logistic regression")),
    "blocks": FormField(kind=FieldKind.WHOLE, labels=texts("Blocks"), first="40"),
    "aggregate": FormField(
        kind=FieldKind.CHOICE,
        labels=texts("Put together by"),
        usual="mean",
        first="mean",
        choices={
            "mean": texts("the mean of the blocks"),
            "median": texts("the median of the blocks"),
            "winsorised": texts("a mean that is cut at the ends"),
        },
    ),
    "error": replace(WHICH_ERROR, first="sampling"),
}


class SampleAndAggregateParameters(ErrorKey, ClipKey, ModelKey):
    """Keys of sample and aggregate: the model, the range of its parameter, and how blocks are made and put together."""

    naming: ClassVar[tuple[str, ...]] = ("predictors",)

    blocks: Whole | None = usual(None, "Into how many blocks the records are parted.")
    aggregate: Literal["mean", "median", "winsorised"] = usual("mean", "How the estimates of blocks are put together.")
    correction: Literal["analytic", "firth", "jackknife", "none"] | None = usual(
        None, "How the bias of a block's estimate is taken away; analytic where the model has a formula."
    )
    predictors: tuple[Name, ...] = usual(
        (),
        "The numeric variables by which a logistic regression explains the outcome; the first one's coefficient is "
        "estimated.",
    )
    function: Name | None = usual(None, "Name and digest of a function of the custodian's own program.")
    seconds: Exact | None = usual(None, "How long a function runs for each block, whatever it does; 1 unless written.")


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Ends as exact texts; Firth's correction is the analytic one of the models that have it."""
    canonical, model = exact_texts(keys, "clip"), MODELS.get(str(keys.get("model")))
    if canonical.get("correction") == "firth" and model is not None and model.is_firth:
        canonical["correction"] = "analytic"
    return canonical


SAMPLE_AND_AGGREGATE = Method(
    name="sample_and_aggregate",
    plan=plan_blocks,
    is_offered=False,
    is_one_number=True,
    form_fields=_FIELDS,
    answer=AnswerKind.NUMBER,
    Parameters=SampleAndAggregateParameters,
    words=translated(
        Words(
            title="Parameter of {of} by sample and aggregate",
            preview="From {records} blocks of the records, expect the estimate to be off by at most ± {error} (95 %) "
            "through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}; the error with sampling comes from how far "
            "the blocks differ.",
        )
    ),
    examples=(
        example(
            measure="sample_and_aggregate", of="income", model="exponential", clip=["0.01", 1], blocks=9, epsilon=4
        ),
        example(
            measure="sample_and_aggregate", of="age", model="huber", clip=[0, 100], blocks=9, aggregate="median", rho=1
        ),
        example(
            measure="sample_and_aggregate",
            of="income",
            model="gaussian_variance",
            clip=[1, 1000],
            blocks=40,
            aggregate="winsorised",
            correction="jackknife",
            epsilon=60,
        ),
        example(measure="sample_and_aggregate", of="age", model="mixture_upper_mean", clip=[0, 100], blocks=4, rho=2),
        example(
            measure="sample_and_aggregate",
            of="income",
            model="logistic",
            predictors=["age", "weight"],
            clip=[-1, 1],
            blocks=3,
            error="noise",
            epsilon=4,
        ),
        example(
            measure="sample_and_aggregate",
            of="age",
            model="mixture_upper_share",
            clip=[0, 1],
            blocks=3,
            correction="jackknife",
            error="noise",
            epsilon=4,
        ),
    ),
    canonical_keys=_canonical,
)
