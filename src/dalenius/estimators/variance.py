"""Variance: the sum of squared deviations from the mean over the number of rows less one."""

from fractions import Fraction

import numpy as np

from dalenius.algebra.estimator import Estimator, Need, Scale
from dalenius.estimators._variance import spread, variance

VARIANCE = Estimator(
    name="variance",
    degree=0,
    reads=(Need("1"), Need("x"), Need("x x")),
    value=variance,
    units={"x": 2},
    scale=Scale.LOG,
    least=2,
    limits=lambda bounds: (Fraction(0), (bounds["x"].upper - bounds["x"].lower) ** 2 / 2),
    clip=(0.0, np.inf),
    spread=spread,
    spread_share=Fraction(4, 25),
    cuts_bias=True,
    rows_below=2,
)
