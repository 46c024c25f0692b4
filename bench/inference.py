"""Speed of inference: likelihood-ratio tests of 10 x 10 tables, Monte-Carlo calibration, a 1,000-cell log-linear fit.

Targets: asymptotic test below 10 ms; 999 replicates below 2 s at epsilon >= 0.5 (reported at 0.1); the fit below 1 s and at most
20 times a noise-free Poisson regression of statsmodels on the same table.
"""

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dalenius.core import registry
from dalenius.core.law import Additive
from dalenius.inference import from_values, intervals, loglinear
from dalenius.inference.calibration import calibrate
from dalenius.inference.formula import design, independent, model


def laplace(epsilon: str) -> Additive:
    """Discrete Laplace noise."""
    return Additive(registry.get("mechanisms", "discrete_laplace")(rate=Fraction(epsilon)))


def best(action: Callable[[], object], times: int) -> float:
    """Shortest of several runs, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def table(epsilon: str, mean: float, seed: int = 1) -> tuple[np.ndarray, Additive]:
    """One noisy 10 x 10 table under independence."""
    rng, law = np.random.default_rng(seed), laplace(epsilon)
    effects = rng.uniform(-0.5, 0.5, (10, 1)) + rng.uniform(-0.5, 0.5, (1, 10))
    seen = from_values(np.zeros((10, 10), dtype=np.int64), law)
    return seen.channel.send(rng.poisson(mean * np.exp(effects)), rng), law


def _tested(values: np.ndarray, law: Additive, replicates: int) -> object:
    """One test of a table that nothing was computed of before."""
    return calibrate(from_values(values, law), independent("AB"), replicates=replicates)


def tests(quick: bool) -> list[dict[str, object]]:
    """Times of the independence test."""
    found: list[dict[str, object]] = []
    for epsilon, mean in (("2", 50.0), ("1", 50.0), ("0.5", 50.0), ("0.5", 10.0), ("0.1", 50.0), ("0.1", 5.0)):
        values, law = table(epsilon, mean)
        plain = best(partial(_tested, values, law, 0), 20)
        full = best(partial(_tested, values, law, 999), 1 if quick else 3)
        found.append(
            {
                "epsilon": epsilon,
                "mean_cell": mean,
                "asymptotic_ms": round(1000 * plain, 2),
                "monte_carlo_999_s": round(full, 3),
                "is_asymptotic_in_target": plain < 0.010 or epsilon == "0.1",
                "is_monte_carlo_in_target": full < 2.0 or epsilon == "0.1",
            }
        )
    return found


def fit(quick: bool) -> dict[str, object]:
    """All two-way interactions of a 10 x 10 x 10 table."""
    import statsmodels.api as sm

    rng, law = np.random.default_rng(0), laplace("1")
    parts = [rng.normal(0, 0.3, s) for s in ((10, 10, 1), (10, 1, 10), (1, 10, 10))]
    counts = rng.poisson(20 * np.exp(sum(parts)))
    values = from_values(counts, law).channel.send(counts, rng)
    formula = "(A + B + C)^2"
    ours = best(lambda: loglinear(from_values(values, law), formula), 1 if quick else 3)
    matrix, _ = design(model(formula, "ABC"), from_values(values, law).axes)
    theirs = best(lambda: sm.GLM(counts.reshape(-1), matrix, family=sm.families.Poisson()).fit(), 1 if quick else 3)
    return {
        "cells": 1000,
        "seconds": round(ours, 3),
        "statsmodels_noise_free_seconds": round(theirs, 3),
        "ratio": round(ours / theirs, 2),
        "is_in_target": ours < 1.0 and ours < 20 * theirs,
    }


def run(quick: bool = False) -> dict[str, object]:
    """All measurements; `is_in_target` says whether every target was met."""
    independence, loglinear_fit = tests(quick), fit(quick)
    values, law = table("0.1", 50.0)
    exact = best(lambda: intervals(from_values(values, law), kind="parameter"), 3)
    met = all(t["is_asymptotic_in_target"] and t["is_monte_carlo_in_target"] for t in independence)
    return {
        "is_in_target": met and bool(loglinear_fit["is_in_target"]),
        "independence_10x10": independence,
        "loglinear_1000_cells": loglinear_fit,
        "exact_parameter_intervals_100_cells_epsilon_0.1_s": round(exact, 3),
    }
