"""The odometer: known answers, the words, and a simulation of its guarantee at every moment."""

from fractions import Fraction
from math import exp, log
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.conversions import pure_to_rho, rho_to_epsilon
from dalenius.core.neighbours import Scope
from dalenius.errors import ParameterError
from dalenius.ledger.odometer import power_of_test, power_under_rho, running_epsilon

MILLIONTH = Fraction(1, 10**6)
LEVEL = Fraction(1, 20)


def test_running_bound_of_the_mixture():
    # At rho 0.25 the middle precision, 0.01, with half of delta is best.
    expected = 0.25 + 2 * (0.26 * log((1 + 26**0.5 * 2e6) / 2)) ** 0.5
    assert float(running_epsilon(Fraction(1, 4), MILLIONTH)) == pytest.approx(expected, abs=2e-6)
    # At rho 0.001 the finest, 0.0001, with a quarter.
    expected = 0.001 + 2 * (0.0011 * log((1 + 11**0.5 * 4e6) / 2)) ** 0.5
    assert float(running_epsilon(Fraction(1, 1000), MILLIONTH)) == pytest.approx(expected, abs=2e-6)
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
    # Every step spends a whole number of these.
    table = np.array([float(running_epsilon(Fraction(i, 2000), LEVEL)) for i in range(500)])
    for _ in range(60):
        rho = np.where(loss > 0.5 * spent, 0.004, 0.0005)
        loss += rho + np.sqrt(2 * rho) * rng.standard_normal(paths)
        spent += rho
        failed |= loss > table[np.rint(spent * 2000).astype(int)]
    assert 0 < failed.mean() <= 0.05


def test_the_mixture_is_a_supermartingale_above_the_bound():
    """The formula against numerical integration of the mixture: at the bound it has reached 1 / delta."""
    from scipy.integrate import quad

    for rho, precision in ((0.25, 0.01), (0.001, 1e-4), (3.0, 1.0)):
        reached = ((rho + precision) / precision) ** 0.5 * 1e3
        loss = rho + 2 * ((rho + precision) * log((1 + reached) / 2)) ** 0.5

        def mixed(k, x=loss - rho, rho=rho, g=precision):
            return exp(k * x - k * k * rho) * 2 * (g / np.pi) ** 0.5 * exp(-g * k * k)

        peak = (loss - rho) / (2 * (rho + precision))
        value, _ = quad(mixed, 0, 10 * peak + 50, points=[peak], limit=400)
        assert 1e3 <= value <= 1.01e3


def test_power_of_the_best_test():
    assert power_of_test(Fraction(0), Fraction(0), LEVEL) == LEVEL
    assert float(power_of_test(Fraction(1), Fraction(0), LEVEL)) == pytest.approx(0.05 * exp(1), abs=1e-9)
    assert float(power_of_test(Fraction(4), Fraction(0), LEVEL)) == pytest.approx(1 - 0.95 * exp(-4), abs=1e-9)
    # Gaussian of unit shift: rho 1/2, true power at 5 % is 0.2595. The bound lies above it, below certainty.
    assert 0.2595 <= float(power_under_rho(Fraction(1, 2), Fraction(0), LEVEL)) <= 0.5


@given(st.fractions(min_value=0, max_value=6, max_denominator=100), st.sampled_from([0, 1, 10]))
def test_power_is_a_probability_above_the_level(epsilon, millionths):
    power = power_of_test(epsilon, millionths * MILLIONTH, LEVEL)
    assert LEVEL <= power <= 1
    assert power <= power_of_test(epsilon + Fraction(1, 10), millionths * MILLIONTH, LEVEL)


def test_readings_in_words(ledger, charge):
    ledger.reserve(charge("aa"))
    reading = ledger.reader.odometer("people")
    for figure in (reading.fixed, reading.running):
        assert (figure.basis, figure.epsilon, figure.delta) == ("pure", Fraction(1, 2), 0)
        assert figure.odds == pytest.approx(exp(0.5), abs=1e-9)
    words = " ".join(reading.sentences())
    assert "1.649 times as likely" in words
    assert "5% false alarms" in words
    ledger.reserve(charge("bb", rho="1/100", delta="1e-9"))
    reading = ledger.reader.odometer("people")
    assert (reading.fixed.basis, reading.running.basis) == ("rho", "running")
    assert reading.fixed.epsilon == rho_to_epsilon(Fraction(1, 8) + Fraction(1, 100), MILLIONTH)
    # The plan fails as often as was charged, the running bound as often as was granted.
    assert reading.fixed.delta == MILLIONTH + Fraction(1, 10**9)
    assert reading.running.delta == 2 * MILLIONTH
    assert set(reading.to_dict()["bounds"]) == {"running", "rho"}


