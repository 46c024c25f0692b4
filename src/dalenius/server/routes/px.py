"""Read-only PxWeb API 2 over released tables, under /pxweb/api/v2: existing clients work, and can never spend.

Each released table has its own axes and one more, `ContentsCode`, with the value, its standard error and the ends of
its 95 % interval. A category's code is its label where that is safe in a selection, otherwise its place (`c3`).
Selections are read as the specification has them.
"""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from dalenius.algebra.tabulation import bounds, tidy
from dalenius.core.release import Release
from dalenius.errors import ParameterError, TooLarge, UnknownName
from dalenius.server.accounts import ANONYMOUS
from dalenius.server.auth import current_user, services_of
from dalenius.server.errors import NotFound
from dalenius.server.routes.bodies import BoundedRoute
from dalenius.server.views import ReleaseView
from dalenius.shown.speech import as_read
from dalenius.version import VERSION

CONTENTS = "ContentsCode"
CONTENT_LABELS = {
    "value": "Released value",
    "std_error": "Standard error of the privacy noise",
    "lower": "Lower end of the 95 % interval",
    "upper": "Upper end of the 95 % interval",
}
MOST_CELLS = 150_000
_SAFE = re.compile(r"[\w .+-]{1,100}")
_CALL = re.compile(r"(TOP|BOTTOM|FROM|TO|RANGE)\((.*)\)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Dimension:
    code: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...]) -> "Dimension":
        codes = tuple(x if _SAFE.fullmatch(x) else f"c{i}" for i, x in enumerate(labels))
        if len(set(codes)) != len(codes):
            codes = tuple(f"c{i}" for i in range(len(labels)))
        return cls(code=name, label=name, codes=codes, labels=labels)

    def select(self, expressions: tuple[str, ...]) -> list[int]:
        """Places of the chosen values, in declared order."""
        chosen: set[int] = set()
        for expression in expressions:
            chosen |= self._places(expression.strip())
        return sorted(chosen)

    def _places(self, expression: str) -> set[int]:
        if expression in self.codes:
            return {self.codes.index(expression)}
        call = _CALL.fullmatch(expression)
        if call:
            return self._call(call.group(1).upper(), [part.strip() for part in call.group(2).split(",")])
        if "*" in expression or "?" in expression:
            if "[" in expression or len(expression) > 100:
                raise ParameterError("A mask holds *, ? and plain characters.", received=expression)
            return {i for i, code in enumerate(self.codes) if fnmatchcase(code, expression)}
        raise UnknownName.among(f"value of {self.code}", expression, self.codes)

    def _call(self, name: str, arguments: list[str]) -> set[int]:
        size = len(self.codes)
        if name in ("TOP", "BOTTOM"):
            numbers = [int(a) for a in arguments if a.isascii() and a.isdigit() and len(a) < 10]
            if len(numbers) != len(arguments) or not 1 <= len(numbers) <= 2:
                raise ParameterError(f"{name} takes a number of values and, if you like, how many to skip.")
            first, last = ([*numbers, 0][1], sum(numbers))
            top = range(first, min(last, size))
            return set(top) if name == "TOP" else {size - 1 - place for place in top}
        if len(arguments) != (2 if name == "RANGE" else 1):
            raise ParameterError(f"{name} takes {'two codes' if name == 'RANGE' else 'one code'}.")
        for argument in arguments:
            UnknownName.check(f"value of {self.code}", argument, self.codes)
        places = [self.codes.index(argument) for argument in arguments]
        first, last = {"FROM": (places[0], size - 1), "TO": (0, places[0]), "RANGE": (places[0], places[-1])}[name]
        return set(range(first, last + 1))


def dimensions(release: Release) -> tuple[Dimension, ...]:
    axes = [Dimension.of(axis.name, axis.labels) for axis in as_read(release).table.space.axes]
    contents = Dimension(
        code=CONTENTS, label="Contents", codes=tuple(CONTENT_LABELS), labels=tuple(CONTENT_LABELS.values())
    )
    return (*axes, contents)


Selection = Mapping[str, tuple[str, ...]]


