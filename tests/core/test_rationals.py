"""Enclosures: they enclose, they are narrow, and rounding goes the stated way."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dalenius.core import rationals as exact
from dalenius.errors import ParameterError

F = Fraction


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / mpf(x.denominator)


@pytest.fixture(autouse=True)
def precision():
    before, mp.prec = mp.prec, 4000
    yield
    mp.prec = before


@given(st.fractions(F(-300), F(60)), st.sampled_from([16, 64, 192, 400]))
@settings(max_examples=150, deadline=None)
def test_exponentials_are_enclosed(x, bits):
    mp.prec = 4000
    low, high = exact.exp_enclosure(x, bits)
    true = mp.exp(real(x)) * mpf(2) ** bits
    assert low <= true <= high
    assert high - low <= 3 + true * mpf(2) ** -(bits + 8) * 4


@given(st.fractions(F(1, 10**6), F(10**6)).filter(lambda y: y > 0))
@settings(max_examples=60, deadline=None)
def test_logarithms_are_enclosed(y):
    mp.prec = 400
    true = mp.log(real(y))
    assert real(exact.log_lower(y)) <= true <= real(exact.log_upper(y))
    assert exact.log_upper(y) - exact.log_lower(y) <= F(1, 2**60)


@given(st.fractions(F(0), F(10**9)))
def test_square_roots_are_enclosed(y):
    root = exact.sqrt_upper(y)
    assert root * root >= y
    assert (root - F(2, 2**64)) ** 2 <= y or root <= F(2, 2**64)


def test_known_values():
    assert exact.exp_enclosure(F(0), 10) == (1024, 1024)
    assert exact.exp_lower(F(1), 200) < exact.exp_upper(F(1), 200)
    assert float(exact.exp_upper(F(1))) == pytest.approx(2.718281828459045, abs=1e-15)
    assert exact.round_up(F(1, 3), 10) == F(4, 10)
    assert Fraction(exact.float_upper(F(1, 3))) >= F(1, 3) >= Fraction(exact.float_lower(F(1, 3)))


@given(st.fractions())
def test_plain_text_is_read_back(x):
    assert F(exact.plain(x)) == x


@pytest.mark.parametrize("bad", [True, None, float("nan"), float("inf"), "abc", "1/0", "1e9999", [], "1" * 300])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(ParameterError):
        exact.rational(bad)


def test_decimals_are_read_as_written():
    assert exact.rational(0.1) == F(1, 10)
    assert exact.rational("1e-6") == F(1, 10**6)
    with pytest.raises(ParameterError):
        exact.log_upper(F(0))
