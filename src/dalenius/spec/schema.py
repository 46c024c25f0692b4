"""JSON Schemas of the documents: of what is read, from the models that check it; of a release, as published."""

import json
from collections.abc import Collection
from importlib.resources import files
from typing import Any

from dalenius.core import registry
from dalenius.errors import UnknownName
from dalenius.spec.batch import BatchDocument
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.document import Document
from dalenius.spec.policy import PolicyDocument
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
    return (*DOCUMENTS, RELEASE)


def schema(name: str, methods: Collection[str] | None = None) -> dict[str, Any]:
    """The JSON Schema of one kind of document, with the keys of all methods or of the named ones."""
    UnknownName.check("kind of document", name, kinds())
    if name == RELEASE:
        published: dict[str, Any] = json.loads(
            files(__package__).joinpath("schemas/1/release.schema.json").read_bytes()
        )
        return published
    content = DOCUMENTS[name].model_json_schema()
    if name == "request":
        content["$defs"]["TablePart"]["properties"] |= method_keys(methods)
    if name == "batch":
        asked = schema("request", methods)["$defs"]
        member = asked["TablePart"]["properties"] | {
            "title": {"type": "string"},
            "share": {"type": ["number", "string"], "description": "Part of what is spent; only ratios count."},
        }
        content["properties"]["table"]["items"] = {**asked.pop("TablePart"), "properties": member}
        content["$defs"] = asked | content["$defs"]
    return {"$schema": _DIALECT, **content}


def method_keys(methods: Collection[str] | None = None) -> dict[str, Any]:
    """The keys of methods in [table], each with the measures that take it."""
    forms: dict[str, list[Any]] = {}
    takers: dict[str, list[str]] = {}
    meanings: dict[str, str] = {}
    for name, method in registry.every("methods").items():
        if methods is not None and name not in methods:
            continue
        for key, part in method.Parameters.model_json_schema().get("properties", {}).items():
            form = {k: v for k, v in part.items() if k not in ("default", "title", "description")}
            meanings.setdefault(key, part.get("description", ""))
            forms.setdefault(key, [])
            forms[key] += [] if form in forms[key] else [form]
            takers.setdefault(key, []).append(name)
    return {
        key: (parts[0] if len(parts) == 1 else {"anyOf": parts})
        | {"description": f"{meanings[key]} Of {', '.join(takers[key])}.".strip()}
        for key, parts in forms.items()
    }


def schema_text(name: str, methods: Collection[str] | None = None) -> str:
    return json.dumps(schema(name, methods), indent=2, ensure_ascii=False) + "\n"
