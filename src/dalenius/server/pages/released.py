"""A released table: numbers with margins of error, chart, test of independence, comparison, citation, downloads."""

from dataclasses import replace
from functools import partial
from math import prod
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
from dalenius.server.pages.wording import Wording
from dalenius.shown import charts, speech
from dalenius.shown.crosstab import INTERVAL, MARGIN, Margins, Places, asked_layout, marks_of
from dalenius.shown.display import Display, displayed
from dalenius.shown.finished import FinishedTable, finished
from dalenius.shown.speech import has_error
from dalenius.spec.axis import COMPLETE

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MOST_CELLS = 20_000
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
    display, table, others = None, None, []
    if 0 < size <= MOST_CELLS:
        display, *further = displayed(release)

        finish = partial(
            finished,
            release,
            confidence=int(confidence) / 100,
            language=shown.wording.language,
            error_as=error_as,
            read=shown.spoken,
            totals=totals,
        )
        table = finish(display, places=_places(shown, display.table), show=show, margins=margins)
        caption = _caption(shown, display, table, confidence, is_anchored=is_anchored)
        table = replace(table, title=shown.heading, caption=caption)
        apart = [each for each in further if _is_apart(each, display)]
        others = [replace(finish(each), title=shown.table_heading(each.table)) for each in apart]
    cells = [c for s in table.crosstab.sheets for line in s.lines for c in line.cells] if table else []
    has_margins = display is not None and has_error(display.table) and not is_anchored
    drawn, note = "", ""
    if table:
        drawn, note = draw(shown, table, kind, confidence, has_margins=has_margins)
    address, view = shown.visit.request.url, shown.view

    def download_href(name: str) -> str:
        return f"/r/{quote(view.entry)}.{name}" if view else f"{address.path}.{name}?{address.query}"

    return shown.answer(
        "release/page.html",
        "table",
        table=table,
        too_large=size if size > MOST_CELLS else 0,
        show=table.crosstab.show if table else "value",
        values=values,
        is_anchored=is_anchored,
        error_as=error_as,
        confidence_text=confidence,
        totals=totals,
        chart_kind=kind,
        chart=drawn,
        chart_note=note,
        kept_pairs=[(k, v) for k, v in params.multi_items() if k not in (*_MEANINGS, "again")],
        others=others,
        has_margins=has_margins,
        has_shares=display is not None and display.table.measure in ADDITIVE,
        measure_text=shown.wording.measure(shown.dataset, shown.release.about.measure, shown.release.about),
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


def _caption(shown: Shown, display: Display, table: FinishedTable, confidence: str, *, is_anchored: bool) -> str:
    """What is shown, and what its margins of error are, in the words of the method."""
    wording, show = shown.wording, table.crosstab.show
    what = "; ".join([*shown.conditions, wording.t(f"show.{show}")])
    if table.error_as == INTERVAL and has_error(display.table) and not is_anchored:
        errors = wording.t("release.caption_interval", level=confidence)
    else:
        errors = speech.caption(
            shown.release, shown.release.table, int(confidence) / 100, wording.language, is_moved=is_anchored
        )
    rounded = speech.rounding(display, wording.language) if show == "value" else ""
    return " ".join(filter(None, (f"{what}.", errors, rounded)))


def _places(shown: Shown, table: Table) -> Places:
    if not shown.layout:
        return asked_layout(shown.release.about, table)
    names = {axis.variable: axis.name for axis in shown.axes}
    rows, columns, layers = ([names.get(name, name) for name in named] for named in shown.placed.values())
    return Places(rows=rows, columns=columns, layers=layers)


def _is_apart(display: Display, first: Display) -> bool:
    """Whether a table is more than a margin of the first, whose margins are its totals."""
    axes = {axis.name for axis in display.table.space.axes}
    is_margin = axes <= {axis.name for axis in first.table.space.axes}
    is_small = display.table.space.size <= MOST_CELLS
    return is_small and not (is_margin and display.table.measure == first.table.measure)


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
        title="; ".join([shown.heading, *shown.conditions]),
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


def draw(shown: Shown, table: FinishedTable, kind: str, confidence: str, *, has_margins: bool) -> tuple[str, str]:
    """The chart as SVG, and the sentence below it: what is drawn, and what is left out."""
    if kind == "none":
        return "", ""
    wording, crosstab = shown.wording, table.crosstab
    marks = marks_of(crosstab)

    def text(value: float) -> str:
        return wording.percent(value, 0) if crosstab.show != "value" else wording.num(value, table.digits)

    if kind == "heat":
        width = prod(map(len, crosstab.column_axes))
        lines = [marks[i : i + width] for i in range(0, len(marks), width)][: charts.MOST_BARS]
        rows = [line[0].group or line[0].label for line in lines]
        columns = [m.label for m in lines[0]] if crosstab.column_axes else [""]
        drawn_cells = len(lines) * min(width, charts.MOST_COLUMNS)
        note = _with_rest(wording, wording.t("release.chart_note_heat"), drawn_cells, len(marks))
        title = wording.t("release.heat_title", name=shown.heading)
        return charts.heat(rows, columns, lines, title=title, description=note, show=text), note
    note = wording.t("release.chart_note" if has_margins else "release.chart_note_plain", level=confidence)
    filled = sum(mark.value is not None for mark in marks)
    if not filled:
        return "", ""
    note = _with_rest(wording, note, min(filled, charts.MOST_BARS), len(marks))
    drawn = charts.bars(marks, title=wording.t("release.chart_title", name=shown.heading), description=note, show=text)
    return drawn, note


def _with_rest(wording: Wording, note: str, drawn: int, every: int) -> str:
    if drawn >= every:
        return note
    return f"{note} {wording.t('release.chart_cut', n=wording.num(drawn), all=wording.num(every))}"
