"""The rho of a delta-approximate statement: brute force over orders and cuts, closed forms, the bootstrap's vectors."""

from fractions import Fraction
from math import exp, inf, log, sqrt
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import factorial, logsumexp, ndtr

from dalenius.core.conversions import discrete_laplace_to_rho, pure_to_rho
from dalenius.errors import TooLarge
from dalenius.exact import loss
from dalenius.exact.approximate_concentrated import Pair, concentrated, rho_of
from dalenius.exact.loss import BITS, LossDistribution, of_statement
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

ORDERS = [1 + 10 ** (-3 + 6 * i / 399) for i in range(400)]
Row = dict[int, int]
Floats = NDArray[np.float64]


def renyi(p: list[float], q: list[float], order: float) -> float:
    top = max(log(a / b) for a, b in zip(p, q, strict=True))
    mean = sum(a * exp((order - 1) * (log(a / b) - top)) for a, b in zip(p, q, strict=True))
    return top + log(mean) / (order - 1)


def brute_force(p: Row, q: Row, delta: Fraction) -> float:
    """Smallest, over all cuts of the largest losses of both orders, of the largest D_a / a over 400 orders."""
    both = sorted((b for b in p if b in q), key=lambda b: Fraction(p[b], q[b]))
    best = inf
    for low in range(len(both)):
        for high in range(low + 1, len(both) + 1):
            kept = both[low:high]
            masses = [sum(law[b] for b in kept) for law in (p, q)]
            if min(Fraction(m, sum(law.values())) for m, law in zip(masses, (p, q), strict=True)) < 1 - delta:
                continue
            one, other = ([law[b] / mass for b in kept] for law, mass in zip((p, q), masses, strict=True))
            most = max(max(renyi(one, other, a), renyi(other, one, a)) / a for a in ORDERS)
            best = min(best, most)
    return best


def generated(seed: int) -> tuple[Row, Row, Fraction]:
    """Two rows over one denominator, some values impossible under one of them, and a delta that covers those."""
    random = Random(seed)
    size, scale = random.randint(4, 14), 1 << 40
    tilt, spread = random.choice([0.05, 0.5, 2.0]), random.choice([0.5, 3.0])
    rows = []
    heights = [exp(-spread * abs(i - size / 2)) for i in range(size)]
    for sign in (-1, 1):
        weights = [h * exp(sign * tilt * random.uniform(-0.5, 1)) for h in heights]
        if random.random() < 0.5:
            weights[0 if sign < 0 else -1] = 0.0
        whole = [int(w / sum(weights) * scale) for w in weights]
        whole[whole.index(max(whole))] += scale - sum(whole)
        rows.append({i: w for i, w in enumerate(whole) if w})
    p, q = rows
    alone = max(Fraction(sum(w for b, w in one.items() if b not in other), scale) for one, other in ((p, q), (q, p)))
    return p, q, alone + random.choice([Fraction(0), Fraction(1, 10**6), Fraction(1, 50)])


@pytest.mark.parametrize("seed", range(50))
def test_rho_is_never_below_brute_force_over_400_orders_and_at_most_a_twentieth_above(seed: int) -> None:
    p, q, delta = generated(seed)
    rho, used = concentrated(Pair.of_rows(p, q, 1 << 40), delta)
    truth = brute_force(p, q, delta)
    assert delta <= used <= delta + Fraction(1, 1 << 60)
    assert truth * (1 - 1e-9) <= float(rho) <= 1.05 * truth


def test_a_statement_alone_keeps_epsilon_tanh_of_half_epsilon() -> None:
    for text in ("0.01", "0.1", "1", "5"):
        rho, _ = rho_of(of_statement(Fraction(text)), Fraction(0))
        assert 1 <= rho / pure_to_rho(Fraction(text)) < 1.005


def test_pure_noise_at_delta_zero_has_its_closed_form() -> None:
    for rate, shift in (("1", 1), ("0.5", 3), ("0.1", 20)):
        exact = discrete_laplace_to_rho(Fraction(rate), shift)
        rho, used = rho_of(loss.of_shift(DiscreteLaplace(Fraction(rate)), shift), Fraction(0))
        assert exact <= rho <= exact * Fraction(1005, 1000)
        assert used < Fraction(1, 10**20)


def test_the_two_ways_to_a_pair_agree() -> None:
    law = TruncatedNormal.of_paper("1.5", 12)
    table = law.weights(128)
    total = sum(table.upper)
    p = {table.first + i: w for i, w in enumerate(table.upper)}
    q = {x + 1: w for x, w in p.items()}
    delta = Fraction(p[12], total) + Fraction(1, 10**6)
    by_rows, _ = concentrated(Pair.of_rows(p, q, total), delta)
    by_loss, _ = rho_of(loss.of_shift(law, 1), delta)
    assert float(by_rows) == pytest.approx(float(by_loss), rel=1e-9)


