"""Batches against dp-accounting: known answers, and a thousand random lists of events."""

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from dalenius.core.conversions import rho_to_delta, rho_to_epsilon
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError, Unsupported
from dalenius.ledger.composition import epsilon_at
from dalenius_lab.accounting.batch import Batch
from dalenius_lab.accounting.composition import optimum

MILLIONTH = Fraction(1, 10**6)


def test_fifty_releases_at_a_tenth():
    batch = Batch(events=({"kind": "discrete_laplace", "rate": "0.1", "shift": 1, "times": 50},))
    assert batch.cost().epsilon == 5
    assert float(rho_to_epsilon(batch.cost().rho, MILLIONTH)) == pytest.approx(3.5407, abs=5e-5)
    assert float(batch.epsilon("1e-6")) == pytest.approx(3.1729, abs=5e-5)
    laplace = Batch(events=({"kind": "laplace", "epsilon": "0.1", "times": 50},))
    assert float(laplace.epsilon("1e-6")) == pytest.approx(3.1207, abs=5e-4)


def test_gaussian_vectors():
    one = Batch(events=({"kind": "gaussian", "variance": 1, "shift_squared": 1},))
    ten = Batch(events=({"kind": "gaussian", "variance": 10, "shift_squared": 1, "times": 10},))
    assert one.cost().rho == ten.cost().rho == Fraction(1, 2)
    for batch in (one, ten):
        assert float(batch.epsilon("1e-6")) == pytest.approx(4.886554, abs=2e-3)
        assert batch.epsilon("1e-6") >= Fraction("4.886553")
    assert one.delta("4.886554") == pytest.approx(1e-6, rel=0.02)


def test_unknown_events_are_refused():
    with pytest.raises(Unsupported):
        Batch(events=({"kind": "subsampled"},))
    with pytest.raises(ParameterError):
        Batch(events=({"kind": "pure"},))
    with pytest.raises(ParameterError):
        Batch(events=({"kind": "pure", "epsilon": 1, "times": 0},))
    with pytest.raises(ParameterError):
        Batch(events=({"kind": "approximate", "epsilon": "0.1", "delta": "0.01"},)).epsilon("1e-6")
    assert Batch(events=()).epsilon("1e-6") == Batch(events=()).delta("1") == 0


def random_event(rng: random.Random) -> dict[str, object]:
    """An event with round parameters."""
    times = rng.choice([1, 1, 2, 5, 10])
    match rng.randrange(4):
        case 0:
            return {"kind": "pure", "epsilon": Fraction(rng.randrange(1, 60), 100), "times": times}
        case 1:
            return {"kind": "discrete_laplace", "rate": Fraction(rng.randrange(1, 50), 100), "shift": 1, "times": times}
        case 2:
            return {"kind": "laplace", "epsilon": Fraction(rng.randrange(5, 60), 100), "times": times}
        case _:
            return {"kind": "gaussian", "variance": rng.randrange(4, 400), "shift_squared": 1, "times": times}


@pytest.mark.timeout(300)
def test_hundreds_of_random_lists_against_dp_accounting():
    """Our sums, conversion and exact optimum against the other implementation's accountants.

    rho to delta: the same formula, minimised over all orders instead of a list, so never above theirs and equal on a
    fine list. Exact optimum of pure steps: equal to their loss distribution within its grid. The zero-concentrated
    route over-reports: never below the loss distribution of the same events.
    """
    import numpy as np
    from dp_accounting import dp_event, rdp
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    rng = random.Random(7)
    orders = 1 + np.geomspace(0.01, 2000, 3000)
    for number in range(400):
        events = tuple(random_event(rng) for _ in range(rng.randrange(1, 6)))
        batch = Batch(events=events, interval=1e-3)
        cost = batch.cost()
        delta = Fraction(1, 10 ** rng.randrange(3, 9))
        accountant = rdp.RdpAccountant(orders)
        accountant.compose(dp_event.ZCDpEvent(float(cost.rho)))
        theirs = accountant.get_epsilon(float(delta))
        ours = float(rho_to_delta(cost.rho, Fraction(theirs)) / delta)
        assert 0.99 <= ours <= 1 + 1e-6
        # Loss distributions take longer: every tenth list, and all lists of pure steps.
        if number % 10 == 0:
            slack = 1e-3 * sum(int(e["times"]) for e in events)
            assert float(batch.epsilon(delta)) <= float(rho_to_epsilon(cost.rho, delta)) + slack
        steps = [(e["epsilon"], Fraction(0), e["times"]) for e in events if e["kind"] == "pure"]
        if steps:
            exact = float(epsilon_at(optimum(steps), delta))
            composed = None
            for epsilon, _, times in steps:
                stated = common.DifferentialPrivacyParameters(float(epsilon), 0.0)
                one = pld.from_privacy_parameters(stated, value_discretization_interval=1e-4)
                one = one.self_compose(times)
                composed = one if composed is None else composed.compose(one)
            # Their losses are rounded up to the grid, once for each step.
            grid = 1e-4 * sum(times for _, _, times in steps)
            assert exact - 1e-6 <= composed.get_epsilon_for_delta(float(delta)) <= exact + grid + 1e-6


