"""The chart of a released table: bars with whiskers, or a heat table."""

from dalenius.linear.cells import UNRELIABLE
from dalenius.linear.crosstab import Crosstab, flat
from dalenius.server import charts
from dalenius.server.pages import numbers
from dalenius.server.pages.shown import Shown


def draw(shown: Shown, crosstab: Crosstab, kind: str, confidence: str) -> tuple[str, str]:
    """The chart as SVG, and the sentence below it."""
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
