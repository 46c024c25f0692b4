"""A released table: numbers with margins of error, chart, test of independence, comparison, citation, downloads."""

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dalenius.core.domain import Axis
from dalenius.core.law import Additive, Withheld
from dalenius.core.release import Release
from dalenius.errors import DaleniusError
from dalenius.server import charts
from dalenius.server.accounts import User
from dalenius.server.auth import CurrentUser
from dalenius.server.errors import NotFound
from dalenius.server.pages import numbers
from dalenius.server.pages.copies import copies
from dalenius.server.pages.crosstab import UNRELIABLE, Cell, Crosstab, Margins, flat, lay_out
from dalenius.server.pages.page import PageRoute, language_of, render
from dalenius.server.pages.reuse import request_of, with_levels
from dalenius.server.pages.state import PLACES, TableState, from_request, read_pairs
from dalenius.server.pages.wording import Wording
from dalenius.server.views import DatasetView, ReleaseView

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MOST_CELLS = 20_000
_MEANINGS = ("show", "as", "confidence", "totals", "chart", "values")


class Shown:
    """One released table and one reader: what all of its pages need."""

    def __init__(
        self,
        request: Request,
        user: User,
        release: Release,
        view: ReleaseView | None,
        state: TableState | None = None,
    ) -> None:
        """`state` is what was asked of a ready list; a stored release says itself what was asked."""
        self.request, self.user, self.release, self.view = request, user, release, view
        self.state = state
        self.services = request.app.state.services
        self.wording = Wording(language_of(request), self.services)
        self.provenance = release.provenance
        try:
            self.dataset: DatasetView | None = self.services.dataset(self.provenance.dataset)
        except DaleniusError:
            self.dataset = None
        self.layout = [(key, value) for key, value in request.query_params.multi_items() if key in PLACES]

    @classmethod
    def find(cls, request: Request, entry: str, user: User) -> "Shown":
        """The stored release, if this reader may see it."""
        services = request.app.state.services
        return cls(request, user, services.release(user, entry), services.release_view(user, entry))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes of the shown table."""
        return self.release.table.space.axes if self.release.tables else ()

    @property
    def heading(self) -> str:
        """The table in a few words."""
        if self.state is not None and self.dataset is not None:
            return self.wording.state_title(self.dataset, self.state)
        described = self.provenance.request
        of = described.get("of")
        variables = [axis.variable for axis in self._in_order()]
        return self.wording.title(
            self.dataset, str(described.get("measure", "count")), str(of) if of else None, variables
        )

    @property
    def conditions(self) -> list[str]:
        """Which records are counted, in words."""
        if self.state is not None and self.dataset is not None:
            return self.wording.filters(self.dataset, self.state)
        return self.wording.conditions(self.dataset, self.provenance.request)

    def _in_order(self) -> list[Axis]:
        named = [value for _, value in self.layout]
        return sorted(
            self.axes, key=lambda a: next((i for i, n in enumerate(named) if n in (a.name, a.variable)), 99)
        )

    def axis_label(self, axis: Axis) -> str:
        """What an axis is called."""
        label = self.wording.label(self.dataset, axis.variable)
        return f"{label} ({axis.level})" if axis.level else label

    def frame(self, section: str) -> dict[str, Any]:
        """What the frame around every section shows."""
        base = f"/r/{quote(self.view.entry)}" if self.view else ""
        return {
            "view": self.view,
            "provenance": self.provenance,
            "heading": self.heading,
            "section": section,
            "conditions": self.conditions,
            "base_href": base,
            "layout_query": urlencode(self.layout),
            "is_again": self.request.query_params.get("again") == "1" and self.view is not None,
            "edit_href": self._edit_href(),
            "absolute": str(self.request.base_url).rstrip("/") + base,
            "axis_label": self.axis_label,
            "axis_label_by_name": lambda name: next(
                (self.axis_label(a) for a in self.axes if a.name == name), name
            ),
        }

    def document(self) -> dict[str, Any]:
        """The request document that asks for this table."""
        variables = self.dataset.variables if self.dataset else ()
        numeric = {variable.name: variable for variable in variables if variable.is_numeric}
        document = request_of(self.release, dict_of(self.layout), numeric)
        if self.dataset is None:
            return document
        domain = self.services.desk.find(self.dataset.name).curator.domain
        document["table"] = with_levels(document["table"], domain)
        plainer = from_request(document, self.dataset).to_request(self.dataset.name)
        return {**document, "table": plainer["table"]}

    def _edit_href(self) -> str:
        if self.dataset is None or not self.axes:
            return ""
        state = self.state or from_request(self.document(), self.dataset)
        return f"/d/{quote(self.dataset.name)}/table?{urlencode(state.to_pairs())}"

    def answer(self, template: str, section: str, **context: Any) -> Response:
        """A section of the table's pages. Published tables may be kept by caches of this reader for a minute."""
        response = render(self.request, template, self.user, **self.frame(section), **context)
        is_public = self.view is None or self.view.status == "published"
        if is_public and self.user.is_anonymous:
            response.headers["Cache-Control"] = "private, max-age=60"
        return response


