"""Ratio of the totals of two variables over the rows that have both."""

from fractions import Fraction

from dalenius.algebra.estimator import Estimator, Need, Quotient
from dalenius.algebra.sums import Sums


def _value(s: Sums) -> Quotient:
    return Quotient(s["x"], s["y"])


RATIO = Estimator(
    name="ratio",
    degree=0,
    reads=(Need("x", is_raw=True), Need("y", is_raw=True)),
    value=_value,
    units={"x": 1, "y": -1},
    limits=lambda bounds: (Fraction(0) if bounds["x"].low >= 0 else "-inf", "inf"),
    spread_share=Fraction(1, 5),
)
