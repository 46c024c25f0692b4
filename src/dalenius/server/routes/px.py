"""Read-only PxWeb API 2 over released tables, under /pxweb/api/v2: existing clients work, and can never spend."""

from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from dalenius.core.release import Release
from dalenius.errors import UnknownName
from dalenius.server.accounts import ANONYMOUS
from dalenius.server.auth import current_user, services_of
from dalenius.server.errors import NotFound
from dalenius.server.px_format import MOST_CELLS, Selection, as_csv, json_stat, places_of, table_item
from dalenius.server.routes.bodies import BoundedRoute
from dalenius.server.views import ReleaseView
from dalenius.version import VERSION

ROOT = "/pxweb/api/v2"
FORMATS = ("json-stat2", "csv")
DATA: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Chosen cells.",
        "content": {"application/json": {"schema": {}}, "text/csv": {"schema": {"type": "string"}}},
    }
}

TableId = Annotated[str, Path(max_length=64, pattern="^[0-9a-f]{1,64}$")]


async def read_language(request: Request, lang: Annotated[str | None, Query(max_length=20)] = None) -> str:
    """Return the language that was named, if it is served, or the default."""
    languages = services_of(request).config.languages
    if lang is not None and lang not in languages:
        raise UnknownName.among("language", lang, languages)
    return lang or languages[0]


Language = Annotated[str, Depends(read_language)]
OutputFormat = Annotated[str, Query(max_length=40)]
# Every call is within the rate limit and names a language that is served.
router = APIRouter(
    prefix=ROOT,
    tags=["PxWeb API 2"],
    route_class=BoundedRoute,
    dependencies=[Depends(current_user), Depends(read_language)],
)


class VariableSelection(BaseModel):
    """Chosen values of one variable."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    variable_code: str = Field(alias="variableCode", max_length=200)
    value_codes: tuple[Annotated[str, Field(max_length=300)], ...] = Field(
        default=(), alias="valueCodes", max_length=10_000
    )


class SelectionBody(BaseModel):
    """The body of a data request."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    selection: tuple[VariableSelection, ...] = Field(default=(), max_length=100)


@router.get("/config")
def config(request: Request) -> dict[str, Any]:
    """What this API serves."""
    settings = services_of(request).config
    return {
        "apiVersion": "2.0.0",
        "appVersion": VERSION,
        "languages": [{"id": code, "label": code} for code in settings.languages],
        "defaultLanguage": settings.languages[0],
        "maxDataCells": MOST_CELLS,
        "maxCallsPerTimeWindow": settings.limits.anonymous_per_minute,
        "timeWindow": 60,
        "sourceReferences": [],
        "license": "",
        "defaultDataFormat": FORMATS[0],
        "dataFormats": list(FORMATS),
        "features": [],
    }


@router.get("/tables")
def tables(
    request: Request,
    language: Language,
    query: Annotated[str, Query(max_length=200)] = "",
    pageNumber: Annotated[int, Query(ge=1, le=10**6)] = 1,
    pageSize: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """Released tables, newest first."""
    offset = (pageNumber - 1) * pageSize
    total, page = services_of(request).reading.releases(ANONYMOUS, query=query, offset=offset, limit=pageSize)
    pages = max(ceil(total / pageSize), 1)
    root = _root(request)
    return {
        "language": language,
        "tables": [table_item(view, root, language) for view in page],
        "page": {
            "pageNumber": pageNumber,
            "pageSize": pageSize,
            "totalElements": total,
            "totalPages": pages,
            "links": _links(root, language, pageNumber, pages, pageSize),
        },
        "links": [{"rel": "self", "hreflang": language, "href": f"{root}/tables"}],
    }


def _links(root: str, language: str, number: int, pages: int, size: int) -> list[dict[str, str]]:
    numbers = {"first": 1, "last": pages, "next": number + 1, "previous": number - 1}
    return [
        {"rel": name, "hreflang": language, "href": f"{root}/tables?lang={language}&pageNumber={page}&pageSize={size}"}
        for name, page in numbers.items()
        if 1 <= page <= pages
    ]


@router.get("/tables/{id}")
def table(request: Request, id: TableId, language: Language) -> dict[str, Any]:
    """One released table."""
    view, _ = _released(request, id)
    return {"language": language, **table_item(view, _root(request), language)}


@router.get("/tables/{id}/metadata")
def metadata(request: Request, id: TableId) -> JSONResponse:
    """Variables and values of a released table, as JSON-stat 2 without numbers."""
    view, release = _released(request, id)
    return JSONResponse(json_stat(release, view, None, _root(request)))


@router.get("/tables/{id}/data", response_class=Response, responses=DATA)
def data(request: Request, id: TableId, outputFormat: OutputFormat = FORMATS[0]) -> Response:
    """Chosen cells: `valueCodes[variable]=code,code`, in json-stat2 or csv."""
    return _data(request, id, _selection(request), outputFormat)


@router.post("/tables/{id}/data", response_class=Response, responses=DATA)
def data_by_body(
    request: Request, id: TableId, body: SelectionBody, outputFormat: OutputFormat = FORMATS[0]
) -> Response:
    """The same with the selection in the body."""
    chosen = {part.variable_code: part.value_codes for part in body.selection}
    return _data(request, id, chosen, outputFormat)


def _data(request: Request, id: str, selection: Selection, form: str) -> Response:
    if form.lower() not in FORMATS:
        raise UnknownName.among("output format", form, FORMATS)
    view, release = _released(request, id)
    places = places_of(release, selection)
    headers = {"Cache-Control": "no-cache"}
    if form.lower() == "csv":
        return PlainTextResponse(as_csv(release, places), headers=headers, media_type="text/csv")
    return JSONResponse(json_stat(release, view, places, _root(request)), headers=headers)


def _selection(request: Request) -> dict[str, tuple[str, ...]]:
    """`valueCodes[x]=a,b` in whatever case; a code in square brackets may hold commas."""
    codes: dict[str, tuple[str, ...]] = {}
    for name, value in request.query_params.multi_items():
        head, bracket, rest = name.partition("[")
        if head.lower() == "valuecodes" and bracket and rest.endswith("]"):
            codes[rest[:-1]] = (*codes.get(rest[:-1], ()), *split_codes(value))
    return codes


def split_codes(text: str) -> tuple[str, ...]:
    """Codes between commas; commas inside brackets or parentheses do not count.

    >>> split_codes("a,RANGE(b,c),[d,e]")
    ('a', 'RANGE(b,c)', 'd,e')
    """
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return tuple(p[1:-1] if p.startswith("[") and p.endswith("]") else p for p in parts if p)


def _root(request: Request) -> str:
    """The configured address, or the path alone: what a caller wrote as Host is no address of ours."""
    return str(services_of(request).config.public_url) + ROOT


def _released(request: Request, entry: str) -> tuple[ReleaseView, Release]:
    """A published release, whoever asks."""
    reading = services_of(request).reading
    view, release = reading.release_view(ANONYMOUS, entry), reading.release(ANONYMOUS, entry)
    if not release.tables:
        raise NotFound("This release has no table: the outcome was 'no reply'.")
    return view, release
