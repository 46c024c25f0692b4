"""A page for readers: what a release is about, every table as it was asked for, a picture, the guarantee.

One self-contained file without scripts; the picture is SVG, so that no plotting package is needed.
"""

from html import escape

import numpy as np

from dalenius.algebra.tabulation import bounds
from dalenius.core.estimate import level
from dalenius.core.release import Release, Subject
from dalenius.publish._format import Format
from dalenius.shown.charts import MOST_BARS, Mark, bars
from dalenius.shown.crossed import crossed
from dalenius.shown.crosstab import known
from dalenius.shown.display import Display, displayed
from dalenius.shown.speech import DEFAULT, as_read, conditions, has_error, title_of_release
from dalenius.shown.words import notes, number, word
from dalenius.spec.guarantees import told

__all__ = ["HTML", "to_html"]

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
.chart text{fill:var(--ink);font-size:12px}.chart .tick{fill:var(--soft)}.chart .grid{stroke:var(--line)}
.chart .axis{stroke:var(--soft)}.chart .bar{fill:var(--bar)}.chart .whisker{stroke:var(--whisker);fill:none}
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
    """The picture of the largest cells, and what it shows and leaves out."""
    values, cells = display.values, display.table.space.size
    numbers = np.flatnonzero(np.isfinite(values))
    if cells < 2 or not len(numbers):
        return ""
    lower, upper = bounds(release, display.table, confidence)
    drawn = sorted(numbers[np.argsort(-values[numbers], kind="stable")[:MOST_BARS]].tolist())
    places = zip(*np.unravel_index(drawn, display.table.shape), strict=True)
    names = [[axis.labels[k] for axis, k in zip(display.table.space.axes, at, strict=True)] for at in places]
    marks = [
        Mark(group="", label=" · ".join(name), value=values[i], lower=known(lower[i]), upper=known(upper[i]))
        for i, name in zip(drawn, names, strict=True)
    ]
    error = "whiskers" if has_error(display.table) else "no_error"
    note = word("bars", language) + word(error, language, level=level(confidence))
    if len(marks) < len(numbers):
        note += word("largest", language, drawn=len(marks), numbers=number(len(numbers), language=language))
    if len(numbers) < cells:
        note += word("no_number", language, cells=number(cells - len(numbers), language=language))
    title = word("chart", language)
    drawing = bars(marks, title=title, description=note, show=lambda value: number(value, display.digits, language))
    return f"<figure>{drawing}<figcaption>{note}</figcaption></figure>"


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
        "specialists": told(source.formal_guarantee, language),
    }
    items = "".join(f"<dt>{word(k, language)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    head = word("note", language)
    said = "".join(f"<p><strong>{head}</strong> {escape(note)}</p>" for note in notes(release, language))
    return f"<h2>{word('facts', language)}</h2><dl>{items}</dl>{said}"


HTML = Format(
    name="html", suffixes=(".html", ".htm"), media_type="text/html", write=to_html, is_spoken=True, stem="table"
)
