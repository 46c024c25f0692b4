"""Quantiles of weighted rows: coverage on heaps with weights that go with the value, what is refused, and what is stated."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from verify._recorded import release_of

from dalenius.algebra.estimates import estimated
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Value
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.inference.cells import intervals
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.notes import note
from dalenius.testing.asking import plan_of

FIXED = {"allow": {"acknowledge": ["fixed_weights"]}}
STEP = Fraction(1, 100)


def domain_of(design: Any = None, step: str = "0.1") -> Any:
    weight = {"bounds": [0, 4], "step": step, "missing": "0", "weight": True}
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": {"relation": "replace"},
            "variables": {
                "sex": {"categories": ["f", "m"], "missing": "m", "unseen": "m"},
                "x": {"bounds": [0, 100], "step": "0.01", "missing": "0"},
                "w": weight,
                "v": weight,
            },
        }
        | ({"design": {"draws": "independent"}} if design is None else design)
    ).domain()


def planned(domain: Any = None, policy: Any = FIXED, rho: object = 2, **table: Any) -> TablePlan:
    request = {"table": {"measure": "median", "of": "x", "weight": "w"} | table}
    privacy = {"definition": "zero_concentrated", "rho": rho}
    return plan_of(domain or domain_of(), request | {"privacy": privacy}, policy)


def answered(plan: TablePlan, lines: np.ndarray, rng: RecordedRandomness) -> tuple[Block, ...]:
    """Every step on one list of lines of cell, value and weight."""
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


def heaped(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Hourly earnings, three fifths of them on whole and half amounts; weights are four times as large in the upper tenth."""
    exact = np.exp(rng.normal(np.log(14.9), 0.4, 100_000))
    values = np.rint(100 * np.where(rng.random(100_000) < 0.6, np.rint(2 * exact) / 2, exact)).astype(np.int64)
    return values, np.where(values > np.quantile(values, 0.9), 40, 10)


@pytest.mark.statistical
@pytest.mark.parametrize("q", ["1/2", "9/10"])
def test_intervals_hold_beside_heaps_with_weights_that_go_with_the_value(q: str) -> None:
    """300 samples of 2,000, drawn in inverse proportion to weights; red if 93.5 % is rejected at .0005."""
    runs, n, share = 300, 2000, float(Fraction(q))
    draws, noise = np.random.default_rng(7), RecordedRandomness("weighted quantiles")
    values, weights = heaped(draws)
    chances = np.cumsum(1 / weights) / np.sum(1 / weights)
    ordered = np.sort(values)
    truth = ordered[int(share * len(ordered)) - 1], ordered[int(share * len(ordered))]
    plan, held = planned(measure="quantile", q=q), np.zeros(2)
    for _ in range(runs):
        picked = np.searchsorted(chances, draws.random(n))
        lines = np.column_stack([np.zeros(n, dtype=np.int64), values[picked], weights[picked]])
        lines = lines[np.argsort(lines[:, 1], kind="stable")]
        made = estimated(plan.law, answered(plan, lines, noise), 1)  # type: ignore[arg-type]
        before = np.cumsum(lines[:, 2])
        own = lines[np.searchsorted(before, share * before[-1] + np.array([-1e-6, 1e-6])), 1]
        for kind, (low, high) in enumerate((own, truth)):
            lower, upper = (float(end[0]) / float(STEP) for end in made.ends(0.95, bool(kind)))
            held[kind] += lower <= high + 1e-6 and upper >= low - 1e-6
    assert all(binomtest(int(k), runs, 0.935, alternative="less").pvalue > 0.0005 for k in held), held / runs


