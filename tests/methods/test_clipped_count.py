"""Clipped counts: priced by the clip against every neighbour, exact on every person, chosen by public numbers or learned at a price."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from dalenius import Curator
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.release import Value
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DaleniusError, RequestError
from dalenius.plans import clipped_persons as _clipped
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.statistics.person_sizes import PersonSizes
from dalenius_lab.attackers.exhaustive import ROWS, worst_ratio

PURE = {"definition": "pure", "epsilon": "1.5"}
CONCENTRATED = {"definition": "zero_concentrated", "rho": "0.3"}
PERSONS = tuple(Neighbours(relation=relation, unit="person", max_rows=3) for relation in Relation)
# A value inside of the table twice, and one outside.
KINDS = (ROWS[0], ROWS[1], ROWS[3])


def says_the_truth(ask: Any) -> None:
    """Of a public file, for tests/end_to_end/test_every_measure.py, in which a record is a unit: each counts as half of one."""
    release = ask("clipped_count", {"definition": "zero_concentrated", "rho": 12}, rows=["sex"], clip="1/2")
    exact = ask.cells(np.full(len(ask.age), 0.5), "sex")
    found, wrong = (
        [cells[tuple(cell)] for cell in release.table.space.labels()]
        for cells in (exact, ask.cells(np.ones(len(ask.age)), "sex"))
    )
    far = 6 * release.table.std_error
    assert (np.abs(release.table.values - found) < far).all()
    assert (np.abs(release.table.values - wrong) > far).all()


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of few parts, so that laws have few points; nothing else of the rule depends on it."""
    monkeypatch.setattr(_clipped, "_PARTS", 2)


def asked(privacy: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"table": {"rows": ["g"], "measure": "clipped_count", **keys}, "privacy": privacy}


@pytest.mark.parametrize("neighbours", PERSONS, ids=[str(n.relation) for n in PERSONS])
@pytest.mark.parametrize(
    ("privacy", "norm", "clip"), [(PURE, "l1", 2), (CONCENTRATED, "l1", "3/2"), (CONCENTRATED, "l2", "3/2")]
)
@pytest.mark.usefixtures("coarse")
def test_no_neighbour_sees_more_than_guaranteed_and_charged(
    privacy: dict[str, Any], norm: str, clip: Any, neighbours: Neighbours
) -> None:
    """Under pure epsilon and l2 the guarantee is not reached: Laplace noise is priced by l1, which no whole rows reach."""
    ratio = worst_ratio(asked(privacy, clip=clip, norm=norm), neighbours, most=1, rows=KINDS)
    assert 0.9 < ratio <= 1 + 1e-9


@pytest.mark.usefixtures("coarse")
def test_the_euclidean_clip_under_laplace_noise_stays_within_its_guarantee() -> None:
    assert 0.7 < worst_ratio(asked(PURE, clip="3/2", norm="l2"), PERSONS[0], most=1, rows=KINDS) <= 1 + 1e-9


@pytest.mark.parametrize("neighbours", PERSONS, ids=[str(n.relation) for n in PERSONS])
@pytest.mark.usefixtures("coarse")
def test_no_neighbour_sees_more_than_was_paid_to_learn_the_bound_and_to_use_it(neighbours: Neighbours) -> None:
    request = asked(PURE, clip=[1, 2], learn="1/3", beyond="1/4")
    assert 0.9 < worst_ratio(request, neighbours, most=1, rows=KINDS[:2]) <= 1 + 1e-9


@pytest.mark.usefixtures("coarse")
def test_planted_faults_are_found() -> None:
    """A clip that is priced as half of it, and sizes that are priced as nothing."""
    halved = ClippedTable.sensitivity

    def wrong(self: ClippedTable, neighbours: Neighbours) -> Sensitivity:
        right = halved(self, neighbours)
        return replace(right, l1=right.l1 / 2, l2_squared=right.l2_squared / 4, linf=right.linf / 2)

    with patch.object(ClippedTable, "sensitivity", wrong):
        assert worst_ratio(asked(PURE, clip=2), PERSONS[0], most=1, rows=KINDS) > 1.5
    nearly = Sensitivity.norms(l0=1, l1=Fraction(1, 2), l2_squared=Fraction(1, 4), linf=Fraction(1, 2))
    with patch.object(PersonSizes, "sensitivity", lambda *_: nearly):
        request = asked(PURE, clip=[1, 2], learn="1/2")
        assert worst_ratio(request, PERSONS[0], most=1, rows=KINDS[:2]) > 1.2


