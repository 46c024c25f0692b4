"""`dalenius.describe`: an editable declaration of a file or a table, confidential until it is confirmed."""

import pickle
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import dalenius
from dalenius.core.sealed import BANNER
from dalenius.curator.drafting import Microdata, proposed
from dalenius.curator.planner import Planner
from dalenius.errors import MissingExtra, NotPublic, ParameterError, RequestError, Unconfirmed, UnknownName
from dalenius.spec.declaration import Declaration, SecondTable
from dalenius.spec.load import load_dataset
from dalenius.spec.policy import PolicyDocument

COLUMNS: dict[str, list[Any]] = {
    "person": [f"p{k}" for k in range(400)],
    "region": [1 + k % 4 for k in range(400)],
    "income": [998.0 if k % 20 == 0 else round(1000 + 12.34 * k, 2) for k in range(400)],
    "weight": [10 + k / 7 for k in range(400)],
}
POLICY = {"budget": {"rho": 1000, "delta": "1e-6"}, "allow": {"acknowledge": ["fixed_weights"]}}


def described() -> Declaration:
    return dalenius.describe(COLUMNS)


def test_a_draft_of_a_table_is_edited_confirmed_and_opened(tmp_path: Path) -> None:
    d = described()
    assert list(d.variables) == ["region", "income", "weight"] and list(d.left_out) == ["person"]
    assert d.variables["income"].missing_codes == (998,) and list(d.variables["region"].categories) == list("1234")
    d.population, d.draws, d.weight = "residents", "independent", "weight"
    d.variables["income"].bounds = (0, 20_000)
    assert d.unconfirmed == ("region", "weight") and d.variables["income"].grid == 1
    d.variables["region"].categories = {"1": "North", "2": "South", "3": "East", "4": "West"}
    d.confirm()
    assert not d.questions
    with dalenius.Curator.open(d, ledger=tmp_path / "ledger.sqlite", policy=POLICY) as curator:
        curator.register()
        table = dalenius.table(rows=["region"], measure="mean", of="income", weight="weight", rho=100)
        release = curator.release(table)
    assert release.table.space.axes[0].labels == ("North", "South", "East", "West")
    rows = [k for k in range(400) if k % 4 == 0 and k % 20]
    exact = sum(COLUMNS["weight"][k] * COLUMNS["income"][k] for k in rows) / sum(COLUMNS["weight"][k] for k in rows)
    # At rho 100 the noise is far below the width of the steps of incomes.
    assert release.table.values.ravel()[0] == pytest.approx(exact, rel=0.02)


def test_what_was_read_from_rows_shows_itself_under_the_banner_until_it_is_confirmed() -> None:
    d = described()
    for shown in (repr(d), d._repr_html_(), repr(d.variables["income"]), d.to_toml()):
        assert BANNER in shown
    assert "Still to say: population: Who is in the data?" in repr(d)
    for leave in (pickle.dumps, deepcopy):
        with pytest.raises(NotPublic):
            leave(d)
    d.confirm("region", "income", "weight")
    for shown in (repr(d), d._repr_html_(), repr(d.variables["income"]), d.to_toml()):
        assert BANNER not in shown


def test_nothing_runs_on_what_is_not_confirmed(tmp_path: Path) -> None:
    d = described()
    d.population = "residents"
    opened = dalenius.Curator.open(COLUMNS, d, ledger=tmp_path / "ledger.sqlite", policy=POLICY)
    with opened as curator, pytest.raises(Unconfirmed):
        curator.plan(dalenius.table(rows=["region"], rho=1))


def test_slips_are_refused_with_their_remedy(tmp_path: Path) -> None:
    d = described()
    with pytest.raises(ParameterError, match="lower to a higher"):
        d.variables["income"].bounds = (5, 5)
    for slip in (lambda: d.confirm("incom"), lambda: setattr(d, "weight", "w"), lambda: d.levels("x", "levels.csv")):
        with pytest.raises(UnknownName):
            slip()
    with pytest.raises(RequestError, match="population"):
        d.document()
    d.population = "residents"
    d.variables["region"].missing_codes = (4,)
    with pytest.raises(RequestError, match="is a category"):
        d.save(tmp_path / "dataset.toml")
    assert not (tmp_path / "dataset.toml").exists()


def test_levels_come_from_a_file(tmp_path: Path) -> None:
    d = described()
    d.population = "residents"
    (tmp_path / "levels.csv").write_text("code,half\n1,upper\n2,upper\n3,lower\n4,lower\n")
    d.levels("region", tmp_path / "levels.csv")
    d.save(tmp_path / "dataset.toml")
    region = load_dataset(tmp_path / "dataset.toml").domain().variable("region")
    assert region.hierarchy("half").groups == ("upper", "lower")
    (tmp_path / "short.csv").write_text("code,half\n1,upper\n")
    with pytest.raises(RequestError, match="does not say where"):
        d.levels("region", tmp_path / "short.csv")


