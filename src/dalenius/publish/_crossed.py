"""A released table as HTML: crossed as it was asked for, with margins of error in its cells and its caption below."""

from html import escape
from math import ceil, floor

from dalenius.core.release import Release
from dalenius.linear.cells import Cell
from dalenius.linear.crosstab import Crosstab, Line, asked_layout, lay_out
from dalenius.linear.display import Display
from dalenius.spec.speech import caption, heading, name_of, rounding, unit_of

MOST_ROWS = 400
_MOST_CELLS = 20_000


def crossed(release: Release, display: Display, confidence: float, most_rows: int = MOST_ROWS) -> str:
    """A heading, the crossed table and its caption; rows beyond `most_rows` are left out, and counted."""
    table, subject = display.table, release.about
    unit = unit_of(release, table)
    head = f"<h2>{escape(heading(release, table) + (f' ({unit})' if unit else ''))}</h2>"
    if table.space.size > _MOST_CELLS:
        return f'{head}<p class="note">{table.space.size:,} cells: too many for a page; they are in the CSV file.</p>'
    places = asked_layout(subject, table)
    crosstab = lay_out(release, table, **places, confidence=confidence, shown=display.values)
    said = " ".join(filter(None, (caption(release, table, confidence), rounding(display))))
    body, left_out = _body(crosstab, display.digits, most_rows)
    note = f'<p class="note">{left_out:,} more rows are in the CSV file.</p>' if left_out else ""
    columns = _head(release, crosstab)
    return (
        f'{head}<div class="scroll"><table><thead>{columns}</thead><tbody>{body}</tbody></table></div>'
        f'{note}<p class="note">{escape(said)}</p>'
    )


def _head(release: Release, crosstab: Crosstab) -> str:
    """Headings of the columns, one line an axis; the last line also names the rows."""
    stub = [name_of(release.about, axis.name) for axis in crosstab.row_axes] or [""]
    rows = "".join(f'<th scope="col">{escape(name)}</th>' for name in stub)
    if not crosstab.heads:
        return f'<tr>{rows}<th scope="col" class="n">Value</th></tr>'
    lines = []
    for place, labels in enumerate(crosstab.heads):
        name = name_of(release.about, crosstab.column_axes[place].name)
        is_last = place == len(crosstab.heads) - 1
        start = rows if is_last else f'<td colspan="{len(stub)}"></td>'
        cells = "".join(
            f'<th scope="{"colgroup" if span > 1 else "col"}" class="n" colspan="{span}">{escape(label)}</th>'
            for label, span in labels
        )
        total = '<th scope="col" class="n">Total</th>' if crosstab.has_totals and is_last else ""
        over = f'<tr><td colspan="{len(stub)}"></td><th colspan="{crosstab.width}">{escape(name)}</th></tr>'
        lines.append(f"{over}<tr>{start}{cells}{total}</tr>")
    return "".join(lines)


def _body(crosstab: Crosstab, digits: int, most_rows: int) -> tuple[str, int]:
    """Rows of all sheets up to a limit, and how many are left out."""
    width, parts, written = max(len(crosstab.row_axes), 1), [], 0
    everything = sum(len(sheet.lines) for sheet in crosstab.sheets)
    for sheet in crosstab.sheets:
        if written >= most_rows:
            break
        if sheet.title:
            name = " · ".join(label for _, label in sheet.title)
            parts.append(
                f'<tr><th colspan="{width + crosstab.width}" scope="rowgroup">{escape(name)}</th></tr>'
            )
        for line in sheet.lines[: most_rows - written]:
            parts.append(_row(line, width, digits))
        written += len(sheet.lines)
    return "".join(parts), max(everything - most_rows, 0)


def _row(line: Line, width: int, digits: int) -> str:
    if line.is_total or not line.labels:
        labels = f'<th scope="row" colspan="{width}">Total</th>'
    else:
        labels = "".join(
            f'<th scope="row"{f" rowspan={span}" if span > 1 else ""}>{escape(label)}</th>'
            for label, span in line.labels
        )
    return f"<tr>{labels}{''.join(_cell(cell, digits) for cell in line.cells)}</tr>"


def _cell(cell: Cell, digits: int) -> str:
    kind = "n total" if cell.is_total else "n"
    if cell.value is None:
        text = "structural zero" if cell.is_structural else "selected" if cell.is_selected else "–"
        return f'<td class="{kind}">{text}</td>'
    return f'<td class="{kind}">{cell.value:,.{digits}f}{_error(cell, digits)}</td>'


def _error(cell: Cell, digits: int) -> str:
    """The margin of error, or the interval where declared bounds cut it; the one that allows for sampling beside it."""
    if not cell.half:
        return ""
    if cell.is_cut and cell.lower is not None and cell.upper is not None:
        text = f"<small>{_below(cell.lower, digits)} – {_above(cell.upper, digits)}</small>"
    else:
        text = f"<small>± {_above(cell.half, digits)}</small>"
    if cell.half_with_sampling:
        text += f"<small>± {_above(cell.half_with_sampling, digits)} with sampling</small>"
    return text


def _below(end: float, digits: int) -> str:
    scale = 10.0**digits
    return f"{floor(round(end * scale, 6)) / scale:,.{digits}f}"


def _above(half: float, digits: int) -> str:
    """A margin is never shown smaller than it is."""
    scale = 10.0**digits
    return f"{ceil(round(half * scale, 6)) / scale:,.{digits}f}"
