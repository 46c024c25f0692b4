"""A released table: numbers with margins of error, chart, test of independence, comparison, citation, downloads."""

from collections.abc import Callable
from functools import partial
from math import ceil
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dalenius.core.law import Additive, Withheld
from dalenius.core.release import Release
from dalenius.linear.cells import Cell
from dalenius.linear.crosstab import Crosstab, Margins, lay_out
from dalenius.server.auth import CurrentUser
from dalenius.server.errors import NotFound
from dalenius.server.pages import numbers
from dalenius.server.pages.address import read_pairs
from dalenius.server.pages.copies import copies
from dalenius.server.pages.drawing import draw
from dalenius.server.pages.refusal import PageRoute
from dalenius.server.pages.shown import Shown, dict_of
from dalenius.server.pages.wording import Wording
from dalenius.spec.canonical import method_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MOST_CELLS = 20_000
_MEANINGS = ("show", "as", "confidence", "totals", "chart", "values")


@router.get("/r/{entry}")
def table(request: Request, entry: str, user: CurrentUser) -> Response:
    """The table and its chart."""
    return _table_page(Shown.find(request, entry, user))


@router.get("/d/{name}/list")
def from_list(request: Request, name: str, user: CurrentUser) -> Response:
    """A table from the ready list: free, consistent, and without touching data."""
    services = request.app.state.services
    dataset = services.dataset(name)
    state = read_pairs(request.query_params.multi_items(), dataset)
    release = services.list_answer(user, name, state.to_request(name), explains=True)
    if release is None:
        raise NotFound("The ready list of this data set does not hold this table.")
    shown = Shown(request, user, release, None, state)

    def margin(names: list[str]) -> Release | None:
        document = state.to_request(name)
        document["table"]["margins"] = [[axis.name for axis in shown.axes], names]
        found: Release | None = services.list_answer(user, name, document)
        return found and found.with_(tables=found.tables[1:])

    return _table_page(shown, margin)


def _table_page(shown: Shown, margins: Margins = lambda _: None) -> Response:
    params = shown.request.query_params
    release = shown.release
    values = "anchored" if params.get("values") == "anchored" and shown.view else "measured"
    if values == "anchored" and shown.view:
        release = shown.services.anchored(shown.user, shown.view.entry)
    is_anchored = any(a.get("name") == "anchor" and a.get("margins") for a in release.adjustments)
    show = params.get("show", "value")
    confidence = params.get("confidence", "95") if params.get("confidence") in ("90", "95", "99") else "95"
    error_as = "interval" if params.get("as") == "interval" else "margin"
    kind = params.get("chart", "bars") if params.get("chart") in ("bars", "heat", "none") else "bars"
    totals = params.get("totals") != "off"
    size = release.table.space.size if release.tables else 0
    crosstab = None
    if 0 < size <= MOST_CELLS:
        named = dict_of(_by_axis(shown))
        crosstab = lay_out(
            release,
            shown.spoken(release.table),
            rows=named.get("rows", ()),
            columns=named.get("columns", ()),
            wafers=named.get("wafers", ()),
            show=show,
            totals=totals,
            confidence=int(confidence) / 100,
            margins=margins,
        )
    cells = [c for s in crosstab.sheets for line in s.lines for c in line.cells] if crosstab else []
    drawn, note = draw(shown, crosstab, kind, confidence) if crosstab else ("", "")
    return shown.answer(
        "release/page.html",
        "table",
        crosstab=crosstab,
        too_large=size if size > MOST_CELLS else 0,
        show=crosstab.show if crosstab else "value",
        values=values,
        is_anchored=is_anchored,
        error_as=error_as,
        confidence_text=confidence,
        totals=totals,
        chart_kind=kind,
        chart=drawn,
        chart_note=note,
        kept_pairs=[(k, v) for k, v in params.multi_items() if k not in (*_MEANINGS, "again")],
        caption=_caption(shown, crosstab, error_as, confidence, is_anchored=is_anchored),
        measure_text=shown.wording.measure(
            shown.dataset,
            method_of(shown.provenance.request),
            shown.provenance.request.get("of"),
        ),
        has_negative=any(c.value is not None and c.value < 0 for c in cells),
        has_structural=any(c.is_structural for c in cells),
        cell_text=partial(_cell_text, shown.wording),
        error_text=partial(_error_text, shown.wording, error_as),
        formats=list(shown.services.formats()),
        download_href=_download_href(shown),
        noise_text=_noise_text(shown),
        promise_text=shown.wording.promise(shown.provenance),
        may_govern=shown.user.is_custodian,
    )


