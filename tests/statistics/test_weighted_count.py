"""Weighted counts: exhaustive neighbours on tiny data, and refusal of weights that are not fixed."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.core.domain import Axis, Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.engines.memory import MemorySource
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics.weighted_count import WeightedCount
from dalenius.testing.asking import plan_of


def domain() -> Domain:
    variables = {
        "x": Variable(name="x", domain=Categories(labels=("a", "b"))),
        "w": Variable(
            name="w", domain=Bounds(lower=Fraction(0), upper=Fraction(3), step=Fraction(1, 2)), is_weight=True
        ),
    }
    return Domain(name="d", population="p", version="1", variables=variables, neighbours=Neighbours())


SPACE = CellSpace((Axis(variable="x", labels=("a", "b"), codes=(0, 1)),))


def table(rows: tuple[tuple[str, str], ...], power: int) -> np.ndarray:
    statistic = WeightedCount.of(domain(), "w", SPACE, power=power, is_fixed=True)
    source = MemorySource(domain(), {"x": [r[0] for r in rows], "w": [r[1] for r in rows]})
    return source.table(statistic.query).open_below_the_gate()


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("relation", list(Relation))
def test_exhaustive_neighbours_attain_and_never_exceed_the_sensitivity(power: int, relation: Relation) -> None:
    neighbours = Neighbours(relation=relation)
    claimed = WeightedCount.of(domain(), "w", SPACE, power=power, is_fixed=True).sensitivity(neighbours)
    values = list(product(("a", "b"), ("0", "0.5", "3")))
    worst = 0
    for rest in product(values, repeat=1):
        for one in values:
            others = [()] if relation is Relation.ADD_REMOVE else [(v,) for v in values]
            for other in others:
                moved = np.abs(table((*rest, one), power) - table((*rest, *other), power)).sum()
                worst = max(worst, int(moved))
    assert worst == claimed.l1


def test_several_rows_and_refusals() -> None:
    statistic = WeightedCount.of(domain(), "w", SPACE, is_fixed=True)
    assert statistic.sensitivity(Neighbours(max_rows=3)).l1 == 18
    assert statistic.sensitivity(Neighbours(max_rows=3)).linf == 18
    with pytest.raises(Unsupported, match="fixed"):
        WeightedCount.of(domain(), "w", SPACE)
    with pytest.raises(ParameterError):
        WeightedCount.of(domain(), "x", SPACE, is_fixed=True)


def test_planned_release_is_in_the_unit_of_the_weights_with_a_design_variance() -> None:
    place = domain()
    plan = plan_of(
        place,
        {"table": {"rows": ["x"], "weight": "w"}, "privacy": {"definition": "pure", "epsilon": 900}},
        {"allow": {"acknowledge": ["fixed_weights"]}},
    )
    source = MemorySource(place, {"x": ["a", "a", "b"], "w": ["2.5", "3", "1"]})
    rng = RecordedRandomness("weights")
    blocks = []
    for step in plan.measurements:
        block = step.block(step.run(tuple(source.table(q) for q in step.needs), step.draw(rng), rng))  # type: ignore[arg-type]
        assert block is not None
        blocks.append(block)
    tables = plan.assemble(tuple(blocks))
    assert tables[0].values.tolist() == [5.5, 1.0]
    assert tables[1].values.tolist() == [15.25, 1.0]
    # sum w (w - 1), the sampling variance of the first table
    assert (tables[1].values - tables[0].values).tolist() == [9.75, 0.0]
