"""Mean: the total of a variable over the number of rows."""

from fractions import Fraction

from dalenius.algebra.estimator import Estimator, Need, Quotient
from dalenius.algebra.sums import Sums


def _value(s: Sums) -> Quotient:
    return Quotient(s["x"], s["1"])


MEAN = Estimator(
    name="mean",
    degree=0,
    reads=(Need("1"), Need("x")),
    value=_value,
    units={"x": 1},
    is_location=True,
    least=1,
    limits=lambda bounds: (bounds["x"].lower, bounds["x"].upper),
    spread_share=Fraction(1, 10),
)
