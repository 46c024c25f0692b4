"""Only variables that the declaration names as weights are offered as weights, and only they are taken where it names some."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.api import conftest
from tests.server.api.conftest import POLICY, Site, document, error_code

from dalenius.errors import DocumentError
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


@pytest.mark.parametrize("part", ['categories = ["a"]\n', "bounds = [-1, 9]\nstep = 1\n"])
def test_a_weight_is_a_number_that_is_never_negative(part: str) -> None:
    text = f'[dataset]\nname = "d"\npopulation = "p"\n[variables.w]\nweight = true\n{part}'
    with pytest.raises(DocumentError, match="never negative"):
        load_dataset(text)