def dict_of(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Values under each key."""
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


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
    release = services.list_answer(user, name, state.to_request(name))
    if release is None:
        raise NotFound("The ready list of this data set does not hold this table.")
    shown = Shown(request, user, release, None, state)

    def margin(names: list[str]) -> Release | None:
        gone = {axis.variable for axis in shown.axes if axis.name not in names}
        found: Release | None = services.list_answer(user, name, state.summed_over(gone).to_request(name))
        return found

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
            release.table,
            rows=named.get("rows", ()),
            columns=named.get("columns", ()),
            wafers=named.get("wafers", ()),
            show=show,
            totals=totals,
            confidence=int(confidence) / 100,
            margins=margins,
        )
    cells = [c for s in crosstab.sheets for line in s.lines for c in line.cells] if crosstab else []
    drawn, note = _chart(shown, crosstab, kind, confidence) if crosstab else ("", "")
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
            str(shown.provenance.request.get("measure", "count")),
            shown.provenance.request.get("of"),
        ),
        has_negative=any(c.value is not None and c.value < 0 for c in cells),
        has_structural=any(c.is_structural for c in cells),
        cell_text=partial(_cell_text, shown.wording),
        error_text=partial(_error_text, shown.wording, error_as),
        formats=[f for f in shown.services.formats() if f != "html"] + ["html"],
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
    return numbers.percent(value, wording.language) if cell.is_percent else wording.num(value)


def _error_text(wording: Wording, error_as: str, cell: Cell) -> str:
    language = wording.language
    text: Callable[[float], str] = (
        (lambda v: numbers.percent(v, language)) if cell.is_percent else wording.num
    )
    if error_as == "interval" and cell.lower is not None and cell.upper is not None:
        return wording.t("release.to_read", low=text(cell.lower), high=text(cell.upper))
    half = cell.half or 0.0
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


def _chart(shown: Shown, crosstab: Crosstab, kind: str, confidence: str) -> tuple[str, str]:
    if kind == "none":
        return "", ""
    wording = shown.wording
    cells = flat(crosstab)
    is_percent = crosstab.show != "value"

    def text(value: float) -> str:
        return numbers.percent(value, wording.language, 0) if is_percent else wording.num(value)

    marks = [
        charts.Mark(
            group=" · ".join(part for part in (item["wafer"], item["row"]) if part)
            if crosstab.column_axes
            else item["wafer"],
            label=item["column"] or item["row"],
            value=item["cell"].value,
            lower=item["cell"].lower,
            upper=item["cell"].upper,
            is_unreliable=item["cell"].mark == UNRELIABLE,
        )
        for item in cells
    ]
    if kind == "heat":
        width = max(len(cells) // max(len({(i["wafer"], i["row"]) for i in cells}), 1), 1)
        lines = [marks[i : i + width] for i in range(0, len(marks), width)][: charts.MOST_BARS]
        rows = [line[0].group or line[0].label for line in lines]
        columns = [m.label for m in lines[0]] if crosstab.column_axes else [""]
        drawn = charts.heat(
            rows, columns, lines, title=wording.t("release.heat_title", name=shown.heading),
            description=wording.t("release.chart_note_heat"), show=text,
        )  # fmt: skip
        return drawn, wording.t("release.chart_note_heat")
    note = wording.t("release.chart_note", level=confidence)
    if len(marks) > charts.MOST_BARS:
        note += " " + wording.t("release.chart_cut", n=charts.MOST_BARS)
    drawn = charts.bars(
        marks, title=wording.t("release.chart_title", name=shown.heading), description=note, show=text
    )
    return drawn, note


@router.get("/r/{entry}/cite")
def cite(request: Request, entry: str, user: CurrentUser) -> Response:
    """How to cite the table, and the same request elsewhere."""
    shown = Shown.find(request, entry, user)
    view, wording = shown.view, shown.wording
    assert view is not None
    base = str(request.base_url).rstrip("/")
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