def _caption(
    shown: Shown, crosstab: Crosstab | None, error_as: str, confidence: str, *, is_anchored: bool
) -> str:
    wording = shown.wording
    what = wording.t(f"show.{crosstab.show if crosstab else 'value'}")
    what = "; ".join([*shown.conditions, what])
    if is_anchored:
        return f"{what}, {wording.t('release.values_anchored')}"
    return wording.t(
        "release.caption", what=what, error=wording.t(f"release.caption_{error_as}", level=confidence)
    )


def _by_axis(shown: Shown) -> list[tuple[str, str]]:
    """The layout by names of axes; addresses may name the variable instead."""
    known = {axis.variable: axis.name for axis in shown.axes}
    return [(place, known.get(name, name)) for place, name in shown.layout]


def _cell_text(wording: Wording, cell: Cell) -> str:
    value = cell.value or 0.0
    if not cell.is_percent:
        return wording.num(value)
    digits = 1 if cell.half is None else numbers.percent_digits(cell.half)
    return numbers.percent(value, wording.language, digits)


def _error_text(wording: Wording, error_as: str, cell: Cell) -> str:
    language = wording.language
    digits = numbers.percent_digits(cell.half or 0.0)
    text: Callable[[float], str] = (
        (lambda v: numbers.percent(v, language, digits)) if cell.is_percent else wording.num
    )
    if error_as == "interval" and cell.lower is not None and cell.upper is not None:
        return wording.t("release.to_read", low=text(cell.lower), high=text(cell.upper))
    half = cell.half or 0.0
    if cell.is_percent and half < 0.5 * 10.0 ** (-2 - digits):
        return f"<\u202f{text(10.0 ** (-2 - digits))}"
    return f"±\u202f{text(half if cell.is_percent or half < 10 else ceil(half))}"


def _download_href(shown: Shown) -> Callable[[str], str]:
    if shown.view:
        return lambda name: f"/r/{quote(shown.view.entry)}.{name}" if shown.view else ""
    query = shown.request.url.query
    return lambda name: f"{shown.request.url.path}.{name}?{query}"


def _noise_text(shown: Shown) -> str:
    law, wording = shown.release.law, shown.wording
    if isinstance(law, Withheld):
        return wording.t("release.noise_withheld")
    if isinstance(law, Additive) and shown.release.tables and len(shown.release.blocks) == 1:
        step = float(law.step)
        return wording.t(
            "release.noise_same",
            half=wording.num(law.half_width(0.95) * step),
            law=wording.known("mechanism", law.noise.name),
            se=wording.num(law.std_error),
        )
    return wording.t("release.noise_varies")


@router.get("/r/{entry}/cite")
def cite(request: Request, entry: str, user: CurrentUser) -> Response:
    """How to cite the table, and the same request elsewhere."""
    shown = Shown.find(request, entry, user)
    view, wording = shown.view, shown.wording
    assert view is not None
    base = shown.services.config.public_url
    citation = wording.t(
        "cite.text",
        site=shown.services.config.title,
        title="; ".join([shown.heading, *shown.conditions]),
        dataset=wording.dataset_title(view.dataset),
        version=view.version,
        when=wording.when(view.at),
        budget=wording.budget(view.budget),
        entry=view.entry,
        address=f"{base}/r/{quote(view.entry)}",
    )
    return shown.answer(
        "release/cite.html", "cite", citation=citation, copies=copies(view.dataset, shown.document(), base)
    )