def test_weights_decide_where_the_median_is() -> None:
    """Of values 1 to 99 the upper third counts four times."""
    domain, x = domain_of(), list(range(1, 100))
    columns = {"sex": ["f", "m", "f"] * 33, "x": x, "w": [1 if v <= 66 else 4 for v in x], "v": [1] * 99}
    plan = planned(domain, rho=200, rows=["sex"])
    released = gate.run(
        plan, MemorySource.open(domain, columns), plan.neighbours, plan.reservation, RecordedRandomness("medians")
    )
    (table,) = plan.assemble(released.blocks)
    assert table.name == "weighted median of x"
    for sex, found in zip("fm", table.values, strict=True):
        own = [(v, w) for s, v, w in zip(columns["sex"], x, columns["w"], strict=True) if s == sex]
        below, upto = (sum(w for v, w in own if is_in(v)) for is_in in (found.__gt__, found.__ge__))
        total = sum(w for _, w in own)
        assert below - 8 <= total / 2 <= upto + 8
    assert (
        table.sampled is not None and (table.sampled >= table.variance).all() and table.sampled[0] > table.variance[0]
    )


def test_readers_get_both_intervals_from_the_release_alone() -> None:
    domain, rng = domain_of(), np.random.default_rng(3)
    x = np.rint(rng.normal(50, 10, 3000)).tolist()
    columns = {"sex": ["f"] * 3000, "x": x, "w": (rng.integers(1, 40, 3000) / 10).tolist(), "v": [1] * 3000}
    request = {
        "table": {"measure": "quantiles", "of": "x", "weight": "w"},
        "privacy": {"definition": "zero_concentrated", "rho": 1},
    }
    release = release_of(plan_of(domain, request, FIXED), domain, columns, request, "both")
    noise, both = (intervals(release, kind=kind) for kind in ("population", "parameter"))
    assert "weights" in noise.method and "normal rank" in both.method
    assert (both.lower <= noise.lower).all() and (noise.upper <= both.upper).all()
    assert np.abs(noise.values - [43.3, 50, 56.7]).max() < 2


def test_fine_weights_are_served_under_epsilon_and_delta() -> None:
    """The noise has millions of values; listing them took 25 GB, after the charge."""
    domain, rng = domain_of(step="0.0001"), np.random.default_rng(3)
    columns = {"sex": ["f"] * 3000, "x": rng.integers(0, 99, 3000).tolist(), "w": [1] * 3000, "v": [1] * 3000}
    request = {
        "table": {"measure": "median", "of": "x", "weight": "w"},
        "privacy": {"definition": "approximate", "epsilon": 1, "delta": "1/1000000"},
    }
    release = release_of(plan_of(domain, request, FIXED), domain, columns, request, "fine")
    assert (release.interval()[0] <= 50).all() and (release.interval()[1] >= 48).all()


def test_squares_are_measured_for_the_error_of_sampling_alone() -> None:
    names = [step.name for step in planned().measurements]
    assert names == [
        "weighted count",
        "points of x",
        "weights of x between points",
        "squared weights of x between points",
    ]
    alone = planned(error="noise")
    assert len(alone.measurements) == 3 and "squares" not in alone.law.parameters  # type: ignore[attr-defined]
    assert note("noise_alone") in alone.warnings


def test_without_a_design_there_is_no_second_error() -> None:
    plan = planned(domain_of({}))
    assert len(plan.measurements) == 3 and note("weights_without_design") in plan.warnings
    lines = np.array([(0, v, 10) for v in range(0, 5000, 10)])
    assert estimated(plan.law, answered(plan, lines, RecordedRandomness(1)), 1).sampled is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "policy", "words"),
    [
        ({}, {}, "not declared fixed"),
        ({"weight": "v", "of": "v"}, FIXED, "different variables"),
        ({"method": "exponential"}, FIXED, "weight"),
        ({"measure": "maximum", "method": "cauchy"}, FIXED, "weight"),
    ],
)
def test_what_has_no_certified_answer_is_refused(table: dict[str, Any], policy: dict[str, Any], words: str) -> None:
    with pytest.raises(DaleniusError, match=words):
        planned(policy=policy, **table)
