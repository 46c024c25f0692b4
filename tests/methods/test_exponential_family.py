"""Exponential families: known answers under bounds that cut values off, both errors, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius import Curator, table
from dalenius.algebra.estimates import estimated
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Table
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

POINTS = (np.arange(2000) + 0.5) / 2000
VARIABLES: dict[str, dict[str, Any]] = {
    "normal": {"bounds": [-150, 150], "step": "0.5"},
    "waiting": {"bounds": [0, 6], "step": "0.01"},
    "calls": {"bounds": [0, 5], "step": 1},
    "heads": {"bounds": [0, 4], "step": 1},
    "yes": {"bounds": [0, 1], "step": 1},
}


def columns() -> dict[str, list[float]]:
    """Evenly spread quantiles of each law: a fit without noise gives its parameters back."""
    from scipy.stats import binom, norm, poisson

    return {
        "normal": (20 + 100 * norm.ppf(POINTS)).tolist(),
        "waiting": (-2 * np.log1p(-POINTS)).tolist(),
        "calls": poisson.ppf(POINTS, 2.5).tolist(),
        "heads": binom.ppf(POINTS, 4, 0.25).tolist(),
        "yes": (POINTS > 0.3).astype(int).tolist(),
    }


def asked(
    of: str, family: str, *, relation: str = "add-remove", epsilon: int | str = 900, **more: Any
) -> tuple[Table, Any]:
    document = {
        "dataset": {"name": "d", "population": "p", "public": True, "size": len(POINTS)},
        "unit": {"relation": relation},
        "variables": {name: {**variable, "missing": 0} for name, variable in VARIABLES.items()},
    }
    domain = DatasetDocument.from_dict(document).domain()
    table = {"measure": "exponential_family", "of": of, "model": family, **more}
    plan = plan_of(domain, {"table": table, "privacy": {"definition": "pure", "epsilon": epsilon}}, {})
    source = MemorySource.open(domain, columns())
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("family"))
    shown = plan.assemble(passage.blocks)[0]
    return shown, estimated(plan.law, passage.blocks, shown.space.size)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("of", "family", "parameters", "errors"),
    [
        ("normal", "gaussian", [20, 100], [2.30, 1.80]),
        ("waiting", "exponential", [0.5], [0.0115]),
        ("calls", "poisson", [2.5], [0.0360]),
        ("heads", "binomial", [0.25], [0.00484]),
        ("yes", "bernoulli", [0.7], [0.01025]),
    ],
)
def test_parameters_come_back_though_bounds_cut_values_off(
    of: str, family: str, parameters: list[float], errors: list[float], relation: str
) -> None:
    """Errors of sampling are between those without clipping and a little more."""
    table, estimate = asked(of, family, relation=relation)
    assert table.values == pytest.approx(parameters, rel=0.02)
    assert np.sqrt(table.sampled) == pytest.approx(errors, rel=0.12)  # type: ignore[arg-type]
    lower, upper = estimate.ends(0.95, True)
    assert np.all(lower < parameters) and np.all(parameters < upper)
    assert (upper - lower) / 3.92 == pytest.approx(np.sqrt(table.sampled), rel=0.08)  # type: ignore[arg-type]


def test_more_noise_makes_both_intervals_wider() -> None:
    wide, narrow = (asked("waiting", "exponential", epsilon=epsilon)[1] for epsilon in ("0.02", 900))
    for is_sampling in (False, True):
        (low, high), (from_, to) = (one.ends(0.95, is_sampling) for one in (wide, narrow))
        assert high - low > to - from_


@pytest.mark.parametrize(
    ("of", "family", "more"),
    [
        ("waiting", "poisson", {}),
        ("calls", "bernoulli", {}),
        ("normal", "exponential", {}),
        ("normal", "cauchy", {}),
        ("normal", "gaussian", {"weight": "yes"}),
    ],
)
def test_a_family_whose_values_the_bounds_do_not_declare_is_refused(of: str, family: str, more: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        asked(of, family, **more)


@pytest.mark.parametrize(("family", "parameter"), [("poisson", 40.0), ("exponential", 1 / 40)])
def test_intervals_hold_where_noise_is_wider_than_the_way_to_a_bound(
    family: str, parameter: float, tmp_path: Path
) -> None:
    """Bounds a hundred times too wide: a mean that the noise carried below nought was a rate of [0, 1e-9]."""
    samples = [f"s{k}" for k in range(40)]
    declared = {
        "dataset": {"name": "wide", "population": "wide", "public": True},
        "variables": {"sample": {"categories": samples}, "x": {"bounds": [0, 10_000], "step": 1}},
    }
    rows = {"sample": np.repeat(samples, 100), "x": np.full(40 * 100, 40)}
    with Curator.open(rows, declared, ledger=tmp_path / "l.sqlite", rng=RecordedRandomness("wide")) as curator:
        curator.register()
        release = curator.release(table(rows=["sample"], measure="exponential_family", of="x", model=family, epsilon=1))
    for with_sampling in (False, True):
        lower, upper = release.interval(with_sampling=with_sampling)
        assert ((lower <= parameter) & (parameter <= upper)).mean() >= 0.9


@pytest.mark.parametrize(("of", "family"), [("calls", "poisson"), ("waiting", "exponential"), ("heads", "binomial")])
def test_a_cell_with_nobody_has_every_parameter_in_its_interval(of: str, family: str) -> None:
    """It was a single number: a fit of no mean at all."""
    nobody = {"calls": {"at_most": 0}, "heads": {"at_least": 4}}
    for epsilon in ("0.9", 4):
        table, estimate = asked(of, family, epsilon=epsilon, where=nobody)
        assert np.isnan(table.values).all() or np.isfinite(table.values).all()
        for is_sampling in (False, True):
            lower, upper = estimate.ends(0.95, is_sampling)
            assert np.all(upper - lower >= 0.5)
