"""Quantiles of weighted records: coverage beside heaps, with weights that go with the value.

Claim, fixed before the first run. Samples are drawn one by one with chances in inverse proportion to weights from hourly earnings of which three
fifths stand on whole and half amounts, in steps of .0001, and from incomes that are zero for 45 % and whole hundreds elsewhere. Weights are four
times as large above the .9 quantile, or rise with the rank up to a factor of ten. For q = 1/2, q = 9/10 and the three of 1/10, 1/2 and 9/10 at
once, at n = 500 and 8,000, under add-remove with rho .1 and under replace with rho 4: an interval of the noise at 95 % covers if it holds a
weighted quantile of the sample, one with sampling if it holds the quantile of the population. In no setting and for no quantile a binomial test at
.0005 rejects 93.5 %, for the noise or with sampling.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.algebra.estimates import estimated
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Value
from dalenius.core.sealed import Sealed
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from verify.quantiles import BOUNDS, STEPS, population

LAWS, WEIGHTS, SIZES, RUNS = ("earnings", "zeros"), ("upper tenth", "rising"), (500, 8_000), 300
SHARES = (("1/2",), ("9/10",), ("1/10", "1/2", "9/10"))
SETTINGS = (("add-remove", "0.1"), ("replace", "4"))
LEAST, LEVEL = 0.935, 0.0005


def planned(law: str, shares: tuple[str, ...], heaviest: int, relation: str, rho: str) -> TablePlan:
    """Weights have steps of a tenth."""
    document = {
        "dataset": {"name": "simulated", "population": "simulated", "public": True},
        "unit": {"relation": relation},
        "design": {"draws": "independent"},
        "variables": {
            "x": {"bounds": list(BOUNDS[law]), "step": STEPS[law], "missing": "0"},
            "w": {"bounds": [0, -(-heaviest // 10)], "step": "0.1", "missing": "0", "weight": True},
        },
    }
    request = {
        "table": {"measure": "quantiles", "of": "x", "q": list(shares), "weight": "w"},
        "privacy": {"definition": "zero_concentrated", "rho": rho},
    }
    domain = DatasetDocument.from_dict(document).domain()
    return plan_of(domain, request, {"allow": {"acknowledge": ["fixed_weights"]}})


def answered(plan: TablePlan, lines: np.ndarray, rng: RecordedRandomness) -> tuple[Block, ...]:
    """Every step of a plan on one list of lines of cell, value and weight, as the gate drives it."""
    steps, blocks = plan.steps(), []
    step = next(steps)
    while True:
        exact = np.array([lines[:, 2].sum()]) if step.name == "weighted count" else lines
        outcome = step.run((Sealed(exact),), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        blocks.append(step.block(outcome))
        try:
            step = steps.send(outcome)
        except StopIteration:
            return tuple(blocks)


def weights_of(values: np.ndarray, kind: str) -> np.ndarray:
    """In tenths."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") / len(values)
    if kind == "upper tenth":
        return np.asarray(np.where(ranks > 0.9, 40, 10))
    jitter = np.exp(0.4 * np.random.default_rng(31).standard_normal(len(values)))
    return np.asarray(np.clip(np.rint(10 * np.exp(1.2 * ranks) * jitter), 1, 100), dtype=np.int64)


def held(plan: TablePlan, values: np.ndarray, weights: np.ndarray, n: int, runs: int, seed: int) -> np.ndarray:
    """How many intervals of the noise, and with sampling, hold each quantile."""
    parameters = plan.law.parameters  # type: ignore[union-attr]
    shares, step = np.array([float(Fraction(q)) for q in parameters["q"]]), float(Fraction(parameters["step"]))
    ordered, chances = np.sort(values), np.cumsum(1 / weights) / np.sum(1 / weights)
    places = shares * len(values)
    truth = ordered[np.ceil(places - 1e-9).astype(np.int64) - 1], ordered[np.floor(places + 1e-9).astype(np.int64)]
    draws, noise = np.random.default_rng([seed, n]), RecordedRandomness(f"weighted {seed} {n}")
    inside = np.zeros((2, len(shares)))
    for _ in range(runs):
        picked = np.minimum(np.searchsorted(chances, draws.random(n)), len(values) - 1)
        lines = np.column_stack([np.zeros(n), values[picked], weights[picked]]).astype(np.int64)
        lines = lines[np.argsort(lines[:, 1], kind="stable")]
        made = estimated(plan.law, answered(plan, lines, noise), len(shares))  # type: ignore[arg-type]
        before = np.cumsum(lines[:, 2])
        own = [lines[np.searchsorted(before, shares * before[-1] + away), 1] for away in (-1e-6, 1e-6)]
        for kind, (least, most) in enumerate((own, truth)):
            lower, upper = (end / step for end in made.ends(0.95, bool(kind)))
            inside[kind] += (lower <= most + 0.25) & (least <= upper + 0.25)
    return inside


def run(quick: bool = False, seed: int = 30) -> dict[str, Any]:
    """Coverage of every setting."""
    runs, sizes = (60, SIZES[:1]) if quick else (RUNS, SIZES)
    rows, rejected = {}, []
    for law, kind in product(LAWS, WEIGHTS):
        values = population(law).astype(np.int64)
        weights = weights_of(values, kind)
        for (relation, rho), shares, n in product(SETTINGS, SHARES, sizes):
            plan = planned(law, shares, int(weights.max()), relation, rho)
            inside = held(plan, values, weights, n, runs, seed)
            name = f"{law}, {kind}, {relation}, rho {rho}, q {' '.join(shares)}, n {n}"
            rows[name] = dict(zip(("noise", "sampling"), (inside / runs).round(4).tolist(), strict=True))
            tests = [binomtest(int(each), runs, LEAST, alternative="less").pvalue for each in inside.flat]
            rejected += [name] if min(tests) < LEVEL else []
    least = {kind: min(min(row[kind]) for row in rows.values()) for kind in ("noise", "sampling")}
    return {"runs": runs, "least": least, "coverage": rows, "rejected settings": rejected, "ok": not rejected}
