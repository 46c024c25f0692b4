"""Correlation of two numeric variables over the rows that have both, with the errors of noise and of sampling."""

from dalenius.methods._plan import ANOTHER, BOTH_ERRORS, AnswerKind, EstimateMethod
from dalenius.spec.method import Words, example
from dalenius.translation import translated

CORRELATION = EstimateMethod(
    name="correlation",
    is_symmetric=True,
    answer=AnswerKind.NUMBER,
    is_offered=False,
    form_fields={"other": ANOTHER, **BOTH_ERRORS},
    words=translated(
        Words(
            title="Correlation of {of} and {other}",
            preview="In a cell of {records} records, expect the correlation to be off by about ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a correlation is missing where the released "
            "count or variances are too small.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="correlation", of="income", other="age", rho=20),
        example(measure="correlation", of="income", other="age", epsilon=20),
    ),
)
