"""Tabulated noise: known quantiles, brute-force sums, tails that keep their precision."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius import Curator, table
from dalenius.core import registry
from dalenius.core.law import Additive
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.perturbation import max_entropy_kernel
from dalenius.inference import intervals
from dalenius.inference.channel import Kernelled, Repeated, Shifted
from dalenius.inference.noise import Noise, _convolve
from dalenius.mechanisms.custom_utility import CustomUtility


@pytest.mark.parametrize(("epsilon", "at_95", "at_99"), [("0.1", 30, 46), ("0.5", 6, 9), ("1", 3, 4), ("2", 1, 2)])
def test_half_widths_of_the_discrete_laplace(laplace, epsilon, at_95, at_99) -> None:
    noise = Noise.of(laplace(epsilon))
    assert (noise.half_width(0.95), noise.half_width(0.99)) == (at_95, at_99)


def test_moments_and_tails(laplace) -> None:
    noise = Noise.of(laplace("1"))
    assert noise.variance == pytest.approx(1.841347188, abs=1e-8)
    assert noise.mean == pytest.approx(0, abs=1e-12)
    assert noise.upper_tail(20) == pytest.approx(np.exp(-20) / (1 + np.exp(-1)), rel=1e-5)
    assert noise.cdf(-20) == pytest.approx(noise.upper_tail(20), rel=1e-9)
    assert noise.cdf(3) - noise.cdf(-4) == pytest.approx(0.973220390, abs=1e-9)


def symmetric_laws() -> list[Additive]:
    def law(name: str, **parameters: object) -> Additive:
        return Additive(registry.get("mechanisms", name)(**parameters))

    return [
        *(law("discrete_laplace", rate=Fraction(rate)) for rate in ("0.01", "0.3", "1", "2.7")),
        *(law("discrete_gaussian", sigma_squared=Fraction(s)) for s in ("0.7", "12.3", "4000")),
        law("truncated_laplace", rate=Fraction("0.4"), limit=9),
        law("truncated_normal", rate=Fraction("0.15"), limit=7),
        law("max_entropy", cap=Fraction("2.5"), limit=6),
        law("staircase", epsilon=Fraction("0.8"), width=3, gap=1),
        Additive(CustomUtility.of("0.3", [7, 3, 1, 0, 1, 3, 7])),
    ]


@pytest.mark.parametrize("law", symmetric_laws(), ids=lambda law: f"{law.noise.name}-{law.variance:.3g}")
def test_the_mean_of_a_symmetric_law_and_of_its_sums_is_exactly_zero(law: Additive) -> None:
    one, other = (Noise.of(law), Noise.of(Additive(registry.get("mechanisms", "discrete_laplace")(Fraction(1, 7)))))
    assert law.noise.mean == 0.0
    for noise in (one, one.times(2), one.times(37), one.plus(other), one.plus(other.reflected()), one.dilated(3)):
        assert noise.mean == 0.0
        assert noise.is_symmetric
        assert noise.pmf.sum() == pytest.approx(1, abs=1e-14)
    assert one.variance == pytest.approx(law.noise.variance, rel=1e-9)


def test_the_mean_of_a_skewed_law_is_its_mean() -> None:
    law = CustomUtility.of("0.3", [7, 3, 1, 0, 2, 5, 9])
    weight = np.exp(-0.3 * np.array([7, 3, 1, 0, 2, 5, 9]))
    exact = float((np.arange(-3, 4) * weight).sum() / weight.sum())
    assert exact < -0.1
    assert law.mean == pytest.approx(exact)
    noise = Noise.of(Additive(law))
    assert not noise.is_symmetric
    assert noise.mean == pytest.approx(exact)
    assert law.variance == pytest.approx(noise.variance)


@pytest.mark.parametrize(("limit", "variance"), [(2, 1), (5, 3), (10, 4), (20, 12.5)])
def test_a_kernel_designed_without_bias_shifts_no_value(limit: int, variance: float) -> None:
    values = np.arange(100)
    assert np.array_equal(Kernelled(max_entropy_kernel(limit, variance)).centre(values), values)


def test_releases_that_agree_are_answered_by_the_number_they_agree_on(laplace) -> None:
    channel = Repeated([Shifted(Noise.of(laplace(epsilon))) for epsilon in ("0.1", "0.3", "0.7")])
    values = np.arange(-50, 50)
    assert np.array_equal(channel.centre(np.stack([values] * 3, axis=-1)), values)


def test_sum_and_difference_against_enumeration() -> None:
    left, right = Noise(-1, np.array([0.2, 0.5, 0.3])), Noise(0, np.array([0.9, 0.1]))
    expected = dict.fromkeys(range(-2, 3), 0.0)
    for i, p in zip(left.points, left.pmf, strict=True):
        for j, q in zip(right.points, right.pmf, strict=True):
            expected[int(i - j)] += p * q
    found = left.plus(right.reflected())
    assert {int(k): float(p) for k, p in zip(found.points, found.pmf, strict=True)} == pytest.approx(
        {k: p for k, p in expected.items() if p}
    )
    three = left.times(3)
    assert three.mean == pytest.approx(3 * left.mean)
    assert three.variance == pytest.approx(3 * left.variance)
    assert three.pmf == pytest.approx(np.convolve(np.convolve(left.pmf, left.pmf), left.pmf))


def test_long_convolutions_agree_with_short_ones() -> None:
    pmf = np.exp(-np.abs(np.arange(-3000, 3001)) / 200.0)
    pmf /= pmf.sum()
    assert _convolve(pmf, pmf) == pytest.approx(np.convolve(pmf, pmf), abs=1e-14)


def test_refusals() -> None:
    with pytest.raises(ParameterError):
        Noise.none().half_width(1.0)
    with pytest.raises(ParameterError):
        Noise.none().times(0)


def test_noise_of_too_many_values_is_not_tabulated(laplace) -> None:
    """A total of amounts in hundredths of a cent: a table of its noise took 50 s and gigabytes."""
    with pytest.raises(TooLarge, match="coarser"):
        Noise.of(laplace("1/400000"))


def test_totals_in_fine_steps_have_the_interval_of_their_law(tmp_path) -> None:
    declared = {
        "dataset": {"name": "earnings", "population": "earnings", "public": True},
        "variables": {
            "sex": {"categories": ["f", "m"]},
            "region": {"categories": ["n", "s"]},
            "earnings": {"bounds": [0, 400], "step": "0.0001"},
        },
    }
    rows = {"sex": ["f", "m"], "region": ["n", "s"], "earnings": [7.25, 12.5001]}
    with Curator.open(rows, declared, ledger=tmp_path / "l.sqlite", rng=RecordedRandomness("earnings")) as curator:
        curator.register()
        release = curator.release(table(rows=["sex", "region"], measure="total", of="earnings", epsilon=1))
    lower, upper = release.interval()
    found = intervals(release)
    np.testing.assert_allclose([found.lower, found.upper], [lower.ravel(), upper.ravel()])
    sums = intervals(release, "sex")
    # Two Laplace draws reach less than one of the same variance, and no less than the normal law.
    assert 1.96 < (sums.upper[0] - sums.lower[0]) / 2 / release.table.std_error[0] / 2**0.5 < 2.2
