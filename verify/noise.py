"""Noise at depth: exact losses over a grid of parameters, and samplers on the system's generator at ten million draws.

The chi-square tests reject at 1e-9 each, so that a run of this module fails by chance less than once in ten million.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from tests.audit.exact_losses import hockey_stick

from dalenius.core import registry
from dalenius.core.law import Additive
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import SystemRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact.sampling import sample

_RATES = [Fraction(1, 20), Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(3)]
_EPSILONS = [Fraction(k, 4) for k in range(13)]


def _members(quick: bool) -> list[Any]:
    laplace = registry.get("mechanisms", "discrete_laplace")
    gaussian = registry.get("mechanisms", "discrete_gaussian")
    truncated = registry.get("mechanisms", "truncated_laplace")
    rates = _RATES[2:4] if quick else _RATES
    return [
        *(laplace(r) for r in rates),
        *(gaussian(1 / (r * r)) for r in rates),
        *(truncated(r, m) for r in rates for m in (3, 10, 40)),
    ]


def _losses(quick: bool) -> dict[str, Any]:
    """Claimed delta(epsilon) against direct summation: never below it, and equal to it for one moved cell."""
    checked, violations, largest_gap = 0, 0, Fraction(0)
    for member in _members(quick):
        for shift in (1, 2, 3):
            profile = member.profile(Sensitivity.of_patterns(((shift,),)), Relation.ADD_REMOVE)
            for epsilon in _EPSILONS:
                low, high = hockey_stick(member, shift, epsilon)
                claimed = profile.delta_at(epsilon)
                checked += 1
                violations += claimed < low
                largest_gap = max(largest_gap, claimed - high)
    return {"checked": checked, "violations": violations, "largest_gap": float(largest_gap)}


def _fits(quick: bool) -> list[dict[str, Any]]:
    """Chi-square of draws on the system's generator in cells of about equal probability."""
    from scipy.stats import chi2

    rows = []
    draws = 200_000 if quick else 10_000_000
    for family, key, values in (
        ("discrete_laplace", "rate", ["1", "1/10", "1/100", "1/1000", "1/1000000"]),
        ("discrete_gaussian", "sigma_squared", ["1", "100", "10000", "1000000", "1000000000000"]),
    ):
        for value in values:
            law = Additive(registry.get("mechanisms", family)(**{key: Fraction(value)}))
            edges = np.unique([law.quantile(p) for p in np.linspace(0.01, 0.99, 50)])
            expected = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]])) * draws
            seen = np.bincount(
                np.searchsorted(edges, sample(law.noise, draws, SystemRandomness())), minlength=len(expected)
            )
            statistic = float(((seen - expected) ** 2 / expected).sum())
            p = float(chi2.sf(statistic, len(expected) - 1))
            rows.append({"family": family, key: value, "draws": draws, "p": p})
    return rows


def run(quick: bool = False) -> dict[str, object]:
    """Exact losses and fits of the samplers; ok if no claim is too small and no fit is refuted."""
    losses, fits = _losses(quick), _fits(quick)
    ok = losses["violations"] == 0 and losses["largest_gap"] < 1e-20 and all(f["p"] > 1e-9 for f in fits)
    return {"ok": ok, "losses": losses, "fits": fits}
