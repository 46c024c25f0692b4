"""Publicly known attributes: every pair of tiny neighbours that agree in them, planted faults, refusals, an account of its own."""

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dalenius.audit.charges import ALLOWED
from dalenius.audit.planned import audit_plan
from dalenius.core.budget import MASTER
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.curator.curator import Curator
from dalenius.errors import BudgetExhausted, NotAllowed, QuotaExhausted, RequestError, Unsupported
from dalenius.ledger import Ledger
from dalenius.ledger.account import WARNINGS
from dalenius.ledger.charge import PUBLIC_ATTRIBUTES
from dalenius.spec.load import load_dataset, load_policy, load_request
from dalenius.statistics import _moves, count, magnitude_table
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.neighbour_fuzzer import judged
from dalenius_lab.attackers.worlds import World

DATASET: dict[str, Any] = {
    "dataset": {"name": "few", "population": "few"},
    "variables": {
        "town": {"categories": ["a", "b"], "public": "electoral roll"},
        "ill": {"categories": ["yes", "no"]},
        "pay": {"weight": True, "bounds": [1, 3], "step": 1, "missing": 2},
        "debt": {"bounds": [-2, 3], "step": 1},
        "age": {"bounds": [0, 2], "step": 1, "missing": 0, "public": "electoral roll"},
    },
}
PERSONS = DATASET | {"unit": {"id": "person", "max_rows": 1}}
OPEN = {"allow": {"acknowledge": ["public_attributes"]}}
PRIVACY = {"definition": "public_attributes", "epsilon": "1.5"}

# What one row can do at most, in the l1 norm.
TABLES: dict[str, tuple[dict[str, Any], int]] = {
    "a private axis": ({"rows": ["ill"]}, 2),
    "beside a public one": ({"rows": ["town"], "columns": ["ill"]}, 2),
    "a private condition": ({"rows": ["town"], "where": {"ill": ["yes"]}}, 1),
    "a private condition alone": ({"where": {"ill": ["yes"]}}, 1),
    "cut, and one cell": ({"rows": [{"variable": "debt", "cuts": [0, 3], "closed": True}]}, 1),
    "a total in public cells": ({"rows": ["town"], "measure": "total", "of": "pay"}, 2),
    "where values are missing": ({"rows": ["town"], "measure": "total", "of": "debt"}, 5),
    "under a private condition": ({"rows": ["town"], "measure": "total", "of": "pay", "where": {"ill": ["no"]}}, 3),
    "a total in private cells": ({"rows": ["ill"], "measure": "total", "of": "pay"}, 6),
    "a public number in private cells": ({"rows": ["ill"], "measure": "total", "of": "age"}, 4),
}
VALUES = {"town": ("a", "b", None), "ill": ("yes", "no", None), "pay": (1, 3), "debt": (-2, 3, None), "age": (0, 2)}


def domain_of(document: dict[str, Any] = DATASET) -> Domain:
    return load_dataset(document).domain()


def plan(table: dict[str, Any], domain: Domain | None = None, **privacy: Any) -> Any:
    request = {"table": table, "privacy": PRIVACY | privacy}
    return plan_of(domain or domain_of(), request, OPEN)


def largest(table: dict[str, Any]) -> float:
    """The largest exact loss over all pairs of single rows that agree in what is public, as a share of the charge."""
    domain, chosen = domain_of(), plan(table)
    used = {"town", "age", "ill", *table.get("where", ()), table.get("of", "pay")}
    used |= {axis if isinstance(axis, str) else axis["variable"] for axis in table.get("rows", [])}
    used |= set(table.get("columns", []))
    names = list(VALUES)
    choices = [VALUES[name] if name in used else VALUES[name][:1] for name in names]
    rows = [dict(zip(names, values, strict=True)) for values in product(*choices)]
    pairs = [(a, b) for a, b in combinations(rows, 2) if all(a[n] == b[n] for n in ("town", "age"))]
    assert len(pairs) >= 18
    worlds = [World(domain, ((rows[0],), (a,)), (b,)) for a, b in pairs]
    return max(judged({}, chosen, world).ratio for world in worlds)


@pytest.mark.parametrize(("table", "reach"), TABLES.values(), ids=TABLES)
def test_no_pair_that_agrees_in_what_is_public_is_told_apart_by_more_than_is_charged(
    table: dict[str, Any], reach: int
) -> None:
    chosen = plan(table)
    assert chosen.account == PUBLIC_ATTRIBUTES
    step = chosen.measurements[0]
    assert step.statistic.sensitivity(chosen.neighbours).l1 == reach
    assert 0.999 < largest(table) <= ALLOWED


def test_a_row_that_is_thought_to_stay_in_its_private_cell_is_found() -> None:
    with patch.object(count, "reachable", lambda query, neighbours: 1):
        assert largest(TABLES["beside a public one"][0]) > 1.9


def test_a_missing_value_that_is_thought_to_count_is_found() -> None:
    of = magnitude_table.MagnitudeTable.of
    with patch.object(
        magnitude_table.MagnitudeTable, "of", lambda *given: replace(of(*given), keeps_values=True, low=1)
    ):
        assert largest(TABLES["where values are missing"][0]) > 2


def test_persons_whose_rows_are_thought_to_keep_their_place_are_found() -> None:
    """Which row of a person counts depends on the content of all, so that a person can leave a public cell."""
    table, domain = TABLES["a private condition"][0], domain_of(PERSONS)
    assert audit_plan(domain, plan(table, domain), pairs=150).is_kept

    def as_rows(query: Any, neighbours: Neighbours) -> int:
        return _moves.reachable(query, replace(neighbours, unit="row"))

    with patch.object(count, "reachable", as_rows):
        assert not audit_plan(domain, plan(table, domain), pairs=150).is_kept


