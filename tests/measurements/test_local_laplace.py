"""Individual privacy by local sensitivity: the definition holds at every tiny data set, DP does not."""

from fractions import Fraction
from math import inf, log, tanh

import numpy as np
import pytest
from tests.audit import further_definitions as further

from dalenius.audit import definitions as audit
from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.quantile import Quantile

F = Fraction
ROWS = (0, 1, 2, 4)
QUERY = ValuesQuery(value="x")
WINDOW = range(-60, 65)


def neighbours(relation=Relation.REPLACE, scope=Scope.ACTUAL_DATA):
    return Neighbours(relation=relation, scope=scope)


def median(**changes):
    return Quantile(**({"query": QUERY, "low": 0, "high": 4} | changes))


def step(statistic=None, relation=Relation.REPLACE, **changes):
    options = {
        "name": "median",
        "statistic": statistic or median(),
        "epsilon": F(1),
        "neighbours": neighbours(relation),
    } | changes
    return LocalLaplace(**options)


def law_of(measurement):
    """log-probabilities of f(data) + noise fitted to `fitted`."""

    def law(data, fitted):
        size = max(measurement.floor, measurement.statistic.local(fitted, measurement.neighbours, measurement.group))
        rate = float(measurement.epsilon) / size
        centre = measurement.statistic.value(data)
        return {x: log(tanh(rate / 2)) - rate * abs(x - centre) for x in WINDOW}

    return law


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    "statistic",
    [median(), median(q=F(1, 4)), Extreme(query=QUERY, low=0, high=4), Extreme(query=QUERY, low=0, high=4, rank=2)],
    ids=lambda s: f"{type(s).__name__}-{getattr(s, 'q', '')}{getattr(s, 'rank', '')}",
)
def test_the_definition_holds_at_every_data_set(statistic, relation):
    measurement = step(statistic, relation)
    universe = audit.TinyUniverse(ROWS, 3, relation)
    losses = [audit.individual(law_of(measurement), universe, d) for d in brute.multisets(ROWS, 3)]
    assert max(losses) == pytest.approx(1, abs=1e-9)


def test_it_is_no_differential_privacy_and_no_protection_of_groups():
    law, universe = law_of(step()), audit.TinyUniverse(ROWS, 3)
    assert audit.pure(law, universe) > 10
    groups = max(further.individual_group(law, universe, d, 2) for d in brute.multisets(ROWS, 3))
    assert groups > 2 + 1e-6


def test_groups_are_protected_when_asked_for():
    law, universe = law_of(step(group=2)), audit.TinyUniverse(ROWS, 3)
    worst = max(further.individual_group(law, universe, d, 2) for d in brute.multisets(ROWS, 3))
    assert worst == pytest.approx(1, abs=1e-9)
    for data in brute.multisets(ROWS, 3):
        reached = {e for d in {data, *universe.around(data)} for e in {d, *universe.around(d)}}
        farthest = max(abs(median().value(d) - median().value(data)) for d in reached)
        assert median().local(data, neighbours(), 2) == farthest


def test_the_intruder_who_knows_the_algorithm_is_not_bounded():
    """At (0, 0, 4) the scale is 4, at (0, 0, 0) it is the floor: the true loss has no bound, the true delta is large."""
    law, universe = law_of(step()), audit.TinyUniverse((0, 4), 3)
    assert audit.individual(law, universe, (0, 0, 4)) <= 1 + 1e-9
    assert further.against_the_informed(law, universe, (0, 0, 4)) > 10
    assert further.delta_against_the_informed(law, universe, (0, 0, 4), 1.0) > 0.25


@pytest.mark.parametrize("is_discrete", [True, False])
def test_run_without_a_visible_scale(is_discrete):
    rng = RecordedRandomness("local")
    measurement = step(median(high=10**6), epsilon=F(1, 2), floor=3, is_discrete=is_discrete)
    values = np.array([10, 20, 30, 40, 1000])
    answers = [int(measurement.run((Sealed(values),), measurement.draw(rng), rng).values[0]) for _ in range(400)]
    assert abs(np.median(answers) - 30) < 10
    block = measurement.block(measurement.run((Sealed(values),), measurement.draw(rng), rng))
    assert block.law.kind == "withheld"
    assert not block.parameters
    same = np.array([7] * 9)
    spread = {int(measurement.run((Sealed(same),), measurement.draw(rng), rng).values[0]) for _ in range(60)}
    assert len(spread) > 5


@pytest.mark.parametrize("is_discrete", [True, False])
@pytest.mark.parametrize(("values", "size"), [((0, 0, 50, 100, 100), 50), ((7,) * 9, 3)])
def test_noise_is_as_wide_as_the_local_sensitivity_and_never_below_the_floor(values, size, is_discrete):
    """The mean of |noise| is close to size / epsilon; 2,000 draws at a fixed seed have a standard error of 2 %."""
    rng = RecordedRandomness("width")
    measurement = step(median(high=10**6), epsilon=F(1, 4), floor=3, is_discrete=is_discrete)
    sealed = (Sealed(np.array(values)),)
    noise = [int(measurement.run(sealed, measurement.draw(rng), rng).values[0]) - values[2] for _ in range(2000)]
    assert np.mean(np.abs(noise)) == pytest.approx(4 * size, rel=0.1)


def test_refusals_come_before_data():
    with pytest.raises(Unsupported):
        step().profile(Neighbours(relation=Relation.REPLACE))
    with pytest.raises(Unsupported):
        step(relation=Relation.ADD_REMOVE, group=2)
    with pytest.raises(ParameterError):
        step(floor=0)
    assert audit.loss({0: 0.0}, {1: 0.0}) == inf
