"""What was measured in each cell, linear forms of it, and the sums that an estimator reads as dual numbers.

A form keeps one coefficient for each measured array, so that the noise of whatever is computed from several sums is
known with all its covariances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalenius.algebra.dual import Dual
from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.estimator import ROWS
from dalenius.core.law import Additive, FloatArray
from dalenius.core.release import Block
from dalenius.errors import InternalError

# Excess kurtosis of the noise: none for normal noise, that of the two-sided exponential law for any other.
_NORMAL, EXCESS = ("discrete_gaussian",), 3.0
# Standard deviation of noise, in its steps, from which on its law is as good as continuous.
_FEW_STEPS = 3
# Of the probability of each noise, what exact half-widths leave out; and the most numbers that are sorted for them.
_LEFT_OUT, _MOST_SORTED = 1e-5, 1 << 22


@dataclass(frozen=True, eq=False)
class MeasuredArrays:
    """Independent measured arrays over the same cells: values, variance and excess kurtosis of each, in steps."""

    values: FloatArray
    variance: FloatArray
    excess: FloatArray
    laws: tuple[Additive, ...] = ()

    @classmethod
    def of(cls, blocks: Sequence[Block], cells: int) -> "MeasuredArrays":
        """Every block over the shown cells; one over twice the cells gives two arrays."""
        values, laws = [], []
        for block in blocks:
            if not isinstance(block.law, Additive):
                raise InternalError("Sums are measured with additive noise.")
            arrays = block.values.astype(np.float64).reshape(cells, -1).T
            values += list(arrays)
            laws += [block.law] * len(arrays)
        return cls.under(np.array(values), laws)

    @classmethod
    def under(cls, values: FloatArray, laws: Sequence[Additive]) -> "MeasuredArrays":
        """A row of values for each law, over all cells."""
        variance = np.array([[law.noise.variance] for law in laws])
        excess = np.array([[0.0 if law.noise.name in _NORMAL else EXCESS] for law in laws])
        return cls(values, variance, excess, tuple(laws))

    @classmethod
    def normal(cls, values: FloatArray, variance: float) -> "MeasuredArrays":
        """One array with discrete Gaussian noise of a variance, where nothing but the variance is asked of its law."""
        return cls(values[None, :], np.full((1, 1), variance), np.zeros((1, 1)))

    def form(self, place: int) -> "Form":
        return self.combined(LinearForm.array(place))

    def combined(self, form: LinearForm) -> "Form":
        weights = np.zeros((len(self.values), 1))
        for place, weight in form.weights.items():
            weights[place] = float(weight)
        return Form(self, weights, np.array([float(form.constant)]))


@dataclass(frozen=True, eq=False)
class Form:
    """A weighted sum of measured arrays plus a constant; weights may differ from cell to cell."""

    measured: MeasuredArrays
    weights: FloatArray
    shift: FloatArray

    @property
    def values(self) -> FloatArray:
        return np.asarray((self.weights * self.measured.values).sum(axis=0) + self.shift, dtype=np.float64)

    @property
    def variance(self) -> FloatArray:
        return self.covariance(self)

    def covariance(self, other: "Form") -> FloatArray:
        return np.asarray((self.weights * other.weights * self.measured.variance).sum(axis=0))

    @property
    def fourth(self) -> FloatArray:
        return np.asarray((self.weights**4 * self.measured.variance**2 * self.measured.excess).sum(axis=0))

    def exact_half(self, confidence: float) -> FloatArray | None:
        """Half-width of the noise by its exact law, where one measured array takes part, or two whose noise is a few
        steps in a table that is not too large; None elsewhere.
        """
        (places,) = np.nonzero(np.any(self.weights != 0, axis=1))
        if not 1 <= len(places) <= 2 or not self.measured.laws:
            return None
        laws, weights = [self.measured.laws[place] for place in places], self.weights[places]
        if len(laws) == 1:
            return np.asarray(np.abs(weights[0]) * laws[0].half_width(confidence), dtype=np.float64)
        if max(law.noise.variance for law in laws) >= _FEW_STEPS**2:
            return None
        # What is left out counts as missed, so that it must be far less than what may be missed.
        left_out = min(_LEFT_OUT, (1 - confidence) / 8)
        (points, masses), (others, more) = (law.central(left_out) for law in laws)
        chances = np.multiply.outer(masses, more).ravel()
        if weights.shape[1] * len(chances) > _MOST_SORTED:
            return None
        one, two = weights[:, :, None, None]
        sizes = np.abs(one * points[:, None] + two * others).reshape(weights.shape[1], -1)
        order = np.argsort(sizes, axis=1)
        enough = np.argmax(np.cumsum(chances[order], axis=1) >= confidence, axis=1)
        every = np.arange(len(sizes))
        # A number that lies at the very end is inside.
        return np.asarray(sizes[every, order[every, enough]] * (1 + 1e-12))

    def plus(self, other: "Form", factor: FloatArray | float = 1.0) -> "Form":
        return Form(self.measured, self.weights + factor * other.weights, self.shift + factor * other.shift)

    def times(self, factor: FloatArray | float) -> "Form":
        return Form(self.measured, self.weights * factor, self.shift * factor)


class ResampledInfluences(Protocol):
    """Replicates of how far rows move a number, in parts of the largest influence."""

    def sampling(self, kind: str = "unbiased") -> FloatArray:
        """Variance of sampling."""

    def beside(self, confidence: float, error: FloatArray) -> FloatArray:
        """Half-widths of a normal error of this variance together with that of sampling."""


class Sums:
    """The sums of a law in every cell, by name, as duals; and what is public of them."""

    forms: Mapping[str, Form]
    places: Mapping[str, int]
    rows: int
    """By how much the sampling variance of independent rows is multiplied."""

    def __init__(self, law: EstimateLaw, measured: MeasuredArrays, forms: Mapping[str, Form] | None = None) -> None:
        """`forms` are the sums as forms of the measured arrays, as the law states them unless given."""
        self.law, self.measured = law, measured
        self.rows = law.rows_per_unit
        self.forms = forms or {name: measured.combined(form) for name, form in law.sums.items()}
        self.places = {name: place for place, name in enumerate(law.sums)}
        self.replicates: ResampledInfluences | None = None

    def __getitem__(self, name: str) -> Dual:
        """A sum about the centres of its variables; no number of rows where there are too few."""
        gradient = np.zeros((len(self.places), 1))
        gradient[self.places[name]] = 1.0
        values = self.forms[name].values
        if name == ROWS:
            values = np.where(values >= float(self.law.least), values, np.nan)
        return Dual(values, gradient)

    def centre(self, role: str) -> float:
        """What was taken off the values of a variable, in steps."""
        return float(self.law.centres.get(role, 0))

    def about_zero(self, role: str) -> Dual:
        """The total of a variable itself."""
        return self[role] + self.centre(role) * self[ROWS]

    def classes(self, role: str) -> list[Dual]:
        """Numbers of rows in classes of equal width."""
        names = (name for name in self.places if name.startswith(f"{role} in "))
        return [self[name] for name in sorted(names, key=lambda name: int(name.split()[-1]))]

    def middles(self, role: str) -> FloatArray:
        """Of these classes, in steps."""
        low, high = self.law.ends[role]
        many = len(self.classes(role))
        cuts = np.array([low + (high - low + 1) * k // many for k in range(many + 1)], dtype=np.float64)
        return np.asarray((cuts[1:] + cuts[:-1] - 1) / 2)

    def form(self, dual: Dual) -> Form:
        """The noise of a number, as a form of the measured arrays; its constant is left out."""
        names = list(self.places)
        weights = sum(dual.gradient[k] * self.forms[name].weights for k, name in enumerate(names))
        return Form(self.measured, np.asarray(weights), np.zeros(1))

    def noise(self, dual: Dual) -> FloatArray:
        return self.form(dual).variance

    def mean_product(self, first: str, second: str) -> Dual:
        """Product of two means about the centres, without the bias that the noise of the totals brings."""
        n = self[ROWS]
        bias = self.forms[first].covariance(self.forms[second]) / n.values**2
        return self[first] / n * (self[second] / n) - bias

    def bessel(self) -> FloatArray:
        """n / (n - 1), for n rows or as many as tell as much with their weights; no gradient.

        One where squared weights were not measured.
        """
        if self.law.weight is None:
            n = self[ROWS].values
            return np.asarray(n / (n - 1))
        return np.asarray(1 / (1 - 1 / np.maximum(self.records, 2.0)))

    def corrected(self, dual: Dual) -> Dual:
        """A number times n / (n - 1), whose errors are those of the number itself."""
        return Dual(self.bessel() * dual.values, dual.gradient)

    @property
    def records(self) -> FloatArray:
        """Rows of equal weight that would tell as much: their number, or the squared sum of weights over that of
        squares.
        """
        rows = self.forms[ROWS].values
        if self.law.weight is None:
            return rows
        squares = self.product(ROWS, ROWS)
        if squares is None:
            return np.full(1, np.inf)
        return np.asarray(np.maximum(rows, 1.0) ** 2 / np.maximum(squares.values, 1.0))

    def product(self, first: str, second: str) -> Form | None:
        """The sum of products of what rows add to two sums; None where it is not known."""
        name = product_of(first, second)
        if name is None:
            return self.measured.combined(LinearForm())
        if name in self.law.products:
            return self.measured.combined(self.law.products[name])
        return self.forms.get(name) if self.law.weight is None else None

    def squares(self, dual: Dual) -> Form | None:
        """The sum over rows of the square of what each adds to a number; None where it is not known."""
        gradient, total = dual.gradient, None
        names = [name for name in self.places if np.any(gradient[self.places[name]])]
        for i, first in enumerate(names):
            for second in names[i:]:
                product = self.product(first, second)
                if product is None:
                    return None
                factor = gradient[self.places[first]] * gradient[self.places[second]] * (1 if first == second else 2)
                total = product.times(factor) if total is None else total.plus(product, factor)
        return total


def product_of(first: str, second: str) -> str | None:
    """The sum of products of two sums, by its name; None where no row adds to both.

    >>> product_of("x", "y"), product_of("1", "x x"), product_of("x in", "x in"), product_of("x in 1", "x in 2")
    ('x y', 'x x', 'x in', None)
    """
    if ROWS in (first, second):
        return second if first == ROWS else first
    if " in" in first and " in" in second:
        return first if first == second else None
    return " ".join(sorted((*first.split(), *second.split())))
