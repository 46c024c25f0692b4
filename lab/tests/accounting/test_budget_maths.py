"""Batches and optima never report too little."""

from fractions import Fraction

import pytest

from dalenius.errors import ParameterError
from dalenius.ledger.composition import epsilon_at
from dalenius_lab.accounting.batch import _MARGIN, Batch, _sigma
from dalenius_lab.accounting.composition import optimum


def test_failures_of_a_batch_are_counted_each_time():
    event = {"kind": "approximate", "epsilon": "0.1", "delta": "1e-6", "times": 3}
    assert Batch(events=(event,)).cost().delta == Fraction(3, 10**6)


@pytest.mark.parametrize("variance", [2, 3, 7, "1/3", "0.1"])
def test_a_standard_deviation_is_rounded_down(variance):
    assert Fraction(_sigma({"kind": "gaussian", "variance": variance})) ** 2 <= Fraction(str(variance))


def test_what_the_package_reports_gets_a_margin():
    batch = Batch(events=({"kind": "gaussian", "variance": 4, "shift_squared": 1, "times": 3},))
    reported = Fraction(float(batch._composed().get_delta_for_epsilon(1.0)))
    assert Fraction(1, 10**9) <= _MARGIN
    assert batch.delta(1) == reported * (1 + _MARGIN)
    assert batch.delta(1) > reported


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-9"])
def test_the_optimum_holds_at_the_epsilon_it_states(delta):
    loss = optimum([(Fraction(1, 10), Fraction(0), 20)])
    epsilon = epsilon_at(loss, Fraction(delta))
    assert loss.delta(epsilon) <= Fraction(delta)
    assert loss.delta(epsilon - Fraction(2, 10**9)) > Fraction(delta)


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "laplace", "epsilon": 0},
        {"kind": "gaussian", "variance": 0, "shift_squared": 1},
        {"kind": "discrete_gaussian", "variance": 0, "shift": 1},
    ],
)
def test_events_without_noise_are_refused(event):
    with pytest.raises(ParameterError, match="positive"):
        Batch(events=(event,))
