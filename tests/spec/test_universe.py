"""Whose records a table counts: said in one sentence, from documents alone; margins that lose records must be asked for."""

from pathlib import Path
from typing import Any

import pytest

from dalenius import Curator, batch
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import Unsupported
from dalenius.spec.load import load_dataset, load_request
from dalenius.spec.universe import universe_of
from dalenius.testing.asking import plan_of

DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f", "label": "Sex"},
        "school": {"categories": ["low", "high"], "label": "Education"},
        "age": {"bounds": [0, 99], "step": 1, "missing": 0},
        "pay": {"bounds": [0, 50], "step": 1, "missing": "drop"},
    },
}
ROWS = {"sex": ["f", "m"] * 20, "school": ["low", None, "high", ""] * 10, "age": [30] * 40, "pay": [5, None, 7, 9] * 10}
DOMAIN = load_dataset(DATASET).domain()
PURE = {"definition": "pure", "epsilon": 40}
MARGINS = {"rows": ["sex"], "columns": ["school"], "margins": "all"}


def sentence(language: str = "en", **table: Any) -> str:
    request = load_request({"table": table, "privacy": PURE})
    return universe_of(request, DOMAIN).sentence({"school": "Education"}, language)


def test_a_table_says_whose_records_it_counts() -> None:
    assert sentence(rows=["sex"]) == "Covers every record."
    assert sentence(rows=["sex"], where={"age": {"at_least": 9}}).endswith("meets the conditions.")
    assert "value of Education;" in sentence(rows=["sex"], columns=["school"])
    assert "value of Education and pay;" in sentence(rows=["school"], measure="mean", of="pay")
    assert "whether it shows them or not" in sentence(**MARGINS)
    assert "gezeigt oder nicht" in sentence("de", **MARGINS)


@pytest.mark.parametrize(
    "table",
    [
        MARGINS,
        {**MARGINS, "margins": [["sex"]]},
        {**MARGINS, "margins": [["sex", "school"], []]},
        {"rows": ["sex"], "columns": [{"variable": "age", "cuts": [10, 60], "closed": True}], "margins": [["sex"]]},
        {"rows": ["sex", {"variable": "school", "categories": ["low"]}], "margins": [["sex"]]},
    ],
)
def test_margins_that_could_lose_records_count_them_unless_the_request_says_otherwise(table: dict[str, Any]) -> None:
    plain, own, complete = (
        plan_of(DOMAIN, {"table": {**table, **said}, "privacy": PURE})
        for said in ({}, {"universe": "own"}, {"universe": "complete"})
    )
    assert repr(plain.measurements) == repr(own.measurements) != repr(complete.measurements)
    assert plain.preview["universe"] == own.preview["universe"]


@pytest.mark.parametrize(
    "table",
    [
        {"rows": ["sex"], "margins": "all"},
        {**MARGINS, "margins": [["sex", "school"], ["school"]]},
        {**MARGINS, "where": {"school": ["low", "high"]}},
        {"rows": ["sex"], "columns": ["school"]},
    ],
)
def test_margins_that_lose_nothing_need_no_word_and_take_none(table: dict[str, Any]) -> None:
    assert plan_of(DOMAIN, {"table": table, "privacy": PURE}).measurements
    with pytest.raises(Unsupported, match="universe"):
        plan_of(DOMAIN, {"table": {**table, "universe": "complete"}, "privacy": PURE})


def test_every_record_is_counted_by_default_and_that_is_one_question(tmp_path: Path) -> None:
    request = {"table": MARGINS, "privacy": {"definition": "pure", "epsilon": 1}}
    own, complete = ({**request, "table": {**MARGINS, "universe": said}} for said in ("own", "complete"))
    policy = {"budget": {"rho": 90, "delta": "0.01"}}
    with Curator.open(
        DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, rng=RecordedRandomness(1), policy=policy
    ) as curator:
        curator.register()
        stored = curator.release(request)
        assert curator.release(own).provenance.ledger_entry == stored.provenance.ledger_entry
        assert curator.quote(own).rho == curator.quote(request).rho == 0
        assert stored.find("school").space.axes[0].labels[-1] == "other or not stated"
        anew = curator.release(complete)
        assert anew.provenance.ledger_entry != stored.provenance.ledger_entry
        assert any("whether it shows them or not" in note for note in anew.provenance.warnings)
        both = curator.release(batch(MARGINS, {"rows": ["sex"]}, epsilon=2))
        assert len(both.members[0].find("school").values) == len(stored.find("school").values)


def test_every_product_says_whose_records_it_covers(tmp_path: Path) -> None:
    from dalenius.publish.to_csvw import to_csvw
    from dalenius.publish.to_html import to_html
    from dalenius.publish.to_json import from_json, write_json

    request = {"table": {"rows": ["sex"], "columns": ["school"]}, "privacy": {"definition": "pure", "epsilon": 1}}
    with Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, rng=RecordedRandomness(1)) as curator:
        curator.register()
        release = curator.release(request)
    said = "Covers the records with a declared value of Education; records without one are left out."
    assert from_json(write_json(release)).about.universe == said
    assert said in to_csvw(release) and said in to_html(release)
