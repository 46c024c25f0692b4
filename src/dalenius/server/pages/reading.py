"""Sections of a released table that answer a question: test of independence, comparison of cells, and its files."""

from math import sqrt
from statistics import NormalDist
from threading import BoundedSemaphore
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from dalenius.algebra import joint
from dalenius.algebra.tabulation import is_listed
from dalenius.core.estimate import TestResult
from dalenius.core.law import Additive
from dalenius.core.release import Release, Table
from dalenius.errors import DaleniusError, ParameterError, Unsupported
from dalenius.server.downloads import is_spoken, render
from dalenius.server.pages.page import Caller, PageRoute
from dalenius.server.pages.shown import Shown, listed, spoken_release
from dalenius.server.views import Download
from dalenius.shown.crosstab import half_widths, known
from dalenius.shown.speech import DEFAULT

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_MOST_TESTED = 2_000
_MOST_LISTED = 500
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
def compare(visit: Caller, entry: str, a: str = "", b: str = "") -> Response:
    shown = Shown.find(visit, entry)
    cells = _cells(shown)
    indices = {index for index, _, _ in cells}
    first, second = (int(x) if x.isdecimal() and len(x) < 9 and int(x) in indices else None for x in (a, b))
    outcome = None
    if first is not None and second is not None:
        outcome = _compared(shown, first, second)
    listed = sorted(indices)
    picked = {
        "a": first if first is not None else (listed[0] if listed else None),
        "b": second if second is not None else (listed[1] if len(listed) > 1 else None),
    }
    return shown.answer("release/compare.html", "compare", cells=cells, picked=picked, outcome=outcome)


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


def _compared(shown: Shown, first: int, second: int) -> dict[str, str]:
    wording, table = shown.wording, shown.release.table
    outcome = {"verdict": "", "difference": "–", "margin": "–", "interval": "–", "text": "", "meaning": ""}
    if first == second:
        return outcome | {"verdict": wording.t("compare.same")}
    difference = known(float(table.values[first] - table.values[second]))
    outcome["difference"] = wording.num(difference)
    margin = difference_margin(shown.release, table, first, second)
    if difference is None or margin is None:
        return outcome | {"verdict": wording.t("compare.unknown"), "text": wording.t("compare.unknown_text")}
    key = "yes" if abs(difference) > margin else "no"
    low, high = (wording.num(difference + sign * margin) for sign in (-1, 1))
    return outcome | {
        "verdict": wording.t(f"compare.{key}"),
        "margin": f"± {wording.num(margin)}",
        "interval": wording.t("release.to_read", low=low, high=high),
        "text": wording.t(f"compare.{key}_text"),
        "meaning": wording.t("compare.meaning"),
    }


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
    if file.is_public:
        headers["Cache-Control"] = "private, max-age=60"
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, 200, headers, file.media_type)


_MOST_POINTS = 20_000


def difference_margin(
    release: Release, table: Table, first: int, second: int, confidence: float = 0.95
) -> float | None:
    """Half the width of the interval of a difference of two cells; None where either has no margin of error.

    Exact for two cells of one measured block, by convolution; from the joint covariance for counts that combine blocks.
    Other numbers of a list share noise whose covariance is not rebuilt here: the sum of both margins at half of the
    error probability holds whatever they share. Cells without shared noise get a normal margin.
    """
    pair = [first, second]
    if not np.isfinite(half_widths(release, table, confidence)[pair]).all():
        return None
    block = next((b for b in release.blocks if b.name == table.name and b.role == "table"), None)
    if block is not None and isinstance(block.law, Additive) and table.is_unbiased:
        is_drawn = np.allclose(table.variance[pair], block.law.variance)
        exact = _convolved(block.law, confidence) if is_drawn else None
        if exact is not None:
            return exact
    if joint.is_combined(release.law) and any(table.name == own.name for own in release.tables):
        spread = joint.covariance(release, table, pair)
        reach = joint.reach([block.law for block in release.blocks], confidence)
        return known(reach * sqrt(float(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])))
    if joint.is_combined(release.law) or is_listed(release.law):
        return known(float(half_widths(release, table, (1 + confidence) / 2)[pair].sum()))
    variance = float(table.variance[first] + table.variance[second])
    return known(NormalDist().inv_cdf(0.5 + confidence / 2) * sqrt(variance))


def _convolved(law: Additive, confidence: float) -> float | None:
    """Smallest q with P(|noise - noise'| > q) <= 1 - confidence, in units of the value; None if the law is too wide."""
    points, masses = law.central(1e-9)
    if len(points) > _MOST_POINTS:
        return None
    spread = np.convolve(masses, masses[::-1])
    middle = len(masses) - 1
    inside = spread[middle]
    reach = 0
    while inside < confidence and reach < middle:
        reach += 1
        inside += spread[middle - reach] + spread[middle + reach]
    return reach * float(law.step)
