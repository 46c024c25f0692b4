"""Sample and aggregate: mean square errors beside the prediction, the number of blocks, and coverage, through plan and measurement.

Claim, fixed before the first run. Exponential, logit, Gaussian mean and variance at n = 10^3 to 10^6, epsilon 1, all of the budget on
the sum: MSE * n I(theta) differs from the prediction of the plan by at most four Monte-Carlo standard errors (and 2 % of it), and so does
the one with the predicted number of blocks from being no worse than the one with n^0.6; 400 runs, at 10^6 100 runs. With error = "sampling"
at n = 5,000 and epsilon 1, rho 0.1, epsilon 4 and rho 1, 1,000 runs: in no setting a binomial test at 0.0005 rejects that 95 % intervals
cover at least 94 %, for every model and aggregate that is not refused. Plans are the same under add-remove and replace, which is checked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.linear.estimates import Estimated, estimated
from dalenius.methods._blocks import Prediction
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Process:
    """A model with its true parameter: how records are drawn, what is declared of them, and the variance of an efficient estimate."""

    draw: Draw
    bounds: tuple[int, int]
    step: str
    theta: float
    range: tuple[float, float]
    variance: float


PROCESSES: Mapping[str, Process] = {
    "exponential": Process(lambda rng, n: rng.exponential(1.0, n), (0, 30), "0.001", 1.0, (0.1, 4), 1.0),
    "logit": Process(
        lambda rng, n: (rng.random(n) < 0.3).astype(float), (0, 1), "1", log(3 / 7), (-3, 3), 1 / 0.21
    ),
    "gaussian_mean": Process(lambda rng, n: rng.normal(0.5, 1, n), (-6, 6), "0.001", 0.5, (-5, 5), 1.0),
    "gaussian_variance": Process(lambda rng, n: rng.normal(0, 1, n), (-6, 6), "0.001", 1.0, (0, 5), 2.0),
}
PURE: Mapping[str, Any] = {"definition": "pure", "epsilon": 1}
COVERED = {
    "epsilon 1": PURE,
    "rho 0.1": {"definition": "zero_concentrated", "rho": "0.1"},
    "epsilon 4": {"definition": "pure", "epsilon": 4},
    "rho 1": {"definition": "zero_concentrated", "rho": 1},
}


def planned(
    model: str, n: int, privacy: Mapping[str, Any], relation: str = "add-remove", **more: Any
) -> TablePlan:
    """The plan of one setting; the number of rows is declared."""
    process = PROCESSES[model]
    dataset = {
        "dataset": {"name": "simulated", "population": "simulated", "size": n, "public": True},
        "unit": {"relation": relation},
        "variables": {"x": {"bounds": list(process.bounds), "step": process.step, "missing": 0}},
    }
    table = {"measure": "sample_and_aggregate", "of": "x", "model": model, "range": list(process.range)}
    domain = DatasetDocument.from_dict(dataset).domain()
    return plan_of(domain, {"table": table | more, "privacy": dict(privacy)}, {})


def answered(plan: TablePlan, values: np.ndarray, seed: str) -> Estimated:
    """One release: every step of the plan on these values, with recorded noise."""
    rng, blocks = RecordedRandomness(seed), list[Block]()
    steps = plan.steps()
    step = next(steps)
    while True:
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        block = step.block(outcome)
        assert block is not None
        blocks.append(block)
        try:
            step = steps.send(outcome)
        except StopIteration:
            break
    return estimated(plan.law, blocks, 1)  # type: ignore[arg-type]


def values_of(process: Process, n: int, rng: np.random.Generator) -> np.ndarray:
    """Values in steps; an engine sorts them, which matters to no block because their records are drawn at random."""
    steps = 1 / float(process.step)
    low, high = (end * steps for end in process.bounds)
    return np.clip(np.rint(process.draw(rng, n) * steps), low, high).astype(np.int64)


def efficiency(model: str, n: int, runs: int) -> dict[str, Any]:
    """MSE * n I of the plan's own number of blocks and of n^0.6, beside the predictions."""
    process = PROCESSES[model]
    plans = {
        "predicted": planned(model, n, PURE, error="noise"),
        "n^0.6": planned(model, n, PURE, error="noise", blocks=round(n**0.6)),
    }
    rng = np.random.default_rng([n, list(PROCESSES).index(model)])
    squares: dict[str, list[float]] = {name: [] for name in plans}
    for run in range(runs):
        values = values_of(process, n, rng)
        for name, plan in plans.items():
            answer = float(answered(plan, values, f"{model} {n} {name} {run}").values[0])
            squares[name].append((answer - process.theta) ** 2)
    mse = {name: float(np.mean(row)) for name, row in squares.items()}
    error = {name: float(np.std(row, ddof=1)) / sqrt(runs) for name, row in squares.items()}
    count = int(plans["predicted"].preview["records"])
    noise = float(plans["predicted"].preview["std_error"]) ** 2
    width = process.range[1] - process.range[0]
    prediction = Prediction(
        model=model, records=n, lower=process.range[0], upper=process.range[1], spread=sqrt(process.variance)
    )
    # The prediction of the plan is for a parameter a quarter up its range; here the true one is known.
    inflated = prediction.of_block(count) / prediction.variance * process.variance / count
    scale = n / process.variance
    gap = mse["predicted"] - mse["n^0.6"]
    return {
        "blocks": count,
        "MSE * n I": mse["predicted"] * scale,
        "Monte-Carlo error": error["predicted"] * scale,
        "prediction": (inflated + noise) * scale,
        "leading terms": 1 + 2 * width**2 / process.variance * n / count**2,
        "MSE * n I with n^0.6": mse["n^0.6"] * scale,
        "ok": bool(
            abs(mse["predicted"] - inflated - noise) <= 4 * error["predicted"] + 0.02 * (inflated + noise)
            and gap <= 4 * sqrt(error["predicted"] ** 2 + error["n^0.6"] ** 2)
        ),
    }


