"""The small-area view: its error beside that of the raw table, and what its intervals hold, also where the model is wrong."""

from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.law import Additive
from dalenius.inference.questions.small_area import small_areas
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.testing.inference_kit import release_of

LAW = Additive(DiscreteLaplace(Fraction(1, 5)))
SHAPE = (20, 10, 2)
UNLIKE = 0.03


def run(quick: bool = False) -> dict[str, object]:
    """`ok` if the error falls to half at a mean of 5, never rises by more than two percent, and intervals hold 92 to 98 percent."""
    generator = np.random.default_rng(15)
    runs = 40 if quick else 400
    found = {
        f"{kind}, mean {mean}": _figures(kind, mean, runs, generator)
        for kind in ("alike", "unlike")
        for mean in (5, 100)
    }
    alike = [found[f"alike, mean {mean}"] for mean in (5, 100)]
    is_good = alike[0]["ratio"] <= 0.5 and all(f["ratio"] <= 1.02 for f in found.values())
    is_good &= all(0.92 <= f["coverage"] <= 0.98 for f in alike)
    return {"ok": is_good, "runs": runs, "cases": found}


def _figures(kind: str, mean: int, runs: int, generator: np.random.Generator) -> dict[str, Any]:
    raw, fitted, held, apart = 0.0, 0.0, [], []
    for run in range(runs):
        is_unlike = generator.random(SHAPE) < (UNLIKE if kind == "unlike" else 0)
        rate = np.where(is_unlike, 20 * mean, mean / 2) if kind == "unlike" else np.full(SHAPE, mean)
        truth = generator.poisson(rate)
        success = 1 - np.exp(-1 / 5)
        noise = generator.geometric(success, SHAPE) - generator.geometric(success, SHAPE)
        shown = small_areas(release_of(truth + noise, LAW), within=("A",) if run % 2 else ())
        flat = truth.ravel()
        raw += float((noise**2).mean())
        fitted += float(((shown.values - flat) ** 2).mean())
        inside = (shown.lower <= flat) & (flat <= shown.upper)
        held.append(inside.mean())
        apart += inside[is_unlike.ravel()].tolist()
    figures = {"ratio": (fitted / raw) ** 0.5, "coverage": float(np.mean(held))}
    return figures | ({"coverage_of_unlike_cells": float(np.mean(apart))} if apart else {})
