"""`dalenius plan`, `check`, `release`, `show`, `infer` and `adjust` with several tables at once."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import DaleniusError
from dalenius.testing import rule_kit

BATCH = """dataset = "dataset.json"
title = "Two at once"

[[table]]
title = "Everybody"
rows = ["sex"]
columns = ["region"]

[[table]]
title = "Women"
rows = ["region"]
where = { sex = ["female"] }
share = 3

[privacy]
definition = "approximate"
epsilon = 2
delta = 1e-6
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    lines = [",".join(rule_kit.ROWS), *(",".join(map(str, row)) for row in zip(*rule_kit.ROWS.values(), strict=True))]
    Path("toys.csv").write_text("\n".join(lines) + "\n")
    own = rule_kit.DATASET["dataset"] | {"source": "toys.csv", "policy": "policy.json"}
    Path("dataset.json").write_text(json.dumps(rule_kit.DATASET | {"dataset": own}))
    Path("policy.json").write_text(json.dumps(rule_kit.policy_of(None)))
    Path("batch.toml").write_text(BATCH)
    run("register", "dataset.json")
    return tmp_path


def run(*words: str) -> str:
    outcome = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_a_batch_goes_through_every_verb(folder: Path) -> None:
    assert json.loads(run("check", "batch.toml", "--json"))["cells"] == 9
    said = run("plan", "batch.toml")
    for words in ("Two at once", "Everybody", "Women", "share 3/4", "Only sex: female", "charged as one", "one by one"):
        assert words in said
    assert len(json.loads(run("plan", "batch.toml", "--json"))["tables"]) == 2
    told = run("release", "batch.toml", "-o", "out")
    assert "Everybody" in told and "Women" in told and "all tables of this batch together" in told
    assert {path.name for path in (folder / "out").iterdir()} == {
        "release.json",
        *(name + more for name in ("table.csv", "table-2-region.csv") for more in ("", "-metadata.json")),
        "table.html",
    }
    second = run("show", "out#2")
    assert "Women" in second and "Everybody" not in second
    assert "south" in run("infer", "interval", "out#2")
    run("adjust", "out#2", "--whole", "-o", "whole.json")
    assert "batch of 2 tables" in run("ledger", "show", "--ledger", "dalenius.sqlite")
    for verb, refusal in (
        (["show", "out#3"], "no table 3"),
        (["show", "whole.json#1"], "no batch"),
        (["infer", "interval", "out"], "law of its own"),
        (["adjust", "out", "--whole"], "table by table"),
        (["plan", "batch.toml", "--curve"], "This is a batch"),
    ):
        outcome = CliRunner().invoke(app, verb)
        assert outcome.exit_code != 0 and isinstance(outcome.exception, DaleniusError)
        assert refusal in str(outcome.exception)