DECLARED = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "unit": {"id": "person", "max_rows": 100},
    "variables": {"x": {"categories": ["a", "b", "c", "d"]}},
}
# Persons with 6 and 2 rows in two cells, with one row in each cell, with 1 row, with none that counts, and nobody.
DATA = {"person": [1] * 8 + [2] * 4 + [3] + [4] + [None], "x": [*"aaaaaabb", *"abcd", "d", None, "a"]}
# Fifty of each.
COPIES = 50
DATA = {
    "person": [None if p is None else 10 * c + p for c in range(COPIES) for p in DATA["person"]],
    "x": DATA["x"] * COPIES,
}
POLICY = {"budget": {"rho": 1000, "delta": "1e-5"}}


def released(folder: Path, table: dict[str, Any], **privacy: Any) -> Any:
    request = {
        "table": {"rows": ["x"], "measure": "clipped_count", **table},
        "privacy": {"definition": "pure", "epsilon": 25} | privacy,
    }
    with Curator.open(DATA, DECLARED, ledger=folder / "l.sqlite", policy=POLICY) as curator:
        curator.register()
        return curator.release(request)


def test_a_person_beyond_the_bound_is_scaled_down_in_all_cells_alike(tmp_path: Path) -> None:
    first = released(tmp_path, {"clip": 4})
    # Of 6 and 2 rows 3 and 1 are left; four rows are within four.
    np.testing.assert_allclose(first.table.values, np.multiply(COPIES, [4, 2, 1, 2]), atol=3)
    second = released(tmp_path, {"clip": 2, "norm": "l2"})
    large = 2 / np.sqrt(40)
    exact = np.multiply(COPIES, [6 * large + 1, 2 * large + 1, 1, 2])
    # Laplace noise of the Euclidean clip is wider; still nobody's 6 rows count as 6.
    np.testing.assert_allclose(second.table.values, exact, atol=12)
    assert any("scaled down to 4 in the l1 norm" in note for note in first.provenance.warnings)


def test_noise_follows_the_clip_and_not_the_rows_of_a_person(tmp_path: Path) -> None:
    with Curator.open(DATA, DECLARED, ledger=tmp_path / "l.sqlite", policy=POLICY) as curator:

        def error(**table: Any) -> float:
            return curator.plan({"table": {"rows": ["x"], **table}, "privacy": CONCENTRATED}).error

        plain = error(measure="count")
        for norm in ("l1", "l2"):
            clipped = error(measure="clipped_count", clip=4, norm=norm)
            assert 24 < plain / clipped < 26


def test_of_a_list_the_bound_is_chosen_by_public_numbers(tmp_path: Path) -> None:
    """Against a search over all bounds, with numbers that are not those of the data."""
    with Curator.open(DATA, DECLARED, ledger=tmp_path / "l.sqlite", policy=POLICY) as curator:

        def plan(persons: dict[str, int]) -> Any:
            keys = {"clip": [1, 2, 5, 20, 60], "expected_persons": persons}
            request = {"table": {"rows": ["x"], "measure": "clipped_count", **keys}, "privacy": CONCENTRATED}
            return curator.plan(request)

        few, many = plan({"1": 50, "3": 2}), plan({"1": 50, "19": 1000})
        assert (few.preview["best"], many.preview["best"]) == ("1", "20")
        for found in (few, many):
            errors = {row["clip"]: row["predicted_error"] for row in found.preview["bounds"]}
            assert errors[found.preview["best"]] == min(errors.values())
        assert many.preview["bounds"][1]["cut_off"] == 17_000
        assert any("20 was chosen before anything was read" in note for note in many.warnings)


