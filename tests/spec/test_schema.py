"""The published schemas are those of the code, and agree with it on the shipped documents."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema_rs
import pytest
from pydantic import create_model
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.core import registry
from dalenius.demo import population
from dalenius.errors import UnknownName
from dalenius.methods.count import COUNT
from dalenius.spec import schema as schema_module
from dalenius.spec.schema import DOCUMENTS, schema, schema_text
from dalenius_lab.planting import planted

PUBLISHED = Path(schema_module.__file__).parent / "schemas" / "1"


def methods_in(published: Mapping[str, Any]) -> set[str]:
    """Whose keys a schema of requests has, as it says itself."""
    names: set[str] = set()
    for key in published["$defs"]["TablePart"]["properties"].values():
        text = str(key.get("description", ""))
        _, said, methods = f" {text}".rpartition(" Of ")
        if said and methods.endswith("."):
            names.update(methods[:-1].split(", "))
    return names & set(registry.names("methods"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_published_schemas_are_current(name: str) -> None:
    """If this fails, something that was published changed: dalenius check --schema NAME > src/dalenius/spec/schemas/1/NAME.schema.json

    A new method changes nothing that was published; its keys are published with the next version.
    """
    methods = methods_in(json.loads((PUBLISHED / "request.schema.json").read_text(encoding="utf-8")))
    assert (PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8") == schema_text(name, methods)


def test_a_new_method_needs_no_new_schema_and_a_lost_key_is_noticed() -> None:
    text = '''
        """A count with a key of its own."""

        from dataclasses import replace

        from dalenius.methods.count import COUNT
        from dalenius.spec.document import Part

        __all__ = ["KEYFUL"]


        class Parameters(Part):
            section = "[table] of a keyful count"
            new_key: str | None = None


        KEYFUL = replace(COUNT, name="keyful", Parameters=Parameters)
    '''
    with planted("methods", "keyful", text):
        for name in ("request", "batch"):
            test_published_schemas_are_current(name)
        assert "new_key" in schema("request")["$defs"]["TablePart"]["properties"]
    fields = {k: (v.annotation, v) for k, v in COUNT.Parameters.model_fields.items() if k != "ranges"}
    fewer = create_model("Fewer", **fields)  # type: ignore[call-overload]
    with patch.object(COUNT, "Parameters", fewer), pytest.raises(AssertionError):
        test_published_schemas_are_current("request")


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
