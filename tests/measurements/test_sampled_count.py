"""Counts of a secret sample: the exact loss of the mixture, fresh draws, honest intervals; and faults that must be found."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dalenius.algebra.thinned import ends
from dalenius.core.law import Additive, IntArray, Thinned
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, Unsupported
from dalenius.exact import bernoulli
from dalenius.exact.amplification import Scheme, SecretSample
from dalenius.exact.bernoulli import thinned
from dalenius.inference.cells import intervals
from dalenius.inference.independence import independence
from dalenius.measurements import sampled_count
from dalenius.measurements._example import COUNTS
from dalenius.measurements.sampled_count import SampledCount
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.publish import formats, from_json, write_json
from dalenius.spec.load import load_dataset
from dalenius.statistics.count import Count
from dalenius.testing import measurement_kit, rule_kit
from dalenius.testing.asking import plan_of
from dalenius.testing.method_kit import released

DOMAIN = load_dataset(rule_kit.DATASET).domain()
REQUEST: dict[str, Any] = {
    "table": {"rows": ["sex"], "sample": "1/10"},
    "privacy": {"definition": "pure", "epsilon": 1},
}
Laws = list[np.ndarray[Any, Any]]


def planned(**table: Any) -> SampledCount:
    """The step of a request, through the planner."""
    (step,) = plan_of(DOMAIN, REQUEST | {"table": REQUEST["table"] | table}).measurements
    assert isinstance(step, SampledCount)
    return step


def laws(step: SampledCount, most: int = 4, reach: int = 60) -> Laws:
    """The exact law of one cell for every count up to a few, by summing over who is drawn."""
    noise = Additive(step.mechanism)
    outputs = np.arange(-reach, reach + most + 1)
    drawn = [binom.pmf(np.arange(n + 1), n, float(step.fraction)) for n in range(most + 1)]
    return [np.array([noise.pmf(outputs - k) for k in range(len(p))]).T @ p for p in drawn]


def largest_loss(step: SampledCount) -> float:
    """Over all pairs of neighbouring counts, in both orders."""
    every = laws(step)
    return max(float(np.abs(np.log(p) - np.log(q)).max()) for p, q in pairwise(every))


def divergence(step: SampledCount, order: int) -> float:
    """The largest Renyi divergence of this order between neighbouring counts."""
    every = laws(step)
    pairs = [pair for p, q in pairwise(every) for pair in ((p, q), (q, p))]
    moments = (float((p * np.exp((order - 1) * (np.log(p) - np.log(q)))).sum()) for p, q in pairs)
    return max(map(log, moments)) / (order - 1)


@pytest.mark.parametrize("fraction", ["1/10", "1/3", "9/10"])
def test_the_exact_loss_of_the_mixture_is_what_was_guaranteed(fraction: str) -> None:
    step = planned(sample=fraction)
    profile = step.profile(DOMAIN.neighbours)
    assert profile.epsilon is not None and profile.epsilon <= 1 and not profile.delta
    assert largest_loss(step) == pytest.approx(1, abs=1e-3) and largest_loss(step) <= 1 + 1e-9
    assert profile.rho is not None
    for order in (2, 3, 8, 32):
        assert divergence(step, order) <= order * float(profile.rho)
    # The noise on the sample is that of a larger epsilon.
    inside = log(1 + (exp(1) - 1) / float(Fraction(fraction)))
    assert float(step.mechanism.parameters["rate"]) == pytest.approx(inside, rel=1e-3)


def test_a_planted_charge_of_rho_times_the_square_of_the_fraction_is_found() -> None:
    step = planned()
    inner = step.mechanism.profile(Count(step.query).sensitivity(DOMAIN.neighbours), Relation.ADD_REMOVE)
    assert inner.rho is not None
    planted = inner.rho * step.fraction**2
    assert divergence(step, 2) > 2 * float(planted)


def test_a_planted_charge_of_epsilon_times_the_fraction_is_found() -> None:
    step = planned()
    assert largest_loss(step) > 2 * float(step.fraction * Fraction(step.mechanism.parameters["rate"]))


def answers(step: SampledCount, runs: int = 200) -> IntArray:
    """Two answers each on forty records of a cell, from a recorded source."""
    rng, content = RecordedRandomness("fresh"), (Sealed(np.array([40, 0])),)
    outcomes = [step.run(content, step.draw(rng), rng) for _ in range(2 * runs)]
    values = [outcome.values[0] for outcome in outcomes if isinstance(outcome, Value)]
    return np.array(values).reshape(runs, 2)


def correlation(pairs: IntArray) -> float:
    return float(np.asarray(np.corrcoef(pairs.T))[0, 1])


def test_every_release_draws_its_sample_afresh_and_a_planted_kept_sample_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = SampledCount("s", COUNTS, DiscreteLaplace(Fraction(3)), Fraction(1, 2))
    assert abs(correlation(answers(step))) < 0.25
    kept: list[IntArray] = []

    def drawn_for_two(right: Callable[..., IntArray]) -> Callable[..., IntArray]:
        def wrong(*arguments: Any) -> IntArray:
            if not kept:
                kept.append(right(*arguments))
                return kept[0]
            return kept.pop()

        return wrong

    monkeypatch.setattr(sampled_count, "thinned", drawn_for_two(thinned))
    assert correlation(answers(step)) > 0.75
    # What that would cost: two answers on one sample lose more than twice what one loses.
    q, epsilon = 0.5, 3.0
    together, alone = log(1 + q * (exp(2 * epsilon) - 1)), log(1 + q * (exp(epsilon) - 1))
    assert together > 2 * alone


def test_the_kit_finds_noise_that_is_priced_as_if_it_were_amplified_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measurement_kit.check(SampledCount) > 0
    right = SampledCount.profile

    def wrong(self: SampledCount, neighbours: Neighbours) -> Any:
        return SecretSample(fraction=self.fraction, scheme=Scheme.POISSON).amplified(right(self, neighbours))

    monkeypatch.setattr(SampledCount, "profile", wrong)
    with pytest.raises(AssertionError, match="the profile says"):
        measurement_kit.check(SampledCount)


def test_coins_are_exact_binomial_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([0, 3, 1, 0, 5])
    for value in (0, 1, 2**64 // 3):
        # Every coin reads this word: it is a head if the word's remainder is below the numerator.
        monkeypatch.setattr(bernoulli, "words", lambda rng, n, value=value: np.full(n, value, dtype=np.uint64))
        heads = thinned(counts, Fraction(1, 3), RecordedRandomness("coins"))
        assert heads.tolist() == (counts if value % 3 == 0 else 0 * counts).tolist()
    monkeypatch.undo()
    rng = RecordedRandomness("coins")
    drawn = thinned(np.full(4000, 3), Fraction(1, 3), rng)
    frequencies = np.bincount(drawn, minlength=4) / 4000
    assert frequencies == pytest.approx(binom.pmf(np.arange(4), 3, 1 / 3), abs=0.03)
    assert thinned(np.array([], dtype=np.int64), Fraction(1, 3), rng).tolist() == []


def test_intervals_cover_every_count_and_hold_sampling_and_noise() -> None:
    law = Thinned(Additive(DiscreteLaplace(Fraction(1))), Fraction(1, 4))
    outputs = np.arange(-40, 130)
    lower, upper = ends(law, outputs, 0.9)
    noise = law.additive.pmf(np.arange(-60, 61))
    for count in (0, 1, 2, 7, 30, 200):
        sampled = binom.pmf(np.arange(count + 1), count, 0.25)
        chances = np.convolve(sampled, noise)
        values = np.arange(-60, 61 + count)
        is_inside = np.isin(values, outputs[(lower <= count) & (count <= upper)])
        assert chances[is_inside].sum() >= 0.9 - 1e-9


def test_a_sample_goes_from_the_request_to_every_product(tmp_path: Path) -> None:
    release = released(REQUEST, tmp_path / "ledger.sqlite")
    (block,), table = release.blocks, release.table
    assert isinstance(release.law, Thinned) and table.values == pytest.approx(block.values * 10)
    noise = release.law.additive.variance
    assert table.variance == pytest.approx((np.maximum(block.values, 0) * 0.9 + noise) * 100)
    assert write_json(from_json(write_json(release))) == write_json(release)
    found = intervals(release)
    lower, upper = release.interval()
    assert found.lower == pytest.approx(lower.ravel()) and found.upper == pytest.approx(upper.ravel())
    assert (upper - lower > 2 * noise).all() and (lower >= 0).all()
    html = formats()["html"].content(release).decode()
    assert "secret sampling and privacy noise together" in html and "chance 1/10 for every record" in html
    with pytest.raises(DaleniusError):
        independence(release)
    with pytest.raises(Unsupported, match="for the population"):
        intervals(release, kind="parameter")
    # The total is a sum of cells, with the sum of their variances.
    assert release.margin().variance[0] == pytest.approx(table.variance.sum())


def test_the_account_is_charged_the_amplified_epsilon(tmp_path: Path) -> None:
    with Curator.open(
        rule_kit.DATASET, data=rule_kit.ROWS, ledger=tmp_path / "l.sqlite", policy=rule_kit.policy_of(None)
    ) as curator:
        curator.register()
        cost = curator.plan(REQUEST).cost
        assert cost.epsilon is not None and 0.999 < cost.epsilon <= 1 and 0.4 < cost.rho <= Fraction(1, 2)
        assert "off by at most" in curator.plan(REQUEST)._repr_html_()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"privacy": {"definition": "zero_concentrated", "rho": 1}}, "rho is not amplified"),
        ({"privacy": {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}}, "pure epsilon"),
        ({"privacy": {"definition": "pure", "epsilon": 1, "group": 2}}, "one row each"),
        ({"table": {"rows": ["sex"], "sample": "1/10", "margins": "all"}}, "'sample'"),
        ({"table": {"rows": ["sex"], "sample": "1/10", "measure": "total", "of": "income"}}, "sample"),
        ({"table": {"rows": ["sex"], "sample": 1}}, "between 0 and 1"),
        ({"table": {"rows": ["sex"], "sample": "1/8589934593"}}, r"2\*\*32"),
    ],
)
def test_what_is_not_proved_is_refused_by_name(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DaleniusError, match=words):
        plan_of(DOMAIN, REQUEST | change)


def test_replaced_units_and_noise_without_a_bound_are_refused() -> None:
    replaced = load_dataset(rule_kit.DATASET | {"unit": {"relation": "replace"}}).domain()
    with pytest.raises(Unsupported, match="under replace"):
        plan_of(replaced, REQUEST)
    gaussian = SampledCount("s", COUNTS, DiscreteGaussian(Fraction(1)), Fraction(1, 2))
    with pytest.raises(Unsupported, match="no certain bound"):
        gaussian.profile(DOMAIN.neighbours)
