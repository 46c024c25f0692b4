"""Standard deviation: the root of the variance, and of the ends of its intervals."""

from fractions import Fraction

import numpy as np

from dalenius.algebra.estimator import Estimator, Need, Scale
from dalenius.estimators._variance import spread, variance

STANDARD_DEVIATION = Estimator(
    name="standard_deviation",
    degree=0,
    reads=(Need("1"), Need("x"), Need("x x")),
    value=variance,
    units={"x": 2},
    scale=Scale.LOG,
    least=2,
    # Two rows at both ends deviate by the width over the root of two.
    limits=lambda bounds: (Fraction(0), (bounds["x"].upper - bounds["x"].lower) * Fraction(7_071_068, 10**7)),
    clip=(0.0, np.inf),
    spread=spread,
    spread_share=Fraction(4, 25),
    cuts_bias=True,
    rows_below=2,
    is_root=True,
)
