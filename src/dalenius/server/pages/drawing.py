"""The chart of a released table: bars with whiskers, or a heat table."""

from dalenius.server.pages.shown import Shown
from dalenius.server.pages.wording import Wording
from dalenius.shown import charts
from dalenius.shown.cells import UNRELIABLE
from dalenius.shown.crosstab import Crosstab, flat
from dalenius.shown.display import Display


def draw(
    shown: Shown, crosstab: Crosstab, display: Display, kind: str, confidence: str, *, has_margins: bool
) -> tuple[str, str]:
    """The chart as SVG, and the sentence below it: what is drawn, and what is left out."""
    if kind == "none":
        return "", ""
    wording = shown.wording
    cells = flat(crosstab)

    def text(value: float) -> str:
        return wording.percent(value, 0) if crosstab.show != "value" else wording.num(value, display.digits)

    marks = [
        charts.Mark(
            group=" · ".join(part for part in (item["layer"], item["row"]) if part)
            if crosstab.column_axes
            else item["layer"],
            label=item["column"] or item["row"],
            value=item["cell"].value,
            lower=item["cell"].lower,
            upper=item["cell"].upper,
            is_unreliable=item["cell"].mark == UNRELIABLE,
        )
        for item in cells
    ]
    if kind == "heat":
        width = max(len(cells) // max(len({(i["layer"], i["row"]) for i in cells}), 1), 1)
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
    """The note, with how many numbers are left out."""
    if drawn >= every:
        return note
    return f"{note} {wording.t('release.chart_cut', n=wording.num(drawn), all=wording.num(every))}"