def test_a_learned_bound_is_released_charged_and_used(tmp_path: Path) -> None:
    release = released(tmp_path, {"clip": [1, 2, 4, 8], "learn": "1/2", "beyond": "2/5"})
    table, bound, sizes = release.tables
    assert (bound.measure, bound.values.tolist(), bound.std_error.tolist()) == ("bound", [4.0], [0.0])
    # One person has 1 row, one has 4, one has 8: three fifths are within 4.
    np.testing.assert_allclose(sizes.values, np.multiply(COPIES, [1, 0, 1, 1, 0]), atol=2)
    assert sizes.measure == "number of persons"
    np.testing.assert_allclose(table.values, np.multiply(COPIES, [4, 2, 1, 2]), atol=6)
    assert [block.name for block in release.blocks] == ["persons by size", "x"]
    lower, upper = release.interval(0.95)
    assert (lower < table.values).all() and (table.values < upper).all()


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("privacy", [PURE, CONCENTRATED, {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}])
def test_whichever_bound_is_learned_the_reservation_covers_it(
    relation: Relation, privacy: dict[str, Any], tmp_path: Path
) -> None:
    declared = DECLARED | {"unit": {"id": "person", "max_rows": 37, "relation": str(relation)}}
    bounds = [1, "3/2", 2, 3, 7, 11, 36, 400]
    with Curator.open(DATA, declared, ledger=tmp_path / "l.sqlite", policy=POLICY) as curator:
        for norm in ("l1", "l2"):
            keys = {"clip": bounds, "learn": "1/7", "norm": norm}
            plan = curator.plan({"table": {"rows": ["x"], "measure": "clipped_count", **keys}, "privacy": privacy})
            seconds = set()
            for persons in np.eye(len(bounds), dtype=np.int64):
                steps = plan.steps()
                first = next(steps)
                second = steps.send(Value(np.append(persons, 0)))
                cost = first.profile(plan.neighbours).cost() + second.profile(plan.neighbours).cost()
                assert cost.fits(plan.reservation), persons
                seconds.add(second)
            assert len(seconds) == len(bounds)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "clip says how much"),
        ({"clip": [1, 2]}, "one must be chosen"),
        ({"clip": 2, "learn": "1/5"}, "one must be chosen"),
        ({"clip": [2, 1], "learn": "1/5"}, "rise"),
        ({"clip": 0}, "above 0"),
        ({"clip": [1, 2], "learn": 1}, "between 0 and 1"),
        ({"clip": [1, 2], "learn": "1/5", "beyond": 1}, "below 1"),
        ({"clip": 2, "beyond": "1/2"}, "needs learn"),
        ({"clip": [1, 2], "learn": "1/5", "expected_persons": {"1": 5}}, "not both"),
        ({"clip": [1, 2], "expected_persons": {"x": 5}}, "expected_persons"),
        ({"clip": 2, "norm": "l3"}, "norm"),
        ({"clip": 2, "weight": "w"}, "named 'w'"),
        ({"clip": 2, "margins": "all"}, "margins"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_read(
    keys: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with (
        Curator.open(DATA, DECLARED, ledger=tmp_path / "l.sqlite", policy=POLICY) as curator,
        pytest.raises(DaleniusError, match=words) as refusal,
    ):
        curator.plan({"table": {"rows": ["x"], "measure": "clipped_count", **keys}, "privacy": PURE})
    assert isinstance(refusal.value, RequestError)


def test_one_question_has_one_answer(tmp_path: Path) -> None:
    first = released(tmp_path, {"clip": 4})
    assert released(tmp_path, {"clip": "4.0", "norm": "l1"}).provenance.ledger_entry == first.provenance.ledger_entry
    assert released(tmp_path, {"clip": 3}).provenance.ledger_entry != first.provenance.ledger_entry


def test_groups_pay_for_all_of_their_persons(tmp_path: Path) -> None:
    with Curator.open(DATA, DECLARED, ledger=tmp_path / "l.sqlite", policy=POLICY) as curator:
        plans = [
            curator.plan(
                asked(PURE | {"group": size}, clip=4)
                | {"table": {"rows": ["x"], "measure": "clipped_count", "clip": 4}}
            )
            for size in (1, 3)
        ]
        assert 2.9 < plans[1].error / plans[0].error < 3.1
        with pytest.raises(DaleniusError, match="learned for single units"):
            keys = {"clip": [1, 4], "learn": "1/5"}
            curator.plan({"table": {"rows": ["x"], "measure": "clipped_count", **keys}, "privacy": PURE | {"group": 3}})
