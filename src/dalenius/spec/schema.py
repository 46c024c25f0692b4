"""JSON Schemas of the documents, generated from the models that check them."""

import json
from pathlib import Path
from typing import Any

from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.document import Document
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

DOCUMENTS: dict[str, type[Document]] = {
    "dataset": DatasetDocument,
    "request": RequestDocument,
    "policy": PolicyDocument,
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind of document."""
    content = DOCUMENTS[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **content}


def schema_text(name: str) -> str:
    """The schema as it is published."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def write_schemas(directory: Path) -> list[Path]:
    """Write every schema; returns the files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name in DOCUMENTS:
        path = directory / f"{name}.schema.json"
        path.write_text(schema_text(name), encoding="utf-8")
        written.append(path)
    return written
