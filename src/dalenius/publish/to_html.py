"""A page for readers: what a release is about, every table as it was asked for, a picture, the guarantee.

One self-contained file without scripts; the picture is SVG, drawn by hand so that no plotting package is needed.
"""

from html import escape
from math import isfinite

import numpy as np

from dalenius.algebra.tabulation import bounds
from dalenius.core.domain import CellSpace
from dalenius.core.estimate import level
from dalenius.core.law import FloatArray
from dalenius.core.release import Release, Subject
from dalenius.publish._format import Format
from dalenius.shown.answer import as_read
from dalenius.shown.crossed import crossed
from dalenius.shown.display import Display, displayed
from dalenius.shown.speech import DEFAULT, conditions, has_error, title_of_release
from dalenius.shown.words import notes, number, word
from dalenius.spec.guarantees import told

__all__ = ["HTML", "to_html"]

_MOST_BARS = 40
_STYLE = """
:root{--ink:#1b2733;--soft:#5b6b7b;--line:#d9e0e7;--bar:#2f6f9f;--whisker:#b3541e;--paper:#fff}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;
  margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin:2rem 0 .2rem}.lead{color:var(--soft);margin-top:0}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.5rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right}td small{display:block;color:var(--soft)}.total{font-weight:600}
.note{color:var(--soft);margin:.4rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--soft)}dd{margin:0}
dd{overflow-wrap:anywhere}svg{max-width:100%;height:auto}figure{margin:1.5rem 0}figcaption{color:var(--soft)}
"""


def to_html(release: Release, title: str | None = None, confidence: float = 0.95, language: str = DEFAULT) -> str:
    """Every table of a release as one page; labels are those of the release, whatever the language of the words is."""
    release = as_read(release, language)
    source, subject = release.provenance, release.about
    name = title or subject.title or title_of_release(release, language)
    only = "" if release.members else _covered(subject, language)
    parts = "".join(_part(release, part, confidence, language) for part in release.parts)
    return (
        f'<!doctype html><html lang="{escape(language)}"><head><meta charset="utf-8"><title>{escape(name)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(name)}</h1>"
        f'<p class="lead">{escape(subject.dataset or source.dataset)}, {word("version", language)}'
        f" {escape(source.version)}</p>{only}"
        f"<p>{escape(told(source.guarantee, language))}</p>{parts}{_facts(release, language)}</main></body></html>"
    )


def _covered(subject: Subject, language: str) -> str:
    """Whose records are counted."""
    said = escape("; ".join(conditions(subject)))
    only = f"<p><strong>{word('only', language)}</strong> {said}</p>" if subject.where else ""
    return only + (f"<p>{escape(told(subject.universe, language))}</p>" if subject.universe else "")


def _part(release: Release, part: Release, confidence: float, language: str) -> str:
    """The tables of a release; those of a batch's member stand under its own words."""
    head = ""
    if release.members:
        title = f"<h2>{escape(part.about.title)}</h2>" if part.about.title else ""
        silent = "" if part.tables else f"<p>{word('no_reply', language)}</p>"
        head = f"{title}{_covered(part.about, language)}{silent}"
    return head + "".join(
        f"<section>{crossed(part, display, confidence, language=language)}"
        f"{_figure(part, display, confidence, language)}</section>"
        for display in displayed(part)
    )


def _figure(release: Release, display: Display, confidence: float, language: str) -> str:
    """The picture, and what it shows and leaves out."""
    if display.table.space.size < 2 or not np.isfinite(display.values).any():
        return ""
    lower, upper = bounds(release, display.table, confidence)
    bars, drawn = bar_chart(display, lower, upper, language)
    error = "whiskers" if has_error(display.table) else "no_error"
    note = word("bars", language) + word(error, language, level=level(confidence))
    numbers, cells = int(np.isfinite(display.values).sum()), display.table.space.size
    if drawn < numbers:
        note += word("largest", language, drawn=drawn, numbers=number(numbers, language=language))
    if numbers < cells:
        note += word("no_number", language, cells=number(cells - numbers, language=language))
    if (display.values < 0).any():
        note += word("negative", language)
    return f"<figure>{bars}<figcaption>{note}</figcaption></figure>"


def bar_chart(display: Display, lower: FloatArray, upper: FloatArray, language: str = DEFAULT) -> tuple[str, int]:
    """Bars with whiskers for the largest cells, as SVG, and how many there are."""
    values = display.values
    finite = np.flatnonzero(np.isfinite(values))
    order = sorted(finite[np.argsort(-values[finite], kind="stable")[:_MOST_BARS]].tolist())
    tops = [upper[i] if isfinite(upper[i]) else values[i] for i in order]
    top = max([*tops, 1e-9])
    left, width, row = 260, 520, 20
    parts = []
    for line, i in enumerate(order):
        y = 10 + line * row
        length = max(values[i], 0) / top * width
        label = _cell_name(display.table.space, i, language)
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end" font-size="11">{escape(label)}</text>')
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="{row - 8}" fill="#2f6f9f"/>')
        end = left + length
        if isfinite(lower[i]) and isfinite(upper[i]):
            a, b = (left + max(e, 0) / top * width for e in (lower[i], upper[i]))
            m = y + 3 + (row - 8) / 2
            end = max(end, b)
            parts.append(
                f'<path d="M{a:.1f} {m:.1f}H{b:.1f}M{a:.1f} {m - 4:.1f}v8M{b:.1f} {m - 4:.1f}v8"'
                ' stroke="#b3541e" stroke-width="1.5" fill="none"/>'
            )
        parts.append(
            f'<text x="{end + 8:.1f}" y="{y + 12}" font-size="11">{number(values[i], display.digits, language)}</text>'
        )
    height = 20 + row * len(order)
    drawing = (
        f'<svg role="img" aria-label="{word("chart", language)}" viewBox="0 0 {left + width + 90} {height}"'
        f' font-family="system-ui,sans-serif">{"".join(parts)}</svg>'
    )
    return drawing, len(order)


def _cell_name(space: CellSpace, index: int, language: str) -> str:
    places = np.unravel_index(index, space.shape)
    labels = [axis.labels[place] for axis, place in zip(space.axes, places, strict=True)]
    name = " · ".join(labels) or word("total", language).lower()
    return name if len(name) <= 40 else f"{name[:39]}…"


def _facts(release: Release, language: str) -> str:
    source = release.provenance
    facts = {
        "dataset": source.dataset,
        "population": source.population,
        "version_of": source.version,
        "definition": source.definition,
        "budget": ", ".join(f"{k} = {v}" for k, v in source.budget.items() if k != "definition"),
        "neighbours": str(source.neighbours.get("relation", "")),
        "mechanism": f"{source.mechanism} ({source.strategy})",
        "request": source.digest,
        "entry": source.ledger_entry,
        "software": source.software,
    }
    items = "".join(f"<dt>{word(k, language)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    head = word("note", language)
    said = "".join(f"<p><strong>{head}</strong> {escape(note)}</p>" for note in notes(release, language))
    return f"<h2>{word('facts', language)}</h2><dl>{items}</dl>{said}"


HTML = Format(
    name="html", suffixes=(".html", ".htm"), media_type="text/html", write=to_html, is_spoken=True, stem="table"
)
