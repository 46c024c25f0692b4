"""The price of tiny neighbours through the engine and everything that a plan measures, by brute force."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dalenius.core.domain import Domain
from dalenius.core.law import FloatArray
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Table, Value
from dalenius.engines.memory import MemorySource

Row = Mapping[str, Any]


def largest_price(plan: TablePlan, domain: Domain, rows: Sequence[Row], beside: Sequence[Row] = ()) -> float:
    """The largest rho between tiny neighbours that differ in one of these rows, beside some others, for Gaussian noise.

    What one row adds to everything that leaves the gate is taken without noise; the covariance of the noise follows
    from the variances of the integer draws, through the steps themselves.
    """
    steps = [_Step(measurement, domain) for measurement in plan.measurements]
    moved = [[step.values([*beside, row]) - step.values(beside) for step in steps] for row in rows]
    if plan.neighbours.is_replace:
        moved = [[a - b for a, b in zip(first, second, strict=True)] for first, second in combinations(moved, 2)]
    return max(sum(step.price(change) for step, change in zip(steps, changes, strict=True)) for changes in moved)


def silent_tables(plan: TablePlan, domain: Domain, rows: Sequence[Row]) -> tuple[Table, ...]:
    """What the plan would show of these rows if all noise were 0."""
    blocks = []
    for measurement in plan.measurements:
        blocks.append(measurement.block(Value(_Step(measurement, domain).values(rows).astype(np.int64))))
    return plan.assemble(tuple(blocks))


class _Step:
    """One measurement, run with noise of our choice."""

    def __init__(self, measurement: Any, domain: Domain) -> None:
        self.measurement, self.domain = measurement, domain
        self.drawn = measurement.draw(RecordedRandomness("shape"))
        parts = self.drawn if isinstance(self.drawn, list) else [self.drawn]
        self.silent = [np.zeros(part.size, dtype=np.int64) for part in parts]

    @cached_property
    def precision(self) -> FloatArray:
        """Inverse of the covariance of the noise that leaves the gate."""
        columns, variances = [], []
        sizes = [len(part) for part in self.silent]
        for part, variance in enumerate(self._variances(len(sizes))):
            for cell in range(sizes[part]):
                noise = [zero.copy() for zero in self.silent]
                noise[part][cell] = 1
                columns.append(self._run([], noise) - self._run([], self.silent))
                variances.append(variance)
        through = np.array(columns).T
        return np.asarray(np.linalg.pinv(through @ np.diag(variances) @ through.T, hermitian=True), dtype=np.float64)

    def _variances(self, parts: int) -> list[float]:
        grid = getattr(self.measurement, "grid", None)
        if grid is not None:
            return [float(variance) for variance in grid.values()]
        assert parts == 1
        return [self.measurement.law.noise.variance]

    def _run(self, rows: Sequence[Row], noise: list[Any]) -> FloatArray:
        source = MemorySource(self.domain, {n: [row[n] for row in rows] for n in self.domain.variables}, b"x")
        exact = tuple(source.table(need) for need in self.measurement.needs)
        given = noise if isinstance(self.drawn, list) else noise[0]
        outcome = self.measurement.run(exact, given, RecordedRandomness("none"))
        assert isinstance(outcome, Value)
        return np.asarray(outcome.values, dtype=np.float64)

    def values(self, rows: Sequence[Row]) -> FloatArray:
        """What leaves the gate, without noise."""
        return self._run(rows, self.silent)

    def price(self, change: FloatArray) -> float:
        """Half of the squared length of a change, in units of the noise."""
        return float(change @ self.precision @ change) / 2