def places_of(release: Release, selection: Selection) -> list[list[int]]:
    """Chosen places on every dimension; what is not named is taken whole, the contents by value alone."""
    axes = dimensions(release)
    for name in selection:
        if name.lower() not in {d.code.lower() for d in axes}:
            raise UnknownName.among("variable", name, [d.code for d in axes])
    lower = {name.lower(): chosen for name, chosen in selection.items()}
    places = []
    for dimension in axes:
        default = ("value",) if dimension.code == CONTENTS else ("*",)
        chosen = dimension.select(lower.get(dimension.code.lower()) or default)
        if not chosen:
            raise ParameterError(f"The selection leaves no value of {dimension.code!r}.")
        places.append(chosen)
    size = int(np.prod([len(p) for p in places], dtype=float))
    if size > MOST_CELLS:
        raise TooLarge(f"The selection has {size:,} cells; at most {MOST_CELLS:,} are sent.", limit=MOST_CELLS)
    return places


def cube(release: Release, places: list[list[int]]) -> Any:
    release = as_read(release)
    table = release.table
    lower, upper = bounds(release, table)
    whole = np.stack([table.values, table.std_error, lower, upper], axis=-1).reshape(*table.shape, 4)
    return whole[np.ix_(*places)]


def table_item(view: ReleaseView, root: str, language: str) -> dict[str, Any]:
    address = f"{root}/tables/{view.entry}"
    return {
        "type": "Table",
        "objectType": "table",
        "id": view.entry,
        "label": f"{view.dataset}: {view.title}",
        "description": f"{view.title}, {view.dataset} {view.version}; {view.definition} privacy",
        "updated": view.at,
        "firstPeriod": view.version,
        "lastPeriod": view.version,
        "category": "public",
        "discontinued": False,
        "variableNames": [*view.variables, CONTENTS],
        "source": view.population,
        "links": [
            {"rel": name, "hreflang": language, "href": address + ending}
            for name, ending in (("self", ""), ("metadata", "/metadata"), ("data", "/data"))
        ],
    }


def json_stat(release: Release, view: ReleaseView, places: list[list[int]] | None, root: str) -> dict[str, Any]:
    """A JSON-stat 2 data set; without places the metadata alone."""
    axes = dimensions(release)
    chosen = places or [list(range(len(d.codes))) for d in axes]
    dimension = {
        d.code: {
            "label": d.label,
            "category": {
                "index": {d.codes[i]: n for n, i in enumerate(picked)},
                "label": {d.codes[i]: d.labels[i] for i in picked},
            },
            "extension": {"elimination": False, "show": "value"},
        }
        for d, picked in zip(axes, chosen, strict=True)
    }
    source = release.provenance
    guarantee = (source.guarantee, source.formal_guarantee)
    document: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "href": f"{root}/tables/{view.entry}/{'metadata' if places is None else 'data'}",
        "label": f"{view.dataset}: {view.title}",
        "source": view.population,
        "updated": view.at,
        "note": [text for text in (release.about.universe, *guarantee, *source.warnings) if text],
        "role": {"metric": [CONTENTS]},
        "id": [d.code for d in axes],
        "size": [len(picked) for picked in chosen],
        "dimension": dimension,
        "extension": {
            "px": {"tableid": view.entry, "matrix": view.entry, "contents": view.measure, "decimals": 0},
            "dalenius": {"release": f"/api/v1/releases/{view.entry}", "digest": release.provenance.digest},
        },
    }
    if places is not None:
        document["value"] = [tidy(v) for v in cube(release, chosen).ravel().tolist()]
    return document


def as_csv(release: Release, places: list[list[int]]) -> str:
    """One row for each chosen cell, one column for each dimension and content."""
    axes = dimensions(release)
    numbers = cube(release, places)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    contents = [axes[-1].codes[i] for i in places[-1]]
    writer.writerow([*(d.code for d in axes[:-1]), *contents])
    for cell in np.ndindex(*numbers.shape[:-1]):
        labels = [d.labels[p[i]] for d, p, i in zip(axes, places, cell, strict=False)]
        safe = [f"'{label}" if label.startswith(("=", "+", "-", "@", "\t", "\r")) else label for label in labels]
        writer.writerow([*safe, *("" if tidy(v) is None else tidy(v) for v in numbers[cell].tolist())])
    return out.getvalue()


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
