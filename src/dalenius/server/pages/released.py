"""A released table: numbers with margins of error, chart, test of independence, comparison, citation, downloads."""

from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import Response

from dalenius.core.law import Additive, Withheld
from dalenius.core.release import ADDITIVE, Release, Table
from dalenius.errors import NotAllowed
from dalenius.server.downloads import formats
from dalenius.server.pages.page import Caller, PageRoute
from dalenius.server.pages.reuse import copies
from dalenius.server.pages.shown import Shown, listed
from dalenius.shown import speech
from dalenius.shown.crossed import markup
from dalenius.shown.crosstab import INTERVAL, MARGIN, Margins, Places, asked_layout
from dalenius.shown.display import displayed
from dalenius.shown.finished import MOST_CELLS, FinishedTable, finished
from dalenius.shown.picture import picture
from dalenius.shown.speech import has_error
from dalenius.spec.axis import COMPLETE

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_MEANINGS = ("show", "as", "confidence", "totals", "chart", "values")


@router.get("/r/{entry}")
def table(visit: Caller, entry: str) -> Response:
    return _table_page(Shown.find(visit, entry))


@router.get("/d/{name}/list")
def from_list(visit: Caller, name: str) -> Response:
    """A table from the stored list: free, consistent, and without touching data."""
    reading, shown = visit.services.reading, listed(visit, name)

    def margin(names: list[str]) -> Release | None:
        document = shown.state.to_request(name) if shown.state else {}
        document["table"] |= {"margins": [[axis.name for axis in shown.axes], names], "universe": COMPLETE}
        try:
            answer = reading.list_answer(name, document)
        except NotAllowed:
            # The sum has more noise than the table; a rule may hold for the one and not for the other.
            return None
        return answer and answer.with_(tables=answer.tables[1:])

    return _table_page(shown, margin)


def _table_page(shown: Shown, margins: Margins = lambda _: None) -> Response:
    params = shown.visit.request.query_params
    release = shown.release
    is_asked = params.get("values") == "anchored" and shown.view and not shown.members
    values = "anchored" if is_asked else "measured"
    if values == "anchored" and shown.view:
        release = shown.read(shown.visit.services.reading.anchored(shown.visit.user, shown.view.entry))
    is_anchored = any(a.get("name") == "anchor" and a.get("margins") for a in release.adjustments)
    show = params.get("show", "value")
    confidence = params.get("confidence", "95") if params.get("confidence") in ("90", "95", "99") else "95"
    error_as = INTERVAL if params.get("as") == INTERVAL else MARGIN
    kind = params.get("chart", "bars") if params.get("chart") in ("bars", "heat", "none") else "bars"
    totals = params.get("totals") != "off"
    size = release.table.space.size if release.tables else 0
    tables: list[FinishedTable] = []
    for number, (display, title) in enumerate(zip(displayed(release), shown.titles, strict=True)):
        if size > MOST_CELLS or (number and not _is_apart(display.table, release.table)):
            continue
        further: dict[str, Any] = {} if number else {"places": _places(shown), "show": show, "margins": margins}
        finish = partial(finished, release, display, int(confidence) / 100, shown.wording.language, title=title)
        tables.append(finish(error_as=error_as, totals=totals, **further))
    first = tables[0] if tables else None
    cells = [c for s in first.crosstab.sheets for line in s.lines for c in line.cells] if first else []
    has_margins = bool(first and has_error(first.table) and not is_anchored)
    drawn, note = picture(first, kind) if first and kind != "none" else ("", "")
    address, view = shown.visit.request.url, shown.view

    def download_href(name: str) -> str:
        return f"/r/{quote(view.entry)}.{name}" if view else f"{address.path}.{name}?{address.query}"

    return shown.answer(
        "release/page.html",
        "table",
        tables=[markup(each, f"result-{n}" if n else "result") for n, each in enumerate(tables)],
        too_large=size if size > MOST_CELLS else 0,
        show=first.crosstab.show if first else "value",
        values=values,
        is_anchored=is_anchored,
        error_as=error_as,
        confidence_text=confidence,
        totals=totals,
        chart_kind=kind,
        chart=drawn,
        chart_note=note,
        kept_pairs=[(k, v) for k, v in params.multi_items() if k not in (*_MEANINGS, "again")],
        has_margins=has_margins,
        has_shares=first is not None and first.table.measure in ADDITIVE,
        has_negative=any(c.value is not None and c.value < 0 for c in cells),
        has_structural=any(c.is_structural for c in cells),
        formats=list(formats()),
        download_href=download_href,
        universe=shown.universe,
        noise_text=_noise_text(shown),
        guarantee_text=shown.wording.stored(shown.provenance.guarantee),
        formal_text=shown.wording.stored(shown.provenance.formal_guarantee),
        may_govern=shown.visit.user.is_custodian,
    )


def _places(shown: Shown) -> Places:
    if not shown.layout:
        return asked_layout(shown.release.about, shown.release.table)
    names = {axis.variable: axis.name for axis in shown.axes}
    rows, columns, layers = ([names.get(name, name) for name in named] for named in shown.placed.values())
    return Places(rows=rows, columns=columns, layers=layers)


def _is_apart(table: Table, first: Table) -> bool:
    """Whether a table is more than a margin of the first, whose margins are its totals."""
    is_margin = {axis.name for axis in table.space.axes} <= {axis.name for axis in first.space.axes}
    return table.space.size <= MOST_CELLS and not (is_margin and table.measure == first.measure)


def _noise_text(shown: Shown) -> str:
    law, wording = shown.release.law, shown.wording
    if shown.release.tables and not has_error(shown.release.table):
        return speech.caption(shown.release, shown.release.table, 0.95, wording.language)
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
def cite(visit: Caller, entry: str) -> Response:
    shown, config = Shown.find(visit, entry), visit.services.config
    view, wording, base = shown.view, shown.wording, config.public_url
    assert view is not None
    citation = wording.t(
        "cite.text",
        site=config.title,
        title=shown.described,
        dataset=wording.dataset_title(view.dataset),
        version=view.version,
        when=wording.when(view.at),
        budget=wording.budget_text(view.budget),
        entry=view.entry,
        address=f"{base}/r/{quote(view.entry)}",
    )
    return shown.answer(
        "release/cite.html", "cite", citation=citation, copies=copies(view.dataset, shown.document(), base)
    )
