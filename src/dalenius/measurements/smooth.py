"""An order statistic with noise scaled to its smooth sensitivity, under plain differential privacy.

Guarantee
    epsilon-DP (Cauchy, Lomax, polynomial, Student) or (epsilon^2/2)-zCDP (Laplace-log-normal): the release is
    round(f + scale * S * Z), an exact rounding of the ideal real mechanism.
Requires
    A statistic whose `smooth` is at least its local sensitivity everywhere and beta-smooth, for the same relation; one
    row to a unit; a public floor of S (one step).
Noise
    Heavy tails. The scale depends on the data and is withheld; the answer is cut to the declared bounds.
Evidence
    Proved (constants of `exact.smooth_noise`); exact loss on a fine grid and on exhaustive neighbours in tests.
References
    Nissim, Raskhodnikova & Smith (2007); Bun & Steinke (2019); Soria-Comas et al. (2017) 6.1, with tight constants.

For quantiles the exponential mechanism is more accurate nearly everywhere; see `grid_selection`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed
from dalenius.core.law import IntArray, Withheld
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.exact.ideal_rounding import rounded, saturated
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.smooth_noise import Cauchy, SmoothNoise
from dalenius.measurements._example import MEDIAN, MeasurementExample, on_values
from dalenius.measurements._steps import StatisticStep
from dalenius.statistics import OrderStatistic


@dataclass(frozen=True, kw_only=True)
class Smooth(StatisticStep):
    name: str
    statistic: OrderStatistic
    noise: SmoothNoise
    neighbours: Neighbours
    evidence: ClassVar[Evidence] = Evidence(
        Level.PROVED, ("Nissim, Raskhodnikova & Smith (2007)", "docs/explanation/errata.md")
    )

    def __post_init__(self) -> None:
        if self.neighbours.max_rows > 1:
            raise Unsupported("Smooth sensitivities are stated for one row to a unit.")
        # Refusals come before data are read: an empty list shows whether the statistic is served at all.
        base = rational_base(self.noise.beta)
        self.statistic.smooth(np.array([], dtype=np.int64), base, self.neighbours)

    @property
    def law(self) -> Withheld:
        return Withheld("The scale of the noise follows the smooth sensitivity of the confidential data.")

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        if neighbours.relation is not self.neighbours.relation or neighbours.max_rows > 1:
            raise Unsupported("This step was planned for another neighbouring relation.")
        epsilon = self.noise.epsilon
        if self.noise.is_pure:
            return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, evidence=self.evidence)
        return PrivacyProfile(relation=neighbours.relation, rho=epsilon**2 / 2, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> Any:
        return self.noise.draw(rng)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        values = exact[0].open_below_the_gate()
        size = self.statistic.smooth(values, rational_base(self.noise.beta), self.neighbours)
        centre = Fraction(self.statistic.value(values))
        answer = saturated(rounded(centre, size * self.noise.scale, drawn))
        low, high = self.statistic.low * self.statistic.unit, self.statistic.high * self.statistic.unit
        return Value(np.array([max(low, min(high, answer))], dtype=np.int64))

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every answer, by the noise's distribution function. Guard: tests/measurements/test_smooth.py."""
        low, high = self.statistic.low * self.statistic.unit, self.statistic.high * self.statistic.unit
        size = self.statistic.smooth(content[0], rational_base(self.noise.beta), self.neighbours)
        centre, scale = self.statistic.value(content[0]), float(size * self.noise.scale)
        edges = [(k + 0.5 - centre) / scale for k in range(low, high)]
        below = [0.0, *(self.noise.distribution(z) for z in edges), 1.0]
        above = [1.0, *(self.noise.distribution(-z) for z in edges), 0.0]
        tails = zip(below, below[1:], above, above[1:], strict=False)
        masses = [b - a if a < 0.5 else c - d for a, b, c, d in tails]
        return (Listed.of(zip(((k,) for k in range(low, high + 1)), masses, strict=True)),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        noise = Cauchy(Fraction(1), Fraction(1, 2))
        return (on_values(cls(name="median", statistic=MEDIAN, noise=noise, neighbours=neighbours)),)
