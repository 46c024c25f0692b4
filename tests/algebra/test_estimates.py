"""Estimates from measured sums: known answers without noise, Fieller's interval by hand, and what the noise adds."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.bases import pair, sized
from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.estimates import estimated
from dalenius.algebra.intervals import reach
from dalenius.core.domain import CellSpace
from dalenius.core.law import Additive, Joint
from dalenius.core.release import Block
from dalenius.errors import DocumentError
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

SILENCE = DiscreteLaplace(Fraction(40))
X = np.array([0, 2, 3, 7, 8, 10])


def blocks(values: dict[str, list[int]], noise: Any = SILENCE) -> tuple[Block, ...]:
    return tuple(
        Block(name=name, space=CellSpace(()), values=np.array(v), law=Additive(noise)) for name, v in values.items()
    )


def law(estimator: str, sums: dict[str, LinearForm], limits: tuple[str, str] = ("-inf", "inf"), **more: Any) -> Joint:
    return EstimateLaw(estimator=estimator, version=1, sums=sums, limits=limits, **more).to_law()


def arrays(first: int, *names: str) -> dict[str, LinearForm]:
    """Sums that are measured by themselves, from a place on."""
    return {name: LinearForm.array(first + place) for place, name in enumerate(names)}


def test_a_mean_and_its_sampling_error_are_the_textbook_ones() -> None:
    about, half = X - 5, Fraction(1, 2)
    made = estimated(
        law("mean", pair(0, 10, 5), products=arrays(2, "x x"), centres={"x": Fraction(5)}, offset=5 * half, scale=half),
        blocks({"totals": [int(X.sum()), int((10 - X).sum())], "squares": [int((about**2).sum())]}),
        1,
    )
    assert made.values[0] == pytest.approx(X.mean() / 2)
    assert made.sampled is not None
    assert np.sqrt(made.sampled[0]) == pytest.approx(X.std(ddof=1) / np.sqrt(6) / 2, rel=1e-3)
    assert made.counts is not None and made.counts.values[0] == 6
    lower, upper = made.ends(0.95, True)
    # Student's quantile at five degrees of freedom.
    assert upper[0] - made.values[0] == pytest.approx(2.5706 * X.std(ddof=1) / np.sqrt(6) / 2, rel=1e-3)
    assert lower[0] < made.values[0]


def test_a_variance_is_the_textbook_one() -> None:
    about = X - 5
    sums, measured = sized(0, 5, 6) | arrays(1, "x x"), blocks({"above": [X.sum()], "squares": [about @ about]})
    made = estimated(law("variance", sums, ("0", "100"), centres={"x": Fraction(5)}), measured, 1)
    assert made.values[0] == pytest.approx(X.var(ddof=1), rel=1e-6)
    root = estimated(law("standard_deviation", sums, ("0", "10"), centres={"x": Fraction(5)}), measured, 1)
    assert root.values[0] == pytest.approx(X.std(ddof=1), rel=1e-6)


def test_a_correlation_is_the_textbook_one() -> None:
    y = np.array([1, 2, 2, 6, 9, 9])
    a, b = X - 5, y - 4
    sums = sized(0, 5, 6) | arrays(1, "y", "x x", "y y", "x y")
    measured = blocks({"x": [X.sum()], "y": [b.sum()], "xx": [a @ a], "yy": [b @ b], "xy": [a @ b]})
    made = estimated(law("correlation", sums, ("-1", "1")), measured, 1)
    assert made.values[0] == pytest.approx(np.corrcoef(X, y)[0, 1], rel=1e-6)


def test_a_fieller_interval_by_hand() -> None:
    noise = DiscreteGaussian(Fraction(100))
    made = estimated(
        law("ratio", arrays(0, "x", "y"), ("0", "inf"), least=Fraction(30)), blocks({"x": [300], "y": [200]}, noise), 1
    )
    lower, upper = made.ends(0.95, False)
    for theta in (lower[0], upper[0]):
        assert (300 - theta * 200) ** 2 == pytest.approx(1.959964**2 * 100 * (1 + theta**2), rel=1e-4)


def test_a_ratio_over_nothing_is_missing_and_its_interval_is_everything() -> None:
    made = estimated(
        law("ratio", arrays(0, "x", "y"), ("0", "inf"), least=Fraction(30)),
        blocks({"x": [300], "y": [20]}, DiscreteGaussian(Fraction(100))),
        1,
    )
    assert np.isnan(made.values[0])
    assert [end[0] for end in made.ends(0.95, False)] == [0, np.inf]


def test_a_proportion_has_wilsons_interval() -> None:
    sums = {"1": LinearForm({0: Fraction(1), 1: Fraction(1)}), "x in": LinearForm.array(0)}
    made = estimated(law("proportion", sums, ("0", "1")), blocks({"counts": [3, 97]}), 1)
    lower, upper = made.ends(0.95, True)
    z, n, p = 1.959964, 100, 0.03
    middle, half = (p + z * z / (2 * n)), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # Student's quantile at 99 degrees of freedom makes it a little wider.
    assert lower[0] == pytest.approx((middle - half) / (1 + z * z / n), rel=0.03)
    assert upper[0] == pytest.approx((middle + half) / (1 + z * z / n), rel=0.03)


def test_an_uncertain_variance_widens_and_heavy_tails_widen() -> None:
    one, none = np.ones(1), np.zeros(1)
    plain = reach(0.95, one, fourth=none)[0]
    assert plain == pytest.approx(1.959964, rel=1e-5)
    assert reach(0.95, one, fourth=none, uncertainty=0.2)[0] == pytest.approx(2.2281, rel=1e-3)
    assert 2.1 < reach(0.95, one, fourth=3 * one)[0] < 2.2


def test_a_law_of_another_version_is_not_read() -> None:
    other = EstimateLaw(estimator="ratio", version=2, sums=arrays(0, "x", "y"), limits=("0", "inf")).to_law()
    with pytest.raises(DocumentError, match="version 2 of the estimator 'ratio'"):
        estimated(other, blocks({"x": [300], "y": [200]}), 1)
