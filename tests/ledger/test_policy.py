"""The policy in force is the one in the ledger."""

from pathlib import Path
from typing import Any

import pytest

from dalenius.core.budget import MASTER
from dalenius.curator.curator import Curator
from dalenius.errors import BudgetExhausted, LedgerMismatch, NotAllowed, PolicyDiffers, QuotaExhausted
from dalenius.ledger import Ledger
from dalenius.ledger.account import QUOTA
from dalenius.ledger.charge import DATA_DEPENDENT
from dalenius.ledger.policy import POLICY_NOTE, adopt, bind, policy_digest, recorded
from dalenius.spec.load import load_dataset, load_policy

DATA = {"sex": ["f", "m", "f", "m"], "age": [1, 2, 3, 4]}
REQUEST = {"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": "1/10"}}
STRICT: dict[str, Any] = {"budget": {"rho": 1}, "allow": {"definitions": ["pure"]}, "table": {"variance_cap": 900}}


def document(name: str = "people", **dataset: Any) -> dict[str, Any]:
    return {
        "dataset": {"name": name, "population": "people", **dataset},
        "variables": {"sex": {"categories": ["f", "m"]}, "age": {"bounds": [0, 9], "step": 1, "sensitive": True}},
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.sqlite")


def opened(ledger: Ledger, policy: Any = None, **given: Any) -> Curator:
    return Curator.open(document(**given), ledger=ledger, policy=policy, data=DATA)


def test_registration_records_the_policy_with_its_digest_and_by_whom(ledger: Ledger) -> None:
    curator = opened(ledger, STRICT)
    curator.register(by="carla")
    (note,) = ledger.reader.notes("people", POLICY_NOTE)
    assert note.by == "carla"
    assert note.body["payload"]["digest"] == policy_digest(load_policy(STRICT))
    assert "policy" in " ".join(line.what for line in ledger.reader.statement("people").lines)


def test_a_policy_that_is_left_out_is_not_forgotten(ledger: Ledger) -> None:
    opened(ledger, STRICT).register()
    later = opened(ledger)
    with pytest.raises(NotAllowed):
        later.plan({"table": {"rows": ["sex"]}, "privacy": {"definition": "zero_concentrated", "rho": "1/10"}})
    assert later.policy.to_dict() == load_policy(STRICT).to_dict()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"allow": {"definitions": ["pure", "bootstrap"]}}, "allow.definitions"),
        ({"allow": {"acknowledge": ["bootstrap"], "definitions": ["pure"]}}, "allow.acknowledge"),
        ({"table": {}}, "table.variance_cap"),
        ({"default_quota": {"rho": 1}}, "default_quota.rho"),
        ({"analysts": {"eve": {"rho": 1}}}, "analysts.eve.rho"),
        ({"release": "embargoed"}, "release"),
        ({"floors": {"age": 1}}, "floors.age"),
    ],
)
def test_other_rules_than_the_recorded_ones_are_refused_by_name(
    ledger: Ledger, change: dict[str, Any], said: str
) -> None:
    opened(ledger, STRICT).register()
    with pytest.raises(PolicyDiffers, match=said.replace(".", r"\.")) as refused:
        opened(ledger, STRICT | change)
    assert "policy adopt" in refused.value.message and refused.value.exit_code == 4


def test_the_same_rules_in_another_order_are_the_same_policy(ledger: Ledger) -> None:
    opened(ledger, {"allow": {"definitions": ["pure", "approximate"]}}).register()
    opened(ledger, {"population": "people", "allow": {"definitions": ["approximate", "pure"]}})


