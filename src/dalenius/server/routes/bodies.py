"""Reading what callers send: documents in JSON or TOML, and a few small JSON bodies."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from dalenius.errors import DocumentError
from dalenius.limits import NETWORK_JSON, NETWORK_TOML, DocumentLimits
from dalenius.server.description import DOCUMENTS, schema_address
from dalenius.spec.load import parse
from dalenius.spec.screening import check_size

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


def document_body(example: dict[str, Any], *, with_batch: bool = False) -> dict[str, Any]:
    """`openapi_extra` of a route that takes a request document, or a batch as well; `description` describes them."""
    kinds = [{"$ref": schema_address(kind)} for kind in DOCUMENTS]
    content = {
        "application/json": {"schema": {"oneOf": kinds} if with_batch else kinds[0], "example": example},
        "application/toml": {"schema": {"type": "string"}},
    }
    return {"requestBody": {"required": True, "content": content}}


class Body(BaseModel):
    """A small JSON body without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
