"""Averaged Laplace noise: its law against plain convolution, its variance and tails, and what it is compared with."""

import itertools
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import kurtosis

from dalenius.core.budget import Budget
from dalenius.core.law import Additive
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.sampling import sample
from dalenius.mechanisms.averaged_laplace import AveragedLaplace

ONE = Sensitivity.of_patterns(((1,),))


@pytest.mark.parametrize("terms", [1, 2, 5, 10, 50])
def test_the_law_is_the_convolution(terms: int) -> None:
    rate = Fraction(1, 2)
    law = AveragedLaplace(rate, terms)
    x = np.arange(-200, 201)
    one = np.exp(-0.5 * np.abs(x)) * np.tanh(0.25)
    whole = np.ones(1)
    for _ in range(terms):
        whole = np.convolve(whole, one)
    middle = len(whole) // 2
    table = law.weights(96)
    total = sum(table.upper)
    k = np.arange(-40, 41)
    found = np.array([table.upper[i - table.first] / total for i in k.tolist()])
    assert found == pytest.approx(whole[middle - 40 : middle + 41], rel=1e-9)
    assert all(low <= high for low, high in zip(table.lower, table.upper, strict=True))
    assert law.variance == pytest.approx(terms * 2 * exp(-0.5) / (1 - exp(-0.5)) ** 2)
    shown = Additive(law)
    assert float(shown.sf(30)) == pytest.approx(whole[middle + 31 :].sum(), rel=1e-9)
    assert np.exp(law.log_pmf(k)) == pytest.approx(found, rel=1e-12)


def test_draws_have_its_variance_and_lose_their_peak_with_more_terms() -> None:
    draws = [sample(AveragedLaplace(Fraction(1), n), 40_000, RecordedRandomness("averaged")) for n in (1, 10)]
    for n, drawn in zip((1, 10), draws, strict=True):
        assert drawn.var() == pytest.approx(n * 2 * exp(-1) / (1 - exp(-1)) ** 2, rel=0.05)
    assert kurtosis(draws[0]) > 2.5 and kurtosis(draws[1]) < 0.6


def test_it_is_pure_and_its_exact_curve_is_far_below_that_of_one_draw() -> None:
    one, ten = (AveragedLaplace(Fraction(1), n).profile(ONE, Relation.ADD_REMOVE) for n in (1, 10))
    assert one.epsilon == ten.epsilon == 1 and ten.is_pure
    assert ten.delta_at(Fraction(1, 2)) < one.delta_at(Fraction(1, 2)) / 5


def test_what_a_request_states_is_kept() -> None:
    stated = AveragedLaplace.stated(AveragedLaplace.Parameters(terms=5))
    assert stated.family(Fraction(1), Budget.of("pure", epsilon=1)).parameters["terms"] == 5  # type: ignore[union-attr]
    fixed = AveragedLaplace.stated(AveragedLaplace.Parameters(terms=5, rate=Fraction(2)))
    assert fixed == AveragedLaplace(Fraction(2), 5)


def test_members_that_are_too_wide_or_have_no_terms_are_refused() -> None:
    with pytest.raises(TooLarge):
        AveragedLaplace(Fraction(1, 100))
    with pytest.raises(ParameterError):
        AveragedLaplace(Fraction(1), 0)
    with pytest.raises(ParameterError):
        AveragedLaplace(Fraction(1), 51)


@pytest.mark.parametrize(("rate", "terms"), [("1", 10), ("5/2", 10), ("1/10", 1), ("1/8", 20), ("3", 2), ("30", 10)])
def test_no_loss_of_the_published_law_exceeds_the_rate_however_far_out(rate: str, terms: int) -> None:
    law = AveragedLaplace(rate=Fraction(rate), terms=terms)
    logs = law.log_pmf(np.arange(-6000, 6001))
    assert np.isfinite(logs).all() and np.exp(logs).sum() == pytest.approx(1)
    falls = -np.diff(logs[6000:])
    assert (falls > 0).all() and falls.max() <= float(law.rate) * (1 + 1e-9)
    # Log-concave, as a convolution of log-concave laws is; to the digits of floats.
    assert np.diff(falls).min() > -1e-8


def exact_weight(rate: Fraction, terms: int, x: int) -> Any:
    """sum_j C(x + j + k - 1, k - 1) C(j + k - 1, k - 1) b^(x + 2 j), the convolution of k laws b^|x|, to forty digits."""
    from mpmath import binomial, exp, mpf

    b, k = exp(-mpf(rate.numerator) / rate.denominator), terms - 1
    term, total, j = binomial(x + k, k) * b**x, mpf(0), 0
    while term > total * mpf(10) ** -42:
        total, j = total + term, j + 1
        term *= b * b * mpf((x + j + k) * (j + k)) / ((x + j) * j)
    return total


@pytest.mark.parametrize("terms", [1, 2, 5, 10, 50])
@pytest.mark.parametrize("rate", ["1/2", "3"])
def test_tables_enclose_the_exact_law_and_bound_what_lies_beyond_them(rate: str, terms: int) -> None:
    """To forty digits: single weights far out, the whole tail beyond the last one, and the fall that the bound of the tail rests on."""
    from mpmath import exp, mp, mpf

    law = AveragedLaplace(Fraction(rate), terms)
    table = law.weights(96)
    with mp.workdps(40):
        last = table.last
        places = sorted({0, 1, min(terms, last), last // 3, last // 2, last - 1, last})
        exact = {x: exact_weight(law.rate, terms, x) for x in places}
        # One scale serves the whole table: every weight lies between its two integers.
        least = max(mpf(table.lower[x - table.first]) / exact[x] for x in places)
        most = min(mpf(table.upper[x - table.first]) / exact[x] for x in places)
        assert least <= most
        beyond = [exact_weight(law.rate, terms, last + i) for i in range(1, 40)]
        ratios = [later / earlier for earlier, later in itertools.pairwise([exact[last], *beyond])]
        # Log-concave: the fall grows towards exp(-rate), so that the first one bounds all that follow.
        assert max(ratios) <= exp(-mpf(law.rate.numerator) / law.rate.denominator / 4)
        assert all(a >= b * (1 - mpf(10) ** -35) for a, b in itertools.pairwise(ratios))
        tail = beyond[0] / (1 - ratios[1])
        assert tail * most <= table.right and table.left == table.right


def test_a_table_that_forgets_its_tail_would_be_found() -> None:
    """The sum of what lies beyond the last weight is more than nothing: no tail of zero passes the same comparison."""
    law = AveragedLaplace(Fraction(1, 2), 10)
    table = law.weights(64)
    tail = exact_weight(law.rate, 10, table.last + 1)
    assert tail * table.upper[-table.first] / exact_weight(law.rate, 10, 0) > 0.01
