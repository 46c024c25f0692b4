"""Waves that share a budget: what one release spends, and the error of a level and of a change beside recorded series."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dalenius.algebra.estimates import estimated
from dalenius.core.budget import UNIT
from dalenius.core.domain import CellSpace
from dalenius.core.law import Additive, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block
from dalenius.errors import DaleniusError
from dalenius.exact.sampling import sample
from dalenius.shown.speech import expectation
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

DOMAIN = load_dataset(rule_kit.DATASET).domain()


def planned(privacy: dict[str, Any], **table: Any) -> TablePlan:
    return plan_of(DOMAIN, {"table": table or {"rows": ["sex"]}, "privacy": privacy}, rule_kit.policy_of(None))


def test_a_wave_spends_its_part_and_is_the_same_question_as_that_part_alone() -> None:
    for definition, amounts in (
        ("pure", {"epsilon": 4}),
        ("zero_concentrated", {"rho": 2}),
        ("approximate", {"epsilon": 4, "delta": "1e-4"}),
    ):
        whole = {name: Fraction(str(amount)) for name, amount in amounts.items()}
        part = {name: str(amount / 8) for name, amount in whole.items()}
        series = planned({"definition": definition, **amounts, "waves": 8})
        alone = planned({"definition": definition, **part})
        assert series.reservation == alone.reservation and series.law == alone.law
        assert series.budget == alone.budget


@pytest.mark.parametrize("mechanism", ["discrete_gaussian", "discrete_laplace"])
def test_levels_and_changes_of_recorded_series_keep_to_the_plan(mechanism: str) -> None:
    plan = planned({"definition": "zero_concentrated", "rho": 1, "waves": 8, "mechanism": mechanism})
    assert isinstance(plan.law, Additive)
    noise = sample(plan.law.noise, 500 * 8, RecordedRandomness("series")).reshape(500, 8)
    level, change = plan.preview["level_half_width_95"], plan.preview["change_half_width_95"]
    held = [float((np.abs(errors) <= width).mean()) for errors, width in ((noise, level), (np.diff(noise), change))]
    assert all(0.94 < share < 0.985 for share in held), held
    assert np.std(np.diff(noise)) == pytest.approx(np.sqrt(2) * np.std(noise), rel=0.05)


@pytest.mark.parametrize(
    ("measure", "more"), [("mean", {"error": "noise"}), ("mean", {"error": "sampling"}), ("variance", {})]
)
def test_levels_and_changes_of_recorded_series_of_estimates_keep_to_the_plan(
    measure: str, more: dict[str, Any]
) -> None:
    """500 series of eight waves of cells as large as the plan says, with values spread evenly over the bounds."""
    plan = planned({"definition": "zero_concentrated", "rho": 4, "waves": 8}, measure=measure, of="income", **more)
    assert isinstance(plan.law, Joint)
    waves, records = 500 * 8, int(plan.preview["records"])
    low, high = plan.law.parameters["ends"]["x"]
    values = low + (np.arange(records) + 0.5) * (high - low) / records
    rng, blocks, clean = RecordedRandomness("estimates"), [], []
    for step in plan.measurements:
        arrays = [summed(query, values) for query in step.statistic.needs]  # type: ignore[attr-defined]
        sums = np.rint(np.tile(arrays, waves)).astype(np.int64)
        noisy = sums + sample(step.mechanism, len(sums), rng)  # type: ignore[attr-defined]
        for kept, numbers in ((blocks, noisy), (clean, sums)):
            kept.append(Block(name=step.name, space=CellSpace(()), values=numbers, law=step.law))
    made, truth = (estimated(plan.law, each, waves).values.reshape(500, 8) for each in (blocks, clean))
    errors = made - truth
    level, change = plan.preview["level_half_width_95"], plan.preview["change_half_width_95"]
    for off, width in ((errors, level), (np.diff(errors), change)):
        # Errors of 4,000 waves, or of 3,500 changes that share waves: 95 % within one point and a half.
        assert 0.935 < float((np.abs(off) <= width).mean()) < 0.965


def summed(query: TableQuery, values: np.ndarray) -> float:
    """The sum of a row function of one variable, halved as the query says."""
    added = np.full(len(values), float(query.function.multiple))
    for power in query.function.powers:
        added = added * (power.slope * values + power.offset) ** power.exponent
    return float((added - query.shift).sum() / 2**query.halvings)


def test_the_plan_says_both_in_every_language() -> None:
    plan = planned({"definition": "zero_concentrated", "rho": 1, "waves": 8})
    for language, word in (("en", "a change between two"), ("de", "eine Veränderung zwischen zwei")):
        *_, sentence = expectation("count", plan.preview, "{:.3g}".format, language)
        assert word in sentence and sentence.startswith("8 ")
    assert len(expectation("count", planned({"definition": "pure", "epsilon": 1}).preview, str)) == 1


@pytest.mark.parametrize("waves", [0, -1, 1001, "8", 2.5])
def test_waves_are_a_whole_number(waves: object) -> None:
    with pytest.raises(DaleniusError):
        planned({"definition": "pure", "epsilon": 1, "waves": waves})


def test_a_wave_that_no_ledger_could_book_is_refused() -> None:
    with pytest.raises(DaleniusError, match="smallest"):
        planned({"definition": "pure", "epsilon": str(10 * UNIT), "waves": 1000})