def test_an_adopted_policy_is_in_force_and_a_curator_that_was_open_stops(ledger: Ledger) -> None:
    before = opened(ledger, STRICT)
    before.register()
    wider = load_policy({"budget": {"rho": 1}, "analysts": {"ada": {"rho": "1/2"}}})
    assert any("allow.definitions" in said for said in adopt(ledger, before.domain, wider, "carla", "as agreed"))
    assert opened(ledger).policy == wider
    with pytest.raises(PolicyDiffers):
        before.release(REQUEST)
    assert ledger.reader.account("people").charges == 0
    names = [p.key.name for p in ledger.reader.account("people").balances if p.key.kind == QUOTA and p.is_limited]
    assert names == ["ada"]
    with pytest.raises(PolicyDiffers):
        opened(ledger, STRICT)


def test_a_ledger_without_such_a_line_opens_as_before_and_the_first_use_records_one(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    curator = opened(ledger, STRICT)
    # What an earlier version wrote: a registration and an account, and nothing about the policy.
    from dalenius.ledger.opening import declare_unit, open_account

    declare_unit(ledger, curator.domain, "old")
    ledger.declarations.register(
        "people", "people", "1", curator.holding._fingerprint(), curator.holding.domain_digest, by="old"
    )
    open_account(ledger.declarations, curator.domain, curator.policy, "old")
    assert recorded(ledger, curator.domain) is None
    opened(ledger, {"allow": {"definitions": ["pure"]}})
    curator.release(REQUEST, analyst="ada")
    known = recorded(ledger, curator.domain)
    assert known is not None and known.by == "ada"
    with pytest.raises(PolicyDiffers):
        opened(ledger, {"budget": {"rho": 1}})


def test_the_first_of_two_first_uses_decides(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened(ledger, STRICT), opened(ledger, {"budget": {"rho": 1}})
    one.register()
    with pytest.raises(PolicyDiffers):
        other.register()
    assert opened(ledger).policy == one.policy
    # Both looked before either wrote: the later line is there, and is not in force.
    with monkeypatch.context() as blind:
        looks = iter([[]])
        seen = ledger.reader.notes
        blind.setattr(ledger.reader, "notes", lambda *about: seen(*about) if next(looks, True) else [])
        with pytest.raises(PolicyDiffers):
            bind(ledger, one.domain, load_policy({"budget": {"rho": 1}}), by="later")
    assert [note.body["payload"]["how"] for note in ledger.reader.notes("people", POLICY_NOTE)] == ["first use"] * 2
    assert opened(ledger).policy == one.policy


def test_a_policy_is_adopted_before_there_is_an_account(ledger: Ledger) -> None:
    """Its quotas become lines when the account is opened, and are not written before that."""
    rules = {"budget": {"rho": 1}, "analysts": {"ada": {"rho": "1/100000"}}}
    curator = opened(ledger)
    adopt(ledger, curator.domain, load_policy(rules), by="carla")
    assert [entry.kind for entry in ledger.reader.entries("people")] == ["note"]
    later = opened(ledger)
    later.register()
    with pytest.raises(QuotaExhausted):
        later.release(REQUEST, analyst="ada")


def test_the_same_people_under_another_name_bring_no_laxer_rules(ledger: Ledger) -> None:
    opened(ledger, STRICT).register()
    with pytest.raises(PolicyDiffers):
        opened(ledger, {}, name="copy")
    copy = opened(ledger, name="copy")
    copy.register()
    assert copy.policy.to_dict() == load_policy(STRICT).to_dict()
    with pytest.raises(PolicyDiffers):
        opened(ledger, {}, name="copy")


def test_another_budget_in_the_file_is_told_with_the_command_that_grants_it(ledger: Ledger) -> None:
    opened(ledger, STRICT).register()
    (said,) = opened(ledger, STRICT | {"budget": {"rho": "5/2"}}).notices
    assert "dalenius ledger grant --population people --rho 1.5" in said
    assert ledger.reader.account("people").limit.rho == 1
    (said,) = opened(ledger, STRICT | {"budget": {"rho": "1/2"}}).notices
    assert "cannot be taken back" in said
    assert opened(ledger, STRICT).notices == ()


def test_other_caps_in_the_file_are_told(ledger: Ledger) -> None:
    opened(ledger, STRICT).register()
    (said,) = opened(ledger, STRICT | {"sensitive": {"age": {"rho": "1/4"}}}).notices
    assert "sensitive.age.rho" in said


def test_the_dataset_document_names_its_ledger_and_its_policy(tmp_path: Path) -> None:
    (tmp_path / "books").mkdir()
    (tmp_path / "rules.toml").write_text('[allow]\ndefinitions = ["pure"]\n')
    (tmp_path / "data.csv").write_text("sex,age\nf,1\nm,2\n")
    text = (
        '[dataset]\nname = "people"\npopulation = "people"\nsource = "data.csv"\nledger = "books/l.sqlite"\n'
        'policy = "rules.toml"\n[variables.sex]\ncategories = ["f", "m"]\n'
    )
    (tmp_path / "dataset.toml").write_text(text)
    with Curator.open(tmp_path / "dataset.toml") as curator:
        curator.register()
        assert curator.policy.allow.definitions == ("pure",)
    assert (tmp_path / "books" / "l.sqlite").exists()
    with pytest.raises(LedgerMismatch, match="two budgets"):
        Curator.open(tmp_path / "dataset.toml", ledger=tmp_path / "second.sqlite")
    assert not (tmp_path / "second.sqlite").exists()
    with Curator.open(tmp_path / "dataset.toml", ledger=tmp_path / "books" / ".." / "books" / "l.sqlite") as again:
        assert again.ledger.reader.account("people").charges == 0


def test_where_ledger_and_policy_lie_is_no_part_of_the_declaration(ledger: Ledger) -> None:
    plain = Curator.open(document(), ledger=ledger, data=DATA)
    named = Curator(load_dataset(document(ledger="a.sqlite", policy="b.toml")), ledger=ledger, policy=None, data=DATA)
    assert plain.holding.domain_digest == named.holding.domain_digest


def test_only_definitions_of_the_data_dependent_account_open_it(ledger: Ledger) -> None:
    opened(ledger, {"allow": {"acknowledge": ["fixed_weights", "bootstrap_per_cell"]}}).register()
    assert ledger.reader.account("people").granted == (MASTER,)


def test_a_data_dependent_definition_opens_its_account(ledger: Ledger) -> None:
    opened(ledger, {"allow": {"acknowledge": ["bootstrap"]}}).register()
    assert ledger.reader.account("people").granted == (MASTER, DATA_DEPENDENT)


def test_an_official_release_pays_from_no_analysts_quota(ledger: Ledger) -> None:
    curator = opened(ledger, {"analysts": {"ada": {"rho": "1/100000"}}})
    curator.register()
    with pytest.raises(QuotaExhausted):
        curator.release(REQUEST, analyst="ada")
    curator.release(REQUEST, analyst="ada", is_official=True)
    (balance,) = [p for p in ledger.reader.account("people").balances if p.key.kind == QUOTA]
    assert balance.spent_rho == 0 and balance.charges == 0


def test_the_share_of_official_tables_is_kept_from_everybody_else(ledger: Ledger) -> None:
    """The budget is for three tables: two are kept back, then one."""
    rules = {"budget": {"rho": "3/200"}, "official_share": "2/3"}
    ages = {"variable": "age", "cuts": [0, 5, 9]}
    tables = [REQUEST | {"table": {"rows": rows}} for rows in (["sex"], [], [ages])]
    curator = opened(ledger, rules)
    curator.register()
    curator.release(tables[0])
    with pytest.raises(BudgetExhausted, match="reserved for official tables"):
        curator.release(tables[1])
    curator.release(tables[1], is_official=True)
    laxer = rules | {"official_share": "1/3"}
    adopt(ledger, curator.domain, load_policy(laxer), by="carla")
    opened(ledger, laxer).release(tables[2])
