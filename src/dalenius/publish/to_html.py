"""A page for readers: the table with its margins of error, a picture, and the guarantee in words.

One self-contained file without scripts; the picture is SVG, drawn by hand so that no plotting package is needed.
"""

from html import escape
from math import isfinite

from dalenius.core.domain import CellSpace
from dalenius.core.release import Release, Table
from dalenius.linear.tabulation import bounds, header, rows
from dalenius.publish._format import Format

__all__ = ["HTML", "to_html"]

_MOST_ROWS = 400
_MOST_BARS = 40
_STYLE = """
:root{--ink:#1b2733;--soft:#5b6b7b;--line:#d9e0e7;--bar:#2f6f9f;--whisker:#b3541e;--paper:#fff}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}.lead{color:var(--soft);margin-top:0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.5rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left}
td.n,th.n{text-align:right}.unreliable{font-style:italic;color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--soft)}dd{margin:0}
svg{max-width:100%;height:auto}figure{margin:1.5rem 0}figcaption{color:var(--soft)}
"""


def to_html(release: Release, title: str | None = None, confidence: float = 0.95) -> str:
    """The first table as a page."""
    table = release.table
    source = release.provenance
    name = title or f"{' by '.join(a.name for a in table.space.axes) or 'Total'}: {source.dataset}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(name)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(name)}</h1>"
        f'<p class="lead">{escape(source.guarantee)}</p>'
        f"{_figure(release, table, confidence)}{_table(release, table, confidence)}{_facts(release)}</main></body></html>"
    )


def _figure(release: Release, table: Table, confidence: float) -> str:
    lower, upper = bounds(release, table, confidence)
    bars = bar_chart(table, lower.tolist(), upper.tolist())
    note = f"Bars are released values; whiskers are {confidence:.0%} margins of error from the privacy noise."
    return f"<figure>{bars}<figcaption>{note}</figcaption></figure>"


def bar_chart(table: Table, lower: list[float], upper: list[float]) -> str:
    """Bars with whiskers for the largest cells, as SVG."""
    values = table.values.tolist()
    order = sorted(range(len(values)), key=lambda i: -values[i])[:_MOST_BARS]
    order.sort()
    tops = [upper[i] if isfinite(upper[i]) else values[i] for i in order]
    top = max([*tops, 1.0])
    left, width, row = 260, 520, 20
    labels = _cell_names(table.space, order)
    parts = []
    for line, (i, label) in enumerate(zip(order, labels, strict=True)):
        y = 10 + line * row
        length = max(values[i], 0) / top * width
        parts.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end" font-size="11">{escape(label)}</text>'
        )
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="{row - 8}" fill="#2f6f9f"/>')
        if isfinite(lower[i]) and isfinite(upper[i]):
            a, b = (left + max(e, 0) / top * width for e in (lower[i], upper[i]))
            m = y + 3 + (row - 8) / 2
            parts.append(
                f'<path d="M{a:.1f} {m:.1f}H{b:.1f}M{a:.1f} {m - 4:.1f}v8M{b:.1f} {m - 4:.1f}v8"'
                ' stroke="#b3541e" stroke-width="1.5" fill="none"/>'
            )
        parts.append(f'<text x="{left + width + 8}" y="{y + 12}" font-size="11">{values[i]:,.0f}</text>')
    height = 20 + row * len(order)
    return (
        f'<svg role="img" aria-label="Bar chart of the released values" viewBox="0 0 {left + width + 90} {height}"'
        f' font-family="system-ui,sans-serif">{"".join(parts)}</svg>'
    )


def _cell_names(space: CellSpace, order: list[int]) -> list[str]:
    cells = space.labels() or [("total",)]
    return [" · ".join(cells[i])[:44] for i in order]


def _table(release: Release, table: Table, confidence: float) -> str:
    names = header(table.space)
    wide = len(table.space.axes)
    head = "".join(
        f'<th scope="col"{" class=n" if wide <= i < len(names) - 1 else ""}>{escape(n)}</th>'
        for i, n in enumerate(names)
    )
    body = []
    for shown, row in enumerate(rows(release, table, confidence)):
        if shown == _MOST_ROWS:
            break
        cells = "".join(f"<td>{escape(str(c))}</td>" for c in row[:wide])
        numbers = "".join(f'<td class="n">{_number(c)}</td>' for c in row[wide:-1])
        body.append(f"<tr>{cells}{numbers}<td>{escape(str(row[-1]))}</td></tr>")
    rest = table.space.size - _MOST_ROWS
    note = f"<p>{rest:,} more cells are in table.csv.</p>" if rest > 0 else ""
    caption = f"Released values with {confidence:.0%} margins of error"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{note}"


def _number(value: object) -> str:
    if value is None:
        return "withheld"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def _facts(release: Release) -> str:
    source = release.provenance
    facts = {
        "Population": source.population,
        "Version": source.version,
        "Definition": source.definition,
        "Budget": ", ".join(f"{k} = {v}" for k, v in source.budget.items() if k != "definition"),
        "Neighbours": str(source.neighbours.get("relation", "")),
        "Mechanism": f"{source.mechanism} ({source.strategy})",
        "Request": source.digest,
        "Ledger entry": source.ledger_entry,
        "Software": source.software,
    }
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    notes = "".join(f"<p><strong>Note.</strong> {escape(w)}</p>" for w in source.warnings)
    return f"<h2>Where this comes from</h2><dl>{items}</dl>{notes}"


HTML = Format(name="html", suffixes=(".html", ".htm"), media_type="text/html", write=to_html, stem="table")