def test_a_larger_delta_never_costs_more() -> None:
    law = TruncatedNormal.of_paper("1", 10)
    least = loss.of_shift(law, 1).infinite
    deltas = [Fraction(least * k, 1 << BITS) for k in (1, 2, 5, 20, 100)]
    rhos = [rho_of(loss.of_shift(law, 1), d)[0] for d in deltas]
    assert rhos == sorted(rhos, reverse=True)


def test_a_loss_that_fails_more_often_than_delta_has_no_statement() -> None:
    with pytest.raises(TooLarge, match="fails more often"):
        rho_of(loss.of_shift(TruncatedNormal.of_paper("1", 10), 1), Fraction(1, 10**4))
    # Losses rounded up by a tenth leave mass of Q where P has none: more than this delta.
    down, _, up = of_statement(Fraction(1)).masses
    with pytest.raises(TooLarge, match="fails more often"):
        rho_of(LossDistribution(Fraction(1, 10), -9, (down, *[0] * 19, up)), Fraction(1, 10**6))


def test_a_planted_fault_is_found_by_the_comparison() -> None:
    """Whoever cuts a twentieth more than stated falls below brute force for many of the laws."""
    laws = [generated(seed) for seed in range(50)]
    cheated = [concentrated(Pair.of_rows(p, q, 1 << 40), d + Fraction(1, 20))[0] for p, q, d in laws]
    assert sum(float(rho) < brute_force(*law) for rho, law in zip(cheated, laws, strict=True)) >= 20


def bootstrap_loss(a: float, unit: Fraction) -> LossDistribution:
    """The pair (sum over k of Poisson(1)(k) N(k a, 1), N(0, 1)) on a grid of losses, connecting the dots.

    The loss rises in x. The outputs with losses between two points of the grid are given to the two points so that both
    laws keep their masses there; merging the points again is a channel, so the pair on the grid dominates.
    """
    k = np.arange(30)
    poisson = np.exp(-1) / factorial(k)
    h = float(unit)

    def loss_at(x: Floats) -> Floats:
        return logsumexp(k * a * x[:, None] - k * k * a * a / 2, b=poisson, axis=1)

    first, last = (int(v // h) for v in loss_at(np.array([-12.0, 12.0])))
    target = h * np.arange(first + 1, last + 1)
    low, high = np.full(len(target), -60.0), np.full(len(target), 60.0)
    for _ in range(70):
        middle = (low + high) / 2
        is_below = loss_at(middle) < target
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    ends = np.concatenate([[-60.0], high])
    # The smaller tail of each range is differenced, so that small masses keep their digits.
    ranges = [np.where(e > m, ndtr(m - e), 1 - ndtr(e - m)) for m in a * k for e in (ends,)]
    upper = np.array([np.where(r[:-1] < 0.5, r[:-1] - r[1:], 0) for r in ranges])
    cdfs = np.array([ndtr(ends - m) for m in a * k])
    lower = np.array([np.where(r[:-1] < 0.5, 0, c[1:] - c[:-1]) for r, c in zip(ranges, cdfs, strict=True)])
    inside = upper + lower
    p, q = poisson @ inside, inside[0]
    share = np.clip((p - q * np.exp(h * np.arange(first, last))) / (1 - np.exp(-h)), 0, p)
    found = np.concatenate([p - share, [0]]) + np.concatenate([[0], share])
    scale = 1 << BITS
    whole = tuple(int(Fraction(float(m)) * scale) + 1 for m in found)
    return LossDistribution(unit, first, whole, max(scale - sum(whole), scale >> 62))


@pytest.mark.parametrize(
    ("count", "mu", "low", "high"), [(50, 1.0, 0.532, 0.545), (10, 1.0, 0.758, 0.78), (50, 0.2, 0.02, 0.0205)]
)
def test_bootstrap_totals_are_charged_little_more_than_their_gaussian(
    count: int, mu: float, low: float, high: float
) -> None:
    """Fresh Poisson(1) multiplicities in every total; mu is that of the totals together; add-remove; delta 1e-6."""
    one = bootstrap_loss(mu / sqrt(count), Fraction(1, 128 if mu == 1.0 else 1024))
    rho, used = rho_of(one.times(count), Fraction(1, 10**6))
    assert used <= Fraction(1, 10**6) + Fraction(1, 10**15)
    assert low <= float(rho) <= high
