"""The published schemas are those of the code, and agree with it on the shipped documents."""

import json
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest

from dalenius.demo import population
from dalenius.spec.schema import DOCUMENTS, schema, schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "schemas"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_published_schemas_are_current(name: str) -> None:
    """If this fails: python -c "from dalenius.spec.schema import *; write_schemas(Path('docs/reference/schemas'))"."""
    assert (PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8") == schema_text(name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_shipped_documents_satisfy_the_schema(name: str, tmp_path: Path) -> None:
    folder = population.materialise(tmp_path).parent
    content = json.loads(json.dumps(tomllib.loads((folder / f"{name}.toml").read_text())))
    validator = jsonschema_rs.validator_for(schema(name))
    validator.validate(content)
    with pytest.raises(jsonschema_rs.ValidationError):
        validator.validate(content | {"unknown": 1})
