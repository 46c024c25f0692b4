"""Medians by distance and by depth: how often each is the sample median, and how far off it is, by the exact law of the selection.

Claim, fixed before the first run. On every sample the score by depth gives the sample median at least as often as the score by distance,
and an expected error that is not larger, at the same price: ages in whole years (n = 500, epsilon .5), money in hundredths with
many records to a value (n = 100,000, epsilon .1), and whole numbers up to 100,000 which few records share (n = 1,000, epsilon
.5), both relations. Through the plan of a request; nothing is drawn but the samples, 100 of each.
"""

from itertools import product
from typing import Any

import numpy as np

from dalenius.exact.quantile_selection import Records, score_runs
from dalenius.measurements.grid_selection import GridSelection
from verify.quantiles import planned

SAMPLES = 100
SETTINGS: dict[str, tuple[list[int], str, int, str]] = {
    "ages": ([0, 100], "1", 500, "0.5"),
    "hundredths": ([0, 100], "0.01", 100_000, "0.1"),
    "wide": ([0, 10**5], "1", 1000, "0.5"),
}


def sample(name: str, n: int, draws: np.random.Generator) -> np.ndarray:
    """Sorted values in steps."""
    ages = draws.beta(1.6, 2.2, n)
    values = {
        "ages": 100 * ages,
        "hundredths": 10_000 * ages,
        "wide": np.minimum(np.exp(draws.normal(8, 0.8, n)), 10**5),
    }
    return np.sort(np.rint(values[name]).astype(np.int64))


def law_of(step: GridSelection, values: np.ndarray, true: float | None = None) -> tuple[float, float, float]:
    """Chance of the sample median (the lower one, if no other is said), mean absolute error and mean squared error in steps."""
    selection, records = step.selection(0), Records.of(values)
    (rank,) = selection.steps
    w = selection.weights(rank)
    firsts, lasts, places = score_runs(records, step.low, step.high, selection.aim(records, rank, w))
    odds = np.array([w[min(place, len(w) - 1)] / w[0] for place in places.tolist()])
    true = int(values[(len(values) - 1) // 2]) if true is None else true
    points, chances = np.arange(step.low, step.high + 1), np.repeat(odds, lasts - firsts + 1)
    chances = chances / chances.sum()
    off = np.abs(points - true)
    return float(chances[points == true].sum()), float(chances @ off), float(chances @ off**2)


def run(quick: bool = False, seed: int = 23) -> dict[str, Any]:
    """Both scores on the same samples."""
    rows, is_better = {}, True
    for (name, (bounds, step, n, epsilon)), relation in product(SETTINGS.items(), ("add-remove", "replace")):
        draws = np.random.default_rng([seed, n])
        plans = [
            planned(
                {"measure": "median", "method": "exponential"},
                bounds,
                step,
                n,
                relation,
                {"definition": "pure", "epsilon": epsilon, "noise": {"score": score}},
            ).measurements[0]
            for score in ("distance", "depth")
        ]
        laws = []
        for _ in range(20 if quick else SAMPLES):
            values = sample(name, n, draws)
            here = [law_of(plan, values) for plan in plans]  # type: ignore[arg-type]
            # Sums of doubles differ in their last digits.
            is_better &= here[1][0] >= here[0][0] * (1 - 1e-9) and here[1][1] <= here[0][1] * (1 + 1e-9)
            laws.append(here)
        means = np.mean(laws, axis=0)
        rows[f"{name}, n = {n:,}, epsilon {epsilon}, {relation}"] = {
            score: {
                "is the sample median": round(float(chance), 5),
                "mean absolute error": round(float(off) * float(step), 6),
                "root mean square error": round(float(np.sqrt(square)) * float(step), 6),
            }
            for score, (chance, off, square) in zip(("distance", "depth"), means, strict=True)
        }
    return {"laws": rows, "samples": 20 if quick else SAMPLES, "ok": is_better}
