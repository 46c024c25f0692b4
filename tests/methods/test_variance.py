"""Variance: the known answer on fixed records, both errors, and what is refused."""

from typing import Any

import numpy as np
import pytest
from tests.methods.pairs import COLUMNS, asked

from dalenius.algebra.estimates import estimated
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, TooLarge
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of


def test_the_answer_is_the_known_one() -> None:
    table = asked({"rows": ["g"], "measure": "variance", "of": "x"})[0]
    assert table.values == pytest.approx([np.var([0, 1, 2, 9], ddof=1), 4], rel=0.02)
    assert table.sampled is not None
    whole = asked({"measure": "variance", "of": "x"})[0]
    values = np.array([value for value in COLUMNS["x"] if value is not None], dtype=np.float64)
    fourth = ((values - values.mean()) ** 4).mean()
    assert whole.sampled is not None
    assert whole.sampled[0] == pytest.approx((fourth - values.var(ddof=1) ** 2) / 7, rel=0.05)


def test_the_error_of_sampling_is_left_out_on_request() -> None:
    assert asked({"measure": "variance", "of": "x", "error": "noise"})[0].sampled is None


@pytest.mark.parametrize("wrong", [{"error": "both"}, {"of": "g"}, {"weight": "y"}])
def test_what_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        asked({"measure": "variance", "of": "x"} | wrong)


def test_squares_that_no_engine_could_sum_are_refused_from_the_declaration() -> None:
    dataset = {
        "dataset": {"name": "d", "population": "p"},
        "variables": {"x": {"bounds": [0, 10_000_000_000_000], "step": "0.01"}},
    }
    domain = DatasetDocument.from_dict(dataset).domain()
    request = {"table": {"measure": "variance", "of": "x"}, "privacy": {"definition": "pure", "epsilon": 1}}
    with pytest.raises(TooLarge, match="coarser step"):
        plan_of(domain, request, {})


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [20, "0.1"])
def test_fourth_powers_of_many_steps_are_measured_in_wider_units(relation: str, epsilon: object) -> None:
    """In single steps the noise of fourth powers would be wider than is drawn."""
    document = {
        "dataset": {"name": "d", "population": "p", "size": 10**7},
        "unit": {"relation": relation},
        "variables": {"x": {"bounds": [0, 100], "step": "0.01", "missing": "0"}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    request = {"table": {"measure": "variance", "of": "x"}, "privacy": {"definition": "pure", "epsilon": epsilon}}
    plan = plan_of(domain, request, {})
    largest = 5000**4
    halved = [step.statistic.query.halvings for step in plan.measurements if "fourths" in step.name]  # type: ignore[attr-defined]
    assert halved and all(largest / 2**25 < 2**each for each in halved)
    assert "std_error_with_sampling" in plan.preview


def test_the_interval_holds_where_noise_is_half_as_large_as_the_variance() -> None:
    """Noise is added to sums: an interval on the log scale began above the truth in one of ten cells."""
    cells = [str(k) for k in range(400)]
    rng = np.random.default_rng(4)
    columns = {"g": np.repeat(cells, 60).tolist(), "x": rng.integers(30, 71, 400 * 60).tolist()}
    declared = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "variables": {"g": {"categories": cells}, "x": {"bounds": [0, 100], "step": 1}},
    }
    domain = DatasetDocument.from_dict(declared).domain()
    table = {"rows": ["g"], "measure": "variance", "of": "x", "error": "noise"}
    request = {"table": table, "privacy": {"definition": "zero_concentrated", "rho": "0.2"}}
    plan = plan_of(domain, request, {})
    source = MemorySource.open(domain, columns)
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("noise"))
    made = estimated(plan.law, passage.blocks, 400)  # type: ignore[arg-type]
    lower, upper = made.ends(0.95, False)
    truth = np.array(columns["x"]).reshape(400, 60).var(axis=1, ddof=1)
    assert (truth < lower).mean() <= 0.05 and (truth > upper).mean() <= 0.05