def test_fifty_releases_at_a_tenth_read_what_was_spent(ledger, charge):
    for number in range(50):
        ledger.reserve(charge(f"{number:02}", rho=pure_to_rho(Fraction(1, 10)), epsilon=Fraction(1, 10)))
    reading = ledger.reader.odometer("people")
    assert float(reading.bounds["rho"]) == pytest.approx(3.5407, abs=1e-3)
    assert float(reading.bounds["loss"]) == pytest.approx(3.1729, abs=1e-3)
    assert (reading.fixed.basis, reading.fixed.epsilon) == ("loss", reading.bounds["loss"])
    assert reading.running.basis == "running" and 3.6 < reading.running.epsilon <= Fraction("4.5")


def test_a_reading_does_not_depend_on_the_limit(opener, charge):
    readings = []
    for rho in (1, 5):
        ledger = opener()
        ledger.declarations.register("people", "census", "2021", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", rho, 0, by="custodian")
        if not readings:
            ledger.reserve(charge("aa", rho="0.15", epsilon=None))
        readings.append(ledger.reader.odometer("people"))
    assert readings[0] == readings[1]
    # Under rho 0.15 alone, where the whole budget would say 90.5 % and more.
    assert 0.16 < readings[0].power < 0.166
    assert "16.5% of cases" in readings[0].sentences()[-1]


def gaussian(times: int = 1, sigma_squared: str = "100/3") -> dict[str, object]:
    """Discrete Gaussian noise on one cell that moves by one, as a ledger line says it."""
    parameters = {"sigma_squared": sigma_squared}
    return {"kind": "noise", "mechanism": "discrete_gaussian", "parameters": parameters, "shift": 1, "times": times}


def test_charges_that_name_their_noise_read_what_that_noise_allows(ledger, charge):
    """rho 0.15 of Gaussian noise: 13.6 %, as for the continuous law with mean sqrt(0.3); of rho alone 16.5 %."""
    for number in range(10):
        ledger.reserve(charge(f"{number:02}", rho="0.015", epsilon=None, events=(gaussian(),)))
    reading = ledger.reader.odometer("people")
    continuous = NormalDist().cdf(NormalDist().inv_cdf(0.05) + 0.3**0.5)
    assert float(reading.power) == pytest.approx(continuous, abs=1e-4)
    assert continuous == pytest.approx(0.1363, abs=5e-5)
    # Words round up.
    assert "13.7% of cases" in reading.sentences()[-1]
    assert (reading.fixed.basis, set(reading.bounds)) == ("loss", {"running", "rho", "loss"})
    assert reading.fixed.epsilon < reading.bounds["rho"] and reading.fixed.delta == MILLIONTH
    # What follows from answers is not a fixed plan: the running bound stays with rho.
    assert reading.running.epsilon == running_epsilon(Fraction(15, 100), MILLIONTH)
    # One charge that states a rho alone, and nothing is known of the loss of all together.
    ledger.reserve(charge("zz", rho="0.001", epsilon=None))
    assert "loss" not in ledger.reader.odometer("people").bounds


def test_pure_charges_and_named_noise_are_composed_together(ledger, charge):
    ledger.reserve(charge("aa", rho="0.015", epsilon=None, events=(gaussian(),)))
    alone = ledger.reader.odometer("people").bounds["loss"]
    ledger.reserve(charge("bb", rho=pure_to_rho(Fraction(1, 10)), epsilon=Fraction(1, 10)))
    both = ledger.reader.odometer("people")
    assert alone < both.bounds["loss"] < min(both.bounds["rho"], alone + Fraction(1, 10))


OWN = {"account": "data-dependent", "definition": "bootstrap", "scope": Scope.OBSERVED_ROWS}


def test_no_sentence_covers_another_account(ledger, charge):
    ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian", account="data-dependent")
    assert "nothing was charged to another account" in ledger.reader.odometer("people").sentences()[0]
    ledger.reserve(charge("aa", **OWN))
    reading = ledger.reader.odometer("people")
    (words,) = reading.sentences()
    # With nothing on the master account there is no figure to quote.
    assert "no statement covers the data-dependent account (1 charge)" in words
    assert "private" not in words and "%" not in words
    ledger.reserve(charge("bb"))
    reading = ledger.reader.odometer("people")
    for sentence in reading.sentences():
        assert "what was charged to the master account (1 charge)" in sentence
        assert "; the data-dependent account (1 charge) is not covered." in sentence
        assert "verything released" not in sentence
    document = reading.to_dict()
    assert document["covers"] == {"account": "master", "charges": 1}
    assert document["not_covered"] == {"data-dependent": 1}


def test_charges_of_too_many_kinds_are_read_by_their_rho(ledger, charge):
    """65 different ones: their loss would take too long to list, so that nothing is said of it."""
    events = tuple({"kind": "pure", "epsilon": f"1/{1000 + number}"} for number in range(65))
    ledger.reserve(charge("aa", rho="1/100", epsilon=None, events=events[:64]))
    assert "loss" in ledger.reader.odometer("people").bounds
    ledger.reserve(charge("bb", rho="1/1000", epsilon=None, events=events[64:]))
    assert "loss" not in ledger.reader.odometer("people").bounds
