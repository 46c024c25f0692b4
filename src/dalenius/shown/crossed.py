"""A finished table as HTML, for notebooks, files and pages: crossed as it was asked for, with errors in its cells."""

from html import escape

from dalenius.shown.crosstab import Cell, Line
from dalenius.shown.finished import MOST_CELLS, SIGNS, FinishedTable
from dalenius.shown.speech import classified
from dalenius.shown.words import number, word

MOST_ROWS = 400
# The style of what stands here, for files and notebooks; a site has its own.
STYLE = (
    ".crosstab{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".crosstab caption{text-align:left;font-weight:600;padding:.5rem 0}.crosstab caption .soft{display:block;"
    "font-weight:400;font-size:smaller;opacity:.75}.crosstab th,.crosstab td{padding:.3em .6em;text-align:left;"
    "vertical-align:top;border-bottom:1px solid #8884}.crosstab td,.crosstab thead th{text-align:right;"
    "white-space:nowrap}.crosstab thead th.stub{text-align:left}.crosstab .moe{display:block;font-size:smaller;"
    "opacity:.75}.crosstab .total{font-weight:600}.crosstab .unreliable .value{font-style:italic;opacity:.75}"
)


def crossed(shown: FinishedTable, most_rows: int = MOST_ROWS) -> str:
    """The crossed table; lines beyond `most_rows` are left out, and counted."""
    language, cells = shown.language, shown.table.space.size
    if cells > MOST_CELLS:
        said = word("too_many", language, cells=number(cells, language=language))
        return f'<h2>{escape(shown.title)}</h2><p class="note">{said}</p>'
    left_out = sum(len(sheet.lines) for sheet in shown.crosstab.sheets) - most_rows
    more = word("more_rows", language, rows=number(left_out, language=language))
    note = f'<p class="note">{more}</p>' if left_out > 0 else ""
    return f'<div class="scroll">{markup(shown, most_rows=most_rows)}</div>{note}'


def markup(shown: FinishedTable, identity: str = "result", most_rows: int | None = None) -> str:
    """The table alone: title and caption, headings of columns and rows, and a number with its errors in each cell."""
    rows: list[str] = []
    for sheet in shown.crosstab.sheets:
        lines = sheet.lines if most_rows is None else sheet.lines[: max(most_rows - len(rows), 0)]
        title = _sheet_title(shown, sheet.title) if lines else ""
        rows += [(title if place == 0 else "") + _row(shown, line) for place, line in enumerate(lines)]
    return (
        f'<table class="crosstab" id="{identity}"><caption>{escape(shown.title)}<span class="soft">'
        f"{escape(shown.caption)}</span></caption><thead>{_head(shown)}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _stub(shown: FinishedTable) -> int:
    """How many columns name a row; none where the title says what the one number is."""
    is_number = shown.table.space.size == 1 and not classified(shown.release, shown.table)
    return 0 if is_number else max(len(shown.crosstab.row_axes), 1)


def _head(shown: FinishedTable) -> str:
    """Headings of the columns, one line an axis; the last line also names the rows."""
    crosstab, stub = shown.crosstab, _stub(shown)
    names = [shown.name(axis.name) for axis in crosstab.row_axes] or [""]
    rows = "".join(f'<th scope="col" class="stub">{escape(name)}</th>' for name in names[:stub])
    if not crosstab.heads:
        return f'<tr>{rows}<th scope="col">{word("value", shown.language)}</th></tr>'
    total = f'<th scope="col" class="total">{shown.total(is_row=False)}</th>' if crosstab.has_totals else ""
    lines, corner = [], f'<td colspan="{stub}"></td>'
    for place, (axis, labels) in enumerate(zip(crosstab.column_axes, crosstab.heads, strict=True)):
        is_last = place == len(crosstab.heads) - 1
        cells = "".join(
            f'<th scope="{"colgroup" if span > 1 else "col"}" colspan="{span}">{escape(label)}</th>'
            for label, span in labels
        )
        name = escape(shown.name(axis.name))
        over = f'<tr>{corner}<th scope="colgroup" class="across" colspan="{crosstab.width}">{name}</th></tr>'
        lines.append(f"{over}<tr>{rows if is_last else corner}{cells}{total if is_last else ''}</tr>")
    return "".join(lines)


def _sheet_title(shown: FinishedTable, title: tuple[tuple[str, str], ...]) -> str:
    if not title:
        return ""
    name = " · ".join(f"{shown.name(axis)}: {label}" for axis, label in title)
    width = _stub(shown) + shown.crosstab.width
    return f'<tr class="layer"><th colspan="{width}" scope="rowgroup">{escape(name)}</th></tr>'


def _row(shown: FinishedTable, line: Line) -> str:
    labels, stub = "", _stub(shown)
    if stub and (line.is_total or not line.labels):
        kind = ' class="total"' if line.is_total else ""
        labels = f'<th scope="row"{kind} colspan="{stub}">{shown.total(is_row=True)}</th>'
    elif stub:
        labels = "".join(
            f'<th scope="rowgroup" class="group" rowspan="{span}">{escape(label)}</th>'
            if span > 1
            else f'<th scope="row">{escape(label)}</th>'
            for label, span in line.labels
        )
    return f"<tr>{labels}{''.join(_cell(shown, cell) for cell in line.cells)}</tr>"


def _cell(shown: FinishedTable, cell: Cell) -> str:
    """A number with its mark, and its errors below it."""
    kinds = " ".join(filter(None, (cell.mark, "total" if cell.is_total else "")))
    kind = f' class="{kinds}"' if kinds else ""
    sign = f'<span class="sign">{SIGNS[cell.mark]}</span>' if cell.mark else ""
    errors = f'<span class="moe">{"; ".join(shown.errors(cell))}</span>' if cell.half else ""
    return f'<td{kind}><span class="value">{shown.value(cell)}</span>{sign}{errors}</td>'
