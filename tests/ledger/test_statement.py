"""Statements: running balances, own lines only, exports that add up."""

import csv
import io
import json
from fractions import Fraction

import pytest

from dalenius.core.neighbours import Scope
from dalenius.errors import UnknownName
from dalenius.ledger.statement import export_statement, what_of


def test_balances_run_along_the_lines(ledger, charge):
    ledger.reserve(charge("aa", analyst="ann"))
    ledger.declarations.grant("people", "add-remove", "1/2", 0, by="custodian", note="second year")
    done = ledger.commit(ledger.reserve(charge("bb", rho="1/4", analyst="bob")), b"document")
    statement = ledger.reader.statement("people")
    money = [(line.kind, line.rho, line.left_rho) for line in statement.lines if line.left_rho]
    assert money == [
        ("grant", "1", "1"),
        ("charge", "0.125", "0.875"),
        ("grant", "0.5", "1.375"),
        ("charge", "0.25", "1.125"),
    ]
    assert [line.status for line in statement.lines if line.kind == "charge"] == ["charged", "published"]
    ledger.set_status(done.entry, "withdrawn", by="custodian")
    lines = ledger.reader.statement("people").lines
    assert [line.status for line in lines if line.kind == "charge"] == ["charged", "withdrawn"]
    assert lines[-1].what.endswith("published to withdrawn")


def test_an_analyst_sees_own_lines_and_quota_only(ledger, charge):
    ledger.declarations.quota("people", "ann", "1/2", 0, by="custodian")
    ledger.reserve(charge("aa", analyst="ann"))
    ledger.reserve(charge("bb", analyst="bob"))
    own = ledger.reader.statement("people", "ann")
    assert [line.by for line in own.lines] == ["ann"]
    assert own.lines[0].left_rho == "0.375"
    assert [balance["name"] for balance in own.balances] == ["ann"]
    assert repr(own).splitlines()[0] == "<Statement of people, ann: 1 movements (add-remove)"
    assert repr(ledger.reader.statement("people")).startswith("<Statement of people: ")
    stranger = ledger.reader.statement("people", "nobody")
    assert (stranger.lines, stranger.balances) == ((), ())


def test_data_dependent_pages_carry_their_warning(ledger, charge):
    ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian", account="data-dependent")
    assert ledger.reader.statement("people").warnings == ()
    weak = charge("aa", account="data-dependent", scope=Scope.ACTUAL_DATA, definition="weak", analyst="ann")
    ledger.reserve(weak)
    assert "does not cover" in ledger.reader.statement("people").warnings[0]
    assert "does not cover" in ledger.reader.statement("people", "ann").warnings[0]
    assert ledger.reader.statement("people", "bob").warnings == ()


def test_exports_add_up_to_the_account(ledger, charge):
    for number in range(5):
        ledger.reserve(charge(f"k{number}", rho=f"1/{number + 7}", analyst="ann"))
    rows = list(csv.DictReader(io.StringIO(export_statement(ledger.reader.statement("people"), "csv"))))
    spent = sum(Fraction(row["rho"]) for row in rows if row["kind"] == "charge")
    account = ledger.reader.account("people")
    assert spent <= account.spent.rho < spent + Fraction(5, 10**12)
    assert Fraction(rows[-1]["left_rho"]) == account.left.rho
    document = json.loads(export_statement(ledger.reader.statement("people"), "json"))
    assert len(document["lines"]) == len(rows)
    assert len(export_statement(ledger.reader.statement("people"), "jsonl").splitlines()) == len(rows)
    with pytest.raises(UnknownName):
        export_statement(ledger.reader.statement("people"), "pdf")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"request": {"title": "Age by sex"}}, "Age by sex"),
        ({"request": {"measure": "count", "axes": [{"variable": "age"}]}}, "count by age"),
        ({"request": {"measure": "total", "of": "pay", "axes": []}}, "total of pay"),
        ({"request": {}, "variables": ["illness"]}, "release by illness"),
        ({"request": {"tables": [{}, {}]}}, "batch of 2 tables"),
        ({}, "release"),
    ],
)
def test_requests_in_a_few_words(body, words):
    assert what_of(body) == words