def exact_rho(losses: list[tuple[float, float]], times: int, delta: float) -> float:
    """By floats: compose a list of (loss, probability), cut the largest losses of both orders, and search 400 orders."""
    grid, unit = {}, losses[0][0]
    for loss, mass in losses:
        grid[round(loss / unit)] = grid.get(round(loss / unit), 0.0) + mass
    first, last = min(grid), max(grid)
    one = np.array([grid.get(k, 0.0) for k in range(first, last + 1)])
    whole = np.array([1.0])
    for _ in range(times):
        whole = np.convolve(whole, one)
    loss = (first * times + np.arange(len(whole))) * unit
    other = whole * np.exp(-loss)
    best = np.inf
    for keep in range(len(whole)):
        inside = (np.arange(len(whole)) >= keep) & (np.arange(len(whole)) < len(whole) - keep)
        if not inside.any() or whole[inside].sum() < 1 - delta or other[inside].sum() < 1 - delta:
            break
        p, q = whole[inside] / whole[inside].sum(), other[inside] / other[inside].sum()
        ok = (p > 0) & (q > 0)
        ratio = np.log(p[ok] / q[ok])
        orders = np.geomspace(1e-3, 1e3, 400)
        found = [max(logsumexp(t * ratio, b=p[ok]), logsumexp(-t * ratio, b=q[ok])) / t / (1 + t) for t in orders]
        best = min(best, max(found))
    return float(best)


@pytest.mark.parametrize(("times", "delta"), [(1, 0.0), (10, 1e-6), (30, 1e-3)])
def test_a_batch_is_charged_the_rho_of_its_loss_distribution(times: int, delta: float):
    """Randomised response at epsilon 0.4: never below brute force over orders and cuts, and at most a twentieth above."""
    epsilon = 0.4
    odds = np.exp(epsilon) / (1 + np.exp(epsilon))
    truth = exact_rho([(epsilon, odds), (-epsilon, 1 - odds)], times, delta)
    batch = Batch(events=({"kind": "pure", "epsilon": "0.4", "times": times},))
    cost = batch.cost(str(delta))
    assert truth * (1 - 1e-9) <= float(cost.rho) <= 1.05 * truth
    assert cost.rho <= batch.cost().rho and cost.delta <= rational(str(delta)) + Fraction(1, 2**60)


def test_no_batch_is_charged_more_than_its_events_or_less_than_they_lose():
    """Fifty tables at a tenth, by three kinds of noise: the charge implies the pair that the loss distribution has."""
    for event in (
        {"kind": "discrete_laplace", "rate": "0.1", "shift": 1, "times": 50},
        {"kind": "laplace", "epsilon": "0.1", "times": 50},
        {"kind": "discrete_gaussian", "variance": 100, "shift": 1, "times": 50},
    ):
        batch = Batch(events=(event,))
        alone, together = batch.cost(), batch.cost("1e-6")
        assert Fraction(7, 10) * alone.rho < together.rho <= alone.rho
        # What a (rho, delta) charge guarantees at twice delta is no less than what the events do.
        assert rho_to_epsilon(together.rho, MILLIONTH) >= batch.epsilon("2e-6")


def test_steps_on_a_finite_range_fail_together_and_are_charged_together():
    """Ten truncated normal tables of a short range: cut together, they cost a part of what they cost one by one."""
    one = {"kind": "noise", "mechanism": "truncated_normal", "parameters": {"rate": "1/20", "limit": 20}, "shift": 1}
    batch = Batch(events=({**one, "times": 10},))
    alone = batch.cost()
    assert alone.delta > 0 and alone.epsilon is None
    together = batch.cost(alone.delta + Fraction(1, 100))
    assert (float(together.rho), float(alone.rho)) == pytest.approx((0.4765, 0.5014), abs=1e-4)
    assert batch.delta("0.5") >= batch.delta("1") > 0
    assert rho_to_delta(together.rho, Fraction(1)) + together.delta >= batch.delta("1")
    # epsilon is where delta is, to the last step upwards.
    epsilon = batch.epsilon(alone.delta + Fraction(1, 100))
    assert batch.delta(epsilon) <= alone.delta + Fraction(1, 100) < batch.delta(epsilon - Fraction(1, 10**5))
    with pytest.raises(ParameterError):
        Batch(events=({"kind": "noise", "mechanism": "none", "parameters": {}, "shift": 1},))
    with pytest.raises(Unsupported):
        Batch(events=(one, {"kind": "gaussian", "variance": 1, "shift_squared": 1})).epsilon("0.1")


def test_gaussian_events_and_stated_failures_join_a_batch():
    events = (
        {"kind": "gaussian", "variance": 10, "shift_squared": 1, "times": 3},
        {"kind": "approximate", "epsilon": "0.5", "delta": "1e-7", "times": 4},
        {"kind": "pure", "epsilon": "0.5", "times": 2},
    )
    batch = Batch(events=events)
    assert batch.cost("1e-8") == batch.cost()
    cost = batch.cost("1e-6")
    assert Fraction(3, 20) < cost.rho <= batch.cost().rho
    with pytest.raises(ParameterError):
        batch.cost("1")
    assert Batch(events=()).cost("0.1").rho == 0
