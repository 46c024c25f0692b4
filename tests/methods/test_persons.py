"""Numbers of persons: priced by what a person can move, against every neighbour, and better than numbers of rows."""

from typing import Any
from unittest.mock import patch

import pytest

from dalenius import Curator
from dalenius.core.neighbours import Neighbours
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics.persons import Persons
from dalenius_lab.attackers.exhaustive import RELATION_NAMES, RELATIONS, worst_ratio

BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "pure", "epsilon": "1.5"},
    {"definition": "zero_concentrated", "rho": "0.3"},
)


@pytest.mark.parametrize("neighbours", RELATIONS, ids=RELATION_NAMES)
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "concentrated"])
def test_no_neighbour_sees_more_than_guaranteed_and_charged(budget: dict[str, Any], neighbours: Neighbours) -> None:
    ratio = worst_ratio({"table": {"rows": ["g"], "measure": "persons"}, "privacy": budget}, neighbours, most=2)
    assert 0.9 < ratio <= 1 + 1e-9


def test_a_change_of_one_cell_only_is_found() -> None:
    request = {"table": {"rows": ["g"], "measure": "persons"}, "privacy": BUDGETS[0]}
    with patch.object(Persons, "sensitivity", lambda *_: Sensitivity.of_patterns(((1,),))):
        assert worst_ratio(request, RELATIONS[2], most=2) > 1.15


def test_noise_grows_with_the_root_of_the_rows_of_a_person(tmp_path: Any) -> None:
    """A count of rows needs four times the noise where a person may bring sixteen rows."""
    declared = {
        "dataset": {"name": "d", "population": "p"},
        "unit": {"id": "person", "max_rows": 16},
        "variables": {"x": {"categories": [str(i) for i in range(40)]}},
    }
    data: dict[str, list[Any]] = {"person": [], "x": []}
    with Curator.open(data, declared, ledger=tmp_path / "l.sqlite") as curator:
        plans = [
            curator.plan(
                {
                    "table": {"rows": ["x"], "measure": measure},
                    "privacy": {"definition": "zero_concentrated", "rho": "1/10"},
                }
            )
            for measure in ("count", "persons")
        ]
    ratio = plans[0].error / plans[1].error
    assert 3.8 < ratio < 4.2


def test_a_person_counts_once_in_each_cell(tmp_path: Any) -> None:
    declared = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "unit": {"id": "person", "max_rows": 3},
        "variables": {"x": {"categories": ["a", "b"]}},
    }
    data = {"person": [1, 1, 1, 2, None], "x": ["a", "a", "b", "a", "a"]}
    request = {"table": {"rows": ["x"], "measure": "persons"}, "privacy": {"definition": "pure", "epsilon": 40}}
    with Curator.open(
        data, declared, ledger=tmp_path / "l.sqlite", policy={"budget": {"rho": 1000, "delta": 0}}
    ) as curator:
        curator.register()
        release = curator.release(request)
    assert release.table.values.tolist() == [2, 1]
    assert release.about.measure == "persons"
