"""Rinott, O'Keefe, Shlomo & Skinner (2018): Table 1 as data, maximum entropy (5.3), Hellinger noise (5.4), expected
losses (5.6.1).

The sections state formulas and claims rather than numbers: a row holds a claim (True), or the value of a printed
formula beside the sum that it stands for.
"""

from fractions import Fraction
from math import exp

import numpy as np

from dalenius.algebra.losses import association
from dalenius.core.law import Additive, IntegerLaw
from dalenius.mechanisms.max_entropy import MaxEntropy
from dalenius_lab.reproductions.ft import noise_of, within
from dalenius_lab.reproductions.ft_figures import table_1
from dalenius_lab.reproductions.items import Row, corrected, row

_SETTINGS = (("1.5", 7, 12), ("0.5", 7, 10))
_TOP = 20_000


def table1(full: bool = False) -> list[Row]:
    """The chi-square test of the table that the paper prints: "close to zero" in numbers."""
    from scipy.stats import chi2

    counts = table_1().astype(np.float64)
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return [
        row("persons", None, int(counts.sum())),
        row("cells below 3", None, int((counts < 3).sum())),
        row("chi-square", None, statistic),
        row("degrees of freedom", None, freedom),
        row("p-value is close to zero", True, float(chi2.sf(statistic, freedom)) < 1e-300),
        row("Cramer's V", None, association(counts)[0]),
    ]


def _entropy(law: IntegerLaw) -> float:
    low, high = law.support
    assert low is not None and high is not None
    mass = Additive(law).pmf(np.arange(low, high + 1))
    return float(-(mass * np.log(mass)).sum())


def max_entropy(full: bool = False) -> list[Row]:
    """The discretised normal law has "approximately" the largest entropy for its range and variance: it has exactly
    that.
    """
    rows = []
    for epsilon, laplace_limit, limit in _SETTINGS:
        normal, laplace = noise_of("normal", epsilon, limit), noise_of("laplace", epsilon, laplace_limit)
        best = MaxEntropy(cap=Fraction(_variance(normal)), limit=limit)
        share = _entropy(normal) / _entropy(best)
        rows.append(row(f"normal eps={epsilon}: approximately the largest entropy", True, abs(share - 1) < 1e-6))
        rows.append(row(f"normal eps={epsilon}: entropy", None, _entropy(normal)))
        flat = MaxEntropy(cap=Fraction(_variance(laplace)), limit=laplace_limit)
        rows.append(
            row(
                f"Laplace eps={epsilon}: share of the largest entropy for its variance",
                None,
                _entropy(laplace) / _entropy(flat),
            )
        )
        rows.append(
            row(f"Laplace eps={epsilon}: smaller variance than normal", True, _variance(laplace) < _variance(normal))
        )
    return rows


def _variance(law: IntegerLaw) -> float:
    return float(Additive(law).variance)


def _hellinger(epsilon: float, value: int, reach: int) -> float:
    """P(the shown value is within `reach`) for p(a, b) proportional to exp(-epsilon |sqrt b - sqrt a| / 2)."""
    root = np.sqrt(np.arange(_TOP + 1))
    weight = np.exp(-epsilon / 2 * np.abs(root - np.sqrt(value)))
    return float(weight[max(0, value - reach) : value + reach + 1].sum() / weight.sum())


def hellinger(full: bool = False) -> list[Row]:
    """ "Considerably worse": the probabilities of Table 2 for Hellinger noise, and the change of its utility."""
    steps = np.diff(np.sqrt(np.arange(_TOP + 1)))
    rows = [row("largest change of the utility", "1", float(steps.max()))]
    shares = []
    for epsilon, limit, _ in _SETTINGS:
        laplace = noise_of("laplace", epsilon, limit)
        for value in (0, 1, 5):
            for reach in (0, 2, 4):
                ours = _hellinger(float(epsilon), value, reach)
                shares.append(ours / within(laplace, value, reach))
                rows.append(row(f"eps={epsilon} a={value} within={reach}", None, ours))
    return [
        *rows,
        row("every one below the Laplace probability", True, max(shares) < 1),
        # Small beside them they are at epsilon 0.5 only.
        row("every one below a quarter of the Laplace probability", True, max(shares) < 0.25),
        row("largest share of the Laplace probability", None, max(shares)),
    ]


def expected_loss(full: bool = False) -> list[Row]:
    """The printed expressions of 5.6.1 beside the sums; the one without truncation lacks a factor of two."""
    rows = []
    for epsilon, limit, normal_limit in _SETTINGS:
        a = exp(-float(epsilon))
        c = 1 + 2 * a * (1 - a**limit) / (1 - a)
        printed = 2 * a * (limit * a ** (limit + 1) - (limit + 1) * a**limit + 1) / (c * (a - 1) ** 2)
        law = noise_of("laplace", epsilon, limit)
        points = np.arange(-limit, limit + 1)
        ours = float((np.abs(points) * Additive(law).pmf(points)).sum())
        rows.append(row(f"E|b - a|, Laplace eps={epsilon} m={limit}", f"{printed:.12g}", ours))
        whole = 1 + 2 * a / (1 - a)
        rows.append(
            corrected(
                f"E|b - a|, Laplace eps={epsilon}, not truncated",
                f"{a / (whole * (a - 1) ** 2):.12g}",
                a / (whole * (a - 1) ** 2),
                2 * a / (1 - a * a),
            )
        )
        normal, support = (noise_of("normal", epsilon, normal_limit), np.arange(-normal_limit, normal_limit + 1))
        weight = np.exp(-float(epsilon) * support**2 / (2 * normal_limit + 1.0))
        formula = float((support**2 * weight).sum() / weight.sum())
        rows.append(row(f"E|b - a|^2, normal eps={epsilon} m={normal_limit}", f"{formula:.6g}", _variance(normal)))
    return rows
