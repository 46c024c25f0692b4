"""The clamp attack recovers the exact count in the expected number of queries; the policy's door stays shut."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.errors import NotAllowed
from dalenius.measurements.range_query import Clamp, RangeQuery
from dalenius_lab.attacks.clamp import ClampAttack, expected_queries, known_after

QUERY = TableQuery(space=CellSpace(()))


def asker(count: int, epsilon: Fraction, clamp: Clamp, rng: RecordedRandomness):
    step = RangeQuery(
        name="range", query=QUERY, epsilon=epsilon, clamp=clamp, size=1000, acknowledged=("clamp_to_the_data",)
    )
    exact = (Sealed(np.array([count])),)
    return lambda: int(step.run(exact, step.draw(rng), rng).values[0])


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2"])
def test_the_attack_finds_the_count(epsilon):
    """800 attacks, fixed seed: the mean number of queries within five standard errors (one in a million)."""
    rng = RecordedRandomness(f"clamp {epsilon}")
    used = []
    for i in range(800):
        found, queries = ClampAttack().run(asker(100 + i % 7, Fraction(epsilon), Clamp.DATA, rng))
        assert found == 100 + i % 7
        used.append(queries)
    expected = expected_queries(float(epsilon))
    assert abs(np.mean(used) - expected) < 5 * np.std(used) / np.sqrt(len(used))


def test_less_epsilon_means_fewer_queries():
    needed = [expected_queries(e) for e in (0.01, 0.1, 0.5, 1.0, 2.0)]
    assert needed == sorted(needed)
    assert needed[0] == pytest.approx(3, abs=0.05)
    assert known_after(0.1, 10) > 0.98


def test_expected_queries_by_simulation_of_its_formula():
    a = exp(-0.7)
    end = a / (1 + a)
    total = sum(1 - known_after(0.7, k) for k in range(400))
    assert total == pytest.approx(1 / (2 * end) + 1 / end, rel=1e-9)


@pytest.mark.statistical
def test_without_the_clamp_the_same_attack_is_mostly_wrong():
    rng = RecordedRandomness("no clamp")
    found = [ClampAttack(50).run(asker(100, Fraction(1, 10), Clamp.NONE, rng))[0] for _ in range(200)]
    assert sum(f == 100 for f in found) < 30


def test_the_clamp_must_be_acknowledged_by_name():
    with pytest.raises(NotAllowed) as refusal:
        RangeQuery(name="range", query=QUERY, epsilon=Fraction(1), clamp=Clamp.DATA)
    assert "clamp_to_the_data" in refusal.value.message
    with pytest.raises(NotAllowed):
        RangeQuery(name="range", query=QUERY, epsilon=Fraction(1), clamp=Clamp.DATA, acknowledged=("individual",))
