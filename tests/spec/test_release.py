"""Real releases satisfy the schema of releases."""

import json
from dataclasses import fields
from pathlib import Path

import jsonschema_rs
import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Subject
from dalenius.curator.curator import Curator
from dalenius.publish.to_json import write_json
from dalenius.spec.schema import schema


def test_real_releases_satisfy_the_schema(tmp_path: Path) -> None:
    dataset = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "variables": {
            "a": {"categories": ["x", "y"]},
            "b": {"categories": ["u", "v"]},
            "n": {"bounds": [0, 9], "step": 1},
        },
        "structural_zeros": [{"a": "x", "b": "u"}],
    }
    data = {"a": ["x", "y", "y"], "b": ["v", "v", "u"], "n": [1, 2, 3]}
    requests = [
        {"table": {"rows": ["a"], "columns": ["b"]}, "privacy": {"definition": "pure", "epsilon": "0.1"}},
        {
            "table": {"rows": ["a", "b"], "margins": "all", "universe": "complete"},
            "privacy": {"definition": "zero_concentrated", "rho": "0.1"},
        },
        {"table": {"rows": ["a"], "measure": "mean", "of": "n"}, "privacy": {"definition": "pure", "epsilon": "0.1"}},
    ]
    rng = RecordedRandomness(1)
    validator = jsonschema_rs.validator_for(schema("release"))
    with Curator.open(dataset, ledger=tmp_path / "l.sqlite", data=data, rng=rng) as curator:
        curator.register()
        for request in requests:
            document = json.loads(write_json(curator.release(request)))
            validator.validate(document)
            for table in document["tables"]:
                assert len(table["values"]) == int(np.prod([len(axis["labels"]) for axis in table["space"]["axes"]]))
            for wrong in ({"unknown": 1}, {"status": "shown"}, {"blocks": [document["blocks"][0] | {"values": [0.5]}]}):
                with pytest.raises(jsonschema_rs.ValidationError):
                    validator.validate(document | wrong)


def test_the_schema_knows_every_word_of_a_subject() -> None:
    """A release that shows part of a variable was refused, because its schema did not know the word for it."""
    assert {field.name for field in fields(Subject)} == set(schema("release")["$defs"]["SubjectEntry"]["properties"])
