"""A released table as HTML: crossed as it was asked for, with margins of error in its cells and its caption below."""

from html import escape

from dalenius.core.release import Release, Subject
from dalenius.shown.crosstab import Cell, Crosstab, Line
from dalenius.shown.display import Display
from dalenius.shown.finished import FinishedTable, finished
from dalenius.shown.speech import DEFAULT, classified, name_of, titled
from dalenius.shown.words import number, word

MOST_ROWS = 400
_MOST_CELLS = 20_000


def crossed(
    release: Release, display: Display, confidence: float, most_rows: int = MOST_ROWS, language: str = DEFAULT
) -> str:
    """A heading, the crossed table and its caption; rows beyond `most_rows` are left out, and counted."""
    table = display.table
    if table.space.size > _MOST_CELLS:
        said = word("too_many", language, cells=number(table.space.size, language=language))
        return f'<h2>{escape(titled(release, table, language))}</h2><p class="note">{said}</p>'
    shown = finished(release, display, confidence, language)
    body, left_out = _body(shown, release.about, most_rows)
    rows = word("more_rows", language, rows=number(left_out, language=language))
    note = f'<p class="note">{rows}</p>' if left_out else ""
    columns = _head(release, shown.crosstab, language)
    if table.space.size == 1 and not classified(release, table):
        # The heading says what the one number is.
        columns = f'<tr><th scope="col" class="n">{word("value", language)}</th></tr>'
        body = f"<tr>{_cell(shown, shown.crosstab.sheets[0].lines[0].cells[0])}</tr>"
    return (
        f'<h2>{escape(shown.title)}</h2><div class="scroll"><table><thead>{columns}</thead><tbody>{body}</tbody>'
        f'</table></div>{note}<p class="note">{escape(shown.caption)}</p>'
    )


def _head(release: Release, crosstab: Crosstab, language: str) -> str:
    """Headings of the columns, one line an axis; the last line also names the rows."""
    stub = [name_of(release.about, axis.name) for axis in crosstab.row_axes] or [""]
    rows = "".join(f'<th scope="col">{escape(name)}</th>' for name in stub)
    if not crosstab.heads:
        return f'<tr>{rows}<th scope="col" class="n">{word("value", language)}</th></tr>'
    key = "total_shown" if crosstab.is_column_total_of_shown else "total"
    total = f'<th scope="col" class="n">{word(key, language)}</th>' if crosstab.has_totals else ""
    lines = []
    for place, labels in enumerate(crosstab.heads):
        name = name_of(release.about, crosstab.column_axes[place].name)
        is_last = place == len(crosstab.heads) - 1
        start = rows if is_last else f'<td colspan="{len(stub)}"></td>'
        cells = "".join(
            f'<th scope="{"colgroup" if span > 1 else "col"}" class="n" colspan="{span}">{escape(label)}</th>'
            for label, span in labels
        )
        over = f'<tr><td colspan="{len(stub)}"></td><th colspan="{crosstab.width}">{escape(name)}</th></tr>'
        lines.append(f"{over}<tr>{start}{cells}{total if is_last else ''}</tr>")
    return "".join(lines)


def _body(shown: FinishedTable, subject: Subject, most_rows: int) -> tuple[str, int]:
    """Rows of all sheets up to a limit, and how many are left out."""
    crosstab, parts, written = shown.crosstab, [], 0
    width = max(len(crosstab.row_axes), 1)
    everything = sum(len(sheet.lines) for sheet in crosstab.sheets)
    total = word("total_shown" if crosstab.is_row_total_of_shown else "total", shown.language)
    for sheet in crosstab.sheets:
        if written >= most_rows:
            break
        if sheet.title:
            name = " · ".join(f"{name_of(subject, axis)}: {label}" for axis, label in sheet.title)
            parts.append(f'<tr><th colspan="{width + crosstab.width}" scope="rowgroup">{escape(name)}</th></tr>')
        parts += [_row(shown, line, width, total) for line in sheet.lines[: most_rows - written]]
        written += len(sheet.lines)
    return "".join(parts), max(everything - most_rows, 0)


def _row(shown: FinishedTable, line: Line, width: int, total: str) -> str:
    if line.is_total or not line.labels:
        labels = f'<th scope="row" colspan="{width}">{total}</th>'
    else:
        labels = "".join(
            f'<th scope="row"{f" rowspan={span}" if span > 1 else ""}>{escape(label)}</th>'
            for label, span in line.labels
        )
    return f"<tr>{labels}{''.join(_cell(shown, cell) for cell in line.cells)}</tr>"


def _cell(shown: FinishedTable, cell: Cell) -> str:
    """A number with its errors below it."""
    errors = "".join(f"<small>{error}</small>" for error in shown.errors(cell))
    return f'<td class="{"n total" if cell.is_total else "n"}">{shown.value(cell)}{errors}</td>'
