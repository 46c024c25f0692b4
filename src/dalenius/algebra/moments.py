"""Moments of each cell as linear forms of what was measured, and quantiles for sums of noise and sampling error.

Everything is known to whoever holds a release: measured values, their laws, and the public constants by which rows were
centred and shifted. A form keeps one coefficient for each measured array, so that the noise of whatever is computed
from several moments is known with all its covariances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dalenius.core.law import Additive, FloatArray
from dalenius.core.release import Block
from dalenius.errors import InternalError

# Excess kurtosis of the noise: none for normal noise, that of the two-sided exponential law for any other.
_NORMAL, _EXCESS = ("discrete_gaussian",), 3.0
_LEAST_DEGREES = 2.0
# A variance whose standard error is a larger share of it is hardly known: this times z standard errors is added to it.
_HARDLY_KNOWN, _ADDED = 0.6, 0.4


@dataclass(frozen=True, eq=False)
class Sums:
    """Independent measured arrays over the same cells: values, variance and excess kurtosis of each, in steps."""

    values: FloatArray
    variance: FloatArray
    excess: FloatArray
    laws: tuple[Additive, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], cells: int) -> "Sums":
        """Every block over the shown cells; one over twice the cells gives two arrays."""
        values, laws = [], []
        for block in blocks:
            if not isinstance(block.law, Additive):
                raise InternalError("Moments are measured with additive noise.")
            arrays = block.values.astype(np.float64).reshape(cells, -1).T
            values += list(arrays)
            laws += [block.law] * len(arrays)
        variance = np.array([law.noise.variance for law in laws])
        excess = np.array([0.0 if law.noise.name in _NORMAL else _EXCESS for law in laws])
        return cls(np.array(values), variance[:, None], excess[:, None], tuple(laws))

    @classmethod
    def normal(cls, values: FloatArray, variance: float) -> "Sums":
        """One array with discrete Gaussian noise of a variance, where nothing but the variance is asked of its law."""
        return cls(values[None, :], np.full((1, 1), variance), np.zeros((1, 1)), ())

    def form(self, place: int) -> "Form":
        weights = np.zeros((len(self.values), 1))
        weights[place] = 1.0
        return Form(self, weights, np.zeros(1))

    def constant(self, value: float) -> "Form":
        return Form(self, np.zeros((len(self.values), 1)), np.array([value]))


@dataclass(frozen=True, eq=False)
class Form:
    """A weighted sum of measured arrays plus a constant; weights may differ from cell to cell."""

    measured: Sums
    weights: FloatArray
    shift: FloatArray

    @property
    def values(self) -> FloatArray:
        return np.asarray((self.weights * self.measured.values).sum(axis=0) + self.shift, dtype=np.float64)

    @property
    def variance(self) -> FloatArray:
        """Of the noise."""
        return self.covariance(self)

    def covariance(self, other: "Form") -> FloatArray:
        return np.asarray((self.weights * other.weights * self.measured.variance).sum(axis=0))

    @property
    def fourth(self) -> FloatArray:
        """Fourth cumulant of the noise."""
        return np.asarray((self.weights**4 * self.measured.variance**2 * self.measured.excess).sum(axis=0))

    def exact_half(self, confidence: float) -> FloatArray | None:
        """Half-width of the noise by its exact law, where a single measured array takes part; None elsewhere."""
        (places,) = np.nonzero(np.any(self.weights != 0, axis=1))
        if len(places) != 1:
            return None
        half = self.measured.laws[places[0]].half_width(confidence)
        return np.asarray(np.abs(self.weights[places[0]]) * half, dtype=np.float64)

    def plus(self, other: "Form", factor: FloatArray | float = 1.0) -> "Form":
        """This form and a multiple of another."""
        return Form(self.measured, self.weights + factor * other.weights, self.shift + factor * other.shift)

    def times(self, factor: FloatArray | float) -> "Form":
        return Form(self.measured, self.weights * factor, self.shift * factor)


def reach(
    confidence: float,
    total: FloatArray,
    *,
    fourth: FloatArray,
    uncertainty: FloatArray | float = 0.0,
    sampling: FloatArray | float = 0.0,
    records: FloatArray | float = np.inf,
    is_student: bool = False,
) -> FloatArray:
    """Half-widths, in standard errors, for a sum of noise and sampling error of a variance that is itself estimated.

    Student's quantile at Satterthwaite's degrees of freedom (`uncertainty` is the variance of the estimated `total`
    variance, `sampling` the part of it that comes from that many `records`), widened by the first Cornish-Fisher term
    for the fourth cumulant of the noise. Where the estimated variance is hardly known (its standard error is more than
    three fifths of it), a multiple of that standard error is added to it instead: over every true variance and every
    uncertainty, of normal or Laplace noise, such intervals hold at least their level (tests/algebra/test_moments.py),
    and they are shorter than Student's. `is_student` leaves that out, where only the order of predicted widths matters
    and plans that were recorded must stay.
    """
    from scipy.special import stdtrit

    z = NormalDist().inv_cdf(0.5 + confidence / 2)

    def student(inverse: FloatArray) -> FloatArray:
        """The quantile at so many degrees of freedom, given by their inverse."""
        degrees = np.nan_to_num(np.maximum(1 / np.maximum(inverse, 1e-9), _LEAST_DEGREES), nan=_LEAST_DEGREES)
        return np.where(inverse < 1e-9, z, stdtrit(degrees, 0.5 + confidence / 2))

    with np.errstate(divide="ignore", invalid="ignore"):
        few = (sampling / total) ** 2 / np.maximum(records - 1, 1)
        quantile = student(uncertainty / (2 * total**2) + few)
        excess = np.minimum(fourth / total**2, _EXCESS)
        share = np.sqrt(uncertainty) / total
    if not is_student:
        quantile = np.where(share > _HARDLY_KNOWN, student(few) * np.sqrt(1 + _ADDED * z * share), quantile)
    return np.asarray(quantile * (1 + np.maximum(np.nan_to_num(excess), 0.0) * (z**2 - 3) / 24))
