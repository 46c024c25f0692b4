"""A table of totals with noise scaled to the values that occur: bootstrap differential privacy.

Guarantee
    For any two neighbouring data sets made of rows of D (and of declared further values) only, with the noise fixed at
    D, the odds of any table differ by at most exp(epsilon); `gaussian` gives rho-zCDP between the same pairs.
Requires
    One row to a unit; a public floor of at least one step; the option and the membership named by the custodian
    beforehand. With V_i the range of values in cell i (zero among them where a value can drop out: a missing value or
    one outside the bounds without a replacement, a condition) and M_i the largest |x| there:

    option      membership   scale of cell i (Laplace, replace)       add-remove
    one         private      max(max V, M_1 + M_2) / epsilon          max M / epsilon
    one         public       max V / epsilon                          refused
    per_cell    private      2 M_i / epsilon                          M_i / epsilon
    per_cell    public       V_i / epsilon                            refused
Noise
    Discrete Laplace (or Laplace or normal noise, rounded exactly) drawn without a table, on the declared step; the
    scale is withheld, and a zero sensitivity takes the floor.
Evidence
    The definition is met: proved, and exhaustive on tiny data. It protects nobody outside D. Opened by the policy only.
References
    O'Keefe & Charest (2018) 5.2: options (i), (ii), (iii), with the scales corrected for private membership.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray, Withheld
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import sqrt_upper
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.ideal_rounding import rounded, rounded_laplace, saturated, scaled_laplace, unit_laplace, unit_normal
from dalenius.measurements._example import TOTALS, MeasurementExample, on_cells
from dalenius.measurements._steps import ExtremesStep, RoundedNoise
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership


class Option(StrEnum):
    """One scale for the whole table, (i); or one for each cell, (ii) with private and (iii) with public membership."""

    ONE = "one"
    PER_CELL = "per_cell"


@dataclass(frozen=True, kw_only=True)
class BootstrapTotals(ExtremesStep):
    name: str
    statistic: MagnitudeTable
    neighbours: Neighbours
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    option: Option = Option.ONE
    membership: Membership = Membership.PRIVATE
    floor: int = 1
    declared: tuple[int, ...] = ()
    is_discrete: bool = True
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.NONE,
        references=("O'Keefe & Charest (2018), Result 11, corrected",),
        assumptions=("protects a record only among the values that occur in the data",),
    )

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError("Give epsilon (discrete Laplace noise) or rho (normal noise), not both.")
        if self.floor < 1:
            raise ParameterError("The floor of a data-dependent scale is at least one step.", name="floor")
        if self.neighbours.max_rows > 1:
            raise Unsupported("Bootstrap sensitivities are for one row to a unit.")
        if self.membership is Membership.PUBLIC and not self.neighbours.is_replace:
            raise Unsupported("Public membership of cells fixes their sizes: use replace.")
        if any(not self.statistic.low <= v <= self.statistic.high for v in self.declared):
            raise ParameterError("Declared values must lie inside the declared bounds.", name="declared")

    @property
    def law(self) -> Withheld:
        """Withheld; whether zero is among the values is declared, and two different scales have two different laws."""
        also = ", with zero among them" if self.membership is Membership.PUBLIC and self.statistic.fallen else ""
        return Withheld(f"The scale of the noise follows the largest values of the confidential data{also}.")

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Within the data; refused for any other scope, which this step does not protect."""
        if neighbours.scope is not Scope.OBSERVED_ROWS or neighbours.relation is not self.neighbours.relation:
            raise Unsupported(
                "Noise scaled to the values that occur is private within the data only; it is no differential privacy."
            )
        return PrivacyProfile(relation=neighbours.relation, epsilon=self.epsilon, rho=self.rho, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> list[Any]:
        cells = range(self.statistic.query.space.size)
        return [unit_laplace(rng) if self.rho is None else unit_normal(rng) for _ in cells]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        totals, minima, maxima = (sealed.open_below_the_gate() for sealed in exact)
        noise = [self._noise(z, s) for z, s in zip(drawn, self.scales(minima, maxima), strict=True)]
        values = [saturated(int(t) + e) for t, e in zip(totals, noise, strict=True)]
        answer = np.array(values, dtype=np.int64)
        answer[list(self.statistic.query.space.structural_indices)] = 0
        return Value(answer)

    def _noise(self, drawn: Any, scale: Fraction) -> int:
        if self.rho is not None:
            return rounded(Fraction(0), scale, drawn)
        return scaled_laplace(drawn, scale) if self.is_discrete else rounded_laplace(drawn, scale)

    def scales(self, minima: Sequence[int] | IntArray, maxima: Sequence[int] | IntArray) -> list[Fraction]:
        """Scale of every cell from the smallest and largest values: exact, confidential."""
        bottoms, tops = np.asarray(minima, dtype=np.int64), np.asarray(maxima, dtype=np.int64)
        occupied = (bottoms <= tops).astype(np.int64)
        whole, ranges, largest = MagnitudeTable.from_extremes(
            occupied, bottoms, tops, self.membership, (*self.declared, *self.statistic.fallen)
        )
        first, second = (*sorted(largest, reverse=True), 0, 0)[:2]
        is_public = self.membership is Membership.PUBLIC
        if self.rho is not None:
            return self._normal_scales(ranges, largest, first * first + second * second)
        assert self.epsilon is not None
        if not self.neighbours.is_replace:
            sizes = [first] * len(largest) if self.option is Option.ONE else largest
        elif self.option is Option.ONE:
            sizes = [whole] * len(largest)
        else:
            sizes = ranges if is_public else [2 * m for m in largest]
        return [max(self.floor, size) / self.epsilon for size in sizes]

    def _normal_scales(self, ranges: list[int], largest: list[int], two_cells: int) -> list[Fraction]:
        """Standard deviations: a move by d_i in cell i costs sum d_i^2 / (2 s_i^2) <= rho."""
        assert self.rho is not None
        if not self.neighbours.is_replace:
            squares = [m * m for m in largest]
            squares = [max(squares, default=0)] * len(squares) if self.option is Option.ONE else squares
        elif self.membership is Membership.PUBLIC:
            squares = [r * r for r in ranges]
            squares = [max(squares, default=0)] * len(squares) if self.option is Option.ONE else squares
        elif self.option is Option.ONE:
            squares = [max(two_cells, *(r * r for r in ranges))] * len(ranges)
        else:
            squares = [max(2 * m * m, r * r) for m, r in zip(largest, ranges, strict=True)]
        return [sqrt_upper(max(self.floor**2, s) / (2 * self.rho)) for s in squares]

    def block(self, outcome: Value) -> Block:
        space = self.statistic.query.space
        return Block(name=self.name, space=space, values=outcome.values, law=self.law)

    def exact_law_at(self, content: Sequence[Any], at: Sequence[Any]) -> ExactLaw:
        """Totals plus noise of the scales that `at` sets. Guard: tests/measurements/test_bootstrap_totals.py."""
        structural, is_normal = set(self.statistic.query.space.structural_indices), self.rho is not None
        laws = [
            DiscreteLaplace(1 / scale) if self.is_discrete and not is_normal else RoundedNoise(scale, is_normal)
            for scale in self.scales(*at[1:])
        ]
        places = range(len(laws))
        numbers = [0 if place in structural else int(content[0][place]) for place in places]
        return (Noised(numbers, [None if place in structural else laws[place] for place in places]),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        def example(epsilon: Fraction | None, rho: Fraction | None) -> MeasurementExample:
            step = cls(name="totals", statistic=TOTALS, neighbours=neighbours, epsilon=epsilon, rho=rho)
            return on_cells(step, run_at=step.run_at)

        return example(Fraction(2), None), example(None, Fraction(1, 2))
