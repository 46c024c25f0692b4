"""Each kit fails on a planted fault: a kit that passes everything proves nothing."""

from dataclasses import replace

import pytest

from dalenius.core.neighbours import Neighbours
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.quantile import Quantile
from dalenius.testing import statistic_kit


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
