"""Selection with a scale taken from the data: exact argmax, the guarantee on exhaustive tables."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.measurements.derived_laws import first_heads

from dalenius.audit import sensitivity as brute
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.exact.ideal_rounding import LazyUniform, exponential
from dalenius.measurements.data_dependent_selection import DataDependentSelection, noisy_argmax
from dalenius.measurements.permute_and_flip import PermuteAndFlip
from dalenius.statistics.magnitude_table import MagnitudeTable

F = Fraction
SPACE = CellSpace((Axis(variable="g", labels=("a", "b", "c"), codes=(0, 1, 2)),))
QUERY = TableQuery(space=SPACE, function=RowFunction.of(Power("x")))
TABLE = MagnitudeTable(query=QUERY, low=-1, high=4)


def neighbours(relation=Relation.REPLACE, scope=Scope.OBSERVED_ROWS):
    return Neighbours(relation=relation, scope=scope)


def step(relation=Relation.REPLACE, scope=Scope.OBSERVED_ROWS):
    return DataDependentSelection(name="largest", statistic=TABLE, epsilon=F(1), neighbours=neighbours(relation, scope))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("scope", [Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS])
def test_largest_change_covers_every_neighbour(relation, scope):
    measurement = step(relation, scope)
    everything = tuple(product(range(-1, 3), (-1, 0, 4)))
    for data in list(brute.multisets(everything, 2))[::2]:
        own = [[v for c, v in data if c == cell] for cell in range(3)]
        stated = measurement.largest_change([min(o, default=4) for o in own], [max(o, default=-1) for o in own])

        def totals(rows):
            return TABLE.value([c for c, _ in rows], [v for _, v in rows])

        if scope is Scope.ACTUAL_DATA:
            pairs = [(data, d) for d in brute.neighbours_of(data, everything, relation)]
        else:
            rows = sorted(set(data))
            pairs = [(d, e) for d in brute.multisets(rows, 2) for e in brute.neighbours_of(d, rows, relation)]
        found = max(max(abs(a - b) for a, b in zip(totals(d), totals(e), strict=True)) for d, e in pairs)
        assert found <= stated


@pytest.mark.statistical
def test_noisy_argmax_is_permute_and_flip():
    """6,000 draws at a fixed seed against the exact probabilities; six standard errors."""
    flip = PermuteAndFlip("m", QUERY, F(1), Neighbours(relation=Relation.REPLACE))
    rng, n, scores = RecordedRandomness("argmax"), 6000, (3, 5, 4)
    seen = np.zeros(3)
    for _ in range(n):
        drawn = [exponential(LazyUniform(rng)) for _ in scores]
        seen[noisy_argmax(scores, drawn, F(2))] += 1
    expected = np.array(first_heads(float(flip.rate), scores))
    assert np.all(np.abs(seen / n - expected) < 6 * np.sqrt(expected / n))


def test_run():
    measurement, rng = step(), RecordedRandomness("run")
    exact = tuple(Sealed(np.array(v, dtype=np.int64)) for v in ([0, 400, 3], [0, -1, 1], [4, 4, 2]))
    outcome = measurement.run(exact, measurement.draw(rng), rng)
    assert outcome.values.tolist() == [1]
    assert measurement.block(outcome).law.kind == "withheld"


def test_scopes_are_kept_apart():
    assert step().profile(neighbours()).epsilon == 1
    with pytest.raises(Unsupported):
        step().profile(neighbours(scope=Scope.ALL_DATA))
    with pytest.raises(Unsupported):
        step().profile(neighbours(scope=Scope.ACTUAL_DATA))
    with pytest.raises(Unsupported):
        step(scope=Scope.ALL_DATA)


def test_scores_that_are_nearly_equal_are_told_apart_at_a_higher_precision():
    """They differ in the 200th binary digit; the first look has 192."""

    def exactly(value):
        return lambda bits: (value * 2**bits // 1, value * 2**bits // 1 + 1)

    third = F(1, 3)
    for smaller, larger in ((0, 1), (1, 0)):
        drawn = [exactly(third), exactly(third)]
        drawn[larger] = exactly(third + F(1, 2**200))
        assert noisy_argmax([4, 4], drawn, F(1)) == larger != smaller
