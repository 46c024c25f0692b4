"""Many cells of discrete Gaussian noise as one Gaussian step: never below the exact delta, and close to it."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.conversions import rho_to_delta
from dalenius.exact import gaussian_vector
from dalenius.exact.gaussian_vector import Smoothed, largest_rho, smoothed

EPSILONS = (Fraction(1, 4), Fraction(1), Fraction(3))


def exact_delta(variances: list[Fraction], shifts: list[int], epsilon: float) -> float:
    """By listing all outcomes of a few cells, in floats."""
    losses, masses = np.zeros(1), np.ones(1)
    for variance, shift in zip(variances, shifts, strict=True):
        s2 = float(variance)
        reach = int(9 * s2**0.5) + abs(shift) + 2
        x = np.arange(-reach, reach + 1)
        weights = np.exp(-(x**2) / (2 * s2))
        own = (shift**2 - 2 * shift * x) / (2 * s2)
        losses = np.add.outer(losses, own).ravel()
        masses = np.multiply.outer(masses, weights / weights.sum()).ravel()
        is_heavy = masses > 1e-14
        losses, masses = losses[is_heavy], masses[is_heavy]
    return float((masses * np.maximum(0, -np.expm1(epsilon - losses))).sum())


def bound(variances: list[Fraction], shifts: list[int]) -> Smoothed | None:
    parts = dict(enumerate(variances))
    return smoothed(
        parts,
        dict.fromkeys(parts, 1),
        lambda grid: sum((Fraction(shifts[k] ** 2) / v for k, v in grid.items()), Fraction(0)),
    )


@pytest.mark.parametrize(
    ("variances", "shifts"),
    [
        ([Fraction(3)], [1]),
        ([Fraction(7, 2)], [2]),
        ([Fraction(25)], [-4]),
        ([Fraction(4), Fraction(9)], [1, 2]),
        ([Fraction(12), Fraction(20), Fraction(40)], [1, 1, -3]),
    ],
)
def test_the_bound_is_above_the_exact_delta_of_every_listed_outcome(
    variances: list[Fraction], shifts: list[int]
) -> None:
    whole = bound(variances, shifts)
    assert whole is not None
    rho = sum(Fraction(s * s) / v for s, v in zip(shifts, variances, strict=True)) / 2
    for epsilon in EPSILONS:
        exact = exact_delta(variances, shifts, float(epsilon))
        assert float(whole.delta(epsilon)) >= exact * (1 - 1e-9)
    # Where noise is wide the bound is near, and far below what follows from rho alone.
    if min(variances) >= 12:
        exact = exact_delta(variances, shifts, 1.0)
        assert float(whole.delta(Fraction(1))) < 1.5 * exact
        assert whole.delta(Fraction(1)) < rho_to_delta(rho, Fraction(1))


def test_without_the_variance_for_the_grain_narrow_noise_would_be_underpriced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bound([Fraction(3, 10)], [1]) is None
    monkeypatch.setattr(gaussian_vector, "_smoothing", lambda cells: (Fraction(0), Fraction(0)))
    whole = bound([Fraction(3, 10)], [1])
    assert whole is not None
    assert any(float(whole.delta(e)) < exact_delta([Fraction(3, 10)], [1], float(e)) for e in EPSILONS)


def test_more_cells_take_more_variance_and_the_slack_stays_negligible() -> None:
    (few, little), (many, much) = (gaussian_vector._smoothing(cells) for cells in (1, 10**7))
    assert few < many < Fraction(5, 2)
    assert max(little, much) <= Fraction(1, 10**11)


def test_the_search_begins_at_the_rho_of_the_gaussian_formula() -> None:
    """(1, 1e-6) and (4, 1e-6): 13.1 and 11.4 percent less variance than rho alone allows."""
    assert float(largest_rho(Fraction(1), Fraction(1, 10**6))) == pytest.approx(0.02801, abs=1e-5)
    assert largest_rho(Fraction(4), Fraction(1, 10**6)) > Fraction(3, 10)
