"""Covariance of two numeric variables over the rows that have both, with the errors of noise and of sampling."""

from dalenius.methods._plan import ANOTHER, BOTH_ERRORS, AnswerKind, EstimateMethod
from dalenius.spec.method import Words, example
from dalenius.translation import translated

COVARIANCE = EstimateMethod(
    name="covariance",
    is_symmetric=True,
    answer=AnswerKind.NUMBER,
    is_offered=False,
    form_fields={"other": ANOTHER, **BOTH_ERRORS},
    words=translated(
        Words(
            title="Covariance of {of} and {other}",
            preview="In a cell of {records} records, expect the covariance to be off by about ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a covariance is missing where the released "
            "count or variances are too small.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="covariance", of="income", other="age", rho=20),
        example(measure="covariance", of="income", other="age", epsilon=20),
    ),
)
