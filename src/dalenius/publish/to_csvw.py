"""What a CSV file holds, in a file beside it: titles, columns, whose records are covered, and the guarantee.

As the W3C's "CSV on the Web" asks: for NAME.csv it is called NAME.csv-metadata.json.
"""

import json
from collections.abc import Iterator
from typing import Any

from dalenius.core.release import Release, Table
from dalenius.publish._delimited import FileTables, sheet_of
from dalenius.publish._format import Format
from dalenius.shown.display import displayed
from dalenius.shown.finished import finished
from dalenius.shown.speech import as_read, name_of, unit_of
from dalenius.shown.words import cited

__all__ = ["CSVW", "to_csvw"]

_NUMBERS = {
    "value": "the released number",
    "std_error": "standard error of the privacy noise",
    "lower": "lower end of the interval for the privacy noise",
    "upper": "upper end of the interval for the privacy noise",
    "std_error_with_sampling": "standard error of noise and sampling together",
    "lower_with_sampling": "lower end of the interval for noise and sampling",
    "upper_with_sampling": "upper end of the interval for noise and sampling",
}


def to_csvw(release: Release, table: Table | None = None, confidence: float = 0.95, url: str = "table.csv") -> str:
    """The description of the CSV file of all tables, or of the one given."""
    read, sheet = as_read(release), sheet_of(release, table)
    source, about = release.provenance, read.about
    tables = [{"schema:name": title, "schema:description": caption} for title, caption in _spoken(sheet, confidence)]
    universe = list(dict.fromkeys(part.about.universe for part, _, _ in sheet.tables if part.about.universe))
    content: dict[str, Any] = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": url,
        "dc:title": about.title or tables[0]["schema:name"],
        "dc:source": f"{about.dataset or source.dataset}, version {source.version}",
        "dc:identifier": source.ledger_entry or source.digest,
        "dc:coverage": universe,
        "dc:bibliographicCitation": [cited(release, each["schema:name"]) for each in tables],
        "schema:hasPart": tables,
        "notes": [text for text in (source.guarantee, source.formal_guarantee, *source.warnings) if text],
        "tableSchema": {"columns": list(_columns(sheet, confidence))},
    }
    return json.dumps({key: part for key, part in content.items() if part}, ensure_ascii=False, indent=2) + "\n"


def _spoken(sheet: FileTables, confidence: float) -> Iterator[tuple[str, str]]:
    """Title and caption of each table, as every product says them."""
    for part, table, title in sheet.tables:
        display = next((each for each in displayed(part) if each.table is table), None)
        yield title, finished(part, display, confidence, title=title).caption if display else ""


def _columns(sheet: FileTables, confidence: float) -> Iterator[dict[str, str]]:
    if sheet.table_head:
        yield {"name": sheet.table_head, "titles": sheet.table_head, "datatype": "string"}
    part, table, _ = sheet.tables[0]
    for column in sheet.columns:
        name = name_of(part.about, column.axis)
        if column.code_head:
            yield _column(column.code_head, "string", f"{name}, code")
        yield _column(column.head, "string", name)
    unit = unit_of(part, table)
    for head in sheet.numbers[:-1]:
        level = f", {100 * confidence:g} %" if "er_" in f"{head}_" and "err" not in head else ""
        yield _column(head, "number", _NUMBERS[head] + level + (f" ({unit})" if unit else ""))
    yield _column(sheet.numbers[-1], "string", "released, structural zero, selected, or error withheld")


def _column(name: str, kind: str, description: str) -> dict[str, str]:
    return {"name": name, "titles": name, "datatype": kind, "dc:description": description}


CSVW = Format(
    name="csvw",
    suffixes=(".csv-metadata.json",),
    media_type="application/csvm+json",
    write=to_csvw,
    is_per_table=True,
    describes="csv",
)
