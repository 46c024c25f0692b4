"""The published schemas are those of the code, and agree with it on the shipped documents."""

import json
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.core import registry
from dalenius.demo import population
from dalenius.errors import UnknownName
from dalenius.spec.schema import DOCUMENTS, kinds, schema, schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "schemas"


@pytest.mark.parametrize("name", kinds())
def test_published_schemas_are_current(name: str) -> None:
    """If this fails: dalenius check --schema NAME > docs/reference/schemas/NAME.schema.json"""
    assert (PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8") == schema_text(name)


def test_the_command_prints_the_schema_and_refuses_other_kinds() -> None:
    said = CliRunner().invoke(app, ["check", "--schema", "policy"])
    assert said.exit_code == 0 and said.stdout == schema_text("policy")
    assert isinstance(CliRunner().invoke(app, ["check", "--schema", "table"]).exception, UnknownName)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_shipped_documents_satisfy_the_schema(name: str, tmp_path: Path) -> None:
    folder = population.materialise(tmp_path).parent
    is_batch = name == "batch"
    shipped = folder / f"{'request' if is_batch else name}.toml"
    content = json.loads(json.dumps(tomllib.loads(shipped.read_text())))
    if is_batch:
        content["table"] = [content["table"], content["table"] | {"share": 2, "title": "the second"}]
    validator = jsonschema_rs.validator_for(schema(name))
    validator.validate(content)
    with pytest.raises(jsonschema_rs.ValidationError):
        validator.validate(content | {"unknown": 1})


def test_the_schema_of_requests_is_put_together_from_the_methods() -> None:
    validator = jsonschema_rs.validator_for(schema("request"))
    for method in registry.every("methods").values():
        for example in method.examples:
            validator.validate(json.loads(json.dumps(example)))
    keys = schema("request")["$defs"]["TablePart"]["properties"]
    for method in registry.every("methods").values():
        assert set(method.Parameters.model_fields) <= set(keys)
