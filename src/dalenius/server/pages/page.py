"""What every page shares: language, templates, forms, and refusals shown as pages."""

import hashlib
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException

from dalenius import limits
from dalenius.errors import DaleniusError, InternalError, RequestError
from dalenius.server import logs, messages
from dalenius.server.accounts import ANONYMOUS, User
from dalenius.server.auth import CurrentUser, check_form, csrf_token, identify, services_of, set_cookie
from dalenius.server.errors import NotFound, NotSignedIn, places
from dalenius.server.pages.wording import Wording, share
from dalenius.server.services import Services
from dalenius.server.views import DatasetView
from dalenius.spec.method import find_method, takes_categories, takes_weight
from dalenius.spec.method import form_fields as fields_of_measure
from dalenius.spec.screening import check_size

HERE = Path(__file__).parent.parent
TEMPLATES = HERE / "templates"
LANGUAGE = "dalenius_language"
FLASH = "dalenius_message"
NEXT_STATES = {
    "draft": ("published", "embargoed", "withdrawn"),
    "embargoed": ("published", "withdrawn"),
    "published": ("withdrawn",),
}
_MENU = (
    ("datasets", "/", "/d/"),
    ("tables", "/tables", "/r/"),
    ("mine", "/mine", "/jobs/"),
    ("ledger", "/ledger", "/ledger"),
    ("custody", "/custodian", "/custodian/"),
    ("explain", "/explain", "/explain/"),
)


@cache
def environment() -> Environment:
    """The templates; every value is escaped, and a name that a page forgot is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "static": static,
        "share": share,
        "next_states": lambda status: NEXT_STATES.get(status, ()),
        "language_name": lambda code: messages.translate(code, "language.name"),
        "takes_of": lambda name: find_method(name).takes_of,
        "takes_categories": takes_categories,
        "takes_weight": takes_weight,
        "form_fields": fields_of_measure,
    }
    return made


@cache
def static(name: str) -> str:
    """Address of a static file; it changes with the content, so that browsers may keep it."""
    content = (HERE / "static" / name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def language_of(request: Request) -> str:
    """The reader's language: chosen before, or the first that the browser asks for and we have."""
    offered = [code for code in services_of(request).config.languages if code in messages.languages()]
    chosen = request.cookies.get(LANGUAGE, "")
    if chosen in offered:
        return chosen
    for part in request.headers.get("accept-language", "").split(",")[:20]:
        code = part.split(";")[0].strip().lower().split("-")[0]
        if code in offered:
            return code
    return offered[0] if offered else messages.DEFAULT


def local(address: str) -> str:
    """A path of this site, or the start page: never another site."""
    is_local = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if is_local and address.isprintable() and len(address) < 8000 else "/"


def here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


class Visit:
    """One call of a page: who calls, in which language, and what the server can do for them."""

    def __init__(self, request: Request, user: CurrentUser) -> None:
        self.request, self.user = request, user
        self.services: Services = services_of(request)
        self.wording: Wording = Wording(language_of(request), self.services)

    @property
    def wants_part(self) -> bool:
        return "hx-request" in self.request.headers

    def render(
        self, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **context: Any
    ) -> HTMLResponse:
        request, user, wording, config = self.request, self.user, self.wording, self.services.config
        flash = _flash(request, wording)
        shared = {
            "lang": wording.language,
            "languages": [c for c in config.languages if c in messages.languages()],
            "site": config.title,
            "user": user,
            "here": here(request),
            "here_path": request.url.path,
            "menu": _menu(request, user),
            "csrf_input": Markup('<input type="hidden" name="csrf" value="{}">').format(csrf_token(request)),
            "flash": flash,
        }
        spoken = {name: _spoken(value, wording.language) for name, value in context.items()}
        text = environment().get_template(template).render(shared | wording.names() | spoken)
        response = HTMLResponse(text, status, headers)
        response.headers["Vary"] = "Cookie, Accept-Language, HX-Request"
        if flash:
            response.delete_cookie(FLASH, path="/")
        return response

    def lead(self, address: str) -> Response:
        """Go on to another page: as browsers do it, or by the header of a script that asked for a part of a page."""
        if self.wants_part:
            return Response(status_code=200, headers={"HX-Redirect": address})
        return RedirectResponse(address, 303)

    def redirect(self, address: str, message: str = "", kind: str = "good", **values: object) -> Response:
        """Go on to another page, which says once what happened (a key of the messages)."""
        response = self.lead(local(address))
        if message:
            text = "\n".join([kind, message, *(f"{k}={v}" for k, v in values.items())])
            set_cookie(self.request, response, FLASH, quote(text[:600]), 60)
        return response


