"""A data-dependent release from file to publication: nothing that leaves says what the scale was.

Two files with the same declaration and the same number of rows are released, one with values up to 15 and one with
values up to 900,000. Everything but the released values, the random identifiers and the hashes must be the same.
"""

import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest

from dalenius.algebra.tabulation import rows
from dalenius.core.neighbours import Scope
from dalenius.core.release import POSSIBLE, Release
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, NotAllowed
from dalenius.publish.to_json import write_json

DATASET = """
[dataset]
name = "farms"
population = "farms"
version = "1"
source = "farms.csv"

[unit]
relation = "replace"

[variables.status]
categories = ["owner", "share", "mixed"]

[variables.output]
bounds = [0, 1000000]
step = 1
missing = 0
"""
POLICY = """
[allow]
acknowledge = ["bootstrap", "individual"]

[budget]
rho = 50

[floors]
output = 5
"""
TOTALS = """
[table]
rows = ["status"]
measure = "total"
of = "output"

[privacy]
definition = "bootstrap"
epsilon = 1
"""
MEDIAN = """
[table]
measure = "median"
of = "output"

[privacy]
definition = "individual"
epsilon = 1
"""
CALM = [10, 11, 12, 13, 14, 15]
WILD = [10, 900_000, 12, 13, 777_777, 15]
SAME = [7] * 6
# Sums, extremes, ranges, two largest, doubled largest: anything the noise could have been scaled to.
SECRETS = ("900000", "777777", "899990", "1677777", "1800000", "1677827", "765777", "777765")


def office(folder: Path, outputs: list[int]) -> Path:
    folder.mkdir()
    (folder / "dataset.toml").write_text(DATASET)
    (folder / "policy.toml").write_text(POLICY)
    (folder / "totals.toml").write_text(TOTALS)
    (folder / "median.toml").write_text(MEDIAN)
    lines = [f"{('owner', 'share', 'mixed')[i % 3]},{v}" for i, v in enumerate(outputs)]
    (folder / "farms.csv").write_text("\n".join(["status,output", *lines]) + "\n")
    return folder


def published(folder: Path, request: str) -> dict[str, str]:
    """Everything that leaves: plan, release document, rows, ledger lines and statement."""
    with Curator.open(
        folder / "dataset.toml", ledger=folder / "ledger.sqlite", policy=folder / "policy.toml"
    ) as curator:
        curator.register(by="custodian")
        plan = curator.plan(folder / request)
        release = curator.release(folder / request)
        again = curator.release(folder / request)
        assert again.values.tolist() == release.values.tolist()
        assert release.law.kind == "withheld"
        assert release.provenance.neighbours["scope"] != Scope.ALL_DATA
        assert any("Not protected" in w for w in release.provenance.warnings)
        values = release.values.ravel().tolist()
        table = [[None if isinstance(v, int | float) else v for v in row] for row in rows(release, release.table)]
        account = curator.ledger.reader.account("farms")
        return {
            "plan": repr((plan.preview, plan.warnings, plan.law.to_dict(), plan.reservation)),
            "release": without(write_json(said_of_the_values(release)), values),
            "rows": repr(table),
            "account": repr(account),
        }


def said_of_the_values(release: Release) -> Release:
    """The release without the note that a value was cut to the declared bounds, which follows from the measured values alone."""
    notes = [note for note in release.adjustments if note["name"] == POSSIBLE]
    measured = release.blocks[0].values
    is_bounded = release.table.measure == "median"
    assert bool(notes) == (is_bounded and bool(np.any((measured < 0) | (measured > 1_000_000))))
    return release.with_(adjustments=tuple(n for n in release.adjustments if n["name"] != POSSIBLE))


def without(text: str, values: list[float]) -> str:
    """A document without the released values, random identifiers, hashes and times."""
    content = json.loads(text)

    def clean(item: object) -> object:
        if isinstance(item, dict):
            return {k: clean(v) for k, v in item.items() if k not in ("values", "ledger_entry", "ledger_head")}
        if isinstance(item, list):
            return [clean(v) for v in item]
        return item

    return re.sub(r"[0-9a-f]{16,}", "#", json.dumps(clean(content), sort_keys=True))


@pytest.mark.parametrize("request_name", ["totals.toml", "median.toml"])
def test_nothing_but_the_values_tells_calm_from_wild(tmp_path, request_name, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    found = [
        published(office(tmp_path / name, outputs), request_name)
        for name, outputs in (("calm", CALM), ("wild", WILD), ("same", SAME))
    ]
    assert found[0] == found[1] == found[2]
    printed = capfd.readouterr()
    text = " ".join([*found[1].values(), *(r.getMessage() for r in caplog.records), printed.out, printed.err])
    for secret in SECRETS:
        assert secret not in re.sub(r"[0-9a-f]{16,}", "#", text).replace(",", "")


def test_the_ledger_file_holds_no_scale(tmp_path):
    folder = office(tmp_path / "wild", WILD)
    published(folder, "totals.toml")
    content = b"".join(p.read_bytes() for p in folder.glob("ledger.sqlite*") if p.is_file())
    for secret in SECRETS:
        assert f'"{secret}"'.encode() not in content
        assert f": {secret}".encode() not in content


def test_refusals_are_the_same_for_all_data(tmp_path):
    messages = set()
    for name, outputs in (("calm", CALM), ("wild", WILD), ("same", SAME)):
        folder = office(tmp_path / name, outputs)
        (folder / "policy.toml").write_text("[allow]\nacknowledge = []\n")
        with Curator.open(
            folder / "dataset.toml", ledger=folder / "ledger.sqlite", policy=folder / "policy.toml"
        ) as curator:
            curator.register(by="custodian")
            with pytest.raises(NotAllowed) as refusal:
                curator.release(folder / "totals.toml")
            assert isinstance(refusal.value, DaleniusError)
            messages.add(json.dumps(refusal.value.to_dict(), sort_keys=True))
    assert len(messages) == 1


def test_the_master_account_is_not_touched(tmp_path):
    folder = office(tmp_path / "calm", CALM)
    with Curator.open(
        folder / "dataset.toml", ledger=folder / "ledger.sqlite", policy=folder / "policy.toml"
    ) as curator:
        curator.register(by="custodian")
        curator.release(folder / "totals.toml")
        balances = curator.ledger.reader.account("farms").balances
        spent = {p.key.account: p.spent_rho for p in balances if p.key.kind == "total"}
        assert spent["master"] == 0
        assert spent["data-dependent"] > 0
