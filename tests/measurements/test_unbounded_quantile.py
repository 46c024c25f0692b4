"""Quantiles by thresholds: exact losses on all neighbours of tiny data, drawn answers against their law, and wide bounds."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import log

import numpy as np
import pytest
from tests.measurements.derived_laws import stated

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.unbounded_quantile import UnboundedQuantile, thresholds
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

VALUES = (0, 2, 5)


def step_of(relation: Relation, q: str = "1/2", high: int = 6, **noise: str) -> UnboundedQuantile:
    """The step of a request document."""
    document = {
        "dataset": {"name": "d", "population": "p"},
        "unit": {"relation": str(relation)},
        "variables": {"x": {"bounds": [0, high], "step": 1, "missing": "0"}},
    }
    table = {"measure": "quantile", "of": "x", "q": q, "method": "unbounded"}
    request = {"table": table, "privacy": {"definition": "pure", "epsilon": 1, "noise": noise}}
    plan = plan_of(DatasetDocument.from_dict(document).domain(), request, {})
    (step,) = plan.measurements
    assert isinstance(step, UnboundedQuantile) and plan.reservation.epsilon == 1
    return step


def worst(step: UnboundedQuantile, relation: Relation) -> float:
    """The largest log ratio over all neighbours of at most four values."""
    laws = {
        data: list(stated(step, data).values()) for n in range(5) for data in combinations_with_replacement(VALUES, n)
    }
    found = 0.0
    for data, law in laws.items():
        for value in VALUES:
            if relation is Relation.ADD_REMOVE:
                others = [tuple(sorted((*data, value)))]
            else:
                others = [tuple(sorted((*data[:k], value, *data[k + 1 :]))) for k in range(len(data))]
            for other in others:
                if other in laws:
                    found = max(found, *(abs(log(a / b)) for a, b in zip(law, laws[other], strict=True)))
    return found


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", ["1/2", "1/4", "9/10"])
def test_no_neighbours_lose_more_than_epsilon_and_half_the_noise_is_found(relation: Relation, q: str) -> None:
    step = step_of(relation, q)
    assert 0.5 < worst(step, relation) <= 1 + 1e-9
    assert worst(step_of(relation, q, growth="2"), relation) <= 1 + 1e-9
    assert worst(replace(step, epsilon=Fraction(2)), relation) > 1.01


def test_probabilities_add_up_and_draws_follow_them() -> None:
    step, values = step_of(Relation.ADD_REMOVE, high=4), np.array([0, 2, 2, 3, 4])
    law = list(stated(step, values).values())
    assert sum(law) == pytest.approx(1, abs=1e-9)
    rng, runs = RecordedRandomness("thresholds"), 4000
    seen: Counter[int] = Counter()
    for _ in range(runs):
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        seen[int(outcome.values[0])] += 1
    for point, mass in zip((*step.thresholds, step.high), law, strict=True):
        # Five standard errors.
        assert abs(seen[point] / runs - mass) < 5 * (mass * (1 - mass) / runs) ** 0.5 + 1e-4


def test_bounds_that_say_nothing_cost_little() -> None:
    """Incomes within [0, 10^15] at epsilon 1: within five percent of the sample's median."""
    points = thresholds(0, 10**15, Fraction(1001, 1000))
    assert len(points) < 40_000 and list(points) == sorted(set(points))
    rng, draws, offs = RecordedRandomness("wide"), np.random.default_rng(4), []
    step = step_of(Relation.REPLACE, high=10**15)
    for _ in range(40):
        values = np.sort(np.rint(np.exp(draws.normal(10, 0.8, 2000))).astype(np.int64))
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        offs.append(abs(int(outcome.values[0]) / values[1000] - 1))
    assert float(np.median(offs)) < 0.05


def test_what_means_nothing_is_refused() -> None:
    for wrong in ({"q": "0"}, {"q": "1/1001"}, {"growth": "1"}, {"growth": "3"}):
        with pytest.raises(ParameterError):
            step_of(Relation.REPLACE, **wrong)
    with pytest.raises(Unsupported):
        UnboundedQuantile(
            name="q",
            query=ValuesQuery(value="x"),
            low=0,
            high=9,
            epsilon=Fraction(1),
            neighbours=Neighbours(max_rows=2),
        )
    document = {
        "dataset": {"name": "d", "population": "p"},
        "variables": {"x": {"bounds": [0, 9], "step": 1, "missing": "0"}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    table = {"measure": "median", "of": "x", "method": "unbounded"}
    with pytest.raises(ParameterError, match="epsilon"):
        plan_of(domain, {"table": table, "privacy": {"definition": "zero_concentrated", "rho": 1}}, {})