Caller = Annotated[Visit, Depends()]


def _signed_in(visit: Caller) -> Visit:
    if visit.user.is_anonymous:
        raise NotSignedIn
    return visit


Member = Annotated[Visit, Depends(_signed_in)]


def _spoken(value: Any, language: str) -> Any:
    """Data sets in the reader's language, alone or in a list; everything else unchanged."""
    if isinstance(value, DatasetView):
        return value.in_language(language)
    if isinstance(value, list | tuple) and value and all(isinstance(item, DatasetView) for item in value):
        return [item.in_language(language) for item in value]
    return value


def _menu(request: Request, user: User) -> list[dict[str, Any]]:
    path = request.url.path
    hidden = {"mine": user.is_anonymous, "ledger": user.is_anonymous, "custody": not user.is_custodian}
    return [
        {"key": key, "href": href, "is_here": path == href or path.startswith(below)}
        for key, href, below in _MENU
        if not hidden.get(key)
    ]


def _flash(request: Request, wording: Wording) -> dict[str, str] | None:
    kind, *rest = unquote(request.cookies.get(FLASH, "")).split("\n")
    if not rest or kind not in ("good", "care", "bad") or rest[0] not in messages.catalogue("en"):
        return None
    values = dict(pair.partition("=")[::2] for pair in rest[1:] if "=" in pair)
    try:
        return {"kind": kind, "text": messages.translate(wording.language, rest[0], **values)}
    except (KeyError, ValueError, IndexError):
        return None


class Fields:
    """Fields of a form that carried the right token."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def one(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.pairs if key == name), default)


async def form_fields(request: Request) -> Fields:
    if not request.headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded"):
        raise RequestError("The form could not be read: it must be URL-encoded.")
    fields = Fields(await run_in_threadpool(_pairs, await request.body()))
    check_form(request, fields.one("csrf"))
    return fields


def _pairs(body: bytes) -> list[tuple[str, str]]:
    check_size(len(body), "form", limits.FORM)
    try:
        text = body.decode()
        return parse_qsl(text, keep_blank_values=True, max_num_fields=limits.FORM.items, errors="strict")
    except ValueError:
        raise RequestError(
            f"The form could not be read as at most {limits.FORM.items:,} fields of UTF-8 text."
        ) from None


Form = Annotated[Fields, Depends(form_fields)]


class PageRoute(APIRoute):
    """A route whose refusals are pages; who has not signed in is asked to."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except NotSignedIn as error:
                if request.method == "GET" and "authorization" not in request.headers:
                    return Visit(request, ANONYMOUS).lead(f"/sign-in?next={quote(here(request))}")
                return refuse(request, error)
            except DaleniusError as error:
                return refuse(request, error)
            except HTTPException:
                raise
            except Exception as error:
                logs.event(
                    "exception", 40, request=request.state.request_id, kind=type(error).__name__, places=places(error)
                )
                return refuse(request, InternalError("Something went wrong on our side."))

        return shown


def refuse(request: Request, error: DaleniusError) -> HTMLResponse:
    """A refusal as a page: what was refused, its code, and a way on."""
    try:
        user, _ = identify(request)
    except DaleniusError:
        user = ANONYMOUS
    visit, status = Visit(request, user), error.http_status
    kinds = {
        "not_found": isinstance(error, NotFound),
        "slow_down": status == 429,
        "ours": status >= 500,
        "budget": error.exit_code == 3,
        "forbidden": status in (401, 403),
    }
    key = next((name for name, is_so in kinds.items() if is_so), "refused")
    headers = {"Retry-After": str(error.detail["retry_after"])} if "retry_after" in error.detail else {}
    return visit.render(
        "error.html",
        status=status,
        headers=headers,
        heading=visit.wording.t(f"error.{key}"),
        message=error.message,
        http_status=status,
        advice=visit.wording.t("error.budget_advice") if key == "budget" else "",
        code=error.code,
        request_id=request.state.request_id if status >= 500 else "",
    )
