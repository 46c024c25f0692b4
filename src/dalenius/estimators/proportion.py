"""Share of rows that have a property."""

from fractions import Fraction

from dalenius.algebra.estimator import Estimator, Need, Quotient, Scale
from dalenius.algebra.sums import Sums


def _value(s: Sums) -> Quotient:
    return Quotient(s["x in"], s["1"])


PROPORTION = Estimator(
    name="proportion",
    degree=0,
    reads=(Need("1"), Need("x in")),
    value=_value,
    scale=Scale.SCORE,
    least=1,
    limits=lambda bounds: (Fraction(0), Fraction(1)),
    spread_share=Fraction(1, 10),
)
