"""Covariance: the sum of products of deviations from both means over the number of rows less one."""

from collections.abc import Mapping

from dalenius.algebra.dual import Dual
from dalenius.algebra.estimator import End, Estimator, Need
from dalenius.algebra.sums import Sums
from dalenius.core.domain import Bounds


def _value(s: Sums) -> Dual:
    return s.corrected(s["x y"] / s["1"] - s.mean_product("x", "y"))


def _limits(bounds: Mapping[str, Bounds]) -> tuple[End, End]:
    largest = (bounds["x"].upper - bounds["x"].lower) * (bounds["y"].upper - bounds["y"].lower) / 2
    return -largest, largest


COVARIANCE = Estimator(
    name="covariance",
    degree=0,
    # Squares are not part of the number; a normal law is fitted to them by `dalenius infer`.
    reads=(Need("1"), Need("x"), Need("y"), Need("x x"), Need("y y"), Need("x y")),
    value=_value,
    units={"x": 1, "y": 1},
    least=2,
    limits=_limits,
    cuts_bias=True,
    rows_below=2,
)
