"""The fullest cell by name: every neighbour on tiny data, planted faults, the answer in every product."""

from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.measurements.derived_laws import stated

from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, NotAllowed
from dalenius.measurements.selections import cells as _selection
from dalenius.publish import formats
from dalenius.publish.to_json import from_json, write_json
from dalenius.shown.answers import columns
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATION_NAMES, RELATIONS, tiny_domain, worst_ratio

WAYS = ("exponential", "permute_and_flip")
BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "pure", "epsilon": "1.5"},
    {"definition": "zero_concentrated", "rho": "0.3"},
)


def request_of(measure: str, way: str, budget: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"table": {"rows": ["g"], "measure": measure, "method": way} | keys, "privacy": budget}


@pytest.mark.parametrize("neighbours", RELATIONS, ids=RELATION_NAMES)
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "concentrated"])
@pytest.mark.parametrize("way", WAYS)
def test_no_neighbour_sees_more_than_guaranteed_and_charged(
    way: str, budget: dict[str, Any], neighbours: Neighbours
) -> None:
    ratio = worst_ratio(request_of("mode", way, budget), neighbours, most=2)
    assert 0.2 < ratio <= 1 + 1e-9


@pytest.mark.parametrize("way", WAYS)
def test_half_the_change_of_a_score_is_found(way: str) -> None:
    right = _selection.steepness
    with patch.object(_selection, "steepness", lambda scores, neighbours: right(scores, neighbours) / 2):
        assert worst_ratio(request_of("mode", way, BUDGETS[0]), RELATIONS[0], most=3) > 1.15


@pytest.mark.parametrize("way", WAYS)
def test_what_is_drawn_has_the_listed_probabilities(way: str) -> None:
    """Fixed seed; each frequency within six standard errors."""
    step: Any = plan_of(tiny_domain(RELATIONS[0]), request_of("mode", way, BUDGETS[0])).measurements[0]
    exact, rng, draws = (Sealed(np.array([3, 1, 2], dtype=np.int64)),), RecordedRandomness("mode"), 4000
    hits = np.zeros(3)
    for _ in range(draws):
        outcome = step.run(exact, step.draw(rng), rng)
        assert isinstance(outcome, Value)
        hits[outcome.values[0]] += 1
    for share, p in zip(hits / draws, stated(step, (3, 1, 2)).values(), strict=True):
        assert abs(share - p) <= 6 * np.sqrt(p * (1 - p) / draws)


def _released(document: dict[str, Any], folder: Path) -> Any:
    with Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=folder / "ledger.sqlite",
        policy=rule_kit.policy_of(None),
        rng=RecordedRandomness("a choice"),
    ) as curator:
        curator.register(by="custodian")
        return curator.release(document)


def test_the_answer_is_a_label_in_every_product(tmp_path: Path) -> None:
    """With so much budget the fullest cell is named: nine females are single, nine widowed, none of the males widowed."""
    document = {
        "table": {"rows": ["region"], "where": {"sex": "male"}, "measure": "mode"},
        "privacy": {"definition": "pure", "epsilon": 40},
    }
    release = _released(document, tmp_path)
    assert [axis.labels for axis in release.table.space.axes] == [("east",)]
    assert release.values.tolist() == [1.0]
    assert write_json(from_json(write_json(release))) == write_json(release)
    for form in formats().values():
        # A description of columns holds no labels, and a workbook is packed.
        assert form.describes or form.name == "xlsx" or b"east" in form.content(release)
    # A position in the declared list, no count.
    assert release.blocks[0].values.tolist() == [1]


def test_every_product_names_the_cell_that_was_chosen_wherever_it_stands(tmp_path: Path) -> None:
    """Only one region has records each time, so that the answer stands at each place of the list once."""
    for region in ("north", "east", "south"):
        document = {
            "table": {"rows": ["region"], "where": {"region": [region]}, "measure": "mode"},
            "privacy": {"definition": "pure", "epsilon": 40},
        }
        release = _released(document, tmp_path / region)
        assert list(release.table.space.labels()) == [(region,)]
        assert columns(release, release.table)["region"] == [region]
        assert formats()["csv"].content(release).decode().splitlines()[1].startswith(f"{region},")


def test_impossible_cells_are_never_named() -> None:
    from dalenius.spec.load import load_dataset

    domain = load_dataset(rule_kit.DATASET).domain()
    document = {
        "table": {"rows": ["sex"], "columns": ["status"], "measure": "mode"},
        "privacy": {"definition": "pure", "epsilon": "1e-6"},
    }
    for way in WAYS:
        document["table"]["method"] = way  # type: ignore[index]
        step: Any = plan_of(domain, document).measurements[0]
        zeros, rng = set(step.query.space.structural_indices), RecordedRandomness("zeros")
        exact = (Sealed(np.zeros(6, dtype=np.int64)),)
        cells = {int(step.run(exact, step.draw(rng), rng).values[0]) for _ in range(300)}
        assert cells == set(range(6)) - zeros


def test_the_preview_bounds_how_far_the_choice_falls_short() -> None:
    """From the law alone: for every small table the shortfall is within the stated bound with 95 % probability."""
    for way in WAYS:
        plan = plan_of(tiny_domain(RELATIONS[0]), request_of("mode", way, BUDGETS[0]))
        step: Any = plan.measurements[0]
        bound = plan.preview["half_width_95"]
        for counts in ((9, 0, 0), (9, 9, 0), (5, 4, 3), (40, 38, 35)):
            chances = stated(step, counts)
            assert sum(p for c, p in zip(counts, chances.values(), strict=True) if max(counts) - c <= bound) >= 0.95


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rows": [], "measure": "mode"}, "rows or columns"),
        ({"rows": ["g"], "measure": "mode", "method": "best"}, "method"),
        ({"rows": ["g"], "measure": "mode", "weight": "x"}, "weight"),
        ({"rows": ["g"], "measure": "mode", "margins": "all"}, "margins"),
        ({"rows": ["g"], "measure": "mode", "of": "x"}, "of"),
    ],
)
def test_what_cannot_be_chosen_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(DaleniusError, match=words):
        plan_of(tiny_domain(RELATIONS[0]), {"table": table, "privacy": BUDGETS[0]})


def test_rules_about_counts_are_not_left_aside() -> None:
    with pytest.raises(NotAllowed):
        plan_of(tiny_domain(RELATIONS[0]), request_of("mode", "exponential", BUDGETS[0]), {"table": {"threshold": 3}})


def test_rho_buys_the_epsilon_that_it_pays_for() -> None:
    neighbours = tiny_domain(RELATIONS[0])
    for way in WAYS:
        plan = plan_of(neighbours, request_of("mode", way, BUDGETS[1]))
        assert Fraction(29, 100) < plan.reservation.rho <= Fraction(3, 10)
