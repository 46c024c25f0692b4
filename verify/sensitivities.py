"""Sensitivities at depth: closed forms against enumeration on random data, tight constants, timing of withheld scales.

The timing test compares the median processor time of draws at two scales that differ by 10^12; 10 % is allowed.
"""

import time
from fractions import Fraction
from functools import partial
from math import log
from typing import Any

import numpy as np
from tests.measurements.smooth_densities import log_density

from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import SystemRandomness
from dalenius.exact.ideal_rounding import discrete_laplace
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.smooth_noise import Cauchy, Lomax, Polynomial, StudentT
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.value_range import ValueRange
from dalenius_lab.attacks.clamp import ClampAttack, expected_queries
from dalenius_lab.brute import everywhere

_QUERY = ValuesQuery(value="x")


def _closed_forms(quick: bool) -> dict[str, Any]:
    """Local and bootstrap sensitivities of random order statistics on random data, both relations."""
    rng = np.random.default_rng(11)
    checked = wrong = 0
    for _ in range(300 if quick else 6000):
        high = int(rng.integers(1, 9))
        n = int(rng.integers(0, 7))
        data = tuple(sorted(rng.integers(0, high + 1, n).tolist()))
        common: dict[str, Any] = {"query": _QUERY, "low": 0, "high": high}
        rank = int(rng.integers(1, 4))
        statistics = (
            Quantile(**common, q=Fraction(int(rng.integers(1, 10)), 10)),
            Quantile(**common, is_midpoint=True),
            Extreme(**common, rank=rank, is_largest=bool(rng.integers(0, 2))),
            ValueRange(**common),
            Interquartile(**common),
        )
        statistic = statistics[int(rng.integers(0, len(statistics)))]
        for relation in Relation:
            neighbours, universe = Neighbours(relation=relation), tuple(range(high + 1))
            checked += 1
            wrong += statistic.local(data, neighbours) != brute.local(statistic.value, data, universe, relation)
            if 0 < n <= 4:
                wrong += statistic.bootstrap(data, neighbours) < everywhere(statistic.value, data, n, relation)
    return {"checked": checked, "wrong": wrong}


def _smoothness(quick: bool) -> dict[str, Any]:
    """S covers the local sensitivity and moves by at most exp(beta) between neighbours."""
    checked = wrong = 0
    sizes = range(4) if quick else range(6)
    for q in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        for beta in (Fraction(1, 10), Fraction(1, 2), Fraction(2)):
            base = rational_base(beta)
            statistic = Quantile(query=_QUERY, low=0, high=4, q=q)
            for relation in Relation:
                neighbours, universe = Neighbours(relation=relation), (0, 1, 2, 3, 4)
                table = {d: statistic.smooth(d, base, neighbours) for n in sizes for d in brute.multisets(universe, n)}
                for data, size in table.items():
                    checked += 1
                    wrong += size < brute.local(statistic.value, data, universe, relation)
                    for other in brute.neighbours_of(data, universe, relation):
                        wrong += other in table and size * base > table[other]
    return {"checked": checked, "wrong": wrong}


def _constants(quick: bool) -> dict[str, Any]:
    """Worst loss of each noise on a fine grid, relative to epsilon."""
    points = 3000 if quick else 20_000
    z = np.concatenate([-np.geomspace(1e-4, 1e7, points)[::-1], [0.0], np.geomspace(1e-4, 1e7, points)])
    worst: dict[str, float] = {}
    F = Fraction
    for epsilon in (F(1, 10), F(1), F(3)):
        for share in (F(1, 20), F(1, 4), F(2, 5)):
            beta = epsilon * share
            for noise in (
                Cauchy(epsilon, beta),
                Lomax(epsilon, beta),
                Polynomial(epsilon, beta / 2, F(3)),
                StudentT(epsilon, beta / 2, F(2)),
            ):
                alpha, found, here = 1 / float(noise.scale), 0.0, log_density(noise, z)
                for b in np.linspace(0, float(noise.beta), 5):
                    for s in (-alpha, -alpha / 2, alpha / 2, alpha):
                        found = max(found, float(np.max(here - log_density(noise, np.exp(b) * z + s) - b)))
                        found = max(found, float(np.max(here - log_density(noise, np.exp(-b) * (z + s)) + b)))
                worst[noise.name] = max(worst.get(noise.name, 0.0), found / float(epsilon))
    return worst


def _clamp(quick: bool) -> dict[str, Any]:
    """The clamp attack on the system's generator."""
    rng, result = SystemRandomness(), {}
    for epsilon in (Fraction(1, 10), Fraction(1)):
        used, right = [], 0
        for _ in range(200 if quick else 3000):
            found, queries = ClampAttack().run(partial(_clamped, epsilon, rng))
            used.append(queries)
            right += found == 100
        result[str(epsilon)] = {
            "recovered": right / len(used),
            "queries": float(np.mean(used)),
            "expected": expected_queries(float(epsilon)),
            "error": float(np.std(used) / np.sqrt(len(used))),
        }
    return result


def _clamped(epsilon: Fraction, rng: SystemRandomness) -> int:
    """A noisy count of 100 that is cut to its neighbours."""
    return max(99, min(101, 100 + discrete_laplace(1 / epsilon, rng)))


def _timing(quick: bool) -> dict[str, Any]:
    """Kolmogorov-Smirnov test of processor times of draws at scales 1 and 10^12."""
    from scipy.stats import ks_2samp

    rng = SystemRandomness()
    times: dict[int, list[int]] = {1: [], 10**12: []}
    for _ in range(100 if quick else 1000):
        for scale, found in times.items():
            start = time.process_time_ns()
            for _ in range(5):
                discrete_laplace(Fraction(scale), rng)
            found.append(time.process_time_ns() - start)
    first, second = times.values()
    return {
        "median_microseconds": [float(np.median(t)) / 5e3 for t in (first, second)],
        "p_value": float(ks_2samp(first, second).pvalue),
    }


def run(quick: bool = False) -> dict[str, object]:
    """All of it."""
    forms, smooth, constants = _closed_forms(quick), _smoothness(quick), _constants(quick)
    clamp, timing = _clamp(quick), _timing(quick)
    tight = all(constants[name] > 0.97 for name in ("cauchy", "lomax"))
    recovered = all(c["recovered"] == 1 and abs(c["queries"] - c["expected"]) < 6 * c["error"] for c in clamp.values())
    slow = abs(log(timing["median_microseconds"][0] / timing["median_microseconds"][1]))
    return {
        "closed_forms": forms,
        "smoothness": smooth,
        "worst_loss_over_epsilon": constants,
        "clamp": clamp,
        "timing": timing,
        "ok": bool(
            forms["wrong"] == 0
            and smooth["wrong"] == 0
            and max(constants.values()) <= 1 + 1e-9
            and tight
            and recovered
            and slow < 0.1
        ),
    }
