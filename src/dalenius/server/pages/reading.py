"""Sections of a released table that answer a question: test of independence, comparison of cells, and its files."""

from threading import BoundedSemaphore
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from dalenius.algebra.tabulation import intervals
from dalenius.core.estimate import TestResult
from dalenius.core.release import Release, Table
from dalenius.errors import DaleniusError, ParameterError, Unsupported
from dalenius.server.downloads import is_spoken, render
from dalenius.server.pages.page import Caller, PageRoute
from dalenius.server.pages.shown import Shown, listed, spoken_release
from dalenius.server.views import Download, ReleaseView
from dalenius.shown.crosstab import known
from dalenius.shown.speech import DEFAULT

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_MOST_TESTED = 2_000
_MOST_LISTED = 500
_MOST_OFFERED = 50
KINDS = ("population", "parameter")
"""What an interval of a difference covers: noise alone, or noise and sampling."""
_REPLICATES = 499
# A page simulates what takes a second or two.
_MOST_SIMULATED = 300
# With the noise in its denominators the statistic is close to chi-square if no fitted count is small.
_SMALLEST_FITTED = 30.0
_AT_ONCE = BoundedSemaphore(2)


@router.get("/r/{entry}/independence")
def independence(visit: Caller, entry: str) -> Response:
    shown, params = Shown.find(visit, entry), visit.request.query_params
    names = [axis.name for axis in shown.axes]
    chosen = [name for name in params.getlist("axis") if name in names] or names[:2]
    result, error = None, ""
    if params.get("run") == "1" and len(names) > 1:
        result, error = _test(shown, chosen)
    return shown.answer(
        "release/independence.html",
        "independence",
        axes=shown.axes,
        chosen=chosen,
        result=result,
        error=error,
        **_verdict(shown, result),
    )


def _test(shown: Shown, chosen: list[str]) -> tuple[TestResult | None, str]:
    """Simulate tables that are small enough for a page; larger ones are tested against the chi-square law."""
    if shown.release.table.space.size > _MOST_TESTED:
        return None, shown.wording.t("independence.too_large")
    try:
        with _AT_ONCE:
            return _tested(shown.release, chosen), ""
    except DaleniusError as refused:
        return None, shown.wording.t("independence.failed", reason=refused.message)


def _tested(release: Release, chosen: list[str]) -> TestResult:
    from dalenius.inference.independence import independence as test

    values = release.margin(*chosen).values
    if values.size <= _MOST_SIMULATED:
        return test(release, *chosen, replicates=_REPLICATES)
    try:
        return test(release, *chosen, method="asymptotic", replicates=0)
    except ParameterError:
        result = test(release, *chosen, method="chi-square", replicates=0)
    fitted = np.asarray(result.details.get("fitted", values))
    if float(fitted[fitted > 0].min()) < _SMALLEST_FITTED:
        raise Unsupported("It has very large and very small numbers together; use the command line.")
    return result


def _verdict(shown: Shown, result: TestResult | None) -> dict[str, Any]:
    if result is None:
        return {"verdict": "", "verdict_text": "", "p_text": ""}
    # A simulation cannot show less than one in the number of its runs.
    least = 1 / (_REPLICATES + 1) if "simulated" in result.method else 0.001
    sign = "≤" if "simulated" in result.method else "<"
    is_least = result.p_value <= least * 1.001
    p = f"{sign}\u202f{shown.wording.num(least, 3)}" if is_least else shown.wording.num(result.p_value, 3)
    key = "related" if result.p_value < 0.05 else "not_related"
    return {
        "verdict": shown.wording.t(f"independence.{key}"),
        "verdict_text": shown.wording.t(f"independence.{key}_text", p=p),
        "p_text": p,
    }


@router.get("/r/{entry}/compare")
def compare(visit: Caller, entry: str, a: str = "", b: str = "", against: str = "", kind: str = "") -> Response:
    """Two numbers of the table, or one of it and one of another table that the reader may see."""
    shown = Shown.find(visit, entry)
    other = Shown.find(visit, against) if against else shown
    pages = [shown, other]
    cells, places = (
        [_cells(page) for page in pages],
        [_place(page, text) for page, text in zip(pages, (a, b), strict=True)],
    )
    kind = kind if kind in KINDS else KINDS[0]
    outcome = None
    if None not in places and a and b:
        outcome = _compared(pages, [int(place) for place in places if place is not None], kind)
    return shown.answer(
        "release/compare.html",
        "compare",
        cells=dict(zip("ab", cells, strict=True)),
        picked={"a": _pick(places[0], cells[0], 0), "b": _pick(places[1], cells[1], 0 if against else 1)},
        outcome=outcome,
        against=against,
        others=_others(shown),
        kind=kind,
        kinds=KINDS,
    )