def coverage(model: str, aggregate: str, budget: str, runs: int) -> dict[str, Any]:
    """Of 95 % intervals with sampling at n = 5,000."""
    n, process = 5_000, PROCESSES[model]
    try:
        plan = planned(model, n, COVERED[budget], aggregate=aggregate)
    except Unsupported as refusal:
        return {"refused": refusal.message, "ok": aggregate == "winsorised"}
    other = planned(model, n, COVERED[budget], "replace", aggregate=aggregate)
    is_same = [step.law for step in plan.measurements] == [step.law for step in other.measurements]
    rng = np.random.default_rng([17, list(PROCESSES).index(model)])
    hits, widths = 0, []
    for run in range(runs):
        made = answered(plan, values_of(process, n, rng), f"{model} {aggregate} {budget} {run}")
        lower, upper = made.ends(0.95, True)
        hits += bool(lower[0] <= process.theta <= upper[0])
        widths.append(float(upper[0] - lower[0]))
    textbook = 2 * 1.96 * sqrt(process.variance / n)
    return {
        "blocks": plan.preview["records"],
        "coverage": hits / runs,
        "width beside the efficient one": float(np.median(widths)) / textbook,
        "ok": bool(is_same and binomtest(hits, runs, 0.94, alternative="less").pvalue >= 0.0005),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Every setting."""
    sizes = {1_000: 400, 10_000: 400, 100_000: 400, 1_000_000: 100}
    if quick:
        sizes = {1_000: 100, 10_000: 50}
    errors = {
        f"{model}, n = {n:,}": efficiency(model, n, runs) for model in PROCESSES for n, runs in sizes.items()
    }
    covered = {
        f"{model}, {aggregate}, {budget}": coverage(model, aggregate, budget, 100 if quick else 1000)
        for model in PROCESSES
        for aggregate in ("mean", "median", "winsorised")
        for budget in COVERED
    }
    return {
        "mean square errors": errors,
        "coverage at n = 5,000": covered,
        "ok": all(row["ok"] for row in (*errors.values(), *covered.values())),
    }
