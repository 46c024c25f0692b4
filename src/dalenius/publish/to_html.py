"""A page for readers: what a release is about, every table as it was asked for, a picture, the guarantee.

One self-contained file without scripts; the picture is SVG, so that no plotting package is needed.
"""

from html import escape

from dalenius.core.release import Release, Subject
from dalenius.publish._format import Format
from dalenius.shown.crossed import STYLE, crossed
from dalenius.shown.finished import MOST_CELLS, FinishedTable, finished_tables
from dalenius.shown.picture import picture
from dalenius.shown.speech import DEFAULT, as_read, title_of_release
from dalenius.shown.words import facts, notes, word
from dalenius.spec.guarantees import told

__all__ = ["HTML", "to_html"]

_STYLE = """
:root{--ink:#1b2733;--soft:#5b6b7b;--line:#d9e0e7;--bar:#2f6f9f;--whisker:#b3541e;--paper:#fff}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;
  margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin:2rem 0 .2rem}.lead{color:var(--soft);margin-top:0}
.scroll{overflow-x:auto}
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
    tables = list(finished_tables(release, confidence, language))
    parts = "".join(
        _head_of_member(release, part, language) + "".join(_section(shown) for shown in tables if shown.release is part)
        for part in release.parts
    )
    return (
        f'<!doctype html><html lang="{escape(language)}"><head><meta charset="utf-8"><title>{escape(name)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}{STYLE}</style></head><body><main><h1>{escape(name)}</h1>"
        f'<p class="lead">{escape(subject.dataset or source.dataset)}, {word("version", language)}'
        f" {escape(source.version)}</p>{only}"
        f"<p>{escape(told(source.guarantee, language))}</p>{parts}{_facts(release, language)}</main></body></html>"
    )


def _covered(subject: Subject, language: str) -> str:
    """Whose records are counted."""
    return f"<p>{escape(told(subject.universe, language))}</p>" if subject.universe else ""


def _head_of_member(release: Release, part: Release, language: str) -> str:
    """The words above the tables of a batch's member."""
    if not release.members:
        return ""
    title = f"<h2>{escape(part.about.title)}</h2>" if part.about.title else ""
    silent = "" if part.tables else f"<p>{word('no_reply', language)}</p>"
    return f"{title}{_covered(part.about, language)}{silent}"


def _section(shown: FinishedTable) -> str:
    """A table, and its picture."""
    drawn, note = picture(shown) if shown.table.space.size <= MOST_CELLS else ("", "")
    figure = f"<figure>{drawn}<figcaption>{note}</figcaption></figure>" if drawn else ""
    return f"<section>{crossed(shown)}{figure}</section>"


def _facts(release: Release, language: str) -> str:
    items = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts(release, language))
    head = word("note", language)
    said = "".join(f"<p><strong>{head}</strong> {escape(note)}</p>" for note in notes(release, language))
    return f"<h2>{word('facts', language)}</h2><dl>{items}</dl>{said}"


HTML = Format(
    name="html", suffixes=(".html", ".htm"), media_type="text/html", write=to_html, is_spoken=True, stem="table"
)