def _others(shown: Shown) -> list[ReleaseView]:
    """Tables of the same measure about the same population that the reader may see, newest first."""
    view, reading = shown.view, shown.visit.services.reading
    if view is None:
        return []
    _, views = reading.releases(shown.visit.user, limit=500)
    same = [other for other in views if (other.population, other.measure) == (view.population, view.measure)]
    return [other for other in same if other.entry != view.entry and other.cells <= _MOST_LISTED][:_MOST_OFFERED]


def _cells(shown: Shown) -> list[tuple[int, str, str]]:
    if not shown.release.tables or shown.release.table.space.size > _MOST_LISTED:
        return []
    table = shown.release.table
    structural = set(table.space.structural_indices)
    return [
        (index, " · ".join(labels), shown.wording.num(float(table.values[index])))
        for index, labels in enumerate(table.space.labels())
        if index not in structural
    ]


def _place(shown: Shown, text: str) -> int | None:
    """The cell that an address names; None where the table has no such cell."""
    place = int(text) if text.isdecimal() and len(text) < 9 else -1
    return place if any(place == index for index, _, _ in _cells(shown)) else None


def _pick(place: int | None, cells: list[tuple[int, str, str]], default: int) -> int | None:
    if place is not None or not cells:
        return place
    return cells[min(default, len(cells) - 1)][0]


def _compared(pages: list[Shown], places: list[int], kind: str) -> dict[str, str]:
    """Both numbers by the question `difference`, in the reader's words."""
    from dalenius.inference.compared import difference

    (first, second), wording = pages, pages[0].wording
    outcome = {"verdict": "", "difference": "–", "margin": "–", "interval": "–", "text": "", "meaning": ""}
    if first is second and places[0] == places[1]:
        return outcome | {"verdict": wording.t("compare.same")}
    releases = [page.stored.parts[page.member - 1] for page in pages]
    cells = [_labels(release.table, place) for release, place in zip(releases, places, strict=True)]
    values = [float(release.table.values[place]) for release, place in zip(releases, places, strict=True)]
    outcome["difference"] = wording.num(known(values[0] - values[1]))
    unknown = outcome | {"verdict": wording.t("compare.unknown"), "text": wording.t("compare.unknown_text")}
    halves = [
        intervals(release, release.table, 0.95)[0][0][place] for release, place in zip(releases, places, strict=True)
    ]
    if not np.isfinite(halves).all():
        return unknown
    try:
        made = difference(releases[0], *cells, against=None if first is second else releases[1], kind=kind)
    except DaleniusError as refused:
        return unknown | {"text": wording.t("compare.refused", reason=refused.message)}
    assert made.interval is not None
    low, high = made.interval.lower, made.interval.upper
    if not np.isfinite([low, high]).all():
        return unknown
    key, about = ("yes" if low > 0 or high < 0 else "no"), ("_parameter" if kind != KINDS[0] else "")
    return outcome | {
        "verdict": wording.t(f"compare.{key}"),
        "difference": wording.num(made.value),
        "margin": f"± {wording.num(max(made.value - low, high - made.value))}",
        "interval": wording.t("release.to_read", low=wording.num(low), high=wording.num(high)),
        "text": wording.t(f"compare.{key}_text"),
        "meaning": wording.t(f"compare.meaning{about}"),
    }


def _labels(table: Table, place: int) -> dict[str, tuple[str, ...]]:
    names = [axis.name for axis in table.space.axes]
    return {name: (label,) for name, label in zip(names, table.space.labels()[place], strict=True)}


@router.get("/r/{entry}.{format}")
def download(visit: Caller, entry: str, format: str) -> Response:
    reading, language = visit.services.reading, visit.wording.language
    if language == DEFAULT or not is_spoken(format):
        return _send(visit.request, reading.download(visit.user, entry, format))
    spoken = spoken_release(Shown.find(visit, entry), reading.release(visit.user, entry))
    return _send(visit.request, render(spoken, format, is_public=False, language=language))


@router.get("/d/{name}/list.{format}")
def download_listed(visit: Caller, name: str, format: str) -> Response:
    shown, language = listed(visit, name), visit.wording.language
    release = shown.stored
    if language != DEFAULT and is_spoken(format):
        release = spoken_release(shown, release)
    return _send(visit.request, render(release, format, language=language))


def _send(request: Request, file: Download) -> Response:
    headers = {"ETag": file.etag, "Content-Disposition": f'attachment; filename="{file.filename}"'}
    # The same address holds the same file in other words for who reads another language.
    headers["Vary"] = "Cookie, Accept-Language"
    if file.filename.endswith(".csv"):
        # As CSV on the Web asks: where the description of the file is.
        place = request.url.path.removesuffix(".csv")
        headers["Link"] = f'<{place}.csvw?{request.url.query}>; rel="describedby"; type="application/csvm+json"'
    if file.is_public:
        headers["Cache-Control"] = "private, max-age=60"
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, 200, headers, file.media_type)
