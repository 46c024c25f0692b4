"""Clipped totals, learned bounds and noisy values: losses on tiny data, and both steps on real rows."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.domain import Axis, Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import ParameterError
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.noisy import Noisy
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.dominance import Dominance
from dalenius.testing.asking import plan_of

F = Fraction
SPACE = CellSpace((Axis(variable="g", labels=("a", "b"), codes=(0, 1)),))
QUERIES = (ValuesQuery(value="x"),) * 2


def domain(relation=Relation.ADD_REMOVE, largest=1000) -> Domain:
    return Domain(
        name="d",
        population="p",
        version="1",
        variables={
            "g": Variable(name="g", domain=Categories(labels=("a", "b"))),
            "x": Variable(name="x", domain=Bounds(lower=F(0), upper=F(largest))),
            "age": Variable(name="age", domain=Bounds(lower=F(0), upper=F(99))),
        },
        neighbours=Neighbours(relation=relation),
        is_public=True,
    )


@pytest.mark.parametrize("relation", list(Relation))
def test_clipping_bounds_the_loss(relation):
    step = ClippedTotals(name="t", space=SPACE, queries=QUERIES, bounds=(1, 3), epsilon=F(1, 2))
    rows = tuple(product((0, 1), (-4, -1, 0, 2, 4)))

    def clipped(data):
        return [sum(max(-b, min(b, v)) for c, v in data if c == i) for i, b in enumerate(step.bounds)]

    worst = F(0)
    for data in brute.multisets(rows, 2):
        here = clipped(data)
        for other in brute.neighbours_of(data, rows, relation):
            there = clipped(other)
            loss = sum(abs(a - c) * step.epsilon / b for a, c, b in zip(here, there, step.bounds, strict=True))
            worst = max(worst, loss)
    assert worst == step.profile(Neighbours(relation=relation)).epsilon


def totals(share: object) -> dict[str, Any]:
    table = {"rows": ["g"], "measure": "total", "of": "x", "learn": share}
    return {"table": table, "privacy": {"definition": "pure", "epsilon": 2}}


def two_steps(seed, relation=Relation.ADD_REMOVE):
    declared = domain(relation, largest=100_000)
    rng = np.random.default_rng(5)
    columns = {
        "g": ["a"] * 3000 + ["b"] * 3000,
        "x": [*rng.integers(0, 100, 3000).tolist(), *rng.integers(0, 10_000, 3000).tolist()],
        "age": [30] * 6000,
    }
    plan = plan_of(declared, totals("1/4"))
    source = MemorySource.open(declared, columns)
    passage = gate.run(plan, source, declared.neighbours, plan.reservation, RecordedRandomness(seed))
    return plan, plan.assemble(passage.blocks), columns


def _cells(columns):
    return columns["x"][:3000], columns["x"][3000:]


@pytest.mark.parametrize("relation", list(Relation))
def test_the_second_step_follows_the_first_answer(relation):
    plan, (totals, bounds), columns = two_steps("two steps", relation)
    assert plan.reservation.epsilon == 2
    assert 60 < bounds.values[0] < 100
    assert 7000 < bounds.values[1] < 10_000
    assert totals.std_error[0] < 400
    assert totals.std_error[1] > 3000
    truth = [sum(columns["x"][:3000]), sum(columns["x"][3000:])]
    assert np.all(np.abs(totals.values / truth - 1) < 0.1)
    assert not totals.is_unbiased
    assert totals.measure == "clipped total"
    clipped = [sum(min(x, int(b)) for x in own) for own, b in zip(_cells(columns), bounds.values, strict=True)]
    assert np.all(np.abs(totals.values - clipped) < 6 * totals.std_error)
    assert any("clipped" in w for w in plan.warnings)


def test_refusals():
    with pytest.raises(ParameterError):
        plan_of(domain(), totals(1))
    with pytest.raises(ParameterError):
        ClippedTotals(name="t", space=SPACE, queries=QUERIES, bounds=(0, 3), epsilon=F(1))


def test_noise_on_the_number_of_dominated_cells():
    rng = RecordedRandomness("noisy values")
    dominated = Noisy("dominated", Dominance(queries=QUERIES), DiscreteLaplace(F(3)))
    assert dominated.needs == QUERIES
    assert dominated.profile(Neighbours(relation=Relation.REPLACE)).epsilon == 6
    lists = (Sealed(np.array([5])), Sealed(np.array([1, 1, 1, 1])))
    answers = [int(dominated.run(lists, dominated.draw(rng), rng).values[0]) for _ in range(50)]
    assert np.median(answers) == 1
    assert dominated.block(dominated.run(lists, dominated.draw(rng), rng)).law.kind == "additive"
