"""Range queries and their clamps: exact probabilities, expected errors, exhaustive definitions."""

from fractions import Fraction
from math import exp, inf, log, tanh

import numpy as np
import pytest
from tests.audit import further_definitions as further

from dalenius.audit import definitions as audit
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.errors import NotAllowed, ParameterError, Unsupported
from dalenius.measurements.range_query import ACKNOWLEDGEMENT, Clamp, RangeQuery

ONE = TableQuery(space=CellSpace(()))
ACTUAL_DATA = Neighbours(relation=Relation.REPLACE, scope=Scope.ACTUAL_DATA)
EVERYWHERE = Neighbours(relation=Relation.REPLACE)


def step(clamp=Clamp.NONE, **changes):
    options = {"name": "range", "query": ONE, "epsilon": Fraction(1), "clamp": clamp, "size": 50} | changes
    return RangeQuery(**options)


def clamped_law(epsilon: float, low_of, high_of):
    """log-probabilities of a clamped discrete Laplace answer to the count of ones."""

    def law(data, fitted):
        count, low, high = sum(data), low_of(fitted), high_of(fitted)
        result: dict[int, float] = {}
        for x in range(-80, 81):
            p = tanh(epsilon / 2) * exp(-epsilon * abs(x))
            y = max(low, min(high, count + x))
            result[y] = result.get(y, 0.0) + p
        return {y: log(p) for y, p in result.items()}

    return law


def test_the_clamp_to_the_data_is_legal_and_worthless():
    """It satisfies the definition at every data set; the true loss against an informed intruder is infinite."""
    law = clamped_law(1.0, lambda d: sum(d) - 1, lambda d: sum(d) + 1)
    universe = audit.TinyUniverse((0, 1), 4)
    for ones in range(5):
        data = (0,) * (4 - ones) + (1,) * ones
        assert audit.individual(law, universe, data) <= 1 + 1e-9
        assert further.against_the_informed(law, universe, data) == inf
    assert audit.pure(law, universe) == inf
    assert further.delta_against_the_informed(law, universe, (0, 0, 1, 1), 1.0) > 0.2


def test_the_fair_clamp_is_private():
    law = clamped_law(1.0, lambda d: 0, len)
    assert audit.pure(law, audit.TinyUniverse((0, 1), 4)) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "dp", "idp"),
    [(0.1, 9.98, 0.95), (log(2), 4 / 3, 2 / 3), (1, 0.85, 0.538), (2, 0.276, 0.238), (5, 0.013, 0.013)],
)
def test_expected_errors_of_the_paper(epsilon, dp, idp):
    a = exp(-epsilon)
    far = range(-400, 401)
    plain = sum(abs(x) * tanh(epsilon / 2) * exp(-epsilon * abs(x)) for x in far)
    cut = sum(min(1, abs(x)) * tanh(epsilon / 2) * exp(-epsilon * abs(x)) for x in far)
    assert plain == pytest.approx(2 * a / (1 - a * a), rel=1e-9)
    assert cut == pytest.approx(2 * a / (1 + a), rel=1e-9)
    assert plain == pytest.approx(dp, abs=0.006)
    assert cut == pytest.approx(idp, abs=0.0051)


def test_profiles_and_laws():
    assert step().law.kind == "additive"
    assert step().profile(EVERYWHERE).epsilon == 1
    assert step(Clamp.SIZE).law.kind == "joint"
    with pytest.raises(Unsupported):
        step(Clamp.SIZE).profile(Neighbours())
    weak = step(Clamp.DATA, acknowledged=(ACKNOWLEDGEMENT,))
    assert weak.law.kind == "withheld"
    assert not weak.evidence.is_strong
    assert weak.profile(ACTUAL_DATA).epsilon == 1
    with pytest.raises(Unsupported):
        weak.profile(EVERYWHERE)


def test_refusals():
    with pytest.raises(NotAllowed):
        step(Clamp.DATA)
    with pytest.raises(ParameterError):
        step(Clamp.SIZE, size=None)
    wide = TableQuery(space=CellSpace((Axis(variable="g", labels=("a", "b")),)))
    with pytest.raises(ParameterError):
        step(query=wide)


def test_an_answer_is_cut_to_where_its_clamp_says():
    wide, rng = {"epsilon": Fraction(1, 100)}, RecordedRandomness("cut")

    def answers(measurement, count):
        sealed = (Sealed(np.array([count], dtype=np.int64)),)
        outcomes = [measurement.run(sealed, measurement.draw(rng), rng) for _ in range(40)]
        return {int(outcome.values[0]) for outcome in outcomes}

    assert answers(step(Clamp.DATA, acknowledged=(ACKNOWLEDGEMENT,), **wide), 25) <= {24, 25, 26}
    assert {0, 50} <= answers(step(Clamp.SIZE, **wide), 25) <= set(range(51))
    assert not answers(step(**wide), 25) <= set(range(51))
