"""Standard deviation of a numeric variable in each cell, with the errors of noise and of sampling."""

from dalenius.methods._plan import BOTH_ERRORS, EstimateMethod
from dalenius.spec.method import Words, example
from dalenius.translation import translated

STANDARD_DEVIATION = EstimateMethod(
    name="standard_deviation",
    form_fields=BOTH_ERRORS,
    words=translated(
        Words(
            title="Standard deviation of {of}",
            preview="In a cell of {records} records, expect the standard deviation to be off by about ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a standard deviation is missing where the "
            "released count is below two.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="standard_deviation", of="income", rho=2),
        example(measure="standard_deviation", of="income", error="noise", epsilon=2),
    ),
)
