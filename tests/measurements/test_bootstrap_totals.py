"""Bootstrap totals: every option keeps its guarantee on exhaustive tables, and the published scales do not."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.bootstrap_totals import BootstrapTotals, Option
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership

F = Fraction
CELLS = 3
SPACE = CellSpace((Axis(variable="g", labels=("a", "b", "c"), codes=(0, 1, 2)),))
LOW, HIGH = -2, 5


def neighbours(relation=Relation.REPLACE, scope=Scope.OBSERVED_ROWS):
    return Neighbours(relation=relation, scope=scope)


def table() -> MagnitudeTable:
    query = TableQuery(space=SPACE, function=RowFunction.of(Power("x")))
    return MagnitudeTable(query=query, low=LOW, high=HIGH, keeps_values=True)


def step(**changes) -> BootstrapTotals:
    options = {"name": "totals", "statistic": table(), "neighbours": neighbours(), "epsilon": F(1)} | changes
    return BootstrapTotals(**options)


def extremes(rows):
    own = [[v for c, v in rows if c == cell] for cell in range(CELLS)]
    return [min(o, default=HIGH) for o in own], [max(o, default=LOW) for o in own]


def moves(rows, relation, membership):
    """All l1 changes between neighbours made of these rows only, as vectors."""
    rows = sorted(set(rows))
    value = table().value
    for data in brute.multisets(rows, 2):
        for other in brute.neighbours_of(data, rows, relation):
            left, right = sorted(c for c, _ in data), sorted(c for c, _ in other)
            if membership is Membership.PUBLIC and left != right:
                continue
            a, b = (value([c for c, _ in d], [v for _, v in d]) for d in (data, other))
            yield [abs(x - y) for x, y in zip(a, b, strict=True)]


CASES = [
    (Option.ONE, Membership.PRIVATE, Relation.REPLACE),
    (Option.ONE, Membership.PUBLIC, Relation.REPLACE),
    (Option.PER_CELL, Membership.PRIVATE, Relation.REPLACE),
    (Option.PER_CELL, Membership.PUBLIC, Relation.REPLACE),
    (Option.ONE, Membership.PRIVATE, Relation.ADD_REMOVE),
    (Option.PER_CELL, Membership.PRIVATE, Relation.ADD_REMOVE),
]


def data_sets():
    universe = tuple(product(range(CELLS), (LOW, 0, 1, HIGH)))
    return list(brute.multisets(universe, 2)) + list(brute.multisets(universe, 3))[::9]


@pytest.mark.parametrize(("option", "membership", "relation"), CASES)
def test_the_guarantee_is_kept_and_used(option, membership, relation):
    """Discrete Laplace noise of scale s_i has loss sum |d_i| / s_i; normal noise has rho sum d_i^2 / (2 s_i^2)."""
    pure = step(option=option, membership=membership, neighbours=neighbours(relation))
    normal = step(option=option, membership=membership, neighbours=neighbours(relation), epsilon=None, rho=F(1, 2))
    reached = F(0)
    for rows in data_sets():
        laplace, deviations = pure.scales(*extremes(rows)), normal.scales(*extremes(rows))
        for move in moves(rows, relation, membership):
            loss = sum(F(d) / s for d, s in zip(move, laplace, strict=True))
            assert loss <= 1
            reached = max(reached, loss)
            assert sum(F(d * d) / (2 * s * s) for d, s in zip(move, deviations, strict=True)) <= F(1, 2)
    assert reached == 1


def test_published_scales_break_the_guarantee_when_membership_is_private():
    """V_max (option i) and V_i with epsilon/k (option ii) against rows in different cells."""
    rows = ((0, HIGH), (1, HIGH), (1, HIGH))
    public = step(membership=Membership.PUBLIC)
    scales = public.scales(*extremes(rows))
    losses = [
        sum(F(d) / s for d, s in zip(m, scales, strict=True)) for m in moves(rows, Relation.REPLACE, Membership.PRIVATE)
    ]
    assert max(losses) == 2 * HIGH
    assert max(
        sum(F(d) / (CELLS * s) for d, s in zip(m, scales, strict=True))
        for m in moves(rows, Relation.REPLACE, Membership.PRIVATE)
    ) == F(2 * HIGH, CELLS)


def test_zero_sensitivity_takes_the_floor():
    nothing = step(floor=7, membership=Membership.PUBLIC)
    assert nothing.scales([HIGH] * 3, [LOW] * 3) == [7, 7, 7]
    assert nothing.scales([4, 4, HIGH], [4, 4, LOW]) == [7, 7, 7]


def test_declared_values_widen_the_protection():
    wide = step(option=Option.PER_CELL, membership=Membership.PUBLIC, declared=(-1, 4))
    assert wide.scales([0, HIGH, HIGH], [1, LOW, LOW]) == [5, 5, 5]
    with pytest.raises(ParameterError):
        step(declared=(99,))


def run(measurement, rows, seed):
    rng = RecordedRandomness(seed)
    totals = table().value([c for c, _ in rows], [v for _, v in rows])
    exact = tuple(Sealed(np.array(a, dtype=np.int64)) for a in (totals, *extremes(rows)))
    return measurement.run(exact, measurement.draw(rng), rng)


def test_run_and_block():
    rows = ((0, 5), (0, 1), (2, 3))
    for measurement in (step(), step(is_discrete=False), step(epsilon=None, rho=F(1, 2))):
        answers = np.array([run(measurement, rows, f"{i}").values for i in range(300)])
        assert np.all(np.abs(np.median(answers, axis=0) - [6, 0, 3]) < 3)
        block = measurement.block(run(measurement, rows, "block"))
        assert block.law.kind == "withheld"
        assert not block.parameters


def test_structural_zeros_stay_zero():
    space = CellSpace(SPACE.axes, frozenset({(1,)}))
    query = TableQuery(space=space, function=RowFunction.of(Power("x")))
    measurement = step(statistic=MagnitudeTable(query=query, low=LOW, high=HIGH))
    assert run(measurement, ((0, 5),), "zero").values[1] == 0


def test_it_is_no_differential_privacy():
    measurement = step()
    assert measurement.profile(neighbours()).epsilon == 1
    for scope in (Scope.ALL_DATA, Scope.ACTUAL_DATA):
        with pytest.raises(Unsupported):
            measurement.profile(neighbours(scope=scope))
    with pytest.raises(Unsupported):
        measurement.profile(neighbours(Relation.ADD_REMOVE))
    with pytest.raises(Unsupported):
        step(membership=Membership.PUBLIC, neighbours=neighbours(Relation.ADD_REMOVE))
    with pytest.raises(ParameterError):
        step(floor=0)
    with pytest.raises(ParameterError):
        step(rho=F(1))


def test_the_largest_numbers_do_not_raise():
    tiny = step(epsilon=F(1, 10**9))
    exact = tuple(Sealed(np.array([v] * 3, dtype=np.int64)) for v in (2**62, -(2**52), 2**52))
    rng = RecordedRandomness("large")
    assert np.abs(tiny.run(exact, tiny.draw(rng), rng).values).max() <= 2**62
