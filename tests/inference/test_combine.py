"""Combining releases: corrected weights, exact joint likelihood, inflation factors."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from scipy.stats import poisson

from dalenius.core.release import Condition
from dalenius.errors import ParameterError, Unsupported
from dalenius.inference import combine, equipartition, from_values, independence, intervals, observe
from dalenius.inference.noise import Noise


def test_weights_are_proportional_to_epsilon_squared_for_small_epsilon(laplace, make_release) -> None:
    table = np.array([[100, 200], [300, 400]])
    both = combine([make_release(table, laplace("0.02")), make_release(table + 10, laplace("0.04"))])
    assert both.weights[1, 0, 0] / both.weights[0, 0, 0] == pytest.approx(4, rel=1e-3)
    assert both.weights.sum(0) == pytest.approx(np.ones((2, 2)))
    v, w = Noise.of(laplace("0.02")).variance, Noise.of(laplace("0.04")).variance
    assert both.variance[0, 0] == pytest.approx(v * w / (v + w))
    assert both.values == pytest.approx(table + 8, abs=0.01)
    assert "inverse variance" in str(both) and len(both.to_dict()["values"]) == 4


def test_a_list_of_releases_uses_the_exact_likelihood(laplace, make_release) -> None:
    rng = np.random.default_rng(6)
    truth = np.array([[60, 30], [28, 61]])
    law = laplace("0.3")
    noise = from_values(truth, law).channel
    releases = [make_release(noise.send(truth, rng), law) for _ in range(3)]
    seen = observe(releases)
    assert seen.values.shape == (2, 2, 3)
    assert np.asarray(seen.variance(truth * 1.0)).mean() == pytest.approx(law.variance / 3)
    one, three = (independence(source, replicates=199) for source in (releases[0], releases))
    assert three.p_value <= one.p_value or three.p_value <= 0.01
    wide, narrow = (intervals(source) for source in (releases[0], releases))
    assert np.mean(narrow.upper - narrow.lower) < 0.7 * np.mean(wide.upper - wide.lower)


@pytest.mark.parametrize("kind", ["population", "parameter"])
def test_intervals_of_two_releases_cover_by_summation(laplace, make_release, kind: str) -> None:
    """All pairs of released values and their exact probabilities: no simulation, no approximation."""
    laws = (laplace("1"), laplace("0.6"))
    first, second = (Noise.of(law) for law in laws)
    wide = np.arange(-22, 33)
    truth, counts = 4, np.arange(30)
    x, y = (grid.reshape(1, -1) for grid in np.meshgrid(truth + wide, truth + wide, indexing="ij"))
    found = intervals([make_release(x, laws[0]), make_release(y, laws[1])], kind=kind)
    hit = (found.lower <= truth) & (truth <= found.upper)

    def chance(noise: Noise, values: np.ndarray) -> np.ndarray:
        place = values[:, None] - counts - noise.first
        inside = (place >= 0) & (place < len(noise.pmf))
        return np.where(inside, noise.pmf[np.clip(place, 0, len(noise.pmf) - 1)], 0.0)

    weight = (counts == truth) * 1.0 if kind == "population" else poisson.pmf(counts, truth)
    probability = (chance(first, x[0]) * chance(second, y[0])) @ weight
    assert probability.sum() > 0.99999  # the rest counts as missed
    assert probability[hit].sum() >= 0.95
    alone = intervals(make_release(x, laws[0]), kind=kind)
    assert np.mean(found.upper - found.lower) < np.mean(alone.upper - alone.lower)
    assert "2 releases" in found.method


def test_refusals(laplace, make_release) -> None:
    one = make_release([[1, 2]], laplace("1"))
    with pytest.raises(ParameterError):
        combine([one])
    with pytest.raises(Unsupported, match="different tables"):
        combine([one, make_release([[1, 2]], laplace("1"), names="XY")])
    with pytest.raises(Unsupported, match="different tables"):
        observe([one, make_release([[1], [2]], laplace("1"))])


def test_three_inflation_factors() -> None:
    found = equipartition(10, epsilon=1.0, delta=1e-6)
    assert found.pure == 10
    assert found.zero_concentrated == 1
    assert found.advanced_as_published == pytest.approx(log(1e6))
    # At k = 10 advanced composition does not help: each part keeps epsilon / k.
    assert found.advanced == pytest.approx(10)
    many = equipartition(1000, epsilon=1.0, delta=1e-6)
    assert 2 * log(1e6) < many.advanced < 2.3 * log(1e6) < many.pure
    assert equipartition(1).advanced == pytest.approx(1)
    assert "variance x" in str(many) and many.to_dict()["parts"] == 1000
    with pytest.raises(ParameterError):
        equipartition(0)


def test_releases_of_another_version_or_condition_are_no_second_measurement(laplace, make_release) -> None:
    first, second = (make_release([[40, 60]], laplace("1")) for _ in range(2))
    later = replace(second, provenance=replace(second.provenance, version="2014"))
    condition = Condition(variable="age", low="18")
    filtered = replace(second, subject=replace(second.about, where=(condition,)))
    for other, words in ((later, "same version"), (filtered, "same number")):
        for several in (combine, observe):
            with pytest.raises(Unsupported, match=words):
                several([first, other])
