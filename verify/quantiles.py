"""Quantiles: how far selected ranks and values are off, and coverage of the intervals of medians and deciles.

Claim, fixed before the first run. The sample median of 1,000 normal values on [-100, 100] in steps of .001 at epsilon .2 under
add-remove: median absolute error at most .0110, root mean square at most .021. Deciles of 20,000 lognormal incomes in [0, 10^6] at
epsilon 1: mean rank error at most 6.5 under add-remove, and at most twice that under replace. Intervals at 95 % of medians and deciles, rho .1 and epsilon 1,
both relations, normal values, ages and incomes: in no setting a binomial test at .0005 rejects "noise and sampling together cover at least
94 %", nor "noise alone covers at least 94.5 %". Ages have few values, so that their intervals cover more.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Value
from dalenius.core.sealed import Sealed
from dalenius.linear.estimates import estimated
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from verify.estimates import BOUNDS, BUDGETS, drawn

RUNS = {500: 250, 5_000: 120, 50_000: 30}
QUANTILES: dict[str, dict[str, Any]] = {"median": {"q": ["1/2"]}, "deciles": {"parts": 10}}


def planned(
    table: dict[str, Any], bounds: list[Any], step: str, n: int, relation: str, privacy: Any
) -> TablePlan:
    """The plan of a request on one number."""
    dataset = {
        "dataset": {"name": "simulated", "population": "simulated", "size": n, "public": True},
        "unit": {"relation": relation},
        "variables": {"x": {"bounds": bounds, "step": step, "missing": 0}},
    }
    domain = DatasetDocument.from_dict(dataset).domain()
    return plan_of(domain, {"table": {"of": "x", **table}, "privacy": dict(privacy)}, {})


def answered(plan: TablePlan, values: np.ndarray, rng: RecordedRandomness) -> tuple[Block, ...]:
    """Every step of a plan on one list, as the gate drives it."""
    steps, blocks = plan.steps(), []
    step = next(steps)
    while step is not None:
        exact = Sealed(np.array([len(values)]) if step.name == "count" else values)
        outcome = step.run((exact,), step.draw(rng), rng)
        block = step.block(outcome)
        assert block is not None and isinstance(outcome, Value)
        blocks.append(block)
        try:
            step = steps.send(outcome)
        except StopIteration:
            break
    return tuple(blocks)


def median_error(runs: int) -> dict[str, float]:
    """Of the sample median, by the measure `median`."""
    plan = planned(
        {"measure": "median"},
        [-100, 100],
        "0.001",
        1000,
        "add-remove",
        {"definition": "pure", "epsilon": "0.2"},
    )
    rng, draws, errors = RecordedRandomness("median"), np.random.default_rng(20), []
    for _ in range(runs):
        values = np.sort(
            np.clip(np.rint(draws.standard_normal(1000) * 1000), -100_000, 100_000).astype(np.int64)
        )
        (block,) = answered(plan, values, rng)
        errors.append(abs(int(block.values[0]) - (values[499] + values[500]) / 2) / 1000)
    return {
        "runs": runs,
        "median absolute error": float(np.median(errors)),
        "root mean square": float(np.sqrt(np.mean(np.square(errors)))),
    }


def rank_error(relation: str, runs: int) -> float:
    """Mean distance in ranks of released deciles without ends."""
    n = 20_000
    plan = planned(
        {"measure": "quantiles", "parts": 10, "error": "noise"},
        [0, 10**6],
        "1",
        n,
        relation,
        {"definition": "pure", "epsilon": 1},
    )
    rng, draws, offs = RecordedRandomness("deciles"), np.random.default_rng(21), []
    for _ in range(runs):
        values = np.sort(np.clip(np.rint(np.exp(draws.normal(10, 0.8, n))), 0, 10**6).astype(np.int64))
        *_, block = answered(plan, values, rng)
        offs.append(np.abs(np.searchsorted(values, block.values) - n * np.arange(1, 10) / 10).mean())
    return float(np.mean(offs))


def coverage(name: str, law: str, n: int, relation: str, budget: str, runs: int) -> dict[str, Any]:
    """Of both intervals, over all quantiles of one setting."""
    low, high = BOUNDS[law]
    plan = planned(
        {"measure": "quantiles", **QUANTILES[name]}, [low, high], "1", n, relation, BUDGETS[budget]
    )
    qs = [float(Fraction(q)) for q in plan.law.parameters["q"]]  # type: ignore[union-attr]
    draws = np.random.default_rng([22, n, list(BOUNDS).index(law)])
    large = np.sort(drawn(law, 4_000_000, draws)[0])
    truth = np.quantile(large, qs, method="inverted_cdf")
    rng, held, noise = RecordedRandomness(f"{name} {law} {n} {relation} {budget}"), [], []
    for _ in range(runs):
        values = np.sort(drawn(law, n, draws)[0].astype(np.int64))
        made = estimated(plan.law, answered(plan, values, rng), len(qs))  # type: ignore[arg-type]
        exact = np.quantile(values, qs, method="inverted_cdf")
        (a, b), (c, d) = made.ends(0.95, True), made.ends(0.95, False)
        held.append((a <= truth) & (truth <= b))
        noise.append((c <= exact) & (exact <= d))
    both = [np.mean(held), np.mean(noise)]
    # Quantiles of one run depend on each other, so that a run counts once.
    tests = [
        binomtest(int(share * runs), runs, least, alternative="less").pvalue
        for share, least in zip(both, (0.94, 0.945), strict=True)
    ]
    return {"sampling": float(both[0]), "noise": float(both[1]), "ok": min(tests) >= 0.0005}


def run(quick: bool = False) -> dict[str, Any]:
    """Errors and coverage."""
    median = median_error(200 if quick else 2000)
    ranks = {relation: rank_error(relation, 10 if quick else 100) for relation in ("add-remove", "replace")}
    rows: dict[str, list[dict[str, Any]]] = {}
    rejected = []
    for name in QUANTILES:
        for law in BOUNDS:
            for n, runs in RUNS.items():
                for relation in ("add-remove", "replace"):
                    for budget in BUDGETS:
                        if quick and n > 500:
                            continue
                        row = coverage(name, law, n, relation, budget, runs // 5 if quick else runs)
                        rows.setdefault(f"{name}, {law}", []).append(row)
                        if not row["ok"]:
                            rejected.append({"setting": f"{name}, {law}, {n}, {relation}, {budget}"} | row)
    summary = {
        name: {
            "sampling, mean": float(np.mean([row["sampling"] for row in each])),
            "sampling, least": float(np.min([row["sampling"] for row in each])),
            "noise, mean": float(np.mean([row["noise"] for row in each])),
            "noise, least": float(np.min([row["noise"] for row in each])),
        }
        for name, each in rows.items()
    }
    is_close = median["median absolute error"] <= 0.0110 and median["root mean square"] <= 0.021
    is_near = ranks["add-remove"] <= 6.5 and ranks["replace"] <= 13
    return {
        "median": median,
        "mean rank error of deciles": ranks,
        "coverage": summary,
        "rejected settings": rejected,
        "ok": is_close and is_near and not rejected,
    }
