"""The words and numbers of a page for readers of one language; what a language lacks is said in English."""

from collections.abc import Mapping
from math import ceil, floor

from dalenius.core.release import Release
from dalenius.shown.speech import DEFAULT
from dalenius.spec.guarantees import told
from dalenius.spec.notes import in_language
from dalenius.translation import number_marks, translated

MINUS = "\u2212"
WORDS: Mapping[str, Mapping[str, str]] = translated(
    {
        "bars": "Bars are released values, without a margin of error.",
        "whiskers": "Bars are released values; whiskers are their intervals.",
        "heat": "Darker is more.",
        "unreliable": "‡ marks unreliable numbers.",
        "largest": "The {drawn} largest of {numbers} numbers are drawn; the rest is left out.",
        "first": "The first {drawn} of {numbers} numbers are drawn; the rest is left out.",
        "no_number": "{cells} cells without a number are left out.",
        "version": "version",
        "no_reply": "The outcome was 'no reply'. It was charged like any other.",
        "too_many": "{cells} cells: too many for a page; they are in the CSV file.",
        "more_rows": "{rows} more rows are in the CSV file.",
        "value": "Value",
        "interval": "Interval",
        "total": "Total",
        "total_shown": "Total of shown",
        "structural": "structural zero",
        "selected": "selected",
        "with_sampling": "with sampling",
        "facts": "Where this comes from",
        "cover": "Contents",
        "table": "Table",
        "notes": "Notes",
        "cite": "Citation",
        "cited": "{title}. {dataset}, version {version}. Released with {budget}. Ledger entry {entry}.",
        "note": "Note.",
        "dataset": "Data set",
        "population": "Population",
        "version_of": "Version",
        "definition": "Definition",
        "budget": "Budget",
        "neighbours": "Neighbours",
        "mechanism": "Mechanism",
        "request": "Request",
        "entry": "Ledger entry",
        "software": "Software",
        "specialists": "For specialists",
    }
)


def word(key: str, language: str = DEFAULT, **values: object) -> str:
    return WORDS.get(language, WORDS[DEFAULT])[key].format(**values)


def number(value: float, digits: int = 0, language: str = DEFAULT) -> str:
    """With the marks that readers of the language expect.

    >>> number(1234.5, 1), number(-1234.5, 1, "de")
    ('1,234.5', '−1.234,5')
    """
    return number_marks(f"{value:z,.{digits}f}".replace("-", MINUS), language)


def percent_digits(half: float) -> int:
    """Decimals of a percentage that show at least one digit of its margin of error, which is a share of one.

    >>> [percent_digits(half) for half in (0.12, 0.0095, 0.009, 0.0004, 0.00003, 1e-9)]
    [1, 1, 2, 2, 3, 4]
    """
    if half >= 0.0095:
        return 1
    return next((n for n in (2, 3) if half >= 0.95 * 10.0 ** (-2 - n)), 4)


def above(value: float, digits: int, language: str = DEFAULT) -> str:
    """A margin or an upper end, never shown smaller than it is."""
    return number(ceil(round(value * 10.0**digits, 6)) / 10.0**digits, digits, language)


def ends(low: float, high: float, digits: int, language: str = DEFAULT) -> str:
    """Both ends of an interval, never shown narrower than it is."""
    lower = number(floor(round(low * 10.0**digits, 6)) / 10.0**digits, digits, language)
    return f"{lower} – {above(high, digits, language)}"


def notes(release: Release, language: str) -> list[str]:
    """The remarks of a release; one that is not known in the language as it is stored."""
    return [in_language(note, language) or note for note in release.provenance.warnings]


def facts(release: Release, language: str = DEFAULT) -> list[tuple[str, str]]:
    """Where a release comes from: names of facts, and what they say."""
    source = release.provenance
    every = {
        "dataset": source.dataset,
        "population": source.population,
        "version_of": source.version,
        "definition": source.definition,
        "budget": _budget(release),
        "neighbours": str(source.neighbours.get("relation", "")),
        "mechanism": f"{source.mechanism} ({source.strategy})",
        "request": source.digest,
        "entry": source.ledger_entry,
        "software": source.software,
        "specialists": told(source.formal_guarantee, language),
    }
    return [(word(key, language), text) for key, text in every.items()]


def cited(release: Release, title: str, language: str = DEFAULT) -> str:
    """How a table of this title is cited."""
    source, name = release.provenance, release.about.dataset or release.provenance.dataset
    entry = source.ledger_entry or source.digest
    further = {"dataset": name, "version": source.version, "budget": _budget(release), "entry": entry}
    return word("cited", language, title=title, **further)


def _budget(release: Release) -> str:
    return ", ".join(f"{name} = {part}" for name, part in release.provenance.budget.items() if name != "definition")
