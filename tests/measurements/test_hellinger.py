"""Hellinger-type perturbation: the published loss and error about the count, and exact pure privacy of the integer table."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.measurements.hellinger import Hellinger, hellinger_rows

SPACE = CellSpace((Axis(variable="x", labels=("a", "b", "c"), codes=(0, 1, 2)),))


def test_loss_is_the_published_one_and_below_the_nominal() -> None:
    step = Hellinger("h", TableQuery(space=SPACE), Fraction(1), 100)
    assert float(step.unit_loss()) == pytest.approx(0.9236, abs=5e-4)
    assert step.profile(Neighbours(relation=Relation.REPLACE)).epsilon == 2 * step.unit_loss()


def test_errors_are_the_published_ones() -> None:
    step = Hellinger("h", TableQuery(space=SPACE), Fraction(1), 100)
    rows = hellinger_rows(step.epsilon, step.largest, step.top)
    b = np.arange(step.top + 1, dtype=float)
    errors = [float(np.sqrt((rows[a] / rows[a].sum() * (b - a) ** 2).sum())) for a in (0, 100)]
    assert errors[0] == pytest.approx(42, abs=1)
    assert 60 < errors[1] < 130


def test_rows_are_whole_and_positive_so_nothing_is_impossible() -> None:
    rows = hellinger_rows(Fraction(1), 20, 400)
    assert (rows > 0).all()
    assert {int(r) for r in rows.sum(axis=1)} == {1 << 61}


def test_it_runs_and_counts_beyond_the_largest_are_treated_as_the_largest() -> None:
    step = Hellinger("h", TableQuery(space=SPACE), Fraction(4), 30)
    rng = RecordedRandomness("h")
    outcome = step.run((Sealed(np.array([0, 30, 10**6])),), step.draw(rng), rng)
    assert isinstance(outcome, Value)
    assert outcome.values.max() <= step.top
    assert step.block(outcome) is not None
    with pytest.raises(ParameterError):
        Hellinger("h", TableQuery(space=SPACE), Fraction(1), 0)
