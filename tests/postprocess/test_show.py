"""[show] of a request and a policy, and declared totals: free, recorded, and never a failure after the charge."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, NotPublic, Unsupported
from dalenius.postprocess._show import NOT_ADJUSTED, shown
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_dataset
from dalenius.spec.request import RequestDocument
from dalenius.testing import rule_kit

PUBLISHED = [
    {"over": ["sex"], "totals": [18, 9], "source": "Yearbook of toys, table 3"},
    {"over": [], "totals": [27], "source": "Register of toys"},
]
DATASET = {key: part for key, part in rule_kit.DATASET.items() if key != "structural_zeros"} | {"published": PUBLISHED}
CROSS = {"rows": ["sex"], "columns": ["region"]}
PURE = {"definition": "pure", "epsilon": "1/4"}
LIST = {"definition": "zero_concentrated", "rho": "1/20"}


def request_of(table: dict[str, Any], privacy: dict[str, Any], **show: Any) -> dict[str, Any]:
    return {"table": table, "privacy": privacy} | ({"show": show} if show else {})


@pytest.fixture
def office(tmp_path: Path) -> Any:
    def opened(policy: dict[str, Any] | None = None, dataset: dict[str, Any] = DATASET) -> Curator:
        curator = Curator.open(
            dataset,
            data=rule_kit.ROWS,
            ledger=tmp_path / "ledger.sqlite",
            policy=rule_kit.policy_of(None) | (policy or {}),
            rng=RecordedRandomness("shown"),
        )
        curator.register(by="custodian")
        return curator

    return opened


def notes(release: Release) -> list[str]:
    return [str(note["name"]) for note in release.adjustments]


def test_the_same_measurement_is_shown_in_other_ways_for_nothing(office: Any) -> None:
    with office() as curator:
        plain = curator.release(request_of(CROSS | {"margins": "all"}, LIST))
        spent, ends = curator.ledger.reader.statement("toys"), []
        for show, name in (
            ({"whole": True}, "rounding"),
            ({"nonnegative": True}, "nonnegative"),
            ({"least": 0, "most": 5}, "clamping"),
        ):
            release = curator.release(request_of(CROSS | {"margins": "all"}, LIST, **show))
            assert notes(release) == [name]
            assert [b.values.tolist() for b in release.blocks] == [b.values.tolist() for b in plain.blocks]
            assert not np.array_equal(release.values, plain.values)
            ends.append(release.interval())
        assert curator.ledger.reader.statement("toys") == spent
        # Intervals are made of what was measured, however it is shown.
        assert all(np.array_equal(ends[0], other) for other in ends[1:])


def test_whole_and_possible_numbers_add_up(office: Any) -> None:
    with office() as curator:
        release = curator.release(request_of(CROSS | {"margins": "all"}, LIST, nonnegative=True, whole=True))
        cells = release.find("sex", "region").values.reshape(2, 3)
        assert (cells >= 0).all() and np.array_equal(cells, np.rint(cells))
        assert np.array_equal(release.find("sex").values, cells.sum(axis=1))
        assert notes(release) == ["nonnegative", "rounding"]


def test_published_totals_hold_and_stand_in_the_guarantee_with_their_source(office: Any) -> None:
    with office() as curator:
        release = curator.release(request_of(CROSS, PURE, published=True))
        assert release.values.sum(axis=1) == pytest.approx([18, 9])
        assert "sex (published in: Yearbook of toys, table 3)" in release.provenance.guarantee
        assert "total (published in: Register of toys)" in release.provenance.guarantee
        assert "Outside the guarantee" not in curator.release(request_of(CROSS, PURE)).provenance.guarantee


def test_a_later_table_agrees_with_an_earlier_one(office: Any) -> None:
    with office() as curator:
        first = curator.release(request_of({"rows": ["sex"]}, PURE))
        entry = first.provenance.ledger_entry
        later = curator.release(request_of(CROSS, PURE, anchor=entry))
        assert later.values.sum(axis=1) == pytest.approx(first.values)
        drafted = curator.release(request_of({"rows": ["region"]}, PURE), status="draft")
        with pytest.raises(NotPublic):
            curator.release(request_of(CROSS, PURE, anchor=drafted.provenance.ledger_entry))


def test_what_an_earlier_release_does_not_allow_is_refused_before_the_charge(office: Any) -> None:
    with office() as curator:
        other = curator.release(request_of({"rows": ["sex"], "where": {"age": {"at_least": 30}}}, PURE))
        before = curator.ledger.reader.statement("toys")
        for ask in (curator.plan, curator.quote, curator.release):
            with pytest.raises(DaleniusError, match="where"):
                ask(request_of(CROSS, PURE, anchor=other.provenance.ledger_entry))
        assert curator.ledger.reader.statement("toys") == before


def test_an_adjustment_that_fails_after_the_charge_is_a_warning_in_every_product(office: Any) -> None:
    class Broken:
        name = "broken"

        def __call__(self, release: Release) -> Release:
            raise Unsupported("It is broken.")

    with office() as curator:
        plain = curator.release(request_of(CROSS, PURE))
    release = shown(plain, [Broken()])
    assert notes(release) == [NOT_ADJUSTED] and np.array_equal(release.values, plain.values)
    assert "not done: It is broken." in release.provenance.warnings[-1]
    assert "not done: It is broken." in release._repr_html_()


@pytest.mark.parametrize(
    ("table", "show", "words"),
    [
        ({"rows": ["sex"], "measure": "mean", "of": "age"}, {"whole": True}, "add up"),
        ({"rows": ["sex"], "measure": "mode"}, {"least": 0}, "add up"),
        ({"rows": ["region"], "margins": [["region.half"]]}, {"whole": True}, "one level"),
        (CROSS, {"least": 3, "most": 2}, "must not exceed"),
        (CROSS, {"wholly": True}, "whole"),
        (CROSS, {"anchor": "no such entry"}, "entry"),
        ({"rows": ["status"], "where": {"sex": "female"}}, {"published": True}, "all records"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_the_charge(
    office: Any, table: dict[str, Any], show: dict[str, Any], words: str
) -> None:
    with office() as curator:
        before = curator.ledger.reader.statement("toys")
        with pytest.raises(DaleniusError, match=words):
            curator.release(request_of(table, PURE, **show))
        assert curator.ledger.reader.statement("toys") == before


def test_a_data_set_without_published_totals_refuses_them(office: Any) -> None:
    with office(dataset=rule_kit.DATASET) as curator, pytest.raises(DaleniusError, match="declares no"):
        curator.release(request_of(CROSS, PURE, published=True))


@pytest.mark.parametrize(
    "part",
    [
        {"over": ["sex"], "totals": [1], "source": "x"},
        {"over": ["sex"], "totals": [1, 2], "source": " "},
        {"over": ["sex"], "totals": [1, 2]},
        {"over": ["sex", "sex"], "totals": [1, 2, 3, 4], "source": "x"},
        {"over": ["nobody"], "totals": [1, 2], "source": "x"},
    ],
)
def test_a_published_total_has_a_source_and_a_number_for_each_cell(part: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        load_dataset(rule_kit.DATASET | {"published": [part]})


def test_a_policys_show_holds_for_every_release_of_numbers_that_add_up(office: Any) -> None:
    with office({"show": {"least": 0, "whole": True}}) as curator:
        release = curator.release(request_of(CROSS, PURE))
        assert notes(release) == ["clamping", "rounding"]
        assert (release.values >= 0).all() and np.array_equal(release.values, np.rint(release.values))
        assert notes(curator.release(request_of({"rows": ["sex"], "measure": "mode"}, PURE))) == []


def test_unbiased_numbers_are_not_moved(office: Any) -> None:
    with office({"table": {"unbiased": True}}) as curator:
        with pytest.raises(DaleniusError, match="unbiased"):
            curator.release(request_of(CROSS, PURE, whole=True))
        assert curator.release(request_of(CROSS, PURE)).tables


def test_a_policy_names_no_release_and_no_totals(office: Any) -> None:
    with pytest.raises(DaleniusError, match="policy"):
        office({"show": {"published": True}})


def test_how_numbers_are_shown_is_no_part_of_what_is_asked() -> None:
    domain = load_dataset(rule_kit.DATASET).domain()
    digests = {
        canonical(RequestDocument.from_dict(request_of(CROSS, PURE, **show)), domain).digest
        for show in ({}, {"whole": True}, {"least": 0})
    }
    assert len(digests) == 1
