"""Sums of third or fourth powers of each cell, on a coarse grid: what the sampling error of a variance needs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._bounded_sum import bounded_sum
from dalenius.statistics._example import Example, Rows, first_column, number

__all__ = ["PowerSum"]

# Half of the coarse grid: values are rounded to 1/512 of the way from the centre to the farther bound, and to less
# where the noise
# of their powers would be wider than is drawn.
GRID, COARSER = 512, (512, 128, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSum:
    """Sum of y^power over the values of each cell, y the value about the centre on a grid of 2 * grid + 1 points.

    Guarantee: a row adds a whole number in [-grid^3, grid^3] (third powers) or, shifted by half of the largest, in
    [-grid^4 / 2, grid^4 / 2] (fourth powers). Rounding is done row by row, before anything is summed.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_power_sum.py.
    """

    needs: tuple[ValuesQuery, ...]
    space: CellSpace
    centre: int
    half: int
    power: int = 4
    is_complete: bool = False
    grid: int = GRID

    def __post_init__(self) -> None:
        if self.power not in (3, 4) or self.half < 1:
            raise ParameterError("Power sums are of third or fourth powers, over bounds that differ.")

    @property
    def query(self) -> ValuesQuery:
        """The first cell's values; `needs` has them all."""
        return self.needs[0]

    @property
    def shift(self) -> int:
        """What is taken off each row's power."""
        return self.grid**4 // 2 if self.power == 4 and not self.is_complete else 0

    @property
    def _powers(self) -> list[int]:
        """What a row adds, by grid point."""
        return [y**self.power - self.shift for y in range(-self.grid, self.grid + 1)]

    def value(self, values: Sequence[int] | IntArray) -> int:
        """The sum over one list."""
        listed = np.asarray(values, dtype=np.int64)
        # Lists come sorted: values that follow each other in one are counted at once.
        ends = np.append(np.flatnonzero(listed[1:] != listed[:-1]), len(listed) - 1)[: len(listed)]
        about, sizes = listed[ends] - self.centre, np.diff(ends, prepend=-1)
        coarse = np.clip((2 * self.grid * about + self.half) // (2 * self.half), -self.grid, self.grid)
        counts = np.zeros(2 * self.grid + 1, dtype=np.int64)
        np.add.at(counts, coarse + self.grid, sizes)
        return sum(int(count) * added for count, added in zip(counts.tolist(), self._powers, strict=True) if count)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """The sum of every cell, cut to what fits."""
        zeros = set(self.space.structural_indices)
        sums = [0 if place in zeros else self.value(values) for place, values in enumerate(exact)]
        fitting: IntArray = np.clip(np.array(sums, dtype=object), -(2**62), 2**62).astype(np.int64)
        return fitting

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """From what a row can add."""
        return bounded_sum(
            neighbours,
            cells=self.space.size - len(self.space.structural_zeros),
            low=min(self._powers),
            high=max(self._powers),
            is_complete=self.is_complete,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Third and fourth powers of one list."""

        def example(power: int) -> Example:
            statistic = cls(needs=(ValuesQuery(value="x"),), space=CellSpace(()), centre=1, half=2, power=power)

            def released(rows: Rows) -> list[int]:
                return [statistic.value(*first_column(rows))]

            return Example(
                statistic=statistic,
                variables=number(-1, 3, missing="0"),
                rows=((-1,), (1,), (2,), (3,)),
                released=released,
            )

        return (example(3), example(4))