@pytest.mark.parametrize(
    "table", [{}, {"rows": ["town"]}, {"where": {"town": ["a"]}}, {"rows": ["town"], "measure": "total", "of": "age"}]
)
def test_numbers_that_follow_from_what_is_public_are_refused_and_not_released_without_noise(
    table: dict[str, Any],
) -> None:
    with pytest.raises(Unsupported, match="electoral roll"):
        plan(table)


@pytest.mark.parametrize(
    ("table", "privacy"),
    [
        ({"rows": ["town", "ill"], "margins": "all"}, {}),
        ({"rows": ["ill"], "weight": "pay"}, {}),
        ({"rows": ["ill"]}, {"group": 2}),
        ({"rows": ["ill"]}, {"mechanism": "hellinger", "noise": {"distance": "1/10", "largest": 9}}),
        ({"rows": ["ill"]}, {"rho": 1}),
        ({"measure": "mean", "of": "pay"}, {}),
        ({"measure": "median", "of": "pay"}, {}),
        ({"measure": "maximum", "of": "pay"}, {}),
    ],
)
def test_what_is_not_proved_is_refused_by_name(table: dict[str, Any], privacy: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        plan(table, **privacy)


def test_documents_that_open_nothing_are_refused() -> None:
    request = {"table": {"rows": ["ill"]}, "privacy": PRIVACY}
    with pytest.raises(NotAllowed, match="acknowledge"):
        plan_of(domain_of(), request)
    private = {name: {k: v for k, v in part.items() if k != "public"} for name, part in DATASET["variables"].items()}
    with pytest.raises(Unsupported, match="declares none"):
        plan_of(domain_of(DATASET | {"variables": private}), request, OPEN)
    with pytest.raises(RequestError, match="not sensitive"):
        load_dataset(
            {**DATASET, "variables": {"x": {"bounds": [0, 1], "step": 1, "public": "roll", "sensitive": True}}}
        )


def test_a_delta_is_priced_as_under_approximate_differential_privacy() -> None:
    replaced = domain_of(DATASET | {"unit": {"relation": "replace"}})
    one_cell = {"where": {"town": ["a"], "ill": ["yes"]}}
    same = plan_of(
        replaced, {"table": one_cell, "privacy": {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}}
    )
    assert plan(TABLES["a private condition"][0], epsilon=1, delta="1e-6").law == same.law


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    frame = {"town": ["a", "b"] * 20, "ill": ["yes", "no", "no", "no"] * 10} | {
        name: [1] * 40 for name in ("pay", "debt", "age")
    }
    policy = load_policy(OPEN | {"budget": {"rho": 3, "delta": "1e-6"}, "analysts": {"ann": {"rho": 2}}})
    opened = Curator.open(frame, load_dataset(DATASET), policy=policy, ledger=ledger)
    opened.register()
    return opened


def test_a_release_is_charged_to_its_own_account_and_says_who_is_not_protected(curator: Curator) -> None:
    request = {"table": {"rows": ["town"], "columns": ["ill"]}, "privacy": PRIVACY}
    release = curator.release(request, analyst="ann")
    account = curator.ledger.reader.account("few")
    assert account.spent.rho == 0
    assert account.other_charges[PUBLIC_ATTRIBUTES] == 1
    assert account.relation is Relation.ADD_REMOVE
    assert release.provenance.cost["relation"] == "replace"
    assert release.provenance.neighbours["public"] == ["town", "age"]
    assert "(town, age)" in release.provenance.formal_guarantee
    assert "link" in release.provenance.warnings[0]
    statement = curator.ledger.reader.statement("few")
    assert statement.warnings == (WARNINGS[PUBLIC_ATTRIBUTES],)
    assert "public-attributes account (1 charge)" in " ".join(curator.ledger.reader.odometer("few").sentences())
    assert curator.ledger.reader.verify().is_ok
    # The same request is the same number; a quota holds in this account as in every other.
    assert curator.release(request, analyst="ann").provenance.ledger_entry == release.provenance.ledger_entry
    with pytest.raises(QuotaExhausted):
        curator.release({**request, "privacy": PRIVACY | {"epsilon": 4}}, analyst="ann")
    plain = curator.release(
        {"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": 1}}, analyst="ann"
    )
    assert plain.provenance.cost["relation"] == "add-remove"
    assert curator.ledger.reader.account("few").spent.rho > 0


def test_an_account_to_which_nothing_was_granted_covers_nothing(curator: Curator, tmp_path: Path) -> None:
    charge = curator.charge(*_asked(curator))
    closed = Ledger.open(tmp_path / "closed.sqlite")
    closed.declarations.grant("few", "add-remove", 3, 0, "carla")
    closed.declarations.register("few", "few", "1", charge.fingerprint, "", by="carla")
    with pytest.raises(BudgetExhausted):
        closed.reserve(charge)
    assert closed.reader.account("few").granted == (MASTER,)
    assert closed.reader.verify().is_ok
    closed.close()


def _asked(curator: Curator) -> Any:
    from dalenius.spec.canonical import canonical

    request = load_request({"table": {"rows": ["ill"]}, "privacy": PRIVACY})
    form = canonical(request, curator.domain)
    return request, curator.plan(request), form, curator.holding.registration().fingerprint
