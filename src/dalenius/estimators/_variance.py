"""What a variance and its root share."""

from dalenius.algebra.dual import Dual
from dalenius.algebra.sums import Sums
from dalenius.core.law import FloatArray


def variance(s: Sums) -> Dual:
    """Without the bias that the noise of the total brings."""
    return (s["x x"] / s["1"] - s.mean_product("x", "x")) * s.bessel()


def spread(s: Sums, value: Dual) -> tuple[FloatArray, FloatArray] | None:
    """The fourth central moment less the squared variance, over the number of rows."""
    cubes, fourths = s.product("x", "x x"), s.product("x x", "x x")
    if cubes is None or fourths is None:
        return None
    n = s["1"].values
    mean, second = s["x"].values / n, s["x x"].values / n
    form = fourths.times(1 / n).plus(cubes, -4 * mean / n)
    central = form.values + 6 * mean**2 * second - 3 * mean**4
    return (central - value.values**2) / n, form.variance / n**2
