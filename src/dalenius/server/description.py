"""The OpenAPI description: FastAPI's own, with our error shape and our ways to sign in instead of its defaults."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field

from dalenius.server.downloads import formats
from dalenius.spec.batch import BatchDocument
from dalenius.spec.request import RequestDocument

_SIGN_IN = {
    "token": {"type": "http", "scheme": "bearer", "description": "An API token."},
    "session": {"type": "apiKey", "in": "cookie", "name": "dalenius_session"},
}
_ABOUT = """Protected tables from confidential microdata.

Documents are those of the command line. Every refusal has the shape `{"error": {"code", "message", "detail"}}`."""


DOCUMENTS: tuple[type[BaseModel], ...] = (RequestDocument, BatchDocument)


class Refusal(BaseModel):
    """What was refused, and why."""

    model_config = ConfigDict(extra="forbid")
    code: str = Field(description="Stable; see the reference page.")
    message: str
    detail: dict[str, Any]


class Error(BaseModel):
    """The one shape of every refusal."""

    model_config = ConfigDict(extra="forbid")
    error: Refusal


def schema_address(model: type[BaseModel] | str) -> str:
    return f"#/components/schemas/{model if isinstance(model, str) else model.__name__}"


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of all addresses of the HTTP interface; pages are left out."""
    if app.openapi_schema is None:
        routes = [r for r in app.routes if getattr(r, "include_in_schema", False) or not hasattr(r, "path")]
        document = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=routes)
        parts = document.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        models: tuple[type[BaseModel], ...] = (Error, *DOCUMENTS)
        for model in models:
            schema = model.model_json_schema(ref_template=schema_address("{model}"))
            schemas |= schema.pop("$defs", {}) | {model.__name__: schema}
        parts["securitySchemes"] = _SIGN_IN
        for path, item in document["paths"].items():
            for method, operation in item.items():
                _describe_operation(path, method, operation)
        app.openapi_schema = document
    return app.openapi_schema


def _describe_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    responses["default"] = {
        "description": "Refused, in the one error shape.",
        "content": {"application/json": {"schema": {"$ref": schema_address(Error)}}},
    }
    if path in ("/healthz", "/readyz") or path.startswith("/pxweb"):
        return
    operation["security"] = (
        [{}, {"token": []}, {"session": []}] if method == "get" else [{"token": []}, {"session": []}]
    )


def document_responses() -> dict[int | str, dict[str, Any]]:
    """Responses of a route that sends a release: every format, and 304 where the caller has it already."""
    content = {
        kind: {"schema": {} if kind == "application/json" else {"type": "string"}} for kind in formats().values()
    }
    return {
        200: {"description": "A released table.", "content": content},
        304: {"description": "The caller has it already."},
    }
