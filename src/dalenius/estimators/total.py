"""Total of a variable; with weights the expansion estimator, whose number of rows is part of the error of sampling."""

from fractions import Fraction

from dalenius.algebra.dual import Dual
from dalenius.algebra.estimator import Estimator, Need
from dalenius.algebra.sums import Sums


def _value(s: Sums) -> Dual:
    return s["x"]


TOTAL = Estimator(
    name="total", degree=1, reads=(Need("x", is_raw=True),), value=_value, units={"x": 1}, spread_share=Fraction(1, 10)
)
