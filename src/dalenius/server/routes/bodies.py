"""What callers send: documents in JSON or TOML, and a few small JSON bodies; and the OpenAPI description of it all,
FastAPI's own with our error shape and our ways to sign in instead of its defaults.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from dalenius.errors import DocumentError
from dalenius.limits import NETWORK_JSON, NETWORK_TOML, DocumentLimits
from dalenius.server.downloads import formats
from dalenius.spec.batch import BatchDocument
from dalenius.spec.load import parse
from dalenius.spec.request import RequestDocument
from dalenius.spec.screening import check_size

_SIGN_IN = {
    "token": {"type": "http", "scheme": "bearer", "description": "An API token."},
    "session": {"type": "apiKey", "in": "cookie", "name": "dalenius_session"},
}
_ABOUT = """Protected tables from confidential microdata.

Documents are those of the command line. Every refusal has the shape `{"error": {"code", "message", "detail"}}`."""


DOCUMENTS: tuple[type[BaseModel], ...] = (RequestDocument, BatchDocument)


class Body(BaseModel):
    """A small JSON body without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Refusal(Body):
    """What was refused, and why."""

    code: str = Field(description="Stable; see the reference page.")
    message: str
    detail: dict[str, Any]


class Error(Body):
    """The one shape of every refusal."""

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


_EXAMPLE = {"table": {"rows": ["grade"], "columns": ["branch"]}, "privacy": {"definition": "pure", "epsilon": "0.5"}}
_TOML = ("application/toml", "text/x-toml", "text/toml")


async def read_document(request: Request) -> dict[str, Any]:
    """A request document as the command line takes it: JSON, or TOML where the content type says so."""
    body = await request.body()
    return await run_in_threadpool(_parsed, body, is_toml=_content_type(request) in _TOML)


def _parsed(body: bytes, *, is_toml: bool) -> dict[str, Any]:
    limits = NETWORK_TOML if is_toml else NETWORK_JSON
    text = _text(body, limits)
    if not is_toml and not text.lstrip().startswith("{"):
        raise DocumentError(
            "The body must be a request document: a JSON object, or TOML with the content type application/toml."
        )
    return parse(text, "request document", limits, is_json=not is_toml)


def _text(body: bytes, limits: DocumentLimits) -> str:
    check_size(len(body), "body", limits)
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DocumentError("The body is not UTF-8 text.") from None


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


class _ParsedRequest(Request):
    """A request whose JSON body was parsed before the framework asks for it."""

    content: Any = None

    async def json(self) -> Any:
        return self.content


class BoundedRoute(APIRoute):
    """A route whose JSON body is bounded before it is parsed, and parsed outside of the event loop."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            kind = _content_type(request)
            if self.body_field is None or not (kind.endswith("+json") or kind in ("application/json", "")):
                return await handler(request)
            parsed = _ParsedRequest(request.scope, request.receive)
            body = await parsed.body()
            if body:
                parsed.content = await run_in_threadpool(_small_body, body)
            return await handler(parsed)

        return bounded


def _small_body(body: bytes) -> Any:
    return parse(_text(body, NETWORK_JSON), "body", NETWORK_JSON, is_json=True, parse_float=float)


def document_body(*, with_batch: bool = False) -> dict[str, Any]:
    """`openapi_extra` of a route that takes a request document, or a batch as well; `describe` describes them."""
    kinds = [{"$ref": schema_address(kind)} for kind in DOCUMENTS]
    content = {
        "application/json": {"schema": {"oneOf": kinds} if with_batch else kinds[0], "example": _EXAMPLE},
        "application/toml": {"schema": {"type": "string"}},
    }
    return {"requestBody": {"required": True, "content": content}}


class SignInBody(Body):
    """Name and password."""

    name: str = Field(max_length=64)
    password: str = Field(max_length=1024)


class TokenBody(Body):
    """A new token; name and password where no session is open."""

    label: str = Field(min_length=1, max_length=100)
    days: float = Field(default=90, gt=0, le=366)
    name: str = Field(default="", max_length=64)
    password: str = Field(default="", max_length=1024)


class InferenceBody(BaseModel):
    """What to compute from a release; further keys are parameters of the question, which checks them."""

    model_config = ConfigDict(extra="allow", frozen=True)
    method: str = Field(
        max_length=40,
        description="Name of a question: see GET /api/v1/inference, and GET /api/v1/inference/NAME for its keys.",
    )


class AmountsBody(Body):
    """Exact amounts as text, for example "0.25"."""

    rho: str = Field(max_length=100)
    delta: str = Field(default="0", max_length=100)
    note: str = Field(default="", max_length=200)


class ApprovalBody(Body):
    """A decision on a large release."""

    approve: bool
    reason: str = Field(default="", max_length=300)


class StatusBody(Body):
    """The new status of a release."""

    status: str = Field(max_length=20, description="embargoed, published or withdrawn")


class ThresholdBody(Body):
    """Above this rho a second person approves; null asks no more."""

    above: str | None = Field(max_length=100)


class UserBody(Body):
    """A new user."""

    name: str = Field(max_length=64)
    role: str = Field(max_length=20, description="analyst, custodian or auditor")


class SavedBody(Body):
    """A saved table."""

    dataset: str = Field(max_length=200)
    request: dict[str, Any]