def written(folder: Path, suffix: str) -> Path:
    import pandas
    import pyreadstat

    frame = pandas.DataFrame({name: COLUMNS[name] for name in ("region", "income")})
    labels = {"region": {1: "North", 2: "South", 3: "East", 4: "West", 9: "No answer"}}
    path = folder / f"survey{suffix}"
    columns = {"region": "Region of residence", "income": "Income in a month"}
    if suffix == ".sav":
        frame.loc[7, "region"] = 9
        ranges = {"region": [{"lo": 9, "hi": 9}], "income": [998]}
        pyreadstat.write_sav(frame, path, column_labels=columns, variable_value_labels=labels, missing_ranges=ranges)
    elif suffix == ".dta":
        pyreadstat.write_dta(frame, path, column_labels=columns, variable_value_labels=labels)
    else:
        pyreadstat.write_xport(frame, path, column_labels=columns)
    return path


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_files_of_statistical_packages_bring_their_labels_and_are_kept_as_parquet(suffix: str, tmp_path: Path) -> None:
    d = dalenius.describe(written(tmp_path, suffix))
    region = d.variables["region"]
    assert region.label == "Region of residence"
    if suffix == ".xpt":
        assert not region.confirmed
    else:
        assert region.confirmed and region.categories["1"] == "North" and "from survey" in region.origin
        # What the file itself declares as missing is no category.
        assert ("9" in region.categories) == (suffix == ".dta")
    d.population = "residents"
    d.confirm()
    (tmp_path / "made").mkdir()
    document = d.save(tmp_path / "made" / "dataset.toml")
    assert load_dataset(document).dataset.source == "survey.parquet"
    with dalenius.Curator.open(document, ledger=tmp_path / "ledger.sqlite", policy=POLICY) as curator:
        content = curator.register().reveal()
    assert content["variables"]["income"]["missing"] == 20 and content["variables"]["income"]["outside"] == 0
    assert content["variables"]["region"]["unseen"] == 0


def test_a_damaged_file_and_a_missing_extra_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.sav").write_bytes(b"no such file")
    with pytest.raises(RequestError, match="could not be read"):
        dalenius.describe(tmp_path / "broken.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtra, match="formats"):
        dalenius.describe(tmp_path / "broken.sav")


def test_what_a_second_table_holds_awaits_confirmation_too(tmp_path: Path) -> None:
    """A feature says what its records hold: nothing of unconfirmed ones is registered, planned or written unmarked."""
    declared = dalenius.describe({"person": ["1", "2", "3"], "sex": ["m", "f", "m"]})
    other = Microdata.of({"person": ["1", "1", "2"], "kind": ["x", "y", "x"]})
    declared.population, declared.unit_id, declared.max_rows = "people", "person", 1
    declared.second = SecondTable(microdata=other, id="person", most=2, source="visits.parquet")
    drafted = proposed(other.summaries()["kind"], other)
    assert drafted is not None
    declared.second.variables["kind"] = drafted
    declared.confirm(*declared.variables)
    assert declared.unconfirmed == ("kind",)
    assert BANNER in declared.to_toml()
    domain = declared.document().domain()
    taken = [name for name, variable in domain.variables.items() if variable.feature is not None]
    assert taken and not any(domain.variable(name).is_confirmed for name in taken)
    with pytest.raises(Unconfirmed):
        Planner(domain=domain, policy=PolicyDocument()).plan(dalenius.table(rows=[taken[-1]], rho=1))
    declared.confirm()
    assert declared.unconfirmed == () and BANNER not in declared.to_toml()


def test_drafts_and_rows_are_neither_pickled_nor_printed() -> None:
    declared = dalenius.describe({"job": ["clown", "judge", "clown"]})
    assert "clown" not in repr(declared.microdata)
    for draft in (declared.variables["job"], declared.microdata):
        with pytest.raises(NotPublic):
            pickle.dumps(draft)
        with pytest.raises(NotPublic):
            deepcopy(draft)


def test_a_file_with_other_separators_is_refused_at_once(tmp_path: Path) -> None:
    place = tmp_path / "semicolons.csv"
    place.write_text("a;b;c\n1;2;3\n4;5;6\n")
    with pytest.raises(RequestError, match="not separated by commas"):
        dalenius.describe(place)
