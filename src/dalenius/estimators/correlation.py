"""Correlation: the covariance of two variables over the root of both variances."""

from fractions import Fraction

import numpy as np

from dalenius.algebra.dual import Dual, sqrt
from dalenius.algebra.estimator import Estimator, Need, Quotient, Scale
from dalenius.algebra.sums import Sums


def _variances(s: Sums) -> tuple[Dual, ...]:
    return tuple(s[f"{role} {role}"] / s["1"] - s.mean_product(role, role) for role in ("x", "y"))


def _value(s: Sums) -> Quotient:
    x, y = (Dual(np.where(one.values > 0, one.values, np.nan), one.gradient) for one in _variances(s))
    return Quotient(s["x y"] / s["1"] - s.mean_product("x", "y"), sqrt(x * y))


CORRELATION = Estimator(
    name="correlation",
    degree=0,
    reads=(Need("1"), Need("x"), Need("y"), Need("x x"), Need("y y"), Need("x y")),
    value=_value,
    scale=Scale.FISHER,
    guards=_variances,
    clip=(-1.0, 1.0),
    least=2,
    limits=lambda bounds: (Fraction(-1), Fraction(1)),
    cuts_bias=True,
)
