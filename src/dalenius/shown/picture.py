"""The chart of a finished table, with the sentence below it: what is drawn, and what is left out."""

from math import prod

from dalenius.shown.charts import MOST_BARS, MOST_COLUMNS, Mark, bars, heat
from dalenius.shown.crosstab import marks_of
from dalenius.shown.finished import FinishedTable
from dalenius.shown.words import number, word

BARS, HEAT = "bars", "heat"


def picture(shown: FinishedTable, kind: str = BARS) -> tuple[str, str]:
    """SVG and its caption; nothing where there is one number or none."""
    language, crosstab = shown.language, shown.crosstab
    every = marks_of(crosstab)
    marks = [mark for mark in every if mark.value is not None]
    if len(marks) < 2:
        return "", ""

    def text(value: float) -> str:
        return f"{number(100 * value)}\u202f%" if crosstab.show != "value" else number(value, shown.digits, language)

    doubt = " " + word("unreliable", language) if any(mark.is_unreliable for mark in marks) else ""
    if kind == HEAT:
        width = prod(map(len, crosstab.column_axes))
        lines = [every[i : i + width] for i in range(0, len(every), width)][:MOST_BARS]
        rows = [line[0].group or line[0].label for line in lines]
        heads = [mark.label for mark in lines[0]] if crosstab.column_axes else [""]
        drawn = len(lines) * min(width, MOST_COLUMNS)
        note = word("heat", language) + doubt + _left_out(drawn, len(every), "first", language)
        return heat(rows, heads, lines, title=shown.title, description=note, show=text), note
    largest = _largest(marks)
    note = word("whiskers" if crosstab.has_margins else "bars", language) + doubt
    note += _left_out(len(largest), len(marks), "largest", language)
    if len(marks) < len(every):
        note += " " + word("no_number", language, cells=number(len(every) - len(marks), language=language))
    return bars(largest, title=shown.title, description=note, show=text), note


def _largest(marks: list[Mark]) -> list[Mark]:
    """The largest in the order of the table."""
    places = sorted(range(len(marks)), key=lambda place: -(marks[place].value or 0.0))[:MOST_BARS]
    return [marks[place] for place in sorted(places)]


def _left_out(drawn: int, every: int, key: str, language: str) -> str:
    numbers = number(every, language=language)
    return " " + word(key, language, drawn=drawn, numbers=numbers) if drawn < every else ""
