"""How derived variables are told to readers: in both languages, by the library and by `dalenius check`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.spec.derived_words import LANGUAGES, derivation
from dalenius.spec.load import load_dataset

DOCUMENT: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p"},
    "unit": {"id": "person"},
    "tables": {"stays": {}},
    "records": {
        "kind": {"label": "kind of visit", "categories": ["a", "b", "c"]},
        "cost": {"bounds": [0, 9], "step": "1/2"},
        "day": {"dates": ["2020-01-01", "2020-12-31"]},
        "length": {"categories": ["short", "long"], "table": "stays"},
    },
    "variables": {
        "ever": {"feature": {"take": "any", "where": {"kind": ["a", "b"]}}},
        "always": {"feature": {"take": "all", "where": {"cost": {"at_least": 1}}}},
        "spent": {"feature": {"take": "sum", "of": "cost"}, "bounds": [0, 99]},
        "least": {"feature": {"take": "min", "of": "cost"}},
        "most": {"feature": {"take": "max", "of": "cost"}},
        "first": {"feature": {"take": "first", "of": "kind", "by": "day"}},
        "long": {"feature": {"take": "count", "where": {"length": "long"}}, "bounds": [0, 9]},
    },
}
SAID = {
    "ever": "Whether some row of the person has kind of visit = a or b.",
    "always": "Whether every row of the person has 1 ≤ cost.",
    "spent": "Sum of cost over the rows of the person.",
    "least": "Smallest cost among the rows of the person.",
    "most": "Largest cost among the rows of the person.",
    "first": "First kind of visit among the rows of the person, by day.",
    "long": "Number of rows of the person in the table stays with length = long.",
}


def test_every_feature_has_a_sentence_of_its_own() -> None:
    domain = load_dataset(DOCUMENT).domain()
    assert {name: derivation(domain.variable(name), domain) for name in SAID} == SAID
    for language in LANGUAGES:
        said = {derivation(domain.variable(name), domain, language) for name in SAID}
        assert len(said) == len(SAID) and all("{" not in sentence for sentence in said)


@pytest.mark.parametrize("by", ["", "day"])
def test_a_lookup_names_its_columns_and_a_plain_column_nothing(by: str) -> None:
    entries = [["1", "a", "2020-01-01"]] if by else [["1", "a"]]
    lookup = {"entries": entries, "unmatched": "drop"} | ({"by": by} if by else {})
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p"},
            "variables": {"x": {"column": "code", "categories": ["a"], "lookup": lookup}, "y": {"categories": ["b"]}},
        }
    ).domain()
    said = derivation(domain.variable("x"), domain)
    assert "code" in said and ("day" in said) == bool(by)
    assert derivation(domain.variable("y"), domain) == ""


def test_check_says_how_variables_came_about(tmp_path: Path) -> None:
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(DOCUMENT))
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["derived"] == SAID
