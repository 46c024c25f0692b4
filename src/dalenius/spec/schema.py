"""JSON Schemas of the documents, generated from the models that check them."""

import json
from typing import Any

from dalenius.core import registry
from dalenius.errors import UnknownName
from dalenius.spec.batch import BatchDocument
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.document import Document
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.release import ReleaseDocument
from dalenius.spec.request import RequestDocument

DOCUMENTS: dict[str, type[Document]] = {
    "dataset": DatasetDocument,
    "request": RequestDocument,
    "batch": BatchDocument,
    "policy": PolicyDocument,
}
RELEASE = "release"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def kinds() -> tuple[str, ...]:
    """The kinds of document that have a schema."""
    return (*DOCUMENTS, RELEASE)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind of document."""
    if name not in kinds():
        raise UnknownName.among("kind of document", name, kinds())
    if name == RELEASE:
        return {"$schema": _DIALECT, **ReleaseDocument.model_json_schema()}
    content = DOCUMENTS[name].model_json_schema()
    if name == "request":
        content["$defs"]["TablePart"]["properties"] |= method_keys()
    if name == "batch":
        asked = schema("request")["$defs"]
        member = asked["TablePart"]["properties"] | {
            "title": {"type": "string"},
            "share": {
                "type": ["number", "string"],
                "description": "Part of what is spent; only ratios count.",
            },
        }
        content["properties"]["table"]["items"] = {**asked.pop("TablePart"), "properties": member}
        content["$defs"] = asked | content["$defs"]
    return {"$schema": _DIALECT, **content}


def method_keys() -> dict[str, Any]:
    """The keys of all methods in [table], each with the measures that take it."""
    forms: dict[str, list[Any]] = {}
    takers: dict[str, list[str]] = {}
    for name, method in registry.every("methods").items():
        for key, part in method.Parameters.model_json_schema().get("properties", {}).items():
            form = {k: v for k, v in part.items() if k not in ("default", "title")}
            forms.setdefault(key, [])
            forms[key] += [] if form in forms[key] else [form]
            takers.setdefault(key, []).append(name)
    return {
        key: (parts[0] if len(parts) == 1 else {"anyOf": parts})
        | {"description": f"Of {', '.join(takers[key])}."}
        for key, parts in forms.items()
    }


def schema_text(name: str) -> str:
    """The schema as it is published."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"
