"""Only variables that the declaration names as weights are offered as weights, and only they are taken, on every route."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.api import conftest
from tests.server.api.conftest import POLICY, Site, document, error_code
from typer.testing import CliRunner

import dalenius
from dalenius.cli.main import app
from dalenius.errors import DocumentError, UnknownName
from dalenius.server.pages.address import read_pairs
from dalenius.spec.load import load_dataset

FIXED = POLICY + '\n[allow]\nacknowledge = ["fixed_weights"]\n'
WEIGHT = '[variables.weight]\ncolumn = "income"\nweight = true\nbounds = [0, 1000]\nstep = 1\n'


def test_only_declared_weights_are_offered(
    make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = make_site("plain", policy=FIXED, rows=50)
    assert plain.call("", "GET", "/api/v1/datasets/towns").json()["weights"] == []
    monkeypatch.setattr(conftest, "DATASET", conftest.DATASET + WEIGHT)
    site = make_site("weighted", policy=FIXED, rows=50)
    assert site.call("", "GET", "/api/v1/datasets/towns").json()["weights"] == ["weight"]
    view = site.services.reading.dataset("towns")
    assert read_pairs([("rows", "town"), ("weight", "weight")], view).weight == "weight"
    refused = read_pairs([("rows", "town"), ("weight", "income")], view)
    assert refused.weight == "" and refused.problems
    plan = "/api/v1/datasets/towns/plan"
    assert site.call("", "POST", plan, json=document(weight="weight")).status_code == 200
    other = site.call("", "POST", plan, json=document(weight="income"))
    assert error_code(other) == "unknown_name" and "weight" in other.json()["error"]["message"]


def test_a_declaration_that_names_no_weight_has_none(make_site: Callable[..., Site], tmp_path: Path) -> None:
    site = make_site("plain", policy=FIXED, rows=50)
    asked = document(weight="income")
    for verb in ("plan", "releases"):
        reply = site.call("ana", "POST", f"/api/v1/datasets/towns/{verb}", json=asked)
        assert error_code(reply) == "unknown_name", verb
        assert "weight = true" in reply.json()["error"]["message"]
    view = site.services.reading.dataset("towns")
    assert read_pairs([("rows", "town"), ("weight", "income")], view).problems
    folder = site.place.parent
    (folder / "request.json").write_text(json.dumps({"dataset": "dataset.toml", **asked}))
    with dalenius.Curator.open(
        folder / "dataset.toml", policy=folder / "policy.toml", ledger=tmp_path / "l"
    ) as curator:
        curator.register()
        for route in (curator.plan, curator.quote, curator.release):
            with pytest.raises(UnknownName, match=r"\[variables\.income\]"):
                route(asked)
    for verb in ("check", "plan"):
        outcome = CliRunner().invoke(app, [verb, str(folder / "request.json")])
        assert isinstance(outcome.exception, UnknownName) and "weight = true" in str(outcome.exception), verb


@pytest.mark.parametrize("part", ['categories = ["a"]\n', "bounds = [-1, 9]\nstep = 1\n"])
def test_a_weight_is_a_number_that_is_never_negative(part: str) -> None:
    text = f'[dataset]\nname = "d"\npopulation = "p"\n[variables.w]\nweight = true\n{part}'
    with pytest.raises(DocumentError, match="never negative"):
        load_dataset(text)
