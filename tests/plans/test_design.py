"""Errors of sampling follow how a data set says its rows were drawn: independently, in clusters, several per person, or all there are."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.estimates import estimated
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Table
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

CELLS, PERSONS, ROWS = 200, 24, 3
PRIVACY = {"definition": "zero_concentrated", "rho": 900}
POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}


def declared(draws: str | None = None, max_rows: int = ROWS) -> dict[str, Any]:
    """Cells of persons, with two numbers that go together, a weight and a property."""
    return {
        "dataset": {"name": "d", "population": "p", "public": True},
        "unit": {"id": "person", "max_rows": max_rows},
        **({} if draws is None else {"design": {"draws": draws}}),
        "variables": {
            "cell": {"categories": [str(k) for k in range(CELLS)]},
            "x": {"bounds": [0, 100], "step": 1},
            "y": {"bounds": [0, 100], "step": 1},
            "job": {"categories": ["yes", "no"]},
            "w": {"weight": True, "bounds": [1, 5], "step": 1},
        },
    }


@cache
def columns() -> Mapping[str, list[Any]]:
    """Persons with three equal rows each: samples of one process, stacked as the cells of one table.

    x = 20 + 2 a and y = 10 + a + b, a and b uniform on 0, …, 30 and 0, …, 40.
    """
    rng = np.random.default_rng(8)
    persons = CELLS * PERSONS
    a, b = rng.integers(0, 31, persons), rng.integers(0, 41, persons)
    rows = {
        "person": np.arange(persons).astype(str),
        "cell": np.repeat(np.arange(CELLS), PERSONS).astype(str),
        "x": 20 + 2 * a,
        "y": 10 + a + b,
        "job": np.where(rng.uniform(size=persons) < 0.5, "yes", "no"),
        "w": rng.integers(1, 6, persons),
    }
    return {name: np.repeat(column, ROWS).tolist() for name, column in rows.items()}


@cache
def source(draws: str | None) -> MemorySource:
    return MemorySource.open(DatasetDocument.from_dict(declared(draws)).domain(), columns())


def planned(request: Mapping[str, Any], draws: str | None = None, max_rows: int = ROWS) -> TablePlan:
    domain = DatasetDocument.from_dict(declared(draws, max_rows)).domain()
    return plan_of(domain, {"table": {"rows": ["cell"], **request}, "privacy": PRIVACY}, POLICY)


def shown(plan: TablePlan, draws: str | None = None) -> tuple[Any, Table]:
    passage = gate.run(plan, source(draws), plan.neighbours, plan.reservation, RecordedRandomness("design"))
    return passage.blocks, plan.assemble(passage.blocks)[0]


# Of 200 cells, what a binomial test at .0005 does not reject for 93.5 %.
LEAST = 0.87
ESTIMATES: Mapping[str, tuple[Mapping[str, Any], list[float]]] = {
    "mean": ({"measure": "mean", "of": "x", "error": "sampling"}, [50]),
    "proportion": ({"measure": "proportion", "of": "job", "among": ["yes"]}, [0.5]),
    "ratio": ({"measure": "ratio", "of": "x", "other": "y"}, [50 / 45]),
    "variance": ({"measure": "variance", "of": "x"}, [320]),
    "covariance": ({"measure": "covariance", "of": "x", "other": "y"}, [160]),
    "correlation": ({"measure": "correlation", "of": "x", "other": "y"}, [160 / (320 * 220) ** 0.5]),
    "distribution": ({"measure": "distribution", "of": "x", "bins": [39, 59]}, [10 / 31, 20 / 31]),
    "family": ({"measure": "exponential_family", "of": "x", "model": "gaussian"}, [50, np.nan]),
}
WEIGHTED = {
    "weighted mean": ({"measure": "mean", "of": "x", "weight": "w"}, [50]),
    "weighted ratio": ({"measure": "ratio", "of": "x", "other": "y", "weight": "w"}, [50 / 45]),
}


@pytest.mark.parametrize("name", [*ESTIMATES, *WEIGHTED])
def test_intervals_with_sampling_hold_for_persons_with_three_equal_rows(name: str) -> None:
    request, truth = {**ESTIMATES, **WEIGHTED}[name]
    draws = "independent" if name in WEIGHTED else None
    plan = planned(request, draws)
    blocks, table = shown(plan, draws)
    lower, upper = (end.reshape(CELLS, -1) for end in estimated(plan.law, blocks, table.space.size).ends(0.95, True))
    held = ((lower <= truth) & (truth <= upper)) | np.isnan(truth)
    assert held.all(axis=1).mean() >= LEAST


@pytest.mark.parametrize("name", ESTIMATES)
@pytest.mark.parametrize(("draws", "said"), [("census", "a census"), ("clusters", "in clusters")])
def test_neither_a_census_nor_clusters_have_an_error_of_sampling(name: str, draws: str, said: str) -> None:
    plan = planned(ESTIMATES[name][0], draws)
    assert any(said in note for note in plan.warnings), plan.warnings
    assert not any("independent" in note for note in plan.warnings)
    assert "std_error_with_sampling" not in plan.preview
    if name == "proportion":
        assert shown(plan, draws)[1].sampled is None


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("draws", [None, "census", "clusters"])
def test_with_weights_and_without_a_design_there_is_no_error_of_sampling(name: str, draws: str | None) -> None:
    """At a design effect of 2.9 such an interval held 75.7 % of the time."""
    plan = planned(WEIGHTED[name][0], draws)
    assert shown(plan, draws)[1].sampled is None
    assert {"": "does not say how", "census": "census", "clusters": "clusters"}[draws or ""] in " ".join(plan.warnings)
    assert "products" not in plan.law.parameters


def test_without_a_word_the_error_is_conditional_and_with_it_not() -> None:
    request = ESTIMATES["mean"][0]
    notes = {draws: " ".join(planned(request, draws, 1).warnings) for draws in (None, "independent")}
    assert "if the records were drawn independently" in notes[None]
    assert "if the" not in notes["independent"]
    several = planned(request).warnings
    assert any("A unit may have 3 rows" in note for note in several)
    assert any("if the units were drawn independently" in note for note in several)


def test_bootstrap_errors_are_refused_where_there_is_no_error_of_sampling() -> None:
    for draws in ("census", "clusters"):
        for table in (
            {"measure": "mean", "of": "x", "error": "bootstrap"},
            {"measure": "total", "of": "x", "error": "bootstrap"},
        ):
            domain = DatasetDocument.from_dict(declared(draws, 1)).domain()
            privacy = {"definition": "approximate", "epsilon": 1, "delta": "1/1000000"}
            with pytest.raises(Unsupported, match=draws):
                plan_of(domain, {"table": table, "privacy": privacy}, POLICY)
