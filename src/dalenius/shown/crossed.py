"""A released table as HTML: crossed as it was asked for, with margins of error in its cells and its caption below."""

from html import escape

from dalenius.core.release import Release, Subject
from dalenius.shown.crosstab import Cell, Crosstab, Line, asked_layout, lay_out
from dalenius.shown.display import Display
from dalenius.shown.speech import DEFAULT, caption, classified, heading, name_of, rounding, unit_of
from dalenius.shown.words import above, ends, number, word

MOST_ROWS = 400
_MOST_CELLS = 20_000


def crossed(
    release: Release, display: Display, confidence: float, most_rows: int = MOST_ROWS, language: str = DEFAULT
) -> str:
    """A heading, the crossed table and its caption; rows beyond `most_rows` are left out, and counted."""
    table, subject = display.table, release.about
    unit = unit_of(release, table)
    head = f"<h2>{escape(heading(release, table, language) + (f' ({unit})' if unit else ''))}</h2>"
    if table.space.size > _MOST_CELLS:
        said = word("too_many", language, cells=number(table.space.size, language=language))
        return f'{head}<p class="note">{said}</p>'
    places = asked_layout(subject, table)
    crosstab = lay_out(release, table, **places, confidence=confidence, shown=display.values)
    said = " ".join(filter(None, (caption(release, table, confidence, language), rounding(display, language))))
    body, left_out = _body(crosstab, subject, display.digits, most_rows, language)
    rows = word("more_rows", language, rows=number(left_out, language=language))
    note = f'<p class="note">{rows}</p>' if left_out else ""
    columns = _head(release, crosstab, language)
    if table.space.size == 1 and not classified(release, table):
        # The heading says what the one number is.
        columns = f'<tr><th scope="col" class="n">{word("value", language)}</th></tr>'
        body = f"<tr>{_cell(crosstab.sheets[0].lines[0].cells[0], display.digits, language)}</tr>"
    return (
        f'{head}<div class="scroll"><table><thead>{columns}</thead><tbody>{body}</tbody></table></div>'
        f'{note}<p class="note">{escape(said)}</p>'
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


def _body(crosstab: Crosstab, subject: Subject, digits: int, most_rows: int, language: str) -> tuple[str, int]:
    """Rows of all sheets up to a limit, and how many are left out."""
    width, parts, written = max(len(crosstab.row_axes), 1), [], 0
    everything = sum(len(sheet.lines) for sheet in crosstab.sheets)
    for sheet in crosstab.sheets:
        if written >= most_rows:
            break
        if sheet.title:
            name = " · ".join(f"{name_of(subject, axis)}: {label}" for axis, label in sheet.title)
            parts.append(f'<tr><th colspan="{width + crosstab.width}" scope="rowgroup">{escape(name)}</th></tr>')
        for line in sheet.lines[: most_rows - written]:
            key = "total_shown" if crosstab.is_row_total_of_shown else "total"
            parts.append(_row(line, width, digits, language, word(key, language)))
        written += len(sheet.lines)
    return "".join(parts), max(everything - most_rows, 0)


def _row(line: Line, width: int, digits: int, language: str, total: str) -> str:
    if line.is_total or not line.labels:
        labels = f'<th scope="row" colspan="{width}">{total}</th>'
    else:
        labels = "".join(
            f'<th scope="row"{f" rowspan={span}" if span > 1 else ""}>{escape(label)}</th>'
            for label, span in line.labels
        )
    return f"<tr>{labels}{''.join(_cell(cell, digits, language) for cell in line.cells)}</tr>"


def _cell(cell: Cell, digits: int, language: str) -> str:
    kind = "n total" if cell.is_total else "n"
    if cell.value is None:
        key = "structural" if cell.is_structural else "selected" if cell.is_selected else ""
        text = word(key, language) if key else "–"
        return f'<td class="{kind}">{text}</td>'
    return f'<td class="{kind}">{number(cell.value, digits, language)}{_error(cell, digits, language)}</td>'


def _error(cell: Cell, digits: int, language: str) -> str:
    """The margin of error, or the interval where declared bounds cut it; the one that allows for sampling beside it."""
    if not cell.half:
        return ""
    if cell.is_cut and cell.lower is not None and cell.upper is not None:
        text = f"<small>{ends(cell.lower, cell.upper, digits, language)}</small>"
    else:
        text = f"<small>± {above(cell.half, digits, language)}</small>"
    if cell.half_with_sampling:
        wider = above(cell.half_with_sampling, digits, language)
        text += f"<small>± {wider} {word('with_sampling', language)}</small>"
    return text
