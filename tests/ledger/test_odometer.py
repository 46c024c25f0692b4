"""The odometer: known answers, the words, and a simulation of its promise at every moment."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.conversions import rho_to_epsilon
from dalenius.core.neighbours import Scope
from dalenius.errors import ParameterError
from dalenius.ledger.odometer import power_of_test, power_under_rho, running_epsilon

MILLIONTH = Fraction(1, 10**6)
LEVEL = Fraction(1, 20)


def test_running_bound_on_the_grid():
    # 0.001 is the first budget: delta_1 = delta / 2.
    expected = 0.001 + 2 * (0.001 * log(2e6)) ** 0.5
    assert float(running_epsilon(Fraction(1, 1000), MILLIONTH)) == pytest.approx(expected, abs=2e-6)
    # 0.0015 is the second: delta_2 = delta / 6.
    expected = 0.0015 + 2 * (0.0015 * log(6e6)) ** 0.5
    assert float(running_epsilon(Fraction(12, 10000), MILLIONTH)) == pytest.approx(expected, abs=2e-6)
    assert running_epsilon(Fraction(0), MILLIONTH) == 0
    with pytest.raises(ParameterError):
        running_epsilon(Fraction(1), Fraction(0))


@given(
    st.fractions(min_value=0, max_value=5, max_denominator=10**4),
    st.fractions(min_value=0, max_value=2, max_denominator=100),
)
def test_running_bound_grows_and_exceeds_the_fixed_conversion(rho, more):
    assert running_epsilon(rho, MILLIONTH) <= running_epsilon(rho + more, MILLIONTH)
    if rho:
        assert running_epsilon(rho, MILLIONTH) >= rho_to_epsilon(rho, MILLIONTH)


def test_running_bound_holds_at_every_moment():
    """Gaussian losses with rho per step chosen from the past, 40,000 paths, fixed seed.

    The loss of a step is normal with mean rho and variance 2 rho. The bound at delta = 0.05 may be exceeded at any
    moment by at most 5 % of paths; the analyst asks louder after large losses.
    """
    rng = np.random.default_rng(3)
    paths = 40_000
    loss, spent = np.zeros(paths), np.zeros(paths)
    failed = np.zeros(paths, dtype=bool)
    grid = np.array([0.001 * 1.5**j for j in range(40)])
    table = np.array([float(running_epsilon(Fraction(str(round(g, 12))), LEVEL)) for g in grid])
    for _ in range(60):
        rho = np.where(loss > 0.5 * spent, 0.004, 0.0005)
        loss += rho + np.sqrt(2 * rho) * rng.standard_normal(paths)
        spent += rho
        place = np.searchsorted(grid, spent * (1 - 1e-9))
        failed |= loss > table[place]
    assert failed.mean() <= 0.05


def test_power_of_the_best_test():
    assert power_of_test(Fraction(0), Fraction(0), LEVEL) == LEVEL
    assert float(power_of_test(Fraction(1), Fraction(0), LEVEL)) == pytest.approx(0.05 * exp(1), abs=1e-9)
    assert float(power_of_test(Fraction(4), Fraction(0), LEVEL)) == pytest.approx(
        1 - 0.95 * exp(-4), abs=1e-9
    )
    # Gaussian of unit shift: rho 1/2, true power at 5 % is 0.2595. The bound lies above it, below certainty.
    assert 0.2595 <= float(power_under_rho(Fraction(1, 2), Fraction(0), LEVEL)) <= 0.5


@given(st.fractions(min_value=0, max_value=6, max_denominator=100), st.sampled_from([0, 1, 10]))
def test_power_is_a_probability_above_the_level(epsilon, millionths):
    power = power_of_test(epsilon, millionths * MILLIONTH, LEVEL)
    assert LEVEL <= power <= 1
    assert power <= power_of_test(epsilon + Fraction(1, 10), millionths * MILLIONTH, LEVEL)


def test_readings_in_words(ledger, charge):
    ledger.reserve(charge("aa"))
    reading = ledger.odometer("people")
    assert reading.basis == "pure"
    assert (reading.epsilon, reading.delta) == (Fraction(1, 2), 0)
    assert reading.odds == pytest.approx(exp(0.5), abs=1e-9)
    words = " ".join(reading.sentences())
    assert "1.649 times as likely" in words
    assert "5% false alarms" in words
    ledger.reserve(charge("bb", rho="1/100", delta="1e-9"))
    reading = ledger.odometer("people")
    assert reading.basis in ("running", "promise")
    assert reading.delta == 2 * MILLIONTH
    assert reading.epsilon <= rho_to_epsilon(Fraction(1), MILLIONTH)
    assert set(reading.to_dict()["bounds"]) == {"running", "promise"}


OWN = {"page": "data-dependent", "definition": "bootstrap", "scope": Scope.WITHIN_THE_DATA}


def test_no_sentence_covers_another_page(ledger, charge):
    ledger.grant("people", "add-remove", 1, 0, by="custodian", page="data-dependent")
    assert "nothing was charged to another page" in ledger.odometer("people").sentences()[0]
    ledger.reserve(charge("aa", **OWN))
    reading = ledger.odometer("people")
    (words,) = reading.sentences()
    # With nothing on the master page there is no figure to quote.
    assert "no statement covers the data-dependent page (1 charge)" in words
    assert "private" not in words and "%" not in words
    ledger.reserve(charge("bb"))
    reading = ledger.odometer("people")
    for sentence in reading.sentences():
        assert "what was charged to the master account (1 charge)" in sentence
        assert "; the data-dependent page (1 charge) is not covered." in sentence
        assert "verything released" not in sentence
    document = reading.to_dict()
    assert document["covers"] == {"page": "master", "charges": 1}
    assert document["not_covered"] == {"data-dependent": 1}
