"""Each kit fails on a planted fault: a kit that passes everything proves nothing."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.exponential_quantile import ExponentialQuantile
from dalenius.measurements.keyed_list import KeyedList
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.permute_and_flip import PermuteAndFlip
from dalenius.measurements.residual import Residual
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.quantile import Quantile
from dalenius.testing import measurement_kit, statistic_kit


class UnitTotals(MagnitudeTable):
    """A table of totals that claims the sensitivity of a count."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Too small: rows add numbers, not ones."""
        return Count(self.query).sensitivity(neighbours)


class RowsOnly(Count):
    """A count that forgets that a person has several rows."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Too small for persons."""
        return Count(self.query).sensitivity(replace(neighbours, max_rows=1))


class WrongPatterns(Count):
    """A count whose norms are right and whose patterns are not."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Misses the moves of one cell by two rows."""
        right = super().sensitivity(neighbours)
        return replace(right, patterns=tuple(p for p in right.patterns or () if max(p) == 1))


class SmallAtTheData(Quantile):
    """A quantile whose sensitivity at the data is one step too small."""

    def local(self, values: object, neighbours: Neighbours, group: int = 1) -> int:
        """Too small by one."""
        return max(super().local(values, neighbours, group) - 1, 0)  # type: ignore[arg-type]


class Unexampled(Count):
    """A count without examples."""

    examples = staticmethod(tuple)  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (UnitTotals, r"UnitTotals\(.*Sensitivity"),
        (RowsOnly, r"RowsOnly\(.*max_rows=2"),
        (WrongPatterns, r"\(2,\), Sensitivity"),
        (SmallAtTheData, r"SmallAtTheData\(.*'local'"),
        (Unexampled, "states no examples"),
    ],
)
def test_the_kit_of_statistics_catches(plant: type, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        statistic_kit.check(plant)


def halved(profile: PrivacyProfile) -> PrivacyProfile:
    """A claim that is too good."""
    epsilon, rho = profile.epsilon, profile.rho
    return PrivacyProfile(
        relation=profile.relation,
        epsilon=None if epsilon is None else epsilon / 2,
        rho=None if rho is None else rho / 4,
    )


class HalvedNoisy(Noisy):
    """Additive noise: the exact check finds it."""

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Half of the loss."""
        return halved(super().profile(neighbours))


class HalvedQuantile(ExponentialQuantile):
    """A selection: the drawn answers find it."""

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Half of the loss."""
        return halved(super().profile(neighbours))


class HalvedResidual(Residual):
    """Several numbers with noise of their own: the drawn answers find it along the difference of the means."""

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Half of the loss."""
        return halved(super().profile(neighbours))


class PersonlessTotals(ClippedTotals):
    """Totals that forget that a person has several rows."""

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Too small for persons."""
        return super().profile(replace(neighbours, max_rows=1))


class UnscaledLaplace(LocalLaplace):
    """Noise of the floor, whatever the data are."""

    def sensitivity(self, values: object) -> int:
        """Too small."""
        return 0


class SpeechlessSelection(PermuteAndFlip):
    """A step that fails on an empty file, which tells that it is empty."""

    def run(self, exact: Any, drawn: Any, rng: Any) -> Any:
        """Divides by the number of rows."""
        Fraction(1, int(exact[0].open_below_the_gate().sum()))
        return super().run(exact, drawn, rng)


class UnexampledList(KeyedList):
    """A list without examples."""

    examples = classmethod(lambda cls, neighbours: ())  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (HalvedNoisy, r"\(1,\), Fraction|the profile says"),
        (HalvedQuantile, "the profile says"),
        (HalvedResidual, "the profile says"),
        (PersonlessTotals, "the profile says"),
        (UnscaledLaplace, "the profile says"),
        (UnexampledList, "serves no example"),
    ],
)
def test_the_kit_of_measurements_catches(plant: type, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        measurement_kit.check(plant)


def test_the_kit_of_measurements_catches_a_content_without_an_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        measurement_kit.check(SpeechlessSelection)
