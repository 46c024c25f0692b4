"""Clipped totals: priced by the clip against every neighbour, and exact where amounts have both signs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius import Curator
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.plans import clipped_persons as clipped
from dalenius_lab.attackers.exhaustive import worst_ratio

PERSONS = tuple(Neighbours(relation=relation, unit="person", max_rows=2) for relation in Relation)
# Both signs in one cell, so that a person who is replaced can move it twice as far.
KINDS = (("a", 2), ("a", -1), ("b", -1), (None, 1))
BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "pure", "epsilon": "1.5"},
    {"definition": "zero_concentrated", "rho": "0.3"},
)


def says_the_truth(ask: Any) -> None:
    """Of a public file, for tests/end_to_end/test_every_measure.py, in which a record is a unit: nobody adds more than 40 years."""
    release = ask("clipped_total", {"definition": "zero_concentrated", "rho": 12}, rows=["sex"], of="age", clip=40)
    exact = ask.cells(np.minimum(ask.age, 40), "sex")
    found, wrong = (
        [cells[tuple(cell)] for cell in release.table.space.labels()] for cells in (exact, ask.cells(ask.age, "sex"))
    )
    far = 6 * release.table.std_error
    assert (np.abs(release.table.values - found) < far).all()
    assert (np.abs(release.table.values - wrong) > far).all()


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of few parts, so that laws have few points; nothing else of the rule depends on it."""
    monkeypatch.setattr(clipped, "_PARTS", 2)


@pytest.mark.parametrize("neighbours", PERSONS, ids=[str(n.relation) for n in PERSONS])
@pytest.mark.parametrize(("privacy", "norm"), [(BUDGETS[0], "l1"), (BUDGETS[1], "l2")])
@pytest.mark.usefixtures("coarse")
def test_no_neighbour_sees_more_than_guaranteed_and_charged(
    privacy: dict[str, Any], norm: str, neighbours: Neighbours
) -> None:
    table = {"rows": ["g"], "measure": "clipped_total", "of": "x", "clip": "3/2", "norm": norm}
    ratio = worst_ratio({"table": table, "privacy": privacy}, neighbours, most=1, rows=KINDS)
    assert 0.9 < ratio <= 1 + 1e-9


@pytest.mark.usefixtures("coarse")
def test_no_neighbour_sees_more_where_the_bound_is_learned() -> None:
    keys = {"clip": [1, 2], "norm": "l2", "learn": "1/3"}
    table = {"rows": ["g"], "measure": "clipped_total", "of": "x", **keys}
    ratio = worst_ratio({"table": table, "privacy": BUDGETS[1]}, PERSONS[0], most=1, rows=KINDS[:2])
    assert 0.9 < ratio <= 1 + 1e-9


def test_losses_and_gains_of_a_person_are_scaled_alike(tmp_path: Path) -> None:
    declared = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "unit": {"id": "person", "max_rows": 10},
        "variables": {"x": {"categories": ["a", "b"]}, "money": {"bounds": [-100, 1000], "step": "1/2"}},
    }
    data = {
        "person": [f"{name}{copy}" for copy in range(50) for name in "pppq"],
        "x": ["a", "a", "b", "b"] * 50,
        "money": [500, 100, -60, -8] * 50,
    }
    request = {
        "table": {"rows": ["x"], "measure": "clipped_total", "of": "money", "clip": 33},
        "privacy": {"definition": "pure", "epsilon": 25},
    }
    policy = {"budget": {"rho": 1000, "delta": 0}}
    with Curator.open(data, declared, ledger=tmp_path / "l.sqlite", policy=policy) as curator:
        curator.register()
        release = curator.release(request)
    # 600 and -60 become 30 and -3; the other person is within the bound.
    np.testing.assert_allclose(release.table.values, [50 * 30, -50 * 11], atol=25)
    assert release.about.measure == "clipped_total"
