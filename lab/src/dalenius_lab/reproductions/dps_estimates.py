"""Dwork & Smith (2010), Differential privacy for statistics: Algorithm 1, propose-test-release, and smooth sensitivity
beside it.

The paper prints orders of magnitude, not numbers. `paper` is the leading term that it claims, `ours` what the method
gives as it is described, and `corrected` what holds or what is done instead: the number of blocks by predicted error,
and noise by selection.
"""

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.estimates import estimated
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import NoReply, Value
from dalenius.core.sealed import Sealed
from dalenius.measurements.blocks.models import estimate
from dalenius.measurements.cascade import Cascade
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from dalenius_lab.reproductions.items import Row, corrected, row

Values = NDArray[np.int64]
_STEP = 1000
# The distance of the quartiles of the standard normal law, and the steps in which its values are counted.
_QUARTILES = 1.349
_PROPOSED: Mapping[str, Any] = {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}
_PURE: Mapping[str, Any] = {"definition": "pure", "epsilon": 1}


def _plan(table: Mapping[str, Any], privacy: Mapping[str, Any], n: int, bounds: tuple[int, int]) -> TablePlan:
    document = {
        "dataset": {"name": "simulated", "population": "simulated", "size": n, "public": True},
        "unit": {"relation": "replace"},
        "variables": {"x": {"bounds": list(bounds), "step": "0.001", "missing": max(bounds[0], 0)}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    return plan_of(domain, {"table": {"of": "x", **table}, "privacy": dict(privacy)}, {})


def _sorted(values: NDArray[np.float64], bounds: tuple[int, int]) -> Values:
    steps = np.clip(np.rint(values * _STEP), bounds[0] * _STEP, bounds[1] * _STEP)
    return np.sort(steps).astype(np.int64)


_SIZES = (1_000, 10_000, 100_000)


def algorithm1(full: bool = False) -> list[Row]:
    """MSE * n I(theta) of the rate of an exponential law, and what one block moves without projection."""
    bounds, rows, runs = (0, 30), [], 400 if full else 40
    table = {"measure": "sample_and_aggregate", "model": "exponential", "clip": ["0.1", 4], "error": "noise"}
    for n in _SIZES:
        plans = {
            "paper": _plan(table | {"blocks": round(n**0.6)}, _PURE, n, bounds),
            "ours": _plan(table, _PURE, n, bounds),
        }
        generator, rng = np.random.default_rng(n), RecordedRandomness(f"algorithm 1 {n}")
        errors: dict[str, list[float]] = {name: [] for name in plans}
        for _ in range(runs):
            values = _sorted(generator.exponential(1.0, n), bounds)
            for name, plan in plans.items():
                errors[name].append((_answer(plan, values, rng) - 1) ** 2)
        ours, better = (float(np.mean(errors[name])) * n for name in ("paper", "ours"))
        name = f"exponential, n = {n:,}, epsilon 1: MSE * n I(theta), k = n^0.6 (corrected: k by predicted error)"
        rows.append(corrected(name, "1", ours, better))
    ends = [estimate("exponential", "analytic", np.full(10, x, dtype=np.int64), 0.001) for x in (1, 30_000)]
    name = "Lemma 10: what one block moves, in ranges of the parameter, without projection"
    return [*rows, corrected(name, "1", (ends[0] - ends[1]) / 3.9, 1)]


def _answer(plan: TablePlan, values: Values, rng: RecordedRandomness) -> float:
    """The shown number of a plan of additive sums."""
    blocks = []
    for step in plan.measurements:
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        blocks.append(step.block(outcome))
    return float(estimated(plan.law, blocks, 1).values[0])  # type: ignore[arg-type]


def ptr(full: bool = False) -> list[Row]:
    """P(no reply), and how far a reply is off, for the scale and the location of N(0, 1) data."""
    rows, runs = [], 200 if full else 20
    for name, target in (("interquartile", _QUARTILES), ("median", 0.0)):
        for n in _SIZES:
            bound = round(_QUARTILES * n ** (-1 / 3), 3)
            table = {"measure": "propose_test_release", "estimate": name, "bounds": str(bound)}
            (step,) = _plan(table, _PROPOSED, n, (-10, 10)).measurements
            assert isinstance(step, ProposeTestRelease)
            silence, errors = _proposed(step, n, target, runs)
            where = f"{name}, n = {n:,}, bound {bound:g}"
            claimed = exp(-(log(n) ** 2))
            for what, said, measured in (("P(no reply)", claimed, silence), ("median error of a reply", None, errors)):
                rows.append(Row(name=f"{where}: {what}", paper=said, ours=measured, verdict="not printed"))
    return rows + _cascades(runs)


def _cascades(runs: int) -> list[Row]:
    """The same for the location with three bounds that are tried in turn, at the price of one; and by selection
    instead.
    """
    rows = []
    for n in _SIZES:
        bounds = [round(part * _QUARTILES * n ** (-1 / 3), 3) for part in (0.2, 1, 3)]
        table = {"measure": "propose_test_release", "bounds": [str(bound) for bound in bounds]}
        (step,) = _plan(table, _PROPOSED, n, (-10, 10)).measurements
        assert isinstance(step, Cascade)
        generator, rng = np.random.default_rng(n), RecordedRandomness(f"cascade {n}")
        passed, errors = [], []
        for _ in range(runs):
            values = _sorted(generator.standard_normal(n), (-10, 10))
            passed.append(step.passed(step.distances(values)))
            outcome = step.run((Sealed(values),), step.draw(rng), rng)
            if not isinstance(outcome, NoReply):
                errors.append(abs(float(outcome.values[0]) / _STEP))
        shares = np.mean(passed, axis=0)
        where = f"median, n = {n:,}, bounds {', '.join(f'{bound:g}' for bound in bounds)}"
        reply, error = "median error of a reply (corrected: by selection, at the same epsilon)", _median(errors)
        rows += [
            row(f"{where}: P(no reply)", None, float(shares[-1])),
            row(f"{where}: P(the smallest bound passes)", None, float(shares[0])),
            row(f"{where}: {reply}", None, error, corrected=_selected("exponential", n, runs)),
        ]
    return rows


def _median(errors: Sequence[float]) -> float:
    return float(np.median(errors)) if errors else float("nan")


def _proposed(step: ProposeTestRelease, n: int, target: float, runs: int) -> tuple[float, float]:
    generator, rng = np.random.default_rng(n), RecordedRandomness(f"propose {step.name} {n}")
    silences, errors = [], []
    for _ in range(runs):
        values = _sorted(generator.standard_normal(n), (-10, 10))
        silences.append(step.silence(step.statistic.distance(values, step.bound, step.neighbours)))
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        if not isinstance(outcome, NoReply):
            errors.append(abs(float(outcome.values[0]) / _STEP - target))
    return float(np.mean(silences)), _median(errors)


def smooth(full: bool = False) -> list[Row]:
    """How far the median of N(0, 1) data is off: noise at the smooth sensitivity, and by selection instead."""
    runs, what = 200 if full else 20, "median error at the smooth sensitivity (corrected: by selection)"
    errors = [(n, _selected("cauchy", n, runs), _selected("exponential", n, runs)) for n in _SIZES]
    return [row(f"median, n = {n:,}, epsilon 1: {what}", None, ours, corrected=better) for n, ours, better in errors]


def _selected(method: str, n: int, runs: int) -> float:
    """The median error of a median of N(0, 1) data by one method."""
    (step,) = _plan({"measure": "median", "method": method}, _PURE, n, (-10, 10)).measurements
    generator, rng = np.random.default_rng(n), RecordedRandomness(f"{method} {n}")
    misses = []
    for _ in range(runs):
        values = _sorted(generator.standard_normal(n), (-10, 10))
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        misses.append(abs(float(outcome.values[0]) / _STEP))
    return float(np.median(misses))
